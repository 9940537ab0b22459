"""Partitions that are fixed before the data are seen, of any depth: the best of B public trees.

A tree is complete, of depth d, with a question at each of its 2^d − 1 inner nodes: x_f ≤ t, or
x_f = t for nominal columns. A table enters through the number of its rows in each leaf of each
tree, O(B·d) per row, and the smallest SSE is the least of B sums. The list is the class 𝒯 of the
theorem in `tree_class`, so depth costs nothing in sensitivity: choose it when depth 2 sees too
little. Random thresholds find less than the best ones do: B trees of depth d have B·2^d leaves.

`random_partitions` draws trees from a public seed and public bounds. The seed, the bounds and the
depth must be chosen without the data, and so must a list made by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Flags, Floats
from understudy.decision_trees.leaf_impurity import Codes, Counts, compiled, leaf
from understudy.decision_trees.tree_class import CountedTreeClass, in_order, require_penalty


@dataclass(frozen=True, eq=False)
class Partitions(CountedTreeClass):
    """A public list of B complete trees of depth d; a class that does not depend on the data.

    Nodes are numbered from the root, level by level: yes to node k leads to 2k + 1, no to 2k + 2.

    Attributes:
        columns: column that each node asks for, shape (B, 2^d − 1), integers.
        thresholds: t of each node, of the same shape.
        nominal: whether the question about a column is x = t, shape (p,).
        penalty: added for each leaf.

    Raises:
        ValueError: the shapes are not those, a column does not exist, or the penalty is negative.

    Example:
        >>> trees = Partitions(np.array([[0]]), np.array([[0.5]]), np.array([False]))
        >>> trees.counts([[0.0], [1.0], [2.0]])
        array([1, 2], dtype=int32)
    """

    columns: Codes
    thresholds: Floats
    nominal: Flags
    penalty: float = 0.0
    data_independent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_penalty(self.penalty)
        columns = np.array(self.columns, np.int32)
        thresholds = np.array(self.thresholds, np.float64)
        nodes = columns.shape[-1] + 1
        if columns.ndim != 2 or columns.shape != thresholds.shape or nodes & (nodes - 1):
            raise ValueError("columns and thresholds must have the shape (B, 2^d − 1)")
        if not len(columns):
            raise ValueError("a list of partitions needs at least one of them")
        if ((columns < 0) | (columns >= len(self.nominal))).any():
            raise ValueError("a node asks for a column that does not exist")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "nominal", np.array(self.nominal, np.bool_))

    @property
    def shape(self) -> tuple[int, int]:
        """Trees, and leaves of each."""
        trees, nodes = np.shape(self.columns)
        return trees, nodes + 1

    @property
    def title(self) -> str:
        """The class in words."""
        trees, leaves = self.shape
        number = "one public tree" if trees == 1 else f"{trees} public trees"
        return f"{number} of depth {leaves.bit_length() - 1}, fixed before the data were seen"

    @property
    def n_counts(self) -> int:
        """Length of the vector of counts: trees · leaves."""
        trees, leaves = self.shape
        return trees * leaves

    def counts(self, rows: ArrayLike) -> Counts:
        """Rows in each leaf of each tree: (..., n, p) → (..., B·2^d).

        Raises:
            ValueError: the rows do not have one number per column.
        """
        table = np.ascontiguousarray(in_order(rows))
        if table.shape[-1] != len(self.nominal):
            raise ValueError(f"rows must have the shape (n, {len(self.nominal)})")
        counts = np.zeros((*table.shape[:-2], self.n_counts), np.int32)
        flat = counts.reshape(-1, *self.shape)
        many = table.reshape(len(flat), *table.shape[-2:])
        _count(many, self.columns, self.thresholds, self.nominal, flat)
        return counts

    def smallest_sses_of(self, original: Counts, synthetic: Counts) -> Floats:
        """The smallest SSE from counts alone: (B·2^d,) and (..., B·2^d) → (...)."""
        first = np.ascontiguousarray(original, np.int32).reshape(self.shape)
        many = np.ascontiguousarray(synthetic, np.int32).reshape(-1, *self.shape)
        return _smallest_of_many(first, many, self.penalty).reshape(np.shape(synthetic)[:-1])


def random_partitions(
    lower: Sequence[float],
    upper: Sequence[float],
    *,
    depth: int,
    trees: int,
    seed: int,
    nominal: Sequence[bool] | None = None,
    penalty: float = 0.0,
) -> Partitions:
    """Random axis-aligned trees in a public box, drawn before data are seen.

    Each node takes a column at random, and a threshold that is uniform within what the questions
    above leave of the column's bounds. A nominal column with codes lower … upper asks for one of
    them at random, and keeps its bounds. A column of whole numbers or ordered codes works as it is:
    x ≤ t, though narrow intervals can then hold no number.

    Args:
        lower: smallest value of each column, public.
        upper: largest value of each column, not below `lower`.
        depth: d ≥ 0; 2^d leaves.
        trees: B ≥ 1.
        seed: public.
        nominal: whether codes of a column have no order; none by default.
        penalty: added for each leaf, see `Partitions`.

    Raises:
        ValueError: there is no tree or no column, a bound is not finite, or bounds are reversed.
    """
    low, high = np.array(lower, np.float64), np.array(upper, np.float64)
    if low.shape != high.shape or low.ndim != 1 or not low.size or not (low <= high).all():
        raise ValueError("each column needs a lower bound and an upper one that is not below it")
    if not np.isfinite([low, high]).all() or depth < 0 or trees < 1:
        raise ValueError("bounds must be finite, depth not negative, and trees at least 1")
    flags = np.array(nominal if nominal is not None else np.zeros(len(low)), np.bool_)
    source = np.random.Generator(np.random.Philox(seed))
    columns, thresholds = _random_trees(
        low,
        high,
        flags,
        source.integers(len(low), size=(trees, 2**depth - 1)).astype(np.int32),
        source.random((trees, 2**depth - 1)),
    )
    return Partitions(columns, thresholds, flags, penalty)


def _random_trees(
    low: Floats, high: Floats, nominal: Flags, columns: Codes, uniform: Floats
) -> tuple[Codes, Floats]:
    """Thresholds from uniform numbers, each within the box of its node."""
    trees, nodes = columns.shape
    thresholds = np.empty((trees, nodes))
    boxes = np.empty((2 * nodes + 1, 2, trees, len(low)))
    boxes[0, 0], boxes[0, 1] = low, high
    each = np.arange(trees)
    for k in range(nodes):
        f = columns[:, k]
        start, end = boxes[k, 0, each, f], boxes[k, 1, each, f]
        code = start + np.floor(uniform[:, k] * (end - start + 1))
        fixed = nominal[f]
        cut = np.where(fixed, np.minimum(code, end), start + uniform[:, k] * (end - start))
        thresholds[:, k] = cut
        boxes[2 * k + 1] = boxes[2 * k + 2] = boxes[k]
        boxes[2 * k + 1, 1, each, f] = np.where(fixed, end, cut)
        boxes[2 * k + 2, 0, each, f] = np.where(fixed, start, cut)
    return columns, thresholds


@compiled
def _count(
    rows: Floats, columns: Codes, thresholds: Floats, nominal: Flags, counts: Counts
) -> None:
    """Count rows in leaves, shapes (G, n, p) and (G, B, 2^d) (kernel)."""
    nodes = columns.shape[1]
    for k in range(len(rows)):
        for b in range(len(columns)):
            column, threshold = columns[b], thresholds[b]
            for row in rows[k]:
                node = 0
                while node < nodes:
                    f, t = column[node], threshold[node]
                    no = (row[f] > t) | (nominal[f] & (row[f] < t))  # no branch to guess
                    node = 2 * node + 1 + int(no)
                counts[k, b, node - nodes] += 1


@compiled
def _smallest_of_many(original: Counts, synthetic: Counts, penalty: float) -> Floats:
    """The least sum over leaves, shapes (B, L) and (G, B, L) (kernel)."""
    sses = np.empty(len(synthetic))
    for k in range(len(synthetic)):
        best = np.inf
        for b in range(len(original)):
            cost = 0.0
            for j in range(original.shape[1]):
                cost += leaf(synthetic[k, b, j], original[b, j]) + penalty
            best = min(best, cost)
        sses[k] = best
    return sses
