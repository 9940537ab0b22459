"""Where rows come from: pandas, Polars, Arrow, CSV and Parquet, as batches of one kind.

A file is read in batches, so a table larger than memory can be counted. Cells of text files
(`understudy.engine.reading.delimited`) stay text until they are coded against the schema: what a
value means is public, never guessed from the rows. All other values keep a type only where it
changes nothing in how each one is read (`understudy.engine.reading.plain_types`).

Whatever goes wrong while reading is reported without the reader's own message, which may quote the
data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from understudy.engine.reading.delimited import Delimited, is_delimited
from understudy.engine.reading.frame_columns import (
    arrow_column,
    is_pandas,
    is_readable,
    is_spark,
    pandas_column,
)
from understudy.engine.reading.parquet import parquet_batches, plain_columns, scan_parquet
from understudy.engine.reading.statistical import Statistical
from understudy.errors import DataError
from understudy.schema import Schema
from understudy.schema.file_labels import is_statistical

FrameKind = Literal["pandas", "polars", "arrow"]
BATCH_ROWS = 250_000
_READ_FAULTS = (
    *(pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError, TypeError),
    *(NotImplementedError, OverflowError, pl.exceptions.PanicException),
)


@dataclass(frozen=True)
class Rows:
    """A readable table.

    Attributes:
        lazy: the table, not read yet.
        columns: column names, in the order of the input.
        kind: which kind of data frame came in (for paths: pandas).
        place: where the rows are, in words, for error messages.
        unreadable: columns whose type cannot be read, with the name of that type; they are among
            `columns` but not in `lazy`.
        parts: types of the columns that do not have one type in all files of a folder.
        files: Parquet files of one schema that hold the rows; none for rows from elsewhere.
    """

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    kind: FrameKind
    place: str
    unreadable: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, tuple[pl.DataType, ...]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    def types(self) -> dict[str, tuple[pl.DataType, ...]]:
        """The types that each readable column has; several if files of a folder differ.

        Raises:
            DataError: they cannot be told.
        """
        try:
            schema = self.lazy.collect_schema()
        except _READ_FAULTS:
            raise self._broken() from None
        return {name: self.parts.get(name, (dtype,)) for name, dtype in schema.items()}

    def require_readable(self, name: str) -> None:
        """Check that the type of a column can be read.

        Raises:
            DataError: names the column, its type and the remedy.
        """
        if name in self.unreadable:
            raise DataError(
                f"Column {name!r} has the type {self.unreadable[name]}, which cannot be read; "
                "convert it to numbers, text or dates."
            )

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Read some columns, in batches of at most about 250,000 rows, in any order of rows.

        The first batch is empty. Texts may be `Enum`, of other texts in each batch.

        Raises:
            DataError: a column's type cannot be read, or the input breaks off or is malformed.
        """
        for name in columns:
            self.require_readable(name)
        try:
            # By exact name: Polars takes "*" and "^…$" in a plain select for patterns.
            chosen = self.lazy.select(cs.by_name(list(columns)))
            # The types first, so that one that cannot be read is an error whatever the rows.
            yield pl.DataFrame(schema=chosen.collect_schema())
            if self.files:
                yield from parquet_batches(self.files, columns)
            else:
                yield from chosen.collect_batches(chunk_size=BATCH_ROWS)
        except _READ_FAULTS:
            raise self._broken() from None

    def count(self) -> int:
        """Number of rows. CONFIDENTIAL unless the schema declares it as public.

        Raises:
            DataError: the input breaks off or is malformed.
        """
        return int(self.ask(self.lazy.select(pl.len())).item())

    def ask(self, query: pl.LazyFrame) -> pl.DataFrame:
        """Answer a query over `lazy`, reading in batches. CONFIDENTIAL.

        Raises:
            DataError: the input breaks off or is malformed.
        """
        try:
            return query.collect(engine="streaming")
        except _READ_FAULTS:
            raise self._broken() from None

    def _broken(self) -> DataError:
        return DataError(
            f"{self.place} cannot be read to the end: it is truncated, damaged, or not what its "
            "name says; repair it (nothing was spent)."
        )


def open_rows(data: object, schema: Schema | None = None) -> Rows:
    """Open a pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).

    Args:
        data: the table.
        schema: says how a text file is written (`Schema.file`); without effect for other tables.

    Raises:
        DataError: not a table, no such file, no header, or not readable.
    """
    if isinstance(data, str | Path):
        return _open_path(Path(data), schema)
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


def _names(lazy: pl.LazyFrame, place: str) -> tuple[str, ...]:
    try:
        return tuple(lazy.collect_schema().names())
    except pl.exceptions.NoDataError:
        raise DataError(
            f"{place} is empty: it has no header line that names the columns."
        ) from None
    except _READ_FAULTS:
        raise _unknown(place) from None


def _unknown(place: str) -> DataError:
    return DataError(
        f"{place} cannot be read: it is truncated, damaged, or not what its name says."
    )


def is_parquet(path: str | Path) -> bool:
    """Whether a path is that of a Parquet file, or a folder of such files."""
    return Path(path).is_dir() or Path(path).name.lower().endswith((".parquet", ".pq"))


def _open_path(path: Path, schema: Schema | None) -> Rows:
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
    if is_delimited(path):
        file = Delimited.declared(path, schema)
        return Rows(file.lazy(), file.columns, "pandas", place)
    if is_statistical(path):
        encoding = schema.file.encoding if schema is not None and schema.file.told else ""
        statistical = Statistical.opened(path, encoding)
        return Rows(plain_columns(statistical.lazy()), tuple(statistical.types), "pandas", place)
    raise DataError(
        f"{place} has an ending that is not known; use .csv, .tsv, .txt (also .gz), "
        ".parquet, or a folder of Parquet files."
    )


def _open_polars(lazy: pl.LazyFrame, place: str) -> Rows:
    """A Polars table. Structs are not read: Polars makes null of the numbers beside one."""
    names = _names(lazy, place)
    types = lazy.collect_schema()
    unreadable = {name: str(types[name]) for name in names if types[name] == pl.Struct}
    kept = lazy.select(cs.by_name([name for name in names if name not in unreadable]))
    return Rows(plain_columns(kept), names, "polars", place, unreadable)


def _open_parquet(files: Sequence[Path], place: str) -> Rows:
    try:
        lazy, types, alike = scan_parquet(files)
    except _READ_FAULTS:
        raise _unknown(place) from None
    several = {name: dtypes for name, dtypes in types.items() if len(dtypes) > 1}
    return Rows(
        lazy, tuple(types), "pandas", place, parts=several, files=tuple(files) if alike else ()
    )


def _open_arrow(data: Any, place: str) -> Rows:
    try:
        table = pa.table(data)
    except (TypeError, *_READ_FAULTS):  # an Arrow column, not a table
        raise _not_a_table(data) from None
    names = table.column_names
    if len(set(names)) != len(names):
        raise _two_of_one_name()
    columns, unreadable = [], {}
    for name, values in zip(names, table.columns, strict=True):
        series = arrow_column(values)
        if series is None:
            unreadable[name] = str(values.type)
        else:
            columns.append(series.alias(name))
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
    columns, unreadable = [], {}
    for k, name in enumerate(names):
        series = frame.iloc[:, k]
        if is_readable(series.dtype):
            columns.append(pandas_column(series).alias(name))
        else:
            unreadable[name] = str(series.dtype)
    lazy = plain_columns(pl.DataFrame(columns).lazy())
    return Rows(lazy, tuple(names), "pandas", "The table", unreadable)
