"""Number lines: what one record can change, by enumeration, and the noise that is drawn."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from one_cell_a_record import assert_one_cell_a_record
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.calibration import calibrate
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, MethodError
from understudy.features.grids import MOST_TIMES, LineCells, line_bins
from understudy.mechanisms.tables import NumberLines
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

NUMBER = """
[columns.x]
kind = "integer"
lower = 0
upper = 6
bins = [0, 4, 6]
spikes = [2]
missing = [9]
reviewed = true
"""
REAL = """
[columns.y]
kind = "continuous"
lower = 0
upper = 1
bins = 2
decimals = 1
reviewed = true
"""
LEVELS = "[columns.z]\nkind = 'boolean'\nreviewed = true\n"
VALUES = {"x": [-1, 0, 2, 3, 6, 7, 9, 2.5, None], "y": [-0.1, 0.0, 0.24, 1.0, 1.1, None]}


def schema_of(n_rows=None):
    head = "" if n_rows is None else f"rows = 'public'\nn_rows = {n_rows}\n"
    return Schema.loads(head + NUMBER + REAL + LEVELS)


def exact(records, schema):
    """Counts of both lines, those out of domain last."""
    frame = pl.DataFrame(
        {
            "x": pl.Series([x for x, _ in records], dtype=pl.Float64),
            "y": pl.Series([y for _, y in records], dtype=pl.Float64),
            "z": pl.Series([True] * len(records), dtype=pl.Boolean),
        }
    )
    lines = {
        name: LineCells.of(schema.with_bins({name: line_bins(schema.columns[name])}), name)
        for name in "xy"
    }
    return Table(frame, schema).line_counts(lines).expose()


@pytest.mark.parametrize("name", ["x", "y"])
def test_one_record_changes_no_more_and_attains_it(name):
    """Beside any two records; all values of a column, with one of the other and with none."""
    schema = schema_of()
    values, others = VALUES[name], VALUES["xy".replace(name, "")]
    pairs = [(own, other) for own in values for other in (others[1], None)]
    records = pairs if name == "x" else [pair[::-1] for pair in pairs]
    assert_one_cell_a_record(lambda some: exact(some, schema)[name], records)


@pytest.mark.parametrize(("delta", "noise"), [(0, "geometric"), ("1e-6", "gaussian")])
@pytest.mark.parametrize("n_rows", [None, 4])
def test_lines_pay_like_tables(delta, noise, n_rows):
    schema = schema_of(n_rows)
    budget = Budget.of(1, delta)
    frame = pl.DataFrame({"x": [1, 2, 9, 70], "y": [0.0, 0.5, 1.0, -3.0], "z": [True] * 4})
    gate = open_gate(Table(frame, schema), budget, SeededRandomness(1))
    lines = gate.ask(NumberLines(("x", "y"), (3, 1)), spend=budget.amount / 2)
    assert [line.value.columns for line in lines] == [("x",), ("y",)]
    for line, entry, share in zip(lines, gate.ledger, (3, 1), strict=True):
        spend = budget.amount / 2 * share / 4
        law = calibrate(
            noise, spend=spend, accounting=budget.accounting, neighbours=schema.neighbours
        )
        assert entry.spent == spend
        assert entry.cells == len(line.value.counts) + 1
        assert line.noise.stddev == law.stddev
    assert [one.entry for one in gate.measured] == [one.entry for one in lines]


def test_a_line_of_more_cells_counts_the_same_records():
    head = "[columns.x]\nkind = 'integer'\nlower = 0\nupper = 9999\nbins = 4\nreviewed = true\n"
    rng, budget = np.random.default_rng(1), Budget.of(10**6, "1e-6")
    numbers = rng.integers(0, 12_000, 500)
    table = Table(pl.DataFrame({"x": numbers}), Schema.loads(head))
    gate = open_gate(table, budget, SeededRandomness(1))
    usual, more = (
        gate.ask(NumberLines(("x",), times=times), spend=budget.amount / 3)[0].value
        for times in (1, 4)
    )
    assert (len(usual.counts), len(more.counts)) == (66, 258)
    known = np.histogram(numbers[numbers < 10_000], np.arange(0, 10_001, 2_500))[0]
    for line in (usual, more):
        (edges,) = line.bins.values()
        sums = np.add.reduceat(line.counts[:-2], np.searchsorted(edges, [0, 2_500, 5_000, 7_500]))
        assert (sums == known).all()
        assert line.counts[-1] == (numbers > 9_999).sum()


def test_noise_is_in_every_number():
    schema = schema_of()
    records = [(1, 0.5)] * 50 + [(7, -1.0)] * 30
    frame = pl.DataFrame(
        {"x": [x for x, _ in records], "y": [y for _, y in records], "z": [True] * 80}
    )
    truth, budget, z = exact(records, schema), Budget.of(1, "1e-6"), []
    gate = open_gate(Table(frame, schema), budget, SeededRandomness(7))
    for _ in range(65):
        for line in gate.ask(NumberLines(("x", "y")), spend=budget.amount / 65):
            noisy = np.append(line.value.counts, line.value.outside)
            z.append((noisy - truth[line.value.columns[0]]) / line.noise.stddev)
    z = np.concatenate(z)
    # About 1,500 numbers: the mean of z² has sd 0.037, that of z 0.026; false alarm below 1e-5.
    assert len(z) >= 1_400
    assert abs(np.mean(z**2) - 1) < 0.17
    assert abs(np.mean(z)) < 0.12
    assert abs(np.mean(z**2) / 2 - 1) > 0.17  # another scale is noticed


def test_what_cannot_be_asked_is_refused_before_anything_is_paid():
    frame = pl.DataFrame({"x": [1], "y": [0.5], "z": [True]})
    gate = open_gate(Table(frame, schema_of()), Budget.of(1), SeededRandomness(1))
    for columns, said in [((), "numeric"), (("z",), "numeric"), (("q",), "no column")]:
        with pytest.raises(MethodError, match=said):
            gate.ask(NumberLines(columns), spend=Fraction(1, 2))
    with pytest.raises(MethodError, match="once"):
        gate.ask(NumberLines(("x", "x")), spend=Fraction(1, 2))
    with pytest.raises(MethodError, match="weight"):
        gate.ask(NumberLines(("x", "y"), (1,)), spend=Fraction(1, 2))
    for times in (0, MOST_TIMES + 1):
        with pytest.raises(MethodError, match="times the usual cells"):
            gate.ask(NumberLines(("x",), times=times), spend=Fraction(1, 2))
    with pytest.raises(BudgetError):
        gate.ask(NumberLines(("x",)), spend=Fraction(1, 10**15))
    assert not gate.ledger


def test_a_line_counts_the_records_that_a_table_counts():
    """Where a rule forbids a record, its numbers are out of domain, and only its."""
    rule = "[[forbidden]]\nwhere = { z = true, x = { lower = 4, upper = 6 } }\nreviewed = true\n"
    ruled = Schema.loads(NUMBER + REAL + LEVELS + rule)
    frame = pl.DataFrame(
        {"x": [5, 5, 7, 3, 9], "y": [0.5] * 5, "z": [True, False, True, True, True]}
    )
    table = Table(frame, ruled)
    fine = ruled.with_bins({"x": line_bins(ruled.columns["x"])})
    counts = table.line_counts({"x": LineCells.of(fine, "x")}).expose()["x"]
    known = table.count([(0,)]).expose()[0]
    assert counts[-1] == known.outside == 2
    assert counts[:-1].sum() == known.inside.sum() == 3
