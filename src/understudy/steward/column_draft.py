"""Drafts of columns from what their values look like.

Numbers that crowd together have bins with round edges near the quantiles. CONFIDENTIAL.

**Round bounds, and round edges of bins near quantiles, as people would have written them.**

CONFIDENTIAL: they follow from the rows.

**How a text file seems to be written: encoding, separator, quote and marks. CONFIDENTIAL.**

All of it is read from the rows, where a single record can decide it (one byte of Latin-1 makes a
file windows-1252), so it is for drafts alone, and what is found needs review like a bound.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ValidationError

from understudy.data.csv import SEPARATORS, Delimited, cells_of, decode_text, thousands_pattern
from understudy.errors import DataError
from understudy.metadata.variables import stated_range
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
from understudy.schema.base import EXACT_INTEGER, number_of
from understudy.schema.file_format import RECORD_LINES, Encoding, FileFormat
from understudy.schema.numeric import DEFAULT_BINS, LARGEST, ONE_BIN_EACH
from understudy.schema.temporal import DAY_SECONDS, span_text
from understudy.steward.conventions import Form, propose_form
from understudy.steward.profile import Categories, Profile, Profiler

_ROUNDED_DAYS = 100  # of a shorter time, a month would be much


def months_around(
    first: datetime.datetime, last: datetime.datetime
) -> tuple[datetime.datetime, datetime.datetime]:
    """The first second of one's month and the last one of the other's, of more than 100 days.

    Args:
        first: smallest moment.
        last: largest moment.
    """
    if (last - first).days < _ROUNDED_DAYS:
        return first, last
    day = datetime.timedelta(days=1)
    begin = first.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    n_days = calendar.monthrange(last.year, last.month)[1]
    end = last.replace(day=n_days, hour=0, minute=0, second=0, microsecond=0)
    return begin, end + (day - datetime.timedelta(seconds=1))


def rounded_outward(low: float, high: float) -> tuple[float, float]:
    """Bounds to two digits of the range: 1000.132 and 1000.874 become 1000.13 and 1000.88."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    step = Decimal(1).scaleb((last - first).adjusted() - 1)
    lower = (first / step).to_integral_value(ROUND_FLOOR) * step
    upper = (last / step).to_integral_value(ROUND_CEILING) * step
    return float(lower), float(upper)


def is_crowded(values: NDArray[np.float64], rows: NDArray[np.int64]) -> bool:
    """Return whether equal bins would suit numbers badly: most of them lie close together.

    They do if the middle half of the rows lies within an eighth of the range, or the median within
    the first or last quarter of it. (Of a bell-shaped sample, neither holds up to millions of rows;
    of incomes, durations and counts of rare things, one does.)

    Args:
        values: different numbers, ascending, shape (k,).
        rows: how many rows have each, shape (k,).
    """
    width = values[-1] - values[0]
    first, median, third = _quantiles(values, rows, np.array([0.25, 0.5, 0.75]))
    place = (median - values[0]) / width
    return bool(third - first < width / 8 or not 0.25 <= place <= 0.75)


def round_edges(
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    bounds: tuple[float, float],
    n_bins: int,
    *,
    whole: bool,
) -> tuple[float, ...]:
    """Edges from bound to bound, near the quantiles, each as round as the space between them lets.

    Args:
        values: different numbers, ascending, shape (k,).
        rows: how many rows have each, shape (k,).
        bounds: first and last edge.
        n_bins: most bins; there are fewer where quantiles fall together.
        whole: whether edges must be whole numbers.
    """
    quantiles = np.unique(_quantiles(values, rows, np.arange(1, n_bins) / n_bins))
    inner = quantiles[(quantiles > bounds[0]) & (quantiles < bounds[1])].tolist()
    marks = [bounds[0], *inner, bounds[1]]
    middles = [low + (high - low) / 2 for low, high in pairwise(marks)]
    edges = [
        _roundest(low, high, near, whole=whole)
        for (low, high), near in zip(pairwise(middles), inner, strict=True)
    ]
    return (bounds[0], *sorted({edge for edge in edges if bounds[0] < edge < bounds[1]}), bounds[1])


def _quantiles(
    values: NDArray[np.float64], rows: NDArray[np.int64], levels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The smallest value that has at least a share of the rows at or below it."""
    places = np.searchsorted(np.cumsum(rows), levels * rows.sum())
    return np.asarray(values[np.minimum(places, len(values) - 1)])


def _roundest(low: float, high: float, near: float, *, whole: bool) -> float:
    """Of the numbers between two, the one with the fewest digits; of those, the nearest to one."""
    first, last, centre = (Decimal(repr(number)) for number in (low, high, near))
    for step in _steps((last - first).adjusted() + 1):
        if whole and step < 1:
            break
        multiples = {
            (centre / step).to_integral_value(rounding) * step
            for rounding in (ROUND_FLOOR, ROUND_CEILING)
        }
        inside = [multiple for multiple in multiples if first < multiple < last]
        if inside:
            return float(min(inside, key=lambda multiple: (abs(multiple - centre), multiple)))
    return near


def _steps(exponent: int) -> Iterator[Decimal]:
    """10, 5, 2, 1, 0.5, … times a power of ten."""
    for k in range(exponent, exponent - 5, -1):
        for digit in (5, 2, 1):
            yield Decimal(digit).scaleb(k)


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
_ASK_ORDER = (
    "it holds days whose day and month cannot be told apart: ask who wrote them, and declare it "
    "with lower, upper and the right one of format = {}"
)
_NO_BINS = "its range cannot be cut into bins; write it in another unit, or declare it by hand"


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
        column = form.column.model_copy(update={"missing": profile.codes} | _written(profile))
    elif declared is not None and len(declared.levels) <= MAX_LEVELS:
        column = _of_categories(declared, profile, profiler)
    else:
        column = read_column(profile, profiler)
    return mark_drafted(column, profile)


def mark_drafted(column: Column, profile: Profile) -> Column:
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
    return propose_form(profile.name, profile.shape)


def read_column(profile: Profile, profiler: Profiler) -> Column:
    """The column that its profile suggests.

    Raises:
        LeftOutError: none can be drafted.
    """
    codes = {"missing": profile.codes, **_written(profile)}
    if len(profile.formats) > 1:
        raise LeftOutError(_ASK_ORDER.format(" or ".join(map(repr, profile.formats))))
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


def _written(profile: Profile) -> dict[str, str]:
    """How texts of a column write its values, where not plainly."""
    told = {"unit": profile.unit, "format": profile.formats[0] if profile.formats else ""}
    return {key: value for key, value in told.items() if value}


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
    reason = profile.meant or _IDENTIFIER
    if profile.n_texts > 2 * MAX_LEVELS:
        raise LeftOutError(reason)
    counts = profiler.counts(profile)
    all_different = counts.height > _ALL_DIFFERENT and counts["rows"].max() == 1
    if (
        counts.height > MAX_LEVELS
        or all_different
        or (profile.meant and counts.height > MAX_GRADES)
    ):
        raise LeftOutError(reason)
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
    if max(abs(profile.low), abs(profile.high)) > LARGEST:
        raise LeftOutError(_NO_BINS)
    if counts.height == 1 or grades:
        return Ordinal(kind="ordinal", levels=tuple(counts["value"].to_list()), **codes)
    bounds = rounded_outward(profile.low, profile.high)
    spikes = _spikes(counts, profiler.n_rows)
    entries = {"kind": "continuous", "lower": bounds[0], "upper": bounds[1], **codes}
    entries["decimals"] = profile.decimals
    edges = _edges(counts, spikes, bounds, whole=False)
    column = _fitting_kind(Continuous, entries, (edges, spikes), (DEFAULT_BINS, spikes))
    if column is None:
        raise LeftOutError(_NO_BINS)
    return column


def _whole(profile: Profile, profiler: Profiler, codes: dict[str, Any]) -> Integer | Categorical:
    lower, upper = int(profile.low), int(profile.high)
    stated = stated_range(profile.name)
    if stated and stated[0] <= lower and upper <= stated[1]:
        return Integer(kind="integer", lower=stated[0], upper=stated[1], **codes)
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
    fitting = _fitting_kind(
        Integer, entries, (edges, spikes), (DEFAULT_BINS, spikes), (DEFAULT_BINS, ())
    )
    assert fitting is not None
    return fitting


def _are_codes(values: list[int], n_rows: int) -> bool:
    """Return whether whole numbers, ascending, rather name things than count or measure them.

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
    if len(values) <= MAX_GRADES or not is_crowded(values, rows):
        return DEFAULT_BINS
    edges = round_edges(values, rows, bounds, DEFAULT_BINS, whole=whole)
    return tuple(int(edge) for edge in edges) if whole else edges


_Binned = TypeVar("_Binned", Integer, Continuous)


def _fitting_kind(
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


_LINES = 2000
_LOST_JOINS = 50  # lines whose quote nothing closes, after which none is looked for any more
_LEAST_SHARE = 0.5
_NEARLY_ALL = 0.8
_FEW_LINES = 3  # a header and two lines, which say little about their form
_ESCAPED = re.compile("[\udc80-\udcff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SURE = {
    ".": re.compile(r"\s*[+-]?\d{1,3}(?:(?:,\d{3}){2,}|(?:,\d{3})+\.\d+)\s*", re.ASCII),
    ",": re.compile(r"\s*[+-]?\d{1,3}(?:(?:\.\d{3}){2,}|(?:\.\d{3})+,\d+)\s*", re.ASCII),
}
"""Decimal mark → numbers that have the other mark between their thousands, and can have no other
meaning."""

_UNIT = re.compile(r"^[+-]?[^\d.,]{1,20}(?=[\d+-])|(?<=\d)[^\d.,]{1,20}$", re.ASCII)
_NUMBER = {
    mark: re.compile(
        rf"\s*[+-]?\d+(?:[ '\u2009\u00a0\u202f]\d{{3}})*{re.escape(mark)}\d+\s*", re.ASCII
    )
    for mark in ".,"
}


def sniff_format(path: Path) -> FileFormat:
    """The form that a text file seems to have.

    Raises:
        DataError: the file breaks off, its compression is damaged, it has no header, or most of its
            lines fit no form.
    """
    # Read as single bytes: what the lines are depends on no encoding.
    file = Delimited(path, FileFormat(encoding="latin-1", separator="\x1f", quote=""))
    encoding = _guess_encoding(file)
    lines = _lines(file, encoding)
    usual = FileFormat().separator_in(path.name)
    # Of those that fit equally well, the first is taken.
    candidates = sorted(SEPARATORS, key=lambda mark: mark != usual)
    best = max((_Fit.of(lines, mark) for mark in candidates), key=_Fit.rank)
    if _fits_little(best, lines):
        raise DataError(
            f"The file {str(path)!r} cannot be drafted: most of its lines have not as many cells "
            "as its header, by commas, semicolons, tabs or bars. Take out lines above the names of "
            "the columns, and save it anew as CSV with line breaks inside cells left out; or say "
            "how it is written, as --file separator=^ (file=)."
        )
    decimal = _decimal(best, lines) if best.separator != "," else "."
    stated = best.separator if best.separator != usual or decimal == "," else ""
    form = FileFormat(
        encoding=encoding,
        separator=stated,
        quote=best.quote,
        decimal=decimal,
        thousands=_thousands(best, lines, decimal),
        multiline=best.multiline,
    )
    return _with_late_breaks(path, form)


def _with_late_breaks(path: Path, form: FileFormat) -> FileFormat:
    """The form, with `multiline` where more records fit so; breaks may begin behind the sample."""
    if form.multiline or not form.quote:
        return form
    several = form.model_copy(update={"multiline": True})
    try:
        malformed = Delimited(path, form).faults(0)[1]
        fewer = malformed and Delimited(path, several).faults(0)[1] < malformed
    except DataError:  # the header cannot be read, which whoever reads the file is told
        return form
    return several if fewer else form


def _lines(file: Delimited, encoding: Encoding) -> list[str]:
    """The header, and the first lines behind it that are text at all."""
    raw = (line for piece in file.pieces() for line in piece.split(b"\n")[:-1])
    texts = (decode_text(line.removesuffix(b"\r"), encoding).decode() for line in raw)
    header = next(texts).removeprefix("\ufeff")
    return [header, *islice((text for text in texts if "\0" not in text), _LINES)]


def _guess_encoding(file: Delimited) -> Encoding:
    """UTF-8, unless more of the characters that are not ASCII cannot be read so than can.

    The alternative is windows-1252, of which Latin-1 is a part, but for control characters.
    """
    unread = read = 0
    for piece in file.pieces():
        if piece.isascii():
            continue
        text = piece.decode("utf-8", "surrogateescape")
        escaped = len(_ESCAPED.findall(text))
        unread += escaped
        read += len(_NOT_ASCII.findall(text)) - escaped
    return "utf-8" if unread <= read else "windows-1252"


@dataclass(frozen=True)
class _Record:
    """Some lines that are read as one record.

    Attributes:
        cells: of the record; why there are none, where the lines make none.
        lines: the lines.
    """

    cells: list[str] | str
    lines: tuple[str, ...]


def _records(lines: list[str], form: FileFormat) -> Iterator[_Record]:
    """Records of some lines, the header first, as the reader makes them of a whole file."""
    at, n_cells, n_left = 0, None, _LOST_JOINS
    while at < len(lines):
        record = _Record(cells_of(lines[at], form.separator, form), (lines[at],))
        if form.multiline and n_left and isinstance(record.cells, str):
            joined = _join_lines(lines[at : at + RECORD_LINES], form, n_cells)
            record, n_left = joined or record, n_left - (joined is None)
        if n_cells is None and isinstance(record.cells, list):
            n_cells = len(record.cells)
        yield record
        at += len(record.lines)


def _join_lines(lines: list[str], form: FileFormat, n_cells: int | None) -> _Record | None:
    """The shortest record of several lines, the first among them, that fits; None if none does."""
    n_quotes = lines[0].count(form.quote)
    for k, text in enumerate(lines[1:], 2):
        n_quotes += text.count(form.quote)
        if n_quotes % 2:
            continue
        cells = cells_of("\n".join(lines[:k]), form.separator, form)
        if isinstance(cells, list) and n_cells in (None, len(cells)):
            return _Record(cells, tuple(lines[:k]))
    return None


@dataclass(frozen=True)
class _Fit:
    """The fit of lines to a separator, with the quote that suits them.

    Attributes:
        separator: between cells.
        quote: around cells, or "".
        multiline: whether cells have line breaks.
        n_cells: of the header.
        share: of the lines that stand in a record of as many cells.
    """

    separator: str
    quote: str
    multiline: bool
    n_cells: int
    share: float

    @classmethod
    def of(cls, lines: list[str], separator: str) -> _Fit:
        """Of a header and the lines behind it."""
        quote, multiline = _quote(lines, separator)
        form = FileFormat(separator=separator, quote=quote, multiline=multiline)
        header, *records = _records(lines, form)
        if isinstance(header.cells, str):
            return cls(separator, quote, multiline, 1, 0.0)
        n_cells = len(header.cells)
        fits = sum(len(one.lines) for one in records if _has(one, n_cells))
        n_lines = len(lines) - len(header.lines)
        return cls(separator, quote, multiline, n_cells, fits / n_lines if n_lines else 1.0)

    def cells(self, lines: list[str]) -> Iterator[str]:
        """Cells behind the header, of the lines that fit, without units at their ends."""
        form = FileFormat(separator=self.separator, quote=self.quote, multiline=self.multiline)
        for record in islice(_records(lines, form), 1, None):
            cells = record.cells if isinstance(record.cells, list) else ()
            yield from (_UNIT.sub("", cell) for cell in cells)

    def rank(self) -> tuple[float, float, int]:
        """Several columns come before one, then many lines that fit, then many columns."""
        return self.share * (self.n_cells > 1), self.share, self.n_cells


def _fits_little(fit: _Fit, lines: list[str]) -> bool:
    """Return whether so many lines do not fit that the form is rather another one.

    A header of one cell fits every line by some separator; then it is whether another separator
    divides nearly all lines behind it alike, as below a title. Decimal commas do not.
    """
    if len(lines) <= _FEW_LINES:
        return False
    if fit.n_cells > 1 or fit.share < _LEAST_SHARE:
        return fit.share < _LEAST_SHARE
    for separator in SEPARATORS:
        form = FileFormat(separator=separator, quote=fit.quote)
        cells = (cells_of(line, separator, form) for line in lines[1:])
        sizes = Counter(len(one) for one in cells if isinstance(one, list))
        n_cells, n_lines = sizes.most_common(1)[0] if sizes else (1, 0)
        if n_cells > 1 and n_lines > _NEARLY_ALL * (len(lines) - 1):
            return not _many(_NUMBER[","], lines) > n_lines / 2
    return False


def _has(record: _Record, n_cells: int) -> bool:
    return isinstance(record.cells, list) and len(record.cells) == n_cells


def _quote(lines: list[str], separator: str) -> tuple[str, bool]:
    """The mark that more lines have rightly than wrongly; the usual one where none has any.

    Besides, whether its cells have line breaks: only where records of several lines fit.
    """
    for quote in ('"', "'"):
        form = FileFormat(separator=separator, quote=quote)
        marked = [line for line in lines if quote in line]
        rightly = sum(isinstance(cells_of(line, separator, form), list) for line in marked)
        if quote == '"' and rightly < len(marked):
            several = form.model_copy(update={"multiline": True})
            joined = _rightly(lines, several)
            if joined > rightly and 2 * joined > len(marked):
                return quote, True
        if 2 * rightly > len(marked):
            return quote, False
        if not marked and quote == '"' and "'" not in lines[0]:
            return quote, False
    return ("" if any('"' in line for line in lines) else '"'), False


def _rightly(lines: list[str], form: FileFormat) -> int:
    """Count lines with the quote that stand in a record with as many cells as the header."""
    header, *records = _records(lines, form)
    if isinstance(header.cells, str):
        return 0
    fitting = (one for one in (header, *records) if _has(one, len(header.cells)))
    return sum(form.quote in line for one in fitting for line in one.lines)


def _decimal(fit: _Fit, lines: list[str]) -> str:
    """A comma, if more cells are numbers, with or without a unit, with a comma than with a point.

    A number that has both, or one of them twice, says which of them stands between thousands.
    """
    cells = list(fit.cells(lines))
    sure = {mark: _many(_SURE[mark], cells) for mark in ".,"}
    if sure["."] != sure[","]:
        return "," if sure[","] > sure["."] else "."
    return "," if _many(_NUMBER[","], cells) > _many(_NUMBER["."], cells) else "."


def _thousands(fit: _Fit, lines: list[str], decimal: str) -> str:
    """The mark between thousands that most numbers have; "" if none has any for sure."""
    cells = list(fit.cells(lines))
    found = {}
    for mark in (" ", "'", "," if decimal == "." else "."):
        if mark == fit.quote:
            continue
        form = FileFormat(separator=fit.separator, decimal=decimal, thousands=mark, quote=fit.quote)
        found[mark] = _many(re.compile(thousands_pattern(form)), cells)
        if mark in ".," and not _many(_SURE[decimal], cells) and decimal == ".":
            found[mark] = 0  # 1,234 alone may as well be a little more than one
    best = max(found, key=lambda mark: found[mark])
    return best if found[best] else ""


def _many(pattern: re.Pattern[str], cells: list[str]) -> int:
    return sum(pattern.fullmatch(cell) is not None for cell in cells)
