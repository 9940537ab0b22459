"""Where rows come from: pandas, Polars, Arrow, CSV and Parquet, as batches of one kind.

A file is read in batches, so a table larger than memory can be counted. Cells of text files
(`understudy.engine.delimited`) stay text until they are coded against the schema: what a value
means is public, never guessed from the rows.

Whatever goes wrong while reading is reported without the reader's own message, which may quote the
data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from understudy.engine.delimited import Delimited, is_delimited
from understudy.errors import DataError
from understudy.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

FrameKind = Literal["pandas", "polars", "arrow"]
BATCH_ROWS = 250_000
_READ_FAULTS = (
    *(pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError, TypeError),
    *(NotImplementedError, OverflowError),
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
    """

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    kind: FrameKind
    place: str
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Read some columns, in batches of at most about 250,000 rows, in any order of rows.

        The first batch is empty.

        Raises:
            DataError: a column's type cannot be read, or the input breaks off or is malformed.
        """
        for name in columns:
            if name in self.unreadable:
                raise DataError(
                    f"Column {name!r} has the type {self.unreadable[name]}, which cannot be read; "
                    "convert it to numbers, text or dates."
                )
        try:
            # By exact name: Polars takes "*" and "^…$" in a plain select for patterns.
            chosen = self.lazy.select(cs.by_name(list(columns)))
            # The types first, so that one that cannot be read is an error whatever the rows.
            yield pl.DataFrame(schema=chosen.collect_schema())
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
        schema: says how a text file is written (`Schema.file`); of no account for other tables.

    Raises:
        DataError: not a table, no such file, no header, or not readable.
    """
    if isinstance(data, str | Path):
        return _open_path(Path(data), schema)
    place = "The table"
    if isinstance(data, pl.LazyFrame):
        return Rows(data, _names(data, place), "polars", place)
    if isinstance(data, pl.DataFrame):
        return Rows(data.lazy(), tuple(data.columns), "polars", place)
    if type(data).__module__.partition(".")[0] == "pandas":
        return _open_pandas(data)
    if hasattr(data, "__arrow_c_stream__") and not isinstance(data, pl.Series):
        frame = _from_arrow(data)
        return Rows(frame.lazy(), tuple(frame.columns), "arrow", place)
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
        raise DataError(
            f"{place} cannot be read: it is truncated, damaged, or not what its name says."
        ) from None


def _open_path(path: Path, schema: Schema | None) -> Rows:
    place = f"The file {str(path)!r}"
    try:
        found = path.exists()
    except (OSError, ValueError):  # a name too long, or one that cannot be a name
        found = False
    if not found:
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
    elif is_delimited(path):
        file = Delimited.declared(path, schema)
        return Rows(file.lazy(), file.columns, "pandas", place)
    else:
        raise DataError(
            f"{place} has an ending that is not known; use .csv, .tsv, .txt (also .gz), "
            ".parquet, or a folder of Parquet files."
        )
    return Rows(lazy, _names(lazy, place), "pandas", place)


def _from_arrow(data: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(data)
    except pl.exceptions.DuplicateError:
        raise _two_of_one_name() from None
    except pl.exceptions.SchemaError:  # an Arrow column, not a table
        raise _not_a_table(data) from None
    except _READ_FAULTS:
        raise DataError(
            "The Arrow table has a type that cannot be read; convert its columns to numbers, text "
            "or dates."
        ) from None


def _two_of_one_name() -> DataError:
    return DataError("The table has two columns of one name; rename one of them.")


def _open_pandas(frame: Any) -> Rows:
    """A pandas table column by column; columns of mixed Python objects become text."""
    if not hasattr(frame, "columns"):
        raise _not_a_table(frame)
    names = [str(name) for name in frame.columns]
    if len(set(names)) != len(names):
        raise _two_of_one_name()
    columns, unreadable = [], {}
    for k, name in enumerate(names):
        try:
            columns.append(_pandas_column(frame.iloc[:, k]).alias(name))
        except (*_READ_FAULTS, ImportError):
            unreadable[name] = str(frame.dtypes.iloc[k])
    return Rows(pl.DataFrame(columns).lazy(), tuple(names), "pandas", "The table", unreadable)


def _pandas_column(series: pd.Series) -> pl.Series:
    if str(series.dtype) == "category":
        return _pandas_category(series)
    if str(series.dtype) != "object":
        try:
            return pl.Series(pl.from_pandas(series))
        except UnicodeError:  # half a character in a text column: read it the slow way
            pass
    texts = [None if gone else _text(v) for v, gone in zip(series, _absent(series), strict=True)]
    return pl.Series(texts, dtype=pl.String)


def _absent(series: pd.Series) -> pd.Series:
    """Which values pandas takes for absent; no value may stop the reading."""
    try:
        return series.isna()
    except ArithmeticError:  # a signalling NaN refuses to be asked whether it is a number
        quiet = [None if isinstance(v, Decimal) and v.is_nan() else v for v in series]
        return type(series)(quiet, dtype=object).isna()


def _pandas_category(series: pd.Series) -> pl.Series:
    """The text of each category, written once per category and not once per row."""
    texts = pl.Series([_text(value) for value in series.cat.categories], dtype=pl.String)
    codes = series.cat.codes.to_numpy().astype(np.int64)
    places = pl.Series(codes).set(pl.Series(codes < 0), None)
    return texts.gather(places).cast(pl.Categorical)


def _text(value: object) -> str:
    """Text of a Python object, whatever it is: no value may stop the reading."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    try:
        return str(value).encode("utf-8", "replace").decode("utf-8")
    except Exception:  # an object may refuse to be written (an endless integer)
        return "\ufffd"
