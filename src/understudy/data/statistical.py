"""Files of SPSS, Stata and SAS, one value at a time.

The library that reads them converts whole columns by what it finds in them: a day beyond its
calendar is an error, one tagged number makes a column of objects, one text that its encoding does
not have breaks the reading off. So nothing is left to it but to take the file apart. What a value
is follows from itself and from the format of its variable:

- a day, moment, time or duration is counted from the origin that its format has; one that no
  calendar reaches is there, and no day;
- texts are read as bytes, decoded each by itself, and lose the blanks that fill them up;
- user-missing values of SPSS are values, to be declared as codes. System-missing ones are empty;
- the variables of Stata and SAS are read as text, since a number there may be a tag: ".a" to ".z"
  (in SAS, ".A" to ".Z" and "._").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from understudy._arrays import Floats
from understudy.data.frames import UNLIKE, as_text, plain, stream_batches
from understudy.schema.base import EXACT_INTEGER
from understudy.schema.file_labels import (
    BYTES,
    TAGGED,
    FileLabels,
    Holds,
    parse_file,
    read_file_labels,
)
from understudy.schema.time_expressions import FIRST_DAY, LAST_DAY

_CELLS_AT_ONCE: Final = 2**21
_ROWS_AT_ONCE: Final = 250_000

_MS: Final = 86_400_000
_FAR: Final = 10_000_000  # days; further than any calendar
_TYPES: Final[dict[Holds, pl.DataType]] = {
    "numbers": pl.Float64(),
    "text": pl.String(),
    "days": pl.Date(),
    "moments": pl.Datetime("ms"),
    "times": pl.String(),
    "durations": pl.Duration("ms"),
}


@dataclass(frozen=True)
class Statistical:
    """A file of SPSS, Stata or SAS.

    Attributes:
        path: where it is.
        labels: what it says about its variables.
    """

    path: Path
    labels: FileLabels

    @classmethod
    def open_file(cls, path: Path, encoding: str = "") -> Statistical:
        """A file, of which the heading is read.

        Raises:
            DataError: it cannot be read.
            MethodError: the library for it is not installed.
        """
        return cls(path, read_file_labels(path, encoding))

    @property
    def types(self) -> dict[str, pl.DataType]:
        """The type of each column, by its format alone."""
        tagged = self.labels.format in TAGGED
        return {
            name: pl.String() if tagged else _TYPES[variable.holds]
            for name, variable in self.labels.variables.items()
        }

    def lazy(self) -> pl.LazyFrame:
        """All records. CONFIDENTIAL.

        Raises:
            DataError: when it is read, if the file is damaged.
        """
        return stream_batches(self._batches, self.types)

    def _batches(self, names: list[str]) -> Iterator[pl.DataFrame]:
        """Records of some columns; no more of them at once than memory is sure to hold."""
        encoding = self.labels.encoding
        wanted = {name: name.encode(encoding).decode(BYTES) for name in names}
        counted = next(iter(self.labels.variables)).encode(encoding).decode(BYTES)
        bare = list(wanted.values()) or [counted]
        most = min(_ROWS_AT_ONCE, max(1, _CELLS_AT_ONCE // len(bare)))
        at = 0
        while True:
            part = {"usecols": bare, "row_limit": most, "row_offset": at}
            columns, _ = parse_file(self.path, encoding=BYTES, **part)
            n = len(columns[bare[0]])
            if n:
                series = [self._series(name, columns[one]) for name, one in wanted.items()]
                yield pl.DataFrame(series, height=n)
            if n < most:
                return
            at += n

    def _series(self, name: str, values: list[Any]) -> pl.Series:
        holds = self.labels.variables[name].holds
        if holds == "text":
            return pl.Series(name, _texts(values, self.labels.encoding), dtype=pl.String)
        tags = {k: f".{value}" for k, value in enumerate(values) if type(value) is str}
        for k in tags:
            values[k] = None
        clock = _clock(self.labels.format, holds)
        typed = _value(np.array(values, dtype=np.float64), holds, clock)
        if self.labels.format in TAGGED:
            typed = _as_text(typed)
            typed = typed.scatter(list(tags), list(tags.values())) if tags else typed
        return typed.alias(name)


def _texts(values: list[str], encoding: str) -> Iterator[str]:
    """Texts of bytes, without the blanks behind them."""
    for value in values:
        if value.isascii():
            yield value.rstrip(" ")
        else:
            try:
                yield value.encode(BYTES).decode(encoding).rstrip(" ")
            except UnicodeDecodeError:
                yield UNLIKE


@dataclass(frozen=True)
class _Clock:
    """The unit and the origin by which a format counts time.

    Attributes:
        per_day: units in a day.
        origin: the day that is 0, in days since 1970-01-01.
        moments: whether a time of day is a moment of which the day is not shown.
    """

    per_day: int
    origin: int
    moments: bool = False


def _clock(kind: str, holds: Holds) -> _Clock:
    if kind not in TAGGED:
        return _Clock(86_400, -141_428)  # seconds since 1582-10-14
    if holds == "days":
        return _Clock(1, -3_653)  # since 1960-01-01
    return _Clock(_MS, -3_653, moments=True) if kind == "dta" else _Clock(86_400, -3_653)


def _value(number: Floats, holds: Holds, clock: _Clock) -> pl.Series:
    """Values of a variable, of the type that its format has; null where there is none.

    Args:
        number: as it is written, shape (n,); NaN for none.
        holds: what it says.
        clock: how it counts time.
    """
    if holds == "numbers":
        return pl.Series(number, nan_to_null=True)
    absent = np.isnan(number)
    reach = float(clock.per_day * _FAR)
    near = np.clip(np.where(absent, 0.0, number), -reach, reach)
    day = np.floor(near / clock.per_day)
    part = np.rint((near - day * clock.per_day) * (_MS / clock.per_day))
    within = np.minimum(part, _MS - 1).astype(np.int64)
    # Days that cannot be written with four digits are one day.
    date = np.clip(day + clock.origin, FIRST_DAY - 1, LAST_DAY + 1).astype(np.int64)
    if holds == "days":
        found = pl.Series(date).cast(pl.Int32).cast(pl.Date)
    elif holds == "moments":
        found = pl.Series(date * _MS + within).cast(_TYPES[holds])
    elif holds == "durations":
        found = pl.Series(day.astype(np.int64) * _MS + within).cast(_TYPES[holds])
    else:
        text = plain(pl.Series(within * 1_000_000).cast(pl.Time)).cast(pl.String)
        found = text.set(pl.Series((day != 0) & (not clock.moments)), UNLIKE)
    return found.set(pl.Series(absent), None)


def _as_text(typed: pl.Series) -> pl.Series:
    """The same as text that is read alike."""
    typed = plain(typed)
    if typed.dtype == pl.String:
        return typed
    if typed.dtype != _TYPES["numbers"]:
        return typed.to_frame("one").select(as_text(pl.col("one"), typed.dtype)).to_series()
    whole = (typed == typed.floor()) & (typed.abs() <= EXACT_INTEGER)
    short = typed.set(~whole.fill_null(False), None).cast(pl.Int64).cast(pl.String)
    return short.zip_with(whole.fill_null(False), typed.cast(pl.String))
