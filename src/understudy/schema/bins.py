"""Intervals of the number line: public bins, and spikes that are a state of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

MOST_BINS = 10**7
"""Of one column; each is written out, and a schema may come from anybody."""


@dataclass(frozen=True)
class Interval:
    """A set of numbers that count as one state.

    Attributes:
        low: smallest number of the interval.
        high: largest number; the next bin of a real column begins there.
        label: text for people.
        spike: whether it is one exact value that is kept apart from the bin around it.
    """

    low: float
    high: float
    label: str
    spike: bool = False


@lru_cache(maxsize=4096)  # asked for again whenever a schema's sizes are
def integer_intervals(
    lower: int,
    upper: int,
    bins: int | tuple[int, ...],
    spikes: tuple[int, ...],
    show: Callable[[int], str],
) -> tuple[Interval, ...]:
    """Intervals of the whole numbers lower..upper.

    Args:
        lower: smallest value.
        upper: largest value, included.
        bins: number of bins of (nearly) equal width, or first values of the bins followed by
            `upper`: 0, 5, 10 are the bins 0–4 and 5–10.
        spikes: values that are a state of their own.
        show: text of a whole number (dates are shown as dates).

    Raises:
        ValueError: edges are not increasing from `lower` to `upper`, or a spike is out of range or
            fills a whole bin.
    """
    _check_bounds(lower, upper, allow_equal=True)
    starts = _integer_starts(lower, upper, bins)
    ends = [*(start - 1 for start in starts[1:]), upper]
    _check_spikes(spikes, lower, upper)
    intervals = [Interval(spike, spike, show(spike), spike=True) for spike in spikes]
    for low, high in zip(starts, ends, strict=True):
        if not has_values(low, high, spikes):
            raise ValueError(
                f"bin {show(low)} to {show(high)} holds nothing but spikes; "
                "take them off `spikes`, or widen the bin"
            )
        label = show(low) if low == high else f"{show(low)} to {show(high)}"
        intervals.append(Interval(low, high, label))
    return _in_order(intervals)


def has_values(first: int, last: int, spikes: Collection[float]) -> bool:
    """Whether there is a whole number from `first` to `last` that is no spike; none is listed."""
    return last - first + 1 > sum(first <= spike <= last for spike in spikes)


def _integer_starts(lower: int, upper: int, bins: int | Sequence[int]) -> list[int]:
    n_values = upper - lower + 1
    if isinstance(bins, int):
        if not 1 <= bins <= n_values:
            raise ValueError(f"bins must lie between 1 and the number of values, {n_values}")
        _require_few(bins)
        return [lower + (n_values * k) // bins for k in range(bins)]
    _check_edges(bins, lower, upper)
    # The last edge closes the last bin; with one value in all, one edge would do.
    return list(bins[:-1])


@lru_cache(maxsize=4096)
def real_intervals(
    lower: float, upper: float, bins: int | tuple[float, ...], spikes: tuple[float, ...]
) -> tuple[Interval, ...]:
    """Intervals [edge, next edge) of the real numbers lower..upper, the last one closed.

    Args:
        lower: smallest value.
        upper: largest value.
        bins: number of bins of equal width, or all edges from `lower` to `upper`.
        spikes: values that are a state of their own, such as the zero of a semicontinuous variable.

    Raises:
        ValueError: bounds reversed or equal, edges not increasing from `lower` to `upper`, spike
            out of range.
    """
    _check_bounds(lower, upper, allow_equal=False)
    if isinstance(bins, int):
        if bins < 1:
            raise ValueError("bins must be at least 1")
        _require_few(bins)
        edges = _equal_edges(lower, upper, bins)
    else:
        edges = [float(edge) for edge in bins]
        _check_edges(edges, lower, upper)
    _check_spikes(spikes, lower, upper)
    intervals = [Interval(float(s), float(s), _digits(s), spike=True) for s in spikes]
    for low, high in pairwise(edges):
        closing = "]" if high == edges[-1] else ")"
        intervals.append(Interval(low, high, f"[{_digits(low)}, {_digits(high)}{closing}"))
    return _in_order(intervals)


def _require_few(bins: int) -> None:
    if bins > MOST_BINS:
        raise ValueError(f"bins must be at most {MOST_BINS:,}")


def _equal_edges(lower: float, upper: float, bins: int) -> list[float]:
    with np.errstate(over="ignore", invalid="ignore"):  # the check below finds both
        edges = [float(edge) for edge in np.linspace(lower, upper, bins + 1)]
    if not all(a < b for a, b in pairwise(edges)):
        raise ValueError(
            "the bins would be narrower than numbers of this size can tell apart, or the range is "
            "wider than numbers go; use fewer bins or other bounds"
        )
    return edges


def _digits(number: float) -> str:
    return f"{number + 0.0:.12g}"  # −0 is written 0


def _in_order(intervals: list[Interval]) -> tuple[Interval, ...]:
    return tuple(sorted(intervals, key=lambda interval: (interval.low, not interval.spike)))


def _check_bounds(lower: float, upper: float, *, allow_equal: bool) -> None:
    if lower > upper or (lower == upper and not allow_equal):
        raise ValueError("lower must be below upper; were the two exchanged?")


def _check_edges(edges: Sequence[float], lower: float, upper: float) -> None:
    increasing = all(a < b for a, b in pairwise(edges))
    if len(edges) < 2 or not increasing or edges[0] != lower or edges[-1] != upper:
        raise ValueError("edges in `bins` must increase from lower to upper, both included")


def _check_spikes(spikes: Sequence[float], lower: float, upper: float) -> None:
    if len(set(spikes)) != len(spikes):
        raise ValueError("a value stands twice among the spikes")
    if any(not lower <= spike <= upper for spike in spikes):
        raise ValueError("every spike must lie between lower and upper")
