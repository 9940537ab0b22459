"""Bins that hold most of their neighbourhood are found, and divided into values or parts."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.methods.binning import (
    FULL,
    HEAP,
    MOST,
    Crowd,
    find_crowded_bins,
    find_full_bins,
    fine_bins,
)
from understudy.release.shape import Kind
from understudy.schema import Schema

AMOUNT = 'kind = "continuous"\nlower = 0\nupper = 5000\ndecimals = 2'
WHOLE = 'kind = "integer"\nlower = 0\nupper = 100000'


def fine(text):
    schema = Schema.loads(f"[columns.x]\n{text}\nreviewed = true")
    return schema.with_bins(fine_bins(schema)).columns["x"]


def masses(column, values):
    """Records of the values in each bin."""
    lows = [one.low for one in column.intervals]
    own = np.searchsorted(lows, values, "right") - 1
    return np.bincount(own, minlength=column.size).astype(float)


def test_a_heap_on_one_value_crowds_its_bin_alone():
    rng = np.random.default_rng(1)
    values = np.append(rng.gamma(2, 50, 9_000), np.full(1_000, 99.99))
    (found,) = find_crowded_bins(fine(AMOUNT), masses(fine(AMOUNT), values), 5.0)
    assert found.low <= 99.99 < found.high
    assert found.excess == pytest.approx(1_000, rel=0.3)


@pytest.mark.parametrize(
    "drawn",
    [
        lambda rng: rng.exponential(2, 20_000),
        lambda rng: rng.exponential(400, 20_000),
        lambda rng: np.exp(-1 + rng.normal(size=20_000)),
        lambda rng: np.exp(6 + rng.normal(size=20_000)),
        lambda rng: rng.uniform(0, 5_000, 20_000),
    ],
)
def test_what_is_merely_dense_crowds_no_bin(drawn):
    """Fixed seeds. A bin would need twice the density of two bins further: never by chance."""
    values = np.round(drawn(np.random.default_rng(2)), 2)
    values = values[values < 5_000]
    assert find_crowded_bins(fine(AMOUNT), masses(fine(AMOUNT), values), 20.0) == []


def test_values_that_stand_alone_are_not_divided():
    column = fine(AMOUNT)
    heap = masses(column, np.append(np.zeros(900), np.full(100, 5_000.0)))
    assert find_crowded_bins(column, heap, 1.0) == []


def test_the_fullest_bins_are_divided_and_no_more_than_a_few():
    column = fine(AMOUNT)
    values = np.repeat(np.arange(100, 5_000, 250) + 0.5, np.arange(20) + 100)
    found = find_crowded_bins(column, masses(column, values), 1.0)
    assert len(found) == MOST
    assert [one.excess for one in found] == sorted((one.excess for one in found), reverse=True)
    assert isinstance(found[0], Crowd)


def test_where_all_people_round_the_full_bins_are_divided():
    """Each bin has a round number, so that no neighbour tells of a heap."""
    rng = np.random.default_rng(4)
    pay = np.rint(np.exp(7.4 + 0.6 * rng.normal(size=20_000)))
    pay = np.where(rng.random(20_000) < 0.5, np.rint(pay / 500) * 500, pay).astype(int)
    declared = schema(of=WHOLE)
    column = declared.with_bins(fine_bins(declared)).columns["x"]
    found = find_full_bins(column, masses(column, pay))
    assert found
    assert all(one.excess > FULL * HEAP * 20_000 for one in found)
    made = us.synthesize(
        pl.DataFrame({"x": pay, "c": rng.integers(0, 3, 20_000).astype(str)}), declared,
        epsilon=1, delta="1e-6", method="marginals", insecure_noise_seed=5, frame="polars",
    )  # fmt: skip
    drawn = made.tables[0]["x"].to_numpy()
    for heap in (1_000, 1_500, 2_000):
        assert np.mean(drawn == heap) == pytest.approx(np.mean(pay == heap), rel=0.3)


def rows(n, heap, share, seed=3):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(n) < share, heap, np.round(12 + rng.gamma(2, 20, n), 2))
    return pl.DataFrame({"x": x, "c": rng.integers(0, 3, n).astype(str)})


def schema(more="", of=AMOUNT):
    return Schema.loads(
        f'row_limit = 100000\n[columns.x]\n{of}\n{more}\nsource = "made"\nreviewed = true\n'
        '[columns.c]\nkind = "categorical"\nlevels = ["0", "1", "2"]\nsource = "made"\n'
        "reviewed = true"
    )


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_it_costs_a_small_part_and_is_told_as_tables(delta):
    made = us.synthesize(
        rows(5_000, 12.41, 0.3), schema(), epsilon=1, delta=delta, method="marginals",
        insecure_noise_seed=5, frame="polars",
    )  # fmt: skip
    tables = [m for m in made.measurements if m.kind is Kind.TABLE and "x" in m.bins]
    assert tables
    unit = "epsilon_exact" if delta == "0" else "half_mu_squared_exact"
    spent = {one["number"]: Fraction(one[unit]) for one in made.manifest.ledger}
    whole = sum(spent.values())
    assert 0 < sum(spent[m.entry] for m in tables) <= whole / 8


def test_nothing_is_divided_where_no_bin_is_crowded():
    made = us.synthesize(
        rows(5_000, 12.41, 0.0), schema(), epsilon=1, delta="1e-6", method="marginals",
        insecure_noise_seed=5,
    )  # fmt: skip
    assert not [m for m in made.measurements if m.kind is Kind.TABLE and m.bins]


def test_columns_with_heaps_are_left_to_these():
    column = schema("heaps = [5]")
    made = us.synthesize(
        rows(5_000, 12.41, 0.3), column, epsilon=1, delta="1e-6", method="marginals",
        insecure_noise_seed=5,
    )  # fmt: skip
    assert not [m for m in made.measurements if m.kind is Kind.TABLE and m.bins]
