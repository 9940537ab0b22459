"""Times in texts as expressions that Polars runs over whole columns at once.

Each says what the function of the same kind in `understudy.schema.temporal` says of one text.
"""

from __future__ import annotations

import re

import polars as pl

from understudy.schema.temporal import (
    CLOCK_SPAN,
    DAY_SECONDS,
    EMPTY_SPAN,
    ISO_SPAN,
    MOMENT,
    TIME,
    pattern_of,
)

FIRST_DAY, LAST_DAY = -719_528, 2_932_896
"""The first of January of the year 0 and the last of December of 9999, since 1970-01-01."""

PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Units of types."""

_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTHS = {form: f"{k:02}" for k, name in enumerate(_NAMES, 1) for form in (name, name[:3])}
"""English names of months, whole or in three letters → their numbers."""

_DAY = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ].*)?$"


def seconds_of_days(text: pl.Expr) -> pl.Expr:
    """Seconds since 1970-01-01 of days; a time of day is cut off."""
    return _day(text.str.strip_chars().str.extract(_DAY, 1))


def seconds_of_times(text: pl.Expr) -> pl.Expr:
    """Seconds since midnight."""
    return _time(text.str.strip_chars().str.extract_groups(TIME), 1)


def seconds_of_moments(text: pl.Expr, timezone: str) -> pl.Expr:
    """Local seconds since 1970-01-01T00:00.

    Args:
        text: moments.
        timezone: to which those that name a zone are brought; without it, each stays as written.
    """
    parts = text.str.strip_chars().str.extract_groups(MOMENT)
    day, zone = _day(parts.struct.field("1")), parts.struct.field("5")
    local = day + _time(parts, 2).fill_null(0)
    if not timezone:
        return local
    digits = pl.when(zone == "Z").then(pl.lit("+00")).otherwise(zone).str.replace_all(":", "")
    pieces = (digits.str.slice(k, 2).replace("", "0") for k in (1, 3, 5))
    hours, minutes, seconds = (piece.cast(pl.Int64, strict=False) for piece in pieces)
    away = 3600 * hours + 60 * minutes + seconds
    east = pl.when(digits.str.starts_with("-")).then(-away).otherwise(away)
    moved = clock(1_000 * (local - east), "ms", timezone).floordiv(1_000)
    return pl.when(zone.is_null()).then(local).otherwise(moved)


def seconds_in_format(text: pl.Expr, format: str) -> pl.Expr:
    """Seconds since 1970-01-01T00:00 of days or moments in a declared format."""
    parts = text.str.strip_chars().str.extract_groups(pattern_of(format))
    given = set(re.findall("%(.)", format))
    if "b" in given:
        name = parts.struct.field("b").str.to_lowercase()
        month = name.replace_strict(_MONTHS, default=None, return_dtype=pl.String)
    else:
        month = parts.struct.field("m").str.zfill(2)
    day = parts.struct.field("d").str.zfill(2)
    seconds = _day(pl.concat_str([parts.struct.field("Y"), month, day], separator="-"))
    lengths = {"H": 3600, "I": 3600, "M": 60, "S": 1}
    for letter in given & lengths.keys():
        number = parts.struct.field(letter).cast(pl.Int64)
        seconds += lengths[letter] * (number % 12 if letter == "I" else number)
    if "p" in given:
        after_noon = parts.struct.field("p").str.to_lowercase() == "p"
        seconds += 43_200 * after_noon.cast(pl.Int64)
    return seconds


def seconds_of_spans(text: pl.Expr) -> pl.Expr:
    """Whole seconds of durations, rounded down."""
    word = text.str.strip_chars()
    return pl.coalesce(_iso_span(word), _clock_span(word))


def local_seconds(column: pl.Expr, dtype: pl.DataType, timezone: str = "") -> pl.Expr:
    """Local seconds since 1970-01-01T00:00, of the years 0 to 9999; null for others.

    Args:
        column: days or moments.
        dtype: their type.
        timezone: to which moments of a zone are brought; by default, each stays in its own.
    """
    moment = column.to_physical().cast(pl.Int64)
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone:
            moment = clock(moment, dtype.time_unit, timezone or dtype.time_zone)
        seconds = moment.floordiv(PER_SECOND[dtype.time_unit])
    else:
        seconds = pl.when(moment.is_between(FIRST_DAY, LAST_DAY)).then(moment) * DAY_SECONDS
    inside = seconds.is_between(FIRST_DAY * DAY_SECONDS, (LAST_DAY + 1) * DAY_SECONDS - 1)
    return pl.when(inside).then(seconds)


def clock(moment: pl.Expr, unit: str, zone: str) -> pl.Expr:
    """Compute what clocks of a zone show at a moment (units since 1970 in UTC); null far away."""
    per_day = PER_SECOND[unit] * DAY_SECONDS
    low, high = (FIRST_DAY - 2) * per_day, (LAST_DAY + 2) * per_day
    # Polars breaks off at moments far away.
    near = moment.is_not_null() if low < -(2**63) else moment.is_between(low, high)
    utc = pl.when(near).then(moment).cast(pl.Datetime(unit)).dt.replace_time_zone("UTC")  # type: ignore[arg-type]
    return utc.dt.convert_time_zone(zone).dt.replace_time_zone(None).to_physical()


def _iso_span(word: pl.Expr) -> pl.Expr:
    parts = word.str.extract_groups(ISO_SPAN)
    whole = 7 * DAY_SECONDS * _number(parts, 2) + DAY_SECONDS * _number(parts, 3)
    whole += 3600 * _number(parts, 4) + 60 * _number(parts, 5) + _number(parts, 6)
    signed = pl.when(parts.struct.field("1") == "-").then(-whole - _has_part(parts, 7))
    told = parts.struct.field("1").is_not_null() & ~word.str.contains(EMPTY_SPAN)
    return pl.when(told).then(signed.otherwise(whole))


def _clock_span(word: pl.Expr) -> pl.Expr:
    parts = word.str.extract_groups(CLOCK_SPAN)
    days = DAY_SECONDS * _number(parts, 2)
    rest = 3600 * _number(parts, 3) + 60 * _number(parts, 4) + _number(parts, 5)
    minus, has_days = parts.struct.field("1") == "-", parts.struct.field("2").is_not_null()
    negative = pl.when(has_days).then(rest - days).otherwise(-rest - _has_part(parts, 6))
    signed = pl.when(minus).then(negative).otherwise(days + rest)
    return pl.when(parts.struct.field("3").is_not_null()).then(signed)


def _has_part(parts: pl.Expr, k: int) -> pl.Expr:
    """1 where digits behind the point are not all zeros."""
    return parts.struct.field(str(k)).str.contains("[1-9]").fill_null(value=False).cast(pl.Int64)


def _day(text: pl.Expr) -> pl.Expr:
    """Seconds since 1970-01-01 of a day."""
    return text.str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Int64) * DAY_SECONDS


def _number(parts: pl.Expr, k: int) -> pl.Expr:
    """One part of a text; 0 where it is left out."""
    part = parts.struct.field(str(k))
    return pl.when(part.is_null() | (part == "")).then(pl.lit("0")).otherwise(part).cast(pl.Int64)


def _time(parts: pl.Expr, first: int) -> pl.Expr:
    """Seconds since midnight; null where there are no hours."""
    hours, minutes, seconds = (_number(parts, first + k) for k in range(3))
    time = 3600 * hours + 60 * minutes + seconds
    return pl.when(parts.struct.field(str(first)).is_not_null()).then(time)
