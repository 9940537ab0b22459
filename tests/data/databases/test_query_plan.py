"""Which queries give each row by itself, and what is said of the others."""

import pytest

import understudy as us
from understudy.data.sql import (
    Comparison,
    Constant,
    Declared,
    Query,
    doubts_of,
    state_premises,
    taken_apart,
)
from understudy.errors import DataError

pytest.importorskip("sqlglot", reason="the extra database is not installed")

ADDRESSES = ("sqlite:///p.db", "duckdb:///p.duckdb", "postgresql://owner:secret@host/people")
PLAIN = {
    "SELECT * FROM people": (None, 0),
    "SELECT p.* FROM people AS p": (None, 0),
    "SELECT age, sex AS gender FROM public.people AS p WHERE p.age >= -18;": (("age", "sex"), 1),
    "SELECT age FROM people WHERE (a > 3 AND b IN ('x', 'y')) OR NOT c = 'z'": (("age",), 3),
    "SELECT age FROM people WHERE d BETWEEN 1 AND 2.5 AND e IS NOT NULL AND f = TRUE AND g": (
        ("age",),
        4,
    ),
    "SELECT age FROM people -- all of them": (("age",), 0),
}
OTHERS = {
    "SELECT DISTINCT a FROM t": "DISTINCT",
    "SELECT count(*) FROM t": "an aggregate",
    "SELECT a, max(b) AS b FROM t GROUP BY a": "GROUP BY, an aggregate",
    "SELECT a FROM t JOIN u USING (a)": "JOIN",
    "SELECT a FROM t, u": "JOIN",
    "SELECT a FROM t WHERE a IN (SELECT b FROM u)": "QUERY, SUBQUERY",
    "SELECT a FROM (SELECT a FROM t) AS s": "SUBQUERY",
    "WITH x AS (SELECT a FROM t) SELECT a FROM x": "WITH",
    "SELECT a FROM t UNION ALL SELECT a FROM u": "UNION",
    "SELECT a FROM t LIMIT 5": "LIMIT",
    "SELECT a FROM t ORDER BY a": "ORDER BY",
    "SELECT a FROM t WHERE random() > 0.5": "RANDOM",
    "SELECT my_own(a) AS a FROM t": "the function my_own",
    "SELECT row_number() OVER () AS a FROM t": "ROWNUMBER, WINDOW",
    "SELECT CAST(a AS INTEGER) AS a FROM t": "CAST",
    "SELECT a / b AS a FROM t": "DIV",
    "SELECT a + 1 AS a FROM t": "ADD",
    "SELECT -a AS a FROM t": "a computed column",
    "SELECT a > 1 AS a FROM t": "a computed column",
    "SELECT 1 AS a FROM t": "a computed column",
    "SELECT a FROM t WHERE -a > 1": "a computed condition",
    "SELECT a FROM t WHERE (a, b) = (1, 2)": "a computed condition",
    "SELECT a FROM t WHERE 1 = 1": "a condition without a column",
    "SELECT a FROM t WHERE a = NULL": "a computed condition",
    "SELECT a FROM t WHERE a IS TRUE": "IS with other words than NULL",
    "SELECT a FROM t WHERE (a > 1) = b": "a computed condition",
    "SELECT a FROM t WHERE a LIKE 'x%'": "LIKE",
    "SELECT CASE WHEN a > 1 THEN 1 ELSE 2 END AS a FROM t": "CASE",
    "SELECT coalesce(a, 0) AS a FROM t": "COALESCE",
    "SELECT lower(a) AS a FROM t": "LOWER",
    "SELECT s.a.b FROM t AS s": "DB",
    "SELECT s.a FROM t": "a part of a column",
    "SELECT a FROM other.public.t": "another database",
    "SELECT a FROM t AS s(a, b)": "COLUMNS",
    "SELECT a FROM t WHERE b = '\\x'": "a text with a backslash",
    "SELECT a /* of /* whom */ */ FROM t": None,
    "SELECT 1 AS a": "no table",
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("sql", PLAIN)
def test_columns_and_comparisons_are_taken_apart(address, sql):
    selection, others = taken_apart(Query(address, sql))
    columns, n_comparisons = PLAIN[sql]
    assert not others
    assert selection.columns == columns
    assert selection.table == "people"
    assert len(selection.comparisons) == n_comparisons
    assert state_premises(others).unproved == state_premises(others).conditions == ()


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("sql", OTHERS)
def test_all_else_makes_the_guarantee_conditional(address, sql):
    what = OTHERS[sql]
    try:
        selection, others = taken_apart(Query(address, sql))
    except DataError:  # not each database has such comments
        assert what is None
        return
    assert selection is None
    premises = state_premises(others)
    assert f"It ({what or 'a comment'}) may make several" in premises.conditions[0]
    assert f"it does not say so by itself ({what or 'a comment'})" in premises.unproved[0]


def test_a_query_is_folded_as_its_database_folds_it():
    sql = 'SELECT "Age" FROM Public.People AS "P" WHERE "P".Sex = \'it\'\'s\''
    selection, _ = taken_apart(Query(ADDRESSES[2], sql))
    assert (selection.schema, selection.table, selection.columns) == ("public", "people", ("Age",))
    assert selection.comparisons == (Comparison(("sex",), (Constant("texts", "'it''s'"),)),)
    assert taken_apart(Query(ADDRESSES[0], sql))[0].columns == ("age",)


COLUMNS = {
    "whole": Declared("int4", "whole numbers"),
    "large": Declared("int8", "whole numbers"),
    "real": Declared("float8", "numbers"),
    "word": Declared("text", "texts"),
    "day": Declared("date", "days"),
    "yes": Declared("bool", "truth values"),
    "key": Declared("uuid", "nothing"),
    "sum": Declared("int4", "whole numbers", "a column that is computed from others"),
}
FITTING = (
    *("whole > -1 AND whole IN (1, 2) AND whole = whole", "real < 1 AND real BETWEEN 0 AND 1.5e3"),
    *(
        "word = 'x' OR word NOT IN ('y', 'z')",
        "day >= '2020-02-29' AND day < '2021-01-01 10:00:00'",
    ),
    *("yes AND NOT yes AND yes = FALSE", "key IS NULL AND word IS NOT NULL"),
)
UNLIKE = {
    "whole > 1.5": "two types",
    "whole = '1'": "two types",
    "whole = 99999999999999999999": "two types",
    "real = '1'": "two types",
    "word = 1": "two types",
    "word > 'x'": "texts by their order",
    "word BETWEEN 'x' AND 'y'": "texts by their order",
    "day = 'today'": "two types",
    "day > '2021-02-29'": "two types",
    "day > '2021-02-03T10'": "two types",
    "yes > 1": "two types",
    "whole": "two types",
    "key = 'x'": "two types",
    "whole = large": "columns of two types",
    "sum IS NULL": "computed from others",
    "other = 1": "does not declare",
}


@pytest.mark.parametrize("condition", FITTING)
def test_sides_of_one_type_are_compared(condition):
    query = Query(ADDRESSES[2], f"SELECT whole FROM t WHERE {condition}")
    assert doubts_of(taken_apart(query)[0], COLUMNS) == set()


@pytest.mark.parametrize("condition", UNLIKE)
def test_sides_of_two_types_are_a_doubt(condition):
    query = Query(ADDRESSES[2], f"SELECT whole FROM t WHERE {condition}")
    (doubt,) = doubts_of(taken_apart(query)[0], COLUMNS)
    assert UNLIKE[condition] in doubt


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
        taken_apart(Query(ADDRESSES[2], sql))
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("uri", ["people.db", "mysql://x/y", "", "postgresq://owner:secret@host/x"])
def test_an_address_of_another_kind_is_refused_without_its_password(uri):
    with pytest.raises(DataError, match=r"must begin with sqlite://|must be a text") as told:
        us.Query(uri, "SELECT a FROM t")
    assert "secret" not in str(told.value)


def test_a_query_shows_no_password():
    query = us.Query.table(ADDRESSES[2], 'public.odd"name')
    assert query.sql == 'SELECT * FROM "public"."odd""name"'
    assert "secret" not in repr(query) + query.place
    assert us.Query("sqlite:////data/a%20b.db", "x").path == "/data/a b.db"
