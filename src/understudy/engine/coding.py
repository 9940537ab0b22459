"""Coding rows against the schema: from values to state numbers, one column at a time.

Nothing is dropped and nothing stops: a value that fits no state gets the out-of-domain state.
Every rule here is about one value by itself, whatever the type of its column: a type may follow
from all rows (one empty cell makes whole numbers real, one odd value makes a column of Python
objects), so it may decide how fast a value is read, never as what. So neighbouring tables stay
neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.domain.domain import box_contains
from understudy.engine.reading.named_states import (
    Keys,
    Named,
    as_floats,
    days_of,
    numbers_of,
    truths_of,
)
from understudy.engine.reading.plain_types import FIRST_DAY, LAST_DAY, is_text, plain
from understudy.schema import NUMERIC, Column, Continuous, Date, Schema
from understudy.schema.cell_values import CLOSE

Codes = NDArray[np.unsignedinteger]


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

    def at(self, rows: NDArray[np.integer]) -> Reading:
        """The values at some places, in their order; places of shape (m,)."""
        return Reading(self.states[rows], self.number[rows], self.absent[rows])

    def counted(self, column: Column) -> NDArray[np.int64]:
        """States as records are counted: what fits none is under the declared code, if any.

        The code `out_of_domain` is the last state of a column that declares it.
        """
        if column.out_of_domain is None:
            return self.states
        return np.where(self.states == column.size, column.size - 1, self.states)

    @classmethod
    def join(cls, parts: Sequence[Reading]) -> Reading:
        """Several batches of one column, one after the other."""
        return cls(
            np.concatenate([part.states for part in parts]),
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.absent for part in parts]),
        )


_NOTHING = Reading(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_))


@dataclass(frozen=True)
class ColumnCoder:
    """Turns the values of one column into state numbers.

    A value is the state that has its very text; else the one that it means by its truth value, its
    day or its number (`understudy.engine.reading.named_states`); else, in a numeric column, the bin
    it lies in after clipping to the bounds. True and "true" are the number 1 as well, a moment is
    its local day, and a day in a text is that day.

    Attributes:
        name: the column's name, for error messages.
        column: its declaration.
        named: its states that have a name.
    """

    name: str
    column: Column
    named: Named = field(init=False, repr=False)
    _bins: _Bins | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", Named(self.column))
        bins = _Bins(self.column) if isinstance(self.column, NUMERIC) else None
        object.__setattr__(self, "_bins", bins)

    def code(self, values: pl.Series) -> Codes:
        """State of each value; what fits none gets the out-of-domain state.

        Args:
            values: of any type; shape (n,).

        Returns:
            Shape (n,), the smallest unsigned type that holds `size`. The out-of-domain state is
            that of the declared code `out_of_domain`, or `size` if there is none.
        """
        return self.read(values).counted(self.column).astype(code_dtype(self.column.size))

    def read(self, values: pl.Series) -> Reading:
        """What `code` does, with what `check` needs to say why a value fits no state."""
        values = plain(values.alias("values"))  # Polars takes some names ("^a$") for patterns
        dtype = values.dtype
        if not len(values) and (dtype == pl.Boolean or is_text(dtype)):
            return _NOTHING  # the first batch of a table; no value of these types is unreadable
        if dtype == pl.Boolean:
            words = self._texts(pl.Series([None, "false", "true"]))
            return words.at(values.cast(pl.Int8).fill_null(-1).to_numpy() + 1)
        if is_text(dtype):
            return self._distinct_texts(values.cast(pl.String))
        nowhere = np.full(len(values), np.nan)
        if dtype == pl.Date:
            return self._places(nowhere, _days(values), values.is_null().to_numpy())
        number = as_floats(values.cast(pl.String) if dtype.is_decimal() else values)
        return self._places(number, nowhere, np.isnan(number))

    def _distinct_texts(self, text: pl.Series) -> Reading:
        """Texts, each different one read once where there are levels."""
        if self._bins is not None:  # numbers may all differ
            return self._texts(text)
        encoded = text.to_arrow().dictionary_encode()
        different = pl.Series([None], dtype=pl.String).append(
            pl.Series(encoded.dictionary, dtype=pl.String)
        )
        places = pl.Series(encoded.indices).fill_null(-1).to_numpy()
        return self._texts(different).at(places + 1)

    def _texts(self, text: pl.Series) -> Reading:
        has_days = isinstance(self.column, Date) or len(self.named.days.numbers)
        day = days_of(text) if has_days else np.full(len(text), np.nan)
        absent = (text.fill_null("") == "").to_numpy()
        reading = self._places(numbers_of(text), day, absent)
        states = reading.states
        if self.named.truths:
            truth = truths_of(text)
            for value, state in self.named.truths.items():
                states[truth == value] = state
        if self.named.texts:
            known = list(self.named.texts)
            matched = text.replace_strict(
                known, list(self.named.texts.values()), default=-1, return_dtype=pl.Int64
            ).to_numpy()
            hit = (matched >= 0) & ~absent
            states[hit] = matched[hit]
        return reading

    def _places(
        self, number: NDArray[np.float64], day: NDArray[np.float64], absent: NDArray[np.bool_]
    ) -> Reading:
        """Values by their number and day, of which each has one or none; NaN where it has none."""
        size = self.column.size
        states = np.full(len(number), size, dtype=np.int64)
        line = day if isinstance(self.column, Date) else number
        meant = self.named.by_number(number)
        if self._bins is not None:
            self._bins.into(line, states)
            if line is number:  # what lies within the bounds is a value, and no code
                low, high = self.column.bounds  # type: ignore[union-attr]
                meant[(number >= low) & (number <= high)] = -1
        for coded in (meant, self.named.days.find(day)):
            states[coded >= 0] = coded[coded >= 0]
        states[absent] = self.named.texts.get("", size)
        return Reading(states, line, absent)


class _Bins:
    """Bins and spikes of a column on the number line.

    Args:
        column: its declaration.
    """

    def __init__(self, column: Column) -> None:
        assert isinstance(column, NUMERIC)
        self._bounds = column.bounds
        self._whole = not isinstance(column, Continuous)
        bins = [
            (interval.low, k) for k, interval in enumerate(column.intervals) if not interval.spike
        ]
        spikes = [
            (float(interval.low), k)
            for k, interval in enumerate(column.intervals)
            if interval.spike
        ]
        self._spikes = Keys.of(spikes, 0.0 if self._whole else CLOSE)
        self._starts = np.array([low for low, _ in bins], dtype=np.float64)
        self._states = np.array([k for _, k in bins], dtype=np.int64)
        self._short = _in_32_bits(self._starts)

    def into(self, line: NDArray[np.float64], states: NDArray[np.int64]) -> None:
        """Clip to the bounds, then find the bin; infinities and NaN stay out of the domain.

        An edge as 32 bits hold it counts as the edge: 0.7 stored in 32 bits lies a little below.
        """
        fits = np.isfinite(line)
        if self._whole:
            fits &= line == np.floor(line)
        clipped = np.clip(line[fits], *self._bounds)
        last = len(self._starts) - 1
        place = np.clip(np.searchsorted(self._starts, clipped, side="right") - 1, 0, last)
        place += clipped == self._short[np.minimum(place + 1, last)]
        spike = self._spikes.find(clipped)  # a value clipped onto a spike belongs to it
        states[fits] = np.where(spike >= 0, spike, self._states[place])


def _in_32_bits(starts: NDArray[np.float64]) -> NDArray[np.float64]:
    """What 32 bits make of each edge where that is less and no whole number; else NaN."""
    with np.errstate(over="ignore"):
        short = starts.astype(np.float32).astype(np.float64)
    less = (short < starts) & (short != np.floor(short))
    less[1:] &= short[1:] > starts[:-1]
    return np.where(less, short, np.nan)


def _days(values: pl.Series) -> NDArray[np.float64]:
    """Days since 1970-01-01; NaN for null, and for days that cannot be written with four digits."""
    day = as_floats(values.to_physical())
    return np.where((day >= FIRST_DAY) & (day <= LAST_DAY), day, np.nan)


@dataclass(frozen=True)
class Coder:
    """Codes whole batches against a schema.

    Attributes:
        schema: what each column may hold and which combinations are forbidden.
        columns: the coder of each column, in the order of the schema.
    """

    schema: Schema
    columns: tuple[ColumnCoder, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        coders = tuple(ColumnCoder(name, column) for name, column in self.schema.columns.items())
        object.__setattr__(self, "columns", coders)

    def code(self, batch: pl.DataFrame) -> list[Codes]:
        """States of every column of a batch; records in a forbidden combination leave the domain.

        They leave it for good, in the columns that the rule names: a declared code `out_of_domain`
        stands for single values that fit no state, and could itself be part of a rule.

        Args:
            batch: holds every column of the schema; n rows.

        Returns:
            One array of shape (n,) per column, in the order of the schema.
        """
        columns = [coder.code(batch.get_column(coder.name)) for coder in self.columns]
        domain = self.schema.domain
        hits = [box_contains(box, domain.sizes, columns) for box in domain.boxes]
        for box, hit in zip(domain.boxes, hits, strict=True):
            for j in box:
                columns[j][hit] = domain.sizes[j]
        return columns


def part_of(schema: Schema, columns: Sequence[int]) -> Schema:
    """The columns of a table, with those that decide with them whether a record is possible."""
    names = {schema.names[j] for j in columns}
    needed = names.union(*(box for _, box in schema.boxes if names & set(box)))
    touching = tuple(rule for rule in schema.forbidden if names & set(rule.where))
    # Relations between others say nothing of these columns; chains of them have boxes that do.
    return schema.part(needed).model_copy(update={"forbidden": touching})
