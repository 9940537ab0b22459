"""What tables save of the distance of pairs, and when rounds give way to columns."""

import math

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.methods.registry import configure
from understudy.methods.two_way_risk import (
    LEVEL,
    TwoWayRisk,
    is_clear,
    saved_by_columns,
    saved_by_pairs,
)
from understudy.workflow.gates import open_gate

DRAWS = 4_000


def test_columns_save_what_simulated_errors_lose():
    rng = np.random.default_rng(1)
    shares = [np.array([0.7, 0.3]), np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.5])]
    before, after, held, n = np.array([900.0, 400, 100]), np.array([100.0, 50, 50]), 500.0, 2_000.0
    sizes = []
    for variance in (before, after):
        total = 0.0
        for i, j in ((0, 1), (0, 2), (1, 2)):
            p, q = shares[i][:, None], shares[j][None, :]
            shape = (DRAWS, len(shares[i]), len(shares[j]))
            rows = rng.normal(size=shape) * np.sqrt(n * p * q)
            table = rng.normal(size=shape) * math.sqrt(held if (i, j) == (0, 2) else 0)
            one = rng.normal(size=shape) * math.sqrt(variance[i]) * q
            other = rng.normal(size=shape) * math.sqrt(variance[j]) * p
            total += float(np.abs(rows + table + one + other).sum()) / DRAWS
        sizes.append(total)
    told = saved_by_columns([n * each for each in shares], (before, after), {(0, 2): held})
    assert told == pytest.approx(sizes[0] - sizes[1], rel=0.1)


def test_a_pair_saves_what_its_noise_leaves():
    rng = np.random.default_rng(2)
    before, error, noise = np.full((6, 6), 100.0), 40.0, 15.0
    saved, real = [], []
    for _ in range(400):
        truth = before + error * rng.normal(size=(6, 6))
        counts = truth + noise * rng.normal(size=(6, 6))
        saved.append(saved_by_pairs(counts, before, noise**2))
        weight = error**2 / (error**2 + noise**2)
        best = before + weight * (counts - before)
        real.append(np.abs(truth - before).sum() - np.abs(truth - best).sum())
    assert np.mean(saved) == pytest.approx(np.mean(real), rel=0.03)


def test_three_columns_save_by_each_pair():
    before = np.full((2, 2, 2), 50.0)
    counts = before.copy()
    counts[0, 0], counts[1, 1] = 90, 90
    counts[0, 1], counts[1, 0] = 10, 10
    pair = saved_by_pairs(counts.sum(axis=2), before.sum(axis=2), 2 * 25.0)
    assert saved_by_pairs(counts, before, 25.0) == pytest.approx(pair)
    assert pair > 0


@pytest.mark.parametrize("variance", [100.0, 2_500.0])
def test_independent_pairs_are_clear_as_rarely_as_the_level_says(variance):
    rng = np.random.default_rng(4)
    p, q, n, columns = np.array([0.6, 0.4]), np.array([0.2, 0.3, 0.5]), 5_000, (400.0, 900.0)
    clear = 0
    for _ in range(DRAWS):
        one = n * p + math.sqrt(columns[0]) * rng.normal(size=2)
        other = n * q + math.sqrt(columns[1]) * rng.normal(size=3)
        said = np.maximum(np.outer(one / one.sum(), other), 0)
        rows = rng.multinomial(n, np.outer(p, q).ravel()).reshape(2, 3)
        counts = rows + math.sqrt(variance) * rng.normal(size=(2, 3))
        clear += is_clear(counts, said, variance, columns, 1)
    assert clear / DRAWS <= LEVEL + 2 * math.sqrt(LEVEL / DRAWS)


def test_a_strong_tie_is_clear_among_many_and_in_triples():
    rng = np.random.default_rng(5)
    before, tie = np.full((3, 3), 500.0), 150 * (3 * np.eye(3) - 1)
    counts = before + tie + 50 * rng.normal(size=(3, 3))
    assert is_clear(counts, before, 2_500.0, (400.0, 400.0), 1_000)
    assert not is_clear(counts, before, 40_000.0, (400.0, 400.0), 1_000)
    triple = np.stack([counts, counts], axis=1) / 2
    said = np.stack([before, before], axis=1) / 2
    assert is_clear(triple, said, 1_250.0, (400.0,) * 3, 1_000)


SAME = np.full((2, 2), 250.0)
APART = np.array([[450.0, 50], [50, 450]])


def prefers(*rounds, cost=0.1):
    """Whether columns are preferred after rounds of such pairs, six columns in all."""
    risk = TwoWayRisk(np.full(6, 1e-3))
    for seen in rounds:
        risk.note((0, 1), seen, SAME, 100.0, cost)
    return risk.prefers_columns([np.full(2, 500.0)] * 6, np.full(6, 1e-2), 1.0)


def test_four_pairs_are_seen_before_columns_are_preferred():
    assert not prefers(SAME, SAME, SAME)
    assert prefers(SAME, SAME, SAME, SAME)
    risk = TwoWayRisk(np.full(6, 1e-3))
    risk.note((2, 3), SAME, SAME, 100.0, 0.1)
    assert risk.measured[2, 3] == pytest.approx(100)
    risk.note((2,), np.full(2, 500.0), np.full(2, 500.0), 100.0, 0.1)
    assert risk.known[2] == pytest.approx(1e-3 + 1 / 100 + 1 / 200)
    risk.note((0, 1), SAME, SAME, 100.0, 0.1)
    risk.note((4, 5), SAME, SAME, 100.0, 0.1)
    assert not risk.prefers_columns([np.full(2, 500.0)] * 6, np.full(6, 1e-2), 1.0)


def test_columns_wait_while_rounds_find_ties():
    nothing = [SAME] * 4
    assert not prefers(SAME, SAME, SAME, APART, cost=1e9)
    assert not prefers(APART, *nothing[1:], cost=1e9)
    assert prefers(APART, *nothing, cost=1e9)
    assert not prefers(*[APART] * 4, *nothing, cost=1e9)
    assert prefers(*[APART] * 4, *nothing, SAME, cost=1e9)


N, D, TIED = 4_000, 32, 6


def bought(tied, **options):
    """Columns of the tables of one fit, in their order; a few of all columns are tied."""
    rng = np.random.default_rng(3)
    own = rng.normal(size=(N, D))
    if tied:
        own[:, :TIED] += 2 * rng.normal(size=(N, 1))
    rows = (own > 0).astype(int).astype(str)
    names = [f"x{j}" for j in range(D)]
    columns = "".join(column(name, "categorical", levels=["0", "1"]) for name in names)
    schema = us.Schema.loads(f'rows = "public"\nn_rows = {N}\n{columns}')
    budget = Budget.of("1", "0.000001", "gdp")
    gate = open_gate(Table(pl.DataFrame(rows, schema=names), schema), budget, SeededRandomness(1))
    method = configure("marginals", options)
    method.setup(gate, budget.amount).fit(budget.amount, N)
    assert gate.remaining == 0
    tables = [entry.value.columns for entry in gate.measured if hasattr(entry.value, "stddev")]
    return [(name,) for name in names], tables


def test_independent_columns_are_measured_once_more_instead_of_pairs():
    singles, tables = bought(tied=False)
    assert tables[:D] == tables[-D:] == singles
    assert len(tables) < 2 * D + 8


def test_strong_ties_of_few_columns_are_measured_to_the_end():
    singles, tables = bought(tied=True)
    assert tables[-D:] != singles
    assert (
        sum(len(columns) > 1 and {*columns} <= {f"x{j}" for j in range(TIED)} for columns in tables)
        > TIED
    )


@pytest.mark.parametrize("options", [{"one_way_share": 0.4}, {"target": "x0"}, {"degree": 2}])
@pytest.mark.nightly(every=3)
def test_stated_options_keep_rounds_to_the_end(options):
    singles, tables = bought(tied=False, **options)
    assert tables[-D:] != singles
