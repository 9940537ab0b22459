"""Yes or no: a Beta posterior of the probability, given a number of successes.

p ~ Beta(α + s, α + n − s) with α = 1/3, the neutral prior of Kerman (2011); then records are
Bernoulli(p). Source: Liu (2016); Bowen & Liu (2020), §4.1.

Example:
    The posterior mean of 30 successes in 100 rows is (30 + 1/3) / (100 + 2/3) = .30132:

    >>> rng = np.random.default_rng(1)
    >>> p = posterior(np.full(100_000, 30.0), 100, rng)
    >>> abs(float(p.mean()) - 0.30132) < 0.001
    True
    >>> predict(p[:3], 100, rng).shape
    (3,)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.arrays import Floats
from understudy.models.bayesian.bayesian_model import Drawn
from understudy.models.bayesian.dirichlet_multinomial import PRIOR


def posterior(
    successes: ArrayLike, n_rows: int, rng: np.random.Generator, *, prior: float = PRIOR
) -> Floats:
    """Draw the probability of a success.

    Args:
        successes: number of them, whole or not; clipped to [0, n_rows] (thresholding). Any shape.
        n_rows: public number of records.
        rng: randomness.
        prior: both parameters of the Beta prior; positive.

    Returns:
        One probability per number of successes, of the same shape.
    """
    clipped = np.clip(np.asarray(successes, dtype=np.float64), 0, n_rows)
    return np.asarray(rng.beta(prior + clipped, prior + n_rows - clipped))


def predict(p: float | Floats, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the number of successes among `n_rows` records, for each probability."""
    return np.asarray(rng.binomial(n_rows, p), dtype=np.int64)


def records(
    successes: NDArray[np.integer[Any]], n_rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Records with given numbers of successes, in random order.

    Args:
        successes: shape (...).
        n_rows: length of each set.
        rng: randomness.

    Returns:
        0 or 1, shape (..., n_rows).
    """
    ordered = np.arange(n_rows) < np.asarray(successes)[..., None]
    return rng.permuted(ordered.astype(np.int64), axis=-1)


@dataclass(frozen=True)
class Bernoulli:
    """The model of one column of two levels, of which the second is the success.

    Attributes:
        n_rows: public number of records.
        prior: both parameters of the Beta prior.
    """

    n_rows: int
    prior: float = PRIOR

    def posterior(self, statistics: Floats, rng: np.random.Generator) -> Floats:
        """Draw the probability given the number of successes, shape (...)."""
        return posterior(statistics, self.n_rows, rng, prior=self.prior)

    def predict(self, parameters: Floats, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records."""
        cells = records(predict(parameters, n_rows, rng), n_rows, rng)
        return Drawn(cells, np.empty((*cells.shape, 0)))
