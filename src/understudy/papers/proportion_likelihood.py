"""Noise-aware inference about a proportion: the mechanism as part of the likelihood.

Of n confidential records, n₁ have a property; the release says something random about n₁. Then

    p(released | π) = Σ p(released | n₁)·Bin(n₁; n, π),   n₁ = 0 … n,

counts sampling and privacy noise together, removes the shrinkage of prior-weighted mechanisms,
and costs no privacy. With a flat prior on π no grid of π is needed: ∫Bin(n₁; n, π)dπ = 1/(n + 1)
is the same for all n₁, so the posterior is *exactly* the mixture

    Σ w(n₁)·Beta(n₁ + 1, n - n₁ + 1),   w(n₁) ∝ p(released | n₁).

What is released, and the function for it:

* records of the beta-binomial or multinomial-Dirichlet sanitizer: `from_beta_binomial`;
* records of the DP-prior sanitizer, or smoothed histogram: `from_dp_prior`;
* a noisy count, with n public: `from_noisy_count`; with a noisy n: `from_noisy_counts`.

Intervals are credible intervals: they hold π with exactly the stated probability on average over
the flat prior, and about so at each π away from 0 and 1.

Source:
    Charest (2010), "How Can We Analyze Differentially-Private Synthetic Datasets?", J. Privacy and
    Confidentiality 2(2), 21-33, for the beta-binomial sanitizer, by Markov chain; generalised to
    the other mechanisms and to closed form here.

Example:
    >>> from fractions import Fraction
    >>> from understudy.dp.distributions import DiscreteLaplace
    >>> posterior = from_noisy_count(30, DiscreteLaplace(Fraction(2)), n_rows=100)
    >>> round(posterior.mean, 4), round(posterior.sd, 4)
    (0.3039, 0.0529)

**The posterior of a proportion, exactly: a mixture of Beta distributions, and how one is built.**

With a flat prior on π and n₁ ~ Bin(n, π), the weight of Beta(n₁ + 1, n - n₁ + 1) is what the
release says about n₁; the functions below have those weights
for each mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from understudy._arrays import Floats
from understudy.dp.calibration import round_to_lattice
from understudy.dp.distributions import LatticeLaplace
from understudy.errors import InferenceError

# Probability that may be dropped, in all, with the components of a mixture that hardly count.
_DROPPED: Final = 1e-12
# Numbers n₁, and n, that a mixture over both takes one by one; see `joint_mixture`.
_LARGEST_SIDE: Final = 600


@dataclass(frozen=True)
class ProportionPosterior:
    """Posterior of a proportion π: a mixture of Beta(n₁ + 1, n - n₁ + 1).

    Attributes:
        successes: n₁ of each component, shape (c,).
        rows: n of each component, shape (c,).
        weights: probability of each component, shape (c,); they add up to 1.
    """

    successes: Floats
    rows: Floats
    weights: Floats

    @property
    def mean(self) -> float:
        """Posterior mean of π."""
        return float(self.weights @ self._means)

    @property
    def sd(self) -> float:
        """Posterior standard deviation of π."""
        means = self._means
        spread = (means - self.mean) ** 2 + means * (1 - means) / (self.rows + 3)
        return math.sqrt(float(self.weights @ spread))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Equal-tailed credible interval.

        Args:
            level: probability in (0, 1).

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        if not 0 < level < 1:
            raise InferenceError(f"Expected a credible level between 0 and 1, got {level!r}.")
        return self._quantile((1 - level) / 2), self._quantile((1 + level) / 2)

    def cdf(self, proportion: float) -> float:
        """Posterior probability that π is at most ``proportion``."""
        successes, failures = self.successes + 1, self.rows - self.successes + 1
        return float(self.weights @ special.betainc(successes, failures, proportion))

    def density(self, proportions: ArrayLike) -> Floats:
        """Posterior density, shape (g,) → (g,).

        Args:
            proportions: values of π in [0, 1].
        """
        p = np.asarray(proportions, dtype=np.float64)[:, None]
        failures = self.rows - self.successes
        powers = special.xlogy(self.successes, p) + special.xlog1py(failures, -p)
        logs = powers - special.betaln(self.successes + 1, failures + 1)
        return np.asarray(np.exp(logs) @ self.weights)

    @property
    def _means(self) -> Floats:
        return (self.successes + 1) / (self.rows + 2)

    def _quantile(self, probability: float) -> float:
        return float(optimize.brentq(lambda p: self.cdf(p) - probability, 0.0, 1.0, xtol=1e-12))


def mixture(successes: Floats, rows: Floats, log_weights: Floats) -> ProportionPosterior:
    """Normalise weights, and drop components that hardly count.

    Of c components, those with at most the share 1e-12/c of the total are dropped. They are at most
    c, so that at most 1e-12 of the probability goes, whatever the shape of the weights, and every
    posterior probability changes by at most 2e-12.

    Args:
        successes: n₁ of each component, shape (c,).
        rows: n of each component, shape (c,).
        log_weights: log p(released | n, n₁) + log p(n, n₁), up to a constant, shape (c,).

    Raises:
        InferenceError: no component has a positive weight.
    """
    kept, weights = _counting(log_weights)
    return ProportionPosterior(successes[kept], rows[kept], weights[kept] / weights[kept].sum())


def joint_mixture(n1: Floats, log_n1: Floats, n: Floats, log_n: Floats) -> ProportionPosterior:
    """Mixture over n₁ and n, n₁ ≤ n, with weights exp(log_n1 + log_n).

    First n₁ and n are cut to where their marginal probabilities count, as in `mixture`. Up to 600
    numbers of either are then taken one by one, and the mixture is exact. More of them are put into
    runs (`_starts`), standing at their middles: a run of n keeps its exact marginal probability,
    and one of n₁ that given n.

    Args:
        n1: consecutive whole numbers, shape (a,).
        log_n1: log p(released | n₁), shape (a,).
        n: consecutive whole numbers, shape (b,).
        log_n: log p(released | n) + log p(n) - log(n + 1), shape (b,).

    Raises:
        InferenceError: no pair has a positive weight.
    """
    of_n1, of_n = _log_marginals(n1, log_n1, n, log_n)
    kept1, kept = _hull(of_n1), _hull(of_n)
    first1, last1, _ = _runs(n1[kept1], of_n1[kept1])
    first, last, log_run = _runs(n[kept], of_n[kept])
    rows = np.floor((first + last) / 2)
    # P(first1 ≤ n₁ ≤ ends | n): a run that n cuts off counts as far as n.
    ends = np.minimum(last1[:, None], rows)
    upto = np.append(0.0, np.cumsum(np.exp(log_n1[kept1] - log_n1[kept1].max())))
    places = np.maximum(ends - first1[0] + 1, 0).astype(np.int64)
    inside = upto[places] - upto[(first1 - first1[0]).astype(np.int64)][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(inside, 0.0)) - np.log(upto[places[-1]]) + log_run
    possible = np.isfinite(logs)
    middles1, rows = np.broadcast_arrays((first1[:, None] + ends) / 2, rows)
    return mixture(middles1[possible], rows[possible], logs[possible])


def _counting(log_weights: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Find the weights that count, all of them relative to the largest."""
    largest = log_weights.max() if log_weights.size else -np.inf
    if not np.isfinite(largest):
        raise InferenceError(
            "No confidential count can have given what was released under this distribution; check "
            "it, its lattice, and that the count was not rounded or clipped."
        )
    weights = np.exp(log_weights - largest)
    return weights > _DROPPED / weights.size * weights.sum(), weights


def _hull(log_weights: Floats) -> slice:
    """From the first to the last weight that counts."""
    kept = np.flatnonzero(_counting(log_weights)[0])
    return slice(int(kept[0]), int(kept[-1]) + 1)


def _log_marginals(n1: Floats, log_n1: Floats, n: Floats, log_n: Floats) -> tuple[Floats, Floats]:
    """Marginals of exp(log_n1 + log_n) over n₁ ≤ n: of n₁, shape (a,), and of n, shape (b,).

    Running sums, taken of logarithms so that numbers that contradict each other do not underflow.
    """
    upto = np.append(-np.inf, np.logaddexp.accumulate(log_n1))
    beyond = np.append(np.logaddexp.accumulate(log_n[::-1])[::-1], -np.inf)
    of_n1 = log_n1 + beyond[np.searchsorted(n, n1, side="left")]
    return of_n1, log_n + upto[np.searchsorted(n1, n, side="right")]


def _runs(values: Floats, log_weights: Floats) -> tuple[Floats, Floats, Floats]:
    """First and last number, and log weight, of each run."""
    starts = _starts(values)
    places = (starts - values[0]).astype(np.int64)
    weights = np.add.reduceat(np.exp(log_weights - log_weights.max()), places)
    with np.errstate(divide="ignore"):
        return starts, np.append(starts[1:] - 1, values[-1]), np.log(weights)


def _starts(values: Floats) -> Floats:
    """First numbers of runs: single numbers if they are few enough, else runs of odd width.

    No run is much wider than a 300th of the range, nor than a 50th of its first number, since it is
    n₁/n that has to be known well. Odd, so that the middle is a whole number.
    """
    if values.size <= _LARGEST_SIDE:
        return values
    widest = 2 * (values.size // _LARGEST_SIDE) + 1
    starts = [float(values[0])]
    while starts[-1] + (width := min(widest, 2 * int(starts[-1] / 100) + 1)) <= values[-1]:
        starts.append(starts[-1] + width)
    return np.array(starts)


# Standard deviations of noise beyond which a count is not looked for. No noise of ours has heavier
# tails than Laplace's, for which this leaves exp(-40·√2) < 1e-24.
_REACH: Final = 40.0
# Counts that are taken, and within how many standard deviations of drawing.
_MOST_COUNTS: Final = 2_000
_WITHIN: Final = 12.0


class NoiseLikelihood(Protocol):
    """Integer noise, symmetric about 0; so is every distribution in `dp.randomness`."""

    @property
    def stddev(self) -> float:
        """Standard deviation."""

    def log_pmf(self, x: ArrayLike) -> Floats:
        """Return log P(X = x), elementwise."""

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X ≤ x), elementwise."""


def from_beta_binomial(
    synthetic: ArrayLike,
    *,
    n_synthetic: int,
    n_rows: int,
    alpha: float,
    levels: int = 2,
    cells: int = 1,
    counts: Floats | None = None,
) -> ProportionPosterior:
    """Posterior from records of the beta-binomial or multinomial-Dirichlet sanitizer.

    y ~ BetaBin(ñ, n₁ + cells·α, n - n₁ + (levels - cells)·α): the sum of some coordinates of a
    Dirichlet vector is Beta.

    Args:
        synthetic: y, how many synthetic records have the property: a count, or one for each of m
            sets, each made with its own draw and its own α.
        n_synthetic: ñ, records in each set.
        n_rows: n, the public number of confidential records.
        alpha: prior weight of each cell in each set, α > 0.
        levels: cells of the table, K ≥ 2.
        cells: how many of them have the property.
        counts: n₁ that are taken, at equal distances; all from 0 to n if None (`plausible_counts`).

    Raises:
        InferenceError: an argument is out of range.

    Source: Charest (2010), section 3; Abowd & Vilhuber (2008) for K > 2.
    """
    y = _read_synthetic(synthetic, n_synthetic)
    inside, outside = _read_prior(alpha, levels, cells)
    n1 = _all_counts(n_rows) if counts is None else counts
    a, b = n1 + inside, n_rows - n1 + outside
    logs = special.betaln(y + a, n_synthetic - y + b) - special.betaln(a, b)
    return mixture(n1, np.full_like(n1, n_rows), logs.sum(axis=0))


def from_dp_prior(
    synthetic: ArrayLike,
    *,
    n_synthetic: int,
    n_rows: int,
    prior: float,
    levels: int = 2,
    cells: int = 1,
    counts: Floats | None = None,
) -> ProportionPosterior:
    """Posterior from records of the DP-prior sanitizer, or of a smoothed histogram.

    y ~ Bin(ñ, (n₁ + cells·a)/(n + levels·a)).

    Args:
        synthetic: y, how many synthetic records have the property: a count, or one for each of m
            sets.
        n_synthetic: ñ, records in each set.
        n_rows: n, the public number of confidential records.
        prior: weight a > 0 of each cell.
        levels: cells of the table, K ≥ 2.
        cells: how many of them have the property.
        counts: n₁ that are taken, at equal distances; all from 0 to n if None (`plausible_counts`).

    Raises:
        InferenceError: an argument is out of range.

    Source: McClure & Reiter (2012) for the mechanism.
    """
    y = _read_synthetic(synthetic, n_synthetic)
    inside, outside = _read_prior(prior, levels, cells)
    n1 = _all_counts(n_rows) if counts is None else counts
    total = n_rows + inside + outside
    hit, miss = (n1 + inside) / total, (n_rows - n1 + outside) / total
    logs = y * np.log(hit) + (n_synthetic - y) * np.log(miss)
    return mixture(n1, np.full_like(n1, n_rows), logs.sum(axis=0))


def from_noisy_count(
    noisy: ArrayLike, distribution: NoiseLikelihood, *, n_rows: int
) -> ProportionPosterior:
    """Posterior from a released noisy count n*, where the number of records is public.

    Args:
        noisy: n* before it was clipped, rounded or made consistent: a number, or several that were
            measured with fresh noise each.
        distribution: of the noise in each.
        n_rows: n, the public number of confidential records.

    Raises:
        InferenceError: an argument is out of range, or no count can have given this noisy one.
    """
    values = _read_noisy(noisy)
    n1 = _all_counts(n_rows)
    return mixture(n1, np.full_like(n1, n_rows), _log_noise(values, n1, distribution))


def from_noisy_counts(
    noisy: ArrayLike,
    distribution: NoiseLikelihood,
    *,
    noisy_rows: float,
    rows_distribution: NoiseLikelihood,
    row_limit: int | None = None,
) -> ProportionPosterior:
    """Posterior from a noisy count n* of a property and a noisy number of records N*.

    The prior of n is flat on 0 … row_limit, and that of π flat given n, so that
    w(n, n₁) ∝ p(N* | n)·p(n* | n₁)/(n + 1) for n₁ ≤ n.

    Up to 600 plausible values of n and of n₁ are taken one by one. Where there are more, which
    takes noise with a standard deviation above about 15, they are taken in runs, which moves mean
    and interval by less than 1/500 of the posterior standard deviation
    (`tests/inference/noise_aware/test_proportion_likelihood.py`).

    Args:
        noisy: n* before it was clipped, rounded or made consistent: a number, or several that were
            measured with fresh noise each.
        distribution: of the noise in n*.
        noisy_rows: N* as released: clipped to [0, row_limit], so that at 0 and at row_limit it
            counts as "this or beyond".
        rows_distribution: of the noise in N*, independent of that in n*.
        row_limit: public upper limit of n; none if None.

    Raises:
        InferenceError: an argument is out of range, or no counts can have given these noisy ones.
    """
    values, total = _read_noisy(noisy), float(_read_noisy(noisy_rows)[0, 0])
    if row_limit is not None and not (row_limit >= 1 and total <= row_limit):
        raise InferenceError("Expected row_limit to be at least 1 and at least noisy_rows.")
    n1, n = _plausible(values, distribution, total, rows_distribution, row_limit)
    log_n1 = _log_noise(values, n1, distribution)
    log_n = _log_rows(total, n, rows_distribution, row_limit) - np.log(n + 1)
    return joint_mixture(n1, log_n1, n, log_n)


def plausible_counts(estimate: float, stddev: float, n_rows: int) -> Floats:
    """Counts n₁ that can matter, at most some 2,000 at equal distances.

    The posterior hardly changes between two of them: there are 80 in a standard deviation, or each
    is taken.

    Args:
        estimate: unbiased estimate of n₁.
        stddev: of the error of that by drawing.
        n_rows: n, the public number of confidential records.
    """
    if n_rows <= _MOST_COUNTS:
        return _all_counts(n_rows)
    low = max(math.floor(estimate - _WITHIN * stddev), 0)
    high = min(math.ceil(estimate + _WITHIN * stddev), n_rows)
    low, high = min(low, n_rows - 1), max(high, 1)
    return np.arange(low, high + 1, max(1, (high - low) // _MOST_COUNTS), dtype=np.float64)


def _all_counts(n_rows: int) -> Floats:
    if n_rows < 0 or n_rows != int(n_rows):
        raise InferenceError(f"Expected n_rows to be a whole number of at least 0, got {n_rows}.")
    return np.arange(n_rows + 1, dtype=np.float64)


def _log_noise(values: Floats, counts: Floats, distribution: NoiseLikelihood) -> Floats:
    """Log p(values | count) for each count, shape (m, 1) and (c,) → (c,).

    On a lattice coarser than the integers it is the rounded count that got the noise.
    """
    if isinstance(distribution, LatticeLaplace) and distribution.step > 1:
        counts = round_to_lattice(counts, distribution.step)
    return np.asarray(distribution.log_pmf(values - counts).sum(axis=0))


def _log_rows(
    total: float, n: Floats, distribution: NoiseLikelihood, row_limit: int | None
) -> Floats:
    """Log p(N* = total | n) where N* is clipped to [0, row_limit]."""
    if row_limit is not None and total == row_limit:
        # P(noise ≥ limit - n), by symmetry P(noise ≤ n - limit).
        return _log_cdf(distribution, n - row_limit)
    if total == 0:
        return _log_cdf(distribution, -n)
    return distribution.log_pmf(total - n)


def _log_cdf(distribution: NoiseLikelihood, x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        # Where it underflows, a distribution function that is summed may be a little below 0.
        return np.asarray(np.log(np.maximum(distribution.cdf(x), 0.0)))


def _plausible(
    values: Floats,
    distribution: NoiseLikelihood,
    total: float,
    rows_distribution: NoiseLikelihood,
    row_limit: int | None,
) -> tuple[Floats, Floats]:
    """Whole numbers n₁ and n that can matter, each without gaps.

    `_REACH` standard deviations beyond the noisy numbers lies less than 1e-24 of the probability
    of noise. The range of n goes up to the noisy counts too, in case they exceed N*, and that of
    n₁ down to N*.
    """
    margin, rows_margin = _REACH * distribution.stddev + 1, _REACH * rows_distribution.stddev + 1
    highest = max(total, float(values.max()), 0.0) + margin + rows_margin
    top = math.ceil(highest) if row_limit is None else min(math.ceil(highest), row_limit)
    lowest = math.floor(total - rows_margin)
    n = np.arange(min(max(lowest, 0), top), top + 1, dtype=np.float64)
    top1 = min(math.ceil(max(float(values.max()), 0.0) + margin), top)
    lowest1 = math.floor(min(float(values.min()), total - rows_margin) - margin)
    return np.arange(min(max(lowest1, 0), top1), top1 + 1, dtype=np.float64), n


def _read_synthetic(synthetic: ArrayLike, n_synthetic: int) -> Floats:
    """Counts of synthetic records, shape () or (m,) → (m, 1)."""
    y = np.atleast_1d(np.asarray(synthetic, dtype=np.float64))
    if n_synthetic < 0 or y.ndim != 1 or not ((y >= 0) & (y <= n_synthetic) & (y == y // 1)).all():
        raise InferenceError(
            "Expected counts of synthetic records, whole numbers from 0 to n_synthetic, one for "
            "each set."
        )
    return y[:, None]


def _read_noisy(noisy: ArrayLike) -> Floats:
    """Noisy counts, shape () or (m,) → (m, 1)."""
    values = np.atleast_1d(np.asarray(noisy, dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise InferenceError("Expected a finite noisy count, or a row of them.")
    return values[:, None]


def _read_prior(weight: float, levels: int, cells: int) -> tuple[float, float]:
    """Prior weight of the cells with the property, and of the others."""
    if not 0 < weight < math.inf:
        raise InferenceError(f"Expected a prior weight above 0, got {weight!r}.")
    if not 1 <= cells < levels:
        raise InferenceError(f"Expected 1 <= cells < levels, got {cells} of {levels}.")
    return cells * weight, (levels - cells) * weight
