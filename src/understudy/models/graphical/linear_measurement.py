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
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from understudy.arrays import Floats
from understudy.functions.triangulation import Columns
from understudy.models.graphical.clique_layout import TreeLayout
from understudy.models.graphical.factor_kernels import (
    ADD,
    MOVE,
    SCALE,
    SUM,
    Program,
    Recipe,
    Span,
)


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


class _Slot(NamedTuple):
    """A set of columns in one table.

    Attributes:
        table: its number.
        columns: the set.
        below: slots of subsets in the same table.
        cells: of the table for each state of the set.
        share: a of the slot.
    """

    table: int
    columns: Columns
    below: tuple[int, ...]
    cells: float
    share: float


class Redundancy:
    """The redundant directions of the tables of a layout.

    Args:
        layout: the tables.
        variances: mean variance of the noise in each table.
    """

    def __init__(self, layout: TreeLayout, variances: Sequence[float]) -> None:
        slots, size = _slots(layout, variances), layout.tree.cells_of
        sets = list(dict.fromkeys(slot.columns for slot in slots))
        # Memory of a run: the tables, the result, the effects, and their sums over all tables.
        parts = [*layout.tables, *layout.tables, *(slot.columns for slot in slots), *sets]
        starts = np.cumsum([0, *map(size, parts)]).tolist()
        self._cells, self._memory = starts[len(layout.tables)], starts[-1]
        spans = [*pairwise(starts)]
        forth = [(slot.share, 1.0) for slot in slots]
        back = [(1 / slot.cells, slot.share * slot.cells) for slot in slots]
        self._forth = _program(layout, slots, sets, spans, forth)
        self._back = _program(layout, slots, sets, spans, back)

    def parted(self, vector: Floats) -> Floats:
        """The redundant part of a change of the potentials; all tables in one vector."""
        return self._run(self._forth, vector)

    def parted_back(self, vector: Floats) -> Floats:
        """The transpose of `parted`."""
        return self._run(self._back, vector)

    def _run(self, program: Program, vector: Floats) -> Floats:
        memory = np.zeros(self._memory)
        memory[: self._cells] = vector
        program.run(memory)
        return memory[self._cells : 2 * self._cells]


def _subsets(columns: Columns) -> list[Columns]:
    return [subset for k in range(len(columns) + 1) for subset in combinations(columns, k)]


def _slots(layout: TreeLayout, variances: Sequence[float]) -> list[_Slot]:
    """All sets that several tables share, table by table, a subset before the whole."""
    often = Counter(subset for table in layout.tables for subset in _subsets(table))
    size, weights = layout.tree.cells_of, dict[Columns, float]()
    slots: list[_Slot] = []
    for t, table in enumerate(layout.tables):
        first = len(slots)
        for columns in (subset for subset in _subsets(table) if often[subset] > 1):
            below = tuple(k for k in range(first, len(slots)) if {*slots[k].columns} < {*columns})
            cells = size(table) / size(columns)
            weight = 1 / (cells * variances[t])
            weights[columns] = weights.get(columns, 0.0) + weight
            slots.append(_Slot(t, columns, below, cells, weight))
    return [slot._replace(share=slot.share / weights[slot.columns]) for slot in slots]


def _program(
    layout: TreeLayout,
    slots: Sequence[_Slot],
    sets: Sequence[Columns],
    spans: Sequence[Span],
    weights: Sequence[tuple[float, float]],
) -> Program:
    """Effects e_c of each set become e_c − given_c·Σ taken_c'·e_c'; their sum in each table.

    Args:
        layout: of the tables.
        slots: of all tables.
        sets: of columns.
        spans: of tables, results, effects and sums in memory; those behind are zeros at first.
        weights: of each slot, given and taken.
    """
    recipe, n = Recipe(), len(layout.tables)
    tables, results, effects = spans[:n], spans[n : 2 * n], spans[2 * n :]
    sums = dict(zip(sets, spans[2 * n + len(slots) :], strict=True))
    for slot, effect, (_, taken) in zip(slots, effects, weights, strict=False):
        link = layout.steps(layout.tables[slot.table], slot.columns)
        recipe.join(SUM, tables[slot.table], effect, link)
        recipe.change(SCALE, effect, number=-slot.cells)  # so that effects of subsets are added
        for k in slot.below:
            recipe.join(ADD, effect, effects[k], layout.steps(slot.columns, slots[k].columns))
        recipe.change(SCALE, effect, number=-1.0)
        recipe.change(MOVE, effect, sums[slot.columns], taken)
    for slot, effect, (given, _) in zip(slots, effects, weights, strict=False):
        recipe.change(MOVE, sums[slot.columns], effect, -given)
        link = layout.steps(layout.tables[slot.table], slot.columns)
        recipe.join(ADD, results[slot.table], effect, link)
    return recipe.program()
