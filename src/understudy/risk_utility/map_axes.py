"""The axes of a map: which numbers they span, where a number stands, and what is written below."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from understudy.report.svg import nice_ticks

_WIDE = 20.0
"""Losses that lie further apart than so many times are drawn on a logarithmic axis."""
_MARGIN = 0.04


@dataclass(frozen=True)
class Axis:
    """A scale from numbers to points of a drawing.

    Attributes:
        low: number at the start.
        high: number at the end, above it.
        start: place of the first.
        end: place of the second; it may lie before the start.
        logarithmic: whether equal ratios are equally long; both numbers are then above 0.
        ticks: where numbers are written.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Where a number stands; what lies beyond an end stands at it."""
        inside = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def budget_axis(epsilons: Sequence[float], start: float, end: float) -> Axis:
    """A logarithmic axis with the budgets themselves for ticks.

    Args:
        epsilons: ascending, each above 0.
        start: place of its start.
        end: place of its end.
    """
    low, high = (epsilons[0], epsilons[-1]) if epsilons else (1.0, 1.0)
    margin = max((high / low) ** _MARGIN, 1.3)
    return Axis(low / margin, high * margin, start, end, True, tuple(epsilons))


def linear_axis(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis over all of these numbers, with a little room at both ends."""
    found = [value for value in values if math.isfinite(value)]
    low, high = min(found, default=0.0), max(found, default=1.0)
    margin = _MARGIN * (high - low) or 0.05 * max(abs(high), 1.0)
    low, high = low - margin, high + margin
    return Axis(low, high, start, end, False, tuple(nice_ticks(low, high, 6)))


def loss_axis(means: Sequence[float], ends: Sequence[float], start: float, end: float) -> Axis:
    """An axis from 0; a logarithmic one if the means lie far apart.

    Args:
        means: of the points.
        ends: of their whiskers; one that is no positive number does not count on a logarithmic
            axis, where its whisker ends at the edge.
        start: place of its start.
        end: place of its end.
    """
    known = [one for one in means if math.isfinite(one)]
    least, most = min(known, default=0.0), max([*known, *_finite(ends)], default=1.0)
    if not least > 0 or max(known) / least <= _WIDE:
        top = most * (1 + _MARGIN) if most > 0 else 1.0
        return Axis(0.0, top, start, end, False, tuple(nice_ticks(0.0, top, 6)))
    lowest = min([least, *(one for one in _finite(ends) if one > least / 2)])
    low, high = lowest / 1.2, most * 1.2
    return Axis(low, high, start, end, True, _decades(low, high))


def _finite(values: Iterable[float]) -> list[float]:
    return [one for one in values if math.isfinite(one)]


def _decades(low: float, high: float) -> tuple[float, ...]:
    """1, 2 and 5 times powers of ten within a range."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [leading * 10.0**power for power in powers for leading in (1, 2, 5)]
    return tuple(one for one in every if low <= one <= high)
