"""The in-process engine: tables that are counted by their occupied cells."""

import numpy as np
import polars as pl
import pytest

from understudy.data import base
from understudy.data.table import Table
from understudy.schema import Schema

SCHEMA = Schema.loads("""
row_limit = 1000
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "integer"
lower = 0
upper = 4
reviewed = true
[columns.c]
kind = "boolean"
reviewed = true
[[forbidden]]
where = { a = "x", b = 3 }
reviewed = true
""")


@pytest.mark.parametrize("n", [0, 1, 300])
def test_wide_tables_are_those_that_a_narrow_count_gives(monkeypatch, n):
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            "a": rng.choice(["x", "y", "?"], n),
            "b": rng.integers(0, 5, n),
            "c": rng.random(n) < 0.3,
        },
        schema={"a": pl.String, "b": pl.Int64, "c": pl.Boolean},
    )
    marginals = [(0, 1, 2), (2, 1), (0,), (2, 1), ()]
    narrow = Table(rows, SCHEMA).count(marginals).expose()
    monkeypatch.setattr(base, "WIDE_CELLS", 12)
    mixed = Table(rows, SCHEMA).count(marginals).expose()
    for one, two in zip(narrow, mixed, strict=True):
        assert one.outside == two.outside
        np.testing.assert_array_equal(one.inside, two.inside)
    assert narrow[0].inside.sum() + narrow[0].outside == n


def test_occupied_cells_come_in_parts():
    """As many as are asked for from a code on, whether they were counted before or not."""
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {
            "a": rng.choice(["x", "y", "?"], 80),
            "b": rng.integers(0, 5, 80),
            "c": rng.random(80) < 0.3,
        }
    )
    whole = Table(rows, SCHEMA).count_occupied((1, 0, 2)).expose()
    for table in (Table(rows, SCHEMA), known := Table(rows, SCHEMA)):
        if table is known:
            table.count_occupied((1, 0, 2))
        start, codes, counts = 0, [], []
        while True:
            part = table.count_occupied((1, 0, 2), start=start, most=4).expose()
            assert part.outside == whole.outside > 0
            codes.extend(part.codes.tolist())
            counts.extend(part.counts.tolist())
            if len(part.codes) < 4:
                break
            start = codes[-1] + 1
        assert codes == whole.codes.tolist()
        assert counts == whole.counts.tolist()
