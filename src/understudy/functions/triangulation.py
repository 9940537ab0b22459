"""Triangulation: the cliques that a junction tree of given marginals needs.

Columns are eliminated one after the other; each leaves a clique of itself and the columns that it
is still linked to, which are then linked with each other. Two greedy orders are tried and the one
with fewer cells is kept: the column that leaves the smallest table first ("min-weight", columns
that need no new link before all others), and the one that needs the fewest new links ("min-fill").

Source: Koller & Friedman (2009), Probabilistic Graphical Models, §9.4.3.2; Kjærulff (1990).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import combinations

Columns = tuple[int, ...]

_Set = int
"""Of columns: column j is in it if bit j is set."""


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
        self._sizes = [float(size) for size in sizes]
        self._linked: list[_Set] = [0] * len(sizes)
        for clique in cliques:
            _link(self._linked, clique)
        self.cells = _best(self._linked, self._sizes)[0]

    def cells_with(self, columns: Columns) -> float:
        """Cells of all cliques of the tree that also covers these columns."""
        if all(self._linked[a] >> b & 1 for a, b in combinations(columns, 2)):
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
        return tuple(sorted(tuple(_columns(bag)) for bag in bags))


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


def _link(linked: list[_Set], clique: Columns) -> None:
    for a, b in combinations(clique, 2):
        linked[a] |= 1 << b
        linked[b] |= 1 << a


def _columns(some: _Set) -> Iterator[int]:
    """Columns of a set, ascending."""
    while some:
        lowest = some & -some
        yield lowest.bit_length() - 1
        some ^= lowest


def _best(linked: Sequence[_Set], sizes: Sequence[float]) -> tuple[float, list[_Set]]:
    """Cells and cliques of the better of the two orders."""
    tried = [_eliminated(linked, sizes, by_fill) for by_fill in (False, True)]
    return min(tried, key=lambda entry: entry[0])


def _eliminated(
    linked: Sequence[_Set], sizes: Sequence[float], by_fill: bool
) -> tuple[float, list[_Set]]:
    """Cells of the cliques that are left, and the cliques.

    A queue holds a column's rank each time that it changes; only the last one counts.
    """
    links, logs = list(linked), [math.log(size) for size in sizes]
    ranks: list[tuple[float, float]] = [_rank(links, logs, by_fill, v) for v in range(len(links))]
    queue = [(*rank, v) for v, rank in enumerate(ranks)]
    heapify(queue)
    cells, bags, left = 0.0, list[_Set](), (1 << len(links)) - 1
    holders: list[list[_Set]] = [[] for _ in links]  # bags with each column
    while queue:
        *rank, v = heappop(queue)
        if not left >> v & 1 or (rank[0], rank[1]) != ranks[v]:
            continue
        bag = links[v] | 1 << v
        left ^= 1 << v
        for w in _columns(_removed(links, v)):
            ranks[w] = _rank(links, logs, by_fill, w)
            heappush(queue, (*ranks[w], w))
        # Only an earlier bag can hold all columns of a later one.
        if not any(bag & other == bag for other in holders[v]):
            cells += math.prod(sizes[w] for w in _columns(bag))
            bags.append(bag)
            for w in _columns(bag):
                holders[w].append(bag)
    return cells, bags


def _rank(links: list[_Set], logs: list[float], by_fill: bool, v: int) -> tuple[float, float]:
    """How soon a column is eliminated: the lowest rank first."""
    near, missing, weight = links[v], 0, logs[v]
    for a in _columns(near):
        weight += logs[a]
        missing += (near & ~links[a]).bit_count() - 1  # a is not linked to itself
    fill = missing // 2
    return float(fill if by_fill else min(fill, 1)), weight + 1e-3 * fill


def _removed(links: list[_Set], v: int) -> _Set:
    """Link the neighbours with each other and take the column out; whose rank may change.

    That is the neighbours, and who is near both ends of a new link.
    """
    near = stale = links[v]
    for a in _columns(near):
        new = near & ~links[a] & ~(1 << a)
        links[a] |= new
        for b in _columns(new):
            links[b] |= 1 << a
            stale |= links[a] & links[b]
    for a in _columns(near):
        links[a] &= ~(1 << v)
    links[v] = 0
    return stale & ~(1 << v)
