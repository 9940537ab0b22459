"""Contingency tables as passes over states: written out, or by their occupied cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engine.coding import Codes
from understudy.engine.confidential import ExactCells, ExactTable
from understudy.engine.marginal_counter import MarginalCounter
from understudy.engine.occupied_cells import MAX_CODES, OccupiedCounter, inside
from understudy.engine.passes import Arrays, CodePass


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

    def add(self, columns: Sequence[Codes]) -> None:
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

    def add(self, columns: Sequence[Codes]) -> None:
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
