"""Priors over the parameters of a generator, and public points that cover them evenly.

A prior is a product of normal distributions, hence proper: a mechanism that tilts it by a bounded
score then always has a distribution to draw from. Everything here is public.

Points of the prior are laid by a scrambled Sobol sequence (Sobol 1967; Owen 1998; direction numbers
of Joe & Kuo 2008), which leaves smaller holes than random points do, pushed through the normal
quantiles. The scrambling has a fixed public seed, so that a grid is known before any row is seen,
and the same wherever NumPy's streams of random bits are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from understudy.arrays import Floats
from understudy.errors import MethodError

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
            tuple(name for one in priors for name in one.names),
            np.concatenate([np.zeros(0), *(one.means for one in priors)]),
            np.concatenate([np.zeros(0), *(one.stddevs for one in priors)]),
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
        found = np.empty((n, p))
        found[:1] = self.means
        if n > 1 and p:
            places = even_points(n - 1, p, SCRAMBLING)
            found[1:] = self.means + self.stddevs * ndtri(places)
        return found

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
