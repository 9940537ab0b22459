"""Rows with their numbers: states as they are coded, numbers where states are bins."""

import datetime

import numpy as np
import polars as pl

from understudy.data.table import Table
from understudy.dp.confidential import NumberedRows
from understudy.schema import Schema

SCHEMA = Schema.loads("""
row_limit = 100
[columns.job]
kind = "categorical"
levels = ["a", "b"]
out_of_domain = "other"
[columns.pay]
kind = "continuous"
lower = 0
upper = 100
bins = [0, 10, 100]
spikes = [0, 50]
missing = ["?"]
[columns.since]
kind = "date"
lower = 2000-01-01
upper = 2009-12-31
bins = 2
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[[forbidden]]
where = { job = "b", sex = "m" }
""")
ROWS = [
    ("a", "7.5", "2001-02-03", "f"),
    ("b", "0", "2005-01-01", "f"),
    ("zz", "50", "2001-02-03", "m"),
    ("a", "250", "1990-01-01", "f"),
    ("a", "?", "2001-02-03", "f"),
    ("a", "much", "2001-02-03", "f"),
    ("b", "7.5", "2001-02-03", "m"),
    ("a", "-3", "2001-02-03", "zz"),
]


def read(rows=ROWS):
    frame = pl.DataFrame(rows, schema=["job", "pay", "since", "sex"], orient="row")
    engine = Table(frame, SCHEMA)
    return NumberedRows.read(engine, engine.schema), engine.code_rows().expose()


def day(text):
    return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days


def test_states_are_those_of_the_coded_rows_but_for_combinations_that_cannot_occur():
    rows, coded = read()
    possible = np.arange(8) != 6
    for name, states in zip(SCHEMA.names, coded, strict=True):
        assert rows.drawn[name].states[possible].tolist() == states[possible].tolist()
    assert rows.size == 8


def test_numbers_stand_where_the_state_is_a_bin_and_within_the_bounds():
    rows, _ = read()
    pay, since = rows.drawn["pay"].numbers, rows.drawn["since"].numbers
    # 250 is clipped to 100; -3 to 0, which is a spike; codes, spikes and "much" have none
    expected = [7.5, np.nan, np.nan, 100.0, np.nan, np.nan, 7.5, np.nan]
    assert np.array_equal(pay, expected, equal_nan=True)
    assert since[:4].tolist() == [
        day(one) for one in ("2001-02-03", "2005-01-01", "2001-02-03")
    ] + [day("2000-01-01")]
    assert rows.drawn["job"].numbers is None


def test_rows_are_known_by_the_columns_that_are_asked_for():
    rows, _ = read()
    assert np.flatnonzero(~rows.find_known(SCHEMA.names)).tolist() == [5, 6, 7]
    assert np.flatnonzero(~rows.find_known(("job", "sex"))).tolist() == [6, 7]
    assert np.flatnonzero(~rows.find_known(("sex",))).tolist() == [7]
    taken = rows.of(("pay", "sex"), np.array([3, 3, 0]))
    assert taken["pay"].numbers.tolist() == [100.0, 100.0, 7.5]
    assert list(taken) == ["pay", "sex"]


def test_no_rows_are_no_rows_and_nothing_is_shown():
    rows, _ = read([("a", "1", "2001-02-03", "f")][:0])
    assert rows.size == 0
    assert not rows.find_known(SCHEMA.names).size
    assert "7.5" not in repr(read()[0])
