"""States of numbers and days: named ones, spikes and bins, all found by one compiled kernel.

What one number means depends on that number and on the column's declaration alone.

* Within the bounds it is a spike, or lies in a bin, and is never a code.
* Else it is the named state whose number it means, if there is one
  (`understudy.engine.reading.named_states`).
* Else it is clipped to the bounds, if the column has bins and the number is finite, and lies in the
  first or last of them, or is the spike there.

Columns of whole numbers and of times take whole numbers only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, compiled
from understudy.schema import Calendar, Continuous, Integer
from understudy.schema.cell_values import CLOSE

States = NDArray[np.int64]

NOWHERE = -1
"""Stands for no state."""

_PARTS, _LARGEST = 2**10, 2.0**1000


class Keys(NamedTuple):
    """States by a number.

    Attributes:
        numbers: of each state, ascending; shape (k,).
        states: shape (k,).
        close: how far a value may be from the number, relative to it.
    """

    numbers: Floats
    states: States
    close: float

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, int]] = (), close: float = 0.0) -> Keys:
        """From pairs of number and state."""
        ordered = sorted(pairs)
        numbers = np.array([number for number, _ in ordered], dtype=np.float64)
        return cls(numbers, np.array([state for _, state in ordered], dtype=np.int64), close)


class _Bins(NamedTuple):
    """Bins and spikes of a column.

    Attributes:
        starts: lower edge of each bin, ascending; shape (k,); none for a column without bins.
        states: of each bin, shape (k,).
        short: what 32 bits make of each edge where that counts as the edge; else NaN; shape (k,).
        spikes: states of a single number.
        low: lower bound; above `high` for a column without bins.
        high: upper bound.
        whole: whether only whole numbers are values.
        guide: a bin near each of equal parts of the line from `low` to `high`: to search on from.
        scale: parts per unit; 0 without a guide.
    """

    starts: Floats
    states: States
    short: Floats
    spikes: Keys
    low: float
    high: float
    whole: bool
    guide: NDArray[np.int64]
    scale: float


@dataclass(frozen=True)
class NumberStates:
    """Finds the states of numbers.

    Attributes:
        exact: named states whose very number is meant.
        close: named states that a number near theirs means; asked after the others.
        column: whose bins and spikes hold the other numbers, if any do.
    """

    exact: Keys
    close: Keys = field(default_factory=Keys.of)
    column: Integer | Continuous | Calendar | None = None
    _bins: _Bins = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bins", _bins(self.column))

    def find(self, values: Floats, *, absent: int = NOWHERE, lost: int = NOWHERE) -> States:
        """State of each number; shape (n,).

        Args:
            values: numbers on the column's line; shape (n,), not changed.
            absent: state of NaN.
            lost: state of what fits none.
        """
        found = np.empty(len(values), dtype=np.int64)
        _find_all(values, (self.exact, self.close), self._bins, (absent, lost), found)
        return found


def _bins(column: Integer | Continuous | Calendar | None) -> _Bins:
    intervals = [] if column is None else list(enumerate(column.intervals))
    low, high = (np.inf, -np.inf) if column is None else column.bounds
    whole = not isinstance(column, Continuous)
    bins = [(float(one.low), k) for k, one in intervals if not one.spike]
    spikes = [(float(one.low), k) for k, one in intervals if one.spike]
    starts = np.array([start for start, _ in bins], dtype=np.float64)
    states = np.array([k for _, k in bins], dtype=np.int64)
    keys = Keys.of(spikes, 0.0 if whole else CLOSE)
    short, low, high = _in_32_bits(starts), float(low), float(high)
    return _Bins(starts, states, short, keys, low, high, whole, *_guide(starts, low, high))


def _guide(starts: Floats, low: float, high: float) -> tuple[NDArray[np.int64], float]:
    """See `_Bins`."""
    width = high - low
    if not _PARTS / _LARGEST < width < np.inf:
        return np.zeros(1, np.int64), 0.0
    edges = np.linspace(low, high, _PARTS + 1)
    near = np.clip(np.searchsorted(starts, edges, side="right") - 1, 0, None)
    # One part more, for a product that was rounded up.
    return np.append(near, near[-1]), _PARTS / width


def _in_32_bits(starts: Floats) -> Floats:
    """What 32 bits make of each edge where that is less and no whole number; else NaN.

    It counts as the edge: 0.7 stored in 32 bits lies a little below.
    """
    with np.errstate(over="ignore"):
        short = starts.astype(np.float32).astype(np.float64)
    less = (short < starts) & (short != np.floor(short))
    less[1:] &= short[1:] > starts[:-1]
    return np.where(less, short, np.nan)


@compiled
def _find_all(
    values: Floats,
    named: tuple[Keys, Keys],
    bins: _Bins,
    otherwise: tuple[int, int],
    found: States,
) -> None:
    """`NumberStates.find`, number by number; what is written out here is compiled soonest."""
    starts, states, short, spikes, low, high, whole, guide, scale = bins
    at, at_states, near = spikes
    exact, exact_states, _ = named[0]
    close, close_states, reach = named[1]
    absent, lost = otherwise
    for i in range(len(values)):
        value = values[i]
        if np.isnan(value):
            found[i] = absent
            continue
        state = NOWHERE
        if not low <= value <= high:
            state = _key(exact, exact_states, 0.0, value)
            if state == NOWHERE:
                state = _key(close, close_states, reach, value)
        fits = np.isfinite(value) and (not whole or value == np.floor(value))
        if state == NOWHERE and fits and low <= high:
            value = low if value < low else high if value > high else value
            state = _key(at, at_states, near, value)  # also one that was clipped onto a spike
            if state == NOWHERE and len(starts) > 0:
                place = guide[np.int64((value - low) * scale)] if scale > 0 else 0
                while place + 1 < len(starts) and starts[place + 1] <= value:
                    place += 1
                while place > 0 and starts[place] > value:  # the product was rounded up
                    place -= 1
                if place + 1 < len(starts) and value == short[place + 1]:
                    place += 1
                state = states[place]
        found[i] = lost if state == NOWHERE else state


@compiled
def _key(numbers: Floats, states: States, close: float, value: float) -> int:
    """The state whose number is meant: the nearest within reach, of two as near the smaller.

    Only the neighbours on both sides need to be asked: one further off is beyond its own reach if
    the nearer one is, since reach grows in proportion to the number.
    """
    n = len(numbers)
    nearest, state = np.inf, NOWHERE
    left = _last_below(numbers, value)
    for k in range(left, left + 2 if left + 2 < n else n):
        number = numbers[k]
        gap = 0.0 if number == value else abs(value - number)
        if (number == value or gap <= close * abs(number)) and gap < nearest:
            nearest, state = gap, states[k]
    return state


@compiled
def _last_below(numbers: Floats, value: float) -> int:
    """Place of the last number that is at most some value; of the first number if all are above."""
    place, n = 0, len(numbers)
    while n > 1:
        half = n // 2
        place += half * (numbers[place + half] <= value)  # no branch: it could not be foreseen
        n -= half
    return place
