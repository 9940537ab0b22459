"""Places on the line of days, moments, times of day and durations, as texts and types say them.

Each value is read by itself: NaN stands for what is no such thing, infinity for a moment or a day
that is there and has no place on the column's line. A day is its midnight in a column of moments; a
moment is its local day everywhere else. What names a zone is brought to the zone that the column
declares, and is taken by its own clock where none is declared. Units are cut downwards.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from understudy.arrays import Floats
from understudy.schema import Calendar, Column, Datetime, Duration, Time
from understudy.schema.time_expressions import (
    local_seconds,
    seconds_of_days,
    seconds_of_moments,
    seconds_of_spans,
    seconds_of_times,
)
from understudy.schema.time_texts import DAY_SECONDS


def places_of_texts(text: pl.Series, column: Column) -> Floats:
    """Place of each text on the column's line, NaN where it has none; shape (n,).

    Args:
        text: shape (n,).
        column: of which the days are asked for where it is no `Calendar`.
    """
    place = _seconds(column).floordiv(_unit(column)).cast(pl.Float64).fill_null(np.nan)
    return _own(text.to_frame("text").select(place.alias("place")).to_series())


def _seconds(column: Column) -> pl.Expr:
    text = pl.col("text")
    if isinstance(column, Time):
        return seconds_of_times(text)
    if isinstance(column, Duration):
        return seconds_of_spans(text)
    if isinstance(column, Datetime):
        return seconds_of_moments(text, column.timezone)
    return seconds_of_days(text)


def _unit(column: Column) -> int:
    return column.unit_seconds if isinstance(column, Calendar) else DAY_SECONDS


def places_of_moments(values: pl.Series, column: Column) -> Floats:
    """Place of each day or moment on the column's line; NaN for null; shape (n,).

    Args:
        values: of type `Date` or `Datetime`.
        column: of which the days are asked for where it is no `Calendar`.
    """
    if isinstance(column, Time | Duration):
        return np.where(values.is_null().to_numpy(), np.nan, np.inf)
    zone = column.timezone if isinstance(column, Datetime) else ""
    seconds = local_seconds(pl.col("moment"), values.dtype, zone)
    place = seconds.floordiv(_unit(column)).cast(pl.Float64)
    beyond = pl.when(pl.col("moment").is_not_null()).then(pl.lit(np.inf))
    found = pl.coalesce(place, beyond, pl.lit(np.nan))
    return _own(values.to_frame("moment").select(found.alias("place")).to_series())


def _own(numbers: pl.Series) -> Floats:
    """Numbers without a null, as an array that may be written to."""
    return numbers.to_numpy().astype(np.float64)
