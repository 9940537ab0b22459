"""Intervals of coefficients of logistic and Poisson models, by inverting tests of the score.

At a value b of coefficient j, let the others solve their own equations of the score U
(`understudy.inference.moments.logistic`), β(b), and H be the information there. With a = e_j − H_jo
H_oo⁻¹ on the others o, the efficient score

    S(b) = a'U(β(b)),    V(b) = a'(noise + sampling + misfit)a at β(b),

has, at the true b, the mean 0 and the variance V to first order. For given β the score is *linear*
in the measured moments, so the noise in it is exact, that of the predictors' moments too, and its
variance is that at b and not that at an estimate: where few records have the outcome an estimate
that came out too low has too small an error of its own. The interval has every b with |S| ≤ z√V +
B, B what was not measured of records without a value. It is longer on the side that is known less,
and endless where no b, however far, is told from the estimate. A linear model has Fieller's
interval by this (`inverted`), an odds ratio without noise Cornfield's. Of values beyond an end none
is in the interval, though a score may be told from 0 less clearly where it rests on few records.

Records with the same predictors are taken together.

Sources: Rao (1948), Proceedings of the Cambridge Philosophical Society 44, 50-57; Boos (1992), "On
Generalized Score Tests", The American Statistician 46, 327-333, for other variances than H.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from understudy.arrays import Floats
from understudy.inference.moments.calibrated_records import CalibratedRecords
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.moments.logistic import ScoreFit, shape_of, size_of
from understudy.inference.moments.score_equations import FAMILIES, Family, solution
from understudy.inference.set_estimates import Pooled, require_level

_FARTHEST: Final = 15.0  # of x'β, over the range of a predictor: e^15 is endless
_FURTHER: Final = 1.25
_CLOSE: Final = 1e-3  # of half an interval


@dataclass(frozen=True, eq=False)
class ScoreTests:
    """Tests of the coefficients of a model.

    Attributes:
        kind: "logit" or "poisson".
        fit: of the model.
    """

    kind: str
    fit: ScoreFit

    @property
    def family(self) -> Family:
        """Of the model."""
        return FAMILIES[self.kind]

    @cached_property
    def alike(self) -> _Alike:
        """Records with the same predictors, together."""
        shape = shape_of(self.family, self.fit.records) if self.kind == "poisson" else None
        return _Alike.of(self.fit.records, shape)

    def distance(self, j: int, value: float) -> float:
        """How far a value of a coefficient is from what was measured, in standard errors.

        Args:
            j: which coefficient.
            value: of it.

        Returns:
            (|S| − B)/√V, at least 0; 0 too where the other coefficients have no finite estimate.
        """
        records, alike = self.fit.records, self.alike
        others = np.delete(np.arange(len(self.fit.estimate)), j)
        fixed, rest = value * alike.x[:, j], alike.x[:, others]
        try:
            own = solution(self.family, rest, alike.weights, records.crossed[others], fixed=fixed)
        except LostInNoiseError:
            return 0.0
        eta = fixed + rest @ own
        mean, slope = self.family.mean(eta), alike.weights * self.family.slope(eta)
        direction = np.zeros(len(self.fit.estimate))
        direction[j] = 1.0
        across = rest.T * slope
        direction[others] = -np.linalg.lstsq(across @ rest, across @ alike.x[:, j])[0]
        along = alike.x @ direction
        score = float(records.crossed @ direction - (alike.weights * mean) @ along)
        added = along * mean
        gamma = alike.t.T @ (alike.shares * added)
        left = alike.shares @ (added - alike.t @ gamma) ** 2
        change = np.concatenate([direction, -gamma, [0.0]])
        variance = (
            float(change @ records.noise @ change)
            + self._sampling(along, eta, slope)
            + float(left) * records.n**2 * self._misfit
        )
        bias = float(records.hidden(change[None])[0])
        return max(abs(score) - bias, 0.0) / math.sqrt(max(variance, sys.float_info.min))

    @cached_property
    def _misfit(self) -> float:
        return self.fit.records.misfit()

    def _sampling(self, along: Floats, eta: Floats, slope: Floats) -> float:
        """Of the score: Σ (y − μ)² (a'x)²."""
        if self.alike.shape is None:
            return max(float(slope @ along**2), 0.0)
        size = size_of(self.family, self.fit.records, self.alike.weights, eta)
        return float(self.alike.shape @ along**2) * size

    def ends(self, j: int, z: float) -> tuple[float, float]:
        """Ends of the interval of a coefficient; infinite where it has none.

        Args:
            j: which coefficient.
            z: largest distance in it.
        """
        values = self.alike.x[:, j]
        far = _FARTHEST / (np.ptp(values) or np.abs(values).max())
        fit, at = self.fit, self.fit.estimate[j]
        near = z * np.sqrt((fit.noise + fit.sampling + fit.misfit)[j, j])

        def below(step: float) -> float:
            return self.distance(j, at - step) - z

        def above(step: float) -> float:
            return self.distance(j, at + step) - z

        return at - _root(below, near, far), at + _root(above, near, far)


def _root(excess: Callable[[float], float], near: float, far: float) -> float:
    """Where a function that is below 0 at 0 first comes to 0; infinite if not before far off.

    Args:
        excess: the function.
        near: a guess.
        far: far off.
    """
    low, high = 0.0, near
    while excess(high) < 0:
        if high >= far:
            return float(np.inf)
        low, high = high, min(_FURTHER * high, max(far, near))
    return float(brentq(excess, low, high, xtol=_CLOSE * high))


@dataclass(frozen=True, eq=False)
class _Alike:
    """Records with the same predictors, together.

    Attributes:
        x: terms, shape (K, p).
        t: their products, shape (K, r).
        weights: sum of the weights of the records, shape (K,).
        shares: of the records, shape (K,).
        shape: sum of their parts in Σ (y − μ)² of counts, shape (K,); None for a 0/1 outcome.
    """

    x: Floats
    t: Floats
    weights: Floats
    shares: Floats
    shape: Floats | None

    @classmethod
    def of(cls, records: CalibratedRecords, shape: Floats | None) -> _Alike:
        """Of records, with the part of each in Σ (y − μ)²."""
        x, first, place, count = np.unique(
            records.x, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        place = place.reshape(-1)
        return cls(
            x=x,
            t=records.t[first],
            weights=np.asarray(np.bincount(place, records.weights, len(x)), float),
            shares=count / len(place),
            shape=None if shape is None else np.asarray(np.bincount(place, shape, len(x)), float),
        )


@dataclass(frozen=True)
class ScoreIntervals(Pooled):
    """Coefficients whose intervals come from tests of the score.

    Attributes:
        tests: of the coefficients.
    """

    tests: ScoreTests = field(kw_only=True)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, each of shape (k,); infinite where there is none.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        if level not in self._known:
            z = float(ndtri((1 + level) / 2))
            ends = [self.tests.ends(j, z) for j in range(len(self.names))]
            self._known[level] = np.array(ends).T
        lower, upper = self._known[level]
        return lower.copy(), upper.copy()

    @cached_property
    def _known(self) -> dict[float, Floats]:
        return {}

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each coefficient is 0, by the same tests."""
        away = [self.tests.distance(j, 0.0) for j in range(len(self.names))]
        return np.asarray(2 * ndtr(-np.asarray(away)))
