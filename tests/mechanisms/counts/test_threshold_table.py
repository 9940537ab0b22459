"""Filtered tables whose occupied cells are more than are held at once."""

import numpy as np
import polars as pl
import pytest

from schemas import column
from understudy.data.table import Table
from understudy.dp import confidential
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.mechanisms.sparse_tables import ThresholdTable
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

SCHEMA = Schema.loads(
    "row_limit = 1000\n"
    + column("a", "integer", lower=0, upper=99, bins=100, source="law")
    + column("b", "categorical", levels=[0, 1, 2, 3, 4], source="law")
)


@pytest.mark.parametrize("most", [1, 7, 2**24])
def test_all_parts_of_the_occupied_cells_are_looked_at(monkeypatch, most):
    """At ε = 500 noise moves no count: P(|noise| ≥ 1) < 10⁻²⁰⁰ a cell. What reaches the threshold
    is known, whatever is held at once, and those out of domain are counted once."""
    monkeypatch.setattr(confidential, "MOST_HELD", most)
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"a": rng.integers(0, 40, 300), "b": rng.integers(0, 7, 300)})
    gate = open_gate(Table(rows, SCHEMA), Budget.of(500), SeededRandomness(1))
    found = gate.ask(ThresholdTable(("a", "b"), 2, "geometric"), spend=gate.budget.amount).value
    inside = rows.filter(pl.col("b") < 5)
    counted = inside.group_by(inside["a"] * 5 + inside["b"]).len().filter(pl.col("len") >= 2)
    assert dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)) == dict(
        counted.iter_rows()
    )
    assert found.outside == len(rows) - len(inside) > 0
    assert len(counted) > 2 * 7
