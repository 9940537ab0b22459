"""Where rows come from: tables in memory, files and databases, as batches of one kind.

A file is read in batches, so a table larger than memory can be counted. Cells of text files
(`understudy.engine.reading.delimited`) stay text until they are coded against the schema: what a
value means is public, never guessed from the rows. All other values keep a type only where it
changes nothing in how each one is read (`understudy.engine.reading.plain_types`).

Whatever goes wrong while reading is reported without the reader's own message, which may quote the
data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from understudy.engine.reading.databases.query import Query
from understudy.engine.reading.databases.query_rows import open_query
from understudy.engine.reading.frame_columns import (
    arrow_column,
    is_pandas,
    is_readable,
    is_spark,
    pandas_column,
)
from understudy.engine.reading.parquet import plain_columns
from understudy.engine.reading.table_paths import open_path
from understudy.engine.reading.table_rows import READ_FAULTS, Rows, names_of
from understudy.errors import DataError
from understudy.schema import Schema


def open_rows(data: object, schema: Schema | None = None) -> Rows:
    """Open a pandas, Polars or Arrow table, the path of a file, or a query of a database.

    Args:
        data: the table.
        schema: says how a text file is written (`Schema.file`); without effect for other tables.

    Raises:
        DataError: not a table, no such file, no header, or not readable.
    """
    if isinstance(data, str | Path):
        return open_path(Path(data), schema)
    if isinstance(data, Query):
        return open_query(data)
    if is_spark(data):  # it could be brought here as an Arrow table, over whatever network
        raise DataError(
            "Whole records are needed here, and those of a Spark data frame stay where they are; "
            "hand in a table that is read in this process, such as a path."
        )
    place = "The table"
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return _open_polars(data.lazy(), place)
    if is_pandas(data):
        return _open_pandas(data)
    if hasattr(data, "__arrow_c_stream__") and not isinstance(data, pl.Series):
        return _open_arrow(data, place)
    raise _not_a_table(data)


def _not_a_table(data: object) -> DataError:
    return DataError(
        f"The table must be a pandas, Polars or Arrow table or a path, not {type(data).__name__}."
    )


def _open_polars(lazy: pl.LazyFrame, place: str) -> Rows:
    """A Polars table. Structs are not read: Polars makes null of the numbers beside one."""
    names = names_of(lazy, place)
    types = lazy.collect_schema()
    unreadable = {name: str(types[name]) for name in names if types[name] == pl.Struct}
    kept = lazy.select(cs.by_name([name for name in names if name not in unreadable]))
    return Rows(plain_columns(kept), names, "polars", place, unreadable)


def _open_arrow(data: Any, place: str) -> Rows:
    try:
        table = pa.table(data)
    except (TypeError, *READ_FAULTS):  # an Arrow column, not a table
        raise _not_a_table(data) from None
    names = table.column_names
    if len(set(names)) != len(names):
        raise _two_of_one_name()
    columns, unreadable = {}, {}
    for name, values in zip(names, table.columns, strict=True):
        series = arrow_column(values)
        if series is None:
            unreadable[name] = str(values.type)
        else:
            columns[name] = series
    lazy = plain_columns(pl.DataFrame(columns).lazy())
    return Rows(lazy, tuple(names), "arrow", place, unreadable)


def _two_of_one_name() -> DataError:
    return DataError("The table has two columns of one name; rename one of them.")


def _open_pandas(frame: Any) -> Rows:
    """A pandas table, column by column."""
    if not hasattr(frame, "columns"):
        raise _not_a_table(frame)
    names = [str(name) for name in frame.columns]
    if len(set(names)) != len(names):
        raise _two_of_one_name()
    columns, unreadable = {}, {}
    for k, name in enumerate(names):
        series = frame.iloc[:, k]
        if is_readable(series.dtype):
            columns[name] = pandas_column(series)
        else:
            unreadable[name] = str(series.dtype)
    lazy = plain_columns(pl.DataFrame(columns).lazy())
    return Rows(lazy, tuple(names), "pandas", "The table", unreadable)
