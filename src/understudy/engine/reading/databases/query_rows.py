"""The rows of a query, as a table that is read anew in each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from understudy.engine.reading.databases.connections import Connection, connected
from understudy.engine.reading.databases.query import Query
from understudy.engine.reading.databases.query_plan import stated, taken_apart
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
    selection, parts = taken_apart(query)
    connection = connected(query)
    if selection is not None:
        parts = parts.union(connection.doubts(selection))
    lazy = plain_columns(streamed(_told(query, connection), connection.types))
    return Rows(
        lazy,
        connection.names,
        "arrow",
        query.place,
        connection.unreadable,
        premises=stated(parts),
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
