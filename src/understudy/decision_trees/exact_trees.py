"""Trees of one and of two levels at any real thresholds, exactly.

**Two levels.** For a root x_f ≤ t both sides are solved by the best single split of each: a sweep
along every presorted column g counts the points left of the root on the way, and the four leaves
follow from the counts of the column as a whole. That is O(pN) per root, O(p²N²) for all, memory
O(pN).

Most roots need not be looked at: intervals of them are given up by the bound of `root_pruning`. The
greedy root of each column is solved first. Tables of one distribution leave the most roots, for
their trees are nearly equally good; of unlike tables few remain.

**One level.** The question is x_f ≤ t for any column f and real t. Only thresholds between two
distinct values of the points make different partitions, so the sorted columns hold them all. Cost
O(p·N·log N), and O(p·N) for what the original is prepared for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Floats
from understudy.decision_trees.leaf_impurity import (
    Counts,
    all_cuts,
    compiled,
    leaf,
    least,
    next_cut,
    split,
)
from understudy.decision_trees.tree_class import (
    PreparedRows,
    Ranked,
    TreeClass,
    in_order,
    ranked,
    require_penalty,
    require_width,
)


@dataclass(frozen=True, slots=True)
class DepthTwo(TreeClass):
    """All trees of depth ≤ 2 with real thresholds; a class that does not depend on the data.

    Attributes:
        penalty: added for each leaf.

    Raises:
        ValueError: the penalty is negative or not a number.

    Example:
        >>> square = [[0, 0], [1, 1]], [[0, 1], [1, 0]]
        >>> DepthTwo().smallest_sse(*square)
        0.0
    """

    penalty: float = 0.0
    data_independent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_penalty(self.penalty)

    @property
    def title(self) -> str:
        """The class in words."""
        return "all axis-aligned trees of depth 2 with real thresholds"

    def prepare(self, original: ArrayLike) -> PreparedRows:
        """Hold the original, shape (n, p); the sort of both tables is a small part of the work."""
        return PreparedRows(in_order(original), self._solve)

    def _solve(self, original: Floats, synthetic: Floats) -> float:
        return _smallest(ranked(original, synthetic), self.penalty)


class _Lines(NamedTuple):
    """The points along every column, in ascending order, shapes (p, N) and (p, 2, N).

    Attributes:
        synthetic: 1 for synthetic points, 0 for original ones.
        rank: rank in the column itself.
        up_to: points, and synthetic points, up to each rank.
    """

    synthetic: Counts
    rank: Counts
    up_to: Counts


class _Work(NamedTuple):
    """Scratch: points and synthetic points left of a root, (2, N), and costs, (3, N)."""

    inner: Counts
    costs: Floats


@compiled
def _lines(points: Ranked) -> _Lines:
    """Everything along columns that does not depend on a root (kernel)."""
    p, n = points.order.shape
    synthetic = (points.order < points.n_synthetic).astype(np.int32)
    rank, up_to = np.empty((p, n), np.int32), np.zeros((p, 2, n), np.int32)
    for g in range(p):
        number = 0
        for k in range(n):
            rank[g, k] = points.ranks[g, points.order[g, k]]
            number += synthetic[g, k]
            up_to[g, 0, rank[g, k]], up_to[g, 1, rank[g, k]] = k + 1, number
    return _Lines(synthetic, rank, up_to)


@compiled
def _seen_from(points: Ranked, f: int) -> Counts:
    """Ranks of column f along every column, shape (p, N) (kernel)."""
    seen = np.empty_like(points.order)
    for g in range(len(seen)):
        for k in range(seen.shape[1]):
            seen[g, k] = points.ranks[f, points.order[g, k]]
    return seen


@compiled
def _count_left(seen: Counts, synthetic: Counts, rank: Counts, cut: int, inner: Counts) -> None:
    """Points and synthetic points left of a root up to each rank of a column (kernel)."""
    points, number = inner[0], inner[1]
    n, a = 0, 0
    for k in range(len(seen)):
        here = int(seen[k] <= cut)
        n += here
        a += here & int(synthetic[k])
        points[rank[k]], number[rank[k]] = n, a


@compiled
def _best_two(work: _Work, outer: Counts, cuts: int, penalty: float) -> tuple[float, float]:
    """The cheapest split of the points left of a root and of the others, by one column (kernel).

    `outer` counts all points; `cuts` thresholds are tried, and the last rank, one further, holds
    everything.
    """
    all_n, all_a, n_left, a_left = outer[0], outer[1], work.inner[0], work.inner[1]
    n_in, a_in = n_left[cuts], a_left[cuts]
    n_out, a_out = all_n[cuts] - n_in, all_a[cuts] - a_in
    b_in, b_out = n_in - a_in, n_out - a_out
    left, right = work.costs[0], work.costs[1]
    for j in range(cuts):
        a, n = a_left[j], n_left[j]
        c, k = all_a[j] - a, all_n[j] - n
        b, d = n - a, k - c
        left[j] = (leaf(a, b) + penalty) + (leaf(a_in - a, b_in - b) + penalty)
        right[j] = (leaf(c, d) + penalty) + (leaf(a_out - c, b_out - d) + penalty)
    return least(left[:cuts], work.costs[2]), least(right[:cuts], work.costs[2])


@compiled
def _sides(
    lines: _Lines, seen: Counts, root: tuple[int, int], penalty: float, work: _Work
) -> tuple[float, float]:
    """The smallest costs left and right of a root, trees of depth ≤ 1 on each side (kernel)."""
    f, cut = root
    total, up_to = lines.rank.shape[1], lines.up_to
    n, a = up_to[f, 0, cut], up_to[f, 1, cut]
    m = lines.synthetic[f].sum()
    left, right = leaf(a, n - a) + penalty, leaf(m - a, total - m - (n - a)) + penalty
    for g in range(len(seen)):
        _count_left(seen[g], lines.synthetic[g], lines.rank[g], cut, work.inner)
        low, other = _best_two(work, up_to[g], lines.rank[g, -1], penalty)
        left, right = min(left, low), min(right, other)
    return left, right


@compiled
def _greedy_root(up_to: Counts, cuts: int) -> int:
    """The root that a single split would take (kernel)."""
    total, m = up_to[0, cuts], up_to[1, cuts]
    best, root = np.inf, 0
    for j in range(cuts):
        a, n = up_to[1, j], up_to[0, j]
        cost = leaf(a, n - a) + leaf(m - a, total - n - (m - a))
        if cost < best:
            best, root = cost, j
    return root


@compiled
def _smallest(points: Ranked, penalty: float) -> float:
    """The smallest cost over all trees of depth ≤ 2 (kernel)."""
    p, total = points.order.shape
    m = points.n_synthetic
    best = leaf(m, total - m) + penalty
    if total == 0:
        return best
    lines = _lines(points)
    work = _Work(np.zeros((2, total), np.int32), np.empty((3, total)))
    for f in range(p):
        if points.distinct[f] > 1:
            root = f, _greedy_root(lines.up_to[f], points.distinct[f] - 1)
            left, right = _sides(lines, _seen_from(points, f), root, penalty, work)
            best = min(best, left + right)
    for f in range(p):
        seen = _seen_from(points, f)
        stack = all_cuts(points.distinct[f] - 1, penalty)
        cut = next_cut(stack, best)
        while cut >= 0:
            left, right = _sides(lines, seen, (f, cut), penalty, work)
            best = min(best, left + right)
            split(stack, cut, left, right)
            cut = next_cut(stack, best)
    return best


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
        return _smallest_stump(original, np.ascontiguousarray(columns), self.penalty)


@compiled
def _smallest_stump(original: Floats, synthetic: Floats, penalty: float) -> float:
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
