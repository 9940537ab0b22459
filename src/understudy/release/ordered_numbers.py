"""Numbers of records in the order that inequalities declare.

Which bins stand together is the models' affair, and no cell that an inequality rules out is drawn.
Where the bins of two columns overlap, a record may still have its numbers the wrong way round.
Then:

1. the two are exchanged, where each lies in the bin of the other and on its grid (with `at`, which
   keeps models to an inequality at fewer places than bins begin: within the other's bounds). That
   is a draw from the two bins given the order, if both were uniform in one bin, and it keeps the
   numbers of both columns taken together;
2. else, column after column from the smallest on, a number stays where it leaves room for those
   behind it, and is drawn anew, evenly, within its bin where it does not;
3. else, where bins finer than those thresholds leave no room, the same within the bounds of the
   columns.

What happens to a record depends on its own numbers and the schema alone: post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Codes
from understudy.schema import NUMERIC, Schema
from understudy.schema.derived_columns import Cells
from understudy.schema.relations import Relation
from understudy.schema.value_grid import Grid

Numbers = dict[str, NDArray[np.float64]]


def put_in_order(
    cells: Mapping[str, Cells], schema: Schema, rng: np.random.Generator
) -> dict[str, Cells]:
    """The columns of some records, with numbers that keep to every inequality.

    Args:
        cells: the columns that are measured, of n records each.
        schema: with the inequalities.
        rng: randomness of numbers that are drawn anew.
    """
    order = _Order.of(schema)
    if not order.steps:
        return dict(cells)
    numbers = {name: cells[name].numbers.copy() for name in order.names}
    states = {name: cells[name].states for name in order.names}
    for step in order.steps:
        order.exchange(step, numbers, states)
    for whole in (False, True):
        wrong = order.broken(numbers)
        if len(wrong):
            own = {name: array[wrong] for name, array in numbers.items()}
            part = {name: array[wrong] for name, array in states.items()}
            order.redraw(own, *order.ends(part, whole=whole), rng)
            for name, array in own.items():
                numbers[name][wrong] = array
    return {**cells, **{name: Cells(states[name], numbers[name]) for name in order.names}}


@dataclass(frozen=True, eq=False)
class _Order:
    """Inequalities between numbers.

    Attributes:
        steps: one by one.
        names: their columns, each behind those that are smaller.
        grids: what the columns can hold.
        bounds: of the columns.
    """

    steps: tuple[Relation, ...]
    names: tuple[str, ...]
    grids: dict[str, Grid]
    bounds: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, schema: Schema) -> _Order:
        columns = {n: c for n, c in schema.columns.items() if isinstance(c, NUMERIC)}
        steps = tuple(
            one for one in schema.relations if one.inequality and one.columns[0] in columns
        )
        smaller: dict[str, list[str]] = {}
        for step in steps:
            smaller.setdefault(step.columns[1], []).append(step.columns[0])
        names = tuple(TopologicalSorter(smaller).static_order())
        grids = {name: Grid.of(columns[name]) for name in names}
        return cls(steps, names, grids, {name: columns[name].bounds for name in names})

    def broken(self, numbers: Numbers) -> NDArray[np.int64]:
        """Numbers of the records that break an inequality."""
        return np.flatnonzero(np.any([_breaks(step, numbers) for step in self.steps], axis=0))

    def exchange(self, step: Relation, numbers: Numbers, states: Mapping[str, Codes]) -> None:
        """Exchange the two numbers of a record, where they are the wrong way round and may be."""
        small, large = step.columns
        if self.grids[small].scale != self.grids[large].scale:
            return
        rows = np.flatnonzero(_breaks(step, numbers) & (numbers[small] != numbers[large]))
        one, other = numbers[small][rows], numbers[large][rows]
        fits = self._holds(small, None if step.at else states[small][rows], other)
        fits &= self._holds(large, None if step.at else states[large][rows], one)
        numbers[small][rows[fits]], numbers[large][rows[fits]] = other[fits], one[fits]

    def _holds(
        self, name: str, states: Codes | None, values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Whether values lie in the bins of these states, or in the bounds of their column."""
        low, high = self.bounds[name]
        if states is None:
            return np.asarray((values >= low) & (values <= high))
        grid = self.grids[name]
        return np.asarray((values >= grid.lows[states]) & (values <= grid.highs[states]))

    def ends(self, states: Mapping[str, Codes], *, whole: bool) -> tuple[Numbers, Numbers]:
        """Between what each number may lie: in its bin, or in the bounds of its column."""
        lows, highs = {}, {}
        for name in self.names:
            grid, own = self.grids[name], np.minimum(states[name], len(self.grids[name].lows) - 1)
            low, high = self.bounds[name]
            lows[name] = np.full(len(own), low) if whole else grid.lows[own]
            highs[name] = np.full(len(own), high) if whole else grid.highs[own]
            lows[name] = grid.from_on(lows[name], strict=False)
            highs[name] = grid.up_to(highs[name], strict=False)
        return lows, highs

    def redraw(
        self, numbers: Numbers, lows: Numbers, highs: Numbers, rng: np.random.Generator
    ) -> None:
        """Move numbers that leave no room; between ends that have no room nothing is moved."""
        for name in reversed(self.names):
            for step in self._with(name, side=0):
                room = self.grids[name].up_to(highs[step.columns[1]], strict=step.is_strict)
                absent = np.isnan(numbers[step.columns[1]])
                highs[name] = np.minimum(highs[name], np.where(absent, np.inf, room))
        for name in self.names:
            for step in self._with(name, side=1):
                least = self.grids[name].from_on(numbers[step.columns[0]], strict=step.is_strict)
                lows[name] = np.fmax(lows[name], least)
            low, high, now = lows[name], highs[name], numbers[name]
            moved = np.flatnonzero(((now < low) | (now > high)) & (low <= high))
            now[moved] = self.grids[name].drawn(low[moved], high[moved], rng)

    def _with(self, name: str, *, side: int) -> Sequence[Relation]:
        return [step for step in self.steps if step.columns[side] == name]


def _breaks(step: Relation, numbers: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Which records break an inequality; an absent number (NaN) breaks none."""
    small, large = (numbers[name] for name in step.columns)
    return np.asarray(small >= large if step.is_strict else small > large)
