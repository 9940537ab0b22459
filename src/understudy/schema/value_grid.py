"""The values that states of an ordered column hold: smallest and largest, and the step between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.schema.bins import Interval
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.number_columns import Continuous


@dataclass(frozen=True, eq=False)
class Grid:
    """What the ordinary states of a column can be, on the number line.

    Attributes:
        lows: smallest value of each ordinary state; ordinal levels count 0, 1, 2, …
        highs: largest value, that state included.
        scale: values per unit; 0 where numbers have no grid.

    Example:
        >>> from understudy.schema.columns import Integer
        >>> grid = Grid.of(Integer(kind="integer", lower=0, upper=9, bins=2, spikes=(0,)))
        >>> grid.lows.tolist(), grid.highs.tolist()
        ([0.0, 1.0, 5.0], [0.0, 4.0, 9.0])
    """

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    scale: float

    @classmethod
    def of(cls, column: Column) -> Grid:
        """Of a numeric column, or of one with levels."""
        if not isinstance(column, NUMERIC):
            places = np.arange(column.n_ordinary, dtype=np.float64)
            return cls(places, places, 1.0)
        decimals = column.decimals if isinstance(column, Continuous) else 0
        scale = 0.0 if decimals is None else 10.0**decimals
        last = column.bounds[1] if isinstance(column, Continuous) else -math.inf
        return _grid_of(column.intervals, scale, last)

    def from_on(self, values: ArrayLike, *, strict: bool) -> NDArray[np.float64]:
        """The smallest value of the grid from each number on, or above it if strict."""
        places = np.asarray(values, dtype=np.float64)
        if not self.scale:
            return np.nextafter(places, np.inf) if strict else places
        # Numbers of the grid are quotients, so that one is found again exactly.
        near = np.round(places * self.scale)
        below = near / self.scale <= places if strict else near / self.scale < places
        return np.asarray((near + below) / self.scale)

    def up_to(self, values: ArrayLike, *, strict: bool) -> NDArray[np.float64]:
        """The largest value of the grid up to each number, or below it if strict."""
        return -self.from_on(-np.asarray(values, dtype=np.float64), strict=strict)

    def drawn(
        self, lows: NDArray[np.float64], highs: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """A value of the grid between each low and high, both included and on it; shape (n,)."""
        shares = rng.random(len(lows))
        if not self.scale:
            return np.clip(lows + shares * (highs - lows), lows, highs)
        first, last = np.round(lows * self.scale), np.round(highs * self.scale)
        places = np.minimum(first + np.floor(shares * (last - first + 1)), last)
        return np.asarray(places / self.scale)


@lru_cache(maxsize=256)  # asked for again for every set, and every threshold
def _grid_of(intervals: tuple[Interval, ...], scale: float, last: float) -> Grid:
    """Bins end before `high`, but for the one that ends at `last` or above."""
    spikes = {one.low for one in intervals if one.spike}
    ends = []
    for one in intervals:
        low, high = float(one.low), float(one.high)
        if not one.spike:
            low, high = _closed(low, high, scale, spikes, is_open=high < last)
        ends.append((low, high))
    lows, highs = np.array(ends, dtype=np.float64).T
    for array in (lows, highs):
        array.setflags(write=False)
    return Grid(lows, highs, scale)


def _closed(
    low: float, high: float, scale: float, spikes: set[float], *, is_open: bool
) -> tuple[float, float]:
    """The first and the last value of a bin; its middle where it holds none of the grid."""
    if not scale:
        return low, float(np.nextafter(high, low)) if is_open else high
    first = math.ceil(low * scale - 1e-9 * max(1.0, abs(low * scale)))
    last = math.floor(high * scale + 1e-9 * max(1.0, abs(high * scale)))
    taken = {round(spike * scale) for spike in spikes}
    last -= is_open and last / scale >= high
    while first in taken and first < last:
        first += 1
    while last in taken and last > first:
        last -= 1
    if last < first:
        return (low + high) / 2, (low + high) / 2
    return first / scale, last / scale
