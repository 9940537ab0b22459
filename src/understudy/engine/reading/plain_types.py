"""Column types that are read as they are, and how each other type is turned into one of them.

Truth values, numbers, texts, days and moments are read as they are. Times of day, durations and
bytes are text, and what can be no value of a column (a list) is a text that no level has.
Each value is turned by itself; no value stops the reading.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.engine.reading.python_objects import UNLIKE, texts
from understudy.schema.time_expressions import FIRST_DAY, LAST_DAY, PER_SECOND
from understudy.schema.time_texts import DAY_SECONDS

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
    known = dtype in (*_TEXT, pl.Boolean, pl.Date, pl.Null) or isinstance(dtype, pl.Datetime)
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
    if dtype == pl.Time:
        return column.dt.strftime("%H:%M:%S%.6f").str.strip_suffix(".000000")
    if isinstance(dtype, pl.Duration):
        return _span(column, dtype)
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
        return _or_unlike(column, _can_be_written(column), "%Y-%m-%d")
    if isinstance(dtype, pl.Datetime):
        return _moment_text(column, dtype)
    return column.cast(pl.String)


def spelled(values: pl.Series) -> pl.Series:
    """Bytes as text: at one go if all are UTF-8, else one by one, to the same end."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.PolarsError:
        return texts(values)


def _can_be_written(day: pl.Expr) -> pl.Expr:
    return day.to_physical().is_between(FIRST_DAY, LAST_DAY)


def _or_unlike(column: pl.Expr, written: pl.Expr, form: str) -> pl.Expr:
    """Text of what can be written with four digits for its year."""
    text = pl.when(written).then(column).dt.strftime(form)
    return pl.coalesce(text, pl.when(column.is_not_null()).then(pl.lit(UNLIKE)))


def _moment_text(column: pl.Expr, dtype: pl.Datetime) -> pl.Expr:
    per_day = PER_SECOND[dtype.time_unit] * DAY_SECONDS
    low, high = (FIRST_DAY + 1) * per_day, LAST_DAY * per_day
    near = column.is_not_null()
    if low >= -(2**63):
        near = column.to_physical().is_between(low, high)
    zone = "%:z" if dtype.time_zone else ""
    return _or_unlike(column, near, f"%Y-%m-%dT%H:%M:%S{zone}")


def _span(column: pl.Expr, dtype: pl.Duration) -> pl.Expr:
    """A duration as its seconds, to the microsecond, as `python_objects` writes one."""
    per_second = PER_SECOND[dtype.time_unit]
    micros = column.to_physical()
    if per_second > 10**6:
        micros = micros.floordiv(per_second // 10**6)
    unit = min(per_second, 10**6)
    size, sign = micros.abs(), pl.when(micros < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    digits = (size % unit * (10**6 // unit)).cast(pl.String).str.zfill(6)
    part = pl.when(size % unit == 0).then(pl.lit("")).otherwise(pl.concat_str(pl.lit("."), digits))
    return pl.concat_str(sign, pl.lit("PT"), (size // unit).cast(pl.String), part, pl.lit("S"))
