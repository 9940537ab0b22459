"""A tree of cells: the full cross-tabulation, divided by one column after the other.

Layer 0 is one node, which holds every cell. Each node of a layer is divided by all states of some
columns that were not used above it; nodes of one layer may be divided by different columns. A node
without an allowed cell does not exist. Everything here is public: it follows from the schema and
from the columns that were chosen, never from which cells hold records, so empty nodes are nodes
like any other.

**A round of a Gibbs sampler: each column in turn, given some of the others.**

What a column is drawn given is its *key*: the states of its key columns, as one mixed-radix number.
Records are compared with a hashed table by this number alone. It changes by a known step when one
column changes, so it is never computed again. Everything here is public.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3.2, where the columns of a key are the foremost ones of an order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Integers
from understudy.errors import MethodError
from understudy.schema.domain import Domain

Split = tuple[int, ...]
"""Columns that divide a node, by all combinations of their states."""

FREE = -1
"""Stands where a node does not fix the state of a column."""


@dataclass(frozen=True)
class Layer:
    """The nodes at one depth.

    Attributes:
        states: state of each column in each node, `FREE` where it is open, shape (nodes, columns).
        parents: place of each node's parent in the layer above, ascending, shape (nodes,).
        sizes: allowed cells in each node, Python integers.
    """

    states: Integers
    parents: Integers
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True)
class Step:
    """A step from a layer to the next.

    Attributes:
        layer: the next one.
        starts: where the combinations of states of each node's split start, shape (nodes,).
        nodes: the node of each combination in the next layer; −1 if it cannot occur.
    """

    layer: Layer
    starts: Integers
    nodes: Integers


@dataclass(frozen=True)
class Partition:
    """A tree of cells.

    Attributes:
        domain: sizes and structural zeros of all columns.
        splits: for each layer but the last, the columns that divide each of its nodes.

    Example:
        A table of 2 × 3 cells, divided by its first column:

        >>> tree = Partition(Domain((2, 3))).divide([(0,)])
        >>> tree.layers[1].states.tolist(), tree.layers[1].sizes
        ([[0, -1], [1, -1]], (3, 3))
        >>> tree.locate([np.array([1, 0, 1]), np.array([2, 2, 0])]).tolist()
        [1, 0, 1]
    """

    domain: Domain
    splits: tuple[tuple[Split, ...], ...] = ()

    @property
    def depth(self) -> int:
        """Layers below the root."""
        return len(self.splits)

    @property
    def order(self) -> tuple[list[int], bool]:
        """Columns in the order in which they first divide; whether each layer is divided alike."""
        seen = dict.fromkeys(j for layer in self.splits for split in layer for j in split)
        return list(seen), all(len(set(layer)) == 1 for layer in self.splits)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All layers, the root's first."""
        width = len(self.domain.sizes)
        root = np.full((1, width), FREE, dtype=np.int64)
        first = Layer(root, np.zeros(1, dtype=np.int64), (self.domain.n_allowed,))
        return (first, *(step.layer for step in self.steps))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Steps that lead from each layer to the next.

        Raises:
            ValueError: as in `divide`; splits that divide no tree would let some records find no
                node, and an error then tells of them.
        """
        if not self.splits:
            return ()
        above = self.above
        last = above.layers[-1]
        self._require_splits(last, self.splits[-1])
        return (*above.steps, self._below(last, self.splits[-1]))

    @cached_property
    def above(self) -> Partition:
        """Without the last layer."""
        return Partition(self.domain, self.splits[:-1])

    def until(self, depth: int) -> Partition:
        """The layers down to a depth."""
        return self if depth >= self.depth else self.above.until(depth)

    def divide(self, splits: Sequence[Split]) -> Partition:
        """With one layer more.

        Args:
            splits: the columns that divide each node of the last layer; () leaves a node whole.

        Raises:
            ValueError: not one split per node, or a column that is used above.
        """
        self._require_splits(self.layers[-1], splits)
        deeper = Partition(self.domain, (*self.splits, tuple(map(tuple, splits))))
        deeper.__dict__["above"] = self  # known already, with all its layers
        return deeper

    def _require_splits(self, last: Layer, splits: Sequence[Split]) -> None:
        """Refuse what does not divide each node of a layer by columns that it leaves open."""
        if len(splits) != len(last):
            raise ValueError("a layer needs one split for each of its nodes")
        places = range(len(self.domain.sizes))
        for row, split in zip(last.states, splits, strict=True):
            if any(j not in places for j in split):
                raise ValueError("a column that divides a node is one of the domain")
            if len(set(split)) < len(split) or any(row[j] != FREE for j in split):
                raise ValueError("a column divides the cells once along a branch")

    def open_columns(self, node: int) -> tuple[int, ...]:
        """Columns that a node of the last layer leaves open."""
        return tuple(np.flatnonzero(self.layers[-1].states[node] == FREE).tolist())

    def locate(self, columns: Sequence[NDArray[np.integer]]) -> Integers:
        """In which node of the last layer each allowed cell lies.

        Args:
            columns: one array of states per column, each of shape (n,).

        Returns:
            Shape (n,).
        """
        place = np.zeros(len(columns[0]), dtype=np.int64)
        for step, splits in zip(self.steps, self.splits, strict=True):
            combination = self._combination(place, splits, columns)
            place = step.nodes[step.starts[place] + combination]
        return place

    def _combination(
        self, place: Integers, splits: tuple[Split, ...], columns: Sequence[NDArray[np.integer]]
    ) -> Integers:
        """Number of each cell's combination of states among those of its node's split."""
        result = np.zeros(len(place), dtype=np.int64)
        kinds = sorted(set(splits))
        kind = np.array([kinds.index(split) for split in splits], dtype=np.int64)[place]
        for k, split in enumerate(kinds):
            rows = slice(None) if len(kinds) == 1 else np.flatnonzero(kind == k)
            for j in split:
                result[rows] = result[rows] * self.domain.sizes[j] + columns[j][rows]
        return result

    def _below(self, layer: Layer, splits: tuple[Split, ...]) -> Step:
        """Compute what leads from a layer to the next."""
        widths = [math.prod(self.domain.sizes[j] for j in split) for split in splits]
        parents = np.repeat(np.arange(len(layer), dtype=np.int64), widths)
        states = layer.states[parents].copy()
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        for node, split in enumerate(splits):
            if split:
                grid = np.indices([self.domain.sizes[j] for j in split]).reshape(len(split), -1)
                states[starts[node] : starts[node + 1], list(split)] = grid.T
        sizes = self._cells_within(states)
        kept = np.array([size > 0 for size in sizes], dtype=np.bool_)
        numbers = np.where(kept, np.cumsum(kept) - 1, -1)
        below = Layer(states[kept], parents[kept], tuple(size for size in sizes if size))
        return Step(below, starts[:-1], numbers)

    def _cells_within(self, states: Integers) -> list[int]:
        """Allowed cells in each node: those of the columns in rules, times the others' states."""
        ruled = sorted({j for box in self.domain.boxes for j in box})
        loose = [j for j in range(len(self.domain.sizes)) if j not in set(ruled)]
        few = self.domain.project(ruled)
        known: dict[tuple[int, ...], int] = {}
        result = []
        for row in states:
            fixed = tuple(row[ruled].tolist())
            if fixed not in known:
                known[fixed] = few.fix_states(fixed).n_allowed if ruled else 1
            open_sizes = [self.domain.sizes[j] for j in loose if row[j] == FREE]
            result.append(known[fixed] * math.prod(open_sizes))
        return result


MOST_KEYS = 2**62


@dataclass(frozen=True)
class GibbsSweep:
    """The columns of a schema in their order, and what each is drawn given.

    Attributes:
        names: names of the columns.
        domain: their sizes and structural zeros.
        given: for each column, the places of its key columns; the last one varies fastest.
    """

    names: tuple[str, ...]
    domain: Domain
    given: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, names: Sequence[str], domain: Domain, keys: Mapping[str, Sequence[str]]
    ) -> GibbsSweep:
        """The sweep in which columns have these key columns; a column without any has none.

        Args:
            names: names of the columns.
            domain: their sizes and structural zeros.
            keys: names of the key columns of each column.

        Raises:
            MethodError: an unknown column, a column in its own key or twice in it, or a table whose
                cells 64-bit codes cannot number.
        """
        place = {name: j for j, name in enumerate(names)}
        for name in (*keys, *(other for key in keys.values() for other in key)):
            if name not in place:
                raise MethodError(f"A key names {name!r}, which is no column of the schema.")
        for name, key in keys.items():
            if name in key or len(set(key)) < len(key):
                raise MethodError(f"The key of {name!r} has the column itself, or one twice.")
        given = tuple(tuple(place[other] for other in keys.get(name, ())) for name in names)
        sweep = cls(tuple(names), domain, given)
        for name, n_keys, size in zip(names, sweep.n_keys, domain.sizes, strict=True):
            if n_keys * size > MOST_KEYS:
                raise MethodError(f"The key of {name!r} has too many values; leave columns out.")
        return sweep

    @property
    def n_keys(self) -> tuple[int, ...]:
        """Number of values that the key of each column has."""
        return tuple(math.prod(self.domain.sizes[j] for j in key) for key in self.given)

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Names of the key columns of each column."""
        return tuple(tuple(self.names[j] for j in key) for key in self.given)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """For each column the places of its key columns, and of itself at the end.

        A cell of this table has the mixed-radix number key · size + state.
        """
        return tuple((*key, j) for j, key in enumerate(self.given))

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """By how much the key of column i (rows) grows with the state of column j, shape (d, d)."""
        strides = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        for i, key in enumerate(self.given):
            step = 1
            for j in reversed(key):
                strides[i, j], step = step, step * self.domain.sizes[j]
        return strides

    def keys_of(self, states: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
        """The keys of records.

        Args:
            states: one array per column, each of shape (n,).

        Returns:
            Shape (d, n): the key of every column.
        """
        return self.strides @ np.array(states, dtype=np.int64)

    def move(
        self, keys: NDArray[np.int64], column: int, change: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Keep the keys up with a column that changed, in place.

        Args:
            keys: shape (d, n).
            column: place of the column.
            change: new states less old ones, shape (n,).

        Returns:
            The same array.
        """
        touched = np.flatnonzero(self.strides[:, column])
        keys[touched] += self.strides[touched, column, None] * change
        return keys
