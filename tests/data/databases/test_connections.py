"""Databases for real: the same rows in each pass, types from declarations, no password told."""

import re
import sqlite3
from contextlib import closing

import numpy as np
import polars as pl
import pytest

import understudy as us
from postgres_server import programs, server
from understudy.data.sources import open_rows
from understudy.data.sql import Query, doubts_of_plan
from understudy.data.table import Table
from understudy.errors import DataError

pytest.importorskip("sqlglot", reason="the extra database is not installed")

PEOPLE = [(k % 80, "m" if k % 2 else "f") for k in range(300)]
SCHEMA = """
row_limit = 1000
[columns.age]
kind = "integer"
lower = 0
upper = 99
reviewed = true
source = "law"
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
source = "law"
"""


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.db"
    with closing(sqlite3.connect(path)) as link:
        link.execute("CREATE TABLE people (age INTEGER, sex TEXT)")
        link.executemany("INSERT INTO people VALUES (?, ?)", PEOPLE)
        link.execute("CREATE VIEW adults AS SELECT * FROM people WHERE age >= 18")
        link.commit()
    return path


def test_all_passes_see_the_rows_of_the_first(people):
    rows = open_rows(Query.table(f"sqlite:///{people}", "people"))
    before = rows.count()
    with closing(sqlite3.connect(people, timeout=0.1)) as link:
        link.execute("INSERT INTO people VALUES (1, 'm')")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            link.commit()
        assert rows.count() == before == len(PEOPLE)
        del rows
        link.commit()  # nobody reads any more


def test_a_release_of_a_query_says_what_it_takes_for_granted(people):
    schema = us.Schema.loads(SCHEMA)
    uri = f"sqlite:///{people}"

    def synthesized(query):
        made = us.synthesize(query, schema, epsilon=1, method="laplace")
        return made.guarantee

    plain = synthesized(Query(uri, "SELECT age, sex FROM people WHERE age > 10"))
    assert plain.kind == "pure"
    assert not any("query" in condition for condition in plain.conditions)
    for sql, what in (
        ("SELECT DISTINCT age, sex FROM people", "DISTINCT"),
        ("SELECT age, sex FROM adults", "a view, or what else is no stored table"),
    ):
        made = synthesized(Query(uri, sql))
        assert made.kind == "conditional"
        found = made.conditions
        assert any(f"rows of the query as it was handed in. It ({what})" in one for one in found)


def test_a_fault_of_a_query_is_one_sentence(people, tmp_path):
    for uri, sql in (
        (f"sqlite:///{people}", "SELECT nothing FROM people"),
        (f"sqlite:///{people}", "SELECT age FROM nobody"),
        (f"sqlite:///{tmp_path}/no.db", "SELECT age FROM people"),
        (f"duckdb:///{tmp_path}/no.duckdb", "SELECT age FROM people"),
    ):
        with pytest.raises(DataError, match=r"^The (query of the )?database '.*(asked|exist)"):
            open_rows(Query(uri, sql))
    with pytest.raises(DataError, match="has two columns of one name"):
        open_rows(Query(f"sqlite:///{people}", "SELECT age, sex AS age FROM people"))


def test_tables_of_duckdb_are_read_by_their_types(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="the extra database is not installed")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as link:
        link.execute(
            "CREATE TABLE t AS SELECT range::INTEGER a, 'x' b, DATE '2020-02-29' d, "
            "1.5::DECIMAL(5,2) n, range = 1 q, INTERVAL 1 DAY i FROM range(4)"
        )
        link.execute("INSERT INTO t (d) VALUES ('infinity'), ('-infinity'), ('0044-03-15 (BC)')")
    rows = open_rows(Query(f"duckdb:///{path}", "SELECT * FROM t WHERE a IS NULL OR a >= 1"))
    assert list(rows.unreadable) == ["i"]
    assert rows.count() == 6
    assert rows.lazy.select("a", "b", "n", "q").collect().rows()[0][:2] == (1, "x")
    assert "(the type INTERVAL)" in rows.premises.unproved[0]


def doubts(address, sql):
    """What is said of a query, and that the database gives its columns."""
    rows = open_rows(Query(address, sql))
    assert rows.columns
    premises = rows.premises
    assert bool(premises.conditions) == bool(premises.unproved)
    found = re.findall(r"by itself \((.*)\)\.", " ".join(premises.unproved))
    return found[0] if found else ""


DUCKDB = """
CREATE TYPE mood AS ENUM ('a', 'b');
CREATE TABLE t (x BIGINT, y BIGINT, small TINYINT, d DATE, m TIMESTAMP, e mood, name VARCHAR,
    folded VARCHAR COLLATE NOCASE, yes BOOLEAN, r DOUBLE, n DECIMAL(5, 2), ns TIMESTAMP_NS,
    s STRUCT(q INTEGER), g BIGINT GENERATED ALWAYS AS (x + 1));
CREATE TABLE u AS SELECT 1 AS x;
CREATE VIEW v AS SELECT x FROM t;
CREATE MACRO next(a) AS a + 1;
CREATE MACRO all_of() AS TABLE SELECT x FROM t;
"""
OF_DUCKDB = {
    "SELECT x, y AS other, d, m, e, name, folded, yes, r, n, ns FROM t": "",
    "SELECT x FROM t WHERE x > 0 AND small IN (1, -2, 3) AND r < 1.5 AND n >= 1.25 AND y <> 2": "",
    "SELECT x FROM t WHERE d > '2019-01-01' AND m <= '2019-01-01 10:00:00' OR name = 'CAST(x'": "",
    "SELECT x FROM t WHERE yes AND NOT yes AND e IS NULL AND x = y": "",
    'SELECT "X" FROM T WHERE t."x" BETWEEN 0 AND 9': "",
    "SELECT x FROM t WHERE small > 1000": "a constant that its column's type does not have, "
    "a conversion of types",
    "SELECT x FROM t WHERE x > 0.5": "a comparison of values of two types",
    "SELECT x FROM t WHERE n > 100000": "a constant that its column's type does not have, "
    "a conversion of types",
    "SELECT x FROM t WHERE d > '1992-02-30'": "a comparison of values of two types",
    "SELECT x FROM t WHERE name = 1": "a comparison of values of two types",
    "SELECT x FROM t WHERE name > 'a'": "a comparison of texts by their order",
    "SELECT x FROM t WHERE e = 'a'": "a comparison of values of two types",
    "SELECT x FROM t WHERE folded = 'a'": "the function lower",
    "SELECT x FROM t WHERE x = small": "a comparison of columns of two types",
    "SELECT d FROM t WHERE d < m": "a comparison of columns of two types",
    "SELECT CASE WHEN d < m THEN x ELSE 1 END AS x FROM t": "CASE",
    "SELECT coalesce(m, d) = m AS x FROM t": "COALESCE",
    "SELECT x FROM t WHERE lower(name) <> 'q'": "LOWER",
    "SELECT -x AS x FROM t": "a computed column",
    "SELECT x FROM t WHERE -x < 100": "a computed condition",
    "SELECT g FROM t": "a conversion of types, the function +",
    "SELECT * FROM t": "the type STRUCT",
    "SELECT s.q FROM t": "a part of a column",
    "SELECT next(x) AS x FROM t": "the function next",
    "SELECT x FROM v": "a view, or what else is no stored table",
    "SELECT * FROM all_of()": "the function all_of",
    "SELECT * FROM range(3)": None,
    "SELECT x FROM t JOIN u USING (x)": "JOIN",
    "SELECT x FROM t USING SAMPLE 3": "TABLESAMPLE",
    "SELECT rowid AS x FROM t": "a column that its table does not declare",
    "SELECT columns('x') FROM t": None,
    "SELECT table_name AS x FROM duckdb_tables()": None,
}


@pytest.fixture(scope="module")
def duckdb_tables(tmp_path_factory):
    duckdb = pytest.importorskip("duckdb", reason="the extra database is not installed")
    path = tmp_path_factory.mktemp("tables") / "a.duckdb"
    with duckdb.connect(str(path)) as link:
        link.execute(DUCKDB)
    return f"duckdb:///{path}"


@pytest.mark.parametrize("sql", OF_DUCKDB)
@pytest.mark.nightly(every=4)
def test_what_a_query_of_duckdb_computes_is_said(duckdb_tables, sql):
    """Its text has no conversion, function or overflow that the plan has."""
    found = doubts(duckdb_tables, sql)
    assert found if OF_DUCKDB[sql] is None else found == OF_DUCKDB[sql]


def test_a_variable_of_a_program_is_no_table(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="the extra database is not installed")
    path = tmp_path / "a.duckdb"
    duckdb.connect(str(path)).close()
    people = pl.DataFrame({"x": [1]})
    assert people.height
    with pytest.raises(DataError, match="cannot be asked"):
        open_rows(Query(f"duckdb:///{path}", "SELECT x FROM people"))


def test_plans_of_versions_that_are_not_known_are_a_doubt():
    get = {"type": "LOGICAL_GET", "name": "seq_scan"}
    given = [{"expression_class": "BOUND_REF", "type": "BOUND_REF"}]
    plan = {"type": "LOGICAL_PROJECTION", "expressions": given, "children": [get]}
    assert doubts_of_plan({"error": False, "plans": [plan]}) == set()
    newer = [{"expression_class": "BOUND_NEWS", "type": "NEWS", "name": "news"}]
    for told, what in (
        ({"error": True}, "a plan that cannot be read"),
        ({}, "a plan that cannot be read"),
        ({"error": False, "plans": [plan, plan]}, "a plan that cannot be read"),
        ({"error": False, "plans": [plan | {"expressions": newer}]}, "the function news"),
        ({"error": False, "plans": [plan | {"children": []}]}, "a plan of several steps"),
        ({"error": False, "plans": [plan | {"children": [get, get]}]}, "a plan of several steps"),
        ({"error": False, "plans": [plan | {"children": [plan]}]}, "a plan of several steps"),
        ({"error": False, "plans": [plan | {"children": [{}]}]}, "a plan of several steps"),
    ):
        assert doubts_of_plan(told) == {what}


SQLITE = """
CREATE TABLE t (x INTEGER, y, name TEXT COLLATE NOCASE, n NUMERIC, b BLOB);
CREATE TABLE made (x INTEGER, late INTEGER AS (abs(x)), kept INTEGER AS (x + 1) STORED);
CREATE TABLE short (x INTEGER PRIMARY KEY, y) WITHOUT ROWID;
CREATE VIEW v AS SELECT x FROM t;
"""
OF_SQLITE = {
    "SELECT * FROM t": "",
    "SELECT x, y AS z, name FROM main.t WHERE x > 0 AND name = 'a' OR y BETWEEN 1 AND 'b'": "",
    "SELECT X FROM T WHERE x = y AND n <> 1.5 AND b IS NOT NULL AND name > 'q'": "",
    "SELECT x FROM short": "",
    "SELECT x FROM made": "",
    "SELECT * FROM made": "a column that is computed from others",
    "SELECT x FROM made WHERE late > 1": "a column that is computed from others",
    "SELECT kept FROM made": "a column that is computed from others",
    'SELECT "nobody" AS x FROM t': "a column that its table does not declare",
    "SELECT rowid AS x FROM t": "a column that its table does not declare",
    "SELECT x FROM v": "a view, or what else is no stored table",
    "SELECT name AS x FROM sqlite_master": "a view, or what else is no stored table",
    "SELECT value AS x FROM json_each('[1]')": None,
    "SELECT x + y AS x FROM t": "ADD",
    "SELECT x FROM t WHERE name = 'a' COLLATE BINARY": "COLLATE",
    "SELECT abs(x) AS x FROM t": "ABS",
}


@pytest.mark.parametrize("sql", OF_SQLITE)
def test_what_a_query_of_sqlite_computes_is_said(tmp_path, sql):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as link:
        link.executescript(SQLITE)
    found = doubts(f"sqlite:///{path}", sql)
    assert found if OF_SQLITE[sql] is None else found == OF_SQLITE[sql]


def test_a_virtual_table_of_sqlite_is_no_stored_one(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as link:
        try:
            link.execute("CREATE VIRTUAL TABLE words USING fts5(x)")
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no index of texts")
        link.commit()
    assert "no stored table" in doubts(f"sqlite:///{path}", "SELECT x FROM words")


OF_EVERY_TYPE = (
    *(None, 0, -1, 2**63 - 1, -(2**63), 1.5, 1e308, float("inf"), "", "1", "abc", "1e999"),
    *("9" * 400, b"", b"\xff", b"1", "\ud7ff", "x" * 100_000),
)


@pytest.mark.parametrize("declared", ["INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB", "DATE", ""])
def test_no_comparison_of_sqlite_fails_at_a_value(declared, tmp_path):
    """Whatever type a value has, and whatever its column says."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as link:
        link.execute(f"CREATE TABLE t (x {declared}, y)")
        link.executemany("INSERT INTO t VALUES (?, 1)", [(value,) for value in OF_EVERY_TYPE])
        link.commit()
    for condition in (
        *("x = 1", "x <> 1.5", "x < 'a'", "x >= TRUE", "x IN (1, 'b', 2.5)", "x = y", "NOT x < y"),
        *("x BETWEEN -1 AND 'z'", "x IS NULL", "x", "NOT x"),
    ):
        rows = open_rows(Query(f"sqlite:///{path}", f"SELECT x FROM t WHERE {condition}"))
        assert rows.premises.unproved == ()
        assert 0 <= rows.count() <= len(OF_EVERY_TYPE)
    assert open_rows(Query(f"sqlite:///{path}", "SELECT x FROM t")).count() == len(OF_EVERY_TYPE)


def test_a_conversion_that_one_row_fails_is_an_error_without_its_value(tmp_path):
    """DuckDB turns texts into numbers to compare them, and says which one it could not turn."""
    duckdb = pytest.importorskip("duckdb", reason="the extra database is not installed")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as link:
        link.execute("CREATE TABLE t AS SELECT 1 a, '1' b")
        link.execute("INSERT INTO t VALUES (2, 'secret')")
    rows = open_rows(Query(f"duckdb:///{path}", "SELECT a FROM t WHERE b = 1"))
    assert rows.premises.unproved
    with pytest.raises(DataError, match="cannot be read to the end") as fault:
        rows.count()
    assert "secret" not in str(fault.value)


@pytest.fixture(scope="module")
def postgresql():
    """The address of a server, whose only database is empty."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    pytest.importorskip("adbc_driver_postgresql", reason="the extra database is not installed")
    with server() as uri:
        yield uri


@pytest.fixture
def database(postgresql):
    """The address of an empty database, and a link to it."""
    import psycopg

    with psycopg.connect(postgresql, autocommit=True) as link:
        link.execute("CREATE DATABASE own TEMPLATE template0")
    uri = postgresql.replace("/postgres?", "/own?")
    with psycopg.connect(uri, autocommit=True) as link:
        yield uri, link
    with psycopg.connect(postgresql, autocommit=True) as link:
        link.execute("ALTER ROLE owner RESET ALL")
        link.execute("DROP DATABASE own WITH (FORCE)")


@pytest.mark.whole
def test_a_server_of_postgresql(database):
    uri, link = database
    link.execute("CREATE TABLE t (a int, b text, d date, s timestamp, n numeric, r real)")
    link.execute("INSERT INTO t SELECT 1, 'x', '2020-02-29', now(), 1.50, 0.1")
    link.execute("CREATE VIEW v AS SELECT a FROM t")
    clean = [one.to_physical().to_list() for one in read_all(uri)]
    for column, odd in (
        *(("d", "infinity"), ("d", "4000-01-01 BC"), ("s", "-infinity"), ("n", "NaN")),
        *(("s", "294276-12-31"), ("r", "-Infinity"), ("n", "1e1000"), ("b", "")),
    ):
        link.execute(f"INSERT INTO t ({column}) VALUES ('{odd}')")
        found = [one.to_physical().to_list()[:1] for one in read_all(uri)]
        assert found == clean
    rows = open_rows(Query.table(uri, "public.t"))
    before = rows.count()
    link.execute("INSERT INTO t (a) VALUES (5)")
    assert rows.count() == before == 9
    assert rows.premises.conditions == ()
    refused = uri.replace("owner@/own", "owner:secret@/nobody")
    for address, sql in ((refused, "SELECT a FROM t"), (uri, "SELECT zz FROM t")):
        with pytest.raises(DataError, match="cannot be asked: check the address") as told:
            open_rows(Query(address, sql))
        assert "secret" not in str(told.value)
    del rows


POSTGRES = """
CREATE TYPE mood AS ENUM ('a', 'b');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (x bigint, y integer, r real, n numeric, d date, m timestamptz, e mood, name text,
    code char(3), loose text COLLATE folded, yes boolean, p positive, i interval, k uuid);
CREATE TABLE made (x integer, kept integer GENERATED ALWAYS AS (x + 1) STORED);
CREATE TABLE held (x integer);
ALTER TABLE held ENABLE ROW LEVEL SECURITY;
CREATE TABLE parts (x integer) PARTITION BY RANGE (x);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (9);
CREATE VIEW v AS SELECT x FROM t;
CREATE MATERIALIZED VIEW stored AS SELECT x FROM t;
CREATE FUNCTION twice(integer) RETURNS integer LANGUAGE sql AS 'SELECT 2 * $1';
CREATE FUNCTION whole(t) RETURNS bigint LANGUAGE sql AS 'SELECT $1.x';
"""
OF_POSTGRES = {
    "SELECT x, y AS z, r, n, d, m, e, name, code, yes, k FROM t": "",
    "SELECT x FROM public.t AS s WHERE s.x > 0 AND y IN (1, -2) AND r < 1.5 AND e = 'a'": "",
    "SELECT x FROM t WHERE n >= 1 AND m < '2019-01-01 10:00:00' AND name = 'a' AND yes": "",
    "SELECT x FROM t WHERE code <> 'ab' AND name IS NOT NULL AND NOT yes": "",
    "SELECT x FROM made": "",
    "SELECT * FROM parts WHERE x > 3": "",
    "SELECT * FROM made": "a column that is computed from others",
    "SELECT x FROM held": "policies on its rows",
    "SELECT x FROM v": "a view, or what else is no stored table",
    "SELECT x FROM stored": "a view, or what else is no stored table",
    "SELECT p FROM t": "the type positive",
    "SELECT x FROM t WHERE x = y": "a comparison of columns of two types",
    "SELECT x FROM t WHERE x > 1.5": "a comparison of values of two types",
    "SELECT x FROM t WHERE d > 'today'": "a comparison of values of two types",
    "SELECT x FROM t WHERE loose = 'a'": "a comparison of values of two types",
    "SELECT x FROM t WHERE name > 'a'": "a comparison of texts by their order",
    "SELECT twice(y) AS x FROM t": "the function twice",
    "SELECT t.whole FROM t": "a column that its table does not declare",
    "SELECT xmin::text AS x FROM t": "CAST",
    "SELECT x::int FROM t": "CAST",
    "SELECT -x AS x FROM t": "a computed column",
    "SELECT x FROM t TABLESAMPLE SYSTEM (10)": "TABLESAMPLE",
    "SELECT x FROM generate_series(1, 3) AS x": None,
    "SELECT x FROM t WHERE x = ANY ('{1,2}')": None,
}


@pytest.mark.whole
def test_what_a_query_of_postgresql_computes_is_said(database):
    uri, link = database
    link.execute(POSTGRES)
    for sql, wanted in OF_POSTGRES.items():
        found = doubts(uri, sql)
        assert found if wanted is None else found == wanted, sql
    link.execute(
        "CREATE FUNCTION less(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0 > 1'; "
        "CREATE OPERATOR < (LEFTARG = int, RIGHTARG = int, FUNCTION = less);"
        "ALTER ROLE owner SET search_path = public, pg_catalog"
    )
    assert doubts(uri, "SELECT x FROM t WHERE y < 3") == "an operator that somebody defined"
    assert doubts(uri, "SELECT x FROM t") == ""


def read_all(uri):
    return open_rows(Query.table(uri, "t")).lazy.collect().get_columns()


def test_numbers_of_a_query_are_coded_as_elsewhere(people):
    schema = us.Schema.loads(SCHEMA)
    table = Table(Query.table(f"sqlite:///{people}", "people"), schema)
    counts = table.count([(1,)]).expose()[0]
    assert np.asarray(counts.inside).tolist() == [150, 150]
