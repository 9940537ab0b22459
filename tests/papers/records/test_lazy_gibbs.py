"""Noisy rows keep their promise: exact laws over all neighbours, and what the verb pays for."""

import math
from collections import Counter
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

from understudy.data.base import ExactCells
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.calibration import calibrate
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import GibbsDraws
from understudy.errors import BudgetError, InsufficientBudgetError, MethodError
from understudy.papers.gibbs_mechanisms import HashedRows
from understudy.papers.perturbed_gibbs import LazyRows, NoisyRows, lazy_gibbs_records
from understudy.schema import Domain, GibbsSweep, Schema
from understudy.workflow.gates import open_gate

RELATIONS = ("add_remove", "replace")
PAIR = GibbsSweep(("a", "b"), Domain((2, 2)), ((1,), (0,)))
RECORDS = list(product(range(3), repeat=2))  # state 2 is out of domain
SEED = (0, 0)


@cache
def noise(scale):
    """Whole numbers and their probabilities; what is cut off weighs less than 10⁻¹⁰."""
    reach = np.arange(-math.ceil(25 * scale), math.ceil(25 * scale) + 1)
    return reach, DiscreteLaplace(scale).pmf(reach)


@cache
def row_law(counts, picks, scale):
    """Probability of picking these states, one after the other, from one noisy row of two."""
    values, p = noise(scale)
    first = np.maximum(counts[0] + values, 0)[:, None]
    second = np.maximum(counts[1] + values, 0)[None, :]
    total = first + second
    share = np.where(total > 0, first / np.maximum(total, 1), 0.5)
    drawn = share ** picks.count(0) * (1 - share) ** picks.count(1)
    return float(p @ drawn @ p)


def path_law(rows, n_records, scale):
    """Probability of every path of records from fixed seeds, states in between included; rows
    are independent of each other, so it is a product over the rows."""
    found = {}
    for path in product(range(2), repeat=2 * n_records):
        picks, state = {}, list(SEED)
        for k, new in enumerate(path):
            column, state = k % 2, list(SEED) if k % 2 == 0 else state
            picks.setdefault((column, state[1 - column]), []).append(new)
            state[column] = new
        noises = (
            row_law(counted(rows, *row), tuple(sorted(drawn)), scale)
            for row, drawn in picks.items()
        )
        found[path] = math.prod(noises)
    return found


def counted(rows, column, key):
    return tuple(
        sum(row[column] == state and row[1 - column] == key for row in rows) for state in range(2)
    )


def neighbours(relation):
    for n in range(3):
        for rows in combinations_with_replacement(RECORDS, n):
            for new in RECORDS:
                if relation == "add_remove":
                    yield rows, (*rows, new)
                elif rows:
                    yield rows, (*rows[:-1], new)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [F(1, 2), F(2)])
def test_no_path_is_likelier_by_more_than_e_to_the_epsilon(relation, epsilon):
    """Two records that share rows, of tables that hold each record once, or not at all."""
    scale = F(1 if relation == "add_remove" else 2) * 2 / epsilon
    distribution = cache(lambda rows: path_law(rows, 2, scale))
    worst = 0.0
    for one, other in neighbours(relation):
        here, there = distribution(tuple(sorted(one))), distribution(tuple(sorted(other)))
        assert sum(here.values()) == pytest.approx(1, abs=1e-9)
        worst = max(worst, *(abs(math.log(here[z] / there[z])) for z in here))
    assert 0.1 * epsilon < worst <= epsilon


@pytest.mark.parametrize("relation", RELATIONS)
def test_many_records_use_up_the_budget_and_less_noise_breaks_it(relation):
    """A column alone, whose records all have the same state."""
    epsilon = F(1)
    distribution = calibrate("geometric", spend=epsilon, accounting="pure", neighbours=relation)
    pairs = {"add_remove": ((0, 1), (1, 1)), "replace": ((0, 1), (1, 0))}[relation]

    def realised(scale):
        picks = (1,) * 3000
        one, other = (row_law(counts, picks, scale) for counts in pairs)
        return math.log(one / other)

    assert 0.99 < realised(distribution.scale) <= 1 + 1e-9
    assert realised(distribution.scale * F(7, 10)) > 1.3


def hashed(counts):
    flat = np.asarray(counts).reshape(-1)
    codes = np.flatnonzero(flat)
    return HashedRows.of(ExactCells(codes, flat[codes], 0), np.shape(counts)[-1])


@pytest.mark.parametrize(("factor", "fits"), [(F(1), True), (F(7, 10), False), (F(13, 10), False)])
def test_rows_hold_their_records_and_noise_of_the_right_scale(factor, fits):
    """Chi-square over the cells of many rows, false-alarm rate 10⁻⁴; wrong scales fail."""
    scale, n_rows = F(3), 6000
    table = NoisyRows(hashed([(6, 1)] * n_rows), 2, DiscreteLaplace(scale * factor))
    table.rows(np.arange(n_rows), SeededRandomness(5))
    first = np.minimum(table.ends[:, 0], 12)
    reach = np.arange(-200, 200)
    share = np.bincount(np.clip(6 + reach, 0, 12), DiscreteLaplace(scale).pmf(reach))
    seen = np.bincount(first, minlength=13)
    assert (chisquare(seen, share / share.sum() * n_rows).pvalue > 1e-4) == fits


def test_states_are_picked_in_proportion_to_what_their_row_holds():
    """Chi-square, false-alarm rate 10⁻⁴; 16,000 records visit the only row of one column."""
    table = NoisyRows(hashed([(40, 0, 9, 70)]), 4, DiscreteLaplace(F(2)))
    sweep = GibbsSweep(("a",), Domain((4,)), ((),))
    drawn = lazy_gibbs_records([table], sweep, 16_000, sweeps=1, randomness=SeededRandomness(4))
    share = np.diff(table.ends[0], prepend=0) / table.ends[0, -1]
    seen = np.bincount(drawn.columns[0], minlength=4)
    assert table.visited == 1
    assert not seen[share == 0].any()
    assert chisquare(seen[share > 0], share[share > 0] * 16_000).pvalue > 1e-4


def test_a_row_is_drawn_once():
    table = NoisyRows(hashed([[3, 0], [0, 5]]), 2, DiscreteLaplace(F(4)))
    randomness = SeededRandomness(1)
    keys = np.array([1, 0, 1, 1])
    rows = table.rows(keys, randomness)
    assert rows.tolist() == [0, 1, 0, 0]
    before = table.ends.copy()
    assert table.rows(np.array([0, 7, 1]), randomness).tolist() == [1, 2, 0]
    assert table.visited == 3
    assert np.array_equal(table.ends[:2], before)


def test_many_rows_are_numbered_like_in_a_dictionary_and_hold_their_records():
    """Next to no noise: what is in a row is what the rows hold."""
    rng = np.random.default_rng(1)
    size, occupied = 3, np.unique(rng.integers(0, 2**61 // 3, 400))
    codes = np.unique(occupied.repeat(2) * size + rng.integers(0, size, 800))
    counts = rng.integers(1, 9, len(codes))
    table = NoisyRows(
        HashedRows.of(ExactCells(codes, counts, 0), size), size, DiscreteLaplace(F(1, 2**30))
    )
    known, real = {}, dict(zip(codes.tolist(), counts.tolist(), strict=True))
    for _ in range(20):
        keys = np.concatenate([rng.choice(occupied, 60), rng.integers(0, 2**61 // 3, 60)])
        for key, row in zip(keys.tolist(), table.rows(keys, SeededRandomness(2)), strict=True):
            assert known.setdefault(key, len(known)) == row
            inside = [real.get(key * size + state, 0) for state in range(size)]
            assert np.diff(table.ends[row], prepend=0).tolist() == inside


def test_memory_goes_by_visited_rows():
    """Keys of 10¹² values and more: 13 columns, each given all others."""
    sizes = (6, 3, 10, 8, 30, 26, 14, 18, 71, 10, 4, 4, 3)
    names = tuple(f"x{j}" for j in range(13))
    sweep = GibbsSweep(
        names, Domain(sizes), tuple(tuple(k for k in range(13) if k != j) for j in range(13))
    )
    assert min(sweep.n_keys) > 10**11
    assert sweep.domain.n_cells > 10**12
    none = ExactCells(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    tables = [NoisyRows(HashedRows.of(none, size), size, DiscreteLaplace(F(26))) for size in sizes]
    drawn = lazy_gibbs_records(tables, sweep, 500, sweeps=2, randomness=SeededRandomness(1))
    for table, column, size in zip(tables, drawn.columns, sizes, strict=True):
        assert 0 < table.visited <= 1000
        assert table.nbytes <= 2000 * (8 * size + 8) + 2**15
        assert column.max() < size


# --- the verb -------------------------------------------------------------------------------------

SCHEMA = Schema.loads(
    "".join(
        f'[columns.{name}]\nkind = "categorical"\nlevels = {levels}\nreviewed = true\n'
        for name, levels in (("a", '["x", "y"]'), ("b", '["u", "v", "w"]'))
    )
)
OWN = GibbsSweep.of(SCHEMA.names, SCHEMA.domain, {"b": ("a",)})


def gate_of(rows=(), delta=0, epsilon=10**6, schema=SCHEMA):
    frame = pl.DataFrame(list(rows), schema={"a": pl.String, "b": pl.String}, orient="row")
    budget = Budget.of(epsilon, delta)
    return open_gate(Table(frame, schema), budget, SeededRandomness(1))


def test_a_large_budget_gives_what_the_rows_hold():
    rows = [("x", "u")] * 30 + [("y", "w")] * 60 + [("x", "?")] * 9 + [("?", "v")]
    gate = gate_of(rows)
    drawn = gate.ask(LazyRows(sweep=OWN, sweeps=1, n_rows=3000), spend=F(10**6))
    cells = Counter(zip(*(column.tolist() for column in drawn.value.columns), strict=True))
    assert set(cells) == {(0, 0), (1, 2)}  # a is alone, b given a; 39 and 60 have a
    assert abs(cells[0, 0] - 3000 * 39 / 99) < 150


def test_the_verb_pays_once_and_publishes_no_number():
    gate = gate_of([("x", "u")])
    for n_rows in (0, 7):
        drawn = gate.ask(LazyRows(sweep=OWN, sweeps=3, n_rows=n_rows), spend=F(3))
        assert {len(column) for column in drawn.value.columns} == {n_rows}
    assert [entry.spent for entry in gate.ledger] == [3, 3]
    assert [entry.cells for entry in gate.ledger] == [8, 8]
    distribution = calibrate(
        "geometric", spend=F(3, 2), accounting="pure", neighbours=SCHEMA.neighbours
    )
    assert gate.ledger[0].noise == f"discrete Laplace (geometric), scale {distribution.scale}"
    released = gate.measured[0].value
    assert released == GibbsDraws(("a", "b"), {"a": (), "b": ("a",)}, "noisy rows")


@pytest.mark.parametrize("distribution", ["geometric", "gaussian"])
def test_a_budget_with_delta_is_kept(distribution):
    gate = gate_of([("x", "u")] * 9, delta=F(1, 10**6), epsilon=1)
    gate.ask(LazyRows(sweep=OWN, sweeps=1, noise=distribution, n_rows=5), spend=gate.remaining)
    noise = calibrate(
        distribution,
        spend=gate.budget.amount / 2,
        accounting=gate.budget.accounting,
        neighbours=SCHEMA.neighbours,
    )
    assert gate.measured[0].noise.stddev == noise.stddev
    assert gate.remaining == 0


@pytest.mark.parametrize(
    ("more", "spend", "error"),
    [
        ({"noise": "laplace"}, F(1), MethodError),
        ({"noise": "gaussian"}, F(1), MethodError),
        ({"sweep": PAIR}, F(1), MethodError),
        ({}, F(11), InsufficientBudgetError),
        ({}, F(1, 10**30), BudgetError),
    ],
)
def test_what_does_not_fit_costs_nothing(more, spend, error):
    gate = gate_of([("x", "u")], epsilon=10)
    with pytest.raises(error):
        gate.ask(LazyRows(**{"sweep": OWN, "sweeps": 1} | more, n_rows=2), spend=spend)
    assert not gate.ledger
