"""One record is one record for every reader, whatever it holds: all pairs of records enumerated.

The claim of each reader in the map of proofs. A table is counted beside two other records, and
alone: a record is counted alike in both, in one cell, and no other record's cell moves.
"""

import datetime
import sqlite3
from contextlib import closing
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

import understudy as us
from made_workbook import day, fault, number, text, truth, write_workbook
from night import NIGHT
from one_cell_a_record import assert_one_cell_a_record
from postgres_server import programs, server
from understudy.data.sources import open_rows
from understudy.data.sql import Query
from understudy.data.table import Table

SCHEMA = us.Schema.loads(
    """
row_limit = 100
[columns.x]
kind = "integer"
lower = 0
upper = 5
missing = [-9]
reviewed = true
[columns.y]
kind = "categorical"
levels = ["u", "v"]
reviewed = true
"""
)


def of(data):
    """Cells of both columns, records out of domain last."""
    (found,) = Table(data, SCHEMA).count([(0, 1)]).expose()
    return np.array([*found.inside.ravel().tolist(), found.outside])


# --- texts ----------------------------------------------------------------------------------------

LINES = (
    *(b"1,u", b"5,v", b"-9,u", b"", b",", b"1", b"1,u,surprise", b'"1","u"', b'"1,u', b'1",u'),
    *(b"\xff,u", b"1,\0", b"1\r,u", b"1,u\r", b"1e400,u", b"x" * 1_100_000, b"x,y", b" 2 ,v"),
    *(b",".join([b"1"] * 21_000), b"nan,u", b"true,v", b"2020-01-01,u", b"\xef\xbb\xbf1,u"),
)
OBJECTS = (
    *(b'{"x": 1, "y": "u"}', b'{"x": "5", "y": "v", "z": 3}', b"{}", b"", b"[1]", b'{"x": 1'),
    *(b'{"x": 1, "x": 2}', b'{"x": [1], "y": {"a": 1}}', b'{"x": 1e999, "y": null}', b"\xff"),
    *(b'{"x": NaN, "y": "u"}', b'{"x": true, "y": "\\u0000"}', b"[" * 5_000, b'{"y": "\\ud800"}'),
    b'{"x": ' + b"9" * 5_000 + b"}",
)


def of_lines(path, header, records):
    path.write_bytes(b"\n".join([*header, *records, b""]))
    return of(path)


def test_texts(tmp_path):
    assert_one_cell_a_record(partial(of_lines, tmp_path / "a.csv", [b"x,y"]), LINES)
    tabs = [line.replace(b",", b"\t") for line in LINES]
    assert_one_cell_a_record(partial(of_lines, tmp_path / "a.tsv", [b"x\ty"]), tabs)


def test_json_lines(tmp_path):
    assert_one_cell_a_record(partial(of_lines, tmp_path / "a.jsonl", []), OBJECTS)


# --- typed tables ---------------------------------------------------------------------------------

NUMBERS = (0.0, 5.0, -9.0, 2.5, 1e300, 5e-324, float("inf"), float("-inf"), float("nan"), None)
TEXTS = ("u", "v", "", "U", "u ", "\0", "x" * 100_000, "1", None)
PAIRS = [(one, "u") for one in NUMBERS] + [(1.0, one) for one in TEXTS]


def arrow(records):
    xs = pa.array([one for one, _ in records], pa.float64())
    return pa.table({"x": xs, "y": pa.array([two for _, two in records], pa.string())})


def of_ipc(path, records):
    with pa.ipc.new_file(path, arrow([]).schema) as writer:
        writer.write_table(arrow(records))
    return of(path)


def of_parquet(path, records):
    pa.parquet.write_table(arrow(records), path)
    return of(path)


def test_typed_tables(tmp_path):
    for exact in (
        lambda records: of(arrow(records)),
        lambda records: of(pl.from_arrow(arrow(records))),
        lambda records: of(pl.from_arrow(arrow(records)).lazy()),
        lambda records: of(arrow(records).to_pandas()),
        partial(of_ipc, tmp_path / "a.arrow"),
        partial(of_parquet, tmp_path / "a.parquet"),
    ):
        assert_one_cell_a_record(exact, PAIRS)


class Hostile:
    """Raises at whatever it is asked."""

    def _no(self, *_):
        raise RuntimeError("no")

    __str__ = __repr__ = __eq__ = __float__ = __bool__ = __len__ = _no
    __hash__ = object.__hash__
    __class__ = property(_no)


OBJECTS_OF_PYTHON = (
    *(0, 5, -9, 2.5, True, None, float("nan"), "1", "", "odd", b"1", b"\xff", 10**5000, 1j),
    *(Decimal(1), Decimal("sNaN"), datetime.date(2020, 1, 1), datetime.timedelta(1), (1,), pd.NaT),
    *(pd.NA, "\ud800", pd.Timestamp("2020-01-01"), np.float32(1), np.datetime64("NaT"), Hostile()),
)


def of_objects(make, records):
    cells = np.empty(len(records), dtype=object)
    for k, record in enumerate(records):
        cells[k] = record
    return of(make(cells, ["u"] * len(records)))


def test_python_objects():
    def pandas(cells, words):
        return pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": words})

    def polars(cells, words):
        objects = pl.Series(cells.tolist(), dtype=pl.Object)
        return pl.DataFrame({"x": objects, "y": pl.Series(words, dtype=pl.String)})

    assert_one_cell_a_record(partial(of_objects, pandas), OBJECTS_OF_PYTHON)
    # Polars itself takes no object that raises at everything into a table of one.
    assert_one_cell_a_record(partial(of_objects, polars), OBJECTS_OF_PYTHON[:-1])


# --- files of other programs ----------------------------------------------------------------------

CELLS = (
    *((number(1), text("u")), (number(5), text("v")), (number(-9), text("u")), (None, text("u"))),
    *((text("odd"), text("u")), (number("1e308"), text("v")), (number("x"), text("u"))),
    *((fault("#N/A"), text("u")), (truth(1), text("v")), (day(43831), text("u"))),
    *(
        (day(1e9), text("u")),
        (number(1), text("u"), text("surprise")),
        (number(1), text("_x0000_")),
    ),
    (number(1), text("u"), *[None] * 20, text("far")),
    (number(1), text("u"), lambda place: f'<c r="XFD{place.lstrip("C")}"><v>1</v></c>'),
)


def of_cells(path, records):
    write_workbook(path, [(text("x"), text("y")), *records])
    return of(path)


def test_workbooks(tmp_path):
    pytest.importorskip("fastexcel", reason="the extra files is not installed")
    assert_one_cell_a_record(partial(of_cells, tmp_path / "a.xlsx"), CELLS)


def of_statistical(write, path, records):
    frame = pd.DataFrame(
        {
            "x": pd.Series([one for one, _ in records], dtype="float64"),
            "y": pd.Series([two for _, two in records], dtype=object),
        }
    )
    write(frame, str(path))
    return of(path)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_statistical_files(ending, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[ending]
    lasting = [1e300, 5e-324, float("inf"), float("-inf"), float("nan")]
    numbers = [0.0, 5.0, -9.0, 2.5, *(lasting if ending == "sav" else [1e300, float("nan")])]
    words = ["u", "v", "", "U", "é", "x" * 200]
    records = [(one, "u") for one in numbers] + [(1.0, one) for one in words]
    exact = partial(of_statistical, write, tmp_path / f"a.{ending}")
    assert_one_cell_a_record(exact, records)


# --- databases ------------------------------------------------------------------------------------


def of_query(link, uri, types, records):
    """Counts of a table that holds these records; each is two words of SQL."""
    link.execute("DROP TABLE IF EXISTS t")
    link.execute(f"CREATE TABLE t (x {types[0]}, y {types[1]})")
    for one, two in records:
        link.execute(f"INSERT INTO t VALUES ({one}, {two})")
    link.commit()
    query = Query(uri, "SELECT x, y FROM t")
    rows = open_rows(query)
    assert rows.premises.unproved == ()
    del rows
    return of(query)


WORDS = ("'u'", "'v'", "''", "'U'", "'u '", "'1'", "NULL")
REALS = ("0", "5", "-9", "2.5", "1e300", "NULL")


def test_sqlite(tmp_path):
    pytest.importorskip("sqlglot", reason="the extra database is not installed")
    values = (*REALS, "'odd'", "x'ff'", "1e999", "'1'", "9223372036854775807", "'1' || char(0)")
    records = [(one, "'u'") for one in values] + [("1", one) for one in (*WORDS, "x'00'", "7")]
    with closing(sqlite3.connect(tmp_path / "a.db")) as link:
        exact = partial(of_query, link, f"sqlite:///{tmp_path}/a.db", ("INTEGER", "TEXT"))
        assert_one_cell_a_record(exact, records)


class Reopened:
    """A file of DuckDB, which is closed before somebody else reads it."""

    def __init__(self, connect, path):
        self._connect, self._path, self._said = connect, path, []

    def execute(self, sql):
        self._said.append(sql)

    def commit(self):
        with self._connect(self._path) as link:
            for sql in self._said:
                link.execute(sql)
        self._said = []


def test_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="the extra database is not installed")
    link = Reopened(duckdb.connect, str(tmp_path / "a.duckdb"))
    reals = (*REALS, "'nan'", "'inf'", "'-inf'", "5e-324")
    records = [(one, "'u'") for one in reals] + [("1", one) for one in (*WORDS, "chr(0)")]
    records = records if NIGHT else records[1::4]
    exact = partial(of_query, link, f"duckdb:///{tmp_path}/a.duckdb", ("DOUBLE", "VARCHAR"))
    assert_one_cell_a_record(exact, records)


def test_postgresql():
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    pytest.importorskip("adbc_driver_postgresql", reason="the extra database is not installed")
    reals = (*REALS, "'NaN'", "'Infinity'", "'-Infinity'", "1e-300")
    records = [(one, "'u'") for one in reals] + [("1", one) for one in WORDS]
    records = records if NIGHT else records[1::4]
    with server() as uri, psycopg.connect(uri) as link:
        for dtype in ("float8", "numeric") if NIGHT else ("numeric",):
            assert_one_cell_a_record(partial(of_query, link, uri, (dtype, "text")), records)
