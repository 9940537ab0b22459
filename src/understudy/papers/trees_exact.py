"""Trees that tell synthetic points from original ones, as well as any tree of their class does.

Numerics on two sets of points, and nothing else: the room knows no schema, no budget and no noise.
Each class of trees gives min over its trees of Σ ab/(a + b), leaves with a synthetic and b original
points; that is 2N times the smallest Gini impurity, and pMSE by `pmse`. The theorem that bounds how
far one record moves it, and what breaks it, stand in `papers.trees_greedy`.

| class | trees | cost for N points, p columns |
|---|---|---|
| `Stumps` | depth 1, real thresholds | a sort |
| `DepthTwo` | depth 2, real thresholds | O(p²N²) at worst, mostly far less |
| `GridDepthTwo` | depth 2 on a public grid | from counts, no rows; microseconds |
| `GridDepthThree` | depth 3 on a public grid | counts and depth 2 for each root that may win |
| `FixedGrid` | the cells of a public grid | O(p·N) |
| `Partitions` | the best of B public trees, any depth | O(B·depth·N) |
| `Greedy` | CART, for comparison: **the theorem does not hold** | O(p·N) per level |

**Trees of one and of two levels at any real thresholds, exactly.**

**Two levels.** For a root x_f ≤ t both sides are solved by the best single split of each: a sweep
along every presorted column g counts the points left of the root on the way, and the four leaves
follow from the counts of the column as a whole. That is O(pN) per root, O(p²N²) for all, memory
O(pN).

Most roots need not be looked at: intervals of them are given up by a bound (below). The
greedy root of each column is solved first. Tables of one distribution leave the most roots, for
their trees are nearly equally good; of unlike tables few remain.

**One level.** The question is x_f ≤ t for any column f and real t. Only thresholds between two
distinct values of the points make different partitions, so the sorted columns hold them all. Cost
O(p·N·log N), and O(p·N) for what the original is prepared for.

**Public grids: what a tree may ask of a coded row, and how often the answers are yes.**

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
one member, so the theorem in `papers.trees_greedy` holds at once. Cost O(n·p) per table and one
division per cell. Choose it for few columns: with more cells than points each holds one point at
most, and every table looks unlike the original.

**Trees of two levels on a public grid, exactly, from counts: tens of microseconds.**

The four leaves that a question i of column f and a question j of column g make together are the
same whether f or g is asked at the root. One pass over all pairs of questions therefore finds, for
every root and answer, the cheapest second question: O(Σ_{f<g} q_f·q_g) for a table of answers
(`questions`), whatever the number of rows. The counts of synthetic tables are made without the
original, once, and kept.

**Trees of three levels on a public grid, exactly: a root, and the depth-2 solver on each side.**

Rows are counted left of a root; the other side is what remains of the whole. For an ordered column
the costs of the two sides are monotone in the threshold, and intervals of roots are given up by the
bound of `halving`. A root of a nominal column is given up when its first side costs as much as
the best tree so far. The first bound is the best tree of depth 2. This is dynamic programming over
branches (Demirović et al. 2022, "MurTree", JMLR 23) with the cost SSE.

Cost: a count of rows and pairs of columns and two depth-2 solutions for each root that is solved,
at most Σ_f q_f of them; memory is two vectors of answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from understudy._arrays import Flags, Floats
from understudy.papers.trees_greedy import (
    Codes,
    CountedTreeClass,
    Counts,
    Greedy,
    Partitions,
    PreparedRows,
    Ranked,
    TreeClass,
    all_cuts,
    bound_above,
    compiled,
    in_order,
    leaf,
    least,
    next_cut,
    rank_columns,
    require_penalty,
    require_width,
    split,
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
        return _smallest(rank_columns(original, synthetic), self.penalty)


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
        """Places of the answers."""
        return _layout(self.sizes, self.nominal or (False,) * len(self.sizes))

    @property
    def n_answers(self) -> int:
        """Length of the vector of answers."""
        return int(self.layout.pair_at[-1])

    def code_rows(self, rows: ArrayLike) -> Codes:
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
            ValueError: see `code_values`.
        """
        codes = self.code_rows(rows)
        answers = np.zeros((*codes.shape[:-2], self.n_answers), np.int32)
        flat = answers.reshape(-1, self.n_answers)
        _answers_of_many(codes.reshape(len(flat), *codes.shape[-2:]), self.layout, flat)
        return answers


def code_values(values: ArrayLike, thresholds: Sequence[Sequence[float]]) -> Codes:
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
        codes = code_values(table, self.thresholds)
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


@dataclass(frozen=True)
class GridDepthTwo(CountedTreeClass):
    """All trees of depth ≤ 2 on a public grid; a class that does not depend on the data.

    Rows are codes, shape (n, p) (`Grid`; `code_values` makes them of numbers).

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
        return PreparedCodes(self, self.grid.code_rows(original))


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
        codes = self.trees.grid.code_rows(synthetic)
        sses = np.empty(codes.shape[:-2])
        layout = self.trees.grid.layout
        for index in np.ndindex(sses.shape):
            points = np.concatenate([codes[index], self.original], axis=1)
            sses[index] = _depth_three_smallest(points, codes.shape[-1], layout, self.trees.penalty)
        return sses


_Points = tuple[Codes, int]
"""Codes of both tables, shape (p, N), and how many points, the first ones, are synthetic."""
_Limits = tuple[float, float, float]
"""Penalty, the best cost so far, and what a second side costs at least."""
_DepthThreeWork = tuple[Counts, Counts, Floats]
"""Answers of all points, shape (2, K), of parts of them, (4, K), and scratch for `smallest`."""


@compiled
def _depth_three_sides(
    points: _Points, root: tuple[int, int], layout: Layout, limits: _Limits, work: _DepthThreeWork
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
def _depth_three_smallest(codes: Codes, m: int, layout: Layout, penalty: float) -> float:
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
                left, right = _depth_three_sides(points, (f, state), layout, limits, work)
                best = min(best, left + right)
        else:
            best = _search_ordered(points, f, layout, (penalty, best), work)
    return best


@compiled
def _search_ordered(
    points: _Points, f: int, layout: Layout, known: tuple[float, float], work: _DepthThreeWork
) -> float:
    """The smallest cost of the best so far and of the roots of an ordered column (kernel)."""
    penalty, best = known
    stack = all_cuts(layout.questions[f], penalty)
    cut = next_cut(stack, best)
    while cut >= 0:
        limits = penalty, best, bound_above(stack)
        left, right = _depth_three_sides(points, (f, cut), layout, limits, work)
        best = min(best, left + right)
        split(stack, cut, left, right)
        cut = next_cut(stack, best)
    return best


Trees = DepthTwo | FixedGrid | Greedy | GridDepthThree | GridDepthTwo | Partitions | Stumps
"""All classes of trees; the list is closed, since they see rows."""
