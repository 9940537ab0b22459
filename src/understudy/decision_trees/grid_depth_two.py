"""Trees of two levels on a public grid, exactly, from counts: tens of microseconds.

The four leaves that a question i of column f and a question j of column g make together are the
same whether f or g is asked at the root. One pass over all pairs of questions therefore finds, for
every root and answer, the cheapest second question: O(Σ_{f<g} q_f·q_g) for a table of answers
(`questions`), whatever the number of rows. The counts of synthetic tables are made without the
original, once, and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Floats
from understudy.decision_trees.grid_splits import Grid, Layout
from understudy.decision_trees.leaf_impurity import Counts, compiled, leaf
from understudy.decision_trees.tree_class import CountedTreeClass, require_penalty


@dataclass(frozen=True)
class GridDepthTwo(CountedTreeClass):
    """All trees of depth ≤ 2 on a public grid; a class that does not depend on the data.

    Rows are codes, shape (n, p) (`Grid`; `coded` makes them of numbers).

    Attributes:
        grid: columns and the questions that may be asked of them.
        penalty: added for each leaf.

    Raises:
        ValueError: the penalty is negative or not a number.

    Example:
        >>> trees = GridDepthTwo(Grid((2, 2)))
        >>> original = trees.counts([[0, 0], [1, 1]])
        >>> float(trees.smallest_sses_of(original, trees.counts([[0, 1], [1, 0]])))
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
        return "all trees of depth 2 on a public grid"

    @property
    def n_counts(self) -> int:
        """Length K of the vector of counts."""
        return self.grid.n_answers

    def counts(self, rows: ArrayLike) -> Counts:
        """Answers of each table: (..., n, p) → (..., K).

        Raises:
            ValueError: a code lies outside its column.
        """
        return self.grid.answers(rows)

    def smallest_sses_of(self, original: Counts, synthetic: Counts) -> Floats:
        """The smallest SSE from counts alone: (K,) and (..., K) → (...)."""
        many = np.ascontiguousarray(synthetic, np.int32).reshape(-1, self.n_counts)
        first = np.ascontiguousarray(original, np.int32)
        sses = _smallest_of_many(first, many, self.grid.layout, self.penalty)
        return sses.reshape(np.shape(synthetic)[:-1])


@compiled
def _smallest_of_many(
    original: Counts, synthetic: Counts, layout: Layout, penalty: float
) -> Floats:
    """The smallest cost against each of many vectors, shape (G, K) (kernel)."""
    sses = np.empty(len(synthetic))
    sides = np.empty((2, layout.one_at[-1]))
    for k in range(len(synthetic)):
        sses[k] = smallest(original, synthetic[k], layout, penalty, sides)
    return sses


@compiled
def smallest(
    original: Counts, synthetic: Counts, layout: Layout, penalty: float, sides: Floats
) -> float:
    """The smallest cost over all trees of depth ≤ 2; `sides` is scratch, (2, K₁) (kernel)."""
    p, one_at = len(layout.questions), layout.one_at
    for f in range(p):
        place = one_at[f], one_at[f + 1], layout.alone[f]
        _one_column(original, synthetic, place, penalty, sides)
    pair = 0
    for f in range(p):
        for g in range(f + 1, p):
            span = one_at[f], layout.questions[f], one_at[g], layout.questions[g]
            _two_columns(original, synthetic, (layout.pair_at[pair], span), penalty, sides)
            pair += 1
    best = leaf(synthetic[0], original[0]) + penalty
    for k in range(1, one_at[p]):
        best = min(best, sides[0, k] + sides[1, k])
    return best


@compiled
def _one_column(
    original: Counts,
    synthetic: Counts,
    place: tuple[int, int, bool],
    penalty: float,
    sides: Floats,
) -> None:
    """Costs of both sides of the roots of a column: no split, or one by the same column (kernel).

    Yes to "code = s" leaves nothing to ask of that column; no leaves one state less.
    """
    start, end, alone = place
    a, b = synthetic[0], original[0]
    for root in range(start, end):
        c, d = synthetic[root], original[root]
        yes, no = leaf(c, d) + penalty, leaf(a - c, b - d) + penalty
        for k in range(start, end):
            e, f = synthetic[k], original[k]
            first, last = leaf(e, f) + penalty, leaf(a - e, b - f) + penalty
            if alone:
                if k != root:
                    no = min(no, first + (leaf(a - c - e, b - d - f) + penalty))
            elif k < root:
                yes = min(yes, first + (leaf(c - e, d - f) + penalty))
            elif k > root:
                no = min(no, (leaf(e - c, f - d) + penalty) + last)
        sides[0, root], sides[1, root] = yes, no


@compiled
def _two_columns(
    original: Counts,
    synthetic: Counts,
    place: tuple[int, tuple[int, int, int, int]],
    penalty: float,
    sides: Floats,
) -> None:
    """Lower the costs of the roots of two columns by splits by the other one (kernel)."""
    at, (fs, q, gs, r) = place
    a, b = synthetic[0], original[0]
    for i in range(q):
        a_f, b_f = synthetic[fs + i], original[fs + i]
        yes_f, no_f = sides[0, fs + i], sides[1, fs + i]
        for j in range(r):
            c, d = synthetic[at + i * r + j], original[at + i * r + j]
            only_a, only_b = synthetic[gs + j] - c, original[gs + j] - d
            both = leaf(c, d) + penalty
            only_f = leaf(a_f - c, b_f - d) + penalty
            only_g = leaf(only_a, only_b) + penalty
            neither = leaf(a - a_f - only_a, b - b_f - only_b) + penalty
            yes_f, no_f = min(yes_f, both + only_f), min(no_f, only_g + neither)
            sides[0, gs + j] = min(sides[0, gs + j], both + only_g)
            sides[1, gs + j] = min(sides[1, gs + j], only_f + neither)
        sides[0, fs + i], sides[1, fs + i] = yes_f, no_f
