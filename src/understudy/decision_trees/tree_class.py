"""Classes of trees that do not depend on the data, and why their smallest SSE moves so little.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.arrays import Floats
from understudy.decision_trees.leaf_impurity import Codes, Counts, compiled


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


def ranked(original: Floats, synthetic: Floats) -> Ranked:
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
