"""Which queries give each row by itself, and what is said of the others."""

import pytest

import understudy as us
from understudy.engine.reading.databases.query import Query, is_address
from understudy.engine.reading.databases.query_plan import premises_of_query, tables_of_query
from understudy.errors import DataError

pytest.importorskip("sqlglot", reason="the extra database is not installed")

ADDRESSES = ("sqlite:///p.db", "duckdb:///p.duckdb", "postgresql://owner:secret@host/people")
ROW_WISE = (
    "SELECT * FROM people",
    "SELECT age, sex AS gender FROM public.people AS p WHERE p.age >= -18;",
    "SELECT age FROM people WHERE (a > 3 AND b IN ('x', 'y')) OR NOT c LIKE 'z%' ORDER BY age",
    "SELECT age FROM people WHERE d BETWEEN 1 AND 2 AND e IS NOT NULL AND f = TRUE AND g <> 'x'",
    "SELECT lower(a) AS a, CASE WHEN b > 1 THEN 'x' ELSE 'y' END AS b FROM people",
)
RELATED = {
    "SELECT DISTINCT a FROM t": "DISTINCT",
    "SELECT count(*) FROM t": "an aggregate",
    "SELECT a, max(b) AS b FROM t GROUP BY a": "GROUP BY, an aggregate",
    "SELECT a FROM t JOIN u USING (a)": "JOIN",
    "SELECT a FROM t, u": "JOIN",
    "SELECT a FROM t WHERE a IN (SELECT b FROM u)": "SUBQUERY",
    "SELECT a FROM (SELECT a FROM t) AS s": "SUBQUERY",
    "WITH x AS (SELECT a FROM t) SELECT a FROM x": "WITH",
    "SELECT a FROM t UNION ALL SELECT a FROM u": "UNION",
}
UNKNOWN = {
    "SELECT a FROM t LIMIT 5": "LIMIT",
    "SELECT a FROM t WHERE random() > 0.5": "RANDOM",
    "SELECT my_own(a) AS a FROM t": "the function my_own",
    "SELECT row_number() OVER () AS a FROM t": "ROWNUMBER, WINDOW",
    "SELECT CAST(a AS INTEGER) AS a FROM t": "CAST",
    "SELECT a / b AS a FROM t": "DIV",
    "SELECT a FROM t WHERE a LIKE b": "LIKE with such a pattern",
    "SELECT 1 AS a": "no table",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_keeps_to_single_rows_is_taken_as_it_is(address):
    for sql in ROW_WISE:
        premises = premises_of_query(Query(address, sql))
        assert (premises.conditions, premises.unproved) == ((), ())


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_relates_rows_makes_the_guarantee_conditional(address):
    for sql, what in RELATED.items():
        premises = premises_of_query(Query(address, sql))
        assert f"It ({what}) may make several of them from one row" in premises.conditions[0]
        assert premises.unproved == ()


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_may_give_other_rows_again_is_said_to_be_unproved(address):
    for sql, what in UNKNOWN.items():
        premises = premises_of_query(Query(address, sql))
        assert f"It ({what}) may make several" in premises.conditions[0]
        assert f"its text does not say so ({what})" in premises.unproved[0]


@pytest.mark.parametrize(
    "sql",
    [
        *("DELETE FROM t", "SELECT a FROM t; SELECT b FROM t", "SELECT a INTO b FROM t"),
        *("CREATE TABLE x AS SELECT a FROM t", "PRAGMA writable_schema = 1", "SELECT FROM WHERE ("),
        *("SELECT a FROM t FOR UPDATE", "ATTACH 'other.db' AS other", "x" * 10, "(" * 5000),
    ],
)
def test_what_is_not_one_select_is_refused(sql):
    with pytest.raises(DataError, match=r"must be one SELECT|cannot be understood as SQL") as told:
        premises_of_query(Query(ADDRESSES[2], sql))
    assert "secret" not in str(told.value)


def test_tables_are_named_as_the_database_folds_them():
    sql = 'SELECT a FROM Public.People WHERE b IN (SELECT c FROM "Other")'
    assert tables_of_query(Query(ADDRESSES[2], sql)) == [("public", "people"), ("", "Other")]
    assert tables_of_query(Query(ADDRESSES[0], sql)) == [("Public", "People"), ("", "Other")]


@pytest.mark.parametrize("uri", ["people.db", "mysql://x/y", "", "postgresq://owner:secret@host/x"])
def test_an_address_of_another_kind_is_refused_without_its_password(uri):
    with pytest.raises(DataError, match=r"must begin with sqlite://|must be a text") as told:
        us.Query(uri, "SELECT a FROM t")
    assert "secret" not in str(told.value)
    assert not is_address(uri)


def test_a_query_shows_no_password():
    query = us.Query.table(ADDRESSES[2], 'public.odd"name')
    assert query.sql == 'SELECT * FROM "public"."odd""name"'
    assert "secret" not in repr(query) + query.place
    assert us.Query("sqlite:////data/a%20b.db", "x").path == "/data/a b.db"
