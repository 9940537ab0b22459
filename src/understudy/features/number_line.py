"""Columns as states and places on the number line, and kernels for numbers drawn by inversion.

The kernels round to the column, find states, and give normal quantiles.

A drawn number is rounded to what the column holds and kept within the bounds. One that then falls
on a spike, or so near that it would be read as one, is moved by the least step towards the middle:
whether a record sits on a spike is decided by its cell, so a number drawn for the bin must not add
to the spike. Tests hold `settled` to a slow and obvious number line, bit for bit. Divisions follow
IEEE 754, so that loops without branches run in parallel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.arrays import Floats, Integers, compiled
from understudy.schema.calendar_columns import Calendar
from understudy.schema.cell_values import CLOSE
from understudy.schema.number_columns import Continuous, Integer

_FINE = 2.0**-20  # step off a spike where no decimals are declared, in ranges
_PARTS = 8  # of the guide, per bin
_LEAST, _MOST = 2.0**-1000, 1 - 2.0**-53


class Line(NamedTuple):
    """A numeric column for kernels.

    Attributes:
        low: lower bound.
        high: upper bound.
        grid: values per unit; 0 without rounding.
        step: off a spike.
        spikes: their numbers.
        reach: how near a number means each of them.
        spike_states: their states.
        lows: where bins begin, ascending.
        states: of the bins.
        guide: the bin in which each of equal parts of the range begins.
        per_part: parts per unit; 0 where the range is a point, or wider than numbers go.
    """

    low: float
    high: float
    grid: float
    step: float
    spikes: Floats
    reach: Floats
    spike_states: Integers
    lows: Floats
    states: Integers
    guide: Integers
    per_part: float


def line_of(column: Integer | Continuous | Calendar) -> Line:
    """A numeric column, in its own bins."""
    low, high = column.bounds
    decimals = column.decimals if isinstance(column, Continuous) else 0
    spikes = [(interval.low, k) for k, interval in enumerate(column.intervals) if interval.spike]
    numbers = np.array([number for number, _ in spikes], dtype=np.float64)
    bins = [(interval.low, k) for k, interval in enumerate(column.intervals) if not interval.spike]
    lows = np.array([start for start, _ in bins], dtype=np.float64)
    with np.errstate(over="ignore"):
        width = float(np.float64(high) - low)
    parts = _PARTS * len(bins)
    narrow = 0 < width < np.inf
    begins = low + width * np.arange(parts) / parts if narrow else np.array([low])
    return Line(
        float(low),
        float(high),
        0.0 if decimals is None else 10.0**decimals,
        step_off(column),
        numbers,
        reach_of(column, numbers),
        np.array([k for _, k in spikes], dtype=np.int64),
        lows,
        np.array([k for _, k in bins], dtype=np.int64),
        np.clip(np.searchsorted(lows, begins, side="right") - 1, 0, None),
        parts / width if narrow else 0.0,
    )


def reach_of(column: Integer | Continuous | Calendar, spikes: Floats) -> Floats:
    """How near a number means each spike when it is read back; shape (k,)."""
    return CLOSE * np.abs(spikes) * isinstance(column, Continuous)


def step_off(column: Integer | Continuous | Calendar) -> float:
    """How far a number is moved off a spike: by a value of the column, and out of its reach."""
    low, high = column.bounds
    decimals = column.decimals if isinstance(column, Continuous) else 0
    spikes = np.array([interval.low for interval in column.intervals if interval.spike])
    far = 2.0 * float(reach_of(column, spikes).max(initial=0.0))
    if decimals is None:
        return max((high - low) * _FINE, far)
    least = 10.0**-decimals
    return least * max(1.0, float(np.ceil(far / least)))


@compiled
def settled(line: Line, numbers: Floats) -> tuple[Integers, Floats]:
    """Numbers rounded, within the bounds and off the spikes; and their states.

    Args:
        line: the column.
        numbers: shape (n,); NaN is left as it is, with state −1.

    Returns:
        States and numbers, each of shape (n,).
    """
    low, high, grid = line.low, line.high, line.grid
    placed = np.empty(len(numbers))
    for i in range(len(numbers)):
        placed[i] = _rounded(numbers[i], low, high, grid)
    on = _on_spikes(line, placed)
    for i in on:
        placed[i] = _off_spikes(line, placed[i])
    states = _bins_of(line, placed)
    for i in on:
        for k in range(len(line.spikes)):  # only where there is no number but spikes
            if placed[i] == line.spikes[k]:
                states[i] = line.spike_states[k]
    return states, placed


@compiled
def _rounded(number: float, low: float, high: float, grid: float) -> float:
    rounded = np.rint(number * grid) / grid if grid > 0 else number
    rounded = low if rounded < low else rounded
    return high if rounded > high else rounded


@compiled
def _on_spikes(line: Line, numbers: Floats) -> Integers:
    """Which numbers lie on a spike."""
    on = np.zeros(len(numbers), dtype=np.bool_)
    for k in range(len(line.spikes)):
        spike, reach = line.spikes[k], line.reach[k]
        for i in range(len(numbers)):
            on[i] |= abs(numbers[i] - spike) <= reach
    return np.flatnonzero(on)


@compiled
def _off_spikes(line: Line, number: float) -> float:
    """A number moved off the spikes towards the middle, as often as there are spikes."""
    low, high, spikes, step = line.low, line.high, line.spikes, line.step
    value = number
    for _ in range(len(spikes)):
        on = False
        for k in range(len(spikes)):
            on |= abs(spikes[k] - value) <= line.reach[k]
        if not on:
            break
        moved = value - step if value > (low + high) / 2 else value + step
        value = _rounded(moved, low, high, line.grid)
    return value


@compiled
def _bins_of(line: Line, numbers: Floats) -> Integers:
    """State of the last bin that begins at or before each number, from a guess near it."""
    low, lows, per_part, guide, bins = line.low, line.lows, line.per_part, line.guide, line.states
    last, states = len(lows) - 1, np.empty(len(numbers), dtype=np.int64)
    for i in range(len(numbers)):
        number = numbers[i]
        if np.isnan(number):
            states[i] = -1
            continue
        part = min(max(int((number - low) * per_part), 0), len(guide) - 1) if per_part > 0 else 0
        k = guide[part]
        while k < last and lows[k + 1] <= number:
            k += 1
        while k > 0 and lows[k] > number:
            k -= 1
        states[i] = bins[k]
    return states


def normal_quantiles(uniforms: Floats) -> Floats:
    """Φ⁻¹ of numbers in [0, 1], shape (n,); 0 and 1 are taken as numbers beside them."""
    return np.asarray(ndtri(np.clip(uniforms, _LEAST, _MOST)))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Records of one column.

    Attributes:
        states: in the schema's bins, shape (n,).
        numbers: of a numeric column: the place on the number line where the state is a bin, rounded
            to what the column holds and within its bounds, and NaN elsewhere; shape (n,). None for
            other columns.
    """

    states: NDArray[np.int64]
    numbers: NDArray[np.float64] | None = None

    def taken(self, rows: NDArray[np.integer[Any]]) -> Drawn:
        """Some of the records, by their numbers; a record may come more than once."""
        return Drawn(self.states[rows], None if self.numbers is None else self.numbers[rows])
