"""The in-process engine: tables that are counted by their occupied cells."""

import numpy as np
import polars as pl
import pytest

from understudy.data import base, parquet, rows
from understudy.data.coding import Coder
from understudy.data.rows import Rows
from understudy.data.table import Table
from understudy.errors import DataError
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


RULES = Schema.loads("""
row_limit = 1000000
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "integer"
lower = 0
upper = 19
bins = 4
reviewed = true
[columns.c]
kind = "boolean"
reviewed = true
[columns.d]
kind = "continuous"
lower = 0
upper = 1
reviewed = true
[columns.e]
kind = "categorical"
levels = ["p", "q", "r"]
reviewed = true
[[forbidden]]
where = { a = "x", b = { lower = 5, upper = 9 } }
reviewed = true
[[forbidden]]
where = { a = "y", c = true }
reviewed = true
[[forbidden]]
where = { c = false, e = "q" }
reviewed = true
""")


def some_rows(n):
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "a": rng.choice(["x", "y", "?"], n),
            "b": rng.integers(-1, 22, n),
            "c": pl.Series(rng.choice([True, False, None], n).tolist(), dtype=pl.Boolean),
            "d": rng.random(n) * 1.2,
            "e": rng.choice(["p", "q", "r", "s"], n),
        }
    )


@pytest.mark.parametrize("n", [0, 700])
@pytest.mark.parametrize("bins", [{}, {"d": 7}, {"b": 20}, {"b": 3, "d": 2}], ids=str)
@pytest.mark.parametrize("place", ["memory", "lazy", "file", "file and spill"])
@pytest.mark.nightly(diagonal=True)
def test_rows_coded_again_are_those_coded_anew(monkeypatch, tmp_path, n, bins, place):
    """In batches, whichever columns have other bins, with rules that name them, go, or stay."""
    monkeypatch.setattr(rows, "BATCH_ROWS", 200)
    monkeypatch.setattr(parquet, "_ROWS_AT_ONCE", 150)
    monkeypatch.setattr("understudy.data.table.SPILL_BYTES", 100)
    schema, data = RULES.with_bins(bins), some_rows(n)
    data.write_parquet(tmp_path / "rows.parquet")
    given = {"memory": data, "lazy": data.lazy()}.get(place, tmp_path / "rows.parquet")
    again = Table(given, RULES, spill=tmp_path if "spill" in place else None).recode(schema)
    anew = Table(data, schema)
    # Rows of a lazy table may come in another order.
    found, expected = (one.count_occupied((0, 1, 2, 3, 4)).expose() for one in (again, anew))
    assert found.outside == expected.outside
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.counts, expected.counts)
    if place != "lazy":
        for one, two in zip(again.code_rows().expose(), anew.code_rows().expose(), strict=True):
            assert one.dtype == two.dtype
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("bins", "read"), [({"d": 7}, "d"), ({"b": 20}, "abc"), ({}, "")], ids=str)
def test_only_columns_are_read_again_whose_codes_may_be_others(monkeypatch, tmp_path, bins, read):
    """With those that share a rule with them; all of a table that may be another one now."""
    file = tmp_path / "rows.parquet"
    some_rows(9).write_parquet(file)
    same, other = (some_rows(9), file), (some_rows(9).lazy(), tmp_path)
    same, other = ([Table(data, RULES) for data in several] for several in (same, other))
    asked = []
    batches = Rows.batches
    monkeypatch.setattr(
        Rows, "batches", lambda own, names: asked.append(set(names)) or batches(own, names)
    )
    for one in same:
        asked.clear()
        one.recode(RULES.with_bins(bins))
        assert set().union(*asked) == {*read}
    some_rows(9).write_parquet(file)
    for one in other:
        one.recode(RULES.with_bins(bins))
        assert asked[-1] == set(RULES.names)


@pytest.mark.parametrize("n", [5, 9, 20])
def test_a_file_that_changes_while_it_is_read_again_ends_the_run(monkeypatch, tmp_path, n):
    """Its rows are not those of the codes that were kept."""
    file = tmp_path / "rows.parquet"
    some_rows(9).write_parquet(file)
    again, read = Table(file, RULES), Coder.code

    def change(own, batch):
        some_rows(n).write_parquet(file)
        return read(own, batch)

    monkeypatch.setattr(Coder, "code", change)
    with pytest.raises(DataError, match="was changed while it was read; leave it as it is"):
        again.recode(RULES.with_bins({"d": 7}))
