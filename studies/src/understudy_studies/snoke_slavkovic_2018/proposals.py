"""Weighted candidates that stand for a prior, in the places that a tilted law of it may like.

Candidates come evenly from a mixture of the prior and of distributions around the *true*
parameters, each with the weight prior/mixture. That is a device of the simulation, which nobody has
who does not know the truth. The distributions around the truth are of two kinds.

* **Normal ones**, of the shape of the inverse Fisher information I of one record at the truth, at
  which all five parameters are apart. There pMSE of the best classifier is about δ'Iδ/16 at a
  distance δ, so that a law with density ∝ exp(−n·r·pMSE) has about the covariance 8·I⁻¹/(n·r).
* **Ridges** (`Ridge`): trees of a single split see the distributions of the columns and not their
  correlation, so the law that they tilt keeps all parameters that leave both columns as they are.

Each chunk has candidates of its own, so that what they miss is no error that all repetitions share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import logsumexp, ndtri

from understudy._arrays import Floats
from understudy.papers.generators import Prior, even_points
from understudy_studies.snoke_slavkovic_2018.candidates import (
    PRIOR,
    SPREADS,
    TRUTH,
    regressions_of,
    theta_of,
)
from understudy_studies.snoke_slavkovic_2018.population import Regressions

CANDIDATES = 800
"""G, of all distributions together."""
WIDTHS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)
"""Of the normal distributions, in standard deviations of one record's estimate."""
RIDGES = (0.5, 0.2, 0.08)
"""Widths of the ridges, in the same unit."""
DEEP = (0.08, 0.03, 0.1, 0.14, 0.28, 0.3, 0.03, 0.02, 0.01, 0.01)
"""Shares of the candidates for deep trees: of the prior, the normal distributions, the ridges."""
ALL_DEPTHS = (0.1, 0.06, 0.1, 0.14, 0.16, 0.1, 0.04, 0.1, 0.11, 0.09)
"""The same for trees of all depths."""
FLAT = 1000.0
"""Standard deviation of the published prior, in units of the columns."""
_LOGARITHMS = [1, 4]


class Weighted(NamedTuple):
    """Candidates that stand for the prior.

    Attributes:
        theta: shape (G, 5).
        prior: logarithms of the weights, that sum to about 1, shape (G,).
        flat: the same for the published prior, of which only the part near the data is covered.
    """

    theta: Floats
    prior: Floats
    flat: Floats


class Proposal(Protocol):
    """A distribution of parameters in the units of the generator."""

    def at(self, places: Floats) -> Floats:
        """Parameters for places in the unit cube: (G, 5) → (G, 5)."""
        ...

    def log_density(self, theta: Floats) -> Floats:
        """Of parameters, with its constant: (G, 5) → (G,)."""
        ...


@dataclass(frozen=True, eq=False)
class Normal:
    """Independent normal distributions.

    Attributes:
        law: the distributions.
    """

    law: Prior

    def at(self, places: Floats) -> Floats:
        """As `Proposal`."""
        return np.asarray(self.law.means + self.law.stddevs * ndtri(places))

    def log_density(self, theta: Floats) -> Floats:
        """As `Proposal`."""
        return log_density(self.law, theta)


@dataclass(frozen=True)
class Ridge:
    """Both columns distributed about as they truly are, with any correlation.

    In units of the columns: μ₁, log σ₁, the mean m₂ and the logarithm of the deviation s₂ of the
    second column are normal about the truth, and the correlation ρ is uniform. With
    β₁ = ρ·s₂/σ₁, β₀ = m₂ − β₁μ₁ and σ₂ = s₂√(1 − ρ²) the Jacobian of
    (μ₁, log σ₁, β₀, β₁, log σ₂) is (s₂/σ₁)/(1 − ρ²).

    Attributes:
        width: of the four, in standard deviations of one record's estimate.
    """

    width: float

    @property
    def _columns(self) -> Prior:
        """μ₁, log σ₁, m₂ and log s₂."""
        first, second = SPREADS
        means = np.array([0.0, math.log(first), 0.0, math.log(second)])
        unit = np.array([first, math.sqrt(0.5), second, math.sqrt(0.5)])
        return Prior(("mean_1", "log_sd_1", "mean_2", "log_sd_2"), means, self.width * unit)

    def at(self, places: Floats) -> Floats:
        """As `Proposal`."""
        law = self._columns
        mean, log_first, mean_2, log_second = (law.means + law.stddevs * ndtri(places[:, :4])).T
        first, second, correlation = np.exp(log_first), np.exp(log_second), 2 * places[:, 4] - 1
        slope = correlation * second / first
        residual = second * np.sqrt(1 - correlation**2)
        return theta_of(Regressions(mean, first, mean_2 - slope * mean, slope, residual))

    def log_density(self, theta: Floats) -> Floats:
        """As `Proposal`."""
        mean, first, intercept, slope, residual = regressions_of(theta)
        second = np.hypot(slope * first, residual)
        rest = (residual / second) ** 2  # 1 − ρ²
        columns = np.stack([mean, np.log(first), intercept + slope * mean, np.log(second)], axis=-1)
        jacobian = np.log(second / first) - np.log(rest) + np.log(in_units()).sum()
        return np.asarray(log_density(self._columns, columns) - math.log(2) - jacobian)


def weighted(seed: int, shares: tuple[float, ...]) -> Weighted:
    """The candidates: even points of a mixture, with prior/mixture as weights.

    Args:
        seed: public seed of the points, at least 0.
        shares: `DEEP` or `ALL_DEPTHS`.
    """
    every = proposals()
    sizes = [round(share * CANDIDATES) for share in shares]
    theta = np.concatenate(
        [
            one.at(even_points(size, len(PRIOR.names), seed + k))
            for k, (one, size) in enumerate(zip(every, sizes, strict=True))
        ]
    )
    parts = [one.log_density(theta) + math.log(n) for one, n in zip(every, sizes, strict=True)]
    mixture = logsumexp(parts, axis=0)
    flat = Prior(PRIOR.names, np.zeros(5), flat_stddevs())
    return Weighted(theta, log_density(PRIOR, theta) - mixture, log_density(flat, theta) - mixture)


def proposals() -> tuple[Proposal, ...]:
    """The prior, then distributions around the truth."""
    truth = theta_of(Regressions.of(TRUTH))
    unit = in_units()
    unit[_LOGARITHMS] = math.sqrt(0.5)  # of the logarithm of a standard deviation
    around = (Normal(Prior(PRIOR.names, truth, width * unit)) for width in WIDTHS)
    return (Normal(PRIOR), *around, *map(Ridge, RIDGES))


def in_units() -> Floats:
    """One unit of the columns for each parameter, in the units of the generator, shape (5,)."""
    unit = theta_of(Regressions(*[np.ones(())] * 5))
    unit[_LOGARITHMS] = 1.0  # logarithms have no unit
    return np.asarray(unit)


def flat_stddevs() -> Floats:
    """Standard deviations of the published prior in the units of the generator, shape (5,)."""
    return np.asarray(FLAT * in_units())


def log_density(distribution: Prior, theta: Floats) -> Floats:
    """Of a normal distribution with its constant, shape (...)."""
    constant = np.log(distribution.stddevs).sum() + len(distribution.names) / 2 * math.log(
        2 * math.pi
    )
    return np.asarray(distribution.log_density(theta) - constant)
