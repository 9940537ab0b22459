"""Coding rows against the schema: from values to state numbers, one column at a time.

Nothing is dropped and nothing stops: a value that fits no state gets the out-of-domain state.
Every rule here treats each record by itself, so neighbouring tables stay neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import DataError
from understudy.schema import NUMERIC, Boolean, Column, Date, Schema
from understudy.schema.domain import box_contains
from understudy.schema.values import Code, number_of, text_of

Codes = NDArray[np.unsignedinteger]

_WORDS = ["true", "false"]
_DAY = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ].*)?$"


def code_dtype(size: int) -> type[np.unsignedinteger]:
    """Smallest unsigned type for the states 0..size (`size` is the out-of-domain state)."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if size <= np.iinfo(dtype).max:
            return dtype
    raise ValueError("a column has more than 2^32 states")


@dataclass(frozen=True)
class Reading:
    """One batch of a column, read against its declaration; arrays of shape (n,).

    Attributes:
        states: state of each value; `size` where it fits none.
        number: place on the number line (dates: days since 1970-01-01), NaN where there is none.
        absent: null, NaN or empty text.
    """

    states: NDArray[np.int64]
    number: NDArray[np.float64]
    absent: NDArray[np.bool_]

    @classmethod
    def join(cls, parts: Sequence[Reading]) -> Reading:
        """Several batches of one column, one after the other."""
        return cls(
            np.concatenate([part.states for part in parts]),
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.absent for part in parts]),
        )


@dataclass(frozen=True)
class ColumnCoder:
    """Turns the values of one column into state numbers.

    A value is the state that has its very text; else the one that has its number, if there is one
    such state (of "03" and "3", the plain "3"); else, in a numeric column, the bin it lies in after
    clipping to the bounds.

    Attributes:
        name: the column's name, for error messages.
        column: its declaration.
    """

    name: str
    column: Column
    _texts: dict[str, int] = field(init=False, repr=False)
    _numbers: tuple[NDArray[np.float64], NDArray[np.int64]] = field(init=False, repr=False)
    _starts: NDArray[np.float64] = field(init=False, repr=False)
    _bins: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        states = self._named_states()
        object.__setattr__(self, "_texts", {text_of(value): k for value, k in states})
        object.__setattr__(self, "_numbers", _by_number(self._numbered(states)))
        intervals = self.column.intervals if isinstance(self.column, NUMERIC) else ()
        bins = [(one.low, k) for k, one in enumerate(intervals) if not one.spike]
        object.__setattr__(self, "_starts", np.array([low for low, _ in bins], dtype=np.float64))
        object.__setattr__(self, "_bins", np.array([k for _, k in bins], dtype=np.int64))

    def _named_states(self) -> list[tuple[Code, int]]:
        """Values that are a state by name: levels, spikes and the codes of absence."""
        column = self.column
        codes = [(code, column.n_ordinary + k) for k, code in enumerate(column.codes)]
        if isinstance(column, NUMERIC):
            spikes = [(one.low, k) for k, one in enumerate(column.intervals) if one.spike]
            return [*codes, *spikes]
        return [*((level, k) for k, level in enumerate(column.levels)), *codes]

    def _numbered(self, states: list[tuple[Code, int]]) -> list[tuple[Code, float, int]]:
        """Those of the named states that are a number (a day, for dates), with that number."""
        numbered = []
        for value, state in states:
            if isinstance(self.column, NUMERIC):
                number = self.column.position(value)
            else:
                number = float(value) if isinstance(value, bool) else number_of(value)
            if number is not None:
                numbered.append((value, number, state))
        return numbered

    def code(self, values: pl.Series) -> Codes:
        """State of each value; what fits none gets the out-of-domain state.

        Args:
            values: any type that can be read; shape (n,).

        Returns:
            Shape (n,), the smallest unsigned type that holds `size`. The out-of-domain state is
            that of the declared code `out_of_domain`, or `size` if there is none.

        Raises:
            DataError: the type cannot hold such a column at all (a structural fault).
        """
        states, size = self.read(values).states, self.column.size
        if self.column.out_of_domain is not None:
            states[states == size] = size - 1  # the declared code is the last state
        return states.astype(code_dtype(size))

    def read(self, values: pl.Series) -> Reading:
        """What `code` does, with what `check` needs to say why a value fits no state.

        Raises:
            DataError: the type cannot hold such a column at all (a structural fault).
        """
        values = values.alias("values")  # Polars takes some names ("^a$") for patterns
        text, number = self._text_and_number(values)
        size = self.column.size
        states = np.full(len(values), size, dtype=np.int64)
        if isinstance(self.column, NUMERIC):
            self._into_intervals(number, states)
        self._match_numbers(number, states)
        if text is None:
            absent = values.is_null().to_numpy() | np.isnan(number)
        else:
            self._match_texts(text, states)
            absent = text.is_null().to_numpy() | (text == "").fill_null(False).to_numpy()
        states[absent] = self._texts.get("", size)
        return Reading(states, number, absent)

    def _into_intervals(self, number: NDArray[np.float64], states: NDArray[np.int64]) -> None:
        """Clip to the bounds, then find the bin; infinities and NaN stay out of the domain."""
        low, high = self.column.bounds  # type: ignore[union-attr]
        fits = np.isfinite(number)
        if self.column.kind in {"integer", "date"}:
            fits &= number == np.floor(number)
        clipped = np.clip(number[fits], low, high)
        place = np.searchsorted(self._starts, clipped, side="right") - 1
        found = self._bins[np.clip(place, 0, len(self._bins) - 1)]
        keys, numbered = self._numbers
        spike = _lookup(keys, numbered, clipped)  # a value clipped onto a spike belongs to it
        states[fits] = np.where(spike >= 0, spike, found)

    def _match_numbers(self, number: NDArray[np.float64], states: NDArray[np.int64]) -> None:
        found = _lookup(*self._numbers, number)
        states[found >= 0] = found[found >= 0]

    def _match_texts(self, text: pl.Series, states: NDArray[np.int64]) -> None:
        if not self._texts:
            return
        found = text.replace_strict(
            list(self._texts), list(self._texts.values()), default=None, return_dtype=pl.Int64
        )
        hit = found.is_not_null().to_numpy()
        states[hit] = found.drop_nulls().to_numpy()

    def _text_and_number(self, values: pl.Series) -> tuple[pl.Series | None, NDArray[np.float64]]:
        """The values as text (None if they came as numbers) and as numbers (NaN if not one)."""
        dtype, is_date = values.dtype, isinstance(self.column, Date)
        if dtype == pl.Null:
            return None, np.full(len(values), np.nan)
        if dtype == pl.Boolean and not is_date:
            text = values.cast(pl.Int8).cast(pl.String).replace({"1": "true", "0": "false"})
            return text, _float(values)
        if dtype.is_numeric() and not is_date:
            # 0.1 stored in 32 bits is meant as 0.1, not as the 64-bit number next to it.
            return None, _float(values.cast(pl.String) if dtype == pl.Float32 else values)
        if dtype in (pl.Date, pl.Datetime) and (is_date or not isinstance(self.column, NUMERIC)):
            day = values if dtype == pl.Date else values.dt.date()
            number = _float(day.cast(pl.Int32)) if is_date else np.full(len(values), np.nan)
            return day.dt.to_string("iso"), number
        if dtype in (pl.String, pl.Categorical, pl.Enum):
            return self._parse(values.cast(pl.String))
        raise DataError(
            f"Column {self.name!r} has the type {dtype} in the data, which cannot be read as "
            f"{self.column.kind}; convert the column, or correct its kind in the schema."
        )

    def _parse(self, text: pl.Series) -> tuple[pl.Series, NDArray[np.float64]]:
        stripped = text.str.strip_chars()
        if isinstance(self.column, Date):
            # A time of day is cut off; anything else behind the day makes it no date.
            day = stripped.str.extract(_DAY, 1).str.to_date("%Y-%m-%d", strict=False)
            return text, _float(day.cast(pl.Int32))
        if isinstance(self.column, Boolean):
            lower = stripped.str.to_lowercase()
            text = lower.zip_with(lower.is_in(_WORDS), text)
        return text, _float(stripped)


def _float(values: pl.Series) -> NDArray[np.float64]:
    return values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().astype(np.float64)


def _by_number(
    states: Sequence[tuple[Code, float, int]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """States by numeric value, ascending.

    Of texts that share a value ("03", "3") the plain one has the number; without a plain one
    ("03", "003") each matches by its text only.
    """
    values: dict[float, list[tuple[Code, int]]] = {}
    for value, number, state in states:
        values.setdefault(number, []).append((value, state))
    single = []
    for number, found in sorted(values.items()):
        plain = [state for value, state in found if text_of(value) == text_of(number)]
        if plain or len(found) == 1:
            single.append((number, plain[0] if plain else found[0][1]))
    keys = np.array([number for number, _ in single], dtype=np.float64)
    return keys, np.array([state for _, state in single], dtype=np.int64)


def _lookup(
    keys: NDArray[np.float64], states: NDArray[np.int64], wanted: NDArray[np.float64]
) -> NDArray[np.int64]:
    """State of each number, −1 where it is no key."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, states[place], -1)


@dataclass(frozen=True)
class Coder:
    """Codes whole batches against a schema.

    Attributes:
        schema: what each column may hold and which combinations are forbidden.
    """

    schema: Schema
    _coders: tuple[ColumnCoder, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        coders = tuple(ColumnCoder(name, column) for name, column in self.schema.columns.items())
        object.__setattr__(self, "_coders", coders)

    def code(self, batch: pl.DataFrame) -> list[Codes]:
        """States of every column of a batch; records in a forbidden combination leave the domain.

        They leave it for good, in the columns that the rule names: a declared code `out_of_domain`
        stands for single values that fit no state, and could itself be part of a rule.

        Args:
            batch: holds every column of the schema; n rows.

        Returns:
            One array of shape (n,) per column, in the order of the schema.
        """
        columns = [coder.code(batch.get_column(coder.name)) for coder in self._coders]
        domain = self.schema.domain
        hits = [box_contains(box, domain.sizes, columns) for box in domain.boxes]
        for box, hit in zip(domain.boxes, hits, strict=True):
            for j in box:
                columns[j][hit] = domain.sizes[j]
        return columns
