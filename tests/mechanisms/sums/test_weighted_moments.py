"""Second moments of records with weights: what one record can change, exact sums, and noise."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.scores import TICKS, UNIT, FeatureMap, Weighting
from understudy.mechanisms.second_moments import ONE, Sensitivity, WeightedMoments, stack_sums
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

WEIGHT = "[columns.w]\nkind = 'continuous'\nlower = 0.0\nupper = 8.0\nreviewed = true\n"
REST = """
[columns.x]
kind = 'integer'
lower = 0
upper = 2
missing = [9]
reviewed = true
[columns.y]
kind = 'categorical'
levels = ['a', 'b', 'c']
reviewed = true
"""
WEIGHTS = [0.0, 1.5, 8.0, 11.0, None]


def schema_of(neighbours="add_remove"):
    rows = "rows = 'public'\nn_rows = 1\n" if neighbours == "replace" else ""
    return Schema.loads(rows + WEIGHT + REST)


def exact_sums(frame, power=1, bound=4.0):
    """Sums in records, and the scores."""
    scores = FeatureMap.of(schema_of(), ("x", "y"), weighting=Weighting("w", bound, power))
    exact = Table(frame, schema_of()).score_products(scores).expose()
    return stack_sums(exact, scores) / ONE, scores


def every_record():
    """Of the weight at the bound all; of others some, at both ends and out of domain too."""
    own, levels = [0, 1, 2, 9, 7], ["a", "b", "c", "?"]
    return [*itertools.product([4.0], own, levels), *itertools.product(WEIGHTS, own[::2], "ab?")]


def frame_of(records):
    return pl.DataFrame(records, schema={"w": pl.Float64, "x": pl.Int64, "y": str}, orient="row")


@cache
def sums_of_each(power):
    """What every record adds."""
    return np.array([exact_sums(frame_of([one]), power)[0] for one in every_record()])


@pytest.mark.parametrize("power", [1, 2])
def test_one_record_changes_no_more_and_attains_it(power):
    """Every record, with weights of 0, beyond the bound, and none: added, removed or replaced."""
    assert_bounded(sums_of_each(power), power)


def assert_bounded(each, power):
    scores = exact_sums(frame_of([every_record()[0]]), power)[1]
    added = Sensitivity.of(schema_of(), scores)
    assert added.counted
    assert added.numbers == each.shape[1]
    squares, sizes = (each**2).sum(axis=1).max(), np.abs(each).sum(axis=1).max()
    assert squares == pytest.approx(float(added.squared_l2), rel=1e-3)
    assert sizes == pytest.approx(float(added.l1), rel=1e-3)
    replaced = Sensitivity.of(schema_of("replace"), scores)
    gram = each @ each.T
    largest = (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram).max()
    assert largest <= float(replaced.squared_l2) * 1.001 <= 2 * largest
    # Without the bound a weight of 11 would exceed both: a fault that is noticed.
    assert squares * (11 / 4) ** 2 > 2 * float(added.squared_l2)


def test_weights_that_nobody_cuts_are_noticed(monkeypatch):
    def heavy():
        return [exact_sums(frame_of([one]))[0] for one in every_record() if (one[0] or 0) >= 8]

    assert_bounded(np.array(heavy()), 1)
    monkeypatch.setattr(
        Weighting,
        "ticks",
        lambda self, weights: np.rint((np.nan_to_num(weights) / self.bound) ** self.power * TICKS),
    )
    with pytest.raises(AssertionError):
        assert_bounded(np.array(heavy()), 1)


def test_a_weight_counts_at_most_as_the_bound_and_not_at_all_where_there_is_none():
    weighting = Weighting("w", 4.0, 1)
    ticks = weighting.ticks(np.array([0.0, 1.0, 4.0, 11.0, np.nan, -3.0]))
    assert ticks.tolist() == [0, TICKS / 4, TICKS, TICKS, 0, 0]
    half = Weighting("w", 4.0, 2).ticks(np.array([2.0]))
    assert half.tolist() == [TICKS / 4]


@pytest.mark.parametrize("power", [1, 2])
def test_sums_are_those_of_a_slow_sum(power):
    """Of more records than one batch of exact products has, in two tables that are merged."""
    rng = np.random.default_rng(3)
    records = [every_record()[k] for k in rng.integers(0, len(every_record()), 1_300)]
    found, scores = exact_sums(frame_of(records), power)
    alone = dict(zip(every_record(), sums_of_each(power), strict=True))
    one_by_one = sum(alone[one] for one in records)
    assert found == pytest.approx(one_by_one, abs=1e-5)
    weights = np.array([0 if one[0] is None else min(one[0], 4.0) / 4.0 for one in records])
    inside = np.array([one[1] != 9 for one in records])
    x = np.array([min(one[1], 2) - 1.0 for one in records])
    t = weights**power
    q = float(scores.weight)
    counts, sums, _, squares, coded = scores.order.split(found)
    assert counts[0] / q == pytest.approx(t.sum(), abs=0.1)
    assert sums[0] / q == pytest.approx((t * x)[inside].sum(), abs=0.1)
    assert squares[0] == pytest.approx((t * (2 * x**2 - 1))[inside].sum(), abs=0.1)
    assert coded.shape == (0,)


def test_products_are_rounded_once_however_batches_fall():
    """Sums of many records differ from whole numbers of the coarser lattice by less than a step."""
    records = [(0.0007, 2, "a")] * 700
    found, scores = exact_sums(frame_of(records))
    t = round(0.0007 / 4 * TICKS) / TICKS
    place = scores.order.places[2][0]
    first = scores.tables["x"][2, 0] * scores.tables["y"][0, 0] / UNIT**2
    assert found[place] == pytest.approx(700 * t * first, abs=1.01 / ONE)


def test_noise_has_the_stated_scale():
    schema = schema_of()
    frame = frame_of([(2.0, 1, "b")] * 50)
    budget = Budget.of(1, "1e-6", "gdp")
    exact = exact_sums(frame)[0]
    gate = open_gate(Table(frame, schema), budget, SeededRandomness(7))
    z = []
    for _ in range(75):
        asked = WeightedMoments(("x", "y"), "w", 4.0)
        released = gate.ask(asked, spend=budget.amount / 75)
        z.append((released.value.values - exact) / released.noise.stddev)
    z = np.concatenate(z)
    # At least 750 numbers: the mean of z² has sd .052 at most; false alarm below 1e-4.
    assert len(z) >= 750
    assert abs(np.mean(z**2) - 1) < 0.21
    assert abs(np.mean(z**2) / 1.5 - 1) > 0.21  # another scale is noticed


@pytest.mark.parametrize(
    ("column", "bound", "power"),
    [("y", 4.0, 1), ("w", 0.0, 1), ("w", 9.0, 1), ("w", -1.0, 1), ("w", 4.0, 3)],
)
def test_what_is_no_weight_is_refused_before_anything_is_paid(column, bound, power):
    frame = frame_of([(2.0, 1, "b")])
    gate = open_gate(Table(frame, schema_of()), Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError, match="up to a bound above 0"):
        gate.ask(WeightedMoments(("x",), column, bound, power), spend=Fraction(1, 2))
    assert not gate.ledger
