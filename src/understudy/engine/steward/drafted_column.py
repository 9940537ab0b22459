"""What a column becomes in a draft, by what its values look like.

Numbers that crowd together have bins with round edges near the quantiles. CONFIDENTIAL.
"""

from __future__ import annotations

import datetime
import math
import re
from typing import Any, TypeVar

import numpy as np
import polars as pl
from pydantic import ValidationError

from understudy.engine.steward.column_profile import Profile, Profiler
from understudy.engine.steward.declared_categories import Categories
from understudy.engine.steward.round_edges import (
    is_crowded,
    months_around,
    round_edges,
    rounded_outward,
)
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Continuous,
    Date,
    Datetime,
    Duration,
    Integer,
    Ordinal,
    Time,
)
from understudy.schema.cell_values import EXACT_INTEGER, number_of
from understudy.schema.conventions import Form, proposed
from understudy.schema.number_columns import DEFAULT_BINS, ONE_BIN_EACH
from understudy.schema.time_texts import DAY_SECONDS, span_text

MAX_LEVELS = 1000
MAX_GRADES = 12
SHARED_ROWS = 5  # fewer rows say nothing about whether a value is shared
SPIKE_SHARE = 0.1
LONG_RUN = 5
SHORT_LIST = 6
_ALL_DIFFERENT = 50  # with more values than this, all of them different, they name the rows

_START = datetime.datetime(1970, 1, 1)
_UNITS = {"date": DAY_SECONDS, "datetime": 60, "time": 60, "duration": 1}

_NOTHING = "it holds no value, so nothing can be said about it"
_UNREADABLE = (
    "its type cannot be read, as that of lists and dictionaries; convert it to numbers, text or "
    "dates"
)
_IDENTIFIER = (
    "it looks like an identifier or free text; leave it out, have fresh ones in the release "
    '(kind = "identifier"), or group its values and declare the groups as levels'
)
_NO_BINS = "its range cannot be cut into bins; declare it by hand"


class LeftOutError(Exception):
    """A column that cannot be drafted; the message says why."""


def drafted_column(
    profile: Profile, profiler: Profiler, declared: Categories | None = None
) -> Column:
    """The column that its name, or else its profile suggests, with fingerprints of what was read.

    Args:
        profile: of the column.
        profiler: of its table.
        declared: levels that its type declares.

    Raises:
        LeftOutError: none can be drafted.
    """
    if form := _convention(profile):
        column = form.column.model_copy(update={"missing": profile.codes})
    elif declared is not None and len(declared.levels) <= MAX_LEVELS:
        column = _of_categories(declared, profile, profiler)
    else:
        column = read_column(profile, profiler)
    return marked(column, profile)


def marked(column: Column, profile: Profile) -> Column:
    """The column with fingerprints of all entries but those that a convention has proposed."""
    form = _convention(profile)
    known = form.column if form and column.source == form.column.source else None
    read = {
        key: prints
        for key, prints in column.fingerprints().items()
        if known is None or getattr(column, key) != getattr(known, key, None)
    }
    return column.model_copy(update={"drafted": read})


def _convention(profile: Profile) -> Form | None:
    return proposed(profile.name, profile.shape)


def read_column(profile: Profile, profiler: Profiler) -> Column:
    """The column that its profile suggests.

    Raises:
        LeftOutError: none can be drafted.
    """
    codes = {"missing": profile.codes}
    if profile.shape == "unreadable":
        raise LeftOutError(_UNREADABLE)
    if profile.shape == "nothing":
        raise LeftOutError(_NOTHING)
    if profile.shape == "boolean":
        return Boolean(kind="boolean", **codes)
    if profile.shape in ("date", "datetime", "time", "duration"):
        return _calendar(profile, codes)
    if profile.shape == "text":
        return _categorical(profile, profiler, codes)
    return _number(profile, profiler, codes)


def _of_categories(declared: Categories, profile: Profile, profiler: Profiler) -> Column:
    """All levels that the type declares, used or not, in its order."""
    codes: dict[str, Any] = {"missing": profile.codes}
    if profile.shape == "nothing":  # each cell is empty
        codes["missing"] = ("",)
    elif profile.shape == "text":
        _categorical(profile, profiler, codes)  # which leaves out what names the rows
    if declared.ordered:
        return Ordinal(kind="ordinal", levels=declared.levels, **codes)
    return Categorical(kind="categorical", levels=declared.levels, **codes)


def _calendar(profile: Profile, codes: dict[str, Any]) -> Column:
    """The bounds are read, days of a long time rounded outward; the resolution is not."""
    first, last = (_START + datetime.timedelta(seconds=end) for end in (profile.low, profile.high))
    if profile.shape in ("date", "datetime"):
        first, last = months_around(first, last)
    n_bins = min(DEFAULT_BINS, int(profile.high - profile.low) // _UNITS[profile.shape] + 1)
    if profile.shape == "date":
        ends: dict[str, Any] = {"lower": first.date(), "upper": last.date(), "bins": n_bins}
        return Date(kind="date", **ends, **codes)
    if profile.shape == "time":
        return Time(kind="time", resolution="minute", **codes)
    if profile.shape == "duration":
        ends = {"lower": span_text(int(profile.low)), "upper": span_text(int(profile.high))}
        return Duration(kind="duration", **ends, bins=n_bins, **codes)
    ends = {"lower": first, "upper": last, "resolution": "minute", "bins": n_bins}
    return Datetime(kind="datetime", **ends, timezone=profile.timezone, **codes)


def _categorical(profile: Profile, profiler: Profiler, codes: dict[str, Any]) -> Categorical:
    # The estimate spares us from holding millions of names; it errs by a few per cent.
    if profile.n_texts > 2 * MAX_LEVELS:
        raise LeftOutError(_IDENTIFIER)
    counts = profiler.counts(profile)
    all_different = counts.height > _ALL_DIFFERENT and counts["rows"].max() == 1
    if counts.height > MAX_LEVELS or all_different:
        raise LeftOutError(_IDENTIFIER)
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
        return _whole(profile, profiler, codes)
    if profile.whole and profile.exact:
        raise LeftOutError(_IDENTIFIER)
    counts = profiler.counts(profile).sort("value")
    grades = counts.height <= MAX_GRADES and profile.n_values >= SHARED_ROWS * counts.height
    if counts.height == 1 or grades:
        return Ordinal(kind="ordinal", levels=tuple(counts["value"].to_list()), **codes)
    bounds = rounded_outward(profile.low, profile.high)
    spikes = _spikes(counts, profiler.n_rows)
    entries = {"kind": "continuous", "lower": bounds[0], "upper": bounds[1], **codes}
    entries["decimals"] = profile.decimals
    edges = _edges(counts, spikes, bounds, whole=False)
    column = _fitting(Continuous, entries, (edges, spikes), (DEFAULT_BINS, spikes))
    if column is None:
        raise LeftOutError(_NO_BINS)
    return column


def _whole(profile: Profile, profiler: Profiler, codes: dict[str, Any]) -> Integer | Categorical:
    lower, upper = int(profile.low), int(profile.high)
    n_values = upper - lower + 1
    entries: dict[str, Any] = {"kind": "integer", "lower": lower, "upper": upper, **codes}
    # The estimate spares us from counting what cannot be codes.
    if n_values <= ONE_BIN_EACH and profile.n_different > 2 * MAX_GRADES:
        return Integer(bins=n_values, **entries)
    counts = profiler.counts(profile).sort("value")
    values = [int(value) for value in counts["value"]]
    if _are_codes(values, profile.n_values):
        return Categorical(kind="categorical", levels=tuple(values), **codes)
    if n_values <= ONE_BIN_EACH:
        return Integer(bins=n_values, **entries)
    if counts.height == n_values == profile.n_values:  # each value once: the rows are numbered
        raise LeftOutError(_IDENTIFIER)
    spikes = tuple(int(value) for value in _spikes(counts, profiler.n_rows))
    low, high = rounded_outward(lower, upper)
    lower, upper = max(int(low), -EXACT_INTEGER), min(int(high), EXACT_INTEGER)
    entries |= {"lower": lower, "upper": upper}
    edges = _edges(counts, spikes, (lower, upper), whole=True)
    # Neighbouring spikes may fill a whole bin.
    fitting = _fitting(
        Integer, entries, (edges, spikes), (DEFAULT_BINS, spikes), (DEFAULT_BINS, ())
    )
    assert fitting is not None
    return fitting


def _are_codes(values: list[int], n_rows: int) -> bool:
    """Whether whole numbers, ascending, rather name things than count or measure them.

    Few do, each on several rows; unless they run on from the smallest, as counts and years do, and
    are not the 1, 2, 3 of a short list.
    """
    n = len(values)
    if not (2 <= n <= MAX_GRADES and n_rows >= SHARED_ROWS * n):
        return False
    run = next((k for k in range(n) if values[k] != values[0] + k), n)
    runs_on = run >= LONG_RUN or run == n > 2
    return not runs_on or (values[0] == 1 and n <= SHORT_LIST)


def _edges(
    counts: pl.DataFrame, spikes: tuple[float, ...], bounds: tuple[float, float], *, whole: bool
) -> int | tuple[float, ...]:
    """Bins of equal width; where most numbers lie close together, round edges near quantiles."""
    rest = counts.filter(~np.isin(counts["value"].to_numpy(), spikes))
    values, rows = rest["value"].to_numpy(), rest["rows"].to_numpy().astype(np.int64)
    wide = math.isinf(bounds[1] - bounds[0])
    if wide or len(values) <= MAX_GRADES or not is_crowded(values, rows):
        return DEFAULT_BINS
    edges = round_edges(values, rows, bounds, DEFAULT_BINS, whole=whole)
    return tuple(int(edge) for edge in edges) if whole else edges


_Binned = TypeVar("_Binned", Integer, Continuous)


def _fitting(
    kind: type[_Binned], entries: dict[str, Any], *binnings: tuple[Any, tuple[float, ...]]
) -> _Binned | None:
    """The column with the first of several pairs of bins and spikes that holds together."""
    for bins, spikes in binnings:
        try:
            return kind(**entries, bins=bins, spikes=spikes)
        except ValidationError:
            continue
    return None


def _spikes(counts: pl.DataFrame, n_rows: int) -> tuple[float, ...]:
    often = counts.filter(counts["rows"] > max(SPIKE_SHARE * n_rows, SHARED_ROWS - 1))
    return tuple(sorted(often["value"].to_list()))
