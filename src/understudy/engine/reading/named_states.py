"""States that have a name (levels, spikes, codes of absence), and which values are meant by it.

A value is the state that has its very text; else the one that has its truth value, its day or its
number. Every rule is about one value, whatever type its column has.

**Numbers.** A number is meant if it differs from the declared one by at most 2⁻²³ of it, the
relative width of 32-bit floats: 0.1 stored in 32 bits is meant as 0.1, also after it was widened to
64 bits. Of several such states, the nearest has it; of two that are as near, the smaller. Whole
numbers are compared exactly in columns of whole numbers and times, and where the state was declared
as text, so that long codes stay apart.

**Texts.** What a text says (a number, a truth value, a day) is read off it alone.
"""

from __future__ import annotations

import datetime
import re
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.engine.number_states import Keys
from understudy.engine.reading.calendar_places import places_of_texts
from understudy.schema import NUMERIC, Calendar, Column, Datetime, Duration, Integer, Time
from understudy.schema.cell_values import CLOSE, EXACT_INTEGER, Code, text_of

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


def numbers_of(text: pl.Series) -> NDArray[np.float64]:
    """The number that each text denotes, NaN where there is none; shape (n,).

    "true" and "false" are 1 and 0, as they are where a table holds truth values beside numbers.
    """
    found = text.to_frame("text").select(
        _NUMBER.fill_null(np.nan).alias("number"),
        (_NUMBER.is_null() & _WORD.is_not_null()).alias("rest"),
    )
    numbers = _own(found["number"])
    rest = found["rest"].to_numpy().nonzero()[0]
    if len(rest):
        numbers[rest] = truths_of(text.gather(rest))
    return numbers


def truths_of(text: pl.Series) -> NDArray[np.float64]:
    """1 for "true" and 0 for "false" in any case, NaN for other texts; shape (n,)."""
    return _own(text.to_frame("text").select(_TRUTH.fill_null(np.nan).alias("truth"))["truth"])


def as_floats(values: pl.Series) -> NDArray[np.float64]:
    """Numbers in 64 bits, NaN for null; shape (n,), an array of its own."""
    if values.dtype in _NUMPY and not values.null_count():  # in one step
        return values.to_numpy().astype(np.float64)
    return _own(values.cast(pl.Float64, strict=False).fill_null(np.nan))


def _own(numbers: pl.Series) -> NDArray[np.float64]:
    """Numbers without a null, as an array that may be written to."""
    return numbers.to_numpy().astype(np.float64)


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
        """How a place is written plainly."""
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
    """Whether it is a text that is worth reading as a number: one has a digit, or is a word."""
    if not isinstance(value, str):
        return False
    return any(map(str.isdigit, value)) or any(word in value.lower() for word in _NUMBER_WORDS)


def _may_be_a_day(value: Code) -> bool:
    """Whether it is a text that is worth reading as a day: one is written with hyphens."""
    return isinstance(value, str) and "-" in value


def _is_long(value: str) -> bool:
    """Whether a text is a whole number that 64-bit floats cannot tell from its neighbours."""
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
