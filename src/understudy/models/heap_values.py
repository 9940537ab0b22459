"""Which values of each bin lie on which heap, and that one among them which has a rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.features.line_cells import Numeric
from understudy.schema.heaps import Roundings, Steps
from understudy.schema.value_grid import Grid

_LISTED = 64
"""Values of a class in a bin that are written out; of more, one and its neighbours are tried."""
_MOST = 10**7
_TRIES = (0, 1, -1, 2, -2, 3, -3, 4, -4)


@dataclass(frozen=True, eq=False)
class HeapValues:
    """The values of the bins of a column, by class of its heaps.

    Attributes:
        column: in its bins.

    Example:
        >>> from understudy.schema import Integer
        >>> values = HeapValues(Integer(kind="integer", lower=0, upper=99, bins=4, heaps=(10, 5)))
        >>> values.chosen(np.array([0, 0, 1]), np.array([0.2, 0.9, 0.5]), 1).tolist()
        [5.0, 15.0, 35.0]
    """

    column: Numeric

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._roundings.n_classes

    @cached_property
    def is_bin(self) -> NDArray[np.bool_]:
        """Which ordinary states are bins, not spikes; shape (states,)."""
        return np.array([not one.spike for one in self.column.intervals])

    @cached_property
    def possible(self) -> Floats:
        """1 where a bin has values of a class, else 0; shape (states, classes)."""
        found = np.stack([self._counts(c) > 0 for c in range(self.n_classes)], axis=1)
        found[:, -1] |= ~found.any(axis=1)
        return found.astype(np.float64)

    @cached_property
    def means(self) -> Floats:
        """Mean of the values of a class in a bin, the bin's middle without one; same shape."""
        middle = (self._grid.lows + self._grid.highs) / 2
        found = []
        for c in range(self.n_classes):
            values, counts = self._listed[c]
            listed = np.arange(values.shape[1]) < np.minimum(counts, values.shape[1])[:, np.newaxis]
            total = np.where(listed, values, 0.0).sum(axis=1)
            few = (counts > 0) & (counts <= values.shape[1])
            found.append(np.where(few, total / np.maximum(counts, 1), middle))
        return np.stack(found, axis=1)

    def ranks(self, states: Integers, numbers: Floats, uniforms: Floats) -> Floats:
        """Where numbers lie in their bins, from 0 to below 1; evenly, if they do; shape (n,)."""
        low, high = self._grid.lows[states], self._grid.highs[states]
        step = 1 / self._roundings.scale if self._roundings.scale else 0.0
        width = high - low + step
        place = (numbers - low + uniforms * step) / np.where(width > 0, width, 1.0)
        return np.clip(place, 0.0, np.nextafter(1.0, 0.0))

    def chosen(self, states: Integers, ranks: Floats, c: int) -> Floats:
        """The value of a class in each bin that has a rank; NaN where there is none. Shape (n,)."""
        if self._steps(c) is None:
            return np.full(len(states), np.nan)
        values, counts = self._listed[c]
        own = counts[states]
        place = np.minimum(np.floor(ranks * own), np.maximum(own - 1, 0)).astype(np.int64)
        found = values[states, np.minimum(place, values.shape[1] - 1)]
        wide = np.flatnonzero(own > values.shape[1])
        found[wide] = self._near(states[wide], ranks[wide], c)
        return np.where(own > 0, found, np.nan)

    def _near(self, states: Integers, ranks: Floats, c: int) -> Floats:
        """The same where values are too many to write out: the first that fits beside the rank."""
        first, last = self._ends[c]
        place = first[states] + np.floor(ranks * (last - first + 1)[states])
        found = np.full(len(states), np.nan)
        for more in _TRIES:
            lost = np.flatnonzero(np.isnan(found))
            values = self._numbers(place[lost] + more, c)
            fits = self._fits(values, states[lost], c)
            found[lost[fits]] = values[fits]
        return found

    def _counts(self, c: int) -> Integers:
        """How many values of a class a bin has, at least so many where they are not written out."""
        return self._listed[c][1]

    @cached_property
    def _listed(self) -> list[tuple[Floats, Integers]]:
        """Of each class: the first values in each bin, and how many there are, at least."""
        n_states, found = len(self.is_bin), []
        for c in range(self.n_classes):
            first, last = self._ends[c]
            wide = np.where(self.is_bin, last - first + 1, 0)
            most = int(np.clip(wide.max(), 1, min(_LISTED, max(1, _MOST // n_states))))
            values = self._numbers(first[:, np.newaxis] + np.arange(most), c)
            rows = np.repeat(np.arange(n_states), most)
            fits = self._fits(values.ravel(), rows, c).reshape(values.shape)
            order = np.argsort(~fits, axis=1, kind="stable")
            counts = np.where(wide > most, wide, fits.sum(axis=1)).astype(np.int64)
            found.append((np.take_along_axis(values, order, axis=1), counts * self.is_bin))
        return found

    @cached_property
    def _ends(self) -> list[tuple[Floats, Floats]]:
        """Of each class: numbers of the first and the last step in each bin."""
        found = []
        for c in range(self.n_classes):
            step = self._steps(c) or Steps(1.0, 0.0)
            low, high = (
                (end - step.at) / step.every for end in (self._grid.lows, self._grid.highs)
            )
            slack = 1e-9 * np.maximum(1.0, np.abs(low))
            found.append((np.ceil(low - slack), np.floor(high + slack)))
        return found

    def _fits(self, values: Floats, states: Integers, c: int) -> NDArray[np.bool_]:
        """Whether values lie in these bins, are of the class, and are no spikes."""
        inside = (values >= self._grid.lows[states]) & (values <= self._grid.highs[states])
        own = self._roundings.classes(values) == c
        return np.asarray(inside & own & ~np.isin(values, self._spikes))

    def _numbers(self, places: Floats, c: int) -> Floats:
        """Values of steps, on the grid of the column."""
        step, scale = self._steps(c) or Steps(1.0, 0.0), self._roundings.scale
        values = step.at + places * step.every
        return np.round(values * scale) / scale if scale else np.asarray(values)

    def _steps(self, c: int) -> Steps | None:
        """Of a class; of the last one those of the grid, None without a grid."""
        if c < len(self._roundings.steps):
            return self._roundings.steps[c]
        return Steps(1 / self._roundings.scale, 0.0) if self._roundings.scale else None

    @cached_property
    def _roundings(self) -> Roundings:
        return self.column.roundings

    @cached_property
    def _grid(self) -> Grid:
        return Grid.of(self.column)

    @cached_property
    def _spikes(self) -> Floats:
        return np.array([one.low for one in self.column.intervals if one.spike])
