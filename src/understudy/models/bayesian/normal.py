"""One number: the normal model with the prior p(μ, σ²) ∝ 1/σ², given a mean and a variance.

σ² ~ InvGamma((n − 1)/2, (n − 1)s²/2), μ ~ N(x̄, σ²/n), then x ~ N(μ, σ²), clipped to the public
bounds. Noisy statistics are first put into their admissible set: x̄ ∈ [lo, hi] and
s² ∈ [0, nR²/(4(n − 1))], R = hi − lo (thresholding; post-processing). Source: Liu (2016); Bowen &
Liu (2020), §4.2.

**Edges.** With fewer than 2 records the posterior does not exist; then μ is the middle of the
bounds and σ = R/6, whatever the statistics say. s² = 0 gives records that all equal x̄.

Example:
    x = (1, 2, 3, 4) within [0, 5] has mean 2.5 and variance 5/3, which is at most 25/3:

    >>> most_variance(4, (0.0, 5.0))
    8.333333333333334
    >>> rng = np.random.default_rng(1)
    >>> theta = posterior(np.full(200_000, 2.5), 5 / 3, 4, rng, bounds=(0.0, 5.0))
    >>> abs(float(theta.mean.mean()) - 2.5) < 0.02
    True
    >>> predict(Parameters(np.zeros(3), np.ones(3)), 10, rng, bounds=(-1.0, 1.0)).shape
    (3, 10)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Floats
from understudy.models.bayesian.bayesian_model import Drawn

STDDEVS_WIDE = 6
"""Width of the bounds in standard deviations, where nothing is known."""
_LEAST_GAMMA = 1e-290
_BLOCK = 2**14


@dataclass(frozen=True)
class Parameters:
    """μ and σ, one of each per repetition, of any shape (...)."""

    mean: Floats
    stddev: Floats


def most_variance(n_rows: int, bounds: tuple[float, float]) -> float:
    """Largest variance (divisor n − 1) that n ≥ 2 numbers within the bounds can have."""
    return n_rows * (bounds[1] - bounds[0]) ** 2 / (4 * (n_rows - 1))


def posterior(
    mean: ArrayLike,
    variance: ArrayLike,
    n_rows: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float],
) -> Parameters:
    """Draw μ and σ.

    Args:
        mean: noisy or not, shape (...); clipped to the bounds.
        variance: with divisor n − 1, shape (...); clipped to what is possible.
        n_rows: public number of records.
        rng: randomness.
        bounds: public bounds of the numbers.
    """
    low, high = bounds
    centre, spread = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
    if n_rows < 2:
        middle = np.full(centre.shape, (low + high) / 2)
        return Parameters(middle, np.full(centre.shape, (high - low) / STDDEVS_WIDE))
    spread = np.clip(spread, 0, most_variance(n_rows, bounds))
    half = (n_rows - 1) / 2
    gamma = np.maximum(rng.standard_gamma(half, size=centre.shape), _LEAST_GAMMA)
    stddev = np.sqrt(half * spread) / np.sqrt(gamma)
    drawn = rng.standard_normal(centre.shape)
    return Parameters(np.clip(centre, low, high) + drawn * stddev / np.sqrt(n_rows), stddev)


def predict(
    parameters: Parameters,
    n_rows: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float],
    out: Floats | None = None,
) -> Floats:
    """Draw records, clipped to the bounds.

    Works through one piece after the other that fits into the processor's cache.

    Args:
        parameters: of shape (...).
        n_rows: records of each repetition.
        rng: randomness.
        bounds: public bounds of the numbers.
        out: where to write, C-contiguous, of shape (..., n_rows); a new array if None.

    Returns:
        Shape (..., n_rows).
    """
    shape = (*parameters.mean.shape, n_rows)
    result = np.empty(shape) if out is None else out
    rows = result.reshape(-1, n_rows) if n_rows else result.reshape(-1, 1)[:0]
    mean, stddev = parameters.mean.reshape(-1, 1), parameters.stddev.reshape(-1, 1)
    step = max(1, _BLOCK // max(n_rows, 1))
    for start in range(0, len(rows), step):
        piece = rows[start : start + step]
        rng.standard_normal(out=piece)
        piece *= stddev[start : start + step]
        piece += mean[start : start + step]
        np.clip(piece, *bounds, out=piece)
    return result


@dataclass(frozen=True)
class Statistics:
    """Mean and variance (divisor n − 1), exact or noisy, of any shape (...)."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True)
class Normal:
    """The model of one number that every record has.

    Attributes:
        bounds: public bounds.
        n_rows: public number of records that the statistics are about.
    """

    bounds: tuple[float, float]
    n_rows: int

    def posterior(self, statistics: Statistics, rng: np.random.Generator) -> Parameters:
        """Draw μ and σ."""
        return posterior(statistics.mean, statistics.variance, self.n_rows, rng, bounds=self.bounds)

    def predict(self, parameters: Parameters, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records; there is one cell."""
        values = predict(parameters, n_rows, rng, bounds=self.bounds)
        return Drawn(np.zeros(values.shape, dtype=np.int64), values[..., None])
