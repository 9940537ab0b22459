"""Cells of a number line: one numeric column in finer bins, and a cell beyond each of its bounds.

A table counts numbers in the declared bins, often five to eight, and what lies beyond the bounds
is clipped onto them. A number line has about `FINE` cells, all public: each declared bin is split
evenly, in whole numbers, days or the column's decimals, so that no declared edge is crossed. Up to
`SINGLE` values have a cell each. Spikes and codes stay cells of their own. A column whose bins
cannot be split gets a single one: what a line adds is how many records lie beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.schema import (
    NUMERIC,
    Calendar,
    Column,
    Continuous,
    Date,
    Datetime,
    Duration,
    Integer,
    Schema,
    Time,
)
from understudy.schema.bins import Interval, has_values
from understudy.schema.cell_values import CLOSE

FINE: Final = 64
SINGLE: Final = 128
Numeric = Integer | Continuous | Date | Datetime | Time | Duration


@dataclass(frozen=True)
class LineCells:
    """The cells: the states of a column in some bins, then one below and one above its bounds.

    Attributes:
        column: in these bins.
    """

    column: Numeric

    @classmethod
    def of(cls, schema: Schema, name: str) -> LineCells:
        """The cells of a column of a schema, in the bins that the schema has.

        Raises:
            TypeError: the column is not numeric.
        """
        column = schema.columns[name]
        if not isinstance(column, NUMERIC):
            raise TypeError(f"A number line is of a numeric column, and {name!r} is none.")
        return cls(column)

    @property
    def size(self) -> int:
        """How many there are."""
        return self.column.size + 2

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """How they are shown."""
        low, high = (f"{end:.12g}" if isinstance(end, float) else str(end) for end in self._bounds)
        return (*self.column.labels, f"below {low}", f"above {high}")

    @property
    def _bounds(self) -> tuple[object, object]:
        return self.column.lower, self.column.upper

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The ordinary states onto which numbers below and above the bounds are clipped."""
        low, high = self.column.bounds
        intervals = self.column.intervals
        return _state_at(low, intervals, first=True), _state_at(high, intervals, first=False)

    def places(self, states: Integers, numbers: Floats) -> Integers:
        """Cell of each value; `size` for what is out of domain.

        A number on a bound, or as near to it as 32 bits tell, is inside.

        Args:
            states: in `column` as records are counted, its `size` for what is out of domain; shape
                (n,).
            numbers: as they were read, unclipped, NaN for none; shape (n,).
        """
        column = self.column
        low, high = column.bounds
        reach = CLOSE if isinstance(column, Continuous) else 0.0
        known = states < column.n_ordinary
        below = known & (numbers < low - reach * abs(low))
        above = known & (numbers > high + reach * abs(high))
        cells = np.where(states == column.size, self.size, states)
        return np.where(below, column.size, np.where(above, column.size + 1, cells))


def line_bins(column: Numeric) -> int | tuple[Any, ...]:
    """The bins of a number line, as `Schema.with_bins` takes them: a number, or all edges."""
    whole = not isinstance(column, Continuous)
    bins = [interval for interval in column.intervals if not interval.spike]
    values = [_n_values(interval, column) for interval in bins]
    single = sum(values) <= SINGLE
    if sum(values) == len(bins):
        return 1
    if single and whole and not any(interval.spike for interval in column.intervals):
        return int(sum(values))
    parts = max(1, round(FINE / len(bins)))
    spikes = {interval.low for interval in column.intervals if interval.spike}
    starts: list[float] = []
    for interval, n_values in zip(bins, values, strict=True):
        n_parts = int(n_values if single else min(parts, n_values))
        inner = _whole_starts if whole else _real_starts
        starts += inner(interval, n_parts, spikes, column)
    if whole and starts[-1] == column.bounds[1] and len(starts) > 1:
        starts.pop()  # the last edge closes the last bin, so that value has none of its own
    if len(starts) <= len(bins):
        return 1
    return _as_declared([*starts, column.bounds[1]], column)


def is_plain(column: Column) -> bool:
    """Whether the line of a numeric column is one bin, since its bins cannot be split."""
    return isinstance(column, NUMERIC) and line_bins(column) == 1


def is_finer(fine: Numeric, coarse: Numeric) -> bool:
    """Whether a column's bins divide those of another, and are more."""
    ours, theirs = (
        {interval.low for interval in column.intervals if not interval.spike}
        for column in (fine, coarse)
    )
    return theirs < ours


def coarse_states(fine: Numeric, coarse: Numeric) -> Integers:
    """State of a coarse column that each state of a finer one lies in; shape (`fine.size`,)."""
    spikes = {one.low: k for k, one in enumerate(coarse.intervals) if one.spike}
    bins = [(one.low, k) for k, one in enumerate(coarse.intervals) if not one.spike]
    lows, states = np.array([low for low, _ in bins]), np.array([k for _, k in bins])
    within = np.searchsorted(lows, [one.low for one in fine.intervals], "right") - 1
    found = [
        spikes[one.low] if one.spike else states[place]
        for one, place in zip(fine.intervals, within, strict=True)
    ]
    return np.array([*found, *range(coarse.n_ordinary, coarse.size)], dtype=np.int64)


def _n_values(interval: Interval, column: Numeric) -> float:
    """How many numbers a bin has; infinite where the column has no decimals."""
    if not isinstance(column, Continuous):
        return interval.high - interval.low + 1
    if column.decimals is None:
        return np.inf
    return max(1.0, round((interval.high - interval.low) * 10.0**column.decimals))


def _whole_starts(
    interval: Interval, parts: int, spikes: set[float], _column: Numeric
) -> list[float]:
    """First values of the parts of a bin of whole numbers, each with a value that is no spike."""
    low, n_values = int(interval.low), int(interval.high - interval.low) + 1
    starts = [low]
    for start in (low + n_values * k // parts for k in range(1, parts)):
        if has_values(starts[-1], start - 1, spikes):
            starts.append(start)
    if len(starts) > 1 and not has_values(starts[-1], low + n_values - 1, spikes):
        starts.pop()
    return [float(start) for start in starts]


def _real_starts(
    interval: Interval, parts: int, _spikes: set[float], column: Numeric
) -> list[float]:
    """Lower edges of the parts of a bin of real numbers, in the decimals of the column."""
    assert isinstance(column, Continuous)
    edges = np.linspace(interval.low, interval.high, parts + 1)[:-1].tolist()
    if column.decimals is not None:
        edges = [edges[0], *(round(edge, column.decimals) for edge in edges[1:])]
    kept = [edges[0]]
    for edge in edges[1:]:
        if kept[-1] < edge < interval.high:
            kept.append(edge)
    return kept


def _as_declared(edges: Sequence[float], column: Numeric) -> tuple[Any, ...]:
    """Edges as a schema declares them."""
    assert all(a < b for a, b in pairwise(edges))
    if isinstance(column, Calendar):
        return tuple(column.text_at(int(edge)) for edge in edges)
    return tuple(int(edge) for edge in edges) if isinstance(column, Integer) else tuple(edges)


def _state_at(number: float, intervals: Sequence[Interval], *, first: bool) -> int:
    """State of a bound: its spike, else the first or the last bin."""
    for k, interval in enumerate(intervals):
        if interval.spike and interval.low == number:
            return k
    bins = [k for k, interval in enumerate(intervals) if not interval.spike]
    return bins[0] if first else bins[-1]
