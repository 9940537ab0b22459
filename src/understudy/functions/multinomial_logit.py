"""Multinomial logits: a category given other columns.

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
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.design import Features, outcomes_of
from understudy.features.number_line import Drawn
from understudy.functions.parameter_prior import Prior
from understudy.functions.state_probabilities import feature_row, logit_shares
from understudy.schema import Column


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
