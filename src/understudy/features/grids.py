"""Columns as states and places on the number line, and kernels for numbers drawn by inversion.

The kernels round to the column, find states, and give normal quantiles.

A drawn number is rounded to what the column holds and kept within the bounds. One that then falls
on a spike, or so near that it would be read as one, is moved by the least step towards the middle:
whether a record sits on a spike is decided by its cell, so a number drawn for the bin must not add
to the spike. Tests hold `settle_numbers` to a slow and obvious number line, bit for bit. Divisions
follow IEEE 754, so that loops without branches run in parallel.

**Cells of a number line: one numeric column in finer bins, and a cell beyond each of its bounds.**

A table counts numbers in the declared bins, often five to eight, and what lies beyond the bounds
is clipped onto them. A number line has about `FINE` cells, all public: each declared bin is split
evenly, in whole numbers, days or the column's decimals, so that no declared edge is crossed. Up to
`SINGLE` values have a cell each. Where many records meet little noise, a second line has some times
as many of both (`line_times`): what cells hide would not shrink otherwise. Its cells divide those
of the first, whose sums are told with less noise: both are put together. Spikes and codes stay
cells of their own. A column whose bins cannot be split gets a single one: what a line adds is how
many records lie beyond.

**Cells of heaps: of one numeric column, which way of rounding a number shows, by its size.**

People round larger numbers more coarsely. So a cell is a *class* of the column's heaps
(`understudy.schema.numeric`) in a *zone* of its range. Up to `ZONES` zones follow from bounds and
heaps alone: upwards from the lower bound (or from 0, where it lies inside) each is about three
times as long as all before it, and begins with a number of the first heap. Spikes, codes and what
lies beyond the bounds have no class, and share the last cell.

**The lattice on which bounded numbers are summed: whole numbers between −`HALF` and `HALF`.**
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.errors import SchemaError
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
from understudy.schema.base import CLOSE, text_of
from understudy.schema.coarsening import (
    bin_starts,
    cuts_of,
    in_one_bin,
    join_starts,
    usual_bins,
    with_cuts,
)
from understudy.schema.numeric import HeapAt, Interval, has_values

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
    """Compute how near a number means each spike when it is read back; shape (k,)."""
    return CLOSE * np.abs(spikes) * isinstance(column, Continuous)


def step_off(column: Integer | Continuous | Calendar) -> float:
    """Compute how far to move a number off a spike: by a value of the column, out of its reach."""
    low, high = column.bounds
    decimals = column.decimals if isinstance(column, Continuous) else 0
    spikes = np.array([interval.low for interval in column.intervals if interval.spike])
    far = 2.0 * float(reach_of(column, spikes).max(initial=0.0))
    if decimals is None:
        return max((high - low) * _FINE, far)
    least = 10.0**-decimals
    return least * max(1.0, float(np.ceil(far / least)))


@compiled
def settle_numbers(line: Line, numbers: Floats) -> tuple[Integers, Floats]:
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
        placed[i] = _round_number(numbers[i], low, high, grid)
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
def _round_number(number: float, low: float, high: float, grid: float) -> float:
    rounded = np.rint(number * grid) / grid if grid > 0 else number
    rounded = low if rounded < low else rounded
    return high if rounded > high else rounded


@compiled
def _on_spikes(line: Line, numbers: Floats) -> Integers:
    """Find the numbers that lie on a spike."""
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
        value = _round_number(moved, low, high, line.grid)
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
    from scipy.special import ndtri  # takes long, and few plans need it

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

    def take(self, rows: NDArray[np.integer[Any]]) -> Drawn:
        """Some of the records, by their numbers; a record may come more than once."""
        return Drawn(self.states[rows], None if self.numbers is None else self.numbers[rows])


FINE: Final = 64
SINGLE: Final = 128
MOST_TIMES: Final = 16
Numeric = Integer | Continuous | Date | Datetime | Time | Duration
_FEW_TIMES = 4
_RECORDS_A_TIME = 6.0
"""Records, in variances of a line's noise, for each time as many cells.

A line that costs a third has three times the variance. Of t cells of it in a cell of the usual
line, the sum up to their middle has 3t/4 times as much. Sampling has n/4 there, which is as much
where t is n/3. Half as many leave room for the noise of the usual line. Powers of two divide
floating-point numbers exactly."""


def line_times(n_rows: float, stddev: float) -> int:
    """Choose how many times as many cells a finer line has; 1 where none is worth its noise.

    Args:
        n_rows: number of records, as released.
        stddev: of the noise in a cell of the usual line, if it had all that buys lines.

    Example:
        >>> line_times(5_000, 24), line_times(50_000, 24), line_times(50_000, 5)
        (1, 8, 16)
    """
    wanted = min(n_rows / (_RECORDS_A_TIME * max(stddev, 1e-9) ** 2), MOST_TIMES)
    return 1 if wanted < _FEW_TIMES else 2 ** int(math.log2(wanted))


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
            raise TypeError(f"A fine histogram needs a numeric column, and {name!r} is not one.")
        return cls(column)

    @classmethod
    def of_line(cls, schema: Schema, name: str, times: int = 1) -> LineCells:
        """The cells of a column on its usual number line, or with some times as many cells.

        Raises:
            TypeError: the column is not numeric.
        """
        column = cls.of(schema, name).column
        return cls.of(schema.with_bins({name: line_bins(column, times)}), name)

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.column.size + 2

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels under which they are shown."""
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


TOLD: Final = 4.0
"""Standard deviations by which cells must exceed 0 for records to be told from noise there."""
_MOST_CUT = 0.05  # of the numbers, beyond either limit
_MOST_CUT_OFF_PEAK = 0.2  # the same of those outside the fullest cell: most may be 0
_LEAST_CUT = 3.0  # standard deviations: so few of these are hardly told from noise
_NARROWER = 2 / 3  # of the bounds: limits that gain less are not worth their name
_MUCH_NARROWER = 1 / 3  # these by `benchmarks/cut_offs.py`


def find_limits(
    counts: Floats, stddev: float, cells: LineCells, n_records: float
) -> tuple[float, float] | None:
    """Find where no records are told from noise beyond, by a released number line.

    The upper limit is the end of the last cell that begins a run of cells, 1, 2, 4 or more of them,
    whose noisy number is more than noise (`TOLD`); the lower one likewise. So with more records or
    budget the limits move outwards, and less is cut off. Where too many seem to lie beyond, they
    move outwards too; where little is gained, there is none. Only released numbers are used:
    whatever the limits are, numbers cut off at them are well defined.

    What the counts lack of the number of records is spread evenly over them, by least squares. So
    few cells that hold nearly all tell how many lie beyond, better than the many beyond do. Records
    without a cell, of values out of domain, would be spread as well: where noise does not explain
    what lacks, the counts stay. Limits that gain less than `_MUCH_NARROWER` must leave few beyond
    by one standard deviation too, since what they hide weighs more than what they gain.

    Args:
        counts: noisy numbers of records in the cells.
        stddev: of the noise in each.
        cells: of the line.
        n_records: number of all records, as released.

    Example:
        >>> from understudy.schema import Integer
        >>> pay = Integer(kind="integer", lower=0, upper=999, bins=10)
        >>> counts = np.array([400.0, 350, 200, 40, 2, -3, 1, 0, 3, -1, 0, 1])
        >>> find_limits(counts, 2.0, LineCells(pay), 1_000)
        (0.0, 399.0)
    """
    column, k = cells.column, cells.column.n_ordinary
    lacks = n_records - counts.sum()
    if abs(lacks) <= TOLD * stddev * np.sqrt(len(counts)):
        counts = counts + lacks / len(counts)
    below, above = counts[column.size :]
    own = np.array([below, *counts[:k], above], dtype=np.float64)
    off_peak = max(_MOST_CUT_OFF_PEAK * (own.sum() - own.max()), _LEAST_CUT * stddev)
    most = min(_MOST_CUT * own.sum(), off_peak)
    bounds = column.bounds
    for deviations, narrower in ((0, _MUCH_NARROWER), (1, _NARROWER)):
        first = max(k + 1 - _kept_cells(own[::-1], stddev, most, deviations), 0)
        end = min(_kept_cells(own, stddev, most, deviations) - 1, k)
        if stddev <= 0 or first >= end:
            return None
        kept = column.intervals[first:end]
        low, high = float(min(one.low for one in kept)), float(max(one.high for one in kept))
        if 0 < high - low <= narrower * (bounds[1] - bounds[0]):
            return low, high
    return None


def _kept_cells(counts: Floats, stddev: float, most: float, deviations: int) -> int:
    """Number of cells up to the last one that begins a run with more than noise.

    More, if more records than `most` seem to lie beyond, with so many standard deviations of the
    noise in their number: of counts with a known sum it is that of k of K cells, σ·√(k(K − k)/K).
    """
    sums, length, last = np.append(0.0, np.cumsum(counts)), 1, 0
    while length <= len(counts):
        runs = sums[length:] - sums[:-length]
        told = np.flatnonzero(runs > TOLD * stddev * np.sqrt(length))
        last = max(last, int(told.max(initial=-1)) + 1)
        length *= 2
    beyond = np.arange(len(counts) - last, -1, -1)
    noise = stddev * np.sqrt(beyond * (len(counts) - beyond) / len(counts))
    few = np.flatnonzero(sums[-1] - sums[last:] + deviations * noise <= max(most, 0.0))
    return last + int(few[0])


MOST_EVEN: Final = 40
"""Bins with about as many numbers each. Of n records with the noise σ in a bin, the median of K of
them is told within √(n + K·σ²)/2 records and about a bin of n/K: of 500 to 5,000 records, and σ
from 8 to 14, that is nearly least for 40."""
_STEPS_OF_RANGE: Final = 1e-5  # between edges, at least


def even_bins(counts: Floats, cells: LineCells, column: Numeric) -> int | tuple[Any, ...]:
    """Bins of a column with about as many records each, by a released number line.

    Numbers are taken to lie evenly in a cell of the line. Where the bins of the column begin beside
    the usual ones, these do as well.

    Args:
        counts: noisy numbers of records in the cells.
        cells: of the line.
        column: in usual bins, perhaps with a few more.

    Returns:
        Bins as `Schema.with_bins` takes them; those of the column where no others fit, or the line
        shows nobody.

    Example:
        >>> from understudy.schema import Integer
        >>> pay = Integer(kind="integer", lower=0, upper=999, bins=4)
        >>> column = Integer(kind="integer", lower=0, upper=999)
        >>> bins = even_bins(np.array([400.0, 80, -3, 3, 0, 0, 0, 0]), LineCells(pay), column)
        >>> len(bins), bins[:3], bins[-3:]
        (41, (0, 8, 15), (425, 462, 999))
    """
    line = cells.column
    each = [
        (one.low, own) for one, own in zip(line.intervals, counts, strict=False) if not one.spike
    ]
    own = np.array([number for _, number in each], dtype=np.float64)
    own[0] += counts[line.size]
    own[-1] += counts[line.size + 1]
    upto = np.maximum.accumulate(np.append(0.0, np.cumsum(own)))
    if upto[-1] <= 0:
        return own_bins(column)
    edges = np.array([*(low for low, _ in each), line.bounds[1]])
    low, high = column.bounds
    step = 1.0 if not isinstance(column, Continuous) else (high - low) * _STEPS_OF_RANGE
    places = np.interp(np.arange(1, MOST_EVEN) / MOST_EVEN * upto[-1], upto, edges)
    places = low + step * np.rint((places - low) / step)
    starts = {*places[(low < places) & (places < high)].tolist(), *(cuts_of(column) or ())}
    try:
        return own_bins(with_cuts(in_one_bin(column), starts))
    except SchemaError:
        return own_bins(column)


def line_bins(column: Numeric, times: int = 1) -> int | tuple[Any, ...]:
    """The bins of a number line, as `Schema.with_bins` takes them: a number, or all edges.

    Those of usual bins with a few more are the same, with these edges among them.

    Args:
        column: numeric.
        times: as many cells as usual.
    """
    if cuts := cuts_of(column):
        usual = line_bins(usual_bins(column), times)
        fine = column.model_copy(update={"bins": usual})
        edges = [*join_starts(column, bin_starts(fine), cuts), column.bounds[1]]
        return usual if set(cuts) <= {*bin_starts(fine)} else _as_declared(edges, column)
    whole = not isinstance(column, Continuous)
    bins = [interval for interval in column.intervals if not interval.spike]
    values = [_n_values(interval, column) for interval in bins]
    single = sum(values) <= times * SINGLE
    if sum(values) == len(bins):
        return own_bins(column)
    if single and whole and not any(interval.spike for interval in column.intervals):
        return int(sum(values))
    parts = times * max(1, round(FINE / len(bins)))
    spikes = {interval.low for interval in column.intervals if interval.spike}
    starts: list[float] = []
    for interval, n_values in zip(bins, values, strict=True):
        n_parts = int(n_values if single else min(parts, n_values))
        inner = _whole_starts if whole else _real_starts
        starts += inner(interval, n_parts, spikes, column)
    if whole and starts[-1] == column.bounds[1] and len(starts) > 1:
        starts.pop()  # the last edge closes the last bin, so that value has none of its own
    if len(starts) <= len(bins):
        return own_bins(column)
    return _as_declared([*starts, column.bounds[1]], column)


def own_bins(column: Numeric) -> int | tuple[Any, ...]:
    """The bins of a column itself, where they cannot be split: its line says what lies beyond."""
    if column.bins is not None:
        return column.bins
    return sum(not interval.spike for interval in column.intervals)


def is_plain(column: Column) -> bool:
    """Return whether the line of a numeric column has its bins, since they cannot be split."""
    return isinstance(column, NUMERIC) and line_bins(column) == own_bins(column)


def is_finer(fine: Numeric, coarse: Numeric) -> bool:
    """Return whether a column's bins divide those of another, and are more."""
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
    """Count the numbers that a bin has; infinite where the column has no decimals."""
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


ZONES: Final = 6
_GROWTH: Final = 3.0


@dataclass(frozen=True)
class HeapCells:
    """The cells of a column: classes within zones, and one for what has no class.

    Attributes:
        column: with its heaps.

    Example:
        >>> from understudy.schema import Integer
        >>> age = Integer(kind="integer", lower=0, upper=99, heaps=(10, 5))
        >>> HeapCells(age).labels[:3], HeapCells(age).edges.tolist()
        (('0 to 9: every 10', '0 to 9: every 5', '0 to 9: other'), [10.0, 20.0, 40.0])
    """

    column: Numeric

    @classmethod
    def of(cls, schema: Schema, name: str) -> HeapCells:
        """The cells of a column of a schema.

        Raises:
            TypeError: the column has no heaps.
        """
        column = schema.columns[name]
        if not isinstance(column, NUMERIC) or not column.heaps:
            raise TypeError(f"The column {name!r} has no heaps.")
        return cls(column)

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.n_zones * self.n_classes + 1

    @property
    def n_zones(self) -> int:
        """Number of zones."""
        return len(self.edges) + 1

    @cached_property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.column.roundings.n_classes

    @cached_property
    def edges(self) -> Floats:
        """First numbers of the zones but the first one, ascending; shape (zones − 1,)."""
        (low, high), first = self.column.bounds, self.column.roundings.steps[0]
        start = 0.0 if low < 0 < high else low
        places = start + (high - start) / _GROWTH ** np.arange(ZONES - 1, 0, -1)
        edges = np.unique(first.at + np.ceil((places - first.at) / first.every) * first.every)
        edges = np.append([0.0] if start > low else [], edges)
        return np.unique(edges[(edges > low) & (edges < high)])

    def zones(self, numbers: Floats) -> Integers:
        """Zone of each number, shape (n,)."""
        return np.searchsorted(self.edges, numbers, side="right")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels under which they are shown."""
        (low, high), column = self.column.bounds, self.column
        step = 0.0 if isinstance(column, Continuous) else 1.0
        firsts, lasts = [low, *self.edges], [*(self.edges - step), high]
        ways = [*map(_way, column.heaps), "other"]
        zones = zip(firsts, lasts, strict=True)
        ends = [f"{self._text(first)} to {self._text(last)}" for first, last in zones]
        return (*(f"{zone}: {way}" for zone in ends for way in ways), "(no class)")

    def _text(self, number: float) -> str:
        column = self.column
        return column.text_at(int(number)) if isinstance(column, Calendar) else f"{number:.12g}"

    def places(self, states: Integers, numbers: Floats) -> Integers:
        """Cell of each value; `size` for what is out of domain.

        Args:
            states: in `column` as records are counted, its `size` for what is out of domain; shape
                (n,).
            numbers: as they were read, unclipped, NaN for none; shape (n,).
        """
        column, (low, high) = self.column, self.column.bounds
        bins = np.array([not one.spike for one in column.intervals])
        reach = CLOSE if isinstance(column, Continuous) else 0.0
        inside = (numbers >= low - reach * abs(low)) & (numbers <= high + reach * abs(high))
        classed = inside & np.append(bins, False)[np.minimum(states, len(bins))]
        known = np.clip(np.where(classed, numbers, low), low, high)
        own = self.zones(known) * self.n_classes + column.roundings.classes(known)
        return np.where(states == column.size, self.size, np.where(classed, own, self.size - 1))


NumberCells = LineCells | HeapCells
"""Cells of one numeric column, of which each record is in one by its own values."""


def heaped_columns(schema: Schema) -> tuple[str, ...]:
    """Measured columns with heaps, some bin of which has numbers of several classes."""
    return tuple(name for name in schema.names if _is_open(schema, name))


def _is_open(schema: Schema, name: str) -> bool:
    """Return whether bins leave open on which heap a number lies."""
    column = schema.columns[name]
    if not isinstance(column, NUMERIC) or not column.heaps:
        return False
    return any(one.low < one.high for one in column.intervals)


def _way(heap: object) -> str:
    if isinstance(heap, HeapAt):
        return f"every {text_of(heap.every)} at {text_of(heap.at)}"
    return f"every {heap}"


STEPS: Final = 2**16
"""Steps of the lattice over the width of the bounds."""

HALF: Final = STEPS // 2
"""Largest |z|."""


def holds_numbers(column: Column) -> NDArray[np.bool_]:
    """Find the states of a column that stand for numbers to be summed: bins that are no spike.

    Returns:
        Shape (size,).
    """
    holds = np.zeros(column.size, dtype=np.bool_)
    if isinstance(column, NUMERIC):
        holds[: column.n_ordinary] = [not interval.spike for interval in column.intervals]
    return holds


def on_bounds(numbers: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    """The whole number z of each finite number, any shape; what is beyond the bounds is clipped.

    Where the bounds are equal it is 0: what is not a number would have any size as a whole one.
    """
    clipped = np.clip(numbers, low, high)
    steps = np.rint((clipped - (low + (high - low) / 2)) / (high - low or 1.0) * STEPS)
    return np.clip(steps, -HALF, HALF).astype(np.int64)
