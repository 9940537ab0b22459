"""Normal equations: sensitivities by enumeration, and exact sums of all the records that count."""

import itertools
from fractions import Fraction as F

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.features.grids import HALF
from understudy.mechanisms.regression import (
    ONE,
    NormalEquations,
    asks_count,
    exact_statistics,
    on_lattice,
)
from understudy.schema import Schema

CODED = """
row_limit = 50
[columns.x]
kind = "continuous"
lower = -1.0
upper = 1.0
bins = 1
[columns.y]
kind = "integer"
lower = -10
upper = 10
bins = 1
spikes = [0, 3]
missing = [-99]
"""
SCHEMA = Schema.loads(CODED)
PUBLIC = SCHEMA.model_copy(update={"rows": "public", "n_rows": 2, "row_limit": None})
RECORDS = [(x, y) for x in (-1.0, 0.0, 1.0) for y in (-10, 0, 10)] + [(1.0, -99), (None, 10)]


def by_engine(rows, *, counted, order=(0, 1)):
    """Statistics of a table by way of the engine's coding and summing; the response comes last."""
    frame = pl.DataFrame(list(rows), schema={"x": pl.Float64, "y": pl.Int64}, orient="row")
    sums = Table(frame, SCHEMA).sums(order, order).expose()
    columns = [SCHEMA.columns[SCHEMA.names[j]] for j in order]
    return exact_statistics(NormalEquations(1, counted), sums, columns)


def slow(rows, d, *, counted):
    """Statistics of records of whole numbers, one by one with Python's integers."""
    n, places = len(rows), [(j, k) for j in range(d + 1) for k in range(j, d + 1)][:-1]
    sums = [HALF * sum(int(row[j]) for row in rows) for j in range(d + 1)]
    products = [sum(int(row[j]) * int(row[k]) for row in rows) for j, k in places]
    return [*([n * ONE] if counted else []), *sums, *products]


# --- sensitivity --------------------------------------------------------------------------------


def changes(found, others):
    """Largest L1 and L∞ changes between any of two lists of statistics, in records."""
    gaps = np.abs(np.asarray(found)[:, None] - np.asarray(others)[None])
    return F(int(gaps.sum(axis=-1).max()), ONE), F(int(gaps.max()), ONE)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_extreme_records_change_the_statistics_by_just_what_is_stated(d):
    grid = np.array(list(itertools.product((-HALF, 0, HALF), repeat=d + 1)))
    every = NormalEquations(d, counted=True).statistics(grid[:, None, :])
    most = (d + 1) * (d + 4) // 2
    for counted in (True, False):
        equations = NormalEquations(d, counted)
        found = equations.statistics(grid[:, None, :])
        assert found.shape == (3 ** (d + 1), equations.size)
        assert equations.size == most - (not counted)
        assert equations.l1_sensitivity == most
        # Replaced, both counting; added, or replaced by one that does not count.
        assert changes(found, found) == (most, 2)
        assert equations.max_sensitivity("replace") == 2
    nothing = np.zeros((1, most), dtype=np.int64)
    assert changes(every, nothing) == (most, 1)
    assert NormalEquations(d, counted=True).max_sensitivity("add_remove") == 1


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_no_other_records_change_them_by_more(d):
    rng = np.random.default_rng(d)
    equations = NormalEquations(d, counted=True)
    pairs = rng.integers(-HALF, HALF, (2, 20_000, 1, d + 1), endpoint=True)
    pushed = np.where(rng.random(pairs.shape) < 0.7, np.sign(pairs) * HALF, pairs)
    halves = np.where(rng.random(pairs.shape) < 0.3, 0, pushed)
    for one in (pairs, pushed, halves):
        gaps = np.abs(equations.statistics(one[0]) - equations.statistics(one[1]))
        assert gaps.sum(axis=-1).max() <= equations.l1_sensitivity * ONE
        assert gaps.max() <= 2 * ONE


@pytest.mark.statistical
@pytest.mark.parametrize("schema", [SCHEMA, PUBLIC], ids=["add_remove", "replace"])
def test_neighbouring_tables_differ_by_no_more_through_the_engine(schema):
    """All tables of two records, among them records that lack a number; each value is attained."""
    counted = asks_count(schema, ("x", "y"))
    assert counted
    tables = {
        rows: by_engine(rows, counted=True)
        for n in (1, 2)
        for rows in itertools.combinations_with_replacement(RECORDS, n)
    }
    l1, most = 0, 0
    for rows, value in tables.items():
        if len(rows) < 2:
            continue
        for k in (0, 1):
            rest = (rows[1 - k],)
            others = [rest] if schema.neighbours == "add_remove" else [(*rest, r) for r in RECORDS]
            for other in others:
                key = other if other in tables else other[::-1]
                gap = np.abs(value - tables[key])
                l1, most = max(l1, int(gap.sum())), max(most, int(gap.max()))
    equations = NormalEquations(1, counted=True)
    assert l1 == equations.l1_sensitivity * ONE == 5 * ONE
    assert most == equations.max_sensitivity(schema.neighbours) * ONE


def test_the_published_bound_is_larger():
    for d in range(1, 30):
        assert NormalEquations(d, counted=True).l1_sensitivity < 2 * (d + 1) ** 2


# --- exactness ----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("counted", [True, False])
def test_statistics_are_exact_with_leading_axes(d, counted):
    rng = np.random.default_rng(3)
    z = rng.integers(-HALF, HALF, (2, 3, 7, d + 1), endpoint=True)
    found = NormalEquations(d, counted).statistics(z)
    assert found.dtype == np.int64
    for i, j in itertools.product(range(2), range(3)):
        assert found[i, j].tolist() == slow(z[i, j], d, counted=counted)
    none = NormalEquations(d, counted).statistics(z[:, :, :0])
    assert not none.any()


@pytest.mark.parametrize("counted", [True, False])
def test_spikes_count_with_their_value_and_records_that_lack_a_number_do_not(counted):
    rng = np.random.default_rng(4)
    x = rng.uniform(-1.3, 1.3, 60).tolist()
    y = rng.choice([-99, -40, -10, -7, 0, 3, 4, 10, 25, None], 60).tolist()
    x[:3] = [None, float("nan"), float("inf")]
    there = [
        (a, b)
        for a, b in zip(x, y, strict=True)
        if a is not None and np.isfinite(a) and b not in {None, -99}
    ]
    z = on_lattice(np.array(there, dtype=float), [(-1.0, 1.0), (-10.0, 10.0)])
    assert {0, 9830, -HALF, HALF} <= set(z[:, 1].tolist())  # 0, 3, and both bounds
    assert 20 < len(there) < 55
    rows = list(zip(x, y, strict=True))
    for order in ((0, 1), (1, 0)):
        found = by_engine(rows, counted=counted, order=order)
        assert found.tolist() == slow(z[:, order], 1, counted=counted)


def test_a_table_without_rows_is_all_zeros():
    assert by_engine([], counted=True).tolist() == [0] * 5


def test_the_number_of_records_is_public_only_where_none_can_drop_out():
    assert asks_count(SCHEMA, ("x",))
    assert not asks_count(PUBLIC, ("x",))
    assert asks_count(PUBLIC, ("x", "y"))
