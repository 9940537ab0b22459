"""Tables of weights: what one record can change, exact sums, noise, and what has no price."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.scores import TICKS, Weighting
from understudy.mechanisms.tables import NoisyTables
from understudy.mechanisms.weighted_tables import WeightedTable
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

COLUMNS = """
[columns.w]
kind = 'continuous'
lower = 0.0
upper = 8.0
reviewed = true
[columns.x]
kind = 'integer'
lower = 0
upper = 3
missing = [9]
reviewed = true
[columns.y]
kind = 'categorical'
levels = ['a', 'b', 'c']
reviewed = true
[columns.g]
kind = 'categorical'
levels = ['1', '2']
reviewed = true
[[forbidden]]
where = { x = 3, y = "c" }
reviewed = true
"""
BINS, GROUPS = {"x": (0, 2, 3)}, {"y": (0, 0, 1)}
NAMES = ("x", "y", "g")


def schema_of(neighbours="add_remove"):
    rows = "rows = 'public'\nn_rows = 1\n" if neighbours == "replace" else ""
    return Schema.loads(rows + COLUMNS)


def frame_of(records):
    types = {"w": pl.Float64, "x": pl.Int64, "y": str, "g": str}
    return pl.DataFrame(records, schema=types, orient="row")


def every_record():
    """Weights of 0, at the bound, beyond it and none; values that are absent or impossible."""
    weights = [0.0, 1.5, 4.0, 11.0, None]
    return [*itertools.product(weights, [0, 1, 3, 9, 7], ["a", "c", "?"], ["1", "2"])]


def exact_sums(records, power=1, groups=None):
    """Sums of factors in each cell, in records that count in full."""
    rows = Table(frame_of(records), schema_of())
    sums = rows.weighted_counts(NAMES, Weighting("w", 4.0, power), groups or {}).expose()
    return sums / TICKS


@pytest.mark.parametrize(
    ("power", "groups"),
    [
        (1, {}),
        (2, GROUPS),
        pytest.param(1, GROUPS, marks=pytest.mark.nightly),
        pytest.param(2, {}, marks=pytest.mark.nightly),
    ],
)
def test_one_record_changes_no_more_than_a_count_and_attains_it(power, groups):
    """Every record, added, removed or in place of every other."""
    each = np.array([exact_sums([one], power, groups).reshape(-1) for one in every_record()])
    assert np.abs(each).sum(axis=1).max() == 1.0
    assert (each > 0).sum(axis=1).max() == 1
    change = each[:, None] - each
    assert np.abs(change).sum(axis=2).max() == 2.0
    assert (change**2).sum(axis=2).max() == 2.0


def test_sums_are_those_of_a_slow_sum_in_bins_and_groups():
    rng = np.random.default_rng(3)
    records = [every_record()[k] for k in rng.integers(0, len(every_record()), 500)]
    schema = schema_of()
    gate = open_gate(Table(frame_of(records), schema), Budget.of(10**9), SeededRandomness(1))
    asked = WeightedTable(NAMES, Weighting("w", 4.0, 2), BINS, GROUPS)
    found = gate.ask(asked, spend=Fraction(10**9)).value
    slow, states = np.zeros((3, 2, 2)), {0: 0, 1: 0, 3: 1, 7: 1, 9: 2}  # 7 counts as the bound
    possible = schema.with_bins(BINS).table(NAMES).allowed_mask()
    for w, x, y, g in records:
        if y in ("a", "c") and possible[states[x], "abc".index(y), 0] and w is not None:
            place = states[x], int(y == "c"), int(g) - 1
            slow[place] += round(min(w / 4, 1) ** 2 * TICKS) / TICKS
    assert found.values == pytest.approx(slow, abs=1e-3)
    assert (found.bins, found.groups) == (BINS, GROUPS)


@pytest.mark.parametrize(
    ("neighbours", "accounting"),
    [
        ("add_remove", "zcdp"),
        ("replace", "pure"),
        ("replace", "gdp"),
        pytest.param("add_remove", "pure", marks=pytest.mark.nightly),
        pytest.param("add_remove", "gdp", marks=pytest.mark.nightly),
        pytest.param("replace", "zcdp", marks=pytest.mark.nightly),
    ],
)
def test_noise_is_that_of_a_table_of_counts(neighbours, accounting):
    """Of the stated scale, in each allowed cell; ±30 % of it would be noticed."""
    delta = 0 if accounting == "pure" else "1e-6"
    budget = Budget.of(1, delta, accounting)
    rows = Table(frame_of([(0.0, 0, "a", "1")]), schema_of(neighbours))
    gate = open_gate(rows, budget, SeededRandomness(2))
    spend, drawn = budget.amount / 400, []
    for _ in range(150):
        found = gate.ask(WeightedTable(NAMES, Weighting("w", 4.0, 1)), spend=spend)
        drawn.append(found.value.values.reshape(-1))
    kind = "geometric" if accounting == "pure" else "gaussian"
    (counts,) = gate.ask(NoisyTables((NAMES,), kind), spend=spend)
    assert found.noise.stddev == pytest.approx(counts.noise.stddev, rel=1e-3)
    noise = np.array(drawn)
    allowed = schema_of().table(NAMES).allowed_mask().reshape(-1)
    assert (noise[:, ~allowed] == 0).all()
    size = np.sqrt((noise[:, allowed] ** 2).mean()) / found.noise.stddev
    assert 0.9 < size < 1.1  # by 5 standard errors
    assert gate.ledger[0].mechanism == "noisy weighted table"
    assert gate.ledger[0].cells == allowed.sum()


@pytest.mark.parametrize(
    "asked",
    [
        WeightedTable(("x", "z"), Weighting("w", 4.0, 1)),
        WeightedTable(("x",), Weighting("y", 4.0, 1)),
        WeightedTable(("x",), Weighting("w", 9.0, 1)),
        WeightedTable(("x",), Weighting("w", 4.0, 3)),
        WeightedTable(("x",), Weighting("w", 4.0, 1, "g")),
    ],
    ids=["unknown", "levels", "beyond", "power", "apart"],
)
def test_what_has_no_price_is_refused_before_anything_is_paid(asked):
    rows = Table(frame_of([(1.0, 0, "a", "1")]), schema_of())
    gate = open_gate(rows, Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError):
        gate.ask(asked, spend=Fraction(1))
    assert not gate.ledger
