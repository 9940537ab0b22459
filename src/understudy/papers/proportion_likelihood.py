"""Noise-aware inference about a proportion: the mechanism as part of the likelihood.

Of n confidential records, n₁ have a property; the release says something random about n₁. Then

    p(released | π) = Σ p(released | n₁)·Bin(n₁; n, π),   n₁ = 0 … n,

counts sampling and privacy noise together, removes the shrinkage of prior-weighted mechanisms,
and costs no privacy. With a flat prior on π no grid of π is needed: ∫Bin(n₁; n, π)dπ = 1/(n + 1)
is the same for all n₁, so the posterior is *exactly* the mixture

    Σ w(n₁)·Beta(n₁ + 1, n - n₁ + 1),   w(n₁) ∝ p(released | n₁).

What is released, and the function for it:

* records of the beta-binomial or multinomial-Dirichlet sanitizer: `from_beta_binomial`;
* records of the DP-prior sanitizer, or smoothed histogram: `from_dp_prior`.

Intervals are credible intervals: they hold π with exactly the stated probability on average over
the flat prior, and about so at each π away from 0 and 1.

Source:
    Charest (2010), "How Can We Analyze Differentially-Private Synthetic Datasets?", J. Privacy and
    Confidentiality 2(2), 21-33, for the beta-binomial sanitizer, by Markov chain; generalised to
    the other mechanisms and to closed form here.

Example:
    >>> posterior = from_beta_binomial(30, n_synthetic=100, n_rows=100, alpha=5.0)
    >>> round(posterior.mean, 4), round(posterior.sd, 4)
    (0.2924, 0.0803)

**The posterior of a proportion, exactly: a mixture of Beta distributions, and how one is built.**

With a flat prior on π and n₁ ~ Bin(n, π), the weight of Beta(n₁ + 1, n - n₁ + 1) is what the
release says about n₁; the functions below have those weights
for each mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from understudy._arrays import Floats
from understudy.errors import InferenceError

# Probability that may be dropped, in all, with the components of a mixture that hardly count.
_DROPPED: Final = 1e-12


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
    kept, weights = _weights_that_count(log_weights)
    return ProportionPosterior(successes[kept], rows[kept], weights[kept] / weights[kept].sum())


def _weights_that_count(log_weights: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Find the weights that count, all of them relative to the largest."""
    largest = log_weights.max() if log_weights.size else -np.inf
    if not np.isfinite(largest):
        raise InferenceError(
            "No confidential count can have given what was released under this distribution; check "
            "it, its lattice, and that the count was not rounded or clipped."
        )
    weights = np.exp(log_weights - largest)
    return weights > _DROPPED / weights.size * weights.sum(), weights


# Counts that are taken, and within how many standard deviations of drawing.
_MOST_COUNTS: Final = 2_000
_WITHIN: Final = 12.0


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


def _read_synthetic(synthetic: ArrayLike, n_synthetic: int) -> Floats:
    """Counts of synthetic records, shape () or (m,) → (m, 1)."""
    y = np.atleast_1d(np.asarray(synthetic, dtype=np.float64))
    if n_synthetic < 0 or y.ndim != 1 or not ((y >= 0) & (y <= n_synthetic) & (y == y // 1)).all():
        raise InferenceError(
            "Expected counts of synthetic records, whole numbers from 0 to n_synthetic, one for "
            "each set."
        )
    return y[:, None]


def _read_prior(weight: float, levels: int, cells: int) -> tuple[float, float]:
    """Prior weight of the cells with the property, and of the others."""
    if not 0 < weight < math.inf:
        raise InferenceError(f"Expected a prior weight above 0, got {weight!r}.")
    if not 1 <= cells < levels:
        raise InferenceError(f"Expected 1 <= cells < levels, got {cells} of {levels}.")
    return cells * weight, (levels - cells) * weight
