"""What every engine answers by passes over its rows, however it makes them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.engine.bounded_sums import CellSums, ExactSums
from understudy.engine.confidential import (
    NO_PREMISES,
    Confidential,
    ExactCells,
    ExactTable,
    Premises,
)
from understudy.engine.line_counts import LineCounts
from understudy.engine.occupied_cells import MAX_CODES
from understudy.engine.passes import CodePass, RowPass, T
from understudy.engine.rank_sums import RankSums
from understudy.engine.score_products import ExactProducts, ScoreProducts
from understudy.engine.table_counts import CellCounts, TableCounts
from understudy.errors import DataError
from understudy.features.column_scores import Scores
from understudy.features.heap_cells import NumberCells
from understudy.features.rank_scores import RankScores
from understudy.schema import Schema

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
        wide = {m for m in marginals if self._padded(m) > WIDE_CELLS}
        narrow = [columns for columns in dict.fromkeys(marginals) if columns not in wide]
        table_of = {columns: self._scattered(columns) for columns in wide}
        if narrow:
            table_of |= zip(narrow, self._counted(narrow), strict=True)
        return Confidential([table_of[columns] for columns in marginals])

    def _padded(self, columns: tuple[int, ...]) -> int:
        """Cells of a table, out-of-domain states included."""
        return math.prod(self._schema.sizes[j] + 1 for j in columns)

    def _counted(self, narrow: Sequence[tuple[int, ...]]) -> list[ExactTable]:
        """Tables that are written out while rows are counted."""
        return self._through_codes(partial(TableCounts, self._schema.sizes, narrow))

    def _scattered(self, columns: tuple[int, ...]) -> ExactTable:
        """A table written out from its occupied cells."""
        cells, sizes = self._known_cells(columns), [self._schema.sizes[j] for j in columns]
        inside = np.zeros(math.prod(sizes), dtype=np.int64)
        inside[cells.codes] = cells.counts
        return ExactTable(inside.reshape(sizes), cells.outside)

    def occupied(
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

    def score_products(self, scores: Scores) -> Confidential[ExactProducts]:
        """Sums of the scores of all records, and of their products; the input is read once more."""
        return Confidential(self._through_rows(partial(ScoreProducts, self._schema, scores)))

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
        """What a pass over states answers, once it has seen all rows.

        Args:
            begun: the pass, before the first row.
        """

    @abstractmethod
    def _through_rows(self, begun: Callable[[], RowPass[T]]) -> T:
        """The same of a pass over values."""
