"""A first version of a schema, read from the rows. CONFIDENTIAL until a person has reviewed it.

Reading bounds and levels off the data is the commonest leak in the field: a maximum is one
person's value. So a draft marks each entry as not reviewed, carries a fingerprint by which an entry
taken over unchanged is recognised later, and cannot be used as it is.

What becomes what:

- true and false (also as text): boolean; calendar days (also as ISO text, a time of day is cut
  off): date;
- whole numbers, also if stored as real numbers or as text: integer, one bin for each value if there
  are at most 50 between the bounds, else 20 bins. Text with leading zeros ("007") stays text;
- other numbers: continuous, 20 bins, bounds rounded outward to two digits of the range; with at
  most 12 different values, each on 5 rows on average, they are the grades of a scale: ordinal;
- a value that more than a tenth of the rows share, and at least 5, is a spike of a column with
  wide bins;
- text: categorical;
- empty cells, and words such as "NA" or "?" in a column that otherwise holds numbers, dates or
  truth values: missing codes. Infinite values stay out of the domain.

Columns that look like identifiers, hold nothing or have a type that cannot be read are left out,
and the heading says so.
"""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import polars as pl
from pydantic import ValidationError

from understudy.engine.frames import open_rows
from understudy.engine.profile import Profile, Profiler
from understudy.errors import DataError
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Continuous,
    Date,
    Integer,
    Ordinal,
    Schema,
    toml,
)
from understudy.schema.numeric import DEFAULT_BINS, ONE_BIN_EACH
from understudy.schema.values import EXACT_INTEGER, number_of

MAX_LEVELS = 1000
MAX_GRADES = 12
SHARED_ROWS = 5  # fewer rows say nothing about whether a value is shared
SPIKE_SHARE = 0.1
_ALL_DIFFERENT = 50  # with more values than this, all of them different, they name the rows

_EPOCH = datetime.date(1970, 1, 1).toordinal()

_HEADING = """\
# CONFIDENTIAL: the levels and bounds below were read from confidential rows.
# Do not publish this file, and do not use it, before every entry is confirmed against public
# knowledge (a codebook, a law, a judgement made without looking at the rows), its `source` is
# named and `reviewed = true` is set. Numbers such as -9 or 999 that stand for "not known" belong
# into `missing`; the bounds then leave them out.
"""

_NOTHING = "it holds no value, so nothing can be said about it"
_UNREADABLE = "its type cannot be read; convert it to numbers, text or dates"
_IDENTIFIER = (
    "it looks like an identifier; drop it, or group its values and declare the groups as levels"
)
_NO_BINS = "its range cannot be cut into bins; declare it by hand"


class _LeftOutError(Exception):
    """A column that cannot be drafted; the message says why."""


def draft(data: object, *, title: str = "") -> str:
    """Draft a schema from the data.

    Args:
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).
        title: name of the table, for people.

    Returns:
        TOML text that `Schema.loads` reads and `Schema.require_reviewed` refuses. CONFIDENTIAL.

    Raises:
        DataError: the data cannot be read, or no column can be drafted.
    """
    rows = open_rows(data)
    profiler = Profiler(rows)
    columns: dict[str, Column] = {}
    left_out: dict[str, str] = {}
    for profile in profiler.profiles():
        try:
            columns[profile.name] = _column(profile, profiler)
        except _LeftOutError as reason:
            left_out[profile.name] = str(reason)
    if not columns:
        raise DataError(
            f"{rows.place} has no column that can be drafted: each one is empty, looks like an "
            "identifier, or has a type that cannot be read; write the schema by hand."
        )
    return f"{_HEADING}{_left_out_text(left_out)}\n{_text(title, columns)}"


def _left_out_text(left_out: dict[str, str]) -> str:
    if not left_out:
        return ""
    # repr keeps a line break in a name from ending the comment.
    lines = (f"#   {name!r}: {reason}.\n" for name, reason in left_out.items())
    return "#\n# Columns left out of this draft, which will not be released:\n" + "".join(lines)


def _text(title: str, columns: dict[str, Column]) -> str:
    """The schema with every entry written out that a reviewer has to fill in."""
    schema = Schema(title=title, columns=columns)
    entries = {name: _entries(column) for name, column in schema.columns.items()}
    head = {"format": schema.format, **({"title": title} if title else {}), "rows": schema.rows}
    unit = {"rows_per_unit": schema.unit.rows_per_unit}
    return toml.dumps({**head, "unit": unit, "columns": entries})


def _entries(column: Column) -> dict[str, Any]:
    content = column.model_copy(update={"drafted": column.fingerprint()}).model_dump()
    told = {key: value for key, value in content.items() if value not in ((), "", None)}
    return {**told, "source": ""}


def _column(profile: Profile, profiler: Profiler) -> Column:
    codes = {"missing": profile.codes}
    if profile.shape == "unreadable":
        raise _LeftOutError(_UNREADABLE)
    if profile.shape == "nothing":
        raise _LeftOutError(_NOTHING)
    if profile.shape == "boolean":
        return Boolean(kind="boolean", **codes)
    if profile.shape == "date":
        return _date(profile, codes)
    if profile.shape == "text":
        return _categorical(profile, profiler, codes)
    return _number(profile, profiler, codes)


def _date(profile: Profile, codes: dict[str, Any]) -> Date:
    lower, upper = int(profile.low), int(profile.high)
    return Date(
        kind="date",
        lower=datetime.date.fromordinal(lower + _EPOCH),
        upper=datetime.date.fromordinal(upper + _EPOCH),
        bins=min(DEFAULT_BINS, upper - lower + 1),
        **codes,
    )


def _categorical(profile: Profile, profiler: Profiler, codes: dict[str, Any]) -> Categorical:
    # The estimate spares us from holding millions of names; it errs by a few per cent.
    if profile.n_texts > 2 * MAX_LEVELS:
        raise _LeftOutError(_IDENTIFIER)
    counts = profiler.counts(profile)
    all_different = counts.height > _ALL_DIFFERENT and counts["rows"].max() == 1
    if counts.height > MAX_LEVELS or all_different:
        raise _LeftOutError(_IDENTIFIER)
    levels = sorted(counts["value"].to_list(), key=_natural)
    return Categorical(kind="categorical", levels=tuple(levels), **codes)


def _natural(text: str) -> tuple[Any, ...]:
    """Sorting key: numbers by value and before words; "step 9" before "step 10"."""
    number = number_of(text)
    if number is not None:
        return (0, number, text)
    parts = re.split(r"(\d+)", text, flags=re.ASCII)
    # Digits compare by length, then by text: as numbers do, at any length.
    digits = ((len(part.lstrip("0")), part.lstrip("0")) for part in parts[1::2])
    return (
        1,
        *(item for pair in zip(parts[::2], [*digits, (0, "")], strict=True) for item in pair),
        text,
    )


def _number(profile: Profile, profiler: Profiler, codes: dict[str, Any]) -> Column:
    if profile.whole and max(abs(profile.low), abs(profile.high)) <= EXACT_INTEGER:
        return _integer(profile, profiler, codes)
    if profile.whole and profile.exact:
        raise _LeftOutError(_IDENTIFIER)
    counts = profiler.counts(profile)
    grades = counts.height <= MAX_GRADES and profile.n_values >= SHARED_ROWS * counts.height
    if counts.height == 1 or grades:
        return Ordinal(kind="ordinal", levels=tuple(sorted(counts["value"].to_list())), **codes)
    lower, upper = _rounded_outward(profile.low, profile.high)
    spikes = _spikes(counts, profiler.n_rows)
    entries = {"lower": lower, "upper": upper, "bins": DEFAULT_BINS, **codes}
    try:
        return Continuous(kind="continuous", spikes=spikes, **entries)
    except ValidationError:
        raise _LeftOutError(_NO_BINS) from None


def _integer(profile: Profile, profiler: Profiler, codes: dict[str, Any]) -> Integer:
    lower, upper = int(profile.low), int(profile.high)
    n_values = upper - lower + 1
    entries: dict[str, Any] = {"kind": "integer", "lower": lower, "upper": upper, **codes}
    if n_values <= ONE_BIN_EACH:
        return Integer(bins=n_values, **entries)
    counts = profiler.counts(profile)
    if counts.height == n_values == profile.n_values:  # each value once: the rows are numbered
        raise _LeftOutError(_IDENTIFIER)
    spikes = tuple(int(value) for value in _spikes(counts, profiler.n_rows))
    try:
        return Integer(bins=DEFAULT_BINS, spikes=spikes, **entries)
    except ValidationError:  # neighbouring spikes fill a whole bin
        return Integer(bins=DEFAULT_BINS, **entries)


def _spikes(counts: pl.DataFrame, n_rows: int) -> tuple[float, ...]:
    often = counts.filter(counts["rows"] > max(SPIKE_SHARE * n_rows, SHARED_ROWS - 1))
    return tuple(sorted(often["value"].to_list()))


def _rounded_outward(low: float, high: float) -> tuple[float, float]:
    """Bounds to two digits of the range: 1000.132 and 1000.874 become 1000.13 and 1000.88."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    step = Decimal(1).scaleb((last - first).adjusted() - 1)
    lower = (first / step).to_integral_value(ROUND_FLOOR) * step
    upper = (last / step).to_integral_value(ROUND_CEILING) * step
    return float(lower), float(upper)
