"""Numbers within bins, drawn so that means, variances and quantiles come out right.

Uniform numbers within a bin put its mean at its middle. Where the density falls, as in the tail of
incomes, records lie below the middle, so that uniform numbers bias means and widen tails. Here the
density within a bin follows those of the bins beside it: the cumulative distribution is the
monotone cubic through the edges' values (Fritsch & Carlson 1980; slopes as in `PchipInterpolator`),
which keeps the mass of each bin exactly and bends only as much as its neighbours say.

* Whole numbers, days and declared decimals are cells of that line: each value receives the mass of
  its cell. Spikes are cut out of the line, for whether a record sits on one is its state's affair.
* The records of a bin take evenly spaced places in its distribution, in random order: their mean
  has no Monte Carlo error but for the last part of a record.

Everything here is post-processing: of released masses, states and public bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers, compiled
from understudy.schema import Calendar, Continuous, Integer
from understudy.schema.cell_values import EXACT_INTEGER

_CLOSE = 2.0**-48
_STEPS = 64


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
        [nan, 8.0, 15.0, nan]
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
        line = self._line
        bin_of = np.full(max(self.column.size, int(states.max(initial=0))) + 1, -1)
        bin_of[line.states] = np.arange(len(line.states))
        bins = bin_of[states]
        chosen = np.flatnonzero(bins >= 0)
        bins = bins[chosen]
        places = self._bends.inverse(bins, _even_places(bins, len(line.states), rng))
        numbers = np.full(len(states), np.nan)
        numbers[chosen] = line.numbers(bins, places)
        return numbers

    @cached_property
    def _line(self) -> _Line:
        return _line_of(self.column)

    @cached_property
    def _bends(self) -> _Bends:
        return _bends(self._line.edges, np.maximum(self.masses[self._line.states], 0.0))


def state_widths(column: Integer | Continuous | Calendar) -> Floats:
    """What records would share alike over the states, if nothing but the bins were known.

    Args:
        column: in the bins that the states are of.

    Returns:
        Shape (`column.size`,): of a bin the values that are no spikes, or its length where there is
        no grid; of spikes and codes the median of these. For `denoised` and `shapes`.

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


def bins_on_line(column: Integer | Continuous | Calendar) -> tuple[Integers, Floats]:
    """The states that are bins of more than a spike, and their edges end to end.

    Args:
        column: in the bins that the states are of.

    Returns:
        States, ascending, shape (bins,), and edges on the line, shape (bins + 1,): numbers, or
        places among the values of the grid that are no spikes.
    """
    line = _line_of(column)
    return line.states, line.edges


def _even_places(bins: Integers, n_bins: int, rng: np.random.Generator) -> Floats:
    """Places in (0, 1), evenly spaced within each bin, in random order; shape (n,)."""
    shuffled = rng.permutation(len(bins))
    # Of short numbers the stable sort counts, and takes a tenth of the time.
    short = bins.astype(np.min_scalar_type(n_bins))
    order = shuffled[np.argsort(short[shuffled], kind="stable")]
    counts = np.bincount(bins, minlength=n_bins)
    ranks = np.arange(len(bins)) - np.repeat(np.cumsum(counts) - counts, counts)
    phases = rng.random(n_bins)
    places = np.empty(len(bins))
    places[order] = (ranks + np.repeat(phases, counts)) / np.repeat(counts, counts)
    return places


@dataclass(frozen=True, eq=False)
class _Bends:
    """Distribution within each bin, on [0, 1]: G(t) = a·t + (3 − 2a − b)·t² + (a + b − 2)·t³.

    Attributes:
        left: a, density at the lower edge over that of the bin, shape (bins,).
        right: b, at the upper edge.
    """

    left: Floats
    right: Floats

    def inverse(self, bins: Integers, shares: Floats) -> Floats:
        """The t with G(t) = share, up to 2⁻⁴⁸; shape (n,)."""
        return np.asarray(_inverses(self.left, self.right, bins, shares))


@compiled
def _inverses(left: Floats, right: Floats, bins: Integers, shares: Floats) -> Floats:
    """Newton's steps, halved where they leave what is known to hold the place."""
    places = np.empty(len(bins))
    for i in range(len(bins)):
        a, b, share = left[bins[i]], right[bins[i]], shares[i]
        square, cube = 3 - 2 * a - b, a + b - 2
        low, high, place = 0.0, 1.0, share
        for _ in range(_STEPS):
            excess = place * (a + place * (square + place * cube)) - share
            if excess <= 0:
                low = place
            else:
                high = place
            slope = a + place * (2 * square + 3 * place * cube)
            following = place - excess / slope if slope > 0 else low
            if not low < following < high:
                following = (low + high) / 2
            if excess == 0 or abs(following - place) < _CLOSE:
                break
            place = following
        places[i] = place
    return places


def _bends(edges: Floats, masses: Floats) -> _Bends:
    """Slopes of the monotone cubic at the edges, over the densities; even ones in empty bins."""
    whole = masses.sum()
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

    def numbers(self, bins: Integers, places: Floats) -> Floats:
        """The numbers at places in (0, 1) of their bins, shape (n,)."""
        low, high = self.edges[bins], self.edges[bins + 1]
        along = low + places * (high - low)
        if self.grid is None:
            inside = np.clip(along, low, np.nextafter(high, low))
            on = np.isin(inside, self.spikes)
            return np.where(on, np.nextafter(inside, high), inside)
        free = np.minimum(np.floor(along), high - 1)
        if len(self.spikes):
            among = self.spikes - np.arange(len(self.spikes))
            free += np.searchsorted(among, free, side="right")
        return np.asarray(free / self.grid)


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
