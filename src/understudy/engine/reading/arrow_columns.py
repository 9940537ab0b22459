"""Columns of an Arrow table as Polars columns that are read alike, value by value."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

_FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, ValueError)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def arrow_column(column: pa.ChunkedArray) -> pl.Series | None:
    """One column; shape (n,). None if its type cannot be read, whatever its values."""
    try:
        _series(column.slice(0, 0))
    except _FAULTS:
        return None
    return _series(column)


def _series(column: pa.ChunkedArray) -> pl.Series:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if any(is_text(column.type) for is_text in _TEXTS):
        # Arrow does not look whether a text is one; bytes are read one value at a time.
        column = column.cast(pa.large_binary())
    return pl.Series(column)
