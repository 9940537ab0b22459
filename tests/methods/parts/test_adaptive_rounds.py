"""Rounds: what they cost, what they may choose, and when noise is halved."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import NoisyRanks, NoisyTable
from understudy.graphical.junction_tree import Growth
from understudy.mechanisms.tables import NoisyTables
from understudy.methods import aim
from understudy.methods.aim import Aim, Pace, mean_size, run_rounds
from understudy.methods.marginal_based import fit_of
from understudy.methods.marginals import Marginals
from understudy.methods.noisy_marginals import CompressedDomain
from understudy.methods.plan import Workload
from understudy.workflow.gates import open_gate

D, SIZE = 4, 3


def schema(n, rows="public"):
    known = f"n_rows = {n}" if rows == "public" else f"row_limit = {n}"
    columns = "".join(
        f'[columns.x{j}]\nkind = "integer"\nlower = 0\nupper = {SIZE - 1}\nbins = {SIZE}\n'
        'reviewed = true\nsource = "codebook"\n'
        for j in range(D)
    )
    return us.Schema.loads(f'rows = "{rows}"\n{known}\n{columns}')


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, SIZE, n)
    columns = [first, *((first + (rng.random(n) < 0.3)) % SIZE for _ in range(D - 1))]
    return pl.DataFrame({f"x{j}": column for j, column in enumerate(columns)})


def gate_of(n=2_000, epsilon="1", delta="0.000001", seed=1, rows="public", **more):
    declared = schema(n, rows)
    budget = Budget.of(epsilon, delta, "zcdp")
    return open_gate(Table(frame(n), declared), budget, SeededRandomness(seed), **more)


def rounds_of(gate):
    """For each round its cost, the columns, and the deviation of the table.

    Tables of single columns come before, once or twice, and what ranks cost. They may take the
    place of the last rounds, all of them at once and without a choice.
    """
    measured = [one for one in gate.measured if not isinstance(one.value, NoisyRanks)]
    found, kinds = [], [one.value for one in measured]
    first = next((k for k, one in enumerate(kinds) if not isinstance(one, NoisyTable)), len(kinds))
    assert first in (D, 2 * D)
    again = first < len(kinds) and all(isinstance(one, NoisyTable) for one in kinds[-D:])
    last = len(kinds) - D * again
    assert all(one.columns == (f"x{j}",) for j, one in enumerate(kinds[last:]))
    for choice, table in zip(measured[first:last:2], measured[first + 1 : last : 2], strict=True):
        assert choice.value.columns == table.value.columns
        spent = gate.ledger[choice.entry - 1].spent + gate.ledger[table.entry - 1].spent
        found.append((spent, table.value.columns, table.noise))
    return found


METHODS = [
    Aim(),
    Aim(noise="laplace"),
    Marginals(),
    Marginals(noise="laplace", measured_share=0.7),
]


@pytest.mark.parametrize("delta", ["0", "0.000001"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "30.123456789"])
@pytest.mark.nightly(every=8)
def test_the_last_round_spends_all(method, delta, epsilon):
    gate = gate_of(epsilon=epsilon, delta=delta)
    method.fit(gate, gate.budget.amount, 10)
    assert gate.remaining == 0
    assert sum(entry.spent for entry in gate.ledger) == gate.budget.amount
    costs = [cost for cost, _, _ in rounds_of(gate)]
    assert costs == sorted(costs)


@pytest.mark.parametrize("method", METHODS[::2])
def test_a_budget_of_a_part_is_spent_to_that_part(method):
    gate = gate_of()
    method.fit(gate, gate.budget.amount / 7, 10)
    assert gate.remaining == gate.budget.amount * Fraction(6, 7)


@pytest.mark.parametrize(("delta", "epsilon"), [("0", "0.1"), ("0.000001", "2")])
def test_noise_is_halved_only_when_the_model_moved_no_more_than_noise(monkeypatch, delta, epsilon):
    """Each round's own figures are kept, and what the next one costs is foretold from them."""
    kept, moved = [], aim._count_changed_records

    def watch(*arguments):
        kept.append(moved(*arguments))
        return kept[-1]

    monkeypatch.setattr(aim, "_count_changed_records", watch)
    gate = gate_of(20_000, epsilon, delta)
    Aim().fit(gate, gate.budget.amount, 10)
    done = rounds_of(gate)
    assert len(kept) == len(done)
    faster = 2 if delta == "0" else 4
    expected = done[0][0]
    total = sum(cost for cost, _, _ in done)
    left, halved, same = total, 0, 0
    for (cost, columns, noise), change in zip(done, kept, strict=True):
        if cost == left:  # the last one takes what is left
            break
        assert cost == expected
        size = np.sqrt(2 / np.pi) if delta != "0" else np.sqrt(0.5)
        quiet = change <= size * noise.stddev * SIZE ** len(columns)
        expected = cost * faster if quiet else cost
        halved, same, left = halved + quiet, same + (not quiet), left - cost
    assert halved
    assert same


def test_a_dearer_round_halves_the_noise():
    gate = gate_of(20_000, "2")
    Aim().fit(gate, gate.budget.amount, 10)
    done = rounds_of(gate)
    steps = {round(b[2].stddev / a[2].stddev, 2) for a, b in pairwise(done[:-1])}
    assert steps == {1.0, 0.5}


def test_the_size_of_noise_is_its_mean():
    rng = np.random.default_rng(1)
    assert mean_size("gaussian", 3.0) == pytest.approx(
        np.abs(rng.normal(0, 3, 10**6)).mean(), rel=0.01
    )
    assert mean_size("laplace", 3.0) == pytest.approx(
        np.abs(rng.laplace(0, 3 / np.sqrt(2), 10**6)).mean(), rel=0.01
    )


@pytest.mark.parametrize("method", [Aim, Marginals])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cells", [40, 60, 200])
@pytest.mark.nightly(every=8)
def test_every_choice_fits_the_limit_of_its_time(method, seed, cells):
    """The tree with each choice, by its own triangulation, against the share that is spent."""
    gate = gate_of(seed=seed, epsilon="5")
    made = method(model_mb=cells * 8 / 1e6).fit(gate, gate.budget.amount, 10)
    growth, spent = Growth((SIZE,) * D, []), Fraction(0)
    for released in gate.measured:
        spent += gate.ledger[released.entry - 1].spent
        columns = released.value.columns
        places = tuple(int(name[1]) for name in columns)
        if released.mechanism == "noisy table" and len(columns) > 1:
            grown = growth.cells_with(places)
            assert grown <= cells * float(spent / gate.budget.amount) + 1e-9
            growth.add(places)
    assert made.fit.tree.cells <= cells


@pytest.mark.parametrize("method", [Aim, Marginals])
def test_a_limit_that_forbids_all_pairs_leaves_single_columns(method):
    gate = gate_of()
    method(model_mb=8 * 8 / 1e6).fit(gate, gate.budget.amount, 10)
    assert {len(columns) for _, columns, _ in rounds_of(gate)} == {1}
    assert gate.remaining == 0


def test_somebody_who_asks_to_stop_gets_a_model_of_what_was_paid():
    gate = gate_of(stop=lambda: True)
    Aim().fit(gate, gate.budget.amount, 10)
    assert len(gate.measured) == D
    assert gate.remaining > 0
    assert gate.ended_early


def test_without_rows_bought_their_limit_is_taken():
    """A fit that is asked before the number of rows is known: the public limit stands for it."""
    gate = gate_of(300, rows="private")
    model = Marginals().fit(gate, gate.budget.amount, 10)
    assert model.fit.total == 300


def test_a_candidate_larger_than_any_distance_is_not_scored():
    """At next to no budget noise alone is more than all records twice: only singles are left,
    and the one round that is worth it takes all."""
    gate = gate_of(10, "0.00001")
    Aim().fit(gate, gate.budget.amount, 10)
    assert len(rounds_of(gate)) == 1


def test_a_workload_is_all_that_is_measured():
    gate = gate_of(epsilon="10")
    declared = gate.schema
    workload = Workload.of(declared, degree=None, target="", entries=["x0 & x2"])
    tables = NoisyTables([(name,) for name in declared.names], noise="gaussian")
    known = [one.value for one in gate.ask(tables, spend=Fraction(1, 100))]
    spend = Fraction(1, 2)
    noisy_marginals = run_rounds(
        gate,
        known,
        workload,
        spent=Fraction(1, 100),
        pace=Pace(
            spend=spend,
            first=spend / 8,
            measured=Fraction(9, 10),
            model_cells=1e5,
            noise="gaussian",
        ),
        fit=lambda tables, warm: fit_of(
            CompressedDomain(declared, {}), tables, 2_000, warm=warm, steps=12
        ),
    )
    assert noisy_marginals[:D] == known
    columns = {one.columns for one in noisy_marginals[D:]}
    assert ("x0", "x2") in columns
    assert columns <= {("x0", "x2"), *((name,) for name in declared.names)}
