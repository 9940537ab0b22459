"""Coding rows against the schema: from values to state numbers, one column at a time.

Nothing is dropped and nothing stops: a value that fits no state gets the out-of-domain state.
Every rule here is about one value by itself, whatever the type of its column: a type may follow
from all rows (one empty cell makes whole numbers real, one odd value makes a column of Python
objects), so it may decide how fast a value is read, never as what. So neighbouring tables stay
neighbours.

**Clusters of records in random groups**, by a keyed hash of what each record says. CONFIDENTIAL. A
column with `random_groups = true` names the cluster that a record was drawn with, such as its
primary sampling unit. What a record gets is one of the levels, by a keyed hash of that name. The
key is drawn by secure randomness, once for a process: it is independent of all rows, and all
measurements of a run see the same groups.

**What one record can change.** For a fixed key the group of a record is a function of its own name
alone. Two tables that differ by one record therefore have coded tables that differ by one record,
and so have mixtures over keys that are independent of the rows. Every sensitivity stays what it is.
All records of a cluster are in one group, which is what variances need.

A name is read by itself, whatever type its column has: 7, 7.0, "7" and "007" are one cluster, since
readers of files make numbers of texts as long as every row allows it. Absent names are one cluster.

Sources: random groups are those of Wolter (2007), "Introduction to Variance Estimation", chapter 2;
keyed hashes those of Aumasson et al. (2013), "BLAKE2". `tests/data/test_random_groups.py` adds,
removes and retypes records.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.frames import as_text, different_texts, is_text, plain
from understudy.data.values import (
    NOWHERE,
    Named,
    NumberStates,
    as_floats,
    numbers_of,
    places_of_moments,
    places_of_texts,
    truths_of,
    unit_in,
)
from understudy.schema import NUMERIC, Calendar, Categorical, Column, Schema
from understudy.schema.base import EXACT_INTEGER
from understudy.schema.domain import box_contains

StateCodes = NDArray[np.unsignedinteger]
_SOME = 10_000


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
        number: place on the number line (days and moments: units since 1970-01-01), NaN where
            there is none; of texts also NaN where no number has a state.
        absent: null, NaN or empty text.
    """

    states: NDArray[np.int64]
    number: NDArray[np.float64]
    absent: NDArray[np.bool_]

    def at(self, rows: NDArray[np.integer]) -> Reading:
        """The values at some places, in their order; places of shape (m,)."""
        return Reading(self.states[rows], self.number[rows], self.absent[rows])

    def replace_outside(self, column: Column) -> NDArray[np.int64]:
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


def is_of_clusters(column: Column) -> bool:
    """Return whether a column names clusters, which are put into random groups."""
    return isinstance(column, Categorical) and column.random_groups


@dataclass(frozen=True)
class ColumnCoder:
    """Turns the values of one column into state numbers.

    A value is the state that has its very text; else the one that it means by its truth value, its
    day or its number (`understudy.data.values`); else, in a numeric column, the bin
    it lies in after clipping to the bounds. True and "true" are the number 1 as well; days,
    moments, times of day and durations have a place on their line
    (`understudy.data.values`).

    Attributes:
        name: the column's name, for error messages.
        column: its declaration.
        named: its states that have a name.
    """

    name: str
    column: Column
    named: Named = field(init=False, repr=False)
    _numbers: NumberStates = field(init=False, repr=False)
    _days: NumberStates = field(init=False, repr=False)
    _last: tuple[pl.Series, Reading] | None = field(
        init=False, repr=False, compare=False, default=None
    )  # batches of one table mostly have the same texts

    def __post_init__(self) -> None:
        named, column = Named(self.column), self.column
        of_days = isinstance(column, Calendar)
        binned = column if isinstance(column, NUMERIC) else None
        numbers = NumberStates(named.exact, named.close, None if of_days else binned)
        days = NumberStates(named.days, column=binned if of_days else None)
        for name, value in (("named", named), ("_numbers", numbers), ("_days", days)):
            object.__setattr__(self, name, value)

    def code(self, values: pl.Series) -> StateCodes:
        """State of each value; what fits none gets the out-of-domain state.

        Args:
            values: of any type; shape (n,).

        Returns:
            Shape (n,), the smallest unsigned type that holds `size`. The out-of-domain state is
            that of the declared code `out_of_domain`, or `size` if there is none.
        """
        if is_of_clusters(self.column):
            return self._narrow(random_groups(values, self.column.n_ordinary))
        values = plain(values.alias("values"))  # Polars takes some names ("^a$") for patterns
        if values.dtype == pl.Boolean or is_text(values.dtype):
            reading, places = self._read_words(values)
            states = self._narrow(reading.replace_outside(self.column))
            return states if places is None else np.take(states, places)
        lost = self.column.size - (self.column.out_of_domain is not None)
        return self._narrow(self._find_states(*_line(values, self.column), lost))

    def read(self, values: pl.Series) -> Reading:
        """Do what `code` does, with what `check` needs to say why a value fits no state."""
        if is_of_clusters(self.column):
            states = random_groups(values, self.column.n_ordinary)
            return Reading(states, np.full(len(values), np.nan), values.is_null().to_numpy())
        values = plain(values.alias("values"))
        if values.dtype == pl.Boolean or is_text(values.dtype):
            reading, places = self._read_words(values)
            return reading if places is None else reading.at(places)
        line, are_days = _line(values, self.column)
        states = self._find_states(line, are_days, self.column.size)
        if are_days is not isinstance(self.column, Calendar):
            number = np.full(len(line), np.nan)
        else:
            number = np.where(np.isfinite(line), line, np.nan) if are_days else line
        return Reading(states, number, np.isnan(line))

    def _find_states(
        self, line: NDArray[np.float64], are_days: bool, lost: int
    ) -> NDArray[np.int64]:
        states = self._days if are_days else self._numbers
        return states.find(line, absent=self.named.texts.get("", lost), lost=lost)

    def _narrow(self, states: NDArray[np.int64]) -> StateCodes:
        return states.astype(code_dtype(self.column.size))

    def _read_words(self, values: pl.Series) -> tuple[Reading, NDArray[np.integer] | None]:
        """Truth values or texts that differ, and the place of each value among them.

        Each different one is read once; where texts of numbers mostly differ, they are read one by
        one, to the same end.
        """
        if not len(values):  # the first batch of a table; no value of these types is unreadable
            return _NOTHING, None
        of_numbers = values.dtype == pl.String and isinstance(self.column, NUMERIC)
        if of_numbers and (some := values.head(_SOME)).n_unique() > len(some) // 4:
            return self._texts(values), None
        if values.dtype == pl.Boolean:
            different = pl.Series([None, "false", "true"])
            places = values.cast(pl.Int8).fill_null(-1).to_numpy() + 1
        else:
            different, places = different_texts(values)
        last = self._last
        if last is None or not different.equals(last[0]):
            last = different, self._texts(different)
            object.__setattr__(self, "_last", last)
        return last[1], places

    def _texts(self, text: pl.Series) -> Reading:
        nothing = self._numbers.is_empty  # as in most columns of levels
        unit = unit_in(self.column)
        number = np.full(len(text), np.nan) if nothing else numbers_of(text, unit)
        states, line = self._numbers.find(number), number
        if isinstance(self.column, Calendar) or len(self.named.days.numbers):
            day = places_of_texts(text, self.column)
            found = self._days.find(day)
            states = np.where(found != NOWHERE, found, states)
            line = day if isinstance(self.column, Calendar) else number
        if self.named.truths:
            truth = truths_of(text)
            for value, state in self.named.truths.items():
                states[truth == value] = state
        if self.named.texts:
            known = list(self.named.texts)
            matched = text.replace_strict(
                known, list(self.named.texts.values()), default=NOWHERE, return_dtype=pl.Int64
            ).to_numpy()
            states = np.where(matched != NOWHERE, matched, states)
        absent = (text.fill_null("") == "").to_numpy()
        states[absent] = self.named.texts.get("", self.column.size)
        states[states == NOWHERE] = self.column.size
        return Reading(states, line, absent)


def _line(values: pl.Series, column: Column) -> tuple[NDArray[np.float64], bool]:
    """Numbers, or places of days and moments, and whether they are the latter.

    NaN stands for null, and infinity for days and moments that have no place.
    """
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        return places_of_moments(values, column), True
    return as_floats(values.cast(pl.String) if values.dtype.is_decimal() else values), False


@dataclass(frozen=True)
class Coder:
    """Codes whole batches against a schema.

    Attributes:
        schema: what each column may hold and which combinations are forbidden.
        known: coders of columns, used again where the schema declares the same.
        columns: the coder of each column, in the order of the schema.
    """

    schema: Schema
    known: InitVar[Sequence[ColumnCoder]] = ()
    columns: tuple[ColumnCoder, ...] = field(init=False, repr=False)

    def __post_init__(self, known: Sequence[ColumnCoder]) -> None:
        former, coders = {coder.name: coder for coder in known}, []
        for name, column in self.schema.columns.items():
            same = name in former and former[name].column == column
            coders.append(former[name] if same else ColumnCoder(name, column))
        object.__setattr__(self, "columns", tuple(coders))

    def code(self, batch: pl.DataFrame) -> list[StateCodes]:
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


def coded_alike(one: Schema, other: Schema) -> frozenset[str]:
    """Columns whose codes are the same under two schemas, whatever the rows.

    Their declaration is the same, and so is what decides with others whether a record is possible.
    """
    same = {name for name, column in one.columns.items() if other.columns.get(name) == column}
    ours, theirs = ({frozenset(box.items()) for _, box in schema.boxes} for schema in (one, other))
    boxes = [dict(box) for box in ours | theirs]
    apart = [dict(box) for box in ours ^ theirs]
    touched = [box for box in boxes if not same.issuperset(box)]
    return frozenset(same.difference(*apart, *touched))


@cache
def _key() -> bytes:
    """Draw the key of this process."""
    return secrets.token_bytes(32)


def random_groups(values: pl.Series, groups: int, key: bytes | None = None) -> NDArray[np.int64]:
    """The random group of each record, from 0; shape (n,).

    Args:
        values: names of clusters, of any type, shape (n,).
        groups: how many groups there are.
        key: for tests; else the one of this process, drawn by secure randomness.
    """
    names, places = np.unique(_names(plain(values.alias("values"))), return_inverse=True)
    secret = _key() if key is None else key
    found = [int.from_bytes(_digest(name, secret), "big") % groups for name in names]
    return np.array(found, dtype=np.int64)[places]


def _digest(name: str, key: bytes) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()


def _names(values: pl.Series) -> NDArray[np.str_]:
    """Names as texts, each by itself: numbers in one way of writing, whatever type says them."""
    if values.dtype.is_numeric():
        numbers, texts = as_floats(values), np.full(len(values), "")
    else:
        frame = values.to_frame("values")
        text = frame.select(as_text(pl.col("values"), values.dtype).cast(pl.String)).to_series()
        text = text.fill_null("")
        plain_texts = is_text(values.dtype)
        numbers = numbers_of(text) if plain_texts else np.full(len(text), np.nan)
        texts = text.to_numpy().astype(str)
    whole = np.isfinite(numbers) & (np.abs(numbers) <= EXACT_INTEGER) & (numbers % 1 == 0)
    known = np.where(whole, numbers, 0).astype(np.int64).astype(str)
    others = np.array([repr(float(number)) for number in numbers[~whole]], dtype=str)
    width = max(known.dtype.itemsize, others.dtype.itemsize, texts.dtype.itemsize) // 4 or 1
    found = known.astype(f"<U{width}")
    found[~whole] = np.where(np.isnan(numbers[~whole]), texts[~whole], others)
    return found
