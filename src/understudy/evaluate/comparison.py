"""The original rows and the synthetic sets, coded alike and counted alike.

**INTERNAL: utility and risk against the real rows; nothing here is ever released.**

**INTERNAL. How close a release comes to the rows.**

**Values of ordered columns in the original and in every set, as places on one line.**

Numbers are compared by their values, not by the bins that a method sees. Coded absence and what
lies outside the domain have no value and no place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Codes, Floats
from understudy.data.coding import Coder, StateCodes
from understudy.data.marginals import count_marginals, in_groups
from understudy.data.table import Table
from understudy.errors import DataError, MethodError, nearest
from understudy.inference.records import ABSENT, Records, is_grouping, level_values
from understudy.release.release import Release
from understudy.schema import NUMERIC, Boolean, Calendar, Categorical, Column, Schema

Counts = NDArray[np.int64]
Rows = list[StateCodes]

OUTSIDE = "(outside the domain)"
MOST_WRITTEN_OUT = 2**24
"""Cells of the largest table that is written out; 134 megabytes for one set."""

_CHUNK_CELLS = 2**22


@dataclass(frozen=True)
class Comparison:
    """Rows of the original and of every set, as state numbers. CONFIDENTIAL.

    Every column has one state more than it declares: the last one is for values outside the domain,
    a state like any other here.

    Attributes:
        schema: the public schema of both.
        original: one array of states per column, each of shape (n_original,).
        sets: the same for every synthetic set, each of shape (n_synthetic,).
        seed: seed of everything random in the evaluation.
    """

    schema: Schema
    original: Rows = field(repr=False)
    sets: tuple[Rows, ...] = field(repr=False)
    seed: int = 0

    @classmethod
    def of(
        cls, schema: Schema, original: pl.DataFrame, sets: Sequence[pl.DataFrame], seed: int = 0
    ) -> Comparison:
        """Code tables that are at hand as data frames.

        Args:
            schema: the public schema of all of them.
            original: the original rows.
            sets: the synthetic sets.
            seed: seed of everything random in the evaluation.
        """
        return cls.of_rows(schema, code_table(schema, original), sets, seed)

    @classmethod
    def of_rows(
        cls, schema: Schema, original: Rows, sets: Sequence[pl.DataFrame], seed: int = 0
    ) -> Comparison:
        """Code sets that are compared with rows that are coded.

        Args:
            schema: the public schema of all of them.
            original: one array of states per column.
            sets: the synthetic sets.
            seed: seed of everything random in the evaluation.
        """
        return cls(schema, original, tuple(code_table(schema, table) for table in sets), seed)

    @property
    def n_original(self) -> int:
        """Original rows."""
        return len(self.original[0])

    @property
    def n_synthetic(self) -> int:
        """Rows of the first set; all sets of a release have as many."""
        return len(self.sets[0][0])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each column, the one outside the domain included."""
        return tuple(size + 1 for size in self.schema.sizes)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Declarations, in the order of the schema."""
        return tuple(self.schema.columns.values())

    def labels(self, column: int) -> tuple[str, ...]:
        """Text of each state of a column, the one outside the domain included."""
        return (*self.columns[column].labels, OUTSIDE)

    def generator(self, *stream: int) -> np.random.Generator:
        """A source of random numbers of its own for each purpose, so that none disturbs another."""
        return np.random.default_rng([self.seed, *stream])

    def where(self, column: int, state: int) -> Comparison:
        """Only the records in one state of a column."""
        return replace(
            self,
            original=_rows_in(self.original, column, state),
            sets=tuple(_rows_in(rows, column, state) for rows in self.sets),
        )

    def with_sets(self, sets: Sequence[Rows]) -> Comparison:
        """The same original with other sets."""
        return replace(self, sets=tuple(sets))

    def tables(
        self, marginals: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[tuple[int, ...], Counts, tuple[Counts, ...]]]:
        """Contingency tables of sets of columns, counted a few at a time to bound memory.

        A table of more than `MOST_WRITTEN_OUT` cells is given flat, as the cells that are occupied
        in the original or in a set.

        Args:
            marginals: columns of each table, in the order of its axes.

        Yields:
            The columns, the table of the original, the table of each set.
        """
        small = [columns for columns in marginals if self.n_cells(columns) <= MOST_WRITTEN_OUT]
        for chunk in in_groups(small, [self.n_cells(columns) for columns in small], _CHUNK_CELLS):
            counted = [count_marginals(columns, self.sizes, chunk) for columns in self._all]
            for columns, *counts in zip(chunk, *counted, strict=True):
                yield columns, counts[0], tuple(counts[1:])
        for columns in (
            marginal for marginal in marginals if self.n_cells(marginal) > MOST_WRITTEN_OUT
        ):
            counts = self._count_occupied(columns)
            yield columns, counts[0], tuple(counts[1:])

    def n_cells(self, columns: Sequence[int]) -> int:
        """Cells of the table of some columns."""
        return math.prod(self.sizes[j] for j in columns)

    @property
    def _all(self) -> tuple[Rows, ...]:
        return (self.original, *self.sets)

    def _count_occupied(self, columns: tuple[int, ...]) -> list[Counts]:
        """Counts of the cells that are occupied anywhere, each of shape (occupied,)."""
        codes = [
            _cell_numbers([rows[j] for j in columns], self.sizes, columns) for rows in self._all
        ]
        ends = np.cumsum([len(numbers) for numbers in codes])[:-1]
        _, cells = np.unique(np.concatenate(codes), return_inverse=True)
        n_cells = int(cells.max()) + 1
        return [np.bincount(part, minlength=n_cells) for part in np.split(cells, ends)]


def code_table(schema: Schema, frame: pl.DataFrame) -> Rows:
    """A table as state numbers, one array for each column.

    Args:
        schema: the public schema.
        frame: with these columns, in any order.
    """
    return Coder(schema).code(frame[list(schema.names)])


def compare(table: Table, release: Release, seed: int) -> Comparison:
    """Code the sets of a release as the original was coded.

    Args:
        table: the original rows, coded against the release's schema.
        release: the release.
        seed: seed of everything random in the evaluation.

    Raises:
        DataError: there are no rows, in the original or in a set.
    """
    comparison = Comparison.of_rows(
        release.schema, table.code_rows().expose(), release.tables, seed
    )
    if not comparison.n_original:
        raise DataError("The original table has no rows, so there is nothing to compare with.")
    if not all(len(rows[0]) for rows in comparison.sets):
        raise DataError("A synthetic set of the release has no rows, so nothing can be compared.")
    return comparison


def require_column(schema: Schema, option: str, name: str | None) -> None:
    """Refuse what is no column.

    Args:
        schema: of the release.
        option: what the column was given for.
        name: its name; None stands for no wish.

    Raises:
        MethodError: no column has the name; names the nearest one.
    """
    names = schema.names
    if name is None or name in names:
        return
    close = nearest(name, names)
    hint = f"; did you mean {close!r}?" if close else f"; they are {', '.join(names[:12])}."
    raise MethodError(f"{option} = {name!r} is no column of the release{hint}")


def require_columns(schema: Schema, option: str, names: Sequence[str]) -> None:
    """Refuse a list that names something else than columns.

    Args:
        schema: of the release.
        option: what the columns were given for.
        names: their names.

    Raises:
        MethodError: one is no column, or there is a single text in place of a list.
    """
    if isinstance(names, str):
        raise MethodError(f"{option} must be a list of columns, such as [{names!r}].")
    for name in names:
        require_column(schema, option, name)


def require_seed(seed: object) -> None:
    """Refuse what is no seed.

    Raises:
        MethodError: not a whole number, at least 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise MethodError("The seed of an evaluation must be a whole number, at least 0.")


def distinct(rows: Rows, sizes: Sequence[int]) -> tuple[NDArray[np.int64], Counts]:
    """Distinct rows: a place where each of them stands, and how often it occurs.

    Args:
        rows: one array of states per column, each of shape (n,).
        sizes: number of states of each column.

    Returns:
        Both of shape (distinct,).

    Example:
        >>> rows = [np.array([1, 0, 1]), np.array([2, 0, 2])]
        >>> [one.tolist() for one in distinct(rows, (2, 3))]
        [[1, 0], [1, 2]]
    """
    number, reach = np.zeros(len(rows[0]), dtype=np.int64), 1
    for codes, size in zip(rows, sizes, strict=True):
        reach *= size
        if reach >= 2**62:  # the same groups by smaller numbers
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            reach = len(number) * size
        number = number * size + codes
    _, first, counts = np.unique(number, return_index=True, return_counts=True)
    return first.astype(np.int64), counts.astype(np.int64)


def _cell_numbers(
    used: Sequence[StateCodes], sizes: Sequence[int], columns: Sequence[int]
) -> NDArray[Any]:
    """Mixed-radix cell number of each row; cells of three columns fit into 64 bits."""
    number = np.zeros(len(used[0]), dtype=np.int64)
    for codes, j in zip(used, columns, strict=True):
        number = number * sizes[j] + codes
    return number


def _rows_in(rows: Rows, column: int, state: int) -> Rows:
    inside = rows[column] == state
    return [codes[inside] for codes in rows]


NOWHERE = -1
"""Place of a record without a value."""


class Scale(Enum):
    """The values that an ordered column can have."""

    NUMBER = auto()
    DATE = auto()
    ORDER = auto()


@dataclass(frozen=True)
class OrderedColumn:
    """One ordered column. CONFIDENTIAL.

    Attributes:
        name: of the column.
        scale: what its values are.
        levels: distinct values of all tables, rising, shape (k,); of levels without numbers their
            places in the schema, of days and moments units since 1970-01-01.
        original: place of each original record among the levels, or `NOWHERE`, shape (n,).
        sets: the same for every set.
    """

    name: str
    scale: Scale
    levels: Floats = field(repr=False)
    original: Codes = field(repr=False)
    sets: tuple[Codes, ...] = field(repr=False)

    def counts(self, places: Codes) -> Counts:
        """Records at each level, shape (k,)."""
        return np.bincount(places[places != NOWHERE], minlength=len(self.levels))

    def values(self, places: Codes) -> Floats:
        """Value of each record, NaN where there is none; shape of `places`."""
        return np.append(self.levels, np.nan)[places]


def has_order(column: Column) -> bool:
    """Return whether the ordinary states of a column have an order."""
    return not isinstance(column, Categorical)


def ordered_names(schema: Schema) -> tuple[str, ...]:
    """Columns with an order: numbers, dates, ordinal levels, truth values."""
    return tuple(name for name, column in schema.columns.items() if has_order(column))


def ordered_columns(original: Records, sets: Sequence[Records]) -> tuple[OrderedColumn, ...]:
    """Every ordered column, in the order of the schema.

    Args:
        original: the original records, with `ordered_names` at least.
        sets: the same of every set.
    """
    found = []
    for name in ordered_names(original.schema):
        values = [_values(records, name) for records in (original, *sets)]
        levels, places = np.unique(np.concatenate(values), return_inverse=True, equal_nan=True)
        k = int(np.isfinite(levels).sum())
        placed = np.where(places < k, places, NOWHERE).astype(np.int32)
        own, *others = np.split(placed, np.cumsum([len(one) for one in values])[:-1])
        scale = _scale(original.schema, name)
        found.append(OrderedColumn(name, scale, levels[:k], own, tuple(others)))
    return tuple(found)


def _values(records: Records, name: str) -> Floats:
    """Values of a column, NaN where there is none, shape (n,)."""
    if name in records.numbers:
        numbers = records.numbers[name]
        return np.where(np.isfinite(numbers), numbers, np.nan)
    column, states = records.schema.columns[name], records.states[name]
    levels: object = range(column.n_ordinary)
    if _scale(records.schema, name) is Scale.NUMBER and not isinstance(column, NUMERIC):
        levels = level_values(column)
    assert ABSENT == -1
    return np.append(np.array(levels, dtype=np.float64), np.nan)[states]


def _scale(schema: Schema, name: str) -> Scale:
    column = schema.columns[name]
    if isinstance(column, Calendar):
        return Scale.DATE
    if isinstance(column, Boolean) or is_grouping(column):
        return Scale.ORDER
    return Scale.NUMBER
