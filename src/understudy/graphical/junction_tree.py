"""Junction trees: cliques of columns, joined so that each column's cliques hang together.

**Triangulation: the cliques that a junction tree of given marginals needs.**

Columns are eliminated one after the other; each leaves a clique of itself and the columns that it
is still linked to, which are then linked with each other. Two greedy orders are tried and the one
with fewer cells is kept: the column that leaves the smallest table first ("min-weight", columns
that need no new link before all others), and the one that needs the fewest new links ("min-fill").

Source: Koller & Friedman (2009), Probabilistic Graphical Models, §9.4.3.2; Kjærulff (1990).

**RELEASED. Junction trees and the distribution of greatest entropy.**
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
    """The growth of the junction tree of some marginals by one more of them.

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
        self.cells = self._graph.triangulate()[0]

    def cells_with(self, columns: Columns) -> float:
        """Cells of all cliques of the tree that also covers these columns."""
        graph = self._graph.copy()
        return graph.triangulate()[0] if graph.link(columns) else self.cells

    def add(self, columns: Columns) -> None:
        """Let the tree cover these columns from now on."""
        if self._graph.link(columns):
            self.cells = self._graph.triangulate()[0]

    @property
    def cliques(self) -> tuple[Columns, ...]:
        """The maximal cliques of the tree, columns ascending."""
        bags = self._graph.triangulate()[1]
        return tuple(sorted(tuple(_columns(bag)) for bag in bags))


@dataclass(frozen=True)
class TreeLimit:
    """Which marginals a junction tree may cover as well: those that leave it small enough.

    It is a rule in numbers, which a choice among marginals follows inside (`mechanisms.selection`).

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
        """Return whether the tree may cover these columns."""
        return len(columns) == 1 or self._growth.cells_with(columns) <= self.most_cells

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self.sizes, self.cliques)


def triangulate(sizes: Sequence[int], cliques: Iterable[Columns]) -> tuple[Columns, ...]:
    """The maximal cliques of a triangulated graph in which each marginal's columns are linked.

    Args:
        sizes: number of states of each column, which the order of elimination minds.
        cliques: columns of each marginal; columns in none of them stand alone.

    Example:
        >>> triangulate((2, 9, 2, 9, 5), [(0, 1), (1, 2), (2, 3), (3, 0)])
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

    def triangulate(self) -> tuple[float, list[_Set]]:
        """Cells and cliques of the better of the two orders."""
        tried = [self.copy().eliminate_all(by_fill=by_fill) for by_fill in (False, True)]
        return min(tried, key=lambda entry: entry[0])

    def eliminate_all(self, *, by_fill: bool) -> tuple[float, list[_Set]]:
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
        """Rank a column for elimination: the lowest first."""
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


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a triangulated graph in a tree, parents before children.

    Whatever part of the tree two cliques are in, each clique between them holds the columns that
    they share. Parts without a common column are joined by an empty separator, so that there is
    one root.

    Attributes:
        sizes: number of states of each column.
        cliques: columns of each clique, ascending; together all columns.
        parents: place of each clique's parent; −1 for the root, which is the first.

    Example:
        >>> tree = JunctionTree.of((2, 3, 4, 5), [(0, 1), (1, 2)])
        >>> tree.cliques, tree.parents, tree.separators
        (((1, 2), (0, 1), (3,)), (-1, 0, 0), ((), (1,), ()))
        >>> tree.cells, tree.find_clique((1, 0)), tree.find_clique((0, 2))
        (23, 1, None)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], cliques: Iterable[Columns]) -> JunctionTree:
        """The tree for marginals of these columns.

        A spanning tree with the largest separators, which is what makes it a junction tree
        (Jensen & Jensen 1994), grown from the largest clique by Prim's algorithm.

        Raises:
            ValueError: a table without columns, or a column without states.
        """
        sizes = tuple(int(size) for size in sizes)
        if not sizes or min(sizes) < 1:
            raise ValueError("a junction tree is over at least one column, each with states")
        maximal = triangulate(sizes, cliques)
        bits = [sum(1 << j for j in clique) for clique in maximal]
        order, above = _span_tree(bits, _largest(sizes, maximal))
        place = {k: i for i, k in enumerate(order)}
        parents = tuple(place[above[k]] if above[k] >= 0 else -1 for k in order)
        return cls(sizes, tuple(maximal[k] for k in order), parents)

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """Columns that each clique shares with its parent, ascending; () for the root."""
        return tuple(
            tuple(j for j in clique if p >= 0 and j in self.cliques[p])
            for clique, p in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def cells(self) -> int:
        """Cells of all cliques together."""
        return sum(self.cells_of(clique) for clique in self.cliques)

    def cells_of(self, columns: Columns) -> int:
        """Cells of the table of some columns."""
        return math.prod(self.sizes[j] for j in columns)

    def find_clique(self, columns: Iterable[int]) -> int | None:
        """Place of the smallest clique that holds all these columns, None if there is none."""
        bits = sum(1 << j for j in set(columns))
        return next((k for k, held in self._by_cells if held & bits == bits), None)

    @cached_property
    def _by_cells(self) -> list[tuple[int, int]]:
        """Places of the cliques, small ones first, and their columns as bits of a number."""
        order = sorted(range(len(self.cliques)), key=lambda k: self.cells_of(self.cliques[k]))
        return [(k, sum(1 << j for j in self.cliques[k])) for k in order]


def _largest(sizes: tuple[int, ...], cliques: tuple[Columns, ...]) -> int:
    cells = [math.prod(sizes[j] for j in clique) for clique in cliques]
    return cells.index(max(cells))


def _span_tree(sets: list[int], root: int) -> tuple[list[int], list[int]]:
    """Order of joining and parent of each set of columns (as bits of a number)."""
    order, parents = [root], [root] * len(sets)
    parents[root] = -1
    shared = [(clique & sets[root]).bit_count() for clique in sets]
    left = [k for k in range(len(sets)) if k != root]
    while left:
        new = max(left, key=lambda k: shared[k])
        left.remove(new)
        order.append(new)
        for k in left:
            common = (sets[k] & sets[new]).bit_count()
            if common > shared[k]:
                shared[k], parents[k] = common, new
    return order, parents
