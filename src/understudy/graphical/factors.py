"""Programs of steps on tables that lie in one array, run by one kernel.

A step joins a table with a smaller one of some of its columns (sums, products and maxima), or
changes two tables cell by cell. What differs between uses is the program: the one kernel that runs
them all is compiled once.

Calibration of a junction tree: the normalising constant and all marginals of a log-linear model.

p(x) ∝ exp(Σ θ_c(x_c)) over the allowed cells. One pass from the leaves to the root turns each
clique into a conditional distribution of its own columns given the separator and sends the
logarithm of what they sum to; one pass back multiplies by the separator's marginal. Source: Jensen,
Lauritzen & Olesen (1990), in the form with conditionals (Shafer & Shenoy's messages upwards).

Every conditional is scaled by its own largest cell and messages are sums of logarithms, so nothing
overflows, and a state of the separator keeps its conditional however unlikely it is: cells more
than e⁻³⁴⁵ below the largest one with the same separator, and separators below 1e−150, count as
zero, which also keeps denormal numbers (slow) out. A forbidden cell has exactly probability 0.

Cost: one exponential per cell of the tree, and two passes over a clique for each table in it that
lies in no other table.

Marginals of any columns of a calibrated junction tree.

Within a clique, a sum. Across cliques, along the part of the tree between them: from its far ends
towards its root, each clique's conditional distribution given its separator is multiplied by what
its children sent, and all columns are summed out but the separator and those wanted. This is exact
(Koller & Friedman 2009, §10.3.3.2). Cost: cells of these cliques times combinations of the states
of the wanted columns below them.

Evidence in a calibrated junction tree: the same distribution, given states of some columns.

One pass from the leaves to the root. Each clique's conditional distribution given its separator is
multiplied by the weights of its own columns' states and by what its children sent; what it sums to
by the states of the separator goes to its parent. What is left at the root is the probability of
the evidence. Drawing from the root on, clique by clique, is then drawing from the distribution
given the evidence, exactly (Lauritzen & Spiegelhalter 1988); a column outside the evidence costs
nothing but its part of the pass.

**Where the tables of a junction tree lie in memory, and which is summed from which.**

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
from typing import Any, Final, NamedTuple

import numpy as np

from understudy._arrays import Floats, Integers, compiled
from understudy.graphical.junction_tree import Columns, Growth, JunctionTree

FORBIDDEN = -1e300
"""Stands for the logarithm of 0: sums of it stay finite."""
_LOWEST = 2 * FORBIDDEN
_IMPOSSIBLE = -1e200
_LEAST_SHARE = 1e-150
_CHUNK = 512

_LEAST_LOG = -345.0
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1
_LN2_LOW = 1.42860682030941723212e-6
_SHIFT = 6755399441055744.0
"""1.5·2⁵²: adding it rounds to a whole number and leaves that in the low bits."""

ADD: Final = 0
"""Add the smaller table to the larger."""
MULTIPLY: Final = 1
"""Multiply the larger table by the smaller."""
SUM: Final = 2
"""The smaller table becomes the sums of the larger."""
LARGEST: Final = 3
"""The smaller table becomes the largest cells of the larger."""
EXPONENTIATE: Final = 4
"""x becomes e^x."""
NEGATE: Final = 5
"""y becomes −x; 0 where x is the logarithm of 0."""
ADD_LOG: Final = 6
"""Add log y to x; that of 0 where y is not positive."""
DIVIDE: Final = 7
"""y becomes x / y; 0 where either is 0, or nearly."""
SCALE: Final = 8
"""Divide x by a number."""
MOVE: Final = 9
"""Add a number times x to y."""

Span = tuple[int, int]
"""Where the cells of a table start, and their end."""
Link = tuple[Sequence[int], Sequence[int]]
"""Cells along groups of neighbouring axes of the larger table, two groups or more, the last is
innermost; and how far one goes in the smaller along each, 0 where it is summed over."""


class Program(NamedTuple):
    """The steps that the kernel runs.

    Attributes:
        steps: of each its kind, start and end of the first table (x, or the larger), start and end
            of the second, where its link starts, and its end; shape (steps, 7).
        numbers: of each step, shape (steps,).
        extents: of all links, one after the other.
        strides: the same.
    """

    steps: Integers
    numbers: Floats
    extents: Integers
    strides: Integers

    def run(self, memory: Floats) -> None:
        """Run it on the tables in an array."""
        # Allocated here: kernels that allocate nothing are compiled sooner.
        digits = np.zeros((self.steps[:, 6] - self.steps[:, 5]).max(initial=0), dtype=np.int64)
        scale = np.empty(_CHUNK)
        _run(self, memory, digits, (scale, scale.view(np.int64)))


class Recipe:
    """A program in the making."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, ...]] = []
        self._numbers: list[float] = []
        self._extents: list[int] = []
        self._strides: list[int] = []

    def join(self, kind: int, large: Span, small: Span, link: Link) -> None:
        """Join two tables, in one of the ways up to `LARGEST`."""
        start = len(self._extents)
        self._extents += link[0]
        self._strides += link[1]
        self._steps.append((kind, *large, *small, start, len(self._extents)))
        self._numbers.append(0.0)

    def change(self, kind: int, x: Span, y: Span = (0, 0), number: float = 0.0) -> None:
        """Change a table, or two of as many cells, in one of the other ways."""
        self._steps.append((kind, *x, *y, 0, 0))
        self._numbers.append(number)

    def program(self) -> Program:
        """Build the program that is to be run."""
        steps = np.array(self._steps, dtype=np.int64).reshape(-1, 7)
        extents = np.array(self._extents, dtype=np.int64)
        strides = np.array(self._strides, dtype=np.int64)
        return Program(steps, np.array(self._numbers, dtype=np.float64), extents, strides)


@compiled(fastmath={"nnan", "ninf", "nsz", "reassoc"})
def _run(program: Program, memory: Floats, digits: Integers, work: tuple[Floats, Integers]) -> None:
    """One step after the other.

    Args:
        program: the steps.
        memory: the tables.
        digits: zeros, and zeros again in the end; as many as the longest link has groups.
        work: see `exponentiate`.
    """
    steps, numbers, all_extents, all_strides = program
    scale, bits = work
    for i in range(len(steps)):
        kind = steps[i, 0]
        x, y = memory[steps[i, 1] : steps[i, 2]], memory[steps[i, 3] : steps[i, 4]]
        if kind == EXPONENTIATE:
            exponentiate(x, scale, bits)
        elif kind > EXPONENTIATE:
            _change(kind, x, y, numbers[i])
        else:
            first, end = steps[i, 5], steps[i, 6]
            _join(kind, x, y, (all_extents[first:end], all_strides[first:end]), digits)


@compiled(inline="always")
def _change(kind: int, x: Floats, y: Floats, number: float) -> None:
    """Cell by cell."""
    for k in range(len(x)):
        if kind == NEGATE:
            y[k] = -x[k] if x[k] > _IMPOSSIBLE else 0.0
        elif kind == ADD_LOG:
            x[k] = x[k] + np.log(y[k]) if y[k] > 0 else FORBIDDEN
        elif kind == DIVIDE:
            y[k] = x[k] / y[k] if x[k] > _LEAST_SHARE and y[k] > 0 else 0.0
        elif kind == SCALE:
            x[k] /= number
        else:
            y[k] += number * x[k]


@compiled(inline="always")
def _join(
    kind: int, large: Floats, small: Floats, link: tuple[Integers, Integers], digits: Integers
) -> None:
    """Run by run of the larger table."""
    extents, strides = link
    last = len(extents) - 1
    rows, width = extents[last - 1], extents[last]
    if kind >= SUM:
        small[:] = 0.0 if kind == SUM else _LOWEST
    start, base = 0, 0
    while start < len(large):
        at = base
        for _ in range(rows):
            row = large[start : start + width]
            if strides[last] == 0:
                _join_cell(kind, row, small, at)
            else:
                _join_row(kind, row, small[at : at + width])
            start += width
            at += strides[last - 1]
        for k in range(last - 2, -1, -1):  # count on over the other groups
            digits[k] += 1
            base += strides[k]
            if digits[k] < extents[k]:
                break
            base -= strides[k] * extents[k]
            digits[k] = 0


@compiled(inline="always")
def _join_row(kind: int, row: Floats, other: Floats) -> None:
    """A run whose cells belong to one cell each."""
    if kind == ADD:
        for j in range(len(row)):
            row[j] += other[j]
    elif kind == MULTIPLY:
        for j in range(len(row)):
            row[j] *= other[j]
    elif kind == SUM:
        for j in range(len(row)):
            other[j] += row[j]
    else:
        for j in range(len(row)):
            other[j] = row[j] if row[j] > other[j] else other[j]


@compiled(inline="always")
def _join_cell(kind: int, row: Floats, small: Floats, at: int) -> None:
    """A run whose cells all belong to one."""
    value = small[at]
    if kind == ADD:
        for j in range(len(row)):
            row[j] += value
    elif kind == MULTIPLY:
        for j in range(len(row)):
            row[j] *= value
    elif kind == SUM:
        total = 0.0
        for j in range(len(row)):
            total += row[j]
        small[at] = value + total
    else:
        for j in range(len(row)):
            value = row[j] if row[j] > value else value
        small[at] = value


@compiled
def exponentiate(numbers: Floats, scale: Floats, bits: Integers) -> None:
    """Raise e to numbers up to 0, in place; 0 where it would be below e⁻³⁴⁵.

    The library's function is called once for each number; this one is compiled to vector
    instructions. e^x = 2^k·e^r with |r| ≤ ln 2 / 2, and a Taylor polynomial of degree 13 (an error
    of 5e−18, less than rounding) for e^r. No fast-math here: it would undo the rounding.

    Args:
        numbers: shape (n,).
        scale: written to; chunks of its length are raised at once.
        bits: the same memory as whole numbers.
    """
    for start in range(0, len(numbers), len(scale)):
        x = numbers[start : start + len(scale)]
        for i in range(len(x)):
            scale[i] = (x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) * _LOG2_E + _SHIFT
        for i in range(len(x)):
            k = scale[i] - _SHIFT
            r = ((x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) - k * _LN2_HIGH) - k * _LN2_LOW
            x[i] = _polynomial(r) if x[i] > _LEAST_LOG else 0.0
        for i in range(len(x)):
            bits[i] = (bits[i] + 1023) << 52
        for i in range(len(x)):
            x[i] *= scale[i]


@compiled(no_cpython_wrapper=True, fastmath={"contract"})
def _polynomial(r: float) -> float:
    """Taylor's, degree 13."""
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    return p * r + 1.0


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
    """The steps of a calibration.

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

    def order_columns(self, columns: Iterable[int]) -> Columns:
        """Columns in the order of the axes in memory."""
        return tuple(sorted(columns, key=self._ranks.__getitem__))

    def shape(self, columns: Sequence[int]) -> tuple[int, ...]:
        """Shape of a table with these axes."""
        return tuple(self.tree.sizes[j] for j in columns)

    def flatten(self, array: Floats, columns: Sequence[int]) -> Floats:
        """An array with these axes as it lies in memory, flat."""
        axes = [columns.index(j) for j in self.order_columns(columns)]
        return np.ascontiguousarray(array.transpose(axes)).reshape(-1)

    def read(self, flat: Floats, columns: Columns, wanted: Sequence[int]) -> Floats:
        """A table out of memory: the sum over all but some of its columns, axes as wanted.

        Args:
            flat: its cells, shape (cells,).
            columns: of the table.
            wanted: some of them, in any order.
        """
        kept = self.order_columns(columns)
        table = flat.reshape(self.shape(kept))
        table = table.sum(axis=tuple(k for k, j in enumerate(kept) if j not in wanted))
        left = [j for j in kept if j in wanted]
        return np.asarray(table.transpose([left.index(j) for j in wanted]))

    @cached_property
    def clique_starts(self) -> Integers:
        """Start of each clique's cells, and the end of the last."""
        return _starts(self.tree, self.tree.cliques)

    @cached_property
    def node_starts(self) -> Integers:
        """Start of each node's cells, separators first, and the end of the last."""
        return _starts(self.tree, self._nodes)

    @property
    def measured(self) -> slice:
        """Places of the cells of the measured tables among those of the nodes."""
        start = self.node_starts[len(self._nodes) - len(self.tables)]
        return slice(int(start), int(self.node_starts[-1]))

    def cells(self) -> Cells:
        """New memory: zeros."""
        cliques, nodes = int(self.clique_starts[-1]), int(self.node_starts[-1])
        memory = np.zeros(cliques + nodes + int(self.node_starts[len(self.tree.cliques)]))
        return Cells(memory, memory[:cliques], memory[cliques : cliques + nodes])

    @cached_property
    def calibration(self) -> Calibration:
        """Program that `calibrate` runs on `cells`."""
        collect, distribute = Recipe(), Recipe()
        cliques, nodes, masses = self._spans
        for k in reversed(range(len(cliques))):
            for node in reversed(self._members[k]):
                collect.join(ADD, *self._link_node(node, k))
            link = self.steps(self.tree.cliques[k], self.tree.separators[k])
            collect.join(LARGEST, cliques[k], nodes[k], link)
            collect.change(NEGATE, nodes[k], masses[k])
            collect.join(ADD, cliques[k], masses[k], link)
            collect.change(EXPONENTIATE, cliques[k])
            collect.join(SUM, cliques[k], masses[k], link)
            collect.change(ADD_LOG, nodes[k], masses[k])
        for k in range(len(cliques)):
            link = self.steps(self.tree.cliques[k], self.tree.separators[k])
            distribute.change(DIVIDE, nodes[k], masses[k])
            distribute.join(MULTIPLY, cliques[k], masses[k], link)
            for node in self._members[k]:
                distribute.join(SUM, *self._link_node(node, k))
        return Calibration(collect.program(), distribute.program())

    @cached_property
    def _spans(self) -> tuple[list[Span], list[Span], list[Span]]:
        """Places of cliques, nodes and second separators in memory."""
        separators = self.node_starts[: len(self.tree.cliques) + 1]
        behind = self.clique_starts[-1] + self.node_starts[-1]
        starts = self.clique_starts, self.clique_starts[-1] + self.node_starts, behind + separators
        cliques, nodes, masses = ([*pairwise(one.tolist())] for one in starts)
        return cliques, nodes, masses

    def _link_node(self, node: int, clique: int) -> tuple[Span, Span, Link]:
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
            home = self.tree.find_clique(columns)
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
        for j in reversed(self.order_columns(clique)):
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
        """Return whether a table would be read from the clique in short runs."""
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
        for j in self.order_columns(large):
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
    """Choose the rules that come before tables: their tree has at most `FIRST_SHARE` of the cells.

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
    covered, kept, _ = _add_boxes(sizes, (), boxes, FIRST_SHARE * most_cells)
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
    return _add_boxes(sizes, ruled if Growth(sizes, ruled).cells <= most else covered, boxes, most)


def _add_boxes(
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


def find_excluded(layout: TreeLayout, boxes: Iterable[Box]) -> Integers:
    """Cells of the cliques, in the layout's numbering, that lie in a box; ascending, shape (n,)."""
    parts = [np.zeros(0, dtype=np.int64)]
    for box in boxes:
        home = layout.tree.find_clique(box)
        assert home is not None
        columns = layout.order_columns(layout.tree.cliques[home])
        shape = layout.shape(columns)
        states = [sorted(box.get(j, range(size))) for j, size in zip(columns, shape, strict=True)]
        if all(states):
            cells = np.ravel_multi_index(np.ix_(*states), shape).reshape(-1)
            parts.append(cells + layout.clique_starts[home])
    return np.unique(np.concatenate(parts))


def calibrate(program: Calibration, forbidden: Integers, cells: Cells) -> float:
    """Calibrate in place.

    Args:
        program: see `TreeLayout.calibration`.
        forbidden: cells of the cliques that cannot occur.
        cells: the cliques receive their probabilities; their content is not read. The nodes are
            log-potentials of the measured tables, behind zeros for separators and aids; they
            receive the probabilities in all of them.

    Returns:
        log Σ exp(Σ θ_c(x_c)) over the allowed cells; below −1e200 if there is none.
    """
    cells.cliques[:] = 0.0
    cells.cliques[forbidden] = FORBIDDEN
    program.collect.run(cells.memory)
    constant = float(cells.nodes[0])
    cells.nodes[0] = 1.0
    program.distribute.run(cells.memory)
    return constant


Factor = tuple[Floats, Columns]
"""A table and the columns of its axes."""


def marginal(layout: TreeLayout, probabilities: Floats, columns: Sequence[int]) -> Floats:
    """Probabilities of the combinations of states of some columns.

    Args:
        layout: the tree, and where its cliques lie.
        probabilities: of the cells of each clique.
        columns: distinct, in any order.

    Returns:
        Shape: sizes of the columns, in the order given.

    Raises:
        ValueError: columns that are not distinct columns of the table.
    """
    asked = tuple(columns)
    if len(set(asked)) < len(asked) or not set(asked) <= {*range(len(layout.tree.sizes))}:
        raise ValueError(f"a marginal has distinct columns of the table: {asked}")
    home = layout.tree.find_clique(asked)
    if home is not None:
        flat = probabilities[layout.clique_starts[home] : layout.clique_starts[home + 1]]
        return layout.read(flat, layout.tree.cliques[home], asked)
    return _across(layout, probabilities, asked)


def _across(layout: TreeLayout, probabilities: Floats, asked: Columns) -> Floats:
    tree = layout.tree
    sent: dict[int, list[Factor]] = {}
    between = _cliques_between(tree, asked)
    for k in reversed(between):
        columns = tree.cliques[k]
        flat = probabilities[layout.clique_starts[k] : layout.clique_starts[k + 1]]
        table = layout.read(flat, columns, columns)
        top = k == between[0]
        separator = () if top else tree.separators[k]
        if not top:
            table = conditional(table, columns, separator)
        factors = [(table, columns), *sent.pop(k, [])]
        below = {j for _, axes in factors for j in axes}
        kept = (*separator, *(j for j in asked if j in below and j not in separator))
        result = _contract(factors, asked if top else kept)
        sent.setdefault(tree.parents[k], []).append((result, kept))
    return result


def _cliques_between(tree: JunctionTree, asked: Columns) -> list[int]:
    """Cliques on the paths between those nearest to the root that hold a wanted column."""
    tops = {next(k for k, clique in enumerate(tree.cliques) if j in clique) for j in asked}
    nodes = set(tops)
    ends = set(tops)
    while len(ends) > 1:  # parents stand before children, so the last of them is no one's ancestor
        last = max(ends)
        ends.remove(last)
        ends.add(tree.parents[last])
        nodes.add(tree.parents[last])
    return sorted(nodes)


def conditional(table: Floats, columns: Columns, separator: Columns) -> Floats:
    """A table given its separator; 0 where that has probability 0.

    Args:
        table: probabilities, an axis for each column.
        columns: of the axes.
        separator: some of them.
    """
    others = tuple(k for k, j in enumerate(columns) if j not in separator)
    given = table.sum(axis=others, keepdims=True)
    return np.asarray(np.divide(table, given, out=np.zeros_like(table), where=given > 0))


def _contract(factors: Sequence[Factor], kept: Columns) -> Floats:
    """The product of tables, summed over all columns but some."""
    labels = {j: k for k, j in enumerate(sorted({j for _, axes in factors for j in axes}))}
    operands: list[Any] = []
    for table, axes in factors:
        operands += [table, [labels[j] for j in axes]]
    operands.append([labels[j] for j in kept])
    return np.asarray(np.einsum(*operands, optimize="greedy"))


def given_weights(
    layout: TreeLayout, probabilities: Floats, weights: Mapping[int, Floats]
) -> tuple[Floats, float]:
    """The cliques given evidence, for `sampling.draw_records`.

    Args:
        layout: the tree, and where its cliques lie.
        probabilities: of the cells of each clique.
        weights: by column, the probability of the evidence given each of its states, shape
            (states,); 1 and 0 where it says which states there can be.

    Returns:
        The cells of each clique, in proportion to the probabilities given the separator and the
        evidence, and the probability of the evidence.
    """
    tree, starts = layout.tree, layout.clique_starts
    given = np.empty_like(probabilities)
    sent: dict[int, list[tuple[Floats, Columns]]] = {}
    mass = 0.0
    for k in range(len(tree.cliques) - 1, -1, -1):
        clique, separator = tree.cliques[k], tree.separators[k]
        cells = slice(int(starts[k]), int(starts[k + 1]))
        table = layout.read(probabilities[cells], clique, clique)
        table = conditional(table, clique, separator)
        own = [(weights[j], (j,)) for j in clique if j in weights and j not in separator]
        for factor, columns in (*own, *sent.pop(k, [])):
            shape = [tree.sizes[j] if j in columns else 1 for j in clique]
            table = table * factor.reshape(shape)
        given[cells] = layout.flatten(table, clique)
        summed = table.sum(axis=tuple(a for a, j in enumerate(clique) if j not in separator))
        if k:
            sent.setdefault(tree.parents[k], []).append((np.asarray(summed), separator))
        else:
            mass = float(summed)
    return given, mass
