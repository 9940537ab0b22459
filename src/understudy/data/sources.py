"""Where rows come from: tables in memory, files and databases, as batches of one kind.

A file is read in batches, so a table larger than memory can be counted. Cells of text files
(`understudy.data.csv`) stay text until they are coded against the schema: what a
value means is public, never guessed from the rows. All other values keep a type only where it
changes nothing in how each one is read (`understudy.data.frames`).

Whatever goes wrong while reading is reported without the reader's own message, which may quote the
data.

**Files of rows, each by the ending of its name.**
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from understudy.data import excel, parquet
from understudy.data.csv import Delimited, is_delimited
from understudy.data.excel import premises_of_sheet, read_sheet
from understudy.data.frames import (
    arrow_column,
    is_pandas,
    is_readable,
    is_spark,
    pandas_column,
    plain_columns,
)
from understudy.data.households import Links, join_rows, require_tables, schema_of_table, widen_rows
from understudy.data.jsonl import JsonLines, is_json_lines
from understudy.data.parquet import ArrowFile, scan_parquet
from understudy.data.rows import READ_FAULTS, Rows, names_of, unknown
from understudy.data.sql import Query, open_query
from understudy.data.statistical import Statistical
from understudy.errors import DataError
from understudy.schema import Schema, Unit
from understudy.schema.file_format import FileFormat
from understudy.schema.file_labels import is_statistical

ENDINGS: Final = (
    ".csv, .tsv, .txt, .jsonl or .ndjson (also .gz, .bz2, .xz, .zst, .lz4, .zip), .parquet, "
    ".feather or .arrow, .xlsx, .xls or .ods, .sav, .zsav, .por, .dta, .sas7bdat or .xpt"
)


def text_file(data: object, schema: Schema | None) -> Delimited | JsonLines | None:
    """A file of one record a line; None if data are none.

    Raises:
        DataError: it cannot be opened, or its header cannot be read.
    """
    if is_delimited(data):
        return Delimited.of_schema(Path(str(data)), schema)
    if is_json_lines(data):
        path = Path(str(data))
        if schema is None:
            return JsonLines.with_all_keys(path)
        return JsonLines(path, (*schema.names, *schema.identifiers))  # such as a key of units
    return None


def is_parquet(path: str | Path) -> bool:
    """Return whether a path is that of a Parquet file, or a folder of such files."""
    return Path(path).is_dir() or Path(path).name.lower().endswith((".parquet", ".pq"))


def is_workbook(data: object) -> bool:
    """Return whether data are the path of a workbook."""
    return isinstance(data, str | Path) and Path(data).suffix.lower() in excel.ENDINGS


def open_path(path: Path, schema: Schema | None) -> Rows:
    """Open a file, or a folder of Parquet files.

    Raises:
        DataError: no such file, no header, an ending that is not known, or not readable.
        MethodError: the library for it is not installed.
    """
    place = f"The file {str(path)!r}"
    try:
        exists = path.exists()
    except (OSError, ValueError):  # a name too long, or one that cannot be a name
        exists = False
    if not exists:
        raise DataError(f"{place} does not exist; check the path.")
    if path.is_dir():
        parts = sorted(path.glob("**/*.parquet"))
        if not parts:
            raise DataError(f"The folder {str(path)!r} holds no Parquet file (*.parquet).")
        return _open_parquet(parts, f"The folder {str(path)!r}")
    if is_parquet(path):
        return _open_parquet([path], place)
    file = text_file(path, schema)
    if file is not None:
        return Rows(file.lazy(), file.columns, "pandas", place)
    form = FileFormat() if schema is None else schema.file
    if is_statistical(path):
        stated = form.encoding if form.encoding != FileFormat().encoding else ""
        statistical = Statistical.open_file(path, stated)
        return Rows(plain_columns(statistical.lazy()), tuple(statistical.types), "pandas", place)
    ending = path.suffix.lower()
    if ending in parquet.ENDINGS:
        return _open_arrow_file(ArrowFile(path), place)
    if ending in excel.ENDINGS:
        frame = read_sheet(path, form.sheet)
        premises = premises_of_sheet(path)
        names = tuple(frame.columns)
        return Rows(frame.lazy(), names, "pandas", place, premises=premises, in_memory=True)
    raise DataError(
        f"{place} has an ending that is not known; use {ENDINGS}, or a folder of Parquet files."
    )


def _open_parquet(files: Sequence[Path], place: str) -> Rows:
    try:
        lazy, types, alike = scan_parquet(files)
    except READ_FAULTS:
        raise unknown(place) from None
    several = {name: dtypes for name, dtypes in types.items() if len(dtypes) > 1}
    return Rows(
        lazy, tuple(types), "pandas", place, parts=several, files=tuple(files) if alike else ()
    )


def _open_arrow_file(file: ArrowFile, place: str) -> Rows:
    try:
        names, types = file.schema.names, file.types
    except READ_FAULTS:
        raise unknown(place) from None
    if len(set(names)) != len(names):
        raise DataError(f"{place} has two columns of one name; rename one of them.")
    unreadable = {one.name: str(one.type) for one in file.schema if one.name not in types}
    return Rows(plain_columns(file.lazy()), tuple(names), "arrow", place, unreadable)


def open_rows(
    data: object, schema: Schema | None = None, rng: np.random.Generator | None = None
) -> Rows:
    """Open a pandas, Polars or Arrow table, the path of a file, or a query of a database.

    Args:
        data: the table; two of them by name, or one of members with the columns of their units,
            where the schema declares units with members (`understudy.data.households`).
        schema: says how a text file is written (`Schema.file`), and which tables there are.
        rng: for evaluations alone, which are never released: what `widen_rows` leaves to chance.

    Raises:
        DataError: not a table, no such file, no header, or not readable.
    """
    tables = [] if schema is None else linked_tables(data, schema)
    if schema is None or not tables:
        return _open_table(data, schema)
    members, units = _open_linked(tables)
    if schema.members is None and units is not None:
        return join_rows(schema, members, units)
    return widen_rows(schema, members, units, rng)


def linked_tables(data: object, schema: Schema) -> list[tuple[str, object, Schema]]:
    """The tables that units with their members come in: name, what it is, and its own schema.

    Args:
        data: as for `open_rows`.
        schema: of the wide table, or a flat one.

    Returns:
        The members, and the units where they are a table of their own. None where data are one
        flat table, or are laid out as one already.

    Raises:
        DataError: a table that nobody declared, or none of members.
    """
    members = schema.linked
    if members is None:
        return []
    if isinstance(members, Unit):
        if not isinstance(data, Mapping):
            return []
        if members.of not in data:
            raise DataError(f"The table {members.of!r} is absent; give it too.")
    elif not isinstance(data, Mapping):
        # No line of JSON lines says which columns there are: these are of members.
        if not is_json_lines(data) and members.size in _open_table(data, schema).columns:
            return []
        return [(members.table, data, schema_of_table(schema, of_units=True, of_members=True))]
    require_tables(data, members)
    several = members.of in data
    own = schema_of_table(schema, of_units=not several, of_members=True)
    tables = [(members.table, data[members.table], own)]
    if several:
        form = schema_of_table(schema, of_units=True, of_members=False)
        tables.append((members.of, data[members.of], form))
    return tables


def count_links(data: object, schema: Schema) -> Links:
    """Count what does not fit together in the keys of units and members. CONFIDENTIAL.

    Args:
        data: of several tables, or one of members; as for `open_rows`.
        schema: of the wide table.
    """
    return Links.of(schema, *_open_linked(linked_tables(data, schema)))


def _open_linked(tables: Sequence[tuple[str, object, Schema]]) -> tuple[Rows, Rows | None]:
    """Rows of the members, and of the units if these are a table of their own."""
    members, *units = (_open_table(own, form) for _, own, form in tables)
    return members, (units[0] if units else None)


def _open_table(data: object, schema: Schema | None = None) -> Rows:
    """Open one table as it is; see `open_rows`."""
    if isinstance(data, str | Path):
        return open_path(Path(data), schema)
    if isinstance(data, Query):
        return open_query(data)
    if is_spark(data):  # it could be brought here as an Arrow table, over whatever network
        raise DataError(
            "Whole records are needed here, and those of a Spark data frame stay where they are; "
            "give a table that is read in this process, such as a path."
        )
    place = "The table"
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return _open_polars(data, place)
    if is_pandas(data):
        return _open_pandas(data)
    if hasattr(data, "__arrow_c_stream__") and not isinstance(data, pl.Series):
        return _open_arrow(data, place)
    raise _not_a_table(data)


def _not_a_table(data: object) -> DataError:
    return DataError(
        "The table must be a path, or a pandas, Polars or Arrow table (or an object that gives an "
        f"Arrow stream, such as a relation of DuckDB), not {type(data).__name__}."
    )


def _open_polars(table: pl.LazyFrame | pl.DataFrame, place: str) -> Rows:
    """A Polars table. Structs are not read: Polars makes null of the numbers beside one."""
    lazy, in_memory = table.lazy(), isinstance(table, pl.DataFrame)
    names = names_of(lazy, place)
    types = lazy.collect_schema()
    unreadable = {name: str(types[name]) for name in names if types[name] == pl.Struct}
    kept = lazy.select(cs.by_name([name for name in names if name not in unreadable]))
    return Rows(plain_columns(kept), names, "polars", place, unreadable, in_memory=in_memory)


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
    return Rows(lazy, tuple(names), "arrow", place, unreadable, in_memory=True)


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
    return Rows(lazy, tuple(names), "pandas", "The table", unreadable, in_memory=True)
