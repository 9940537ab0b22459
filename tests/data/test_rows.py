"""Rows that the engine hands over whole: coded, and as they were read."""

import numpy as np
import polars as pl
import pytest

from understudy.data.base import Confidential
from understudy.data.coding import Coder
from understudy.data.rows import Rows
from understudy.data.table import Table
from understudy.schema import Schema

SCHEMA = Schema.loads(
    """
    [columns.city]
    kind = "categorical"
    levels = ["Aa", "Bb"]
    reviewed = true
    [columns.age]
    kind = "integer"
    lower = 0
    upper = 9
    bins = 2
    missing = [-1]
    reviewed = true
    """
)
ROWS = pl.DataFrame({"age": [3, 900, -1, None, 7], "city": ["Aa", "Bb", "Zz", None, "Aa"]})


@pytest.mark.parametrize("keep_bytes", [2**30, 0])
def test_coded_rows_are_those_of_the_coder(keep_bytes):
    found = Table(ROWS, SCHEMA, keep_bytes=keep_bytes).code_rows()
    assert isinstance(found, Confidential)
    for codes, expected in zip(found.expose(), Coder(SCHEMA).code(ROWS), strict=True):
        np.testing.assert_array_equal(codes, expected)


def test_where_no_codes_are_kept_only_columns_that_play_a_part_are_read_again(monkeypatch):
    table, asked, batches = Table(ROWS, SCHEMA, keep_bytes=0), [], Rows.batches

    def noted(rows, names):
        asked.append(tuple(names))
        return batches(rows, names)

    monkeypatch.setattr(Rows, "batches", noted)
    assert table.count([(1,)]).expose()[0].inside.tolist() == [1, 2, 1]
    assert asked == [("age",)]


def test_rows_as_they_were_read():
    found = Table(ROWS, SCHEMA).read(["age", "city"])
    assert isinstance(found, Confidential)
    age, city = found.expose()
    np.testing.assert_array_equal(age.number, [3, 900, -1, np.nan, 7])  # beyond the bounds
    assert age.states.tolist() == [0, 1, 2, 3, 1]
    assert city.states.tolist() == [0, 1, 2, 2, 0]
    assert city.absent.tolist() == [False, False, False, True, False]


def test_no_rows():
    table = Table(ROWS.head(0), SCHEMA)
    assert [len(codes) for codes in table.code_rows().expose()] == [0, 0]
    assert [len(one.states) for one in table.read(["city"]).expose()] == [0]
