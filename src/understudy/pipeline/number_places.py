"""Where numbers lie within their bins: as number lines count them, and second moments average them.

A method draws bins; which number of a bin a record gets costs nothing more, since what was released
tells it. Cells of a number line divide the bins. Their counts c in a bin with total T are shrunk
towards even ones e by the factor 1 − (k − 1)σ²/Σ(c − e)² of James and Stein, and cut at 0, so that
noise alone makes no shape. Where second moments have the mean of a column, and the records' would
be further from it than its standard error, cells get weights exp(θu) besides, u their place in
their bin from 0 to 1 and θ the same in all bins, so that it comes to lie just within: as far as the
bins allow.

Source: James & Stein (1961), Fourth Berkeley Symposium 1, 361-379, for the factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from understudy.arrays import Floats, Integers
from understudy.families.method import Method
from understudy.features.line_cells import Numeric, coarse_states, is_finer
from understudy.inference.moments.measured_moments import moments_of
from understudy.inference.noise_aware.full_tables import line_of
from understudy.models import Sample
from understudy.models.even_draws import dealt, records_by_cell, upper_ends
from understudy.release import Measurement
from understudy.release.decoding import drawn_numbers
from understudy.schema import NUMERIC, Schema

_STEEPEST = 50.0  # of θ


@dataclass(frozen=True)
class Places:
    """How the numbers of one column are placed.

    Attributes:
        fine: the column in finer bins.
        bins: bin of each of their states, shape (states,).
        weights: of each state within its bin, same shape.
        mean: of the column as second moments have it, and its standard error; None if they do not.
    """

    fine: Numeric
    bins: Integers
    weights: Floats
    mean: tuple[float, float] | None

    def numbers(
        self, states: NDArray[np.integer[Any]], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """A number for each record.

        Args:
            states: bins of the records; others have no number. Shape (n,).
            rng: randomness.

        Returns:
            Shape (n,), NaN where a record has no number.
        """
        n_bins = int(self.bins.max()) + 1
        bins = np.minimum(states, n_bins)
        sizes = np.bincount(bins, minlength=n_bins + 1)
        order = np.argsort(self.bins, kind="stable").astype(np.int32)
        firsts = np.searchsorted(self.bins[order], np.arange(n_bins + 1))
        ends = upper_ends(self._tilted(sizes[:-1].astype(np.float64))[order], firsts)
        counts = records_by_cell(ends, firsts, sizes[:-1], rng.random(n_bins))
        none = np.full(sizes[-1], -1, dtype=np.int32)
        cells = dealt(bins, sizes, np.append(np.repeat(order, counts), none), rng)
        numbers, records = np.full(len(states), np.nan), np.flatnonzero(cells >= 0)
        numbers[records] = drawn_numbers(self.fine, cells[records], rng)
        return numbers

    def settled(self, states: NDArray[np.integer[Any]]) -> Places:
        """The same for records of which only a whole table has the measured mean.

        Args:
            states: of the records of such a table, shape (n,).
        """
        n_bins = int(self.bins.max()) + 1
        sizes = np.bincount(states[states < n_bins], minlength=n_bins).astype(np.float64)
        return replace(self, weights=self._tilted(sizes), mean=None)

    def _tilted(self, sizes: Floats) -> Floats:
        """Weights with which the mean of so many records in each bin is near the measured one."""
        if self.mean is None or not sizes.any():
            return self.weights
        middles = np.array([(one.low + one.high) / 2 for one in self.fine.intervals])
        low, high = (np.full(len(sizes), end) for end in (np.inf, -np.inf))
        np.minimum.at(low, self.bins, [one.low for one in self.fine.intervals])
        np.maximum.at(high, self.bins, [one.high for one in self.fine.intervals])
        width = np.where(high > low, high - low, 1.0)[self.bins]
        place = (middles - low[self.bins]) / width

        def tilted(slope: float) -> Floats:
            return np.asarray(self.weights * np.exp(slope * (place - 0.5)))

        def mean(slope: float) -> float:
            own = tilted(slope)
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
            return tilted(-_STEEPEST if target <= ends[0] else _STEEPEST)
        return tilted(optimize.brentq(lambda s: mean(s) - target, -_STEEPEST, _STEEPEST))


def places_of(
    measurements: Sequence[Measurement],
    schema: Schema,
    rows: tuple[float, float],
    method: Method,
) -> dict[str, Places]:
    """How numbers are placed, for the columns that have a number line.

    Args:
        measurements: of the release.
        schema: whose bins are drawn.
        rows: number of records, and the standard deviation of its noise.
        method: that drew the bins, and the numbers of columns that it models.
    """
    found = {}
    for name, column in schema.columns.items():
        line = line_of(measurements, name)
        if line is None or name in method.modelled(schema) or not isinstance(column, NUMERIC):
            continue
        fine = line.binned(schema).columns[name]
        if not (isinstance(fine, NUMERIC) and is_finer(fine, column)):
            continue
        bins = coarse_states(fine, column)[: fine.n_ordinary]
        even = np.array([_n_values(fine, k) for k in range(fine.n_ordinary)], dtype=np.float64)
        weights = _shrunk(np.asarray(line.counts[: fine.n_ordinary]), bins, even, line.stddev)
        found[name] = Places(fine, bins, weights, _mean(name, measurements, schema, rows))
    return found


def placed(
    places: Mapping[str, Places], schema: Schema, drawn: Sample, rng: np.random.Generator
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
    mine = {name: own.numbers(drawn.states[at[name]], rng) for name, own in places.items()}
    return {**drawn.values, **mine}


def _n_values(fine: Numeric, state: int) -> float:
    """How much of the line a state covers: even weights within a bin."""
    interval = fine.intervals[state]
    return max(interval.high - interval.low, 0.0) or 1.0


def _shrunk(counts: Floats, bins: Integers, even: Floats, stddev: float) -> Floats:
    """Noisy counts within each bin, drawn towards even ones as far as noise made them."""
    weights = even.copy()
    for state in np.unique(bins):
        own = np.flatnonzero(bins == state)
        total = counts[own].sum()
        flat = total * even[own] / even[own].sum()
        spread = float(((counts[own] - flat) ** 2).sum())
        kept = max(0.0, 1 - (len(own) - 1) * stddev**2 / spread) if spread > 0 else 0.0
        shaped = np.maximum(flat + kept * (counts[own] - flat), 0.0)
        if shaped.any():
            weights[own] = shaped
    return weights


def _mean(
    name: str, measurements: Sequence[Measurement], schema: Schema, rows: tuple[float, float]
) -> tuple[float, float] | None:
    """The mean of a column by second moments, and the standard deviation of its noise."""
    matrix = moments_of(measurements, schema, (name,), rows)
    if matrix is None:
        return None
    number, present = matrix.place[name, None], matrix.presence(schema, name)
    size = float(present @ matrix.sums[0])
    if size < 1:
        return None
    share = float(matrix.sums[0, number]) / size
    derivative = np.zeros((1, *matrix.sums.shape))
    derivative[0, 0] = -share * present
    derivative[0, 0, number] += 1
    error = float(np.sqrt(matrix.noise_covariance(derivative)[0, 0])) / size
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    return (low + high) / 2 + share * (high - low) / 2, error * (high - low) / 2
