"""One public grid of cells as a partition: the finest of fixed trees, with no search at all.

Every column is cut at public thresholds and the cells of the product are the leaves. The class has
one member, so the theorem in `tree_class` holds at once. Cost O(n·p) per table and one division per
cell. Choose it for few columns: with more cells than points each holds one point at most, and every
table looks unlike the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Floats
from understudy.decision_trees.grid_splits import coded
from understudy.decision_trees.leaf_impurity import Counts, compiled, leaf
from understudy.decision_trees.tree_class import CountedTreeClass, in_order, require_penalty


@dataclass(frozen=True)
class FixedGrid(CountedTreeClass):
    """The cells of a public grid as the only partition; it does not depend on the data.

    Attributes:
        thresholds: ascending, for each column; a value belongs to the cell that ends at the first
            threshold that is not below it. Thresholds at each code but the last one give every
            state of a categorical column its own cells.
        penalty: added for each cell.

    Raises:
        ValueError: thresholds do not ascend, there are 2³¹ cells or more, or the penalty is
            negative.

    Example:
        >>> FixedGrid(((0.0, 1.0),)).counts([[-3.0], [0.0], [0.5], [2.0]])
        array([2, 1, 1], dtype=int32)
    """

    thresholds: tuple[tuple[float, ...], ...]
    penalty: float = 0.0
    data_independent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_penalty(self.penalty)
        if not all((np.diff(cuts) > 0).all() for cuts in self.thresholds):
            raise ValueError("thresholds of a column must ascend")
        if self.n_counts >= 2**31:
            raise ValueError("a grid of so many cells cannot be counted")

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each column."""
        return tuple(len(cuts) + 1 for cuts in self.thresholds)

    @property
    def title(self) -> str:
        """The class in words."""
        return f"one public grid of {' × '.join(str(size) for size in self.shape) or 1} cells"

    @property
    def n_counts(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    def counts(self, rows: ArrayLike) -> Counts:
        """Rows in each cell: (..., n, p) → (..., cells), the last column's cells innermost.

        Raises:
            ValueError: the rows do not have one number per column.
        """
        table = in_order(rows)
        if table.shape[-1] != len(self.thresholds):
            raise ValueError(f"rows must have the shape (n, {len(self.thresholds)})")
        cells = np.zeros(table.shape[:-1], np.int32)
        codes = coded(table, self.thresholds)
        for j, size in enumerate(self.shape):
            cells = cells * size + codes[..., j]
        found = np.zeros((*table.shape[:-2], self.n_counts), np.int32)
        flat = found.reshape(-1, self.n_counts)
        _count(cells.reshape(len(flat), table.shape[-2]), flat)
        return found

    def smallest_sses_of(self, original: Counts, synthetic: Counts) -> Floats:
        """The SSE from counts alone: (cells,) and (..., cells) → (...)."""
        many = np.ascontiguousarray(synthetic, np.int32).reshape(-1, self.n_counts)
        found = _sses(np.ascontiguousarray(original, np.int32), many, self.penalty)
        return found.reshape(np.shape(synthetic)[:-1])


@compiled
def _count(cells: Counts, found: Counts) -> None:
    """Count rows in cells, shapes (G, n) and (G, cells) (kernel)."""
    for k in range(len(cells)):
        for cell in cells[k]:
            found[k, cell] += 1


@compiled
def _sses(original: Counts, synthetic: Counts, penalty: float) -> Floats:
    """Sums over cells, shapes (K,) and (G, K) (kernel)."""
    found = np.zeros(len(synthetic))
    for k in range(len(synthetic)):
        for j in range(len(original)):
            found[k] += leaf(synthetic[k, j], original[j]) + penalty
    return found
