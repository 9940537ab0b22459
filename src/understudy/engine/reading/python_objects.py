"""Python objects as the text by which they are read: one object at a time, whatever the others are.

A data frame keeps Python objects where its values have no type in common, which one odd value is
enough for. So each object is written as the text that is read like the value itself would be in a
column of its own type: True as "true", 3 and 3.0 as "3", a moment as its day and time, bytes as
what they spell. Nothing here may stop the reading, and no method that an object could have
redefined is asked before it is known to be none of the ordinary types.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import polars as pl

from understudy.schema.cell_values import EXACT_INTEGER

UNLIKE: Final = "\ufffd"
"""Text of what is there and can be no level: broken text, an unwritable object."""

_DAY_LENGTH = len("2020-02-29")
_DIGITS = 400  # a whole number with more of them is infinite in 64 bits


def texts(values: Iterable[object]) -> pl.Series:
    """Text of each object, null where nothing is there; shape (n,)."""
    return pl.Series([text(value) for value in values], dtype=pl.String)


def text(value: object) -> str | None:
    """Text of one object; None if it stands for nothing (None, NaN, NaT, NA)."""
    try:
        return _reader(type(value))(value)
    except Exception:  # an object may refuse to be written
        return UNLIKE


def _reader(kind: type) -> Callable[[Any], str | None]:
    """How objects of a type are written; by the type alone, never by what an object says it is."""
    reader = _READERS.get(kind)
    if reader is None and str(kind.__module__).partition(".")[0] == "pandas":
        reader = _PANDAS.get(kind.__name__)
    if reader is None:
        reader = next((read for base, read in _BASES if issubclass(kind, base)), _other)
    return reader


def _str(value: str) -> str:
    value = str.__str__(value)
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _bool(value: bool | np.bool_) -> str:
    return "true" if value else "false"


def _int(value: int) -> str:
    if int.bit_length(value) > 4 * _DIGITS:
        return "inf" if int.__gt__(value, 0) else "-inf"
    return int.__repr__(value)


def _float(value: float) -> str | None:
    value = float.__float__(value)
    if math.isnan(value):
        return None
    if not value.is_integer():  # infinities are no integers
        return repr(value)
    if abs(value) <= EXACT_INTEGER:
        return str(int(value))
    # A whole number may have been rounded to it, so its digits are not to be taken for a level's.
    return f"{value:.17e}"


def _complex(value: complex) -> str | None:
    """A number without imaginary part is what it was before another one made all complex."""
    real, imaginary = complex.__complex__(value).real, complex.__complex__(value).imag
    if math.isnan(real) or math.isnan(imaginary):
        return None
    return UNLIKE if imaginary else _float(real)


def _decimal(value: Decimal) -> str | None:
    return None if Decimal.is_nan(value) else _float(Decimal.__float__(value))


def _numpy(value: np.generic) -> str | None:
    if np.isnat(value) if isinstance(value, np.datetime64 | np.timedelta64) else False:
        return None
    if isinstance(value, np.datetime64):
        day = _day(str(value.astype("datetime64[D]")))
        return day if day == UNLIKE else str(value.astype("datetime64[s]"))
    if isinstance(value, np.floating):
        return _float(float(value))  # a long double has no Python type of its own
    if isinstance(value, np.complexfloating):
        return _complex(complex(value))
    return _numpy_span(value) if isinstance(value, np.timedelta64) else text(value.item())


_NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9}
_NANOSECONDS |= {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _numpy_span(value: np.timedelta64) -> str:
    unit, count = np.datetime_data(value.dtype)
    return _span(int(value.astype(np.int64)) * count * _NANOSECONDS[unit] // 1_000)


def _timedelta(value: datetime.timedelta) -> str:
    return _span((value.days * 86_400 + value.seconds) * 10**6 + value.microseconds)


def _span(micros: int) -> str:
    """A duration as its seconds."""
    seconds, part = divmod(abs(micros), 10**6)
    digits = f".{part:06d}" if part else ""
    return f"{'-' * (micros < 0)}PT{seconds}{digits}S"


def _bytes(value: bytes) -> str:
    return bytes(memoryview(value)).decode("utf-8")  # what is no UTF-8 is no text


def _timestamp(value: Any) -> str:
    """A moment; unlike those of Python's own, it may lie beyond the years 1 to 9999."""
    day = _day(f"{value.year:04d}-{value.month:02d}-{value.day:02d}")
    return day if day == UNLIKE else str(value.isoformat(timespec="seconds"))


def _datetime(value: datetime.datetime) -> str:
    return datetime.datetime.isoformat(value, timespec="seconds")


def _day(written: str) -> str:
    """A day, if four digits are enough for its year: in a column of moments no other is a day."""
    plain = len(written) == _DAY_LENGTH and not written.startswith("-")
    return written if plain else UNLIKE


def _pandas_span(value: Any) -> str:
    return _numpy_span(value.to_timedelta64())


def _other(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _unlike(_value: object) -> str:
    return UNLIKE


def _nothing(_value: object) -> None:
    return None


_READERS: dict[type, Callable[[Any], str | None]] = {
    type(None): _nothing,
    str: _str,
    bool: _bool,
    np.bool_: _bool,
    int: _int,
    float: _float,
    np.float64: _float,
    datetime.date: datetime.date.isoformat,
    datetime.datetime: _datetime,
    datetime.timedelta: _timedelta,
}
_PANDAS: dict[str, Callable[[Any], str | None]] = {
    "NaTType": _nothing,
    "NAType": _nothing,
    "Timestamp": _timestamp,
    "Timedelta": _pandas_span,
}
# Text and numbers of numpy first: some of them are Python's, too.
_BASES: list[tuple[type, Callable[[Any], str | None]]] = [
    (str, _str),
    (bytes, _bytes),
    (bytearray, _bytes),
    (memoryview, _bytes),
    (int, _int),
    (float, _float),
    (complex, _complex),
    (np.generic, _numpy),
    (Decimal, _decimal),
    (datetime.datetime, _datetime),
    (datetime.date, datetime.date.isoformat),
    (datetime.time, datetime.time.isoformat),
    (datetime.timedelta, _timedelta),
    # What holds other values is none itself, as in a column of lists.
    *((several, _unlike) for several in (list, tuple, dict, set, frozenset, np.ndarray)),
]
