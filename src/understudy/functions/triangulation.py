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
        self._graph = _Graph.of(sizes)
        for clique in cliques:
            self._graph.link(clique)
        self.cells = self._graph.triangulated()[0]

    def cells_with(self, columns: Columns) -> float:
        """Cells of all cliques of the tree that also covers these columns."""
        graph = self._graph.copy()
        return graph.triangulated()[0] if graph.link(columns) else self.cells

    def add(self, columns: Columns) -> None:
        """Let the tree cover these columns from now on."""
        if self._graph.link(columns):
            self.cells = self._graph.triangulated()[0]

    @property
    def cliques(self) -> tuple[Columns, ...]:
        """The maximal cliques of the tree, columns ascending."""
        bags = self._graph.triangulated()[1]
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


def _columns(some: _Set) -> Iterator[int]:
    """Columns of a set, ascending."""
    while some:
        lowest = some & -some
        yield lowest.bit_length() - 1
        some ^= lowest


@dataclass
class _Graph:
    """Columns, and which of them are linked.

    Attributes:
        sizes: number of states of each column.
        logs: their logarithms.
        near: columns that each column is linked to.
        ranks: of each column: links that its neighbours lack, and the logarithm of the cells of
            the clique that its elimination would leave.
    """

    sizes: Sequence[float]
    logs: Sequence[float]
    near: list[_Set]
    ranks: list[tuple[int, float]]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> _Graph:
        """Without links."""
        logs = [math.log(size) for size in sizes]
        return cls([float(size) for size in sizes], logs, [0] * len(logs), [(0, x) for x in logs])

    def copy(self) -> _Graph:
        """The same, to be changed."""
        return _Graph(self.sizes, self.logs, self.near.copy(), self.ranks.copy())

    def link(self, clique: Iterable[int]) -> bool:
        """Link columns with each other; whether they were not."""
        stale = self._link(clique)
        for v in _columns(stale):
            self._rank(v)
        return stale > 0

    def triangulated(self) -> tuple[float, list[_Set]]:
        """Cells and cliques of the better of the two orders."""
        tried = [self.copy().eliminated(by_fill=by_fill) for by_fill in (False, True)]
        return min(tried, key=lambda entry: entry[0])

    def eliminated(self, *, by_fill: bool) -> tuple[float, list[_Set]]:
        """Cells of the cliques that are left, and the cliques; the graph is used up.

        A queue holds a column each time that its rank changes; only the last one counts.
        """
        queue = [self._entry(v, by_fill) for v in range(len(self.near))]
        heapify(queue)
        cells, bags = 0.0, list[_Set]()
        holders: list[list[_Set]] = [[] for _ in self.near]  # cliques with each column
        while queue:
            entry = heappop(queue)
            v = entry[2]
            if entry != self._entry(v, by_fill):
                continue
            bag = self.near[v] | 1 << v
            for w in self._eliminate(v):
                heappush(queue, self._entry(w, by_fill))
            # Only an earlier clique can hold all columns of a later one.
            if not any(bag & other == bag for other in holders[v]):
                cells += math.prod([self.sizes[w] for w in _columns(bag)])
                bags.append(bag)
                for w in _columns(bag):
                    holders[w].append(bag)
        return cells, bags

    def _entry(self, v: int, by_fill: bool) -> tuple[float, float, int]:
        """How soon a column is eliminated: the lowest first."""
        fill, weight = self.ranks[v]
        return fill if by_fill else min(fill, 1), weight + 1e-3 * fill, v

    def _eliminate(self, v: int) -> Iterator[int]:
        """Link the neighbours with each other and take the column out; whose rank changes."""
        near, gone = self.near[v], 1 << v
        stale = (near | self._link(_columns(near))) & ~gone
        self.near[v], self.ranks[v] = 0, (-1, 0.0)
        for w in _columns(near):
            self.near[w] ^= gone
        for w in _columns(stale):
            self._rank(w)
            yield w

    def _link(self, clique: Iterable[int]) -> _Set:
        """Link columns with each other; whose rank changes: ends of new links, who is near both."""
        members = [*clique]
        every, stale = sum(1 << v for v in members), 0
        for a in members:
            new = every & ~self.near[a] & ~(1 << a)
            if new:
                self.near[a] |= new
                stale |= new | 1 << a
                for b in _columns(new):
                    self.near[b] |= 1 << a
                    stale |= self.near[a] & self.near[b]
        return stale

    def _rank(self, v: int) -> None:
        near, missing, weight = self.near[v], 0, self.logs[v]
        for w in _columns(near):
            weight += self.logs[w]
            missing += (near & ~self.near[w]).bit_count() - 1  # no column is near itself
        self.ranks[v] = missing // 2, weight
