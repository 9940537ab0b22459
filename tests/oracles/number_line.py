"""The ordinary states of a numeric column, slow and obvious: what the kernels are held against."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.features.grids import reach_of, step_off
from understudy.schema import Continuous, Date, Integer


@dataclass(frozen=True)
class NumberLine:
    """The ordinary states of a numeric column, in its own bins.

    A drawn number is rounded to what the column holds and kept within the bounds. One that then
    falls on a spike, or so near that it would be read as one, is moved by the least step towards
    the middle: whether a record sits on a spike is decided by its cell, so a number drawn for the
    bin must not add to the spike.

    Attributes:
        column: as the schema declares it.

    Example:
        >>> line = NumberLine(Integer(kind="integer", lower=0, upper=9, bins=2, spikes=(0,)))
        >>> settled = line.settle(np.array([-3.0, 0.4, 4.4, 12.0]))
        >>> settled.tolist(), line.states(settled).tolist()
        ([1.0, 1.0, 4.0, 9.0], [1, 1, 1, 2])
    """

    column: Integer | Continuous | Date

    def settle(self, numbers):
        """Round, keep within the bounds, step off spikes; shape (n,)."""
        settled = self._rounded(numbers)
        for _ in range(len(self._spikes)):
            on = self._on_spikes(settled)
            if not on.any():
                break
            settled[on] = self._rounded(settled[on] + self._inwards(settled[on]))
        return settled

    def states(self, numbers):
        """State of each settled number, shape (n,)."""
        lows, places = self._starts
        states = places[np.clip(np.searchsorted(lows, numbers, side="right") - 1, 0, None)]
        for k, one in enumerate(self.column.intervals):
            if one.spike:  # only where there is no number but spikes
                states[numbers == one.low] = k
        return states

    @cached_property
    def _decimals(self):
        return self.column.decimals if isinstance(self.column, Continuous) else 0

    @cached_property
    def _spikes(self):
        return np.array([one.low for one in self.column.intervals if one.spike])

    def _on_spikes(self, numbers):
        on = np.zeros(len(numbers), dtype=np.bool_)
        for spike, reach in zip(self._spikes, reach_of(self.column, self._spikes), strict=True):
            on |= np.abs(numbers - spike) <= reach
        return on

    @cached_property
    def _starts(self):
        """Where bins begin, ascending, and their states."""
        bins = [(one.low, k) for k, one in enumerate(self.column.intervals) if not one.spike]
        return np.array([low for low, _ in bins]), np.array([k for _, k in bins])

    def _rounded(self, numbers):
        rounded = numbers if self._decimals is None else np.round(numbers, self._decimals)
        return np.clip(rounded, *self.column.bounds)

    def _inwards(self, numbers):
        low, high = self.column.bounds
        step = step_off(self.column)
        return np.where(numbers > (low + high) / 2, -step, step)
