"""Noisy marginals as a model fitted by least squares sees them: columns, counts, variances.

Changes of the potentials that leave the distribution as it is.

Two tables that share columns S can hand a function of x_S to each other: θ_c + f and θ_c' − f give
the same distribution. Along such directions only the small ridge λ·σ² bends the dual function, and
a search with a diagonal preconditioner crawls. They are known beforehand, though. Decomposed like
an analysis of variance, a table is the sum of its *effects*: for each set S of its columns, its
mean over the other columns less all effects of subsets of S. What the tables that hold S share is
the sum of their effects of S; whatever keeps this sum is redundant.

`parted` takes the redundant part Q·v of a direction: the effects of each S less their sum, divided
among the tables in the proportion a_c ∝ 1/(σ_c²·n), n being the cells of the table for each state
of S, which is what the ridge likes best. Q is a projection, and orthogonal in the metric of the
ridge where a table's variances are all alike. `parted_back` is its transpose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from understudy.arrays import Floats, Integers, compiled
from understudy.functions.triangulation import Columns
from understudy.models.graphical.clique_layout import TreeLayout
from understudy.models.graphical.factor_kernels import add, sum_up


@dataclass(frozen=True)
class Observation:
    """A noisy marginal.

    Attributes:
        columns: distinct columns, in any order; () observes the number of records.
        counts: noisy counts, with an axis for each of the columns, in their order.
        variance: of the noise in each cell; a number, or an array of the shape of `counts`, for
            example where a cell stands for several that were merged.
    """

    columns: tuple[int, ...]
    counts: Floats
    variance: float | Floats

    def checked(self, sizes: Sequence[int]) -> Observation:
        """The same in order of the columns, all variances written out.

        Raises:
            ValueError: columns, shapes or variances that cannot be; no count is shown.
        """
        if len(set(self.columns)) < len(self.columns) or not set(self.columns) <= {
            *range(len(sizes))
        }:
            raise ValueError(f"an observation has distinct columns of the table: {self.columns}")
        shape = tuple(sizes[j] for j in self.columns)
        counts = np.asarray(self.counts, dtype=np.float64)
        variance = np.asarray(self.variance, dtype=np.float64)
        if counts.shape != shape or variance.shape not in {(), shape}:
            raise ValueError(f"an observation of columns {self.columns} has shape {shape}")
        if not (np.isfinite(counts).all() and np.isfinite(variance).all() and (variance > 0).all()):
            raise ValueError("an observation has finite counts and positive, finite variances")
        order = np.argsort(self.columns).tolist()
        return Observation(
            tuple(self.columns[k] for k in order),
            counts.transpose(order),
            np.broadcast_to(variance, shape).transpose(order),
        )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(np.shape(self.counts))

    def margin(self, column: int) -> tuple[Floats, Floats]:
        """Counts of one of the columns, and their variances."""
        others = tuple(k for k, j in enumerate(self.columns) if j != column)
        variance = np.broadcast_to(self.variance, np.shape(self.counts))
        return np.sum(self.counts, axis=others), np.sum(variance, axis=others)


def merged(sizes: Sequence[int], observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Repeated observations of the same columns taken together, each cell by inverse variance.

    Args:
        sizes: of all columns.
        observations: in any order, columns in any order.

    Returns:
        One observation for each set of columns, columns ascending, sorted by columns.

    Raises:
        ValueError: as in `Observation.checked`.

    Example:
        >>> a = Observation((0,), np.array([3.0, 5.0]), 1.0)
        >>> b = Observation((0,), np.array([6.0, 5.0]), 2.0)
        >>> [mean] = merged((2,), [a, b])
        >>> mean.counts.tolist(), mean.variance.round(3).tolist()
        ([4.0, 5.0], [0.667, 0.667])
    """
    together: dict[tuple[int, ...], Observation] = {}
    for given in observations:
        new = given.checked(sizes)
        old = together.get(new.columns)
        together[new.columns] = new if old is None else _combined(old, new)
    return tuple(together[columns] for columns in sorted(together))


def _combined(first: Observation, other: Observation) -> Observation:
    """The mean by inverse variance, written so that it neither over- nor underflows."""
    share = first.variance / (first.variance + other.variance)  # of the other
    counts = first.counts + share * (other.counts - first.counts)
    return Observation(first.columns, counts, share * other.variance)


class Slots(NamedTuple):
    """What the kernel runs. A *slot* is a set of columns in one table, a subset before the whole.

    Attributes:
        tables: for each slot, where its table starts, and its end, shape (slots, 2).
        starts: where each slot's cells start, and the end of the last.
        sets: number of each slot's set of columns; slots of one set have equal sizes.
        cells: of the table for each state of the slot, shape (slots,).
        shares: a of each slot, shape (slots,).
        links: where the table's and its subsets' links start in `extents`, and the end.
        first: for each slot, its first link (to the table); the others go to subsets.
        subsets: slot that each link goes to; −1 for the table.
        extents: see `table_kernels`.
        steps: the same.
        sums: where the cells of each slot's set start, of all sets one after the other; and behind
            them the end.
    """

    tables: Integers
    starts: Integers
    sets: Integers
    cells: Floats
    shares: Floats
    links: Integers
    first: Integers
    subsets: Integers
    extents: Integers
    steps: Integers
    sums: Integers


class Redundancy:
    """The redundant directions of the tables of a layout.

    Args:
        layout: the tables.
        variances: mean variance of the noise in each table.
    """

    def __init__(self, layout: TreeLayout, variances: Sequence[float]) -> None:
        self._slots = _slots(layout, variances)

    def parted(self, vector: Floats) -> Floats:
        """The redundant part of a change of the potentials; all tables in one vector."""
        ones = np.ones(len(self._slots.cells))
        return self._parted(vector, self._slots.shares, ones)

    def parted_back(self, vector: Floats) -> Floats:
        """The transpose of `parted`."""
        slots = self._slots
        return self._parted(vector, 1 / slots.cells, slots.shares * slots.cells)

    def _parted(self, vector: Floats, given: Floats, taken: Floats) -> Floats:
        slots, result = self._slots, np.zeros_like(vector)
        digits = np.zeros(int(np.diff(slots.links).max(initial=0)), dtype=np.int64)
        work = np.zeros(slots.starts[-1]), np.zeros(slots.sums[-1]), digits
        _part(slots, vector, (given, taken), work, result)
        return result


def _subsets(columns: Columns) -> list[Columns]:
    return [subset for k in range(len(columns) + 1) for subset in combinations(columns, k)]


def _slots(layout: TreeLayout, variances: Sequence[float]) -> Slots:
    often = Counter(subset for table in layout.tables for subset in _subsets(table))
    number = {subset: k for k, subset in enumerate(subset for subset in often if often[subset] > 1)}
    size = layout.tree.cells_of
    ends = np.cumsum([0, *(size(table) for table in layout.tables)]).tolist()
    names: list[tuple[int, Columns]] = []
    links: list[tuple[list[int], list[int]]] = []
    first, subsets = [0], []
    for t, table in enumerate(layout.tables):
        place: dict[Columns, int] = {}
        for subset in (s for s in _subsets(table) if s in number):
            below = [r for r in place if set(r) < set(subset)]
            links += [layout.steps(table, subset), *(layout.steps(subset, r) for r in below)]
            subsets += [-1, *(place[r] for r in below)]
            first.append(len(links))
            place[subset] = len(names)
            names.append((t, subset))
    cells = np.array([size(layout.tables[t]) / size(subset) for t, subset in names])
    sets = np.array([number[subset] for _, subset in names], dtype=np.int64)
    weights = 1 / (cells * np.array([variances[t] for t, _ in names]))
    sums = np.bincount(sets, weights, minlength=1)
    states = np.zeros(len(number) + 1, dtype=np.int64)
    states[1:] = [size(subset) for subset in number]
    places = np.cumsum(states)
    return Slots(
        np.array([(ends[t], ends[t + 1]) for t, _ in names], dtype=np.int64).reshape(-1, 2),
        np.cumsum([0, *(size(subset) for _, subset in names)], dtype=np.int64),
        sets,
        cells,
        weights / sums[sets],
        np.cumsum([0, *(len(extents) for extents, _ in links)], dtype=np.int64),
        np.array(first, dtype=np.int64),
        np.array(subsets, dtype=np.int64),
        np.array([x for extents, _ in links for x in extents], dtype=np.int64),
        np.array([x for _, steps in links for x in steps], dtype=np.int64),
        np.append(places[sets], places[-1]),
    )


@compiled
def _part(
    slots: Slots,
    vector: Floats,
    weights: tuple[Floats, Floats],
    work: tuple[Floats, Floats, Integers],
    result: Floats,
) -> None:
    """Effects e_c of each set become e_c − given_c·Σ taken_c'·e_c'; their sum in each table.

    Args:
        slots: of all tables.
        vector: the tables.
        weights: given and taken, shape (slots,) each.
        work: zeros, written to: effects of all slots, sums of all sets, digits of `factor_kernels`.
        result: zeros; receives the sums.
    """
    (given, taken), (effects, sums, digits) = weights, work
    _effects(slots, vector, effects, digits)
    for k in range(len(slots.sets)):
        start = slots.sums[k]
        for i in range(slots.starts[k + 1] - slots.starts[k]):
            sums[start + i] += taken[k] * effects[slots.starts[k] + i]
    for k in range(len(slots.sets)):
        start = slots.sums[k]
        effect = effects[slots.starts[k] : slots.starts[k + 1]]
        for i in range(len(effect)):
            effect[i] -= given[k] * sums[start + i]
        a, b = slots.links[slots.first[k]], slots.links[slots.first[k] + 1]
        table = result[slots.tables[k, 0] : slots.tables[k, 1]]
        add(table, effect, slots.extents[a:b], slots.steps[a:b], digits)


@compiled(inline="always")
def _effects(slots: Slots, vector: Floats, effects: Floats, digits: Integers) -> None:
    """The effect of each slot, one after the other."""
    for k in range(len(slots.sets)):
        effect = effects[slots.starts[k] : slots.starts[k + 1]]
        for link in range(slots.first[k], slots.first[k + 1]):
            a, b = slots.links[link], slots.links[link + 1]
            extents, steps, r = slots.extents[a:b], slots.steps[a:b], slots.subsets[link]
            if r < 0:
                table = vector[slots.tables[k, 0] : slots.tables[k, 1]]
                sum_up(table, effect, extents, steps, digits)
                for i in range(len(effect)):  # negative, so that effects of subsets are added
                    effect[i] /= -slots.cells[k]
            else:
                subset = effects[slots.starts[r] : slots.starts[r + 1]]
                add(effect, subset, extents, steps, digits)
        for i in range(len(effect)):
            effect[i] = -effect[i]
