"""Exact sums of products of rank scores, in one pass over the states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy.engine.coding import Codes
from understudy.engine.passes import Arrays, CodePass
from understudy.features.rank_scores import RankScores, shortened

BATCH: Final = 2**18


class RankSums(CodePass[NDArray[np.int64]]):
    """Σ z·z' over the records, of the scores of all pairs of columns.

    Scores are whole numbers, and those of a record have a squared length of at most
    `RankScores.most`, which is below 2¹⁴ for each column. So sums of products over a batch stay
    below 2⁵³ in up to 2²⁰ columns: the product of matrices of doubles is exact, and the order of
    the rows plays no part.

    Args:
        columns: their indices in the schema, in the order of the scores.
        scores: of each state.
    """

    def __init__(self, columns: tuple[int, ...], scores: RankScores) -> None:
        self.places = columns
        self._most = scores.most
        # Out of domain comes last.
        self._tables = [np.array([*own, 0], dtype=np.float64) for own in scores.tables.values()]
        self._total = np.zeros((len(columns), len(columns)), dtype=np.int64)

    def add(self, columns: Sequence[Codes]) -> None:
        """Add one batch of rows."""
        for start in range(0, len(columns[0]), BATCH):
            rows = slice(start, start + BATCH)
            pairs = zip(self._tables, columns, strict=True)
            own = np.column_stack([table[states[rows]] for table, states in pairs])
            kept = shortened(own, self._most)
            self._total += (kept.T @ kept).astype(np.int64)

    def sums(self) -> list[NDArray[Any]]:
        """Products of all columns, each with itself too."""
        return [self._total]

    def merge(self, sums: Arrays) -> None:
        """Add them."""
        self._total += sums[0]

    def answer(self) -> NDArray[np.int64]:
        """Those of two columns, first < second, shape (pairs,); in units of 1/`UNIT`²."""
        return np.asarray(self._total[np.triu_indices(len(self._total), 1)])
