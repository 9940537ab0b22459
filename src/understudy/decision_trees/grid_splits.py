"""Public grids: what a tree may ask of a coded row, and how often the answers are yes.

Every column is coded to 0 … C−1 by public thresholds or levels. An *ordered* column with C codes
has the C−1 questions "code ≤ t". A *nominal* one has the C questions "code = s", one state against
the rest (for C = 2 they are one question, and it counts as ordered): 2^(C−1) subsets would be a
larger class with no fast table, and the next level can take off one more state.

A table of rows enters trees of depth 2 through the number of rows that say yes to a question, and
to both of a pair of questions about two columns; other answers follow by subtraction, those to two
questions of one column are known. These *answers* are one vector of whole numbers:

    [rows | yes to each question of column 0, 1, … | yes to both, for columns (0,1), (0,2), …].

It is a sum over rows, of length 1 + Σ q_f + Σ_{f<g} q_f·q_g for columns with q_f questions.

A grid of cells is also a partition by itself: the finest of fixed trees, with no search at all.
Every column is cut at public thresholds and the cells of the product are the leaves. The class has
one member, so the theorem in `tree_class` holds at once. Cost O(n·p) per table and one division per
cell. Choose it for few columns: with more cells than points each holds one point at most, and every
table looks unlike the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Flags, Floats
from understudy.decision_trees.leaf_impurity import Codes, Counts, compiled, leaf
from understudy.decision_trees.tree_class import CountedTreeClass, in_order, require_penalty


@dataclass(frozen=True)
class Grid:
    """Columns of a public grid.

    Attributes:
        sizes: number C ≥ 1 of codes of each column.
        nominal: whether codes of a column have no order; none of them by default.

    Raises:
        ValueError: there is no column, a size is below 1, or `nominal` does not have one entry per
            column.

    Example:
        >>> Grid((2,)).answers([[0], [1], [1]])
        array([3, 1], dtype=int32)
    """

    sizes: tuple[int, ...]
    nominal: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise ValueError("a grid needs a column, and every column at least one code")
        if self.nominal and len(self.nominal) != len(self.sizes):
            raise ValueError("`nominal` needs one entry for each column, or none at all")

    @cached_property
    def layout(self) -> Layout:
        """Where the answers stand."""
        return _layout(self.sizes, self.nominal or (False,) * len(self.sizes))

    @property
    def n_answers(self) -> int:
        """Length of the vector of answers."""
        return int(self.layout.pair_at[-1])

    def coded(self, rows: ArrayLike) -> Codes:
        """Rows as codes, column by column: (..., n, p) → (..., p, n).

        Raises:
            ValueError: the shape is not that, or a code lies outside its column.
        """
        codes = np.asarray(rows)
        if codes.ndim < 2 or codes.shape[-1] != len(self.sizes):
            raise ValueError(f"coded rows must have the shape (n, {len(self.sizes)})")
        if not np.issubdtype(codes.dtype, np.integer) and codes.size:
            raise ValueError("codes must be integers")
        if ((codes < 0) | (codes >= np.array(self.sizes, dtype=np.int64))).any():
            raise ValueError("a code lies outside its column's sizes")
        return np.ascontiguousarray(np.moveaxis(codes, -1, -2), dtype=np.int32)

    def answers(self, rows: ArrayLike) -> Counts:
        """Answers of each table of codes: (..., n, p) → (..., K).

        Raises:
            ValueError: see `coded`.
        """
        codes = self.coded(rows)
        answers = np.zeros((*codes.shape[:-2], self.n_answers), np.int32)
        flat = answers.reshape(-1, self.n_answers)
        _answers_of_many(codes.reshape(len(flat), *codes.shape[-2:]), self.layout, flat)
        return answers


def coded(values: ArrayLike, thresholds: Sequence[Sequence[float]]) -> Codes:
    """Code numeric columns by public thresholds: the number of them below the value.

    Code c ≤ t says that the value is at most threshold t. A missing number has the last code.

    Args:
        values: shape (..., n, p).
        thresholds: ascending, for each of the p columns; one code more than thresholds.

    Returns:
        Codes, shape (..., n, p).
    """
    table = np.asarray(values, dtype=np.float64)
    codes = np.empty(table.shape, np.int32)
    for j, cuts in enumerate(thresholds):
        codes[..., j] = np.searchsorted(np.asarray(cuts, dtype=np.float64), table[..., j])
    return codes


class Layout(NamedTuple):
    """Where the answers to questions stand in their vector.

    Attributes:
        sizes: codes of each column, shape (p,).
        alone: whether a question is about one code only ("code = s"), shape (p,).
        questions: number q of questions of each column, shape (p,).
        one_at: where the questions of each column begin, shape (p + 1,).
        pair_at: where the pairs begin, in lexicographic order, shape (p(p − 1)/2 + 1,); the last
            entry is the length.
    """

    sizes: Codes
    alone: Flags
    questions: Codes
    one_at: Codes
    pair_at: Codes


def _layout(sizes: Sequence[int], nominal: Sequence[bool]) -> Layout:
    """The layout of a grid."""
    alone = [flag and size > 2 for size, flag in zip(sizes, nominal, strict=True)]
    q = np.array([s - (not single) for s, single in zip(sizes, alone, strict=True)], np.int32)
    one_at = 1 + np.concatenate([[0], np.cumsum(q)])
    pairs = [q[f] * q[g] for f in range(len(q)) for g in range(f + 1, len(q))]
    pair_at = one_at[-1] + np.concatenate([[0], np.cumsum(pairs, dtype=np.int64)])
    return Layout(
        np.array(sizes, np.int32),
        np.array(alone, np.bool_),
        q,
        one_at.astype(np.int32),
        pair_at.astype(np.int32),
    )


@compiled
def add_answers(codes: Codes, rows: Codes, layout: Layout, answers: Counts) -> None:
    """Write the answers of some rows; codes have shape (p, n), `rows` are indices (kernel)."""
    widest = layout.sizes.max()
    cells = np.empty((widest, widest), np.int32)
    answers[0] = len(rows)
    pair = 0
    for f in range(len(codes)):
        cells[:1] = 0
        for row in rows:
            cells[0, codes[f, row]] += 1
        _add_up(cells, layout, (-1, f), answers[layout.one_at[f] : layout.one_at[f + 1]])
        for g in range(f + 1, len(codes)):
            cells[: layout.sizes[f]] = 0
            for row in rows:
                cells[codes[f, row], codes[g, row]] += 1
            part = answers[layout.pair_at[pair] : layout.pair_at[pair + 1]]
            _add_up(cells, layout, (f, g), part)
            pair += 1


@compiled
def _add_up(cells: Counts, layout: Layout, pair: tuple[int, int], answers: Counts) -> None:
    """Turn cells of a pair of columns, or the first line for one (−1, g), into answers (kernel)."""
    f, g = pair
    width = layout.questions[g]
    for i in range(layout.questions[f] if f >= 0 else 1):
        run, at = 0, i * width
        for j in range(width):
            run = cells[i, j] if layout.alone[g] else run + cells[i, j]
            answers[at + j] = run
        if i > 0 and not layout.alone[f]:
            for j in range(width):
                answers[at + j] += answers[at - width + j]


@compiled
def _answers_of_many(codes: Codes, layout: Layout, answers: Counts) -> None:
    """Answers of many tables, shapes (G, p, n) and (G, K) (kernel)."""
    rows = np.arange(codes.shape[2]).astype(np.int32)
    for k in range(len(codes)):
        add_answers(codes[k], rows, layout, answers[k])


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
        counts = np.zeros((*table.shape[:-2], self.n_counts), np.int32)
        flat = counts.reshape(-1, self.n_counts)
        _count(cells.reshape(len(flat), table.shape[-2]), flat)
        return counts

    def smallest_sses_of(self, original: Counts, synthetic: Counts) -> Floats:
        """The SSE from counts alone: (cells,) and (..., cells) → (...)."""
        many = np.ascontiguousarray(synthetic, np.int32).reshape(-1, self.n_counts)
        sses = _sses(np.ascontiguousarray(original, np.int32), many, self.penalty)
        return sses.reshape(np.shape(synthetic)[:-1])


@compiled
def _count(cells: Counts, counts: Counts) -> None:
    """Count rows in cells, shapes (G, n) and (G, cells) (kernel)."""
    for k in range(len(cells)):
        for cell in cells[k]:
            counts[k, cell] += 1


@compiled
def _sses(original: Counts, synthetic: Counts, penalty: float) -> Floats:
    """Sums over cells, shapes (K,) and (G, K) (kernel)."""
    sses = np.zeros(len(synthetic))
    for k in range(len(synthetic)):
        for j in range(len(original)):
            sses[k] += leaf(synthetic[k, j], original[j]) + penalty
    return sses
