"""The rows of a query, as a table that is read anew in each pass."""

from __future__ import annotations

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


def open_query(query: Query) -> Rows:
    """Open a database, and look at what its query gives; rows are read later.

    Raises:
        DataError: the query is no SELECT, or cannot be asked.
        MethodError: a library is not installed.
    """
    premises = premises_of_query(query)
    connection = connected(query)
    views = _premises_of_views(query, connection)
    lazy = plain_columns(streamed(connection.batches, connection.types))
    return Rows(
        lazy,
        connection.names,
        "arrow",
        query.place,
        connection.unreadable,
        premises=Premises(
            premises.conditions + views.conditions, premises.unproved + views.unproved
        ),
    )


def _premises_of_views(query: Query, connection: Connection) -> Premises:
    """A view may join and draw; what it does, the query does not say."""
    tables = tables_of_query(query)
    if all(connection.is_plain_table(schema, name) for schema, name in tables):
        return Premises()
    return stated(set(), {"a view"})
