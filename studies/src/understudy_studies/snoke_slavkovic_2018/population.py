"""The simulated case of all studies: two normal columns, the second given the first.

x₁ ~ N(μ₁, σ₁²) and x₂ | x₁ ~ N(β₀ + β₁x₁, σ₂²); the generator of the paper is of the same kind. The
paper's values are not in the text that we have; ours are the defaults of `Parameters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from understudy._arrays import Floats

N_ROWS = 5_000
"""Records of a table, public: what two columns of the paper's table 2 tell (`conditions`)."""


@dataclass(frozen=True)
class Parameters:
    """The distribution of the confidential records.

    Attributes:
        mean: μ₁.
        stddev: σ₁.
        intercept: β₀.
        slope: β₁.
        residual: σ₂.
    """

    mean: float = 0.0
    stddev: float = 1.0
    intercept: float = 0.0
    slope: float = 1.0
    residual: float = 1.0


class Regressions(NamedTuple):
    """Parameters of both sequential regressions, each of shape (...,).

    Attributes:
        mean: μ₁.
        stddev: σ₁.
        intercept: β₀.
        slope: β₁.
        residual: σ₂.
    """

    mean: Floats
    stddev: Floats
    intercept: Floats
    slope: Floats
    residual: Floats

    @classmethod
    def of(cls, distribution: Parameters, shape: tuple[int, ...] = ()) -> Regressions:
        """The true parameters for tables of this shape."""
        values = (
            distribution.mean,
            distribution.stddev,
            distribution.intercept,
            distribution.slope,
            distribution.residual,
        )
        return cls(*(np.full(shape, value) for value in values))


def records(regressions: Regressions, n_rows: int, rng: np.random.Generator) -> Floats:
    """Independent records of each table.

    Args:
        regressions: parameters of the tables, each of shape (...,).
        n_rows: n, the same for all.
        rng: source of randomness.

    Returns:
        Shape (..., n, 2).
    """
    mean, stddev, intercept, slope, residual = (parameter[..., None] for parameter in regressions)
    found = rng.standard_normal((*regressions.mean.shape, n_rows, 2))
    found[..., 0] = mean + stddev * found[..., 0]
    found[..., 1] = intercept + slope * found[..., 0] + residual * found[..., 1]
    return found


def fitted(tables: Floats) -> Regressions:
    """Least squares of both regressions; variances have the divisors n − 1 and n − 2.

    Args:
        tables: shape (..., n, 2), with n ≥ 3 and at least two different values of x₁.
    """
    n = tables.shape[-2]
    mean = tables.mean(axis=-2)
    x, y = np.moveaxis(tables - mean[..., None, :], -1, 0)
    scatter = (x * x).sum(axis=-1)
    slope = (x * y).sum(axis=-1) / scatter
    left = ((y - slope[..., None] * x) ** 2).sum(axis=-1)
    return Regressions(
        mean=mean[..., 0],
        stddev=np.sqrt(scatter / (n - 1)),
        intercept=mean[..., 1] - slope * mean[..., 0],
        slope=slope,
        residual=np.sqrt(left / (n - 2)),
    )
