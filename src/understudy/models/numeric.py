"""Numbers within bins, drawn so that means, variances and quantiles come out right.

Uniform numbers within a bin put its mean at its middle. Where the density falls, as in the tail of
incomes, records lie below the middle, so that uniform numbers bias means and widen tails. Here the
density within a bin follows those of the bins beside it: the cumulative distribution is the
monotone cubic through the edges' values (Fritsch & Carlson 1980; slopes as in `PchipInterpolator`),
which keeps the mass of each bin exactly and bends only as much as its neighbours say.

* Whole numbers, days and declared decimals are cells of that line: each value receives the mass of
  its cell. Spikes are cut out of the line, for whether a record sits on one is its state's affair.
* What is beyond the bounds is clipped to them: the records of a narrow bin at a bound, with nobody
  in the bin beside it, are at the bound itself. So are those of the last two whole numbers, which
  edges cannot divide, where these two are much fuller than the values beside them.
* Where there is no grid, a bin of `POINT` of the range stands for the number that it begins with;
  the last one for the bound.
* The records of a bin take evenly spaced places in its distribution, in random order: their mean
  has no Monte Carlo error but for the last part of a record.

Everything here is post-processing: of released masses, states and public bins.

**Numbers of a release on their heaps: as many on each as noisy counts say.**

Models draw bins, and numbers that are smooth within them. Counts by class and zone
(`understudy.features.grids`) say how many of the numbers lie on heaps. So

1. **shares** of the classes are the pooled ones, drawn towards those of numbers without heaps as
   far as noise explains what they differ by, and in each zone towards the pooled ones alike
   (`understudy.models.bayesian_network`): a heap that nobody rounds to is not made up by noise;
2. **bins** have classes in proportion, as far as they can: a bin without a multiple of 1,000 has no
   number of that class, and others more. Iterative proportional fitting (Deming & Stephan 1940)
   keeps the records of each bin and the shares of each zone;
3. **a number** gets a class, and moves to that value of the class in its bin which has its rank
   there: of k values each takes a k-th of the bin. So bins, their shape, and the order of numbers
   of one class stay as they were drawn.

All of it is post-processing of released values.

**Which values of each bin lie on which heap, and that one among them which has a rank.**
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Flags, Floats, Integers, compiled
from understudy.features.grids import HeapCells, Numeric
from understudy.models.bayesian_network import shrunk
from understudy.models.model import dealt
from understudy.schema import Calendar, Continuous, Integer
from understudy.schema.base import EXACT_INTEGER
from understudy.schema.constraints import Grid
from understudy.schema.numeric import Roundings, Steps

POINT: Final = 2.0**-28
"""Width of a bin, in parts of the range, up to which it stands for one number: where there is no
grid."""
NARROW: Final = 1 / 24
"""Width of a bin at a bound, in parts of the one beside it, up to which it may hold a heap."""
CROWDED: Final = 10.0
"""Records of a value of the last bin of a grid, in those of a value beside it, that are a heap."""
BESIDE: Final = 4
"""Bins on either side of a bin that are its neighbourhood."""
FAINT: Final = 0.01
"""Records beside a heap, in parts of it, that are nobody."""
NOBODY: Final = 1e-12
"""Part of all records that is nobody, as far out in a tail: slopes of less would overflow."""
_POINTS = 2**9
"""Of each bin between which its distribution is taken as linear: masses of cells move by less than
three millionths of the bin's."""


@dataclass(frozen=True, eq=False)
class WithinBins:
    """The numbers of a column, given their bins.

    Attributes:
        column: in the bins that the states are of.
        masses: estimated records of the ordinary states, spikes included, none negative, in any
            unit; shape (`column.n_ordinary`,).

    Example:
        >>> column = Integer(kind="integer", lower=0, upper=99, bins=(0, 10, 99), spikes=(0,))
        >>> within = WithinBins(column, np.array([500.0, 90.0, 10.0]))
        >>> within.draw(np.array([0, 1, 2, 3]), np.random.default_rng(1)).round().tolist()
        [nan, 4.0, 72.0, nan]
    """

    column: Integer | Continuous | Calendar
    masses: Floats

    def draw(self, states: NDArray[np.integer[Any]], rng: np.random.Generator) -> Floats:
        """A number for each record whose state is a bin; NaN for others.

        Args:
            states: of the column, shape (n,).
            rng: source of random numbers.

        Returns:
            Shape (n,): within the bin, on the grid of whole numbers or decimals. NaN where the
            state is a spike or a code, or where no value of the grid lies in the bin.
        """
        bins = self._bin_of.take(states, mode="clip")
        sizes = np.bincount(bins, minlength=len(self._line.states) + 1)
        return dealt(bins, sizes, self._sorted_numbers(sizes, rng), rng)

    def _sorted_numbers(self, sizes: Integers, rng: np.random.Generator) -> Floats:
        """Numbers of so many records in each bin; NaN of the last, which have none."""
        known, numbers = sizes[:-1], np.full(sizes.sum(), np.nan)
        phases = rng.random(len(known)) - (np.cumsum(known) - known)
        self._line.place(known, phases, self._bends.curve(), numbers)
        for k, number in self._single.items():
            numbers[sizes[:k].sum() : sizes[: k + 1].sum()] = number
        return numbers

    @cached_property
    def _single(self) -> dict[int, float]:
        """The number that all records of a bin have, by its place: of heaps, and of points."""
        line, masses = self._line, self.masses[self._line.states]
        heaps = {*ends_apart(line.edges, masses), *line.pair_apart(masses)}
        return line.points | {k: line.end(k > 0) for k in heaps}

    @cached_property
    def _bin_of(self) -> NDArray[np.int32]:
        """Place of each state among the bins; of others, and of the state behind them, the next."""
        places = np.full(self.column.size + 1, len(self._line.states), dtype=np.int32)
        places[self._line.states] = np.arange(len(self._line.states))
        return places

    @cached_property
    def _line(self) -> _Line:
        return _line_of(self.column)

    @cached_property
    def _bends(self) -> _Bends:
        line, masses = self._line, np.maximum(self.masses[self._line.states], 0.0)
        rest = ~heaps_on_line(masses, line.single)
        own = _bends(without(line.edges, ~rest), masses[rest])
        left, right = np.ones(len(masses)), np.ones(len(masses))
        left[rest], right[rest] = own.left, own.right
        return _Bends(left, right)


def state_widths(column: Integer | Continuous | Calendar) -> Floats:
    """Compute the widths over which records spread evenly, if nothing but the bins is known.

    Args:
        column: in the bins that the states are of.

    Returns:
        Shape (`column.size`,): of a bin the values that are no spikes, or its length where there is
        no grid; of spikes and codes the median of these. For `denoise` and `shapes`.

    Example:
        >>> column = Integer(kind="integer", lower=0, upper=9, bins=(0, 4, 9), spikes=(0,))
        >>> state_widths(column).tolist()
        [4.5, 3.0, 6.0]
    """
    line = _line_of(column)
    wide = np.diff(line.edges)
    widths = np.full(column.size, np.median(wide) if len(wide) else 1.0)
    widths[line.states] = wide
    return widths


def bins_on_line(column: Integer | Continuous | Calendar) -> tuple[Integers, Floats, Flags]:
    """The states that are bins of more than a spike, their edges end to end, and which are single.

    Args:
        column: in the bins that the states are of.

    Returns:
        States, ascending, shape (bins,); edges on the line, shape (bins + 1,): numbers, or places
        among the values of the grid that are no spikes; and which bins hold one value, shape
        (bins,).
    """
    line = _line_of(column)
    return line.states, line.edges, line.single


def ends_apart(edges: Floats, masses: Floats) -> list[int]:
    """Find bins at the bounds that hold heaps: narrow ones, beside which there is hardly anybody.

    Args:
        edges: of the bins, ascending, shape (bins + 1,).
        masses: estimated records, shape (bins,).

    Returns:
        0, the last one, both or none.

    Example:
        >>> ends_apart(np.array([0.0, 50, 99, 100]), np.array([500.0, 0, 7]))
        [2]
    """
    wide, last = np.diff(edges), len(masses) - 1
    beside = {0: 1, last: last - 1} if last > 1 else {}
    return [
        k
        for k, b in beside.items()
        if wide[k] <= NARROW * wide[b] and masses[k] > 0 and masses[b] <= FAINT * masses[k]
    ]


def heaps_on_line(masses: Floats, single: Flags) -> Flags:
    """Find bins of one value that hold more than all bins beside them: heaps, as good as spikes.

    Args:
        masses: estimated records, shape (bins,).
        single: which bins hold one value, shape (bins,).

    Returns:
        Shape (bins,); none where that would leave no bin.

    Example:
        >>> single = np.array([True, False, False])
        >>> heaps_on_line(np.array([90.0, 6, 4]), single).tolist()
        [True, False, False]
    """
    around = np.convolve(masses, np.ones(2 * BESIDE + 1))[BESIDE:-BESIDE] - masses
    found = single & (masses > 0) & (masses > around)
    return found if not found.all() else np.zeros_like(found)


def without(edges: Floats, heaps: Flags) -> Floats:
    """The line without some of its bins, the others end to end; shape (bins left + 1,)."""
    return np.asarray(edges[0] + np.append(0.0, np.cumsum(np.diff(edges)[~heaps])))


@dataclass(frozen=True, eq=False)
class _Bends:
    """Distribution within each bin, on [0, 1]: G(t) = a·t + (3 − 2a − b)·t² + (a + b − 2)·t³.

    Attributes:
        left: a, density at the lower edge over that of the bin, shape (bins,).
        right: b, at the upper edge.
    """

    left: Floats
    right: Floats

    def curve(self) -> tuple[Floats, Floats]:
        """G and t at `_POINTS` points of each bin, all bins on one line, each of length 1."""
        t = np.arange(_POINTS) / _POINTS
        a, b = self.left[:, None], self.right[:, None]
        below = t * (a + t * (3 - 2 * a - b + t * (a + b - 2)))
        numbers = np.arange(len(self.left))[:, None]
        shares = np.append((numbers + below).ravel(), len(self.left))
        return shares, np.append((numbers + t).ravel(), len(self.left))


def _bends(edges: Floats, masses: Floats) -> _Bends:
    """Slopes of the monotone cubic at the edges, over the densities; even ones in empty bins."""
    whole = masses.sum()
    masses = np.where(masses > NOBODY * whole, masses, 0.0)
    if len(masses) < 2 or whole <= 0:
        return _Bends(np.ones(len(masses)), np.ones(len(masses)))
    places = (edges - edges[0]) / (edges[-1] - edges[0])
    below = np.concatenate(([0.0], np.cumsum(masses / whole)))
    from scipy.interpolate import PchipInterpolator  # takes long, and few need it

    slopes = PchipInterpolator(places, below).derivative()(places)
    shares = np.diff(below)
    filled = shares > 0
    ratios = np.where(filled, np.diff(places) / np.where(filled, shares, 1.0), 0.0)
    left, right = (
        np.where(filled, np.clip(s * ratios, 0, 3), 1.0) for s in (slopes[:-1], slopes[1:])
    )
    return _Bends(left, right)


@dataclass(frozen=True, eq=False)
class _Line:
    """The bins that hold numbers, end to end on one line.

    Attributes:
        states: of these bins, ascending, shape (bins,).
        edges: on the line, ascending, shape (bins + 1,): numbers themselves if there is no grid,
            else places among the values of the grid that are no spikes.
        grid: values per unit; None without a grid.
        spikes: ascending, in units of the grid if there is one.
    """

    states: Integers
    edges: Floats
    grid: float | None
    spikes: Floats

    def end(self, upper: bool) -> float:
        """The smallest or the largest number of all bins; just below a bound that is a spike."""
        bound = self.edges[-1 if upper else 0]
        if self.grid is None and bound not in self.spikes:
            return float(bound)
        even, number = np.arange(len(self.edges), dtype=np.float64), np.empty(1)
        known = np.zeros(len(self.states), dtype=np.int64)
        known[-1 if upper else 0] = 1
        self.place(known, np.full(len(known), float(upper)), (even, even), number)
        return float(number[0])

    @property
    def points(self) -> dict[int, float]:
        """The number for which a bin stands, by its place, where there is no grid."""
        if self.grid is not None:
            return {}
        last = len(self.states) - 1
        return {
            k: self.end(upper=True) if k == last else float(self.edges[k])
            for k in np.flatnonzero(self.single).tolist()
        }

    @cached_property
    def single(self) -> Flags:
        """Bins that hold one value, shape (bins,)."""
        widest = 1 if self.grid else 1.01 * POINT * (self.edges[-1] - self.edges[0])
        return np.asarray(np.diff(self.edges) <= widest)

    def pair_apart(self, masses: Floats) -> list[int]:
        """The last bin, if it holds two values of a grid, and far more than those beside them."""
        if self.grid is None or len(masses) < 2 or self.edges[-1] - self.edges[-2] != 2:
            return []
        beside, own = (masses[-2:] / np.diff(self.edges)[-2:]).tolist()
        return [len(masses) - 1] if own > CROWDED * beside else []

    def place(
        self, sizes: Integers, phases: Floats, curve: tuple[Floats, Floats], numbers: Floats
    ) -> None:
        """Write the numbers of so many records in each bin, ascending.

        Args:
            sizes: records of each bin, shape (bins,).
            phases: what makes the share i + phase of a bin's records of the number i of a record
                among all, shape (bins,).
            curve: shares of the bins' records, and places in them, as `_Bends.curve` has them.
            numbers: written to, shape (n,).
        """
        spikes = self.spikes - (np.arange(len(self.spikes)) if self.grid else 0)
        _place_evenly(sizes, phases, curve, (self.edges, self.grid or 0.0, spikes), numbers)


@compiled
def _place_evenly(
    sizes: Integers,
    phases: Floats,
    curve: tuple[Floats, Floats],
    of_line: tuple[Floats, float, Floats],
    numbers: Floats,
) -> None:
    """`_Line.place`, with spikes as numbers, or on a grid as the free values before each."""
    (shares, places), (edges, grid, spikes) = curve, of_line
    last, i, j, s = len(shares) - 1, 0, 0, 0
    for k in range(len(sizes)):
        low, high = edges[k], edges[k + 1]
        for _ in range(sizes[k]):
            share = k + (i + phases[k]) / sizes[k]
            while j < last and shares[j + 1] <= share:
                j += 1
            place = places[j]
            if j < last:
                slope = (places[j + 1] - place) / (shares[j + 1] - shares[j])
                place = slope * (share - shares[j]) + place
            value = low + (place - k) * (high - low)
            if grid > 0:
                value = min(np.floor(value), high - 1)
            else:
                value = min(max(value, low), np.nextafter(high, low))
            while s < len(spikes) and spikes[s] <= value:
                s += 1
            while s > 0 and spikes[s - 1] > value:  # where rounding has places go back
                s -= 1
            if grid > 0:
                value = (value + s) / grid
            elif s > 0 and spikes[s - 1] == value:
                value = np.nextafter(value, high)
            numbers[i] = value
            i += 1


def _line_of(column: Integer | Continuous | Calendar) -> _Line:
    intervals = column.intervals
    states = np.array(
        [k for k, interval in enumerate(intervals) if not interval.spike], dtype=np.int64
    )
    lows = np.array([intervals[k].low for k in states], dtype=np.float64)
    spikes = np.sort(
        np.array([interval.low for interval in intervals if interval.spike], dtype=np.float64)
    )
    grid, high = _grid(column), column.bounds[1]
    if grid is None:
        edges = np.append(lows, high)
    else:
        firsts = np.append(_first(lows * grid), 1 - _first(-high * grid))
        spikes = np.round(spikes * grid)
        edges = firsts - np.searchsorted(spikes, firsts, side="left")
    wide = np.diff(edges) > 0
    return _Line(states[wide], np.append(edges[:-1][wide], edges[-1:]), grid, spikes)


def _grid(column: Integer | Continuous | Calendar) -> float | None:
    if not isinstance(column, Continuous):
        return 1.0
    if column.decimals is None:
        return None
    grid = 10.0**column.decimals
    return grid if max(map(abs, column.bounds)) * grid < EXACT_INTEGER / 4 else None


def _first(places: Floats | float) -> Floats:
    """The first whole number from each place on, rounding errors of decimals forgiven."""
    near = np.round(places)
    close = np.abs(places - near) <= 1e-9 * np.maximum(np.abs(near), 1)
    return np.where(close, near, np.ceil(places))


_LISTED = 64
"""Values of a class in a bin that are written out; of more, one and its neighbours are tried."""
_MOST = 10**7
_TRIES = (0, 1, -1, 2, -2, 3, -3, 4, -4)


@dataclass(frozen=True, eq=False)
class HeapValues:
    """The values of the bins of a column, by class of its heaps.

    Attributes:
        column: in its bins.

    Example:
        >>> from understudy.schema import Integer
        >>> values = HeapValues(Integer(kind="integer", lower=0, upper=99, bins=4, heaps=(10, 5)))
        >>> values.choose(np.array([0, 0, 1]), np.array([0.2, 0.9, 0.5]), 1).tolist()
        [5.0, 15.0, 35.0]
    """

    column: Numeric

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._roundings.n_classes

    @cached_property
    def is_bin(self) -> NDArray[np.bool_]:
        """Ordinary states that are bins, not spikes; shape (states,)."""
        return np.array([not one.spike for one in self.column.intervals])

    @cached_property
    def possible(self) -> Floats:
        """1 where a bin has values of a class, else 0; shape (states, classes)."""
        found = np.stack([self._counts(c) > 0 for c in range(self.n_classes)], axis=1)
        found[:, -1] |= ~found.any(axis=1)
        return found.astype(np.float64)

    @cached_property
    def means(self) -> Floats:
        """Mean of the values of a class in a bin, the bin's middle without one; same shape."""
        middle = (self._grid.lows + self._grid.highs) / 2
        found = []
        for c in range(self.n_classes):
            values, counts = self._listed[c]
            listed = np.arange(values.shape[1]) < np.minimum(counts, values.shape[1])[:, np.newaxis]
            total = np.where(listed, values, 0.0).sum(axis=1)
            few = (counts > 0) & (counts <= values.shape[1])
            found.append(np.where(few, total / np.maximum(counts, 1), middle))
        return np.stack(found, axis=1)

    def ranks(self, states: Integers, numbers: Floats, uniforms: Floats) -> Floats:
        """Place numbers in their bins, from 0 to below 1; evenly, if they lie so; shape (n,)."""
        low, high = self._grid.lows[states], self._grid.highs[states]
        step = 1 / self._roundings.scale if self._roundings.scale else 0.0
        width = high - low + step
        place = (numbers - low + uniforms * step) / np.where(width > 0, width, 1.0)
        return np.clip(place, 0.0, np.nextafter(1.0, 0.0))

    def choose(self, states: Integers, ranks: Floats, c: int) -> Floats:
        """The value of a class in each bin that has a rank; NaN where there is none. Shape (n,)."""
        if self._steps(c) is None:
            return np.full(len(states), np.nan)
        values, counts = self._listed[c]
        own = counts[states]
        place = np.minimum(np.floor(ranks * own), np.maximum(own - 1, 0)).astype(np.int64)
        found = values[states, np.minimum(place, values.shape[1] - 1)]
        wide = np.flatnonzero(own > values.shape[1])
        found[wide] = self._near(states[wide], ranks[wide], c)
        return np.where(own > 0, found, np.nan)

    def _near(self, states: Integers, ranks: Floats, c: int) -> Floats:
        """The same where values are too many to write out: the first that fits beside the rank."""
        first, last = self._ends[c]
        place = first[states] + np.floor(ranks * (last - first + 1)[states])
        found = np.full(len(states), np.nan)
        for more in _TRIES:
            lost = np.flatnonzero(np.isnan(found))
            values = self._numbers(place[lost] + more, c)
            fits = self._fits(values, states[lost], c)
            found[lost[fits]] = values[fits]
        return found

    def _counts(self, c: int) -> Integers:
        """Count the values of a class in each bin, or bound them below where not written out."""
        return self._listed[c][1]

    @cached_property
    def _listed(self) -> list[tuple[Floats, Integers]]:
        """Of each class: the first values in each bin, and how many there are, at least."""
        n_states, found = len(self.is_bin), []
        for c in range(self.n_classes):
            first, last = self._ends[c]
            wide = np.where(self.is_bin, last - first + 1, 0)
            most = int(np.clip(wide.max(), 1, min(_LISTED, max(1, _MOST // n_states))))
            values = self._numbers(first[:, np.newaxis] + np.arange(most), c)
            rows = np.repeat(np.arange(n_states), most)
            fits = self._fits(values.ravel(), rows, c).reshape(values.shape)
            order = np.argsort(~fits, axis=1, kind="stable")
            counts = np.where(wide > most, wide, fits.sum(axis=1)).astype(np.int64)
            found.append((np.take_along_axis(values, order, axis=1), counts * self.is_bin))
        return found

    @cached_property
    def _ends(self) -> list[tuple[Floats, Floats]]:
        """Of each class: numbers of the first and the last step in each bin."""
        found = []
        for c in range(self.n_classes):
            step = self._steps(c) or Steps(1.0, 0.0)
            low, high = (
                (end - step.at) / step.every for end in (self._grid.lows, self._grid.highs)
            )
            slack = 1e-9 * np.maximum(1.0, np.abs(low))
            found.append((np.ceil(low - slack), np.floor(high + slack)))
        return found

    def _fits(self, values: Floats, states: Integers, c: int) -> NDArray[np.bool_]:
        """Return whether values lie in these bins, are of the class, and are no spikes."""
        inside = (values >= self._grid.lows[states]) & (values <= self._grid.highs[states])
        own = self._roundings.classes(values) == c
        return np.asarray(inside & own & ~np.isin(values, self._spikes))

    def _numbers(self, places: Floats, c: int) -> Floats:
        """Values of steps, on the grid of the column."""
        step, scale = self._steps(c) or Steps(1.0, 0.0), self._roundings.scale
        values = step.at + places * step.every
        return np.round(values * scale) / scale if scale else np.asarray(values)

    def _steps(self, c: int) -> Steps | None:
        """Of a class; of the last one those of the grid, None without a grid."""
        if c < len(self._roundings.steps):
            return self._roundings.steps[c]
        return Steps(1 / self._roundings.scale, 0.0) if self._roundings.scale else None

    @cached_property
    def _roundings(self) -> Roundings:
        return self.column.roundings

    @cached_property
    def _grid(self) -> Grid:
        return Grid.of(self.column)

    @cached_property
    def _spikes(self) -> Floats:
        return np.array([one.low for one in self.column.intervals if one.spike])


_ROUNDS = 50
_FIRM = 2.0
"""Standard deviations of noise that the records of a column must pass to say anything."""


def class_shares(counts: Floats, stddev: float, without: Floats) -> Floats:
    """Shares of the classes in each zone.

    Args:
        counts: noisy ones, shape (zones, classes).
        stddev: of the noise in each.
        without: shares of the classes if there were no heaps, shape (classes,).

    Returns:
        Shape (zones, classes), rows summing to 1.
    """
    n_zones, n_classes = counts.shape
    sums, spread = counts.sum(axis=0), stddev * np.sqrt(n_zones)
    total = float(sums.sum())
    if total <= max(_FIRM * spread * np.sqrt(n_classes), 0.0):
        return np.tile(without, (n_zones, 1))
    beyond = sums - total * without
    kept = np.maximum(1 - np.divide(spread**2, beyond**2, where=beyond != 0, out=beyond * 0), 0)
    pooled = np.maximum(without + kept * beyond / total, 0.0)
    even = np.tile(pooled / pooled.sum(), n_zones)
    zones = np.repeat(np.arange(n_zones), n_classes)
    found = shrunk(counts.ravel(), zones, even, stddev).reshape(n_zones, n_classes)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class HeapedNumbers:
    """Moves the numbers of a column onto its heaps.

    Attributes:
        values: of the bins in which numbers were drawn.
        zones: of each ordinary state, shape (states,).
        shares: of the classes in each zone, shape (zones, classes).
        whole: records in each ordinary state of a whole table, where those that are moved are too
            few to go by; shape (states,).
    """

    values: HeapValues
    zones: Integers
    shares: Floats
    whole: Floats | None = field(default=None)

    @classmethod
    def of(cls, column: Numeric, counts: Floats, stddev: float) -> HeapedNumbers:
        """By noisy counts of the cells of a column.

        Args:
            column: in the bins in which numbers are drawn.
            counts: of its heap cells, shape (cells,).
            stddev: of the noise in each.
        """
        cells, (low, high) = HeapCells(column), column.bounds
        table = counts[:-1].reshape(cells.n_zones, cells.n_classes)
        shares = class_shares(table, stddev, column.roundings.among_all(low, high))
        middles = np.array([(one.low + one.high) / 2 for one in column.intervals])
        return cls(HeapValues(column), cells.zones(middles), shares)

    def settle(self, records: Floats) -> HeapedNumbers:
        """The same for some records of a whole table that has so many in each ordinary state."""
        return replace(self, whole=records)

    def move(
        self, states: NDArray[np.integer[Any]], numbers: Floats, rng: np.random.Generator
    ) -> Floats:
        """Numbers on their heaps.

        Args:
            states: of the records; what is no bin stays as it is. Shape (n,).
            numbers: within the bins, NaN for none, shape (n,).
            rng: randomness.
        """
        k = len(self.zones)
        binned = np.append(self.values.is_bin, False)[np.minimum(states, k)]
        rows = np.flatnonzero(binned & ~np.isnan(numbers))
        own, uniforms = np.asarray(states)[rows].astype(np.int64), rng.random((2, len(rows)))
        below = self.rates(np.bincount(own, minlength=k)).cumsum(axis=1)[:, :-1]
        classes = (uniforms[0][:, np.newaxis] >= below[own]).sum(axis=1)
        moved, ranks = numbers.copy(), self.values.ranks(own, numbers[rows], uniforms[1])
        for c in range(self.values.n_classes):
            mine = np.flatnonzero(classes == c)
            found = self.values.choose(own[mine], ranks[mine], c)
            moved[rows[mine]] = np.where(np.isnan(found), numbers[rows[mine]], found)
        return moved

    def middles(self, records: Floats) -> Floats:
        """Mean number of each ordinary state, with so many records in each; shape (states,)."""
        return np.asarray((self.rates(records) * self.values.means).sum(axis=1))

    def rates(self, records: NDArray[Any]) -> Floats:
        """Shares of the classes in each ordinary state, with so many records in each.

        Args:
            records: shape (states,).

        Returns:
            Shape (states, classes), rows summing to 1.
        """
        known = np.asarray(records if self.whole is None else self.whole, dtype=np.float64)
        possible = self.values.possible
        rates: Floats = possible / possible.sum(axis=1, keepdims=True)
        for zone in np.unique(self.zones):
            own = np.flatnonzero((self.zones == zone) & self.values.is_bin)
            rates[own] = _fit_rates(rates[own], np.maximum(known[own], 1e-6), self.shares[zone])
        return rates


def _fit_rates(rates: Floats, sizes: Floats, shares: Floats) -> Floats:
    """Rates within bins of so many records that have these shares in all of them, as far as can be.

    What must be 0 stays 0.
    """
    table, wanted = rates * sizes[:, np.newaxis], np.maximum(shares, 1e-9) * sizes.sum()
    for _ in range(_ROUNDS):
        sums = table.sum(axis=0)
        table = table * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
        table = table * (sizes / table.sum(axis=1))[:, np.newaxis]
    return np.asarray(table / sizes[:, np.newaxis])
