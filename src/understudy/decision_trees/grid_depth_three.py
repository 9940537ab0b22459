"""Trees of three levels on a public grid, exactly: a root, and the depth-2 solver on each side.

Rows are counted left of a root; the other side is what remains of the whole. For an ordered column
the costs of the two sides are monotone in the threshold, and intervals of roots are given up by the
bound of `halving`. A root of a nominal column is given up when its first side costs as much as
the best tree so far. The first bound is the best tree of depth 2. This is dynamic programming over
branches (Demirović et al. 2022, "MurTree", JMLR 23) with the cost SSE.

Cost: a count of rows and pairs of columns and two depth-2 solutions for each root that is solved,
at most Σ_f q_f of them; memory is two vectors of answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Floats
from understudy.decision_trees.grid_depth_two import smallest
from understudy.decision_trees.grid_splits import Grid, Layout, add_answers
from understudy.decision_trees.leaf_impurity import (
    Codes,
    Counts,
    all_cuts,
    bound_above,
    compiled,
    next_cut,
    split,
)
from understudy.decision_trees.tree_class import TreeClass, require_penalty


@dataclass(frozen=True)
class GridDepthThree(TreeClass):
    """All trees of depth ≤ 3 on a public grid; a class that does not depend on the data.

    Rows are codes, shape (n, p) (`Grid`).

    Attributes:
        grid: columns and the questions that may be asked of them.
        penalty: added for each leaf.

    Raises:
        ValueError: the penalty is negative or not a number.

    Example:
        >>> GridDepthThree(Grid((4,))).smallest_sse([[0], [2]], [[1], [3]])
        0.0
    """

    grid: Grid
    penalty: float = 0.0
    data_independent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_penalty(self.penalty)

    @property
    def title(self) -> str:
        """The class in words."""
        return "all trees of depth 3 on a public grid"

    def prepare(self, original: ArrayLike) -> PreparedCodes:
        """Check and turn the codes of the original, shape (n, p).

        Raises:
            ValueError: a code lies outside its column.
        """
        return PreparedCodes(self, self.grid.coded(original))


@dataclass(frozen=True, eq=False, repr=False)
class PreparedCodes:
    """The codes of an original table; never shown.

    Attributes:
        trees: the class.
        original: codes, shape (p, n).
    """

    trees: GridDepthThree
    original: Codes

    def smallest_sse(self, synthetic: ArrayLike) -> float:
        """The smallest SSE against one synthetic table of codes, shape (ñ, p)."""
        return float(self.smallest_sses(synthetic))

    def smallest_sses(self, synthetic: ArrayLike) -> Floats:
        """The same for many tables, shape (..., ñ, p); returns shape (...)."""
        codes = self.trees.grid.coded(synthetic)
        sses = np.empty(codes.shape[:-2])
        layout = self.trees.grid.layout
        for index in np.ndindex(sses.shape):
            points = np.concatenate([codes[index], self.original], axis=1)
            sses[index] = _smallest(points, codes.shape[-1], layout, self.trees.penalty)
        return sses


_Points = tuple[Codes, int]
"""Codes of both tables, shape (p, N), and how many points, the first ones, are synthetic."""
_Limits = tuple[float, float, float]
"""Penalty, the best cost so far, and what a second side costs at least."""
_Work = tuple[Counts, Counts, Floats]
"""Answers of all points, shape (2, K), of parts of them, (4, K), and scratch for `smallest`."""


@compiled
def _sides(
    points: _Points, root: tuple[int, int], layout: Layout, limits: _Limits, work: _Work
) -> tuple[float, float]:
    """The smallest costs of the sides of a root, trees of depth ≤ 2 each (kernel).

    The least cost of the second side stands for it if it cannot win any more.
    """
    (codes, m), (f, cut), (penalty, best, least) = points, root, limits
    whole, parts, sides = work
    column = codes[f]
    yes = column == cut if layout.alone[f] else column <= cut
    for label in range(2):
        table = codes[:, :m] if label else codes[:, m:]
        rows = np.flatnonzero(yes[:m] if label else yes[m:]).astype(np.int32)
        add_answers(table, rows, layout, parts[label])
        parts[2 + label] = whole[label] - parts[label]
    left = smallest(parts[0], parts[1], layout, penalty, sides)
    if left + least >= best:
        return left, least
    return left, smallest(parts[2], parts[3], layout, penalty, sides)


@compiled
def _smallest(codes: Codes, m: int, layout: Layout, penalty: float) -> float:
    """The smallest cost over all trees of depth ≤ 3; the first m points are synthetic (kernel)."""
    whole = np.empty((2, layout.pair_at[-1]), np.int32)
    parts = np.empty((4, layout.pair_at[-1]), np.int32)
    sides = np.empty((2, layout.one_at[-1]))
    points, work = (codes, m), (whole, parts, sides)
    for label in range(2):
        table = codes[:, :m] if label else codes[:, m:]
        rows = np.arange(table.shape[1]).astype(np.int32)
        add_answers(table, rows, layout, whole[label])
    best = smallest(whole[0], whole[1], layout, penalty, sides)
    for f in range(len(codes)):
        if layout.alone[f]:
            for state in range(layout.questions[f]):
                limits = penalty, best, penalty
                left, right = _sides(points, (f, state), layout, limits, work)
                best = min(best, left + right)
        else:
            best = _ordered(points, f, layout, (penalty, best), work)
    return best


@compiled
def _ordered(
    points: _Points, f: int, layout: Layout, known: tuple[float, float], work: _Work
) -> float:
    """The smallest cost of the best so far and of the roots of an ordered column (kernel)."""
    penalty, best = known
    stack = all_cuts(layout.questions[f], penalty)
    cut = next_cut(stack, best)
    while cut >= 0:
        limits = penalty, best, bound_above(stack)
        left, right = _sides(points, (f, cut), layout, limits, work)
        best = min(best, left + right)
        split(stack, cut, left, right)
        cut = next_cut(stack, best)
    return best
