"""Columns of an Arrow table as Polars columns that are read alike, value by value."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

_FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, ValueError)


def arrow_column(column: pa.ChunkedArray) -> pl.Series | None:
    """One column; shape (n,). None if its type cannot be read, whatever its values."""
    try:
        pl.Series(column.slice(0, 0))
    except _FAULTS:
        return None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Arrow does not look whether a text is one; bytes are read one value at a time.
        column = column.cast(pa.large_binary())
    return pl.Series(column)
