"""Where the tables of a junction tree lie in memory, and which is summed from which.

All tables of a kind lie in one array, so that one compiled kernel serves every tree. Every table
has its columns in the same order: small columns first and the largest last, and among equals those
in most cliques last. This makes the inner loops long.

A measured table, or a separator, is read from the smallest table of its clique that holds it (its
*host*), another of its kind if there is one, and the clique itself only if not: most sums are then
taken over small tables. Where several tables of a clique share no host, *aids* are put between:
tables that hold some of them and the last axes of the clique, with at most an eighth of its cells.
The clique is then read once for several tables, in long runs.

Structural zeros stand here too: which rules a tree can keep exactly, and in which clique.

A rule is a box: columns, and states of each; records in all of them cannot occur. Where a clique
holds all columns of a box, its cells get probability 0, and with them every record in the box,
since each record has one cell in that clique. So one clique for each box is enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.functions.triangulation import Columns, Growth
from understudy.models.graphical import factor_kernels as kernels
from understudy.models.graphical.factor_kernels import Link, Program, Recipe, Span
from understudy.models.graphical.junction_tree import JunctionTree

_RUN = 32  # cells that a run should have, so that overhead and the ends of vectors hardly count
_AID = 8  # how many times larger than an aid the clique is


class Cells(NamedTuple):
    """Memory of a tree.

    A *node* is a separator (node k: of clique k), an aid or a measured table, in this order.

    Attributes:
        memory: of all tables: of the cliques, the nodes, and once more of the separators.
        cliques: part of it, shape (cells of cliques,).
        nodes: part of it, shape (cells of nodes,).
    """

    memory: Floats
    cliques: Floats
    nodes: Floats


class Calibration(NamedTuple):
    """What a calibration runs.

    Attributes:
        collect: turns clique by clique, from the leaves to the root, into conditionals, and leaves
            the log of their masses in its separator, and the masses in the separator's second.
        distribute: turns them back into probabilities, and reads the nodes off.
    """

    collect: Program
    distribute: Program


class TreeLayout:
    """A junction tree, and tables within its cliques.

    Args:
        tree: over all columns.
        tables: columns of each measured table, covered by a clique each.
    """

    def __init__(self, tree: JunctionTree, tables: Iterable[Columns]) -> None:
        self.tree = tree
        self.tables = tuple(tables)

    def ordered(self, columns: Iterable[int]) -> Columns:
        """Columns in the order of the axes in memory."""
        return tuple(sorted(columns, key=self._ranks.__getitem__))

    def shape(self, columns: Sequence[int]) -> tuple[int, ...]:
        """Shape of a table with these axes."""
        return tuple(self.tree.sizes[j] for j in columns)

    def stored(self, array: Floats, columns: Sequence[int]) -> Floats:
        """An array with these axes as it lies in memory, flat."""
        axes = [columns.index(j) for j in self.ordered(columns)]
        return np.ascontiguousarray(array.transpose(axes)).reshape(-1)

    def read(self, flat: Floats, columns: Columns, wanted: Sequence[int]) -> Floats:
        """A table out of memory: the sum over all but some of its columns, axes as wanted.

        Args:
            flat: its cells, shape (cells,).
            columns: of the table.
            wanted: some of them, in any order.
        """
        kept = self.ordered(columns)
        table = flat.reshape(self.shape(kept))
        table = table.sum(axis=tuple(k for k, j in enumerate(kept) if j not in wanted))
        left = [j for j in kept if j in wanted]
        return np.asarray(table.transpose([left.index(j) for j in wanted]))

    @cached_property
    def clique_starts(self) -> Integers:
        """Where each clique's cells start, and the end of the last."""
        return _starts(self.tree, self.tree.cliques)

    @cached_property
    def node_starts(self) -> Integers:
        """Where each node's cells start, separators first, and the end of the last."""
        return _starts(self.tree, self._nodes)

    @property
    def measured(self) -> slice:
        """Where the cells of the measured tables lie among those of the nodes."""
        start = self.node_starts[len(self._nodes) - len(self.tables)]
        return slice(int(start), int(self.node_starts[-1]))

    def cells(self) -> Cells:
        """New memory: zeros."""
        cliques, nodes = int(self.clique_starts[-1]), int(self.node_starts[-1])
        memory = np.zeros(cliques + nodes + int(self.node_starts[len(self.tree.cliques)]))
        return Cells(memory, memory[:cliques], memory[cliques : cliques + nodes])

    @cached_property
    def calibration(self) -> Calibration:
        """What `calibrate` runs on `cells`."""
        collect, distribute = Recipe(), Recipe()
        cliques, nodes, masses = self._spans
        for k in reversed(range(len(cliques))):
            for node in reversed(self._members[k]):
                collect.join(kernels.ADD, *self._joined(node, k))
            link = self.steps(self.tree.cliques[k], self.tree.separators[k])
            collect.join(kernels.LARGEST, cliques[k], nodes[k], link)
            collect.change(kernels.NEGATE, nodes[k], masses[k])
            collect.join(kernels.ADD, cliques[k], masses[k], link)
            collect.change(kernels.EXPONENTIATE, cliques[k])
            collect.join(kernels.SUM, cliques[k], masses[k], link)
            collect.change(kernels.ADD_LOG, nodes[k], masses[k])
        for k in range(len(cliques)):
            link = self.steps(self.tree.cliques[k], self.tree.separators[k])
            distribute.change(kernels.DIVIDE, nodes[k], masses[k])
            distribute.join(kernels.MULTIPLY, cliques[k], masses[k], link)
            for node in self._members[k]:
                distribute.join(kernels.SUM, *self._joined(node, k))
        return Calibration(collect.program(), distribute.program())

    @cached_property
    def _spans(self) -> tuple[list[Span], list[Span], list[Span]]:
        """Where cliques, nodes and second separators lie in memory."""
        separators = self.node_starts[: len(self.tree.cliques) + 1]
        behind = self.clique_starts[-1] + self.node_starts[-1]
        starts = self.clique_starts, self.clique_starts[-1] + self.node_starts, behind + separators
        cliques, nodes, masses = ([*pairwise(one.tolist())] for one in starts)
        return cliques, nodes, masses

    def _joined(self, node: int, clique: int) -> tuple[Span, Span, Link]:
        """The table that a node is read from, the node, and the link of both."""
        inside = self._members[clique]
        host = self._host(node, inside[: inside.index(node)])
        cliques, nodes, _ = self._spans
        large = self._nodes[host] if host >= 0 else self.tree.cliques[clique]
        span = nodes[host] if host >= 0 else cliques[clique]
        return span, nodes[node], self.steps(large, self._nodes[node])

    @cached_property
    def _ranks(self) -> list[tuple[int, int, int]]:
        """Of each column, by which axes are sorted."""
        often = Counter(j for clique in self.tree.cliques for j in clique)
        return [(size, often[j], j) for j, size in enumerate(self.tree.sizes)]

    @cached_property
    def _nodes(self) -> tuple[Columns, ...]:
        aids = (columns for inside in self._aids for columns in inside)
        return (*self.tree.separators, *aids, *self.tables)

    @cached_property
    def _homes(self) -> list[int]:
        """Clique in which each node is a part; −1 for the root's separator."""
        aids = [k for k, inside in enumerate(self._aids) for _ in inside]
        return [*self.tree.parents, *aids, *self._table_homes]

    @cached_property
    def _table_homes(self) -> list[int]:
        homes = []
        for columns in self.tables:
            home = self.tree.covering(columns)
            if home is None:
                raise ValueError("each measured table lies within a clique of the tree")
            homes.append(home)
        return homes

    @cached_property
    def _aids(self) -> list[list[Columns]]:
        """Columns of the aids of each clique."""
        guests: list[set[Columns]] = [set() for _ in self.tree.cliques]
        for columns, home in zip(self.tables, self._table_homes, strict=True):
            guests[home].add(columns)
        for columns, home in zip(self.tree.separators[1:], self.tree.parents[1:], strict=True):
            guests[home].add(columns)
        pairs = zip(self.tree.cliques, guests, strict=True)
        return [self._aids_of(clique, inside) for clique, inside in pairs]

    def _aids_of(self, clique: Columns, guests: set[Columns]) -> list[Columns]:
        most = self.tree.cells_of(clique) // _AID
        tail: set[int] = set()
        for j in reversed(self.ordered(clique)):
            if math.prod(self.tree.sizes[i] for i in tail) < _RUN:
                tail.add(j)
        direct = [guest for guest in guests if not any({*guest} < {*other} for other in guests)]
        direct.sort(key=lambda guest: (-self.tree.cells_of(guest), guest))
        bins: list[tuple[set[int], list[Columns]]] = []
        for guest in direct:
            for union, held in bins:
                if self.tree.cells_of((*(union | {*guest}),)) <= most:
                    union.update(guest)
                    held.append(guest)
                    break
            else:
                bins.append((tail | {*guest}, [guest]))
        useful = [union for union, held in bins if len(held) > 1 or self._short(clique, held[0])]
        aids = [tuple(sorted(union)) for union in useful if self.tree.cells_of((*union,)) <= most]
        return [aid for aid in aids if aid not in guests]

    def _short(self, clique: Columns, guest: Columns) -> bool:
        """Whether a table would be read from the clique in short runs."""
        return self.steps(clique, guest)[0][-1] < _RUN // 2

    @cached_property
    def _members(self) -> list[list[int]]:
        """Nodes in each clique, those with more columns first: hosts stand before guests."""
        members: list[list[int]] = [[] for _ in self.tree.cliques]
        for node, home in enumerate(self._homes):
            if home >= 0:
                members[home].append(node)
        for inside in members:
            inside.sort(key=lambda node: (-len(self._nodes[node]), -node))
        return members

    def _host(self, node: int, earlier: list[int]) -> int:
        columns = set(self._nodes[node])
        hosts = [host for host in earlier if columns <= set(self._nodes[host])]
        return min(hosts, key=lambda host: self.tree.cells_of(self._nodes[host]), default=-1)

    def steps(self, large: Columns, small: Columns) -> Link:
        """The link between two tables, as a `Recipe` takes it."""
        extents: list[int] = []
        kept: list[bool] = []
        for j in self.ordered(large):
            if kept and kept[-1] == (j in small):
                extents[-1] *= self.tree.sizes[j]
            else:
                extents.append(self.tree.sizes[j])
                kept.append(j in small)
        steps, step = [0] * len(extents), 1
        for k in range(len(extents) - 1, -1, -1):
            if kept[k]:
                steps[k] = step
                step *= extents[k]
        padding = max(2 - len(extents), 0)
        return [1] * padding + extents, [0] * padding + steps


def _starts(tree: JunctionTree, tables: Iterable[Columns]) -> Integers:
    return np.cumsum([0, *(tree.cells_of(columns) for columns in tables)], dtype=np.int64)


Box = Mapping[int, frozenset[int]]


FIRST_SHARE = 0.25
"""Part of the largest tree that rules may take up before any table of several columns does."""


def firm_boxes(
    sizes: Sequence[int], boxes: Iterable[Box], most_cells: float
) -> tuple[tuple[Columns, ...], float]:
    """What rules come before tables: those whose own tree has at most `FIRST_SHARE` of the cells.

    Whoever chooses tables beside these cliques ends up with a tree that keeps the rules. Chosen
    without them, tables fill the tree, and rules are left to records that are drawn again. What is
    kept of these contradicts every table that was measured.

    Args:
        sizes: of all columns.
        boxes: column → states.
        most_cells: of the tree, once tables are in it.

    Returns:
        Columns of their cliques, and the cells of their tree; 0 without any.
    """
    covered, kept, _ = _added(sizes, (), boxes, FIRST_SHARE * most_cells)
    return covered, Growth(sizes, covered).cells if kept else 0.0


def enforceable(
    sizes: Sequence[int],
    cliques: Iterable[Columns],
    boxes: Iterable[Box],
    most_cells: float,
    firm: Iterable[Columns] = (),
) -> tuple[tuple[Columns, ...], tuple[Box, ...], tuple[Box, ...]]:
    """Choose the boxes that a tree keeps: all of them if they fit, else first those named as firm.

    Others follow as far as they fit; those that enlarge the tree least come first.

    Args:
        sizes: of all columns.
        cliques: columns that the tree covers anyway.
        boxes: column → states.
        most_cells: of the tree, unless it is larger without any box.
        firm: columns of boxes that come before others, if the tree has room for all of them.

    Returns:
        Columns of all cliques that the tree is to cover, the boxes kept, the boxes left out.
    """
    covered = (*cliques,)
    most = max(most_cells, Growth(sizes, covered).cells)
    ruled = (*covered, *firm)
    return _added(sizes, ruled if Growth(sizes, ruled).cells <= most else covered, boxes, most)


def _added(
    sizes: Sequence[int], covered: Iterable[Columns], boxes: Iterable[Box], most: float
) -> tuple[tuple[Columns, ...], tuple[Box, ...], tuple[Box, ...]]:
    """Columns of cliques and boxes that a tree has room for, these boxes, and the others."""
    by_columns: dict[Columns, list[Box]] = {}
    for box in boxes:
        by_columns.setdefault(tuple(sorted(box)), []).append(box)
    found = [*covered]
    growth = Growth(sizes, [*found, *by_columns])
    if growth.cells <= most:
        return (*found, *by_columns), (*(b for own in by_columns.values() for b in own),), ()
    growth = Growth(sizes, found)
    kept: list[Box] = []
    left: list[Box] = []
    for columns in sorted(by_columns, key=growth.cells_with):
        fits = growth.cells_with(columns) <= most
        if fits:
            growth.add(columns)
            found.append(columns)
        (kept if fits else left).extend(by_columns[columns])
    return tuple(found), tuple(kept), tuple(left)


def excluded(layout: TreeLayout, boxes: Iterable[Box]) -> Integers:
    """Cells of the cliques, in the layout's numbering, that lie in a box; ascending, shape (n,)."""
    parts = [np.zeros(0, dtype=np.int64)]
    for box in boxes:
        home = layout.tree.covering(box)
        assert home is not None
        columns = layout.ordered(layout.tree.cliques[home])
        shape = layout.shape(columns)
        states = [sorted(box.get(j, range(size))) for j, size in zip(columns, shape, strict=True)]
        if all(states):
            cells = np.ravel_multi_index(np.ix_(*states), shape).reshape(-1)
            parts.append(cells + layout.clique_starts[home])
    return np.unique(np.concatenate(parts))
