"""Greedy classification trees (CART), as published pMSE scores grow them: no bound holds.

The tree takes the split with the largest gain at every node, never looks back, and may be held by
a minimum leaf size and pruned by complexity. Which tree comes out depends on the data, so the
theorem of this file says nothing about it, and neither does the published bound 1/n: replacing
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

**Classes of trees that do not depend on the data, and why their smallest SSE moves so little.**

X holds n original points (label 0) and Z holds ñ synthetic ones (label 1). A tree T cuts the space
into leaves; SSE(T) = Σ a·b/(a + b) over its leaves, with a synthetic and b original points each.

**Theorem.** Let 𝒯 be a set of partitions that is fixed before the data are seen, Z fixed, λ ≥ 0,
and q(X) = min over T ∈ 𝒯 of SSE(T) + λ·|T|, with |T| the number of leaves.

1. Adding an original record raises q by something in [0, ñ/(ñ + 1)].
2. Replacing an original record moves q by at most ñ/(ñ + 1).

Both are attained for λ = 0 as soon as some T keeps one cell apart from another.

**Proof.** With g(a, b) = a·b/(a + b), g(a, b + 1) − g(a, b) = a²/((a + b)(a + b + 1)), which is in
[0, a/(a + 1)], since it falls in b and b ≥ 0; and a ≤ ñ. Adding a record adds it to one leaf of
each T, so every SSE(T) rises by something in [0, ñ/(ñ + 1)]. Replacing takes a record out of one
leaf and puts it into one: a fall and a rise of that size at most, hence together at most that size.
λ|T| does not move. A minimum over a fixed set moves no further than its members do: if q(X) is
taken at T, then q(X') ≤ SSE'(T) + λ|T| ≤ q(X) + Δ, and the other way round; the rise is likewise in
[0, Δ]. Attained: all of Z in one cell, all of X in another that T separates, so that q(X) = 0; a
record that comes into the cell of Z makes a leaf of ñ and 1. ∎

**What breaks it.** The step from T to the minimum needs the same 𝒯 for both tables.

* A *minimum leaf size* lets trees in and out of 𝒯 as records move (n = 4, minimum 3: ΔSSE = 1.2
  against .8).
* *Greedy growth* reports some tree, not the smallest SSE; a record can turn its first split (depth
  2, n = 3: 1.5 against .75; n = 5: ΔpMSE = .25, beyond even the published bound 1/n = .2).
* *Pruning* by complexity relative to the data's own SSE, cross-validation, any stopping rule that
  looks at the labels. (A penalty λ per leaf inside the minimum is none of these: see above.)
* *Trees without any limit* keep the bound, and are useless with continuous data: they part every
  point from every other, and q = 0 for all X and Z.

Snoke & Slavković (2018, theorem 1) have 1/n for pMSE at ñ = n, which is more than twice too large
for optimal trees, and does not hold for the greedy ones that they compute.

A class is a small frozen value. `prepare` does the work on the original once; what it returns is
asked for many synthetic tables. A *counted* class reads a table only through a vector of counts,
which is a sum over its rows: the counts of synthetic tables are public and made without the
original. Counts are whole numbers, and the returned SSE is a function of the two vectors alone.

Classes with real thresholds see points as ranks: the order of each column, equal values as one.

**The impurity of one leaf, what follows from its sum, and how the kernels are compiled.**

A leaf with a synthetic and b original points has ab/(a + b): the sum of squared errors of the 0/1
label around its mean in the leaf, and (a + b)/2 times the Gini index 2·a·b/(a + b)² (Breiman et
al. 1984). An empty leaf has 0.

In double precision a·b is exact up to 2⁵³ and the quotient is correctly rounded, so that the
computed value, too, never falls when a point comes in, and nor do sums and minima of such values.
Every exact class of this room therefore returns a value that is a function of the counts alone
(whatever branches of the search were cut off), is monotone as a computed number, and lies within
k·2⁻⁵³ of the true one, relatively, for a tree of k leaves (2k·2⁻⁵³ with a penalty). Rounded
divisions and sums are not reordered: kernels are compiled without the rules that would allow it.

The smallest sum over the leaves (SSE) gives pMSE; this file proves the sensitivity of both.

Which roots of an ordered column may still win is found by halving its thresholds. Let L(t) and R(t)
be the smallest costs of the two sides of a root x ≤ t, over trees of one level less. A point that
comes in never lowers a smallest cost (this file, for both labels alike), so L rises and R falls
in t, and no root strictly between t' and t'' costs less than L(t') + R(t''). The thresholds are
halved again and again, and an interval is given up as soon as that bound reaches the best cost so
far. Computed values are monotone too (`leaf`), so that rounding loses nothing.

The stack is an array of shape (129, 4): line 0 begins with the number of open intervals; the others
hold an interval each: t', t'', L(t') and R(t''). An interval that is taken off stays behind the
last open one until it is split.

**Partitions that are fixed before the data are seen, of any depth: the best of B public trees.**

A tree is complete, of depth d, with a question at each of its 2^d − 1 inner nodes: x_f ≤ t, or
x_f = t for nominal columns. A table enters through the number of its rows in each leaf of each
tree, O(B·d) per row, and the smallest SSE is the least of B sums. The list is the class 𝒯 of the
theorem in this file, so depth costs nothing in sensitivity: choose it when depth 2 sees too
little. Random thresholds find less than the best ones do: B trees of depth d have B·2^d leaves.

`random_partitions` draws trees from a public seed and public bounds. The seed, the bounds and the
depth must be chosen without the data, and so must a list made by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy import _arrays
from understudy._arrays import Flags, Floats

Counts = NDArray[np.int32]
Codes = NDArray[np.int32]

compiled = _arrays.compiled(fastmath={"nnan", "nsz"})
"""Compile a kernel of this room.

Division by zero cannot happen and is not looked for, and no number is NaN: both let loops run in
vector registers without changing a value.
"""


@compiled
def leaf(a: float, b: float) -> float:
    """a·b/(a + b), 0 for an empty leaf (kernel)."""
    size = a + b
    return a * b / max(size, 1.0)


@compiled
def least(costs: Floats, spare: Floats) -> float:
    """The smallest of some costs, ∞ of none; `spare` is scratch (kernel).

    Numbers that are not negative are in the order of their bits, and whole numbers are compared
    many at a time.
    """
    spare[0] = np.inf
    bits, least = costs.view(np.int64), spare[:1].view(np.int64)
    best = least[0]
    for k in range(len(bits)):
        best = min(best, bits[k])
    least[0] = best
    return float(spare[0])


_Number = TypeVar("_Number", float, Floats)


def pmse(sse: _Number, n_original: int, n_synthetic: int) -> _Number:
    """c(1 − c) − SSE/N: the mean squared distance of a tree's propensity scores from c.

    N = n + ñ points, of which a share c = ñ/N is synthetic; a leaf's propensity score is its share
    of synthetic points. For ñ = n this is 1/4 − SSE/N. The total sum of squares N·c(1 − c) is that
    within leaves (SSE) and that between them (N·pMSE).

    Args:
        sse: Σ ab/(a + b) over the leaves, of any shape.
        n_original: n, not negative.
        n_synthetic: ñ, not negative.

    Returns:
        pMSE, of the same shape; 0 where there are no points.

    Source:
        Snoke & Slavković (2018), "pMSE Mechanism: Differentially Private Synthetic Data with
        Maximal Distributional Similarity", section 3.

    Example:
        >>> from understudy.papers.trees_exact import Stumps
        >>> sse = Stumps().smallest_sse([[0], [0], [1]], [[0], [1], [1]])
        >>> round(sse, 6), round(pmse(sse, 3, 3), 6)
        (1.333333, 0.027778)
    """
    total = n_original + n_synthetic
    if total == 0:
        return sse * 0.0
    return (n_original / total) * (n_synthetic / total) - sse / total


def sensitivity(n_synthetic: int) -> Fraction:
    """ñ/(ñ + 1): by how much the smallest SSE of a fixed class moves with one original record.

    It holds when one record is replaced, and when one is added or removed, where the smallest SSE
    can only rise with an added one; both bounds are attained. In units of pMSE with ñ = n, for a
    replaced record: 1/(2(n + 1)).
    """
    return Fraction(n_synthetic, n_synthetic + 1)


@compiled
def all_cuts(cuts: int, penalty: float) -> Floats:
    """A stack with all cuts 0 … cuts − 1; an empty side is a leaf (kernel)."""
    stack = np.empty((129, 4))  # fewer than 2³¹ cuts: each halving leaves one interval behind
    stack[0, 0] = 1.0
    stack[1] = np.array([-1.0, float(cuts), penalty, penalty])
    return stack


@compiled
def next_cut(stack: Floats, best: float) -> int:
    """The middle of an interval that may hold a cost below the best; −1 if there is none (kernel).

    The interval is taken off.
    """
    while stack[0, 0] > 0:
        low, high, below, above = stack[int(stack[0, 0])]
        stack[0, 0] -= 1.0
        if high - low >= 2 and below + above < best:
            return int(low + high) // 2
    return -1


@compiled
def bound_above(stack: Floats) -> float:
    """Bound the right side's cost from below, over roots of the interval just popped (kernel)."""
    return float(stack[int(stack[0, 0]) + 1, 3])


@compiled
def split(stack: Floats, cut: int, left: float, right: float) -> None:
    """Put back the two parts of the interval just taken off, given costs at the cut (kernel)."""
    last = int(stack[0, 0]) + 1
    stack[last + 1, 0], stack[last + 1, 1] = cut, stack[last, 1]
    stack[last + 1, 2], stack[last + 1, 3] = left, stack[last, 3]
    stack[last, 1], stack[last, 3] = cut, right
    stack[0, 0] += 2.0


class Prepared(Protocol):
    """An original table with all the work that can be done before synthetic ones are seen."""

    def smallest_sse(self, synthetic: ArrayLike) -> float:
        """The smallest SSE against one synthetic table, shape (ñ, p)."""
        ...

    def smallest_sses(self, synthetic: ArrayLike) -> Floats:
        """The same for many tables, shape (..., ñ, p); returns shape (...)."""
        ...


class TreeClass(Protocol):
    """A class of trees.

    Attributes:
        data_independent: whether the class is fixed before the data are seen, which the theorem
            above needs.
    """

    data_independent: ClassVar[bool]

    @property
    def title(self) -> str:
        """The class in words, to stand behind "the smallest SSE of"."""
        ...

    def prepare(self, original: ArrayLike) -> Prepared:
        """Do what can be done for an original table, shape (n, p), before others are seen."""
        ...

    def smallest_sse(self, original: ArrayLike, synthetic: ArrayLike) -> float:
        """The smallest SSE over the class; `prepare` is for many synthetic tables."""
        return self.prepare(original).smallest_sse(synthetic)


class CountedTreeClass(TreeClass, Protocol):
    """A class of trees that reads a table through counts only."""

    @property
    def n_counts(self) -> int:
        """Length K of the vector of counts: a table of counts of G sets takes 4·G·K bytes."""
        ...

    def counts(self, rows: ArrayLike) -> Counts:
        """Counts of each table, a sum over its rows: (..., n, p) → (..., K)."""
        ...

    def smallest_sses_of(self, original: Counts, synthetic: Counts) -> Floats:
        """The smallest SSE from counts alone: (K,) and (..., K) → (...)."""
        ...

    def prepare(self, original: ArrayLike) -> PreparedCounts:
        """Count the original table once."""
        return PreparedCounts(self, self.counts(original))


@dataclass(frozen=True, eq=False, repr=False)
class PreparedRows:
    """An original table as its class wants it, and the function that compares; never shown.

    Attributes:
        original: whatever `solve` takes first.
        solve: that and one synthetic table of shape (ñ, p) → smallest SSE.
    """

    original: Floats
    solve: Callable[[Floats, Floats], float]

    def smallest_sse(self, synthetic: ArrayLike) -> float:
        """The smallest SSE against one synthetic table, shape (ñ, p)."""
        return float(self.solve(self.original, np.asarray(synthetic, dtype=np.float64)))

    def smallest_sses(self, synthetic: ArrayLike) -> Floats:
        """The same for many tables, shape (..., ñ, p); returns shape (...)."""
        tables = np.asarray(synthetic, dtype=np.float64)
        sses = np.empty(tables.shape[:-2])
        for index in np.ndindex(sses.shape):
            sses[index] = self.solve(self.original, tables[index])
        return sses


@dataclass(frozen=True, eq=False, repr=False)
class PreparedCounts:
    """The counts of an original table; never shown.

    Attributes:
        trees: the class.
        original: its counts of the table, shape (K,).
    """

    trees: CountedTreeClass
    original: Counts

    def smallest_sse(self, synthetic: ArrayLike) -> float:
        """The smallest SSE against one synthetic table, shape (ñ, p)."""
        return float(self.smallest_sses(synthetic))

    def smallest_sses(self, synthetic: ArrayLike) -> Floats:
        """The same for many tables, shape (..., ñ, p); returns shape (...)."""
        return self.smallest_sses_of(self.trees.counts(synthetic))

    def smallest_sses_of(self, synthetic: Counts) -> Floats:
        """The same from the public counts of the synthetic tables, shape (..., K)."""
        return self.trees.smallest_sses_of(self.original, synthetic)


def require_penalty(penalty: float) -> None:
    """Refuse a penalty for which the theorem says nothing.

    Raises:
        ValueError: it is negative, infinite or not a number.
    """
    if not 0 <= penalty < np.inf:
        raise ValueError(f"the penalty per leaf must be a number ≥ 0, not {penalty}")


def in_order(rows: ArrayLike) -> Floats:
    """Rows as real numbers in a total order: a missing number counts as larger than all others.

    So a class is a function on all tables, and none stops it.

    Args:
        rows: shape (..., n, p).

    Raises:
        ValueError: there are fewer than two axes.
    """
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim < 2:
        raise ValueError("rows must have the shape (n, p), one line per record")
    missing: NDArray[np.bool_] = np.isnan(table)
    return np.where(missing, np.inf, table) if missing.any() else table


def require_width(original: Floats, synthetic: Floats) -> None:
    """Refuse tables of different columns.

    Raises:
        ValueError: the numbers of columns differ.
    """
    if original.shape[-1] != synthetic.shape[-1]:
        raise ValueError(
            f"original and synthetic rows must have the same columns, "
            f"not {original.shape[-1]} and {synthetic.shape[-1]}"
        )


class Ranked(NamedTuple):
    """Both tables, stacked: N = ñ + n points, the synthetic ones first.

    Attributes:
        order: points of each column in ascending order, shape (p, N).
        ranks: rank of each point in each column, shape (p, N); equal values have the same, and
            ranks run from 0 without gaps.
        distinct: number of distinct values of each column, shape (p,).
        n_synthetic: ñ; a point is synthetic if its index is smaller.
    """

    order: Codes
    ranks: Codes
    distinct: Codes
    n_synthetic: int


def rank_columns(original: Floats, synthetic: Floats) -> Ranked:
    """Sort the columns of both tables, shapes (n, p) and (ñ, p).

    Raises:
        ValueError: the tables have different columns.
    """
    require_width(original, synthetic)
    columns = np.ascontiguousarray(in_order(np.concatenate([synthetic, original])).T)
    order = columns.argsort(axis=1, kind="stable").astype(np.int32)
    ranks, distinct = _ranks(columns, order)
    return Ranked(order, ranks, distinct, len(synthetic))


@compiled
def _ranks(columns: Floats, order: Codes) -> tuple[Codes, Codes]:
    """Ranks and numbers of distinct values (kernel)."""
    ranks = np.empty_like(order)
    distinct = np.zeros(len(order), np.int32)
    for f in range(len(order)):
        rank, last = -1, 0.0
        for point in order[f]:
            value = columns[f, point]
            if rank < 0 or value > last:
                rank += 1
                last = value
            ranks[f, point] = rank
        distinct[f] = rank + 1
    return ranks, distinct


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
        points = rank_columns(in_order(original), in_order(synthetic))
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
    return _prune(nodes, sse, known, step if prune else 0.0)


@compiled
def _prune(nodes: Codes, sse: Floats, known: int, step: float) -> tuple[float, int]:
    """SSE and leaves of the subtree with the smallest SSE + step·leaves (kernel)."""
    leaves = np.ones(known, np.int32)
    for k in range(known - 1, -1, -1):  # children stand behind their parents
        child = nodes[k, 4]
        if child:
            both, number = sse[child] + sse[child + 1], leaves[child] + leaves[child + 1]
            if both + step * number < sse[k] + step or step == 0.0:
                sse[k], leaves[k] = both, number
    return sse[0], leaves[0]


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
