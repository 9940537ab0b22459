"""Statistics of a set under resampling, and the barycentre of their distributions over sets.

The distribution of a statistic under the bootstrap stands as its quantile function at
`PROBABILITIES`. On the line the Wasserstein barycentre of distributions has the mean of their
quantile functions (Agueh & Carlier 2011, §6.1), and the distance W₁ of two distributions is
∫|Q − Q'|.

The quantile of a set of n values is its k-th smallest, k = ⌈level·n⌉. In a resample it is the J-th
smallest of the *set*, J = ⌈n·U⌉ with U the k-th smallest of n uniform numbers, a Beta(k, n − k + 1)
variable: so its distribution is known, and nothing is resampled for it. For means all sets of a
repetition share one matrix of resampled counts.

Sources: Srivastava, Cevher, Dinh & Dunson (2015), "WASP", for the barycentre as the average of
quantiles; Efron (1979) for the distribution of a quantile under the bootstrap.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import betaincinv

from understudy._arrays import Floats

POINTS = 99
PROBABILITIES: Final[Floats] = (np.arange(POINTS) + 0.5) / POINTS
"""Where quantile functions are kept: midpoints, so that their mean is an integral."""
RESAMPLES = 400
"""Resamples that the distribution of a mean is read off."""
LEVEL = 0.9
"""The paper's quantile."""


def law_of_quantile(values: Floats, level: float = LEVEL) -> Floats:
    """Quantile function of a set's quantile under resampling, without Monte Carlo error.

    Args:
        values: shape (..., n).
        level: of the quantile, in (0, 1].

    Returns:
        Shape (..., 99).

    Example:
        >>> law_of_quantile(np.array([3.0, 1.0, 2.0]), 0.5)[[0, 49, 98]].tolist()
        [1.0, 2.0, 3.0]
    """
    n = values.shape[-1]
    k = math.ceil(level * n)
    places = np.ceil(n * betaincinv(k, n - k + 1, PROBABILITIES)).astype(np.int64)
    return np.asarray(np.sort(values, axis=-1)[..., np.clip(places, 1, n) - 1])


def resampled_counts(n: int, rng: np.random.Generator) -> Floats:
    """How often each of n records is in each resample of n, shape (resamples, n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)


def law_of_mean(values: Floats, counts: Floats) -> Floats:
    """Quantile function of a set's mean under resampling.

    Args:
        values: shape (..., n).
        counts: of `resampled_counts`.

    Returns:
        Shape (..., 99).
    """
    means = values @ counts.T / values.shape[-1]
    return np.asarray(np.moveaxis(np.quantile(means, PROBABILITIES, axis=-1), 0, -1))


def barycentre(distributions: Floats) -> Floats:
    """The Wasserstein barycentre of distributions: the mean of their quantile functions.

    Args:
        distributions: shape (m, 99).

    Returns:
        Shape (99,).
    """
    return np.asarray(distributions.mean(axis=0))


def distance(first: Floats, second: Floats) -> Floats:
    """W₁ of distributions by quantile functions, in the statistic's unit; over the last axis."""
    return np.asarray(np.abs(first - second).mean(axis=-1))
