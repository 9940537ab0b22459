"""What laws of columns share: log probabilities of states, and priors of parameters.

**Probabilities** are what the laws draw from. They are given the states of the parents alone, one
combination at a time. A numeric parent stands at the middle of its bin, a law that draws sees its
number: within narrow bins it is the same. So each probability is a function of a record's own
states and of θ. Sums run in one fixed order, in compiled loops over one number after the other, so
that not even rounding depends on anything else.

Where numbers of a column fall into its bins (`cuts`) is found by bisection of the very function
that settles drawn numbers.

**Priors** over the parameters of a generator, and public points that cover them evenly. A prior is
a product of normal distributions, hence proper: a mechanism that tilts it by a bounded score then
always has a distribution to draw from. Everything here is public.

Points of the prior are laid by a scrambled Sobol sequence (Sobol 1967; Owen 1998; direction numbers
of Joe & Kuo 2008), which leaves smaller holes than random points do, pushed through the normal
quantiles. The scrambling has a fixed public seed, so that a grid is known before any row is seen,
and the same wherever NumPy's streams of random bits are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from scipy.special import ndtri

from understudy.arrays import Floats, Integers, compiled
from understudy.errors import MethodError
from understudy.features.design import Features
from understudy.features.number_line import Drawn, Line, settled
from understudy.schema import NUMERIC, Column

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


_HALVINGS = 1100
"""Enough for any two float64 to become neighbours."""


def feature_row(features: Features, given: Integers) -> Floats:
    """An intercept and the features of one combination of the parents' states.

    Args:
        features: of the parents.
        given: their states, shape (parents,).

    Returns:
        Shape (1 + features,).
    """
    drawn = {
        name: Drawn(given[j : j + 1], _middle(column, int(given[j])))
        for j, (name, column) in enumerate(features.columns.items())
    }
    return np.asarray(features.matrix(drawn, 1)[0])


def _middle(column: Column, state: int) -> Floats | None:
    """The middle of a bin, NaN of another state; None of a column without numbers."""
    if not isinstance(column, NUMERIC):
        return None
    if state >= column.n_ordinary or column.intervals[state].spike:
        return np.array([np.nan])
    one = column.intervals[state]
    return np.array([one.low / 2 + one.high / 2])


@compiled(error_model="numpy")
def logit_shares(coefficients: Floats, row: Floats, outcomes: Integers) -> Floats:
    """Log probabilities of outcomes of a multinomial logit; outcome 0 is the reference.

    Args:
        coefficients: shape (G, m, 1 + features), of all outcomes but the reference.
        row: as `feature_row` gives it.
        outcomes: from 0 to m, shape (k,).

    Returns:
        Shape (k, G).
    """
    n, m, width = coefficients.shape
    found, etas = np.empty((len(outcomes), n)), np.zeros(m + 1)
    for g in range(n):
        top = 0.0
        for k in range(m):
            eta = 0.0
            for j in range(width):
                eta += coefficients[g, k, j] * row[j]
            etas[k + 1] = eta
            top = max(top, eta)
        total = 0.0
        for k in range(m + 1):
            total += np.exp(etas[k] - top)
        for i in range(len(outcomes)):
            found[i, g] = etas[outcomes[i]] - top - np.log(total)
    return found


@compiled(error_model="numpy")
def normal_shares(
    coefficients: Floats, stddevs: Floats, row: Floats, cuts: Floats, bins: Integers
) -> Floats:
    """Log probabilities that η + σ·ε lies between cuts, ε standard normal.

    Args:
        coefficients: of η, shape (G, 1 + features).
        stddevs: σ, shape (G,).
        row: as `feature_row` gives it.
        cuts: ascending, shape (bins - 1,), perhaps infinite; the first bin begins at -∞.
        bins: counted from 0, shape (k,).

    Returns:
        Shape (k, G); -∞ where float64 has no smaller number.
    """
    n, width = coefficients.shape
    found = np.empty((len(bins), n))
    for g in range(n):
        eta = 0.0
        for j in range(width):
            eta += coefficients[g, j] * row[j]
        for i in range(len(bins)):
            low = (cuts[bins[i] - 1] - eta) / stddevs[g] if bins[i] > 0 else -np.inf
            high = (cuts[bins[i]] - eta) / stddevs[g] if bins[i] < len(cuts) else np.inf
            found[i, g] = np.log(_between(low, high))
    return found


@compiled(error_model="numpy")
def _between(low: float, high: float) -> float:
    """Φ(high) - Φ(low), from the nearer tail."""
    if low > 0:
        return 0.5 * (erfc(low / sqrt(2.0)) - erfc(high / sqrt(2.0)))
    if high < 0:
        return 0.5 * (erfc(-high / sqrt(2.0)) - erfc(-low / sqrt(2.0)))
    return 1.0 - 0.5 * (erfc(-low / sqrt(2.0)) + erfc(high / sqrt(2.0)))


def cuts(line: Line) -> Floats:
    """Where drawn numbers pass from one bin of a numeric column to the next.

    Rounding, and the step off a spike, move these away from the public edges of the bins.

    Args:
        line: the column.

    Returns:
        Shape (bins - 1,), ascending; the upper bound where no number reaches a bin.
    """
    edges = line.lows[1:]
    low, high = np.full(len(edges), line.low), np.full(len(edges), line.high)
    for _ in range(_HALVINGS):
        middle = low / 2 + high / 2
        if np.all((middle <= low) | (middle >= high)):
            break
        above = settled(line, middle)[1] >= edges
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high


def shares_of_range(numbers: Floats, low: float, high: float) -> Floats:
    """How far numbers lie between bounds, from 0 to 1; nothing overflows."""
    return np.asarray((numbers / 2 - low / 2) / (high / 2 - low / 2 or 1.0))
