"""What every engine answers, and the type that exact values wear on the way to a mechanism.

The exact contingency tables below are always inside that type. Only privacy mechanisms and internal
evaluations may ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.engine.bounded_sums import ExactSums
from understudy.engine.coding import Codes, Reading
from understudy.engine.occupied_cells import MAX_CODES
from understudy.engine.score_products import ExactProducts
from understudy.features.column_scores import Scores
from understudy.features.heap_cells import NumberCells
from understudy.features.rank_scores import RankScores
from understudy.schema import Schema


class Engine(Protocol):
    """A table of rows that can be counted exactly."""

    @property
    def schema(self) -> Schema:
        """The public schema the rows are coded against."""
        ...

    @property
    def premises(self) -> Premises:
        """What the guarantee of a release takes for granted of these rows."""
        ...

    @property
    def has_records(self) -> bool:
        """Whether `coded` and `read` can be asked: whole records are at hand, and not sums alone.

        It follows from the kind of engine, never from the rows.
        """
        ...

    def recoded(self, schema: Schema) -> Engine:
        """The same rows, coded against another schema of the same columns."""
        ...

    def grouped(self, schema: Schema, groups: Mapping[str, Sequence[int]]) -> Engine:
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

    def occupied(
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

    def score_products(self, scores: Scores) -> Confidential[ExactProducts]:
        """Sums of the scores of all records, and of their products."""
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

    def coded(self) -> Confidential[list[Codes]]:
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


T = TypeVar("T")


class Confidential(Generic[T]):
    """An exact value computed from the rows.

    It says nothing about itself: it refuses to be shown, compared, counted, iterated, hashed,
    copied or pickled. Only a mechanism in `understudy.privacy` (or an internal evaluation) takes
    the value out, with `expose()`. Python cannot forbid access; the type makes every access
    visible in review, and a test keeps `expose()` inside those rooms.
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        self.__value = value

    def expose(self) -> T:
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


@dataclass(frozen=True)
class Premises:
    """What is taken for granted of the rows and of where they are; public.

    Attributes:
        conditions: what must hold for the promise of a release to hold.
        unproved: the same, where nobody can check it in a single run.
    """

    conditions: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()

    def __add__(self, other: Premises) -> Premises:
        """Both, this one's first."""
        return Premises(self.conditions + other.conditions, self.unproved + other.unproved)

    @classmethod
    def of_parts(
        cls, related: set[str], unknown: set[str], *, condition: str, unproved: str
    ) -> Premises:
        """What is said of the parts of a query or a plan that do not keep to single rows.

        Args:
            related: those of which several rows may rest on one.
            unknown: those of which nobody can promise more.
            condition: a sentence about all of them, with {} for their names.
            unproved: one about the unknown ones.
        """
        told = [
            (sentence.format(", ".join(sorted(parts))),) if parts else ()
            for sentence, parts in ((condition, related | unknown), (unproved, unknown))
        ]
        return cls(*told)


NO_PREMISES = Premises()
