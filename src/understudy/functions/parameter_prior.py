"""Priors over the parameters of a generator, and public points that cover them evenly.

A prior is a product of normal distributions, hence proper: a mechanism that tilts it by a bounded
score then always has a distribution to draw from. Everything here is public.

Points of the prior are laid by a scrambled Sobol sequence (Sobol 1967; Owen 1998; direction numbers
of Joe & Kuo 2008), which leaves smaller holes than random points do, pushed through the normal
quantiles. The scrambling has a fixed public seed, so that a grid is known before any row is seen,
and the same wherever NumPy's streams of random bits are.

**Normal regressions**, in units in which the bounds are −1 and 1: β₀ ~ N(0, 0.4²); coefficients
N(0, 0.5²/parents); log σ ~ N(log 0.35, 0.5²). The mean then lies within four fifths of the way to
the bounds with probability 95 %, and σ between 0.13 and 0.93 of the half width: bounds that are 1
to 7.6 standard deviations from the middle. 9 % of the numbers fall beyond the bounds and are
clipped without parents, 12 % with some.

The published prior (Snoke & Slavković 2018, §6) is "very flat", without numbers;
`NormalWidths.flat` stands in for it with N(0, (1000·scale)²). It puts almost every mean far beyond
the bounds: a finite grid of its points holds nothing useful, and it is meant for chains only.

**Multinomial logits**: intercepts N(0, 1), coefficients N(0, 1/parents), so that parents share what
they explain and many do not drive probabilities to 0 and 1. At ±2 standard deviations a state is 7
times as likely as the reference, or a seventh, and so again with another state of a parent: weaker
associations than that are the rule in surveys, and stronger ones stay possible. Before anything is
known the reference is expected a little less often than the others: of six states 12 % against 17
to 18 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np
from scipy.special import ndtri

from understudy.arrays import Floats
from understudy.errors import MethodError
from understudy.features.design import Features

SCRAMBLING = 20180211
"""Public seed of the scrambling."""
_HALF_A_CELL = 2.0**-31
"""Sobol points are multiples of 2⁻³⁰; their cells' middles lie within (0, 1)."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent normal distributions of p parameters.

    Attributes:
        names: of the parameters, for people.
        means: shape (p,).
        stddevs: all above 0, shape (p,).

    Raises:
        ValueError: lengths that differ, or numbers that make no proper prior.

    Example:
        >>> prior = Prior(("mean", "log sd"), np.array([0.0, -1.0]), np.array([0.5, 0.1]))
        >>> prior.points(2)[0].tolist()
        [0.0, -1.0]
        >>> finer = prior.around(np.array([0.3, -1.2]), 0.25)
        >>> finer.means.tolist(), finer.stddevs.tolist()
        ([0.3, -1.2], [0.125, 0.025])
        >>> float(prior.log_density(np.array([0.5, -1.0])))
        -0.5
    """

    names: tuple[str, ...]
    means: Floats
    stddevs: Floats

    def __post_init__(self) -> None:
        if not self.means.shape == self.stddevs.shape == (len(self.names),):
            raise ValueError("a prior has one name, one mean and one standard deviation each")
        if not (np.isfinite(self.means).all() and np.isfinite(self.stddevs).all()):
            raise ValueError("means and standard deviations of a prior are finite")
        if not (self.stddevs > 0).all():
            raise ValueError("standard deviations of a prior are above 0")

    @classmethod
    def joined(cls, priors: Sequence[Prior]) -> Prior:
        """The parameters of several priors, one after the other."""
        return cls(
            tuple(name for prior in priors for name in prior.names),
            np.concatenate([np.zeros(0), *(prior.means for prior in priors)]),
            np.concatenate([np.zeros(0), *(prior.stddevs for prior in priors)]),
        )

    def points(self, n: int) -> Floats:
        """Points that cover the prior evenly; the first is its mean.

        Args:
            n: how many, at most 2³⁰.

        Returns:
            Shape (n, p). The points for a smaller n are the first of these.

        Raises:
            MethodError: more parameters than Sobol sequences have dimensions.
        """
        p = len(self.names)
        from scipy.stats import qmc  # takes a second, and few need it

        if p > qmc.Sobol.MAXDIM:
            raise MethodError(
                f"A grid of points has at most {qmc.Sobol.MAXDIM} parameters, and this generator "
                f"has {p}; give its columns fewer parents, or coarser categories."
            )
        points = np.empty((n, p))
        points[:1] = self.means
        if n > 1 and p:
            places = even_points(n - 1, p, SCRAMBLING)
            points[1:] = self.means + self.stddevs * ndtri(places)
        return points

    def around(self, centre: Floats, shrink: float) -> Prior:
        """The prior with another centre and other widths, for a finer grid.

        Args:
            centre: shape (p,).
            shrink: factor of the standard deviations, above 0.
        """
        return Prior(self.names, np.array(centre, dtype=np.float64), self.stddevs * shrink)

    def log_density(self, theta: Floats) -> Floats:
        """Logarithm of the density, up to a constant.

        Args:
            theta: shape (..., p).

        Returns:
            Shape (...).
        """
        return np.asarray(-0.5 * (((theta - self.means) / self.stddevs) ** 2).sum(axis=-1))


def even_points(n: int, p: int, seed: int) -> Floats:
    """The first n points of a scrambled Sobol sequence in (0, 1)ᵖ.

    Args:
        n: how many, from 1 to 2³⁰.
        p: dimensions, at most `qmc.Sobol.MAXDIM`.
        seed: of the scrambling; public.

    Returns:
        Shape (n, p).
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(p, scramble=True, seed=seed)
    places = sequence.random_base2((n - 1).bit_length())[:n]
    return np.asarray(places + _HALF_A_CELL)


@dataclass(frozen=True, kw_only=True)
class LogitWidths:
    """Standard deviations of the prior of a multinomial logit.

    Attributes:
        intercept: of each intercept.
        slope: of the parents together; each coefficient has slope/√parents.
    """

    intercept: float = 1.0
    slope: float = 1.0

    def prior(self, outcomes: Sequence[str], features: Features, mean: float = 0.0) -> Prior:
        """Of a logit.

        Args:
            outcomes: names of all but the reference.
            features: of the parents.
            mean: of the intercepts.
        """
        terms = ("intercept", *features.names)
        names = tuple(f"{outcome}: {term}" for outcome in outcomes for term in terms)
        slope = shared(self.slope, features)
        stddevs = np.array([self.intercept, *[slope] * len(features.names)])
        means = np.array([mean, *[0.0] * len(features.names)])
        return Prior(names, np.tile(means, len(outcomes)), np.tile(stddevs, len(outcomes)))


LOGIT = LogitWidths()


@dataclass(frozen=True, kw_only=True)
class NormalWidths:
    """The prior of a normal regression, in units in which the bounds are −1 and 1.

    Attributes:
        intercept: standard deviation of β₀.
        slope: of the parents together; each coefficient has slope/√parents.
        log_sd_mean: mean of log σ.
        log_sd: standard deviation of log σ.
    """

    intercept: float = 0.4
    slope: float = 0.5
    log_sd_mean: float = field(default=log(0.35))
    log_sd: float = 0.5

    @classmethod
    def flat(cls, scale: float = 1.0) -> NormalWidths:
        """Nearly flat priors of β and log σ: N(0, (1000·scale)²)."""
        wide = 1000.0 * scale
        return cls(intercept=wide, slope=wide, log_sd_mean=0.0, log_sd=wide)

    def prior(self, column: str, features: Features) -> Prior:
        """Of an intercept, the coefficients and the logarithm of the standard deviation."""
        terms = ("intercept", *features.names, "log sd")
        slope = shared(self.slope, features)
        means = np.zeros(len(terms))
        means[-1] = self.log_sd_mean
        stddevs = np.array([self.intercept, *[slope] * len(features.names), self.log_sd])
        return Prior(tuple(f"{column}: {term}" for term in terms), means, stddevs)


NORMAL = NormalWidths()


def shared(slope: float, features: Features) -> float:
    """Standard deviation of a coefficient, where the parents together have `slope`."""
    return slope / sqrt(max(len(features.parents), 1))
