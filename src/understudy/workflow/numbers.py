"""Where numbers lie within their bins: as lines count, heaps gather and moments average them.

A method draws bins; which number of a bin a record gets costs nothing more, since what was released
tells it. Cells of a number line divide the bins. Their counts are shrunk towards even ones, so that
noise alone makes no shape (`understudy.models.bayesian_network`). Where a column has heaps, numbers
are moved onto them (`understudy.models.numeric`), whatever placed them. Where second moments
have the mean of a column, and the records' would be further from it than its standard error, cells
get weights exp(θu) besides, u their place in their bin from 0 to 1 and θ the same in all bins, so
that it comes to lie just within: as far as the bins allow. Where crowded bins were counted more
finely, their records lie in the parts that stand out (`understudy.models.number_line`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.features.grids import Numeric, coarse_states, is_finer
from understudy.inference.measured_moments import counted_mean, moments_of
from understudy.inference.noisy_tables import line_of
from understudy.methods.base import Method
from understudy.methods.binning import declared_bins, step_of
from understudy.models.bayesian_network import shrunk
from understudy.models.model import Sample, dealt, records_by_cell, upper_ends
from understudy.models.number_line import shares_of_parts
from understudy.models.numeric import POINT, HeapedNumbers
from understudy.release.decoding import drawn_numbers
from understudy.release.measurement import Measurement, kept_columns
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Schema
from understudy.schema.numeric import Interval

_STEEPEST = 50.0  # of θ


@dataclass(frozen=True)
class Places:
    """Places of the numbers of one column in their bins.

    Attributes:
        fine: the column in finer bins.
        bins: bin of each of their states, shape (states,).
        weights: of each state within its bin, same shape.
        mean: of the column as second moments have it, and its standard error; None if they do not.
        heaps: of the column in finer bins; None if it has none.
    """

    fine: Numeric
    bins: Integers
    weights: Floats
    mean: tuple[float, float] | None
    heaps: HeapedNumbers | None = None

    def numbers(
        self,
        states: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        _given: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """A number for each record.

        Args:
            states: bins of the records; others have no number. Shape (n,).
            rng: randomness.
            _given: numbers that the method drew; of such columns it draws none.

        Returns:
            Shape (n,), NaN where a record has no number.
        """
        n_bins = int(self.bins.max()) + 1
        bins = np.minimum(states, n_bins)
        sizes = np.bincount(bins, minlength=n_bins + 1)
        order = np.argsort(self.bins, kind="stable").astype(np.int32)
        firsts = np.searchsorted(self.bins[order], np.arange(n_bins + 1))
        ends = upper_ends(self._tilt_weights(sizes[:-1].astype(np.float64))[order], firsts)
        counts = records_by_cell(ends, firsts, sizes[:-1], rng.random(n_bins))
        none = np.full(sizes[-1], -1, dtype=np.int32)
        cells = dealt(bins, sizes, np.append(np.repeat(order, counts), none), rng)
        numbers, records = np.full(len(states), np.nan), np.flatnonzero(cells >= 0)
        numbers[records] = drawn_numbers(self.fine, cells[records], rng)
        if self.heaps is None:
            return numbers
        return self.heaps.move(np.where(cells < 0, self.fine.size, cells), numbers, rng)

    def settle(self, states: NDArray[np.integer[Any]]) -> Places:
        """The same for records of which only a whole table has the measured mean.

        Args:
            states: of the records of such a table, shape (n,).
        """
        n_bins = int(self.bins.max()) + 1
        sizes = np.bincount(states[states < n_bins], minlength=n_bins).astype(np.float64)
        weights = self._tilt_weights(sizes)
        heaps = self.heaps and self.heaps.settle(self._expect_records(weights, sizes))
        return replace(self, weights=weights, mean=None, heaps=heaps)

    def _expect_records(self, weights: Floats, sizes: Floats) -> Floats:
        """Expected records of each state, of so many in each bin."""
        total = np.bincount(self.bins, weights, len(sizes))
        return np.asarray(weights * (sizes / np.where(total > 0, total, 1.0))[self.bins])

    def _tilt_weights(self, sizes: Floats) -> Floats:
        """Weights with which the mean of so many records in each bin is near the measured one."""
        if self.mean is None or not sizes.any():
            return self.weights
        middles = np.array([(one.low + one.high) / 2 for one in self.fine.intervals])
        if self.heaps is not None:
            middles = self.heaps.middles(self._expect_records(self.weights, sizes))
        low, high = (np.full(len(sizes), end) for end in (np.inf, -np.inf))
        np.minimum.at(low, self.bins, [one.low for one in self.fine.intervals])
        np.maximum.at(high, self.bins, [one.high for one in self.fine.intervals])
        width = np.where(high > low, high - low, 1.0)[self.bins]
        place = (middles - low[self.bins]) / width

        def tilt(slope: float) -> Floats:
            return np.asarray(self.weights * np.exp(slope * (place - 0.5)))

        def mean(slope: float) -> float:
            own = tilt(slope)
            total = np.bincount(self.bins, own, len(sizes))
            inner = np.bincount(self.bins, own * middles, len(sizes))
            known = (total > 0) & (sizes > 0)
            return float(sizes[known] @ (inner[known] / total[known]) / sizes[known].sum())

        wanted, error = self.mean
        now = mean(0.0)
        target = float(np.clip(now, wanted - error, wanted + error))
        if target == now:
            return self.weights
        ends = mean(-_STEEPEST), mean(_STEEPEST)
        if not ends[0] < target < ends[1]:
            return tilt(-_STEEPEST if target <= ends[0] else _STEEPEST)
        from scipy.optimize import brentq  # takes long, and few need it

        return tilt(brentq(lambda s: mean(s) - target, -_STEEPEST, _STEEPEST))


@dataclass(frozen=True)
class HeapedPlaces:
    """Moves of the numbers of one column onto its heaps.

    Attributes:
        column: in the bins that are drawn.
        heaps: of the column.
    """

    column: Numeric
    heaps: HeapedNumbers

    def numbers(
        self,
        states: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        given: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """A number for each record: the given one, or one drawn evenly from its bin, on its heap.

        Args:
            states: of the records; what is no bin has no number. Shape (n,).
            rng: randomness.
            given: numbers that the method drew, NaN for none; None for none at all.
        """
        numbers = np.full(len(states), np.nan) if given is None else given.copy()
        rows = np.flatnonzero(np.isnan(numbers) & (states < self.column.n_ordinary))
        numbers[rows] = drawn_numbers(self.column, states[rows], rng)
        return self.heaps.move(states, numbers, rng)

    def settle(self, states: NDArray[np.integer[Any]]) -> HeapedPlaces:
        """The same for some records of a whole table.

        Args:
            states: of the records of such a table, shape (n,).
        """
        k = self.column.n_ordinary
        sizes = np.bincount(states[states < k], minlength=k).astype(np.float64)
        return replace(self, heaps=self.heaps.settle(sizes))


@dataclass(frozen=True)
class DividedPlaces:
    """Places of the numbers of one column whose crowded bins were counted more finely.

    Attributes:
        parts: of the bins that have peaks; records of others have no number there.
        divided: which ordinary states these are, and False for all others; shape (states + 1,).
        others: what places the numbers of other bins; None if the method draws them.
    """

    parts: Places
    divided: NDArray[np.bool_]
    others: Places | HeapedPlaces | None

    def numbers(
        self,
        states: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        given: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """A number for each record, NaN where it is left to be drawn.

        Args:
            states: bins of the records, shape (n,).
            rng: randomness.
            given: numbers that the method drew, NaN for none; None for none at all.
        """
        if self.others is not None:
            given = self.others.numbers(states, rng, given)
        numbers = np.full(len(states), np.nan) if given is None else given.copy()
        rows = np.flatnonzero(self.divided[np.minimum(states, len(self.divided) - 1)])
        numbers[rows] = self._at_points(self.parts.numbers(states[rows], rng))
        return numbers

    def _at_points(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same, but in parts that stand for one number: it is where these begin."""
        fine = self.parts.fine
        if step_of(fine):
            return numbers
        lows, highs = np.array([(one.low, one.high) for one in _bins_of(fine)]).T
        points = highs - lows <= 1.01 * POINT * (fine.bounds[1] - fine.bounds[0])
        part = np.maximum(np.searchsorted(lows, numbers, side="right") - 1, 0)
        return np.where(points[part], lows[part], numbers)

    def settle(self, states: NDArray[np.integer[Any]]) -> DividedPlaces:
        """The same for some records of a whole table.

        Args:
            states: of the records of such a table, shape (n,).
        """
        return replace(self, others=self.others and self.others.settle(states))


Placing = Places | HeapedPlaces | DividedPlaces


def placings_of(
    measurements: Sequence[Measurement],
    schema: Schema,
    rows: tuple[float, float],
    method: Method,
) -> dict[str, Placing]:
    """Return how numbers are placed, for the columns that have a number line or heaps.

    Args:
        measurements: of the release.
        schema: whose bins are drawn.
        rows: number of records, and the standard deviation of its noise.
        method: that drew the bins, and the numbers of columns that it models.
    """
    found: dict[str, Placing] = {}
    for name in schema.names:
        if not isinstance(schema.columns[name], NUMERIC):
            continue
        if (own := _find_places(measurements, schema, name, rows, method)) is not None:
            found[name] = own
        divided = _divide_bins(measurements, schema, name)
        if divided is not None and name not in kept_columns(measurements):
            found[name] = DividedPlaces(*divided, own)
    return found


def _find_places(
    measurements: Sequence[Measurement],
    schema: Schema,
    name: str,
    rows: tuple[float, float],
    method: Method,
) -> Places | HeapedPlaces | None:
    """Return how a number line or heaps place numbers; None if a column has neither."""
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    line, heaps = line_of(measurements, name), _heaps_of(measurements, name)
    fine = None if line is None else line.bin_schema(schema).columns[name]
    modelled = name in method.inference_facts(schema).modelled
    if line is None or modelled or not (isinstance(fine, NUMERIC) and is_finer(fine, column)):
        if heaps is None:
            return None
        return HeapedPlaces(column, HeapedNumbers.of(column, heaps.counts, heaps.stddev))
    bins = coarse_states(fine, column)[: fine.n_ordinary]
    even = _lengths(fine)
    weights = shrunk(np.asarray(line.counts[: fine.n_ordinary]), bins, even, line.stddev)
    mean = _mean(name, measurements, schema, rows)
    own = None if heaps is None else HeapedNumbers.of(fine, heaps.counts, heaps.stddev)
    return Places(fine, bins, weights, mean, own)


def _divide_bins(
    measurements: Sequence[Measurement], schema: Schema, name: str
) -> tuple[Places, NDArray[np.bool_]] | None:
    """Parts of crowded bins of a column, and which bins these are; None if it has none."""
    column = schema.columns[name]
    own = [
        m for m in measurements if m.kind is Kind.TABLE and m.columns == (name,) and not m.groups
    ]
    finer, whole = [m for m in own if m.bins], next((m for m in own if not m.bins), None)
    if not finer or whole is None:
        return None
    assert isinstance(column, NUMERIC)
    tables = [(m, m.bin_schema(schema).columns[name]) for m in finer]
    starts = {one.low for _, table in tables for one in _bins_of(table)}  # type: ignore[arg-type]
    starts |= {one.low for one in _bins_of(column)}
    declared = declared_bins(column, sorted(starts))
    fine = schema.part([name]).with_bins({name: declared}).columns[name]
    assert isinstance(fine, NUMERIC)
    if not is_finer(fine, column):
        return None
    bins = coarse_states(fine, column)[: fine.n_ordinary]
    lengths = _lengths(fine)
    weights, parents = lengths.copy(), bins
    totals, peaked = np.asarray(whole.counts, dtype=np.float64), np.zeros(column.size + 1, np.bool_)
    for measurement, table in tables:
        assert isinstance(table, NUMERIC)
        parts, counts = (
            coarse_states(fine, table)[: fine.n_ordinary],
            np.asarray(measurement.counts),
        )
        for parent in np.unique(parents):
            inside = np.flatnonzero(parents == parent)
            mine, places = np.unique(parts[inside], return_inverse=True)
            if len(mine) < 2:
                continue
            widths = np.bincount(places, lengths[inside]).astype(np.float64)
            shares = shares_of_parts(
                counts[mine],
                widths,
                measurement.stddev,
                float(totals[parent]),
                normal=measurement.family.is_gaussian,
            )
            if shares is not None:
                peaked[bins[inside[0]]] = True
                own = weights[inside].sum() * shares / widths
                weights[inside] = own[places] * lengths[inside]
        cells = np.stack([parents, parts])
        _, first, parents = np.unique(cells, axis=1, return_index=True, return_inverse=True)
        parents = parents.reshape(-1)
        totals = counts[parts[first]].astype(np.float64)
    return (Places(fine, bins, weights, None), peaked) if peaked.any() else None


def _bins_of(column: Numeric) -> list[Interval]:
    return [one for one in column.intervals if not one.spike]


def _heaps_of(measurements: Sequence[Measurement], name: str) -> Measurement | None:
    """Counts of a column by its heaps, unless its numbers are kept as they stand."""
    if name in kept_columns(measurements):
        return None
    own = (one for one in measurements if one.kind is Kind.HEAPS and one.columns == (name,))
    return next(own, None)


def place_numbers(
    places: Mapping[str, Placing], schema: Schema, drawn: Sample, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Numbers of drawn records: those that are placed, and the others that the method drew.

    Args:
        places: how numbers are placed.
        schema: what the states mean.
        drawn: the records.
        rng: randomness.

    Returns:
        By column, each of shape (n,); NaN where a record has none.
    """
    at = {name: k for k, name in enumerate(schema.names)}
    mine = {
        name: own.numbers(drawn.states[at[name]], rng, drawn.values.get(name))
        for name, own in places.items()
    }
    return {**drawn.values, **mine}


def _lengths(fine: Numeric) -> Floats:
    """Compute each state's length on the line: even weights within a bin; shape (ordinary,)."""
    spans = [max(one.high - one.low, 0.0) or 1.0 for one in fine.intervals]
    return np.array(spans, dtype=np.float64)


def _mean(
    name: str, measurements: Sequence[Measurement], schema: Schema, rows: tuple[float, float]
) -> tuple[float, float] | None:
    """The mean of a column by second moments, and the standard deviation of its noise."""
    matrix = moments_of(measurements, schema, (name,), rows)
    if matrix is None:
        return None
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    if matrix.scores.limits[name] != column.bounds:  # moments are of numbers that are cut off
        return counted_mean(measurements, schema, name)
    number, present = matrix.place[name, None], matrix.presence(schema, name)
    size = float(present @ matrix.sums[0])
    if size < 1:
        return None
    share = float(matrix.sums[0, number]) / size
    derivative = np.zeros((1, *matrix.sums.shape))
    derivative[0, 0] = -share * present
    derivative[0, 0, number] += 1
    error = float(np.sqrt(matrix.noise_covariance(derivative)[0, 0])) / size
    low, high = column.bounds
    return (low + high) / 2 + share * (high - low) / 2, error * (high - low) / 2
