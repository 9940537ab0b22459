"""Junction trees: cliques of columns, joined so that each column's cliques hang together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from understudy.functions.triangulation import Columns, triangulated


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
        >>> tree.cells, tree.covering((1, 0)), tree.covering((0, 2))
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
        maximal = triangulated(sizes, cliques)
        bits = [sum(1 << j for j in clique) for clique in maximal]
        order, above = _spanned(bits, _largest(sizes, maximal))
        place = {k: i for i, k in enumerate(order)}
        parents = tuple(place[above[k]] if above[k] >= 0 else -1 for k in order)
        return cls(sizes, tuple(maximal[k] for k in order), parents)

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """What each clique shares with its parent, ascending; () for the root."""
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

    def covering(self, columns: Iterable[int]) -> int | None:
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


def _spanned(sets: list[int], root: int) -> tuple[list[int], list[int]]:
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
