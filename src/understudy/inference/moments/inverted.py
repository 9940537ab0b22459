"""Intervals of ratios by inverting a test, which hold though the denominator is noisy (Fieller).

An estimate b̂ = N/S has a noisy denominator S: a number of records, or what is left of a predictor
when the others are taken out of it. At the true b the difference N − bS = S(b̂ − b) is 0 but for
errors, whose variance is a quadratic function of b,

    V(b) = v_0 + 2(b̂ − b)·v_1 + (b̂ − b)²·v_2,

v_2 the variance of the noise in S, and v_1 its covariance with that of N − b̂S. So the interval has
every b with S²(b̂ − b)² ≤ z²V(b). It is longer on the side where S may be smaller, and endless
where S is not told from 0. For v_1 = v_2 = 0 it is b̂ ± z√v_0/S. A bound on
a bias is added at both ends.

Source: Fieller (1954), "Some problems in interval estimation", JRSS B 16, 175-185.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from understudy.arrays import Floats
from understudy.inference.moments.firmness import FIRM, lost
from understudy.inference.set_estimates import Pooled, require_level


def are_firm(shown: Floats, squared: Floats) -> NDArray[np.bool_]:
    """Which denominators are told from 0 under their noise; arguments as for `require_firm`."""
    return np.asarray(shown >= FIRM * np.sqrt(squared))


def require_firm(shown: Floats, squared: Floats, what: str) -> None:
    """Refuse a denominator that is not told from 0 under its noise.

    Whether there is an answer follows from the synthetic records, not from the noisy denominator
    itself: those that came out too large would be answered more often, and their intervals would
    cover less.

    Args:
        shown: the denominators, as the synthetic records have them, shape (k,).
        squared: variances of the noise in the measured ones, shape (k,).
        what: what they are, as the beginning of a sentence.

    Raises:
        LostInNoiseError: one is below `FIRM` standard deviations.
    """
    firmness = float((shown / np.sqrt(squared + 1e-300)).min())
    if firmness < FIRM:
        raise lost(what, firmness)


def _nothing() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True)
class Inverted(Pooled):
    """Estimates whose intervals come from inverted tests.

    Attributes:
        denominator: S of each, shape (k,).
        mixed: v_1 of each, shape (k,).
        squared: v_2 of each, shape (k,).
        null: value of the hypothesis that p-values are of.
    """

    denominator: Floats = field(default_factory=_nothing)
    mixed: Floats = field(default_factory=_nothing)
    squared: Floats = field(default_factory=_nothing)
    null: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, each of shape (k,); infinite where the data do not bound them.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        z2 = ndtri((1 + level) / 2) ** 2
        leading = self.denominator**2 - z2 * self.squared
        middle, constant = z2 * self.mixed, z2 * self._constant
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(middle**2 + leading * constant)
            above, below = (middle + root) / leading, (root - middle) / leading
        bounded = leading > 0
        known = np.where(np.isnan(self.estimate), np.nan, np.inf)
        lower = np.where(bounded, self.estimate - above - self.bias, -known)
        return lower, np.where(bounded, self.estimate + below + self.bias, known)

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is `null`, by the same tests."""
        off = self.estimate - self.null
        b = np.sign(off) * np.maximum(np.abs(off) - self.bias, 0)
        variance = self._constant + 2 * b * self.mixed + b * b * self.squared
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(2 * ndtr(-np.abs(b * self.denominator) / np.sqrt(variance)))

    @property
    def _constant(self) -> Floats:
        return np.asarray(np.diag(self.covariance)) * self.denominator**2
