"""Trees of one split at any real threshold: one sort per column.

The question is x_f ≤ t for any column f and real t. Only thresholds between two distinct values of
the points make different partitions, so the sorted columns hold them all. Cost O(p·N·log N), and
O(p·N) for what the original is prepared for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.decision_trees.leaf_impurity import Floats, compiled, leaf
from understudy.decision_trees.tree_class import (
    PreparedRows,
    TreeClass,
    in_order,
    require_penalty,
    require_width,
)


@dataclass(frozen=True, slots=True)
class Stumps(TreeClass):
    """All trees of at most one split, real thresholds; a class that does not depend on the data.

    Attributes:
        penalty: added for each leaf.

    Raises:
        ValueError: the penalty is negative or not a number.

    Example:
        >>> Stumps().smallest_sse([[0.0], [1.0]], [[2.0], [2.5]])
        0.0
    """

    penalty: float = 0.0
    data_independent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_penalty(self.penalty)

    @property
    def title(self) -> str:
        """The class in words."""
        return "all axis-aligned trees of depth 1 with real thresholds"

    def prepare(self, original: ArrayLike) -> PreparedRows:
        """Sort the columns of the original, shape (n, p)."""
        return PreparedRows(np.sort(in_order(original), axis=0).T.copy(), self._solve)

    def _solve(self, original: Floats, synthetic: Floats) -> float:
        columns = np.sort(in_order(synthetic), axis=0).T
        require_width(original.T, columns.T)
        return _smallest(original, np.ascontiguousarray(columns), self.penalty)


@compiled
def _smallest(original: Floats, synthetic: Floats, penalty: float) -> float:
    """The smallest cost; columns are sorted, shapes (p, n) and (p, ñ) (kernel)."""
    n, m = original.shape[1], synthetic.shape[1]
    best = leaf(m, n) + penalty
    for f in range(len(original)):
        x, z = original[f], synthetic[f]
        i, j = 0, 0
        while i < n and j < m:
            value = min(x[i], z[j])
            while i < n and x[i] == value:
                i += 1
            while j < m and z[j] == value:
                j += 1
            best = min(best, (leaf(j, i) + penalty) + (leaf(m - j, n - i) + penalty))
    return best
