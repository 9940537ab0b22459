"""Column types that are read as they are, and how each other type is turned into one of them.

Truth values, numbers, texts and days are read as they are. A moment is its local day, a time of day
and bytes are text, and what can be no value of a column (a duration, a list) is a text that no
level has. Each value is turned by itself; no value stops the reading.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.engine.reading.python_objects import UNLIKE, texts

FIRST_DAY: Final = -719_528
"""The first of January of the year 0, in days since 1970-01-01."""

LAST_DAY: Final = 2_932_896
"""The last of December of the year 9999."""

_NO_DAY: Final = LAST_DAY + 1  # stands for all days that cannot be written with four digits
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def is_text(dtype: pl.DataType) -> bool:
    """Whether values of a plain type are texts."""
    return dtype in _TEXT


def different_texts(values: pl.Series) -> tuple[pl.Series, NDArray[np.integer]]:
    """The texts of a column, each once, null first; and the place of each value among them.

    Args:
        values: text, shape (n,).
    """
    nothing = pl.Series([None], dtype=pl.String)
    if isinstance(values.dtype, pl.Enum):
        texts, places = values.dtype.categories, values.to_physical().cast(pl.Int32)
    else:
        encoded = values.cast(pl.String).to_arrow().dictionary_encode()
        texts, places = pl.Series(encoded.dictionary), pl.Series(encoded.indices)
    return nothing.append(texts.cast(pl.String)), places.fill_null(-1).to_numpy() + 1


def is_plain(dtype: pl.DataType) -> bool:
    """Whether values of a type are read as they are."""
    known = dtype in (*_TEXT, pl.Boolean, pl.Date, pl.Null)
    return known or dtype.is_numeric()


def plain(values: pl.Series) -> pl.Series:
    """A column of any type as one of a plain type; shape (n,)."""
    if is_plain(values.dtype):
        return values
    frame = pl.DataFrame([values.alias("values")])
    return frame.select(as_plain(pl.col("values"), values.dtype)).to_series()


def as_plain(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The expression that turns a column of a type into one of a plain type."""
    if is_plain(dtype):
        return column
    if isinstance(dtype, pl.Datetime):
        return _day(column, dtype)
    if dtype == pl.Time:
        return column.dt.strftime("%H:%M:%S%.6f").str.strip_suffix(".000000")
    if dtype == pl.Object:
        return column.map_batches(texts, return_dtype=pl.String)
    if dtype == pl.Binary:
        return column.map_batches(spelled, return_dtype=pl.String)
    return pl.when(column.is_not_null()).then(pl.lit(UNLIKE, dtype=pl.String))


def as_text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The expression that turns a column of a plain type into text that is read alike."""
    if dtype.is_float():
        return column.cast(pl.Float64).fill_nan(None).cast(pl.String)
    if dtype == pl.Date:
        written = pl.when(_can_be_written(column)).then(column).dt.strftime("%Y-%m-%d")
        return pl.coalesce(written, pl.when(column.is_not_null()).then(pl.lit(UNLIKE)))
    return column.cast(pl.String)


def spelled(values: pl.Series) -> pl.Series:
    """Bytes as text: at one go if all are UTF-8, else one by one, to the same end."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.PolarsError:
        return texts(values)


def _can_be_written(day: pl.Expr) -> pl.Expr:
    return day.to_physical().is_between(FIRST_DAY, LAST_DAY)


def has_time(column: pl.Expr, dtype: pl.Datetime) -> pl.Expr:
    """Whether a moment is not at its local midnight; null far away, and where there is none."""
    return _local(column, dtype).mod(_PER_DAY[dtype.time_unit]) != 0


def _local(column: pl.Expr, dtype: pl.Datetime) -> pl.Expr:
    """The local moment as a number; null far away, where Polars itself breaks off."""
    per_day = _PER_DAY[dtype.time_unit]
    moment = column.to_physical()
    low, high = (FIRST_DAY - 2) * per_day, (LAST_DAY + 2) * per_day
    near = moment.is_not_null() if low < -(2**63) else moment.is_between(low, high)
    return pl.when(near).then(column).dt.replace_time_zone(None).to_physical()


def _day(column: pl.Expr, dtype: pl.Datetime) -> pl.Expr:
    """The local day of a moment."""
    day = _local(column, dtype).floordiv(_PER_DAY[dtype.time_unit])
    written = pl.when(day.is_between(FIRST_DAY, LAST_DAY)).then(day)
    beyond = pl.when(column.is_not_null()).then(pl.lit(_NO_DAY, dtype=pl.Int64))
    return pl.coalesce(written, beyond).cast(pl.Int32).cast(pl.Date)
