"""Round bounds, and round edges of bins near quantiles, as people would have written them.

CONFIDENTIAL: they follow from the rows.
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_ROUNDED_DAYS = 100  # of a shorter time, a month would be much


def months_around(
    first: datetime.datetime, last: datetime.datetime
) -> tuple[datetime.datetime, datetime.datetime]:
    """The first second of one's month and the last one of the other's, of more than 100 days.

    Args:
        first: smallest moment.
        last: largest moment.
    """
    if (last - first).days < _ROUNDED_DAYS:
        return first, last
    day = datetime.timedelta(days=1)
    begin = first.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    n_days = calendar.monthrange(last.year, last.month)[1]
    end = last.replace(day=n_days, hour=0, minute=0, second=0, microsecond=0)
    return begin, end + (day - datetime.timedelta(seconds=1))


def rounded_outward(low: float, high: float) -> tuple[float, float]:
    """Bounds to two digits of the range: 1000.132 and 1000.874 become 1000.13 and 1000.88."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    step = Decimal(1).scaleb((last - first).adjusted() - 1)
    lower = (first / step).to_integral_value(ROUND_FLOOR) * step
    upper = (last / step).to_integral_value(ROUND_CEILING) * step
    return float(lower), float(upper)


def is_crowded(values: NDArray[np.float64], rows: NDArray[np.int64]) -> bool:
    """Whether equal bins would suit numbers badly: most of them lie close together.

    They do if the middle half of the rows lies within an eighth of the range, or the median within
    the first or last quarter of it. (Of a bell-shaped sample, neither holds up to millions of rows;
    of incomes, durations and counts of rare things, one does.)

    Args:
        values: different numbers, ascending, shape (k,).
        rows: how many rows have each, shape (k,).
    """
    width = values[-1] - values[0]
    first, median, third = _quantiles(values, rows, np.array([0.25, 0.5, 0.75]))
    place = (median - values[0]) / width
    return bool(third - first < width / 8 or not 0.25 <= place <= 0.75)


def round_edges(
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    bounds: tuple[float, float],
    n_bins: int,
    *,
    whole: bool,
) -> tuple[float, ...]:
    """Edges from bound to bound, near the quantiles, each as round as the space between them lets.

    Args:
        values: different numbers, ascending, shape (k,).
        rows: how many rows have each, shape (k,).
        bounds: first and last edge.
        n_bins: most bins; there are fewer where quantiles fall together.
        whole: whether edges must be whole numbers.
    """
    quantiles = np.unique(_quantiles(values, rows, np.arange(1, n_bins) / n_bins))
    inner = quantiles[(quantiles > bounds[0]) & (quantiles < bounds[1])].tolist()
    marks = [bounds[0], *inner, bounds[1]]
    middles = [low + (high - low) / 2 for low, high in pairwise(marks)]
    edges = [
        _roundest(low, high, near, whole=whole)
        for (low, high), near in zip(pairwise(middles), inner, strict=True)
    ]
    return (bounds[0], *sorted({edge for edge in edges if bounds[0] < edge < bounds[1]}), bounds[1])


def _quantiles(
    values: NDArray[np.float64], rows: NDArray[np.int64], levels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The smallest value that has at least a share of the rows at or below it."""
    places = np.searchsorted(np.cumsum(rows), levels * rows.sum())
    return np.asarray(values[np.minimum(places, len(values) - 1)])


def _roundest(low: float, high: float, near: float, *, whole: bool) -> float:
    """Of the numbers between two, the one with the fewest digits; of those, the nearest to one."""
    first, last, centre = (Decimal(repr(number)) for number in (low, high, near))
    for step in _steps((last - first).adjusted() + 1):
        if whole and step < 1:
            break
        multiples = {
            (centre / step).to_integral_value(rounding) * step
            for rounding in (ROUND_FLOOR, ROUND_CEILING)
        }
        inside = [multiple for multiple in multiples if first < multiple < last]
        if inside:
            return float(min(inside, key=lambda multiple: (abs(multiple - centre), multiple)))
    return near


def _steps(exponent: int) -> Iterator[Decimal]:
    """10, 5, 2, 1, 0.5, … times a power of ten."""
    for k in range(exponent, exponent - 5, -1):
        for digit in (5, 2, 1):
            yield Decimal(digit).scaleb(k)
