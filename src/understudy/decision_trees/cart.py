"""Greedy classification trees (CART), as published pMSE scores grow them: no bound holds.

The tree takes the split with the largest gain at every node, never looks back, and may be held by
a minimum leaf size and pruned by complexity. Which tree comes out depends on the data, so the
theorem of `tree_class` says nothing about it, and neither does the published bound 1/n: replacing
one record can move the SSE by more (there are tests that show it). It is here to reproduce
published figures and to be compared with.

Steps: sort each column once; at each node count both labels along every column; split at the
largest gain, first column and smallest threshold first; part the sorted points in place. The gain
of n points in two halves is (a₁·n − a·n₁)²/(n·n₁·n₂), computed from whole numbers, so that "no
gain" is exact. Growth ends at pure nodes, at the depth, and where no split gains.

Two meanings of a complexity c, both relative to the SSE of the root: *pruned* as rpart does
(Breiman et al. 1984, chapter 3; method "anova" of the 0/1 label, whose splits are those of the Gini
index): the subtree that minimises SSE + c·SSE(root)·leaves is kept, and of equals the smallest;
or *stopped*: a split must gain more than c·SSE(root) at once.

Cost O(p·N) per level after the sort.

Source: Snoke & Slavković (2018), section 5, for depths 1, 2, 5 and none; their controls are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Floats
from understudy.decision_trees.leaf_impurity import Codes, compiled, leaf
from understudy.decision_trees.tree_class import PreparedRows, Ranked, TreeClass, in_order, ranked

NO_LIMIT = 2**31 - 1
"""A depth that no tree reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy(TreeClass):
    """Greedy trees: the search depends on the data, and no sensitivity is known.

    Attributes:
        depth: largest depth, or None for no limit.
        complexity: c ≥ 0, relative to the SSE of the root.
        rule: "prune" the grown tree, as rpart does, or "stop" growing.
        min_leaf: fewest points of a leaf.
        min_split: fewest points of a node that is split.

    Raises:
        ValueError: a limit is negative or the rule unknown.

    Example:
        >>> Greedy(depth=1).smallest_sse([[0.0], [1.0]], [[2.0], [2.5]])
        0.0
    """

    depth: int | None = None
    complexity: float = 0.0
    rule: Literal["prune", "stop"] = "prune"
    min_leaf: int = 1
    min_split: int = 2
    data_independent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        least = min(self.depth or 0, self.min_leaf - 1, self.min_split - 2)
        if least < 0 or not 0 <= self.complexity < np.inf:
            raise ValueError("depth and complexity start at 0, min_leaf at 1, min_split at 2")
        if self.rule not in {"prune", "stop"}:
            raise ValueError("the rule is 'prune' or 'stop'")

    @property
    def title(self) -> str:
        """The class in words."""
        depth = "unlimited depth" if self.depth is None else f"depth {self.depth}"
        return f"greedy trees of {depth}, which depend on the data"

    def prepare(self, original: ArrayLike) -> PreparedRows:
        """Hold the original, shape (n, p)."""
        return PreparedRows(in_order(original), self._solve)

    def grow(self, original: ArrayLike, synthetic: ArrayLike) -> tuple[float, int]:
        """SSE of the greedy tree (not the smallest of any class), and the number of its leaves."""
        points = ranked(in_order(original), in_order(synthetic))
        depth = NO_LIMIT if self.depth is None else self.depth
        limits = depth, self.min_leaf, self.min_split
        sse, leaves = _grow(points, limits, self.complexity, self.rule == "prune")
        return float(sse), int(leaves)

    def _solve(self, original: Floats, synthetic: Floats) -> float:
        return self.grow(original, synthetic)[0]


@compiled
def best_split(
    points: Ranked, span: tuple[int, int, int], min_leaf: int
) -> tuple[float, int, int, int]:
    """Gain, column, last rank on the left, and synthetic points there; no gain: 0 (kernel)."""
    start, end, synthetic = span
    order, ranks, n = points.order, points.ranks, end - start
    best, column, cut, on_left = 0.0, -1, 0, 0
    for f in range(len(order)):
        a = 0
        rank = ranks[f, order[f, start]]
        for k in range(start, end - 1):
            a += int(order[f, k] < points.n_synthetic)
            here, rank = rank, ranks[f, order[f, k + 1]]
            size = k + 1 - start
            if here == rank or size < min_leaf or n - size < min_leaf:
                continue
            apart = float(a * n - synthetic * size)
            gain = apart * apart / (float(size) * float(n - size) * n)
            if gain > best:
                best, column, cut, on_left = gain, f, here, a
    return best, column, cut, on_left


@compiled
def part(points: Ranked, f: int, cut: int, span: tuple[int, int], spare: Codes) -> int:
    """Part the sorted points of a node in all columns; the first index on the right (kernel)."""
    start, end = span
    rank, middle = points.ranks[f], start
    for line in points.order:
        middle, waiting = start, 0
        for k in range(start, end):
            point = line[k]
            if rank[point] <= cut:
                line[middle] = point
                middle += 1
            else:
                spare[waiting] = point
                waiting += 1
        line[middle:end] = spare[:waiting]
    return middle


@compiled
def _grow(
    points: Ranked, limits: tuple[int, int, int], complexity: float, prune: bool
) -> tuple[float, int]:
    """SSE and leaves of the greedy tree; parts the order in place (kernel)."""
    depth, min_leaf, min_split = limits
    total, m = points.order.shape[1], points.n_synthetic
    nodes = np.zeros((2 * total + 1, 5), np.int32)  # start, end, synthetic, depth, left child
    sse = np.zeros(2 * total + 1)
    spare = np.empty(total, np.int32)
    nodes[0, 1], nodes[0, 2] = total, m
    step = complexity * leaf(m, total - m)
    known, at = 1, 0
    while at < known:
        start, end, a, level, _ = nodes[at]
        sse[at] = leaf(a, end - start - a)
        open_node = level < depth and end - start >= min_split and 0 < a < end - start
        if open_node:
            gain, f, cut, on_left = best_split(points, (start, end, a), min_leaf)
            if gain > 0 and (prune or gain > step):
                middle = part(points, f, cut, (start, end), spare)
                nodes[at, 4] = known
                nodes[known] = np.array([start, middle, on_left, level + 1, 0], np.int32)
                nodes[known + 1] = np.array([middle, end, a - on_left, level + 1, 0], np.int32)
                known += 2
        at += 1
    return _kept(nodes, sse, known, step if prune else 0.0)


@compiled
def _kept(nodes: Codes, sse: Floats, known: int, step: float) -> tuple[float, int]:
    """SSE and leaves of the subtree with the smallest SSE + step·leaves (kernel)."""
    leaves = np.ones(known, np.int32)
    for k in range(known - 1, -1, -1):  # children stand behind their parents
        child = nodes[k, 4]
        if child:
            both, number = sse[child] + sse[child + 1], leaves[child] + leaves[child + 1]
            if both + step * number < sse[k] + step or step == 0.0:
                sse[k], leaves[k] = both, number
    return sse[0], leaves[0]
