"""Fresh identifiers of synthetic records: the number of each record's place in its set."""

from __future__ import annotations

import polars as pl

from understudy.schema import Schema


def identified(table: pl.DataFrame, schema: Schema, start: int = 0) -> pl.DataFrame:
    """The table with its identifiers, columns in the order of the schema.

    Args:
        table: of all other columns, in its last order.
        schema: of the release.
        start: records of the set before this part of it.
    """
    if not schema.identifiers:
        return table
    numbers = range(start + 1, start + table.height + 1)
    fresh = [
        pl.Series(name, map(column.written, numbers), dtype=pl.String)
        for name, column in schema.identifiers.items()
    ]
    return table.with_columns(fresh)[list(schema.declared)]


def are_fresh(table: pl.DataFrame, schema: Schema, start: int = 0) -> bool:
    """Whether a table, or a part of one, has the identifiers that it was given."""
    return identified(table, schema, start).equals(table)
