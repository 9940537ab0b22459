"""The engine that each kind of input has, and the type of exact values on the way to a mechanism.

The exact contingency tables below are always inside that type. Only privacy mechanisms and internal
evaluations may ask.

**What every engine answers by passes over its rows, however it makes them.**

**Contingency tables as passes over states: written out, or by their occupied cells.**
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.data.coding import Reading, StateCodes
from understudy.data.marginals import MAX_CODES, MarginalCounter, OccupiedCounter, inside
from understudy.data.premises import NO_PREMISES, Premises
from understudy.data.sums import (
    Arrays,
    CellSums,
    CodePass,
    ExactProducts,
    ExactSums,
    GroupedProducts,
    LineCounts,
    RankSums,
    RowPass,
    ScoreProducts,
    T,
    WeightedCounts,
    WeightedProducts,
)
from understudy.errors import DataError
from understudy.features.grids import NumberCells
from understudy.features.scores import FeatureMap, RankScores, ScoreMap, Weighting
from understudy.schema import Schema


class Engine(Protocol):
    """A table of rows that can be counted exactly."""

    @property
    def schema(self) -> Schema:
        """The public schema the rows are coded against."""
        ...

    @property
    def premises(self) -> Premises:
        """Assumptions about these rows that the guarantee of a release rests on."""
        ...

    @property
    def has_records(self) -> bool:
        """True if `code_rows` and `read` can be asked: whole records are at hand, not sums alone.

        It follows from the kind of engine, never from the rows.
        """
        ...

    def recode(self, schema: Schema) -> Engine:
        """The same rows, coded against another schema of the same columns."""
        ...

    def group(self, schema: Schema, groups: Mapping[str, Sequence[int]]) -> Engine:
        """The same rows with states merged into groups, for counts only.

        Args:
            schema: with the grouped columns.
            groups: column → group of each of its states.
        """
        ...

    def total(self) -> Confidential[int]:
        """Number of rows, those with out-of-domain values included."""
        ...

    def count(self, marginals: Sequence[tuple[int, ...]]) -> Confidential[list[ExactTable]]:
        """Contingency tables of sets of columns.

        Args:
            marginals: column indices of each table, in the order of its axes.
        """
        ...

    def count_occupied(
        self, columns: tuple[int, ...], *, start: int = 0, most: int = MAX_CODES
    ) -> Confidential[ExactCells]:
        """Occupied cells of one contingency table of up to 2⁶² cells.

        Args:
            columns: column indices of the table, in the order of its axes.
            start: cells of lower codes are left out.
            most: so many of the others at most, those of the lowest codes. There are no more if it
                is fewer.
        """
        ...

    def sums(self, columns: tuple[int, ...], of: tuple[int, ...]) -> Confidential[ExactSums]:
        """Sums of bounded numbers, and of their products, by cell of a contingency table.

        Args:
            columns: column indices of the table, in the order of its axes.
            of: column indices of the numbers to sum; each also one of `columns`.
        """
        ...

    def score_products(self, scores: ScoreMap) -> Confidential[ExactProducts]:
        """Sums of the scores of all records, and of their products."""
        ...

    def grouped_products(self, scores: ScoreMap) -> Confidential[tuple[ExactProducts, ...]]:
        """The same of the records in each state of the column that they are taken apart by."""
        ...

    def weighted_counts(
        self, columns: Sequence[str], weighting: Weighting, groups: Mapping[str, Sequence[int]]
    ) -> Confidential[NDArray[np.int64]]:
        """Sums of the factors of records by cell of a table, in steps of 1/`TICKS`.

        Args:
            columns: names of those of the table, in the order of its axes.
            weighting: factor of each record.
            groups: column → group of each of its states, where these are counted together.
        """
        ...

    def rank_sums(
        self, columns: tuple[int, ...], scores: RankScores
    ) -> Confidential[NDArray[np.int64]]:
        """Sums of products of rank scores of each pair of columns, shape (pairs,).

        Args:
            columns: column indices, in the order of the scores.
            scores: of each state.
        """
        ...

    def line_counts(
        self, lines: Mapping[str, NumberCells]
    ) -> Confidential[dict[str, NDArray[np.int64]]]:
        """Counts of numeric columns over finer cells and beyond their bounds, or over heaps.

        Args:
            lines: column → its cells.
        """
        ...

    def code_rows(self) -> Confidential[list[StateCodes]]:
        """State of every value: one array of shape (n,) per column, in the order of the schema.

        A state beyond the last one of its column is out of domain.
        """
        ...

    def read(self, names: Sequence[str]) -> Confidential[list[Reading]]:
        """Some columns as they were read, with the numbers of their values.

        Args:
            names: columns of the schema.

        Returns:
            One reading per name; its arrays have shape (n,), rows in one order for all of them.
        """
        ...


Exact = TypeVar("Exact")


class Confidential(Generic[Exact]):
    """An exact value computed from the rows.

    It says nothing about itself: it refuses to be shown, compared, counted, iterated, hashed,
    copied or pickled. Only a mechanism in `understudy.dp` (or an internal evaluation) takes
    the value out, with `expose()`. Python cannot forbid access; the type makes every access
    visible in review, and a test keeps `expose()` inside those rooms.
    """

    __slots__ = ("__value",)

    def __init__(self, value: Exact) -> None:
        self.__value = value

    def expose(self) -> Exact:
        """The exact value. To be called by mechanisms only, after they have paid."""
        return self.__value

    def __repr__(self) -> str:
        return "Confidential(…)"

    def _refuse(self, *_args: object) -> NoReturn:
        raise TypeError(
            "A confidential value cannot be shown, compared, counted, iterated or stored; "
            "ask the gate for a released one."
        )

    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __format__ = __int__ = __float__ = __index__ = __array__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _refuse


@dataclass(frozen=True)
class ExactTable:
    """A full contingency table.

    Attributes:
        inside: counts of the declared states, one axis per column.
        outside: records with at least one of these columns out of domain.
    """

    inside: NDArray[np.int64]
    outside: int

    @classmethod
    def fold(cls, table: NDArray[np.int64]) -> ExactTable:
        """From a table whose last index on every axis is the out-of-domain state."""
        inside = table[tuple(slice(0, size - 1) for size in table.shape)]
        return cls(np.ascontiguousarray(inside), int(table.sum() - inside.sum()))


@dataclass(frozen=True)
class ExactCells:
    """Occupied cells of a contingency table that is too large to write out.

    Attributes:
        codes: mixed-radix numbers of the occupied cells, ascending, shape (occupied,).
        counts: records in each, shape (occupied,).
        outside: records with at least one of these columns out of domain.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    outside: int

    def part(self, start: int, most: int) -> ExactCells:
        """The first cells from a code on, `most` of them at most."""
        first = int(np.searchsorted(self.codes, start))
        chosen = slice(first, first + most)
        return ExactCells(self.codes[chosen], self.counts[chosen], self.outside)


class TableCounts(CodePass[list[ExactTable]]):
    """Tables with every cell.

    Args:
        sizes: states of each column of the schema, the one out of domain not counted.
        marginals: column indices of each table, in the order of its axes.
    """

    def __init__(self, sizes: Sequence[int], marginals: Sequence[tuple[int, ...]]) -> None:
        self.places = tuple(sorted({j for columns in marginals for j in columns})) or (0,)
        slot = {j: k for k, j in enumerate(self.places)}
        self._counter = MarginalCounter(
            [sizes[j] + 1 for j in self.places],
            [tuple(slot[j] for j in columns) for columns in marginals],
        )

    def add(self, columns: Sequence[StateCodes]) -> None:
        """Count one batch."""
        self._counter.add(columns)

    def sums(self) -> list[NDArray[Any]]:
        """Counts of the covering tables."""
        return [self._counter.counts]

    def merge(self, sums: Arrays) -> None:
        """Add counts."""
        self._counter.merge(sums[0])

    def answer(self) -> list[ExactTable]:
        """One table for each marginal."""
        return [ExactTable.fold(table) for table in self._counter.tables()]


class CellCounts(CodePass[ExactCells]):
    """One table of up to 2⁶² cells.

    Args:
        sizes: states of each column of the schema, the one out of domain not counted.
        columns: column indices of the table, in the order of its axes.
        start: cells of lower codes are left out.
        most: so many of the others are counted at most, those of the lowest codes.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        columns: tuple[int, ...],
        start: int = 0,
        most: int = MAX_CODES,
    ) -> None:
        self.places = columns
        self._sizes = [sizes[j] for j in columns]
        self._counter = OccupiedCounter(self._sizes, start=start, most=most)
        self._outside = 0

    def add(self, columns: Sequence[StateCodes]) -> None:
        """Count one batch."""
        within = inside(columns, self._sizes)
        self._counter.add(columns, within)
        self._outside += int(len(within) - within.sum())

    def sums(self) -> list[NDArray[Any]]:
        """Occupied cells, their counts, and how many are outside."""
        return [*self._counter.cells(), np.array([self._outside], dtype=np.int64)]

    def merge(self, sums: Arrays) -> None:
        """Add cells."""
        codes, counts, outside = sums
        self._counter.merge(codes, counts)
        self._outside += int(outside[0])

    def answer(self) -> ExactCells:
        """All that were counted."""
        return ExactCells(*self._counter.cells(), self._outside)


WIDE_CELLS: Final = 2**22
"""Tables of more cells, out-of-domain states included, are counted by their occupied cells."""


class SummedRows(ABC):
    """Exact answers that are sums over rows; an engine says how a pass goes over them.

    Args:
        given: the public schema, as it was handed in.
        schema: the one that rows are coded against: a copy of it, so that what somebody plants on
            the other never meets them.
    """

    premises: Premises = NO_PREMISES
    has_records: bool = True

    def __init__(self, given: Schema, schema: Schema) -> None:
        self._given, self._schema = given, schema
        self._n_rows = 0
        self._sums: dict[tuple[tuple[int, ...], tuple[int, ...]], ExactSums] = {}
        self._cells: dict[tuple[int, ...], ExactCells] = {}

    @property
    def schema(self) -> Schema:
        """The public schema the rows are coded against, as it was handed in."""
        return self._given

    def total(self) -> Confidential[int]:
        """Number of rows, those with out-of-domain values included."""
        return Confidential(self._n_rows)

    def count(self, marginals: Sequence[tuple[int, ...]]) -> Confidential[list[ExactTable]]:
        """Contingency tables of sets of columns, in one pass over the rows; large ones in another.

        With a further state for each column a table of many columns is many times as large.
        """
        wide = {m for m in marginals if self._count_padded(m) > WIDE_CELLS}
        narrow = [columns for columns in dict.fromkeys(marginals) if columns not in wide]
        table_of = {columns: self._scatter_cells(columns) for columns in wide}
        if narrow:
            table_of |= zip(narrow, self._count_tables(narrow), strict=True)
        return Confidential([table_of[columns] for columns in marginals])

    def _count_padded(self, columns: tuple[int, ...]) -> int:
        """Cells of a table, out-of-domain states included."""
        return math.prod(self._schema.sizes[j] + 1 for j in columns)

    def _count_tables(self, narrow: Sequence[tuple[int, ...]]) -> list[ExactTable]:
        """Tables that are written out while rows are counted."""
        return self._through_codes(partial(TableCounts, self._schema.sizes, narrow))

    def _scatter_cells(self, columns: tuple[int, ...]) -> ExactTable:
        """A table written out from its occupied cells."""
        cells, sizes = self._known_cells(columns), [self._schema.sizes[j] for j in columns]
        inside = np.zeros(math.prod(sizes), dtype=np.int64)
        inside[cells.codes] = cells.counts
        return ExactTable(inside.reshape(sizes), cells.outside)

    def count_occupied(
        self, columns: tuple[int, ...], *, start: int = 0, most: int = MAX_CODES
    ) -> Confidential[ExactCells]:
        """Occupied cells of one contingency table of up to 2⁶² cells, counted once."""
        return Confidential(self._known_cells(columns).part(start, most))

    def _known_cells(self, columns: tuple[int, ...]) -> ExactCells:
        if columns not in self._cells:
            cells = partial(CellCounts, self._schema.sizes, columns)
            self._cells[columns] = self._through_codes(cells)
        return self._cells[columns]

    def sums(self, columns: tuple[int, ...], of: tuple[int, ...]) -> Confidential[ExactSums]:
        """Sums of numeric columns by cell of a table.

        The input is read once more for a new question; every set of a release asks the same one.
        """
        if (columns, of) not in self._sums:
            sums = partial(CellSums, self._schema, columns, of)
            self._sums[columns, of] = self._through_rows(sums)
        return Confidential(self._sums[columns, of])

    def score_products(self, scores: ScoreMap) -> Confidential[ExactProducts]:
        """Sums of the scores of all records, and of their products; the input is read once more."""
        if isinstance(scores, FeatureMap) and scores.weighting is None:
            return Confidential(self._through_rows(partial(ScoreProducts, self._schema, scores)))
        return Confidential(self._through_rows(partial(WeightedProducts, self._schema, scores)))

    def grouped_products(self, scores: ScoreMap) -> Confidential[tuple[ExactProducts, ...]]:
        """The same of the records in each state of a column; the input is read once more."""
        return Confidential(self._through_rows(partial(GroupedProducts, self._schema, scores)))

    def weighted_counts(
        self, columns: Sequence[str], weighting: Weighting, groups: Mapping[str, Sequence[int]]
    ) -> Confidential[NDArray[np.int64]]:
        """Sums of factors by cell of a table; the input is read once more."""
        counts = partial(WeightedCounts, self._schema, columns, weighting, groups)
        return Confidential(self._through_rows(counts))

    def rank_sums(
        self, columns: tuple[int, ...], scores: RankScores
    ) -> Confidential[NDArray[np.int64]]:
        """Sums of products of rank scores, in one pass over the states."""
        return Confidential(self._through_codes(partial(RankSums, columns, scores)))

    def line_counts(
        self, lines: Mapping[str, NumberCells]
    ) -> Confidential[dict[str, NDArray[np.int64]]]:
        """Counts over lines or heaps; the input is read once more, for all of them together."""
        return Confidential(self._through_rows(partial(LineCounts, self._schema, lines)))

    def _require_declared_number(self) -> None:
        """Refuse another number of rows than the schema declares as public."""
        if self._schema.rows == "public" and self._n_rows != self._schema.n_rows:
            raise DataError(
                f"The schema declares n_rows = {self._schema.n_rows} as public, but the data have "
                'another number of rows; correct n_rows, or declare rows = "private".'
            )

    @abstractmethod
    def _through_codes(self, begun: Callable[[], CodePass[T]]) -> T:
        """Return what a pass over states answers, once it has seen all rows.

        Args:
            begun: the pass, before the first row.
        """

    @abstractmethod
    def _through_rows(self, begun: Callable[[], RowPass[T]]) -> T:
        """The same of a pass over values."""
