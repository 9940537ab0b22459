"""Regressions as laws of a column: normal for numbers, multinomial logits for categories.

**Normal**: a number given other columns, as the pMSE mechanism was published.

z = β₀ + Σ β f + σ·ε, ε standard normal, where z is the number in units in which its public bounds
are −1 and 1, and f are the features of the parents (see `features`); for numeric parents these are
their own z. Numbers are then kept within the bounds and rounded to what the column holds, as
`features.number_line` does it.

Priors, all independent, in these units: β₀ ~ N(0, 0.4²); coefficients N(0, 0.5²/parents);
log σ ~ N(log 0.35, 0.5²). The mean then lies within four fifths of the way to the bounds with
probability 95 %, and σ between 0.13 and 0.93 of the half width: bounds that are 1 to 7.6 standard
deviations from the middle. 9 % of the numbers fall beyond the bounds and are clipped without
parents, 12 % with some.

The published prior is "very flat", without numbers; `NormalWidths.flat` stands in for it with
N(0, (1000·scale)²). It puts almost every mean far beyond the bounds: a finite grid of its points
holds nothing useful, and it is meant for chains only.

Source: Snoke & Slavković (2018), §6.

**Multinomial logits**: a category given other columns.

P(k) ∝ exp(β₀ₖ + Σ βₖ f) over the states k, codes of absence among them, where the first state is
the reference with β = 0 and f are the features of the parents (see `features`). A state is drawn by
inversion: the first whose cumulative probability exceeds the uniform number.

Priors, all independent: intercepts N(0, 1), coefficients N(0, 1/parents), so that parents share
what they explain and many do not drive probabilities to 0 and 1. At ±2 standard deviations a state
is 7 times as likely as the reference, or a seventh, and so again with another state of a parent:
weaker associations than that are the rule in surveys, and stronger ones stay possible. Before
anything is known the reference is expected a little less often than the others: of six states 12 %
against 17 to 18 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log, sqrt

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.errors import MethodError
from understudy.features.design import Features, Linear, outcomes_of, predicted
from understudy.features.number_line import Drawn, Line, line_of, normal_quantiles, settled
from understudy.functions.state_probabilities import (
    Prior,
    cuts,
    feature_row,
    logit_shares,
    normal_shares,
    shares_of_range,
)
from understudy.schema import NUMERIC, Column


@dataclass(frozen=True, kw_only=True)
class LogitWidths:
    """Standard deviations of the prior.

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
        one = np.array([self.intercept, *[slope] * len(features.names)])
        means = np.array([mean, *[0.0] * len(features.names)])
        return Prior(names, np.tile(means, len(outcomes)), np.tile(one, len(outcomes)))


LOGIT = LogitWidths()


@dataclass(frozen=True, eq=False)
class MultinomialLogit:
    """The law of a categorical or boolean column.

    Attributes:
        column: its name.
        declared: the column as the schema declares it.
        features: of its parents.
        widths: of the prior.
    """

    column: str
    declared: Column
    features: Features
    widths: LogitWidths = LOGIT

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return self.features.parents

    @cached_property
    def prior(self) -> Prior:
        """For each state but the first an intercept and the coefficients of the features."""
        outcomes = [f"{self.column} = {label}" for label in self.declared.labels[1:]]
        return self.widths.prior(outcomes, self.features)

    def draw(self, theta: Floats, drawn: Mapping[str, Drawn], uniforms: Floats) -> Drawn:
        """Draw states; the second row of uniform numbers is left aside."""
        linear = self.features.linear(theta.reshape(-1, 1 + len(self.features.names)))
        parents = self.features.gathered(drawn, uniforms.shape[1])
        return Drawn(outcomes_of(linear, parents, uniforms[0]))

    def log_shares(self, points: Floats, given: Integers, states: Integers) -> Floats:
        """Log probabilities of states, given one combination of the parents' states."""
        row = feature_row(self.features, given)
        coefficients = points.reshape(len(points), self.declared.size - 1, len(row))
        return np.asarray(logit_shares(np.ascontiguousarray(coefficients), row, states))


def shared(slope: float, features: Features) -> float:
    """Standard deviation of a coefficient, where the parents together have `slope`."""
    return slope / sqrt(max(len(features.parents), 1))


LARGEST_LOG = 600.0
"""Beyond it, σ would be no number."""


@dataclass(frozen=True, kw_only=True)
class NormalWidths:
    """The prior, in units in which the bounds are −1 and 1.

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


@dataclass(frozen=True, eq=False)
class NormalRegression:
    """The law of a numeric column without codes and spikes.

    Attributes:
        column: its name.
        declared: the column as the schema declares it.
        features: of its parents.
        widths: the prior.

    Raises:
        MethodError: a column with codes or spikes, or one that is not numeric.
    """

    column: str
    declared: Column
    features: Features
    widths: NormalWidths = NORMAL

    def __post_init__(self) -> None:
        plain = isinstance(self.declared, NUMERIC) and not self.declared.codes
        if not plain or len(self._line.spikes):
            raise MethodError(
                f"A normal regression is for a numeric column without codes and spikes, which "
                f"{self.column!r} is not; use regressions of mixed types."
            )

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return self.features.parents

    @cached_property
    def prior(self) -> Prior:
        """Intercept, coefficients of the features, log σ."""
        return self.widths.prior(self.column, self.features)

    def draw(self, theta: Floats, drawn: Mapping[str, Drawn], uniforms: Floats) -> Drawn:
        """Draw numbers; the first row of uniform numbers is left aside."""
        linear, stddev = linear_and_stddev(self.features, theta)
        parents = self.features.gathered(drawn, uniforms.shape[1])
        places = predicted(linear, parents) + stddev * normal_quantiles(uniforms[1])
        low, high = self._line.low, self._line.high
        numbers = low / 2 + high / 2 + (high / 2 - low / 2) * places
        return Drawn(*settled(self._line, numbers))

    def log_shares(self, points: Floats, given: Integers, states: Integers) -> Floats:
        """Log probabilities of states, given one combination of the parents' states."""
        row = feature_row(self.features, given)
        return shares_between(points, row, self._cuts, np.argsort(self._line.states)[states])

    @cached_property
    def _cuts(self) -> Floats:
        """Where bins end, in units in which the bounds are −1 and 1."""
        low, high = self._line.low, self._line.high
        return np.asarray(2 * shares_of_range(cuts(self._line), low, high) - 1)

    @cached_property
    def _line(self) -> Line:
        assert isinstance(self.declared, NUMERIC)
        return line_of(self.declared)


def linear_and_stddev(features: Features, theta: Floats) -> tuple[Linear, float]:
    """The predictor and σ of parameters as `NormalWidths.prior` lists them."""
    log_sd = min(max(float(theta[-1]), -LARGEST_LOG), LARGEST_LOG)
    return features.linear(theta[None, :-1]), float(np.exp(log_sd))


def shares_between(points: Floats, row: Floats, cuts: Floats, bins: Integers) -> Floats:
    """Log probabilities of bins, at parameters as `NormalWidths.prior` lists them.

    Args:
        points: shape (G, p).
        row: an intercept and the features of the parents' states.
        cuts: between the bins, in the unit of the parameters.
        bins: counted from 0, shape (k,).

    Returns:
        Shape (k, G).
    """
    stddevs = np.exp(np.clip(points[:, -1], -LARGEST_LOG, LARGEST_LOG))
    coefficients = np.ascontiguousarray(points[:, :-1])
    return np.asarray(normal_shares(coefficients, stddevs, row, cuts, bins))
