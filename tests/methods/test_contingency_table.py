"""Records of the exact full table: not private and stamped so."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError, NotPrivateError
from understudy.methods.registry import configure
from understudy.papers.exact import ExactFullTable
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

COLUMN = 'kind = "integer"\nlower = 0\nupper = {}\nbins = {}\nreviewed = true\n'
GIVEN = {"method": "contingency-table", "epsilon": 1, "frame": "polars"}


def schema(n, sizes):
    columns = (f"[columns.c{j}]\n{COLUMN.format(size - 1, size)}" for j, size in enumerate(sizes))
    return Schema.loads(f'rows = "public"\nn_rows = {n}\n' + "".join(columns))


def frame(rows):
    columns = np.array(rows).T
    return pl.DataFrame({f"c{j}": column for j, column in enumerate(columns)})


def test_it_is_refused_without_permission_and_before_the_rows_are_read():
    with pytest.raises(NotPrivateError, match="allow_nonprivate"):
        us.synthesize(object(), schema(10, (2, 2)), **GIVEN)
    gate = open_gate(Table(frame([(0, 1)]), schema(1, (2, 2))), Budget.of(1), SeededRandomness(1))
    with pytest.raises(NotPrivateError):
        gate.ask(ExactFullTable())
    assert not gate.ledger


def test_records_are_real_ones_in_their_proportions():
    """χ² of 30,000 records, false alarm 10⁻⁶; a count wrong by one in ten is noticed."""
    rows = [(0, 1)] * 50 + [(1, 0)] * 30 + [(1, 1)] * 20
    gate = open_gate(
        Table(frame(rows), schema(100, (2, 2))),
        Budget.of(1),
        SeededRandomness(1),
        allow_nonprivate=True,
    )
    model = configure("contingency-table", {}).fit(gate, gate.budget.amount, 10)
    a, b = model.sample(30_000, np.random.default_rng(1)).states
    found = np.bincount(2 * a + b, minlength=4)
    assert found[0] == 0
    assert stats.chisquare(found[1:], [15_000, 9_000, 6_000]).pvalue > 1e-6
    assert stats.chisquare(found[1:], [14_000, 10_000, 6_000]).pvalue < 1e-6
    assert gate.guarantee().kind == "none"


def test_a_table_of_a_trillion_cells_costs_its_occupied_ones():
    rng, sizes = np.random.default_rng(2), (100,) * 9
    rows = rng.integers(0, 100, (50, 9))
    release = us.synthesize(frame(rows), schema(50, sizes), allow_nonprivate=True, **GIVEN)
    assert set(release.tables[0].rows()) <= {tuple(row) for row in rows.tolist()}
    assert [one.kind for one in release.measurements] == ["exact"]
    assert release.measurements[0].counts.size == 0
    with pytest.raises(MethodError, match="2\\^62"):
        us.plan(schema(50, (100,) * 10), method="contingency-table", epsilon=1)
