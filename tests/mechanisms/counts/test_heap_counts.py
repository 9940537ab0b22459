"""Counts of heaps: what one record can change, by enumeration, and the noise that is drawn."""

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
from understudy.features.grids import HeapCells
from understudy.mechanisms.tables import HeapCounts
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

COLUMNS = """
[columns.x]
kind = "integer"
lower = 0
upper = 60
bins = [0, 20, 60]
spikes = [40]
missing = [-9]
heaps = [10, 5]
reviewed = true
[columns.y]
kind = "continuous"
lower = 0
upper = 4
bins = 2
decimals = 2
heaps = [1, { every = 1, at = 0.99 }]
reviewed = true
[columns.z]
kind = "boolean"
reviewed = true
"""
VALUES = {
    "x": [-9, -1, 0, 5, 7, 10, 15, 40, 41, 60, 61, 2.5, None],
    "y": [-0.1, 0.0, 0.99, 1.5, 3.99, 4.0, 4.1, None],
}


def schema_of(n_rows=None):
    head = "" if n_rows is None else f"rows = 'public'\nn_rows = {n_rows}\n"
    return Schema.loads(head + COLUMNS)


def table(records, schema):
    return Table(
        pl.DataFrame(
            {
                "x": pl.Series([x for x, _ in records], dtype=pl.Float64),
                "y": pl.Series([y for _, y in records], dtype=pl.Float64),
                "z": pl.Series([True] * len(records), dtype=pl.Boolean),
            }
        ),
        schema,
    )


def exact(records, schema):
    """Counts of both columns, those out of domain last."""
    cells = {name: HeapCells.of(schema, name) for name in "xy"}
    return table(records, schema).line_counts(cells).expose()


@pytest.mark.parametrize("name", ["x", "y"])
def test_one_record_changes_no_more_and_attains_it(name):
    """Beside any two records; all values of a column, with one of the other and with none."""
    schema = schema_of()
    values, others = VALUES[name], VALUES["xy".replace(name, "")]
    pairs = [(own, other) for own in values for other in (others[1], None)]
    records = pairs if name == "x" else [pair[::-1] for pair in pairs]
    assert_one_cell_a_record(lambda some: exact(some, schema)[name], records)


def test_counts_are_those_of_a_slow_count():
    schema = schema_of()
    labels = HeapCells.of(schema, "x").labels
    records = [(x, 0.5) for x in VALUES["x"] if x is not None]
    found = dict(zip((*labels, "out"), exact(records, schema)["x"].tolist(), strict=True))
    assert {label: n for label, n in found.items() if n} == {
        "0 to 9: every 10": 1,
        "0 to 9: every 5": 1,
        "0 to 9: other": 1,
        "10 to 19: every 10": 1,
        "10 to 19: every 5": 1,
        "20 to 60: every 10": 1,
        "20 to 60: other": 1,
        "(no class)": 4,  # the code, both beyond the bounds, and the spike
        "out": 1,
    }


@pytest.mark.parametrize(("delta", "noise"), [(0, "geometric"), ("1e-6", "gaussian")])
@pytest.mark.parametrize("n_rows", [None, 4])
def test_heaps_pay_like_tables(delta, noise, n_rows):
    schema, budget = schema_of(n_rows), Budget.of(1, delta)
    rows = table([(1, 0.0), (10, 0.5), (-9, 1.0), (70, -3.0)], schema)
    gate = open_gate(rows, budget, SeededRandomness(1))
    found = gate.ask(HeapCounts(("x", "y")), spend=budget.amount / 2)
    assert [one.value.columns for one in found] == [("x",), ("y",)]
    for one, entry in zip(found, gate.ledger, strict=True):
        spend = budget.amount / 4
        law = calibrate(
            noise, spend=spend, accounting=budget.accounting, neighbours=schema.neighbours
        )
        assert entry.spent == spend
        assert entry.cells == len(one.value.counts) + 1
        assert one.noise.stddev == law.stddev
    assert [one.entry for one in gate.measured] == [one.entry for one in found]


def test_noise_is_in_every_number():
    schema = schema_of()
    records = [(10, 0.99)] * 50 + [(7, -1.0)] * 30
    truth, budget, z = exact(records, schema), Budget.of(1, "1e-6"), []
    gate = open_gate(table(records, schema), budget, SeededRandomness(7))
    for _ in range(65):
        for one in gate.ask(HeapCounts(("x", "y")), spend=budget.amount / 65):
            noisy = np.append(one.value.counts, one.value.outside)
            z.append((noisy - truth[one.value.columns[0]]) / one.noise.stddev)
    z = np.concatenate(z)
    # About 1,500 numbers: the mean of z² has sd 0.037, that of z 0.026; false alarm below 1e-5.
    assert len(z) >= 1_400
    assert abs(np.mean(z**2) - 1) < 0.17
    assert abs(np.mean(z)) < 0.12
    assert abs(np.mean(z**2) / 2 - 1) > 0.17  # another scale is noticed


def test_what_cannot_be_asked_is_refused_before_anything_is_paid():
    gate = open_gate(table([(1, 0.5)], schema_of()), Budget.of(1), SeededRandomness(1))
    for columns, said in [((), "Heaps"), (("z",), "Heaps"), (("q",), "no column")]:
        with pytest.raises(MethodError, match=said):
            gate.ask(HeapCounts(columns), spend=Fraction(1, 2))
    with pytest.raises(MethodError, match="once"):
        gate.ask(HeapCounts(("x", "x")), spend=Fraction(1, 2))
    with pytest.raises(BudgetError):
        gate.ask(HeapCounts(("x",)), spend=Fraction(1, 10**15))
    assert not gate.ledger
