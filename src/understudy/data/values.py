"""States that have a name (levels, spikes, codes of absence), and which values are meant by it.

A value is the state that has its very text; else the one that has its truth value, its day or its
number. Every rule is about one value, whatever type its column has.

**Numbers.** A number is meant if it differs from the declared one by at most 2⁻²³ of it, the
relative width of 32-bit floats: 0.1 stored in 32 bits is meant as 0.1, also after it was widened to
64 bits. Of several such states, the nearest has it; of two that are as near, the smaller. Whole
numbers are compared exactly in columns of whole numbers and times, and where the state was declared
as text, so that long codes stay apart.

**Texts.** What a text says (a number, a truth value, a day) is read off it alone.

**Places on the line of days, moments, times of day and durations, as texts and types say them.**

Each value is read by itself: NaN stands for what is no such thing, infinity for a moment or a day
that is there and has no place on the column's line. A day is its midnight in a column of moments; a
moment is its local day everywhere else. What names a zone is brought to the zone that the column
declares, and is taken by its own clock where none is declared. Units are cut downwards.

**States of numbers and days: named ones, spikes and bins, all found by one compiled kernel.**

What one number means depends on that number and on the column's declaration alone.

* Within the bounds it is a spike, or lies in a bin, and is never a code.
* Else it is the named state whose number it means, if there is one.
* Else it is clipped to the bounds, if the column has bins and the number is finite, and lies in the
  first or last of them, or is the spike there.

Columns of whole numbers and of times take whole numbers only.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Floats, compiled
from understudy.schema import (
    NUMERIC,
    Calendar,
    Column,
    Continuous,
    Date,
    Datetime,
    Duration,
    Integer,
    Time,
)
from understudy.schema.base import CLOSE, EXACT_INTEGER, Code, text_of
from understudy.schema.temporal import DAY_SECONDS
from understudy.schema.time_expressions import (
    local_seconds,
    seconds_in_format,
    seconds_of_days,
    seconds_of_moments,
    seconds_of_spans,
    seconds_of_times,
)


def places_of_texts(text: pl.Series, column: Column) -> Floats:
    """Place of each text on the column's line, NaN where it has none; shape (n,).

    Args:
        text: shape (n,).
        column: of which the days are asked for where it is no `Calendar`.
    """
    place = _seconds(column).floordiv(_unit(column)).cast(pl.Float64).fill_null(np.nan)
    return _writable(text.to_frame("text").select(place.alias("place")).to_series())


def _seconds(column: Column) -> pl.Expr:
    text = pl.col("text")
    if isinstance(column, Time):
        return seconds_of_times(text)
    if isinstance(column, Duration):
        return seconds_of_spans(text)
    in_iso = (
        seconds_of_moments(text, column.timezone)
        if isinstance(column, Datetime)
        else seconds_of_days(text)
    )
    if isinstance(column, Date | Datetime) and column.format:
        return pl.coalesce(in_iso, seconds_in_format(text, column.format))
    return in_iso


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
    return _writable(values.to_frame("moment").select(found.alias("place")).to_series())


def _writable(numbers: pl.Series) -> Floats:
    """Numbers without a null, as an array that may be written to."""
    return numbers.to_numpy().astype(np.float64)


States = NDArray[np.int64]

NOWHERE = -1
"""Stands for no state."""

_PARTS = 2**10


class Keys(NamedTuple):
    """States by a number.

    Attributes:
        numbers: of each state, ascending; shape (k,).
        states: shape (k,).
        close: how far a value may be from the number, relative to it.
    """

    numbers: Floats
    states: States
    close: float

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, int]] = (), close: float = 0.0) -> Keys:
        """From pairs of number and state."""
        ordered = sorted(pairs)
        numbers = np.array([number for number, _ in ordered], dtype=np.float64)
        return cls(numbers, np.array([state for _, state in ordered], dtype=np.int64), close)


class _Bins(NamedTuple):
    """Bins and spikes of a column.

    Attributes:
        starts: lower edge of each bin, ascending; shape (k,); none for a column without bins.
        states: of each bin, shape (k,).
        short: what 32 bits make of each edge where that counts as the edge; else NaN; shape (k,).
        spikes: states of a single number.
        low: lower bound; above `high` for a column without bins.
        high: upper bound.
        whole: whether only whole numbers are values.
        guide: a bin near each of equal parts of the line from `low` to `high`: to search on from.
        scale: parts per unit; 0 without a guide.
    """

    starts: Floats
    states: States
    short: Floats
    spikes: Keys
    low: float
    high: float
    whole: bool
    guide: NDArray[np.int64]
    scale: float


@dataclass(frozen=True)
class NumberStates:
    """Finds the states of numbers.

    Attributes:
        exact: named states whose very number is meant.
        close: named states that a number near theirs means; asked after the others.
        column: whose bins and spikes hold the other numbers, if any do.
    """

    exact: Keys
    close: Keys = field(default_factory=Keys.of)
    column: Integer | Continuous | Calendar | None = None
    _bins: _Bins = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bins", _bins(self.column))

    @property
    def is_empty(self) -> bool:
        """Whether no number has a state."""
        return self.column is None and not self.exact.states.size and not self.close.states.size

    def find(self, values: Floats, *, absent: int = NOWHERE, lost: int = NOWHERE) -> States:
        """State of each number; shape (n,).

        Args:
            values: numbers on the column's line; shape (n,), not changed.
            absent: state of NaN.
            lost: state of what fits none.
        """
        found = np.empty(len(values), dtype=np.int64)
        _find_all(values, (self.exact, self.close), self._bins, (absent, lost), found)
        return found


def _bins(column: Integer | Continuous | Calendar | None) -> _Bins:
    intervals = [] if column is None else list(enumerate(column.intervals))
    low, high = (np.inf, -np.inf) if column is None else column.bounds
    whole = not isinstance(column, Continuous)
    bins = [(float(one.low), k) for k, one in intervals if not one.spike]
    spikes = [(float(one.low), k) for k, one in intervals if one.spike]
    starts = np.array([start for start, _ in bins], dtype=np.float64)
    states = np.array([k for _, k in bins], dtype=np.int64)
    keys = Keys.of(spikes, 0.0 if whole else CLOSE)
    short, low, high = _in_32_bits(starts), float(low), float(high)
    return _Bins(starts, states, short, keys, low, high, whole, *_guide(starts, low, high))


def _guide(starts: Floats, low: float, high: float) -> tuple[NDArray[np.int64], float]:
    """See `_Bins`."""
    width = high - low
    if width <= 0:  # no column, or a single value
        return np.zeros(1, np.int64), 0.0
    edges = np.linspace(low, high, _PARTS + 1)
    near = np.clip(np.searchsorted(starts, edges, side="right") - 1, 0, None)
    # One part more, for a product that was rounded up.
    return np.append(near, near[-1]), _PARTS / width


def _in_32_bits(starts: Floats) -> Floats:
    """Round each edge to 32 bits where that is less and no whole number; else NaN.

    It counts as the edge: 0.7 stored in 32 bits lies a little below.
    """
    with np.errstate(over="ignore"):
        short = starts.astype(np.float32).astype(np.float64)
    less = (short < starts) & (short != np.floor(short))
    less[1:] &= short[1:] > starts[:-1]
    return np.where(less, short, np.nan)


@compiled
def _find_all(
    values: Floats,
    named: tuple[Keys, Keys],
    bins: _Bins,
    otherwise: tuple[int, int],
    found: States,
) -> None:
    """`NumberStates.find`, number by number; what is written out here is compiled soonest."""
    starts, states, short, spikes, low, high, whole, guide, scale = bins
    at, at_states, near = spikes
    exact, exact_states, _ = named[0]
    close, close_states, reach = named[1]
    absent, lost = otherwise
    for i in range(len(values)):
        value, state = values[i], NOWHERE
        inside = low <= value <= high  # most are: nothing else is asked of them
        if not inside:
            if np.isnan(value):
                found[i] = absent
                continue
            state = _key(exact, exact_states, 0.0, value)
            if state == NOWHERE:
                state = _key(close, close_states, reach, value)
        fits = inside or (np.isfinite(value) and low <= high)
        if state == NOWHERE and fits and (not whole or value == np.floor(value)):
            if not inside:
                value = low if value < low else high
            if len(at) > 0:
                state = _key(at, at_states, near, value)  # also one that was clipped onto a spike
            if state == NOWHERE and len(starts) > 0:
                place = guide[np.int64((value - low) * scale)] if scale > 0 else 0
                while place + 1 < len(starts) and starts[place + 1] <= value:
                    place += 1
                while place > 0 and starts[place] > value:  # the product was rounded up
                    place -= 1
                if place + 1 < len(starts) and value == short[place + 1]:
                    place += 1
                state = states[place]
        found[i] = lost if state == NOWHERE else state


@compiled(no_cpython_wrapper=True)
def _key(numbers: Floats, states: States, close: float, value: float) -> int:
    """The state whose number is meant: the nearest within reach, of two as near the smaller.

    Only the neighbours on both sides need to be asked: one further off is beyond its own reach if
    the nearer one is, since reach grows in proportion to the number.
    """
    n = len(numbers)
    nearest, state = np.inf, NOWHERE
    left = _last_below(numbers, value)
    for k in range(left, left + 2 if left + 2 < n else n):
        number = numbers[k]
        gap = 0.0 if number == value else abs(value - number)
        if (number == value or gap <= close * abs(number)) and gap < nearest:
            nearest, state = gap, states[k]
    return state


@compiled(inline="always")
def _last_below(numbers: Floats, value: float) -> int:
    """Place of the last number that is at most some value; of the first number if all are above."""
    place, n = 0, len(numbers)
    while n > 1:
        half = n // 2
        place += half * (numbers[place + half] <= value)  # no branch: it could not be foreseen
        n -= half
    return place


WORDS: Final = {"false": 0, "true": 1}
"""Truth values as words, in lower case; in the rows they stand in any case."""

_NUMPY: Final = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64),
)

# Expressions, which Polars runs in one go: on a small column each step by itself costs as much.
_WORD = pl.col("text").str.strip_chars()
_NUMBER = _WORD.cast(pl.Float64, strict=False)
_TRUTH = _WORD.str.to_lowercase().replace_strict(WORDS, default=None, return_dtype=pl.Float64)


_BLANKS: Final = r"\s*"


def unit_in(column: Column) -> str:
    """The unit that texts of a column may have beside their numbers; "" for none."""
    return "" if isinstance(column, Calendar) else column.unit.strip()


def numbers_of(text: pl.Series, unit: str = "") -> NDArray[np.float64]:
    """The number that each text denotes, NaN where there is none; shape (n,).

    "true" and "false" are 1 and 0, as they are where a table holds truth values beside numbers.

    Args:
        text: shape (n,).
        unit: that may stand beside a number.
    """
    frame = text.to_frame("text")
    if unit:
        frame = frame.select(without_unit(pl.col("text"), unit))
    found = frame.select(
        _NUMBER.fill_null(np.nan).alias("number"),
        (_NUMBER.is_null() & _WORD.is_not_null()).alias("rest"),
    )
    numbers = _writable(found["number"])
    rest = found["rest"].to_numpy().nonzero()[0]
    if len(rest):
        numbers[rest] = truths_of(text.gather(rest))
    return numbers


def without_unit(text: pl.Expr, unit: str) -> pl.Expr:
    """Numbers without the unit before or behind them; what is a number already stays.

    Args:
        text: of a column of numbers.
        unit: as it is declared.

    Example:
        >>> texts = pl.DataFrame({"text": ["130 EUR", "-EUR 5", "EUR", "7", "7 USD"]})
        >>> texts.select(without_unit(pl.col("text"), "EUR"))["text"].to_list()
        ['130', '-5', 'EUR', '7', '7 USD']
    """
    mark = rf"(?:{_BLANKS.join(map(re.escape, unit.split()))})?{_BLANKS}"
    around = rf"^{_BLANKS}{mark}([+-]?){_BLANKS}{mark}([0-9.,](?:[^A-Za-z]*[0-9])?){_BLANKS}{mark}$"
    number = text.str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(number.is_null()).then(text.str.replace(around, "$1$2")).otherwise(text)


def truths_of(text: pl.Series) -> NDArray[np.float64]:
    """1 for "true" and 0 for "false" in any case, NaN for other texts; shape (n,)."""
    return _writable(text.to_frame("text").select(_TRUTH.fill_null(np.nan).alias("truth"))["truth"])


def as_floats(values: pl.Series) -> NDArray[np.float64]:
    """Numbers in 64 bits, NaN for null; shape (n,), an array of its own."""
    if values.dtype in _NUMPY and not values.null_count():  # in one step
        return values.to_numpy().astype(np.float64)
    return _writable(values.cast(pl.Float64, strict=False).fill_null(np.nan))


Family = Literal["numbers", "truth values", "days"]

_OWN_LINES = (Datetime, Time, Duration)
_PLAIN_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_PLAIN_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER_WORDS = ("inf", "nan", *WORDS)
_EPOCH = datetime.date(1970, 1, 1).toordinal()


class Named:
    """The named states of a column.

    Args:
        column: its declaration.

    Attributes:
        texts: text → state.
        truths: truth value → state.
        exact: states that are a number, and meant by no other.
        close: states that are a number, and meant by those near it.
        days: states that are a day, or a place on the line of a column of times.
        unclear: kinds of values that cannot tell all states apart, because some differ as texts
            only ("03" and "3"): a column of such values has lost what the texts said.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        states = _named_states(column)
        self._declared = {state: value for value, state in states}
        self.texts = {text_of(value): state for value, state in states}
        self.unclear: set[Family] = set()
        self.truths = self._single("truth values", _truths(states))
        self.days = Keys.of(self._single("days", self._days(states)).items())
        self.exact, self.close = self._numbers(states)
        if isinstance(column, NUMERIC) and not isinstance(column, Calendar):
            low, high = column.bounds
            if any(low <= truth <= high for truth in self.truths):
                self.unclear.add("truth values")  # true is the code "true" and the number 1

    def _numbers(self, states: list[tuple[Code, int]]) -> tuple[Keys, Keys]:
        """States that are a number: compared exactly, and closely."""
        entries = []
        for (value, state), number in zip(states, _numbers(states), strict=True):
            if isinstance(value, str) and _is_long(value):
                self.unclear.add("numbers")
            elif not np.isnan(number):
                entries.append((float(number), value, state))
        exact: list[tuple[float, int]] = []
        close: list[tuple[float, int]] = []
        for number, state in self._single("numbers", entries).items():
            (exact if self._is_exact(number, state) else close).append((number, state))
        return Keys.of(exact), Keys.of(close, CLOSE)

    def _is_exact(self, number: float, state: int) -> bool:
        as_text = isinstance(self._declared[state], str | bool)
        whole = as_text or isinstance(self._column, Integer | Calendar)
        return not np.isfinite(number) or (whole and number.is_integer())

    def _days(self, states: list[tuple[Code, int]]) -> list[tuple[float, Code, int]]:
        """States that are a day; a day with a time of day is a text only."""
        entries = []
        has_days = not isinstance(self._column, _OWN_LINES)
        for (value, state), day in zip(states, _places(self._column, states), strict=True):
            cut = isinstance(value, str) and not _PLAIN_DAY.fullmatch(value.strip())
            if has_days and cut:
                if not np.isnan(day):
                    self.unclear.add("days")
            elif not np.isnan(day):
                entries.append((float(day), value, state))
        return entries

    def _single(self, family: Family, entries: list[tuple[float, Code, int]]) -> dict[float, int]:
        """Place → state.

        Of texts that share a place ("03", "3") the plain one has it; without a plain one ("03",
        "003") each is meant by its text only.
        """
        places: dict[float, list[tuple[Code, int]]] = {}
        for place, value, state in entries:
            places.setdefault(place, []).append((value, state))
        single = {}
        for place, sharing in places.items():
            if len(sharing) == 1:
                single[place] = sharing[0][1]
                continue
            self.unclear.add(family)
            plain = [
                state for value, state in sharing if text_of(value) == self._plain(family, place)
            ]
            if plain:
                single[place] = plain[0]
        return single

    def _plain(self, family: Family, place: float) -> str:
        """Write a place plainly."""
        if family == "truth values":
            return text_of(bool(place))
        if family == "days" and isinstance(self._column, _OWN_LINES):
            return self._column.text_at(int(place))
        if family == "days":
            return (
                text_of(datetime.date.fromordinal(int(place) + _EPOCH)) if place > -_EPOCH else ""
            )
        return text_of(place)


def _named_states(column: Column) -> list[tuple[Code, int]]:
    """Levels and codes of absence, or for numbers the codes; spikes lie among the bins."""
    codes = [(code, column.n_ordinary + k) for k, code in enumerate(column.codes)]
    if isinstance(column, NUMERIC):
        return codes
    return [*((level, k) for k, level in enumerate(column.levels)), *codes]


def _numbers(states: list[tuple[Code, int]]) -> Floats:
    """The number that each state stands for, as the reader of the rows sees it; NaN for none."""
    numbers = np.full(len(states), np.nan)
    written = [(k, value) for k, (value, _) in enumerate(states) if _may_be_a_number(value)]
    if written:
        places, texts = zip(*written, strict=True)
        numbers[list(places)] = numbers_of(pl.Series(texts, dtype=pl.String))
    for k, (value, _) in enumerate(states):
        if isinstance(value, int | float):
            numbers[k] = float(value)
    return numbers


def _places(column: Column, states: list[tuple[Code, int]]) -> Floats:
    """The place of each state on the line of days, or on the column's own; NaN for none."""
    if isinstance(column, _OWN_LINES):
        found = (column.position(value) for value, _ in states)
        return np.array([np.nan if place is None else place for place in found], dtype=np.float64)
    days = np.full(len(states), np.nan)
    written = [(k, value) for k, (value, _) in enumerate(states) if _may_be_a_day(value)]
    if written:
        places, texts = zip(*written, strict=True)
        days[list(places)] = places_of_texts(pl.Series(texts, dtype=pl.String), column)
    for k, (value, _) in enumerate(states):
        if isinstance(value, datetime.date):
            days[k] = float(value.toordinal() - _EPOCH)
    return days


def _may_be_a_number(value: Code) -> bool:
    """Return whether a text is worth reading as a number: one has a digit, or is a word."""
    if not isinstance(value, str):
        return False
    return any(map(str.isdigit, value)) or any(word in value.lower() for word in _NUMBER_WORDS)


def _may_be_a_day(value: Code) -> bool:
    """Return whether a text is worth reading as a day: one is written with hyphens."""
    return isinstance(value, str) and "-" in value


def _is_long(value: str) -> bool:
    """Return whether a text is a whole number that 64-bit floats confuse with its neighbours."""
    word = value.strip()
    return bool(_PLAIN_WHOLE.fullmatch(word)) and abs(_whole(word)) > EXACT_INTEGER


def _whole(word: str) -> float:
    """A whole number; infinite if it has more digits than are worth reading."""
    return float(word) if len(word) > 20 else int(word)


def _truths(states: list[tuple[Code, int]]) -> list[tuple[float, Code, int]]:
    entries: list[tuple[float, Code, int]] = []
    for value, state in states:
        word = text_of(value).strip().lower()
        if word in WORDS and isinstance(value, str | bool):
            entries.append((float(WORDS[word]), value, state))
    return entries
