"""Moments, times of day and durations as text: what a text says, and how one is written.

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
from typing import Final

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
    return f"{'-' * (seconds < 0)}P{written['D']}{'T' * bool(time)}{time}"
