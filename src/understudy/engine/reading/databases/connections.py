"""Databases, each read so that every pass sees the same rows and no row changes another.

- SQLite: a value has a type of its own, whatever its column says. So all are read as text, each by
  itself, inside one transaction. Values of all types compare with each other, and no comparison
  fails (its manual, "Datatypes in SQLite"). What computes a row is told by the schema's table: a
  stored table has a root page, a view or virtual table has none, a generated column says so.
- DuckDB: the file is opened for reading alone, which keeps writers away. Its bound plan, as it is
  before it is made faster (for that it would look at the rows), names each conversion, function and
  collation that the query's text does not show.
- PostgreSQL: one read-only transaction that sees the rows of its beginning. Its catalogue says of
  which type each column is, how texts compare, and whether a table is a view, another server's, has
  rules or policies, or columns that are computed. Between the types that are admitted here, its own
  operators convert constants alone, and do so before a row is read.

No message of a database is passed on: it may quote values, or a password.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa

from understudy.engine.reading.databases.query import Query
from understudy.engine.reading.databases.query_plan import Declared, Kind, Selection, doubts_of
from understudy.engine.reading.frame_columns import arrow_column
from understudy.engine.reading.python_objects import texts
from understudy.errors import DataError
from understudy.extras import require_extra

ROWS_AT_ONCE: Final = 50_000

NO_TABLE: Final = "a view, or what else is no stored table"

_GENERATED: Final = "a column that is computed from others"


class Connection(ABC):
    """An open database, and one query of it.

    Args:
        query: asked.

    Raises:
        DataError: the database cannot be opened, or the query cannot be asked.
        MethodError: the library for it is not installed.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        try:
            self._link = self._opened()
            # When nobody reads any more, and not some time later: a reader keeps writers waiting.
            weakref.finalize(self, self._link.close)
            self._begin()
            self.types, self.unreadable = self._heading()
        except DataError:
            raise
        except Exception:  # of whatever class the database's library has
            raise self._unasked() from None

    types: dict[str, pl.DataType]
    """Columns that can be read, and the type of each, by what the database declares."""

    unreadable: dict[str, str]
    """Columns that cannot be, each with its type."""

    names: tuple[str, ...]
    """All columns."""

    @abstractmethod
    def _opened(self) -> Any:
        """A connection."""

    @abstractmethod
    def _begin(self) -> None:
        """Fix which rows all passes see, once the connection is sure to be closed."""

    @abstractmethod
    def _heading(self) -> tuple[dict[str, pl.DataType], dict[str, str]]:
        """Columns and types of the query, no rows."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Rows of some columns, from the first one on. CONFIDENTIAL."""

    def doubts(self, selection: Selection) -> set[str]:
        """What may fail at a row of the query, or rest on several; no rows are read.

        Args:
            selection: the query, of the form that gives each row by itself.

        Raises:
            DataError: the database cannot be asked.
        """
        try:
            return self._doubts(selection)
        except Exception:  # of whatever class the database's library has
            raise self._unasked() from None

    @abstractmethod
    def _doubts(self, selection: Selection) -> set[str]:
        """The same."""

    def _unasked(self) -> DataError:
        return DataError(
            f"{self._query.place} cannot be asked: check the address, the names of table and "
            "columns, and the right to read them (nothing was spent)."
        )

    def _named(self, names: Sequence[str]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise DataError(f"{self._query.place} has two columns of one name; rename one of them.")
        return tuple(names)


class _SQLite(Connection):
    def _opened(self) -> sqlite3.Connection:
        path = Path(self._query.path)
        if not path.is_file():
            raise DataError(f"The database {str(path)!r} does not exist; check the path.")
        address = f"{path.resolve().as_uri()}?mode=ro"
        link = sqlite3.connect(address, uri=True, check_same_thread=False)
        link.isolation_level = None
        link.text_factory = bytes  # a text that is none costs its own cell
        return link

    def _begin(self) -> None:
        self._link.execute("BEGIN")
        self._link.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def _heading(self) -> tuple[dict[str, pl.DataType], dict[str, str]]:
        cursor = self._link.execute(self._query.sql)  # computes no row before one is fetched
        self.names = self._named([entry[0] for entry in cursor.description])
        cursor.close()
        return dict.fromkeys(self.names, pl.String()), {}

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        cursor = self._link.execute(self._query.sql)
        places = {name: self.names.index(name) for name in names}
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            cells = {name: texts(row[at] for row in rows) for name, at in places.items()}
            yield pl.DataFrame(cells, height=len(rows))

    def _doubts(self, selection: Selection) -> set[str]:
        stored = self._link.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND lower(name) = ?",
            (selection.table,),
        ).fetchone()
        if stored is None or selection.schema not in ("", "main"):
            return {NO_TABLE}
        columns = self._link.execute(
            "SELECT name, hidden FROM pragma_table_xinfo(?, 'main')", (selection.table,)
        )
        declared = {
            name.decode().lower(): Declared("", "any", _GENERATED if hidden else "")
            for name, hidden in columns
        }
        return doubts_of(selection, declared)


class _Arrow(Connection):
    """A database that gives Arrow batches, with types that its columns declare."""

    @abstractmethod
    def _schema(self) -> pa.Schema:
        """Of the query."""

    @abstractmethod
    def _rows(self) -> Iterator[pa.RecordBatch]:
        """Of the query."""

    def _heading(self) -> tuple[dict[str, pl.DataType], dict[str, str]]:
        schema = self._schema()
        self.names = self._named(schema.names)
        types, unreadable = {}, {}
        for one in schema:
            empty = _series(pa.array([], _storage(one.type)))
            if empty is None:
                unreadable[one.name] = str(one.type)
            else:
                types[one.name] = empty.dtype
        return types, unreadable

    def batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in self._rows():
            cells = {name: _series(_stored(batch[name])) for name in names}
            yield pl.DataFrame(cells, height=len(batch))


class _DuckDB(_Arrow):
    def _opened(self) -> Any:
        require_extra("database", "A query of DuckDB")
        import duckdb

        if not Path(self._query.path).is_file():
            raise DataError(f"The database {self._query.path!r} does not exist; check the path.")
        # Other files are no tables of it.
        settings: dict[str, Any] = {
            "enable_external_access": False,
            "python_enable_replacements": False,  # nor are variables of a program
            "arrow_large_buffer_size": True,  # one long text must not be too long for its batch
        }
        return duckdb.connect(self._query.path, read_only=True, config=settings)

    def _begin(self) -> None:
        """Writers are kept away."""

    def _schema(self) -> pa.Schema:
        schema: pa.Schema = self._link.sql(self._query.sql).limit(0).to_arrow_table().schema
        return schema

    def _rows(self) -> Iterator[pa.RecordBatch]:
        yield from self._link.cursor().sql(self._query.sql).to_arrow_reader(ROWS_AT_ONCE)

    def _doubts(self, selection: Selection) -> set[str]:
        place = [selection.schema or "main", selection.table]
        where = (
            "WHERE database_name = current_database() AND lower(schema_name) = ? "
            "AND lower(table_name) = ?"
        )
        stored = self._link.execute(f"SELECT 1 FROM duckdb_tables() {where}", place).fetchone()  # noqa: S608
        if stored is None:
            return {NO_TABLE}
        columns = self._link.execute(
            f"SELECT lower(column_name), data_type FROM duckdb_columns() {where}",  # noqa: S608
            place,
        ).fetchall()
        types = dict(columns)
        declared = {name: _of_duckdb(dtype) for name, dtype in columns}
        doubts = doubts_of(selection, declared)
        if doubts:
            return doubts
        told = self._link.execute(
            "SELECT json_serialize_plan(?::VARCHAR, optimize := false)", [self._query.sql]
        ).fetchone()[0]
        for one in selection.comparisons:
            for constant in one.constants:
                # It is converted when the first row comes, or never if none does.
                fits = f"SELECT TRY_CAST({constant.sql} AS {types[one.columns[0]]}) IS NOT NULL"
                if not self._link.execute(fits).fetchone()[0]:
                    doubts.add("a constant that its column's type does not have")
        return doubts | doubts_of_plan(json.loads(told))


class _Postgres(_Arrow):
    def _opened(self) -> Any:
        require_extra("database", "A query of PostgreSQL")
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self._query.uri)

    def _begin(self) -> None:
        with self._link.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _schema(self) -> pa.Schema:
        with self._link.cursor() as cursor:
            schema: pa.Schema = cursor.adbc_execute_schema(self._query.sql)
        return schema

    def _rows(self) -> Iterator[pa.RecordBatch]:
        with self._link.cursor() as cursor:
            cursor.execute(self._query.sql)
            yield from cursor.fetch_record_batch()

    def _doubts(self, selection: Selection) -> set[str]:
        parts = (selection.schema, selection.table)
        place = ".".join('"' + part.replace('"', '""') + '"' for part in parts if part)
        tables = self._asked(_PG_TABLES, place)
        if not tables or not all(kind in ("r", "p") for kind, *_ in tables):
            return {NO_TABLE}
        doubts = set[str]()
        for _, policies, rules, method in tables:
            if policies:
                doubts.add("policies on its rows")
            if rules:
                doubts.add("rules of its table")
            if method not in ("", "heap"):
                doubts.add(f"rows that are stored by {method}")
        ((encoding, operators),) = self._asked(_PG_RULES)
        if encoding not in ("UTF8", "LATIN1"):  # of others, not every text becomes UTF-8
            doubts.add(f"texts in the encoding {encoding}")
        if operators and selection.comparisons:
            doubts.add("an operator that somebody defined")
        columns = self._asked(_PG_COLUMNS, place)
        declared = {name: _of_postgres(*facts) for name, *facts in columns}
        return doubts | doubts_of(selection, declared)

    def _asked(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        with self._link.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


_PG_TABLES: Final = """
WITH RECURSIVE tree AS (
    SELECT to_regclass($1)::oid AS oid
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid)
SELECT c.relkind::text, c.relrowsecurity,
    EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '1'),
    coalesce((SELECT m.amname::text FROM pg_catalog.pg_am m WHERE m.oid = c.relam), '')
FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid
"""
"""Of a table and all that inherit from it: kind, policies, rules, how rows are stored."""

_PG_COLUMNS: Final = """
SELECT a.attname::text, t.typname::text,
    t.typnamespace = 'pg_catalog'::regnamespace, t.typtype::text,
    coalesce(to_jsonb(a) ->> 'attgenerated', '') <> '',
    coalesce(to_jsonb(l) ->> 'collisdeterministic', 'true') = 'true'
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped
"""
"""Of a table: names of columns, their types, whether these are its own, whether they are computed,
and whether different texts are never equal. Servers of before 12 know of none of the last two."""

_PG_RULES: Final = """
SELECT current_setting('server_encoding'), EXISTS (
    SELECT 1 FROM pg_catalog.pg_operator o
    WHERE o.oprname IN ('=', '<>', '<', '<=', '>', '>=')
    AND o.oprnamespace <> 'pg_catalog'::regnamespace AND pg_operator_is_visible(o.oid)
    AND (o.oprleft::int8 < 16384 OR o.oprright::int8 < 16384))
"""
"""The encoding of texts, and whether somebody compares values of its own types in another way."""

_PG_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("int2", "int4", "int8"), "whole numbers"),
    **dict.fromkeys(("float4", "float8", "numeric"), "numbers"),
    **dict.fromkeys(("text", "varchar", "bpchar"), "texts"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "days"),
    "bool": "truth values",
    **dict.fromkeys(("name", "char", "time", "uuid", "bytea", "json", "jsonb"), "nothing"),
}
_DUCKDB_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "whole numbers"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "whole numbers"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "numbers"),
    "VARCHAR": "texts",
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), "days"),
    "TIMESTAMP WITH TIME ZONE": "days",
    "BOOLEAN": "truth values",
    **dict.fromkeys(("TIMESTAMP_NS", "TIME", "UUID", "BLOB", "ENUM", "JSON"), "nothing"),
}
"""Types of which every value is read, and what they may be compared with."""

_PLAN: Final = ("LOGICAL_PROJECTION", "LOGICAL_FILTER", "LOGICAL_GET")
_GIVEN: Final = frozenset({"BOUND_REF", "BOUND_COLUMN_REF"})
_TOLD: Final = frozenset(
    {*_GIVEN, "VALUE_CONSTANT", "CONJUNCTION_AND", "CONJUNCTION_OR", "OPERATOR_NOT"}
    | {"OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "COMPARE_IN", "COMPARE_NOT_IN"}
    | {"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN"}
    | {"COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO", "COMPARE_BETWEEN"}
)


def _of_duckdb(dtype: str) -> Declared:
    bare = dtype.partition("(")[0]
    kind = _DUCKDB_KINDS.get("" if dtype.endswith("]") else bare)
    return Declared(dtype, kind or "nothing", "" if kind else f"the type {bare}")


def _of_postgres(dtype: str, own: bool, how: str, generated: bool, deterministic: bool) -> Declared:
    kind: Kind | None = _PG_KINDS.get(dtype) if own and how == "b" else None
    kind = "texts" if how == "e" else kind
    if generated:
        return Declared(dtype, "nothing", _GENERATED)
    if kind == "texts" and not deterministic:
        kind = "nothing"
    return Declared(dtype, kind or "nothing", "" if kind else f"the type {dtype}")


def doubts_of_plan(told: Mapping[str, Any]) -> set[str]:
    """What a bound plan of DuckDB has beside plain columns and comparisons of one type.

    Args:
        told: by `json_serialize_plan`, of versions 1.5 and 2.0.
    """
    plans = told.get("plans", [])
    if told.get("error") is not False or len(plans) != 1:
        return {"a plan that cannot be read"}
    doubts, kinds = set[str](), []
    node = plans[0]
    while True:
        kinds.append(node.get("type"))
        given = node.get("type") == "LOGICAL_PROJECTION"
        for expression in node.get("expressions", []):
            doubts |= set(_doubts_of_expression(expression, given=given))
        if any(node.get("table_filters", {}).values()):  # found for speed, and never bound
            doubts.add("a plan that cannot be read")
        children = node.get("children", [])
        if len(children) != 1:
            break
        node = children[0]
    path = node.get("qname", {}).get("path", [node.get("name")])
    plain = [kind for kind in _PLAN if kind in kinds]
    if kinds != plain or children or node.get("type") != _PLAN[-1] or path != ["seq_scan"]:
        doubts.add("a plan of several steps")
    return doubts


def _doubts_of_expression(part: Any, *, given: bool) -> Iterator[str]:
    """What an expression has that may fail at a row.

    Args:
        part: of the plan.
        given: whether it is a column of the result, which is nothing but a column.
    """
    if isinstance(part, list):
        for one in part:
            yield from _doubts_of_expression(one, given=given)
    elif isinstance(part, Mapping):
        kind = part.get("type")
        if kind == "OPERATOR_CAST":
            held = part.get("child") or part.get("children", [None])
            inner = held if isinstance(held, list) else [held]
            if given or [isinstance(one, Mapping) and one.get("type") for one in inner] != [
                "VALUE_CONSTANT"
            ]:
                yield "a conversion of types"
            return
        if "expression_class" in part and kind not in (_GIVEN if given else _TOLD):
            names = part.get("qname", {}).get("path", [part.get("name")])
            yield f"the function {names[-1]}" if names[-1] else "a computed column"
        for one in part.values():
            yield from _doubts_of_expression(one, given=given)


_KINDS: Final[dict[str, type[Connection]]] = {
    "sqlite": _SQLite,
    "duckdb": _DuckDB,
    "postgres": _Postgres,
}


def connected(query: Query) -> Connection:
    """The database of a query, opened.

    Raises:
        DataError: it cannot be opened, or the query cannot be asked.
        MethodError: the library for it is not installed.
    """
    return _KINDS[query.dialect](query)


def _storage(dtype: pa.DataType) -> pa.DataType:
    """The type behind one that Arrow does not know: decimal numbers of PostgreSQL are texts."""
    return dtype.storage_type if isinstance(dtype, pa.BaseExtensionType) else dtype


def _stored(values: pa.Array) -> pa.Array:
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _series(values: pa.Array) -> pl.Series | None:
    return arrow_column(pa.chunked_array([values]))
