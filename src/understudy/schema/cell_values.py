"""Values as they stand in a schema, and when two of them are the same.

Numbers are compared as 64-bit floats. Beyond ±2^53 these no longer hold every whole number, so such
numbers are declared as text and meant by that text only.

>>> text_of(3.0), text_of("03"), text_of(True)
('3', '03', 'true')
>>> same_value(3, "3.0"), same_value("03", "3")
(True, False)
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Sequence

Code = bool | int | float | datetime.date | str

EXACT_INTEGER = 2**53  # beyond it, float64 no longer holds every integer

CLOSE = 2.0**-23
"""Largest relative difference between a number and the declared one that is meant by it."""

# What the reader of the rows takes for a number, too: no "1_000", no "١", no "inf".
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_number(value: Code) -> bool:
    """Whether a code was written as a number (not as text, truth value or date)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(value: Code) -> str:
    """Canonical text of a value: whole numbers without a point, dates in ISO form."""
    if type(value) is str:  # most are, and there may be very many
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value)


def time_as_text(value: object) -> object:
    """A time of day, or a moment that is not midnight, as its text; other values as they are."""
    if isinstance(value, datetime.datetime):
        return value.isoformat() if value.tzinfo or value.time() != datetime.time() else value
    return value.isoformat() if isinstance(value, datetime.time) else value


def number_of(value: Code) -> float | None:
    """The number that a value denotes, or None: 3, 3.0 and "3" all denote 3.0."""
    if isinstance(value, bool | datetime.date | datetime.time):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def same_value(left: Code, right: Code) -> bool:
    """Whether two values are one level.

    Equal texts are one. Texts that are both written as text and differ ("03", "3") are two levels;
    otherwise equal numbers are one.
    """
    if text_of(left) == text_of(right):
        return True
    if isinstance(left, str) and isinstance(right, str):
        return False
    number = number_of(left)
    return number is not None and number == number_of(right)


def duplicated(values: Iterable[Code]) -> Code | None:
    """The first value that stands for the same level as an earlier one, or None."""
    values = tuple(values)
    if set(map(type, values)) <= {str} and len(set(values)) == len(values):
        return None  # texts that differ are two levels; a column may have very many
    texts: set[str] = set()
    numbers: dict[float, list[Code]] = {}
    for value in values:
        text = text_of(value)
        number = number_of(value)
        alike: Sequence[Code] = numbers.get(number, ()) if number is not None else ()
        if text in texts or any(same_value(value, other) for other in alike):
            return value
        texts.add(text)
        if number is not None:
            numbers.setdefault(number, []).append(value)
    return None
