"""Databases, each read so that every pass sees the same rows and no row changes another.

- SQLite: a value has a type of its own, whatever its column says. So all are read as text, each by
  itself, inside one transaction.
- DuckDB: the file is opened for reading alone, which keeps writers away.
- PostgreSQL: one read-only transaction that sees the rows of its beginning.

No message of a database is passed on: it may quote values, or a password.
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa

from understudy.engine.reading.databases.query import Query
from understudy.engine.reading.frame_columns import arrow_column
from understudy.engine.reading.python_objects import texts
from understudy.errors import DataError
from understudy.extras import require_extra

ROWS_AT_ONCE: Final = 50_000
_CONVERSION: Final = re.compile(r"CAST\((?![-'\d]|NULL\b|true\b|false\b)(?!.{1,300}? AS VARCHAR\))")
"""Of a plan of DuckDB: anything but a constant into anything but text."""


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
            raise DataError(
                f"{query.place} cannot be asked: check the address, the names of table and "
                "columns, and the right to read them (nothing was spent)."
            ) from None

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

    @property
    def converts(self) -> bool:
        """Whether the query turns values of a column into another type, which one row may fail."""
        return False

    @abstractmethod
    def is_plain_table(self, schema: str, name: str) -> bool:
        """Whether a name is that of a table that holds its own rows, and of no view."""

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

    def is_plain_table(self, schema: str, name: str) -> bool:
        found = self._link.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = lower(?) "
            "AND sql NOT LIKE 'CREATE VIRTUAL%'",
            (name,),
        ).fetchone()
        return found is not None and schema.lower() in ("", "main")


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
        settings: dict[str, Any] = {"enable_external_access": False}
        return duckdb.connect(self._query.path, read_only=True, config=settings)

    def _begin(self) -> None:
        """Writers are kept away."""

    def _schema(self) -> pa.Schema:
        schema: pa.Schema = self._link.sql(self._query.sql).limit(0).to_arrow_table().schema
        return schema

    @property
    def converts(self) -> bool:
        # As it is written down, before it is made faster: that would look at the rows.
        self._link.execute("PRAGMA explain_output = 'all'")
        plans = dict(self._link.execute(f"EXPLAIN (FORMAT json) {self._query.sql}").fetchall())
        return _CONVERSION.search(plans["logical_plan"]) is not None

    def _rows(self) -> Iterator[pa.RecordBatch]:
        yield from self._link.cursor().sql(self._query.sql).to_arrow_reader(ROWS_AT_ONCE)

    def is_plain_table(self, schema: str, name: str) -> bool:
        found = self._link.execute(
            "SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = lower(?) "
            "AND lower(schema_name) = lower(?)",
            [name, schema or "main"],
        ).fetchone()
        return found is not None


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

    def is_plain_table(self, schema: str, name: str) -> bool:
        parts = ('"' + part.replace('"', '""') + '"' for part in (schema, name) if part)
        with self._link.cursor() as cursor:
            cursor.execute(
                "SELECT relkind::text FROM pg_class WHERE oid = to_regclass($1)",
                (".".join(parts),),
            )
            kinds = [row[0] for row in cursor.fetchall()]
        return bool(kinds) and kinds[0] in ("r", "p")


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
