"""Histograms of many repetitions: bins by a rule, noisy counts, and records uniform in their bins.

The number of bins differs between repetitions, as Scott's rule takes the standard deviation of the
confidential data (the paper's rule; a release with public bins does not), and that of Freedman &
Diaconis their quartiles. Repetitions with the same number go together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from understudy._arrays import Integers
from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import Randomness
from understudy.mechanisms.urn import draw_urn
from understudy.papers.histograms import bins_by_width, scott_bins, sturges_bins
from understudy_studies.framework.interval_tally import Values
from understudy_studies.measures.grouped_histograms import bin_counts, bin_shares, draw_values

PIECE = 2**16  # records that are in memory at once

Rule = Literal["sturges", "fd"]

Place = tuple[Integers, Integers]
"""Repetition and set of each of some synthetic sets."""


@dataclass(frozen=True)
class Binned:
    """Repetitions with the same number of bins.

    Attributes:
        n_bins: K.
        places: which repetitions, shape (some,).
        counts: records in each bin, shape (some, K).
    """

    n_bins: int
    places: Integers
    counts: Integers


@dataclass(frozen=True)
class Drawing:
    """What is drawn, and with what.

    Attributes:
        n_rows: records of a set.
        bounds: public bounds.
        rng: for post-processing.
        randomness: for privacy noise.
    """

    n_rows: int
    bounds: tuple[float, float]
    rng: np.random.Generator
    randomness: Randomness

    def pieces(self, sets: int) -> Iterator[slice]:
        """So many sets at once that their records fit into the processor's cache."""
        step = max(1, PIECE // self.n_rows)
        yield from (slice(start, start + step) for start in range(0, sets, step))


def binned(data: Values, bounds: tuple[float, float], variance: Values) -> Iterator[Binned]:
    """Histograms of all repetitions in bins by Scott's rule, by number of bins.

    Args:
        data: shape (repetitions, n).
        bounds: public bounds.
        variance: of the data, shape (repetitions,).
    """
    low, high = bounds
    yield from counted(data, bounds, scott_bins(high - low, np.sqrt(variance), data.shape[1]))


def by_rule(data: Values, bounds: tuple[float, float], rule: Rule) -> Iterator[Binned]:
    """The same in bins by Sturges' rule, or by that of Freedman & Diaconis."""
    n = data.shape[1]
    if rule == "sturges":
        yield from counted(data, bounds, np.full(len(data), sturges_bins(n)))
        return
    low, high = np.quantile(data, [0.25, 0.75], axis=1)
    yield from counted(data, bounds, bins_by_width("fd", bounds[1] - bounds[0], high - low, n))


def counted(data: Values, bounds: tuple[float, float], numbers: Integers) -> Iterator[Binned]:
    """Histograms of all repetitions, each in a number of bins of its own, shape (repetitions,)."""
    for n_bins in np.unique(numbers):
        places = np.flatnonzero(numbers == n_bins)
        yield Binned(int(n_bins), places, bin_counts(data[places], edges(int(n_bins), bounds)))


def edges(n_bins: int, bounds: tuple[float, float]) -> Values:
    """Edges of equal bins, shape (K + 1,)."""
    return np.linspace(*bounds, n_bins + 1)


def perturbed(
    one: Binned, how: Drawing, *, sets: int, scale: float
) -> Iterator[tuple[Place, Values]]:
    """Sets from the perturbed histogram, in pieces, each set with noise of its own.

    Args:
        one: histograms of repetitions.
        how: what is drawn, and with what.
        sets: m, for each repetition.
        scale: of the continuous Laplace noise in each count.

    Yields:
        Which sets, and their records, shape (some, n).
    """
    counts = np.repeat(one.counts[:, None], sets, axis=1)
    noisy = perturb(counts, ContinuousLaplace(scale), how.randomness)
    shares = bin_shares(noisy).reshape(-1, one.n_bins)
    repetition, number = np.divmod(np.arange(len(shares)), sets)
    for here in how.pieces(len(shares)):
        records = draw_values(shares[here], edges(one.n_bins, how.bounds), how.n_rows, how.rng)
        yield (one.places[repetition[here]], number[here]), records


def smoothed(one: Binned, how: Drawing, prior: Fraction) -> Iterator[tuple[Place, Values]]:
    """The only set of the smoothed histogram: from an urn of the bins, whose prior is uniform.

    Args:
        one: histograms of repetitions.
        how: what is drawn, and with what.
        prior: weight of each bin, in records.

    Yields:
        Which sets, and their records, shape (some, n).
    """
    for here in how.pieces(len(one.places)):
        drawn = draw_urn(
            one.counts[here],
            one.n_bins,
            prior,
            how.n_rows,
            reinforced=False,
            randomness=how.randomness,
        )
        states = np.where(drawn < 0, ~drawn, drawn)
        places = one.places[here]
        records = spread(states, one.n_bins, how.bounds, how.rng)
        yield (places, np.zeros_like(places)), records


def spread(
    states: Integers, n_bins: int, bounds: tuple[float, float], rng: np.random.Generator
) -> Values:
    """Records uniform within their bins, of the shape of the states."""
    low, high = bounds
    records = rng.random(states.shape)
    records += states
    records *= (high - low) / n_bins
    records += low
    return records
