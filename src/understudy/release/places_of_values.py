"""Places on the number line of released values, and released values of places.

Numbers are their own place; days, moments, times of day and durations count units of the column's
line. A column with codes in words holds text.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.schema import Calendar, Column, Date, Datetime, Duration, Time
from understudy.schema.time_expressions import (
    seconds_of_days,
    seconds_of_moments,
    seconds_of_spans,
    seconds_of_times,
)

_FORMS = {Datetime: "%Y-%m-%dT%H:%M:%S", Time: "%H:%M:%S"}


def dtype_of_times(column: Calendar) -> pl.DataType:
    """Type of a released column of times without codes."""
    if isinstance(column, Date):
        return pl.Date()
    if isinstance(column, Time):
        return pl.Time()
    return pl.Duration("us") if isinstance(column, Duration) else pl.Datetime("us")


def place_of(values: pl.Expr, dtype: pl.DataType, column: Column) -> pl.Expr:
    """Place of each value; null for what has none, such as a code in words.

    Args:
        values: of a release.
        dtype: their type.
        column: numeric.
    """
    if not isinstance(column, Calendar):
        return values.cast(pl.Float64, strict=dtype != pl.String)
    if dtype == pl.String:
        number, per_unit = _seconds(values, column), column.unit_seconds
    else:
        number, per_unit = values.to_physical().cast(pl.Int64), _per_unit(column)
    return pl.when(number % per_unit == 0).then(number.floordiv(per_unit)).cast(pl.Float64)


def places_of(values: pl.Series, column: Column) -> NDArray[np.float64]:
    """Place of each released value, NaN for what has none; shape (n,), an array of its own."""
    if not isinstance(column, Calendar):  # as `place_of` has it
        numbers = values.cast(pl.Float64, strict=values.dtype != pl.String)
        return np.array(numbers.to_numpy())
    place = place_of(pl.col("value"), values.dtype, column)
    found = values.to_frame("value").select(place.alias("place")).to_series()
    return found.fill_null(np.nan).to_numpy().copy()


def values_of(places: NDArray[np.float64], column: Calendar, dtype: pl.DataType) -> pl.Series:
    """Released values of places, of the type that the column has, shape (n,)."""
    whole = np.rint(places).astype(np.int64) * _per_unit(column)
    days = isinstance(column, Date)
    typed = pl.Series(whole, dtype=pl.Int32 if days else pl.Int64).cast(dtype_of_times(column))
    return typed if dtype != pl.String else as_text(typed)


def as_text(values: pl.Series) -> pl.Series:
    """Days, moments, times of day and durations as ISO 8601."""
    if values.dtype == pl.Date:
        return values.cast(pl.String)
    if isinstance(values.dtype, pl.Duration):
        return values.dt.to_string("iso")
    return values.dt.to_string(_FORMS[Time if values.dtype == pl.Time else Datetime])


def with_iso_times(table: pl.DataFrame) -> pl.DataFrame:
    """The table as CSV has it: moments, times of day and durations as ISO 8601."""
    timed = [one for one in table if one.dtype.is_temporal() and one.dtype != pl.Date]
    return table.with_columns(as_text(one.alias("")).alias(one.name) for one in timed)


def _seconds(text: pl.Expr, column: Calendar) -> pl.Expr:
    if isinstance(column, Time):
        return seconds_of_times(text)
    if isinstance(column, Duration):
        return seconds_of_spans(text)
    return seconds_of_moments(text, "") if isinstance(column, Datetime) else seconds_of_days(text)


def _per_unit(column: Calendar) -> int:
    """Units of the type in a unit of the line."""
    if isinstance(column, Date):
        return 1
    return column.unit_seconds * (10**9 if isinstance(column, Time) else 10**6)
