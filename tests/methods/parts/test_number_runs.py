"""Runs in which columns of numbers are measured by themselves once more."""

from fractions import Fraction

import numpy as np
import pytest

import understudy as us
from schemas import column
from understudy.dp.budget import Budget
from understudy.dp.released import Noise, NoisyTable
from understudy.methods.noisy_marginals import (
    LEAST_RUNS,
    LIGHT_ROOM,
    finer_runs,
    runs_spend,
    wide_numbers,
)

SCHEMA = us.Schema.loads(
    column("age", "integer", lower=0, upper=99)
    + column("size", "integer", lower=0, upper=9)
    + column("sex", "categorical", levels=["f", "m"])
).with_bins({"age": 100})


def one_way(name, counts, stddev):
    noise = Noise("discrete_gaussian", str(Fraction(stddev) ** 2), stddev)
    return NoisyTable((name,), np.array(counts, dtype=float), 0.0, noise)


def runs(room, bins=24):
    """Of 100 states with 20 records each, of which noise of 30 tells none apart by itself."""
    tables = [one_way("age", [20] * 100, 30.0), one_way("sex", [1_000, 1_000], 30.0)]
    found = finer_runs(SCHEMA, tables, 2_000.0, ("age",), lines={}, bins=bins, room=room)
    assert set(found) == {"age"}
    return max(found["age"]) + 1


def test_with_room_a_run_needs_no_more_than_one_cell_is_worth():
    assert runs(2 * LIGHT_ROOM) > 1.5 * runs(LIGHT_ROOM)
    assert runs(2 * LIGHT_ROOM) <= 25


def test_there_are_about_as_many_runs_as_asked_for():
    found = [runs(np.inf, bins) for bins in (4, LEAST_RUNS, 33)]
    assert found == pytest.approx([LEAST_RUNS, LEAST_RUNS, 33], abs=1)


@pytest.mark.parametrize(
    ("delta", "accounting", "wide"), [("1e-6", "gdp", ("age",)), ("0", "pure", ())]
)
def test_columns_of_many_numbers_are_measured_twice_where_noise_is_gaussian(
    delta, accounting, wide
):
    budget = Budget.of(1, delta, accounting)
    assert wide_numbers(SCHEMA, budget, 48) == wide
    assert wide_numbers(SCHEMA.part(["age"]), budget, 48) == ()


def test_runs_cost_as_much_as_the_fine_tables_of_their_columns():
    """What is bought is parted by states^(2/3), for a column in runs half of its part each."""
    spent = runs_spend(SCHEMA, Fraction(1), ("age",))
    sizes = np.array(SCHEMA.sizes, dtype=float) ** (2 / 3)
    assert float(spent) == pytest.approx(sizes[0] / sizes.sum() / 2, rel=0.01)
    assert runs_spend(SCHEMA, Fraction(1), ()) == 0
