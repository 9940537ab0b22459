"""Columns of days, moments, times of day and durations: whole units of time on a line.

A value is cut to a whole unit (its `resolution`), downwards; so are the bounds. Nothing finer is
measured or released.

**Moments, times of day and durations as text: what a text says, and how one is written.**

A moment is a day, or a day and a time of day, with or without a zone; a duration is written as in
ISO 8601 (without months and years, which have no fixed length) or as hours, minutes and seconds.
Parts of a second are cut off, downwards.

>>> seconds_of_time("10:30"), seconds_of_span("P1DT2H"), seconds_of_span("-1 day, 23:59:59.5")
(37800, 93600, -1)
>>> span_text(93600)
'P1DT2H'
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
)

from understudy.schema.base import Code
from understudy.schema.numeric import DEFAULT_BINS, Interval, Numeric, integer_intervals

DAY_SECONDS: Final = 86_400

_TIME = r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.,][0-9]+)?)?"

MOMENT: Final = (
    rf"^([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[T ]{_TIME} ?(Z|[+-][0-9]{{2}}"
    r"(?::?[0-9]{2}(?::?[0-9]{2})?)?)?)?$"
)
"""Day; hours, minutes, seconds; zone."""

TIME: Final = f"^{_TIME}$"
"""Hours, minutes, seconds."""

ISO_SPAN: Final = (
    r"^([+-]?)P(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?"
    r"(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,12})(?:[.,]([0-9]+))?S)?)?$"
)
"""Sign; weeks, days, hours, minutes, seconds; digits behind the point."""

CLOCK_SPAN: Final = (
    r"^([+-]?)(?:([0-9]{1,9}) days?,? )?\+?([0-9]{1,9}):([0-5][0-9])"
    r"(?::([0-5][0-9])(?:[.,]([0-9]+))?)?$"
)
"""Sign, of the days if there are any; days, hours, minutes, seconds; digits behind the point."""

_DIRECTIVES: Final = {
    "%Y": "(?P<Y>[0-9]{4})",
    "%m": "(?P<m>[0-9]{1,2})",
    "%b": "(?P<b>[A-Za-z]{3,9})",
    "%d": "(?P<d>[0-9]{1,2})",
    "%H": "(?P<H>[01]?[0-9]|2[0-3])",
    "%I": "(?P<I>0?[1-9]|1[0-2])",
    "%M": "(?P<M>[0-5][0-9])",
    "%S": "(?P<S>[0-5][0-9])",
    "%p": "(?P<p>[AaPp])[Mm]",
}
_CLOCKS: Final = "(%H%M(%S)?|%I%M(%S)?%p)?"


def pattern_of(format: str) -> str:
    """The pattern of texts in a declared format of days or moments.

    Args:
        format: as of `strptime`; a blank stands for any number of blanks.
    """
    pieces = re.split(r"(%.|\s+)", format)
    return f"^{''.join(map(_piece_pattern, pieces))}$"


def _piece_pattern(piece: str) -> str:
    return _DIRECTIVES.get(piece) or (r"\s*" if piece.isspace() else re.escape(piece))


def _check_format(format: str) -> str:
    """Let a format pass that names a day once, and perhaps a time of day behind it."""
    names = re.findall("%.?", format)
    day, time = names[:3], "".join(names[3:])
    whole = sorted(day) in (["%Y", "%d", "%m"], ["%Y", "%b", "%d"])
    if format and not (whole and re.fullmatch(_CLOCKS, time)):
        raise ValueError(
            'format must be written as "%d.%m.%Y", with %d, %Y, and %m or %b (an English name); '
            'behind them perhaps " %H:%M", " %H:%M:%S" or " %I:%M %p"; or convert the texts'
        )
    return format


EMPTY_SPAN: Final = r"[PT]$"
"""A text of `ISO_SPAN` that ends so lacks a number."""

_MOMENT, _TIME_OF_DAY = re.compile(MOMENT, re.ASCII), re.compile(TIME, re.ASCII)
_SPANS = re.compile(ISO_SPAN, re.ASCII), re.compile(CLOCK_SPAN, re.ASCII)
_PARTS = ((DAY_SECONDS, "D"), (3600, "H"), (60, "M"), (1, "S"))


def seconds_of_moment(text: str) -> int | None:
    """Seconds since 1970-01-01T00:00 of a text without a zone; None if it is no moment."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None or found[5]:
        return None
    try:
        day = datetime.date.fromisoformat(found[1])
    except ValueError:
        return None
    time = _seconds(found.groups()[1:4])
    return (day - datetime.date(1970, 1, 1)).days * DAY_SECONDS + time


def seconds_of_time(text: str) -> int | None:
    """Seconds since midnight; None if the text is no time of day."""
    found = _TIME_OF_DAY.fullmatch(text.strip())
    return None if found is None else _seconds(found.groups())


def _seconds(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in parts)
    return 3600 * hours + 60 * minutes + seconds


def seconds_of_span(text: str) -> int | None:
    """Whole seconds of a duration, rounded down; None if the text is none."""
    word = text.strip()
    if found := _SPANS[0].fullmatch(word):
        if re.search(EMPTY_SPAN, word):
            return None
        weeks, days, *clock = (int(part or 0) for part in found.groups()[1:6])
        days += 7 * weeks
    elif found := _SPANS[1].fullmatch(word):
        days, *clock = (int(part or 0) for part in found.groups()[1:5])
    else:
        return None
    rest = 3600 * clock[0] + 60 * clock[1] + clock[2]
    minus, parts = found[1] == "-", bool((found.groups()[-1] or "").strip("0"))
    if minus and "P" not in word and found[2] is not None:
        return rest - days * DAY_SECONDS
    whole = days * DAY_SECONDS + rest
    return -whole - parts if minus else whole


def span_text(seconds: int) -> str:
    """A duration as in ISO 8601."""
    rest, written = abs(seconds), {"D": "", "H": "", "M": "", "S": ""}
    for length, letter in _PARTS:
        if number := rest // length:
            written[letter] = f"{number}{letter}"
        rest %= length
    time = f"{written['H']}{written['M']}{written['S']}"
    if not seconds:
        return "PT0S"
    return f"{'-' if seconds < 0 else ''}P{written['D']}{'T' if time else ''}{time}"


EPOCH: Final = datetime.date(1970, 1, 1).toordinal()
UNIT_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": DAY_SECONDS}
"""Length of each resolution."""

_START = datetime.datetime(1970, 1, 1)


class Calendar(Numeric):
    """Bounds and bins in whole units of time; values are declared as such, never as numbers.

    Without `bins` there are 20 of equal width, or one for each unit if there are fewer units.
    """

    @property
    def unit_seconds(self) -> int:
        """Length of a unit of the line."""
        declared: Any = self
        return UNIT_SECONDS[declared.resolution]

    @property
    def line(self) -> tuple[object, ...]:
        """Line that two columns share if their places can be compared."""
        return type(self), self.unit_seconds, getattr(self, "timezone", "")

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound in units of the line."""
        ends: Any = self
        low, high = _places(self._seconds, self.unit_seconds, (ends.lower, ends.upper))
        return float(low), float(high)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Bins of whole units."""
        declared: Any = self
        bins = self._usual_bins if declared.bins is None else declared.bins
        edges = bins if isinstance(bins, int) else _places(self._seconds, self.unit_seconds, bins)
        low, high = (int(bound) for bound in self.bounds)
        return integer_intervals(low, high, edges, (), self._show)

    @property
    def _usual_bins(self) -> int:
        low, high = self.bounds
        return min(DEFAULT_BINS, int(high - low) + 1)

    _length_words: ClassVar[str] = 'length of whole units, such as "PT15M"'

    def _length(self, every: Code) -> float | None:
        seconds = seconds_of_span(every) if isinstance(every, str) else None
        whole = seconds is not None and seconds % self.unit_seconds == 0
        return seconds / self.unit_seconds if seconds is not None and whole else None

    def position(self, value: Code) -> float | None:
        """Place of a declared value, also of one written as text; else None."""
        seconds = self._seconds(value)
        return None if seconds is None else float(seconds // self.unit_seconds)

    def exact_position(self, text: str) -> float | None:
        """Place of a text, not cut to a whole unit, for comparisons; None if it is none."""
        seconds = self._seconds(text)
        return None if seconds is None else seconds / self.unit_seconds

    def text_at(self, place: int) -> str:
        """A place on the line as released text (ISO 8601)."""
        return self._show(place)

    def entry_at(self, place: int) -> Code:
        """A place as the schema declares it."""
        return self._show(place)

    @staticmethod
    def _seconds(value: Any) -> int | None:
        """Seconds on the line, if a value is of this kind."""
        raise NotImplementedError

    @property
    def _show(self) -> Callable[[int], str]:
        """Writes a place: one function for all columns alike, since bins are kept by it."""
        return _writer(self._write_seconds, self.unit_seconds)

    @staticmethod
    def _write_seconds(seconds: int) -> str:
        """Seconds on the line as text."""
        raise NotImplementedError


@lru_cache(maxsize=4096)  # asked for again whenever a column's bins are
def _places(
    seconds: Callable[[Any], int | None], unit: int, values: tuple[Any, ...]
) -> tuple[int, ...]:
    """Places of bounds or edges, in units of so many seconds."""
    return tuple(int(seconds(value) or 0) // unit for value in values)


@cache
def _writer(written: Callable[[int], str], unit: int) -> Callable[[int], str]:
    return lambda place: written(place * unit)


Format = Annotated[str, AfterValidator(_check_format)]


class Date(Calendar):
    """Calendar days from `lower` to `upper`, both included.

    Attributes:
        format: how texts of the table write a day, such as "%d.%m.%Y"; those in ISO form are read
            as well. Released days are in ISO form.
    """

    readable: ClassVar[tuple[str, ...]] = ("format", *Calendar.readable)

    resolution: ClassVar[Literal["day"]] = "day"

    kind: Literal["date"]
    lower: datetime.date
    upper: datetime.date
    format: Format = ""
    bins: int | tuple[datetime.date, ...] | None = None

    def entry_at(self, place: int) -> datetime.date:
        """The day."""
        return datetime.date.fromordinal(place + EPOCH)

    @staticmethod
    def _seconds(value: Any) -> int | None:
        if isinstance(value, str):
            plain = len(value.strip()) == len("2020-02-29")
            return seconds_of_moment(value) if plain else None
        if isinstance(value, datetime.date):
            return (value.toordinal() - EPOCH) * DAY_SECONDS
        return None

    @staticmethod
    def _write_seconds(seconds: int) -> str:
        return datetime.date.fromordinal(seconds // DAY_SECONDS + EPOCH).isoformat()


def _moment(value: Any) -> Any:
    """A moment without a zone; what cannot be one is left for its error."""
    if isinstance(value, int | float):
        return None
    if isinstance(value, str):
        seconds = seconds_of_moment(value)
        return None if seconds is None else _START + datetime.timedelta(seconds=seconds)
    if getattr(value, "tzinfo", None) is not None:
        raise ValueError(
            "must be a local date and time without an offset; `timezone` says where it is local"
        )
    return value


def _time(value: Any) -> Any:
    """A time of day without a zone."""
    if isinstance(value, str):
        seconds = seconds_of_time(value)
        return None if seconds is None else (_START + datetime.timedelta(seconds=seconds)).time()
    is_time = isinstance(value, datetime.time) and value.tzinfo is None
    return value if is_time else None


def _span(value: Any) -> str | None:
    """A duration as its text."""
    if isinstance(value, datetime.timedelta):
        return span_text(value // datetime.timedelta(seconds=1))
    seconds = seconds_of_span(value) if isinstance(value, str) else None
    return None if seconds is None else span_text(seconds)


Moment = Annotated[datetime.datetime, BeforeValidator(_moment)]
TimeOfDay = Annotated[datetime.time, BeforeValidator(_time)]
Span = Annotated[
    str,
    BeforeValidator(_span),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "format": "duration"}),
]
Resolution = Literal["second", "minute", "hour"]


class Datetime(Calendar):
    """Moments from `lower` to `upper`, both included: days with a time of day.

    Attributes:
        resolution: "second", "minute" or "hour"; values, bounds and edges are cut to whole ones.
        timezone: where the moments are local, such as "Europe/Zurich": values that name a zone are
            brought there. Without it, each is taken by its own clock.
        format: how texts of the table write a moment, such as "%d.%m.%Y %H:%M"; those in ISO form
            are read as well. Released moments are in ISO form.
    """

    readable: ClassVar[tuple[str, ...]] = ("format", *Calendar.readable)

    kind: Literal["datetime"]
    lower: Moment
    upper: Moment
    format: Format = ""
    resolution: Resolution = "second"
    timezone: str = ""
    bins: int | tuple[Moment, ...] | None = None

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, name: str) -> str:
        import polars as pl

        try:
            pl.Series([0], dtype=pl.Datetime("us", name or "UTC"))
            known = not name or name[0].isalpha()
        except pl.exceptions.PolarsError:
            known = False
        if not known:
            raise ValueError(
                "timezone must be a name of the time zone database, such as Europe/Zurich or UTC"
            )
        return name

    @staticmethod
    def _seconds(value: Any) -> int | None:
        if isinstance(value, str):
            return seconds_of_moment(value)
        if isinstance(value, datetime.datetime):
            return (value - _START) // datetime.timedelta(seconds=1)
        if isinstance(value, datetime.date):
            return (value.toordinal() - EPOCH) * DAY_SECONDS
        return None

    @staticmethod
    def _write_seconds(seconds: int) -> str:
        return (_START + datetime.timedelta(seconds=seconds)).isoformat()


class Time(Calendar):
    """Times of day from `lower` to `upper`, both included; by default all of them.

    Attributes:
        resolution: "second", "minute" or "hour"; values, bounds and edges are cut to whole ones.
        bins: by default one for each hour; else a public number of bins of equal width, or the
            list of public edges from `lower` to `upper`.
    """

    kind: Literal["time"]
    lower: TimeOfDay = datetime.time()
    upper: TimeOfDay = datetime.time(23, 59, 59)
    resolution: Resolution = "second"
    bins: int | tuple[TimeOfDay, ...] | None = None

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Bins of whole units."""
        if self.bins is not None:
            return super().intervals
        low, high = (int(bound) for bound in self.bounds)
        hour = 3600 // self.unit_seconds
        hours = range(low - low % hour + hour, high, hour)
        edges = (low, *hours, high) if low < high and hour > 1 else high - low + 1
        return integer_intervals(low, high, edges, (), self._show)

    @staticmethod
    def _seconds(value: Any) -> int | None:
        if isinstance(value, str):
            return seconds_of_time(value)
        if isinstance(value, datetime.time):
            return 3600 * value.hour + 60 * value.minute + value.second
        return None

    @staticmethod
    def _write_seconds(seconds: int) -> str:
        return (_START + datetime.timedelta(seconds=seconds)).time().isoformat()


class Duration(Calendar):
    """Lengths of time from `lower` to `upper`, both included, as text: "PT90M" or "1:30:00".

    Attributes:
        resolution: "second", "minute", "hour" or "day"; values, bounds and edges are cut to whole
            ones.
    """

    kind: Literal["duration"]
    lower: Span
    upper: Span
    resolution: Literal["second", "minute", "hour", "day"] = "second"
    bins: int | tuple[Span, ...] | None = None

    @staticmethod
    def _seconds(value: Any) -> int | None:
        return seconds_of_span(value) if isinstance(value, str) else None

    @staticmethod
    def _write_seconds(seconds: int) -> str:
        return span_text(seconds)
