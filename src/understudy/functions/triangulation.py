"""Triangulation: the cliques that a junction tree of given marginals needs.

Columns are eliminated one after the other; each leaves a clique of itself and the columns that it
is still linked to, which are then linked with each other. Two greedy orders are tried and the one
with fewer cells is kept: the column that leaves the smallest table first ("min-weight", columns
that need no new link before all others), and the one that needs the fewest new links ("min-fill").

Source: Koller & Friedman (2009), Probabilistic Graphical Models, §9.4.3.2; Kjærulff (1990).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, compiled

Columns = tuple[int, ...]
Booleans = NDArray[np.bool_]


class Growth:
    """How large the junction tree of some marginals becomes with one more of them.

    Args:
        sizes: number of states of each column.
        cliques: columns of each marginal; columns in none of them stand alone.

    Example:
        >>> growth = Growth((2, 3, 4), [(0, 1), (1, 2)])
        >>> growth.cells, growth.cells_with((2, 0)), growth.cells_with((1,))
        (18.0, 24.0, 18.0)
    """

    def __init__(self, sizes: Sequence[int], cliques: Iterable[Columns]) -> None:
        self._sizes = np.asarray(sizes, dtype=np.float64)
        self._linked = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
        for clique in cliques:
            _link(self._linked, clique)
        self.cells = _best(self._linked, self._sizes)[0]

    def cells_with(self, columns: Columns) -> float:
        """Cells of all cliques of the tree that also covers these columns."""
        if all(self._linked[a, b] for a, b in combinations(columns, 2)):
            return self.cells
        linked = self._linked.copy()
        _link(linked, columns)
        return _best(linked, self._sizes)[0]

    def add(self, columns: Columns) -> None:
        """Let the tree cover these columns from now on."""
        self.cells = self.cells_with(columns)
        _link(self._linked, columns)

    @property
    def cliques(self) -> tuple[Columns, ...]:
        """The maximal cliques of the tree, columns ascending."""
        bags = _best(self._linked, self._sizes)[1]
        return tuple(sorted(tuple(np.flatnonzero(bag).tolist()) for bag in bags))


@dataclass(frozen=True)
class TreeLimit:
    """Which marginals a junction tree may cover as well: those that leave it small enough.

    It is a rule in numbers, which a choice among marginals follows inside (`privacy.selection`).

    Attributes:
        sizes: number of states of each column.
        cliques: columns of each marginal that the tree covers already.
        most_cells: of the tree with one marginal more. Single columns are always allowed.

    Example:
        >>> limit = TreeLimit((2, 3, 4), ((0, 1), (1, 2)), 20.0)
        >>> limit.allows((0, 1)), limit.allows((0, 2)), TreeLimit((9,), (), 1.0).allows((0,))
        (True, False, True)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    most_cells: float

    def allows(self, columns: Columns) -> bool:
        """Whether the tree may cover these columns."""
        return len(columns) == 1 or self._growth.cells_with(columns) <= self.most_cells

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self.sizes, self.cliques)


def triangulated(sizes: Sequence[int], cliques: Iterable[Columns]) -> tuple[Columns, ...]:
    """The maximal cliques of a triangulated graph in which each marginal's columns are linked.

    Args:
        sizes: number of states of each column, which the order of elimination minds.
        cliques: columns of each marginal; columns in none of them stand alone.

    Example:
        >>> triangulated((2, 9, 2, 9, 5), [(0, 1), (1, 2), (2, 3), (3, 0)])
        ((0, 1, 2), (0, 2, 3), (4,))
    """
    return Growth(sizes, cliques).cliques


def _link(linked: Booleans, clique: Columns) -> None:
    for a, b in combinations(clique, 2):
        linked[a, b] = linked[b, a] = True


class _Work(NamedTuple):
    """What an elimination writes to; allocating it in the kernel would take longer to compile.

    Attributes:
        bags: columns of the clique that each elimination leaves, shape (columns, columns); none
            where another holds them, and at first.
        alive: columns not yet eliminated; all at first.
        stale: columns whose rank is to be found; all at first.
        ranks: shape (columns, 2).
        near: neighbours of one column.
    """

    bags: Booleans
    alive: Booleans
    stale: Booleans
    ranks: Floats
    near: NDArray[np.int64]


def _best(linked: Booleans, sizes: Floats) -> tuple[float, Booleans]:
    """Cells and cliques, one per line, of the better of the two orders."""
    tried = [_eliminated(linked, sizes, by_fill) for by_fill in (False, True)]
    return min(tried, key=lambda entry: entry[0])


def _eliminated(linked: Booleans, sizes: Floats, by_fill: bool) -> tuple[float, Booleans]:
    d = len(sizes)
    work = _Work(
        np.zeros((d, d), dtype=np.bool_),
        np.ones(d, dtype=np.bool_),
        np.ones(d, dtype=np.bool_),
        np.empty((d, 2)),
        np.empty(d, dtype=np.int64),
    )
    cells = float(_eliminate(linked.copy(), sizes, np.log(sizes), by_fill, work))
    return cells, work.bags[work.bags.any(axis=1)]


@compiled
def _eliminate(linked: Booleans, sizes: Floats, logs: Floats, by_fill: bool, work: _Work) -> float:
    """Cells of the cliques that are left; `linked` is used up."""
    bags, alive, stale, ranks, near = work
    d, cells = len(sizes), 0.0
    for k in range(d):
        v = d
        for w in range(d):
            if not alive[w]:
                continue
            if stale[w]:
                ranks[w, 0], ranks[w, 1] = _rank(linked, logs, by_fill, w, near)
                stale[w] = False
            level = v < d and ranks[w, 0] == ranks[v, 0]
            if v == d or ranks[w, 0] < ranks[v, 0] or (level and ranks[w, 1] < ranks[v, 1]):
                v = w
        for w in range(d):
            bags[k, w] = linked[v, w] or w == v
        _remove(linked, v, near, stale)
        alive[v] = False
        if _covered(bags, k):
            bags[k] = False
            continue
        weight = 1.0
        for w in range(d):
            if bags[k, w]:
                weight *= sizes[w]
        cells += weight
    return cells


@compiled(inline="always")
def _neighbours(linked: Booleans, v: int, near: NDArray[np.int64]) -> int:
    n = 0
    for w in range(len(linked)):
        if linked[v, w]:
            near[n] = w
            n += 1
    return n


@compiled(inline="always")
def _rank(
    linked: Booleans, logs: Floats, by_fill: bool, v: int, near: NDArray[np.int64]
) -> tuple[float, float]:
    """How soon a column is eliminated: the lowest rank first."""
    n, fill, weight = _neighbours(linked, v, near), 0, logs[v]
    for a in range(n):
        weight += logs[near[a]]
        for b in range(a):
            if not linked[near[a], near[b]]:
                fill += 1
    return float(fill if by_fill else min(fill, 1)), weight + 1e-3 * fill


@compiled(inline="always")
def _remove(linked: Booleans, v: int, near: NDArray[np.int64], stale: Booleans) -> None:
    """Link the neighbours with each other and take the column out; say whose rank may change."""
    n = _neighbours(linked, v, near)
    for a in range(n):
        linked[near[a], v] = False
        linked[v, near[a]] = False
        for b in range(a):
            linked[near[a], near[b]] = True
            linked[near[b], near[a]] = True
    for a in range(n):
        stale[near[a]] = True
        for w in range(len(linked)):
            if linked[near[a], w]:
                stale[w] = True


@compiled(inline="always")
def _covered(bags: Booleans, k: int) -> bool:
    """Whether an earlier bag holds all columns of bag k; no later one can."""
    for earlier in range(k):
        inside = True
        for w in range(bags.shape[1]):
            if bags[k, w] and not bags[earlier, w]:
                inside = False
                break
        if inside:
            return True
    return False
