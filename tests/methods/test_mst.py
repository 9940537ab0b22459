"""MST: the tree it finds, what it never does, and what it costs."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.methods.mst import Mst
from understudy.workflow.gates import open_gate


def chain(n, d=6, size=4, keep=0.85, seed=0):
    """A Markov chain: each column is the one before it, or anything."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n)]
    for _ in range(d - 1):
        fresh = rng.integers(0, size, n)
        columns.append(np.where(rng.random(n) < keep, columns[-1], fresh))
    return pl.DataFrame({f"x{j}": column for j, column in enumerate(columns)})


def schema(sizes, n, rules=""):
    columns = "".join(
        f'[columns.x{j}]\nkind = "integer"\nlower = 0\nupper = {size - 1}\nbins = {size}\n'
        'reviewed = true\nsource = "codebook"\n'
        for j, size in enumerate(sizes)
    )
    return us.Schema.loads(f'rows = "public"\nn_rows = {n}\n{columns}{rules}')


def gate_of(frame, declared, epsilon="1", delta="0.000001", seed=1):
    budget = Budget.of(epsilon, delta, "zcdp")
    return open_gate(Table(frame, declared), budget, SeededRandomness(seed))


def chosen(gate):
    return [one.value.columns for one in gate.measured if one.mechanism == "exponential mechanism"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("delta", ["0", "0.000001"])
@pytest.mark.nightly(every=5)
def test_the_tree_of_a_strong_chain_is_the_chain(seed, delta):
    """At ε = 20 the links are thousands of records ahead of any other pair."""
    frame, declared = chain(5_000, seed=seed), schema([4] * 6, 5_000)
    gate = gate_of(frame, declared, "20", delta, seed)
    Mst().fit(gate, gate.budget.amount, 10)
    assert set(chosen(gate)) == {(f"x{j}", f"x{j + 1}") for j in range(5)}


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.nightly(every=5)
def test_whatever_the_noise_pairs_make_no_cycle(seed):
    gate = gate_of(chain(50, seed=seed), schema([4] * 6, 50), "0.01", seed=seed)
    Mst().fit(gate, gate.budget.amount, 10)
    component = {f"x{j}": {f"x{j}"} for j in range(6)}
    for a, b in chosen(gate):
        assert component[a] is not component[b]
        component[a] |= component[b]
        for name in component[b]:
            component[name] = component[a]
    assert len(chosen(gate)) == 5
    assert gate.remaining == 0


def test_the_budget_goes_in_thirds_and_to_the_last_part():
    gate = gate_of(chain(500), schema([4] * 6, 500))
    Mst().fit(gate, gate.budget.amount, 10)
    third = gate.budget.amount / 3
    costs = [entry.spent for entry in gate.ledger]
    assert [sum(costs[:6]), sum(costs[6:11]), sum(costs[11:])] == [third] * 3
    assert {*costs} == {third / 6, third / 5}


def test_noise_at_small_budget_merges_states_and_zeros_stay():
    rules = """
[[forbidden]]
where = { x0 = [0, 1], x1 = [2, 3] }
reviewed = true
source = "law"
"""
    declared = schema([4] * 6, 300, rules)
    merged = 0
    for seed in range(6):
        frame = chain(300, seed=seed)
        release = us.synthesize(
            frame, declared, method="mst", epsilon="0.3", insecure_noise_seed=seed
        )
        merged += any(one.groups for one in release.measurements if one.kind == "table")
        (table,) = release.tables
        assert not ((table["x0"] < 2) & (table["x1"] >= 2)).any()
    assert merged > 2


@pytest.mark.parametrize("cells", [15, 40, 100])
def test_chosen_pairs_fit_into_the_model(cells):
    """Pairs have 16 cells: none fits into 15, two into 40, five into 100."""
    gate = gate_of(chain(2_000), schema([4] * 6, 2_000), "20")
    model = Mst(model_mb=cells * 8 / 1e6).fit(gate, gate.budget.amount, 10)
    assert len(chosen(gate)) == {15: 0, 40: 2, 100: 5}[cells]
    pairs = [one for one in model.fit.tree.cliques if len(one) > 1]
    assert 16 * len(pairs) <= cells


def test_two_columns_and_a_column_of_one_state():
    for sizes in ([4, 4], [4, 1], [1, 1], [1], [4]):
        frame = chain(100, d=len(sizes)).with_columns(
            pl.lit(0).alias(f"x{j}") for j, size in enumerate(sizes) if size == 1
        )
        release = us.synthesize(frame, schema(sizes, 100), method="mst", epsilon=1)
        assert release.tables[0].shape == (100, len(sizes))


def test_the_order_of_the_rows_columns_does_not_matter():
    frame, declared = chain(400), schema([4] * 6, 400)
    other = frame.select(reversed(frame.columns))
    made = [
        us.synthesize(one, declared, method="mst", epsilon=1, insecure_noise_seed=3)
        for one in (frame, other)
    ]
    assert made[0].tables[0].rows() == made[1].tables[0].rows()
    assert made[0].manifest == made[1].manifest


def test_a_tenth_of_the_budget_is_left_where_pairs_do_not_fit():
    """Nothing is bought for a choice among none: two thirds stay unspent."""
    gate = gate_of(chain(500), schema([4] * 6, 500))
    Mst(model_mb=15 * 8 / 1e6).fit(gate, gate.budget.amount, 10)
    assert gate.remaining == Fraction(2, 3) * gate.budget.amount
