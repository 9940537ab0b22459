"""Greedy trees of many depths and complexities from one growth.

A greedy split depends on the points of its node alone, so a smaller depth or a larger complexity
cuts the tree that has no limit, and never changes a split that stays. Growing it once gives the SSE
of every member; each equals that of `Greedy`, to the last digit, since sums run along the same
tree. For studies that ask many members about one pair of tables: the growth is all of the work.
Where every member stops at some gain, none needs what is below the least of them, and the growth
ends there. Where a table is compared with many others, its columns are sorted once (`by_column`).

Points lie sorted in each column as codes 2·rank + label, so that a scan for the best split reads
memory in a line; of a split, the column that makes it is parted already.

As for `Greedy`, no bound holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from understudy._arrays import Flags, Floats
from understudy.papers.trees_greedy import (
    NO_LIMIT,
    Codes,
    Greedy,
    compiled,
    in_order,
    leaf,
    require_width,
)


class Columns(NamedTuple):
    """A table, column by column.

    Attributes:
        values: ascending, shape (p, n).
        rows: the row of each value, shape (p, n).
    """

    values: Floats
    rows: Codes


def by_column(table: ArrayLike) -> Columns:
    """Sort the columns of a table, shape (n, p); a missing number is larger than all others."""
    columns = np.ascontiguousarray(in_order(table).T)
    rows = columns.argsort(axis=1)  # equal values have one rank, in whatever order
    return Columns(np.take_along_axis(columns, rows, axis=1), rows.astype(np.int32))


_NEARLY = 1 - 1e-12
"""Just below 1: what is less by more than rounding."""


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
        return self.sses_of(by_column(original), by_column(synthetic))

    def sses_of(self, original: Columns, synthetic: Columns) -> Floats:
        """The same of tables whose columns are sorted already, shape (members,).

        Raises:
            ValueError: the tables have different columns.
        """
        require_width(original.values.T, synthetic.values.T)
        depths = [NO_LIMIT if member.depth is None else member.depth for member in self.members]
        return _sses(
            _merged(synthetic, original),
            np.array(depths, np.int32),
            np.array([member.complexity for member in self.members], np.float64),
            np.array([member.rule == "prune" for member in self.members], np.bool_),
        )


class _Merged(NamedTuple):
    """Both tables, stacked: N = ñ + n points, the synthetic ones first.

    Attributes:
        order: points of each column in ascending order, shape (p, N).
        codes: 2·rank + 1 if synthetic, at the same places; equal values have the same rank.
        n_synthetic: ñ.
    """

    order: Codes
    codes: Codes
    n_synthetic: int


def _merged(synthetic: Columns, original: Columns) -> _Merged:
    order, codes = _merge(synthetic.values, synthetic.rows, original.values, original.rows)
    return _Merged(order, codes, synthetic.values.shape[1])


@compiled
def _merge(
    synthetic: Floats, synthetic_rows: Codes, original: Floats, original_rows: Codes
) -> tuple[Codes, Codes]:
    """Order and codes of all points (kernel)."""
    width, m, n = len(synthetic), synthetic.shape[1], original.shape[1]
    order, codes = np.empty((width, m + n), np.int32), np.empty((width, m + n), np.int32)
    for f in range(width):
        i, j, rank, last = 0, 0, -1, 0.0
        for k in range(m + n):
            first = j == n or (i < m and synthetic[f, i] <= original[f, j])
            value = synthetic[f, i] if first else original[f, j]
            if rank < 0 or value > last:
                rank, last = rank + 1, value
            if first:
                order[f, k], codes[f, k] = synthetic_rows[f, i], 2 * rank + 1
                i += 1
            else:
                order[f, k], codes[f, k] = m + original_rows[f, j], 2 * rank
                j += 1
    return order, codes


@compiled
def _sses(points: _Merged, depths: Codes, complexities: Floats, prune: Flags) -> Floats:
    """SSE of each member (kernel)."""
    total, m = points.order.shape[1], points.n_synthetic
    enough = 0.0 if prune.any() else complexities.min() * leaf(m, total - m)
    nodes, gains = _grow(points, depths.max(), enough)
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
def _grow(points: _Merged, depth: int, enough: float) -> tuple[Codes, Floats]:
    """The tree without pruning: start, end, synthetic, depth and left child of each node (kernel).

    With them goes the gain of its split, which must be more than `enough`.
    """
    total, m = points.order.shape[1], points.n_synthetic
    nodes, gains = np.zeros((2 * total + 1, 5), np.int32), np.zeros(2 * total + 1)
    spare, on_left = np.empty((2, total), np.int32), np.zeros(total, np.bool_)
    nodes[0, 1], nodes[0, 2] = total, m
    known, at = 1, 0
    while at < known:
        start, end, a, level, _ = nodes[at]
        if level < depth and 0 < a < end - start:
            gain, f, middle, left = _best_split(points.codes, start, end, a)
            if gain > enough:
                _part(points, f, (start, middle, end), spare, on_left)
                gains[at], nodes[at, 4] = gain, known
                nodes[known] = np.array([start, middle, left, level + 1, 0], np.int32)
                nodes[known + 1] = np.array([middle, end, a - left, level + 1, 0], np.int32)
                known += 2
        at += 1
    return nodes[:known], gains[:known]


@compiled
def _best_split(codes: Codes, start: int, end: int, synthetic: int) -> tuple[float, int, int, int]:
    """Gain, column, first place on the right, and synthetic points before it (kernel).

    As `understudy.papers.trees_greedy.best_split`, with leaves of any size.
    """
    n = float(end - start)
    best, nearly, column, middle, on_left = 0.0, 0.0, -1, start, 0
    for f in range(len(codes)):
        line = codes[f, start:end]
        size, a, apart = 0.0, 0, 0.0
        for k in range(len(line) - 1):
            label = line[k] & 1
            size += 1.0
            a += label
            apart += label * n - synthetic  # whole numbers, exactly
            spread = size * (n - size) * n
            # Surely no better, without a division; or the same value goes on.
            if apart * apart <= nearly * spread or line[k] >> 1 == line[k + 1] >> 1:
                continue
            gain = apart * apart / spread
            if gain > best:
                best, nearly, column, middle, on_left = gain, gain * _NEARLY, f, start + k + 1, a
    return best, column, middle, on_left


@compiled
def _part(
    points: _Merged, f: int, span: tuple[int, int, int], spare: Codes, on_left: Flags
) -> None:
    """Part the points of a node in all columns but that of the split, f (kernel)."""
    start, middle, end = span
    for k in range(start, middle):
        on_left[points.order[f, k]] = True
    for g in range(len(points.order)):
        if g != f:
            order, codes = points.order[g], points.codes[g]
            at, waiting = start, 0
            for k in range(start, end):
                point, code = order[k], codes[k]
                if on_left[point]:
                    order[at], codes[at] = point, code
                    at += 1
                else:
                    spare[0, waiting], spare[1, waiting] = point, code
                    waiting += 1
            order[at:end], codes[at:end] = spare[0, :waiting], spare[1, :waiting]
    for k in range(start, middle):
        on_left[points.order[f, k]] = False
