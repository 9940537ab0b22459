"""The rows of a query, as a table that is read anew in each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from understudy.engine.confidential import Premises
from understudy.engine.reading.databases.connections import Connection, connected
from understudy.engine.reading.databases.query import Query
from understudy.engine.reading.databases.query_plan import (
    premises_of_query,
    stated,
    tables_of_query,
)
from understudy.engine.reading.parquet import plain_columns
from understudy.engine.reading.streamed_rows import streamed
from understudy.engine.reading.table_rows import Rows
from understudy.errors import DataError


def open_query(query: Query) -> Rows:
    """Open a database, and look at what its query gives; rows are read later.

    Raises:
        DataError: the query is no SELECT, or cannot be asked.
        MethodError: a library is not installed.
    """
    premises = premises_of_query(query)
    connection = connected(query)
    views = _premises_of_views(query, connection)
    converting = stated(set(), {"a conversion of types"} if connection.converts else set())
    lazy = plain_columns(streamed(_told(query, connection), connection.types))
    return Rows(
        lazy,
        connection.names,
        "arrow",
        query.place,
        connection.unreadable,
        premises=premises + views + converting,
    )


def _told(
    query: Query, connection: Connection
) -> Callable[[Sequence[str]], Iterator[pl.DataFrame]]:
    """The rows, without what a database says of one that it fails at: it quotes values."""

    def batches(names: Sequence[str]) -> Iterator[pl.DataFrame]:
        try:
            yield from connection.batches(names)
        except Exception:  # of whatever class the database's library has
            raise DataError(
                f"{query.place} cannot be read to the end: the connection broke off, or the "
                "database cannot compute the query for a row; ask for columns as they are stored."
            ) from None

    return batches


def _premises_of_views(query: Query, connection: Connection) -> Premises:
    """A view may join and draw; what it does, the query does not say."""
    tables = tables_of_query(query)
    if all(connection.is_plain_table(schema, name) for schema, name in tables):
        return Premises()
    return stated(set(), {"a view"})
