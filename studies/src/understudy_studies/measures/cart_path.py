"""Greedy trees of many depths and complexities from one growth.

A greedy split depends on the points of its node alone, so a smaller depth or a larger complexity
cuts the tree that has no limit, and never changes a split that stays. Growing it once gives the SSE
of every member; each equals that of `Greedy`, to the last digit, since sums run along the same
tree. For studies that ask many members about one pair of tables: the sort and the growth are all
of the work.

As for `Greedy`, no bound holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Flags, Floats
from understudy.decision_trees.cart import NO_LIMIT, Greedy, best_split, part
from understudy.decision_trees.leaf_impurity import Codes, compiled, leaf
from understudy.decision_trees.tree_class import Ranked, in_order, ranked


@dataclass(frozen=True, slots=True)
class GreedyFamily:
    """Greedy trees without a least leaf, which differ in depth, complexity and rule.

    Attributes:
        members: the trees.

    Raises:
        ValueError: a member has a least size of leaves or of nodes that are split.

    Example:
        >>> family = GreedyFamily((Greedy(depth=0), Greedy(depth=1)))
        >>> family.sses([[0.0], [1.0]], [[2.0], [2.5]])
        array([1., 0.])
    """

    members: tuple[Greedy, ...]

    def __post_init__(self) -> None:
        if any(member.min_leaf > 1 or member.min_split > 2 for member in self.members):
            raise ValueError("members of a family have leaves of any size")

    def sses(self, original: ArrayLike, synthetic: ArrayLike) -> Floats:
        """SSE of every member.

        Args:
            original: shape (n, p).
            synthetic: shape (ñ, p).

        Returns:
            Shape (members,).
        """
        points = ranked(in_order(original), in_order(synthetic))
        depths = [NO_LIMIT if member.depth is None else member.depth for member in self.members]
        return _sses(
            points,
            np.array(depths, np.int32),
            np.array([member.complexity for member in self.members], np.float64),
            np.array([member.rule == "prune" for member in self.members], np.bool_),
        )


@compiled
def _sses(points: Ranked, depths: Codes, complexities: Floats, prune: Flags) -> Floats:
    """SSE of each member (kernel)."""
    nodes, gains = _grow(points, depths.max())
    known = len(nodes)
    alone = np.empty(known)
    for k in range(known):
        a, size = nodes[k, 2], nodes[k, 1] - nodes[k, 0]
        alone[k] = leaf(a, size - a)
    found, spare, leaves = np.empty(len(depths)), np.empty(known), np.empty(known, np.int32)
    for i in range(len(depths)):
        step = complexities[i] * alone[0]
        least = -1.0 if prune[i] else step
        spare[:], leaves[:] = alone, 1
        for k in range(known - 1, -1, -1):  # children stand behind their parents
            child = nodes[k, 4]
            if child and nodes[k, 3] < depths[i] and gains[k] > least:
                both, number = spare[child] + spare[child + 1], leaves[child] + leaves[child + 1]
                charge = step if prune[i] else 0.0
                if both + charge * number < spare[k] + charge or charge == 0.0:
                    spare[k], leaves[k] = both, number
        found[i] = spare[0]
    return found


@compiled
def _grow(points: Ranked, depth: int) -> tuple[Codes, Floats]:
    """The tree without pruning: start, end, synthetic, depth and left child of each node (kernel).

    With them goes the gain of its split.
    """
    total, m = points.order.shape[1], points.n_synthetic
    nodes, gains = np.zeros((2 * total + 1, 5), np.int32), np.zeros(2 * total + 1)
    spare = np.empty(total, np.int32)
    nodes[0, 1], nodes[0, 2] = total, m
    known, at = 1, 0
    while at < known:
        start, end, a, level, _ = nodes[at]
        if level < depth and 0 < a < end - start:
            gain, f, cut, on_left = best_split(points, (start, end, a), 1)
            if gain > 0:
                middle = part(points, f, cut, (start, end), spare)
                gains[at], nodes[at, 4] = gain, known
                nodes[known] = np.array([start, middle, on_left, level + 1, 0], np.int32)
                nodes[known + 1] = np.array([middle, end, a - on_left, level + 1, 0], np.int32)
                known += 2
        at += 1
    return nodes[:known], gains[:known]
