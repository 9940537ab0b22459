"""Where rows come from: pandas, Polars, Arrow, CSV and Parquet, as batches of one kind.

A file is read in batches, so a table larger than memory can be counted. CSV cells stay text until
they are coded against the schema: what a value means is public, never guessed from the rows.

Whatever goes wrong while reading is reported without the reader's own message, which may quote the
data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from understudy.errors import DataError

FrameKind = Literal["pandas", "polars", "arrow"]
BATCH_ROWS = 250_000
_READ_FAULTS = (pl.exceptions.PolarsError, OSError, UnicodeError, ValueError, TypeError)


@dataclass(frozen=True)
class Rows:
    """A readable table.

    Attributes:
        lazy: the table, not read yet.
        columns: column names, in the order of the input.
        kind: which kind of data frame came in (for paths: pandas).
        place: where the rows are, in words, for error messages.
    """

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    kind: FrameKind
    place: str

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Read some columns, in batches of at most about 250,000 rows, in any order of rows.

        Raises:
            DataError: the input breaks off or is malformed.
        """
        try:
            yield from self.lazy.select(columns).collect_batches(chunk_size=BATCH_ROWS)
        except _READ_FAULTS:
            raise DataError(
                f"{self.place} cannot be read to the end: it is truncated, damaged or has rows of "
                "unequal length. Repair it; nothing was spent."
            ) from None


def open_rows(data: object) -> Rows:
    """Open a pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).

    Raises:
        DataError: not a table, no such file, no header, or not readable.
    """
    if isinstance(data, str | Path):
        return _open_path(Path(data))
    kind, frame = _as_polars(data)
    lazy = frame.lazy()
    return Rows(lazy, _names(lazy, "The table"), kind, "The table")


def _names(lazy: pl.LazyFrame, place: str) -> tuple[str, ...]:
    try:
        return tuple(lazy.collect_schema().names())
    except pl.exceptions.NoDataError:
        raise DataError(
            f"{place} is empty: it has no header line that names the columns."
        ) from None
    except _READ_FAULTS:
        raise DataError(
            f"{place} cannot be read: it is truncated, damaged, or not what its name says."
        ) from None


def _open_path(path: Path) -> Rows:
    place = f"The file {str(path)!r}"
    if not path.exists():
        raise DataError(f"{place} does not exist; check the path.")
    if path.is_dir():
        parts = sorted(path.glob("**/*.parquet"))
        if not parts:
            raise DataError(f"The folder {str(path)!r} holds no Parquet file (*.parquet).")
        lazy = pl.scan_parquet(parts)
        return Rows(lazy, _names(lazy, place), "pandas", f"The folder {str(path)!r}")
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".parquet", ".pq")):
        lazy = pl.scan_parquet(path, glob=False)
    elif name.endswith((".csv", ".tsv", ".txt")):
        separator = "\t" if name.endswith(".tsv") else ","
        lazy = _scan_csv(path, separator, place)
    else:
        raise DataError(
            f"{place} has an ending that is not known; use .csv, .tsv (also .gz), "
            ".parquet, or a folder of Parquet files."
        )
    return Rows(lazy, _names(lazy, place), "pandas", place)


def _scan_csv(path: Path, separator: str, place: str) -> pl.LazyFrame:
    """Every cell as text; an empty cell is null, and stays apart from nothing else."""
    try:
        return pl.scan_csv(path, infer_schema=False, separator=separator, glob=False)
    except pl.exceptions.NoDataError:
        raise DataError(
            f"{place} is empty: it has no header line that names the columns."
        ) from None
    except _READ_FAULTS:
        raise DataError(f"{place} cannot be read as text with a header line.") from None


def _as_polars(data: Any) -> tuple[FrameKind, pl.DataFrame]:
    if isinstance(data, pl.DataFrame):
        return "polars", data
    if isinstance(data, pl.LazyFrame):
        return "polars", data.collect()
    module = type(data).__module__.partition(".")[0]
    if module == "pandas" and hasattr(data, "columns"):
        return "pandas", _from_pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        return "arrow", pl.DataFrame(data)
    raise DataError(
        f"The table must be a pandas, Polars or Arrow table or a path, not {type(data).__name__}."
    )


def _from_pandas(frame: Any) -> pl.DataFrame:
    """A pandas table column by column; columns of mixed Python objects become text."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) != len(names):
        raise DataError("The table has two columns of one name; rename one of them.")
    return pl.DataFrame([_pandas_column(frame.iloc[:, k], name) for k, name in enumerate(names)])


def _pandas_column(series: Any, name: str) -> pl.Series:
    if str(series.dtype) == "object" or str(series.dtype) == "category":
        absent = series.isna()
        texts = [None if gone else _text(v) for v, gone in zip(series, absent, strict=True)]
        return pl.Series(name, texts, dtype=pl.String)
    try:
        return pl.from_pandas(series).alias(name)
    except (*_READ_FAULTS, ImportError):
        raise DataError(
            f"Column {name!r} has the type {series.dtype}, which cannot be read; "
            "convert it to numbers, text or dates."
        ) from None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
