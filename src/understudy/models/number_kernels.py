"""Kernels for numbers drawn by inversion: normal quantiles, rounding to the column, states.

`settled` does what `NumberLine.settle` and `NumberLine.states` do, bit for bit and faster; tests
hold the two together. Divisions follow IEEE 754, so that loops without branches run in parallel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.models.parameters import Floats
from understudy.schema import Continuous, Date, Integer

Integers = NDArray[np.int64]

_FINE = 2.0**-20  # step off a spike where no decimals are declared, in ranges
_PARTS = 8  # of the guide, per bin
_MOST = 700.0
_LEAST = 1e-300


class Line(NamedTuple):
    """A numeric column for kernels.

    Attributes:
        low: lower bound.
        high: upper bound.
        grid: values per unit; 0 without rounding.
        step: off a spike.
        spikes: their numbers.
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
    spike_states: Integers
    lows: Floats
    states: Integers
    guide: Integers
    per_part: float


def line_of(column: Integer | Continuous | Date) -> Line:
    """A numeric column, in its own bins."""
    low, high = column.bounds
    decimals = column.decimals if isinstance(column, Continuous) else 0
    spikes = [(one.low, k) for k, one in enumerate(column.intervals) if one.spike]
    bins = [(one.low, k) for k, one in enumerate(column.intervals) if not one.spike]
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
        (high - low) * _FINE if decimals is None else 10.0**-decimals,
        np.array([number for number, _ in spikes], dtype=np.float64),
        np.array([k for _, k in spikes], dtype=np.int64),
        lows,
        np.array([k for _, k in bins], dtype=np.int64),
        np.clip(np.searchsorted(lows, begins, side="right") - 1, 0, None),
        parts / width if narrow else 0.0,
    )


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def settled(line: Line, numbers: Floats) -> tuple[Integers, Floats]:
    """Numbers rounded, within the bounds and off the spikes; and their states.

    Args:
        line: the column.
        numbers: shape (n,); NaN is left as it is, with state −1.

    Returns:
        States and numbers, each of shape (n,).
    """
    low, high, grid = line.low, line.high, line.grid
    found = np.empty(len(numbers))
    for i in range(len(numbers)):
        found[i] = _rounded(numbers[i], low, high, grid)
    on = _on_spikes(line, found)
    for i in on:
        found[i] = _off_spikes(line, found[i])
    states = _bins_of(line, found)
    for i in on:
        for k in range(len(line.spikes)):  # only where there is no number but spikes
            if found[i] == line.spikes[k]:
                states[i] = line.spike_states[k]
    return states, found


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _rounded(number: float, low: float, high: float, grid: float) -> float:
    rounded = np.rint(number * grid) / grid if grid > 0 else number
    rounded = low if rounded < low else rounded
    return high if rounded > high else rounded


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _on_spikes(line: Line, numbers: Floats) -> Integers:
    """Which numbers lie on a spike."""
    on = np.zeros(len(numbers), dtype=np.bool_)
    for spike in line.spikes:
        for i in range(len(numbers)):
            on[i] |= numbers[i] == spike
    return np.flatnonzero(on)


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _off_spikes(line: Line, number: float) -> float:
    """A number moved off the spikes towards the middle, as often as there are spikes."""
    low, high, spikes, step = line.low, line.high, line.spikes, line.step
    found = number
    for _ in range(len(spikes)):
        on = False
        for k in range(len(spikes)):
            on |= spikes[k] == found
        if not on:
            break
        moved = found - step if found > (low + high) / 2 else found + step
        found = _rounded(moved, low, high, line.grid)
    return found


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
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


def shares(numbers: Floats) -> Floats:
    """1/(1 + e⁻ˣ), shape (n,); within 1e-304 of 0 and 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(numbers, -_MOST, _MOST))))


def normal_quantiles(uniforms: Floats) -> Floats:
    """Φ⁻¹ of numbers in (0, 1), shape (n,) (Wichura 1988, algorithm AS 241, PPND16).

    0 and 1 are taken as numbers beside them, so that every quantile is finite.
    """
    depths = np.sqrt(-np.log(np.clip(np.minimum(uniforms, 1.0 - uniforms), _LEAST, None)))
    return np.asarray(_quantiles(uniforms, depths))


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _quantiles(uniforms: Floats, depths: Floats) -> Floats:
    found = np.empty(len(uniforms))
    for i in range(len(uniforms)):
        q = uniforms[i] - 0.5
        found[i] = q * _centre(0.180625 - q * q)
    for i in range(len(uniforms)):
        q, r = uniforms[i] - 0.5, depths[i]
        if abs(q) > 0.425:
            tail = _near(r - 1.6) if r <= 5.0 else _far(r - 5.0)
            found[i] = -tail if q < 0 else tail
    return found


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _centre(r: float) -> float:
    above = 2509.0809287301226727 * r + 33430.575583588128105
    above = (above * r + 67265.770927008700853) * r + 45921.953931549871457
    above = (above * r + 13731.693765509461125) * r + 1971.5909503065514427
    above = (above * r + 133.14166789178437745) * r + 3.387132872796366608
    below = 5226.495278852854561 * r + 28729.085735721942674
    below = (below * r + 39307.89580009271061) * r + 21213.794301586595867
    below = (below * r + 5394.1960214247511077) * r + 687.1870074920579083
    below = (below * r + 42.313330701600911252) * r + 1.0
    return above / below


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _near(r: float) -> float:
    above = 7.7454501427834140764e-4 * r + 0.0227238449892691845833
    above = (above * r + 0.24178072517745061177) * r + 1.27045825245236838258
    above = (above * r + 3.64784832476320460504) * r + 5.7694972214606914055
    above = (above * r + 4.6303378461565452959) * r + 1.42343711074968357734
    below = 1.05075007164441684324e-9 * r + 5.475938084995344946e-4
    below = (below * r + 0.0151986665636164571966) * r + 0.14810397642748007459
    below = (below * r + 0.68976733498510000455) * r + 1.6763848301838038494
    below = (below * r + 2.05319162663775882187) * r + 1.0
    return above / below


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _far(r: float) -> float:
    above = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
    above = (above * r + 0.0012426609473880784386) * r + 0.026532189526576123093
    above = (above * r + 0.29656057182850489123) * r + 1.7848265399172913358
    above = (above * r + 5.4637849111641143699) * r + 6.6579046435011037772
    below = 2.04426310338993978564e-15 * r + 1.4215117583164458887e-7
    below = (below * r + 1.8463183175100546818e-5) * r + 7.868691311456132591e-4
    below = (below * r + 0.0148753612908506148525) * r + 0.13692988092273580531
    below = (below * r + 0.59983220655588793769) * r + 1.0
    return above / below
