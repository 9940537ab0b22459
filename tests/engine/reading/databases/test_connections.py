"""Databases for real: the same rows in each pass, types from declarations, no password told."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

import understudy as us
from postgres_server import programs, server
from understudy import Query
from understudy.engine import Table
from understudy.engine.reading.readers import open_rows
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

    def conditions(query):
        made = us.synthesize(query, schema, epsilon=1, method="laplace", insecure_noise_seed=1)
        return made.guarantee.conditions

    plain = conditions(Query(uri, "SELECT age, sex FROM people WHERE age > 10"))
    assert not any("query" in condition for condition in plain)
    for sql, what in (
        ("SELECT DISTINCT age, sex FROM people", "DISTINCT"),
        ("SELECT age, sex FROM adults", "a view"),
    ):
        found = conditions(Query(uri, sql))
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
    assert rows.premises.conditions == ()


@pytest.mark.parametrize(
    ("condition", "converts"),
    [
        ("b IN (1, 2)", True),
        ("b = a", True),
        ("a > 0", False),
        ("a IN (1, 2, 3)", False),
        ("d > '2019-01-01' AND b LIKE '%'", False),
        ("UPPER(b) <> 'CAST'", False),
    ],
)
def test_a_conversion_that_one_row_may_fail_is_a_condition(condition, converts, tmp_path):
    """DuckDB turns texts into numbers to compare them, and says which one it could not turn."""
    duckdb = pytest.importorskip("duckdb", reason="the extra database is not installed")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as link:
        link.execute("CREATE TABLE t AS SELECT 1 a, '1' b, DATE '2020-02-29' d")
    query = Query(f"duckdb:///{path}", f"SELECT a FROM t WHERE {condition}")
    rows = open_rows(query)
    assert rows.count() == 1
    assert ("a conversion of types" in " ".join(rows.premises.unproved)) == converts
    del rows
    with duckdb.connect(str(path)) as link:
        link.execute("INSERT INTO t VALUES (2, 'secret', NULL)")
    if converts:
        with pytest.raises(DataError, match="cannot be read to the end") as fault:
            open_rows(query).count()
        assert "secret" not in str(fault.value)
    else:
        assert open_rows(query).count() >= 1


def test_a_server_of_postgresql():
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    pytest.importorskip("adbc_driver_postgresql", reason="the extra database is not installed")
    with server() as uri, psycopg.connect(uri, autocommit=True) as link:
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
        assert "(a view)" in open_rows(Query.table(uri, "v")).premises.conditions[0]
        refused = uri.replace("owner@/postgres", "owner:secret@/nobody")
        for address, sql in ((refused, "SELECT a FROM t"), (uri, "SELECT zz FROM t")):
            with pytest.raises(DataError, match="cannot be asked: check the address") as told:
                open_rows(Query(address, sql))
            assert "secret" not in str(told.value)
        del rows


def read_all(uri):
    return open_rows(Query.table(uri, "t")).lazy.collect().get_columns()


def test_numbers_of_a_query_are_coded_as_elsewhere(people):
    schema = us.Schema.loads(SCHEMA)
    table = Table(Query.table(f"sqlite:///{people}", "people"), schema)
    counts = table.count([(1,)]).expose()[0]
    assert np.asarray(counts.inside).tolist() == [150, 150]
