"""Exact sums by cell: against a slow obvious one, and in every way a value can fail to be one."""

import datetime
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from understudy.data import rows
from understudy.data.coding import ColumnCoder
from understudy.data.sums import on_lattice
from understudy.data.table import Table
from understudy.features.grids import HALF, STEPS, holds_numbers
from understudy.schema import Schema

SCHEMA = Schema.loads("""
[columns.group]
kind = "categorical"
levels = ["a", "b", "c"]
[columns.income]
kind = "continuous"
lower = -2.5
upper = 9.5
bins = 1
spikes = [0.0]
missing = [""]
[columns.city]
kind = "categorical"
levels = ["x", "y"]
[columns.age]
kind = "integer"
lower = 0
upper = 90
bins = 1
not_applicable = [999]
[columns.day]
kind = "date"
lower = 2000-01-01
upper = 2009-12-31
bins = 1
[[forbidden]]
where = {group = "c", city = "y"}
""")
NUMBERS = (1, 3, 4)


def frame(n, seed=1):
    rng = np.random.default_rng(seed)
    days = [
        datetime.date(1998, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 5000, n)
    ]
    return pl.DataFrame(
        {
            "group": rng.choice(["a", "b", "c", "?"], n).tolist(),
            "income": rng.choice([-9.0, 0.0, 3.3, 9.5, 50.0, None], n).tolist(),
            "city": rng.choice(["x", "y"], n).tolist(),
            "age": rng.choice([0.0, 33.0, 41.5, 90.0, 120.0, 999.0, np.inf], n).tolist(),
            "day": days,
        }
    )


def obvious_sums(table, schema, columns, of):
    """Record by record, with exact fractions and Python's integers."""
    states = table.code_rows().expose()
    readings = table.read(schema.names).expose()
    shape = [schema.sizes[j] for j in columns]
    p = len(of)
    counts = np.zeros(shape, dtype=object)
    sums = np.zeros((p, *shape), dtype=object)
    products = np.zeros((p * (p + 1) // 2, *shape), dtype=object)
    pairs = [(j, k) for j in range(p) for k in range(j, p)]
    for i in range(len(states[0])):
        cell = tuple(int(states[j][i]) for j in columns)
        if any(state >= size for state, size in zip(cell, shape, strict=True)):
            continue
        z = [obvious_step(readings[j], i, schema.columns[schema.names[j]]) for j in of]
        counts[cell] += 1
        for j in range(p):
            sums[(j, *cell)] += z[j]
        for rank, (j, k) in enumerate(pairs):
            products[(rank, *cell)] += z[j] * z[k]
    return [a.reshape((*a.shape[: a.ndim - len(shape)], -1)) for a in (counts, sums, products)]


def obvious_step(reading, i, column):
    state = int(reading.states[i])
    if state >= column.n_ordinary or column.intervals[state].spike:
        return 0
    low, high = (Fraction(bound) for bound in column.bounds)
    x = min(max(Fraction(float(reading.number[i])), low), high)
    return round((x - (low + high) / 2) / (high - low) * STEPS)


@pytest.mark.parametrize("columns", [(0, 1, 2, 3, 4), (0, 1, 3, 4), (4, 1, 3, 0), (1, 3, 4)])
def test_sums_equal_the_obvious_ones(columns, monkeypatch):
    """Group and city stand in a rule: it counts though city is not a column of the table."""
    monkeypatch.setattr(rows, "BATCH_ROWS", 64)
    table = Table(frame(500), SCHEMA)
    found = table.sums(columns, NUMBERS).expose()
    counts, sums, products = obvious_sums(table, SCHEMA, columns, NUMBERS)
    assert found.counts.tolist() == counts.tolist()
    assert found.sums.tolist() == sums.tolist()
    assert found.products.tolist() == products.tolist()
    assert found.counts.dtype == found.sums.dtype == found.products.dtype == np.int64
    assert 0 < found.counts.sum() < 500
    (counted,) = table.count([columns]).expose()
    assert found.counts.tolist() == counted.inside.reshape(-1).tolist()


def test_the_order_of_the_rows_and_of_the_batches_plays_no_part(monkeypatch):
    once = Table(frame(300), SCHEMA).sums((0, 1, 3), (1, 3)).expose()
    monkeypatch.setattr(rows, "BATCH_ROWS", 7)
    again = Table(frame(300).reverse(), SCHEMA).sums((0, 1, 3), (1, 3)).expose()
    for name in ("counts", "sums", "products"):
        assert getattr(once, name).tolist() == getattr(again, name).tolist()


def test_values_are_clipped_to_the_bounds_and_put_on_the_lattice():
    column = SCHEMA.columns["income"]
    values = [-2.5, 9.5, 3.5, -1e300, 1e300, 0.0, None, float("nan"), float("inf"), 9.4999]
    reading = ColumnCoder("income", column).read(pl.Series(values, dtype=pl.Float64))
    steps = on_lattice(reading, column)
    assert steps[:9].tolist() == [-HALF, HALF, 0, -HALF, HALF, 0, 0, 0, 0]
    assert 0 <= HALF - steps[9] <= 1


def test_a_value_that_is_clipped_onto_a_spike_is_not_summed():
    column = SCHEMA.columns["income"].model_copy(update={"lower": 0.0})
    column = type(column).model_validate(column.model_dump())
    reading = ColumnCoder("income", column).read(pl.Series([-5.0, 0.0, 0.5]))
    assert on_lattice(reading, column).tolist()[:2] == [0, 0]
    assert on_lattice(reading, column)[2] < 0


def test_spikes_and_codes_hold_no_numbers_and_neither_do_levels():
    assert holds_numbers(SCHEMA.columns["income"]).tolist() == [True, False, False]
    assert holds_numbers(SCHEMA.columns["age"]).tolist() == [True, False]
    assert not holds_numbers(SCHEMA.columns["city"]).any()


def test_bounds_as_far_apart_as_numbers_go_or_as_close_do_no_harm():
    for low, high in [(-1e30, 1e30), (0.0, 1e-30), (1.0, 1.0 + 2**-50)]:
        column = SCHEMA.columns["income"].model_copy(
            update={"lower": low, "upper": high, "spikes": ()}
        )
        middle = low + (high - low) / 2
        reading = ColumnCoder("income", column).read(pl.Series([low, middle, high]))
        assert on_lattice(reading, column).tolist() == [-HALF, 0, HALF]


def test_no_rows_give_zeros():
    found = Table(frame(0), SCHEMA).sums((0, 1), (1,)).expose()
    assert not found.counts.any()
    assert found.sums.shape == (1, 9)
    assert found.products.shape == (1, 9)


def test_sums_are_confidential():
    assert repr(Table(frame(3), SCHEMA).sums((0, 1), (1,))) == "Confidential(…)"
