"""Study 1: a share of a binary column, released by every method at every budget.

A repetition is a number of ones among n records; a synthetic set is a number of ones too, since
that is all an analyst needs for a share. Everything goes through the kernels that releases use,
with leading axes for repetitions and sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import Randomness
from understudy.dp.truncated_laplace import TruncatedLaplace
from understudy.mechanisms.urn import draw_urn, prior_weight
from understudy.methods.base import CostClass
from understudy.papers import bayesian_models
from understudy_studies.framework.interval_tally import Intervals, Values, pooled, totals
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row

PIS = (0.15, 0.25, 0.5)
N_ROWS = (40, 100, 1000)
LOG_EPSILONS = tuple(range(-10, 11))
SETS = 10
PIECE = 2**19  # records of an urn that are in memory at once
SHARE = "π"

Ones = NDArray[np.int64] | Values
"""Numbers of ones in synthetic sets, shape (repetitions, m); of Laplace not whole."""

ORIGINAL, MS = "original", "MS"
THRESHOLD, TRUNCATION = "MODIPS, threshold", "MODIPS, truncation"
LAPLACE, MD, DP_PRIOR = "Laplace", "MD", "DP-prior"
PRIVATE = (THRESHOLD, TRUNCATION, LAPLACE, MD, DP_PRIOR)
"""The paper's methods."""
DRAWN, ROUNDED = "Laplace, drawn", "Laplace, rounded"
LAPLACE_SETS, DP_PRIOR_SETS = "Laplace, ten sets", "DP-prior, ten sets"
"""Other readings of the Laplace sanitizer, and of how many sets there are."""


@dataclass(frozen=True)
class Scenario:
    """A population.

    Attributes:
        pi: probability of a one.
        n_rows: number of records, public.
    """

    pi: float
    n_rows: int


@dataclass(frozen=True)
class Sample:
    """The confidential data of all repetitions, and what a method needs beside them.

    Attributes:
        ones: numbers of ones, shape (repetitions,).
        n_rows: number of records.
        epsilon: budget of the whole release.
        rng: for post-processing.
        randomness: for privacy noise.
    """

    ones: NDArray[np.int64]
    n_rows: int
    epsilon: float
    rng: np.random.Generator
    randomness: Randomness

    def noisy(self, sets: int) -> Values:
        """Numbers of ones with continuous Laplace noise of scale m/ε, shape (repetitions, m)."""
        ones = np.repeat(self.ones[:, None], sets, axis=1)
        return perturb(ones, ContinuousLaplace(sets / self.epsilon), self.randomness)


def scenarios() -> tuple[Scenario, ...]:
    """Nine populations."""
    return tuple(Scenario(pi, n_rows) for pi in PIS for n_rows in N_ROWS)


def cost_class(_scenario: Scenario) -> CostClass:
    """All are fast."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Sums over repetitions, for every method and budget."""
    n, streams = scenario.n_rows, Streams(seed)
    ones = streams.generator("sample").binomial(n, scenario.pi, size=repetitions)
    rows = [_row(scenario, ORIGINAL, None, ones[:, None])]
    exact = Sample(ones, n, math.inf, streams.generator(MS), streams.randomness(MS))
    rows.append(_row(scenario, MS, None, multiple_synthesis(exact)))
    for log_epsilon in LOG_EPSILONS:
        for method, synthesize in METHODS.items():
            purpose = (method, log_epsilon)
            sample = Sample(
                ones,
                n,
                math.exp(log_epsilon),
                streams.generator(*purpose),
                streams.randomness(*purpose),
            )
            rows.append(_row(scenario, method, log_epsilon, synthesize(sample)))
    return rows


def _row(scenario: Scenario, method: str, log_epsilon: float | None, successes: Ones) -> Row:
    found = share_intervals(successes, scenario.n_rows)
    return totals(SHARE, method, log_epsilon, found, scenario.pi)


def share_intervals(successes: Ones, n_rows: int) -> Intervals:
    """Intervals for the share of ones: q = p̂, u = p̂(1 - p̂)/n; usable if the sets vary.

    A repetition is unusable if its sets are all of zeros or all of ones, and alike. For the Laplace
    sanitizer that is a noisy count outside of (0, n).

    Args:
        successes: number of ones in each set, shape (repetitions, m).
        n_rows: records of a set.
    """
    p = successes / n_rows
    return pooled(p, p * (1 - p) / n_rows)


def multiple_synthesis(sample: Sample) -> NDArray[np.int64]:
    """Classical multiple synthesis: no noise, 10 sets."""
    ones = np.repeat(sample.ones[:, None], SETS, axis=1)
    return _modelled(ones.astype(np.float64), sample)


def modips_threshold(sample: Sample) -> NDArray[np.int64]:
    """MODIPS, 10 sets at ε/10; noisy counts are clipped to [0, n] by the model."""
    return _modelled(sample.noisy(SETS), sample)


def modips_truncation(sample: Sample) -> NDArray[np.int64]:
    """MODIPS as published: noise is drawn again until inside [0, n], its scale left alone.

    That is not post-processing, and costs more than ε; see `page`.
    """
    distribution = TruncatedLaplace(SETS / sample.epsilon, 0.0, float(sample.n_rows))
    ones = np.repeat(sample.ones[:, None], SETS, axis=1)
    return _modelled(distribution.sample(ones, sample.randomness), sample)


def laplace(sample: Sample) -> Values:
    """Laplace sanitizer: the clipped noisy number of ones is the released one; nothing is drawn."""
    return np.clip(sample.noisy(1), 0, sample.n_rows)


def laplace_drawn(sample: Sample) -> NDArray[np.int64]:
    """The same, and a set of n records is drawn with that share."""
    return bayesian_models.predict_binomial(
        laplace(sample) / sample.n_rows, sample.n_rows, sample.rng
    )


def laplace_rounded(sample: Sample) -> Values:
    """The same, and the released number of ones is a whole one."""
    return np.asarray(np.rint(laplace(sample)))


def laplace_sets(sample: Sample) -> NDArray[np.int64]:
    """Ten sets drawn with noisy shares of their own, at ε/10 each."""
    shares = np.clip(sample.noisy(SETS), 0, sample.n_rows) / sample.n_rows
    return bayesian_models.predict_binomial(shares, sample.n_rows, sample.rng)


def dirichlet(sample: Sample) -> NDArray[np.int64]:
    """Multinomial-Dirichlet synthesizer: 10 sets at ε/10, each from an urn of its own."""
    return from_urn(sample, SETS, reinforced=True)


def dp_prior(sample: Sample) -> NDArray[np.int64]:
    """DP-prior synthesizer: one set of independent records."""
    return from_urn(sample, 1, reinforced=False)


def dp_prior_sets(sample: Sample) -> NDArray[np.int64]:
    """Ten such sets at ε/10 each."""
    return from_urn(sample, SETS, reinforced=False)


METHODS: dict[str, Callable[[Sample], Ones]] = {
    THRESHOLD: modips_threshold,
    TRUNCATION: modips_truncation,
    LAPLACE: laplace,
    MD: dirichlet,
    DP_PRIOR: dp_prior,
    DRAWN: laplace_drawn,
    ROUNDED: laplace_rounded,
    LAPLACE_SETS: laplace_sets,
    DP_PRIOR_SETS: dp_prior_sets,
}


def _modelled(ones: Values, sample: Sample) -> NDArray[np.int64]:
    p = bayesian_models.binomial_posterior(ones, sample.n_rows, sample.rng)
    return bayesian_models.predict_binomial(p, sample.n_rows, sample.rng)


def from_urn(sample: Sample, sets: int, *, reinforced: bool) -> NDArray[np.int64]:
    """Sets whose records are drawn from urns, at ε/m each; numbers of ones."""
    n = sample.n_rows
    prior = prior_weight(n, Fraction(sample.epsilon) / sets, reinforced=reinforced)
    ones = np.repeat(sample.ones, sets)
    counts = np.stack([n - ones, ones], axis=1)
    found = np.empty(ones.size, dtype=np.int64)
    step = max(1, PIECE // n)
    for start in range(0, ones.size, step):
        piece = slice(start, start + step)
        places = draw_urn(
            counts[piece], 2, prior, n, reinforced=reinforced, randomness=sample.randomness
        )
        found[piece] = ones_drawn(places)
    return found.reshape(sample.ones.size, sets)


def ones_drawn(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ones among the records of an urn with two cells, both listed, in each repetition.

    Args:
        places: what `draw_urn` gives, shape (repetitions, n): the place of a real record's cell, or
            ~cell where the cell came from the prior.

    Example:
        >>> ones_drawn(np.array([[0, 1, 1, ~0, ~1]])).tolist()
        [3]
    """
    return np.asarray(np.where(places < 0, ~places, places).sum(axis=1))
