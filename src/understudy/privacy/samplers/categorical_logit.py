"""States by a multinomial logit: few coefficients for many parents.

    P(state k | parents) ∝ exp(β_k0 + Σ_j β_kj f_j),

with the features f of the parents (`features.design`) and β = 0 for the first state, the reference;
as the model of kinds of a number (`numeric_column`) the reference is an ordinary number. Priors are
independent normal: intercepts N(0, w₀²), coefficients N(0, w²/parents), so that parents share what
they explain. Under record weights the posterior is exactly ∝ p(β)·∏ f(x_i | β)^α_i: it is
log-concave, always proper, and drawn by chains (`logit_target`, `logit_chains`).

**Widths** are 2.5: about what a table with Dirichlet(½) cells says of a log-odds ratio, whose
standard deviation is 3.1 there. A parent that goes from its middle to a bound multiplies odds by at
most 150 (two standard deviations, one parent), or by 6 (eight parents); records outweigh that soon.
Where features separate the states perfectly, the prior alone keeps coefficients finite.

**Choose it** where several parents matter. It adds up what they say: a table of all of them would
be empty in most cells, and one of two of them would not know of the others. Effects of numeric and
ordinal parents are straight lines on the scale of log-odds, and there are no interactions; where
these matter and parents are few, a table says more.

**Cost**: 83 transitions of eight chains for 500 draws, three evaluations each: for 6,000 records
0.3 seconds for two states and 17 features, 1 second for seven states and 33 features. 97 % and more
of the transitions were accepted in the first case, 90 % in the second, and the 500 draws were worth
320 or more independent ones in any coefficient, and 210; in the hardest case tried, 200 records
that 66 features separate, 83 % and 100. Steps that are refused too often become shorter: with up to
20,000 records, states that never occur and one parent of 29 states 76 % or more were accepted, at a
half to twice the time.

Sources: Gelman, Jakulin, Pittau & Su (2008), Annals of Applied Statistics 2, for weakly informative
priors of logits and separation; for the chains see there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits

from understudy.errors import MethodError
from understudy.features.design import Features, outcomes_of
from understudy.features.number_line import Drawn
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.column_model import Floats, Records, Theta, slices
from understudy.privacy.samplers.logit_density import WeightedLogit, own_logs
from understudy.privacy.samplers.logit_hmc import Chains, logit_draws
from understudy.schema import NUMERIC, Schema

__all__ = ["COEFFICIENTS", "MOST", "StateLogit"]

MOST: Final = 300
"""Coefficients of a logit, at most."""
COEFFICIENTS: Final = "coefficients"
"""Name of the one array of θ."""


@dataclass(frozen=True)
class StateLogit:
    """The model of states; θ is "coefficients", shape (S, states - 1, 1 + features).

    Attributes:
        column: its name.
        size: how many states, or kinds, it has.
        features: of the parents.
        intercept: w₀.
        slope: w, of the parents together.
        chains: how θ is drawn.

    Raises:
        MethodError: more than `MOST` coefficients, or widths that are not positive.

    Example:
        >>> schema = Schema.loads('''
        ... [columns.sex]
        ... kind = "categorical"
        ... levels = ["f", "m"]
        ... [columns.job]
        ... kind = "categorical"
        ... levels = ["none", "part", "full"]
        ... ''')
        >>> StateLogit.of(schema, "job", ("sex",)).coefficients
        4
    """

    column: str
    size: int
    features: Features
    intercept: float = 2.5
    slope: float = 2.5
    chains: Chains = field(default_factory=Chains)

    def __post_init__(self) -> None:
        """Check what is public."""
        if not all(0 < width < math.inf for width in (self.intercept, self.slope)):
            raise MethodError("The widths of a logit's prior are positive and finite.")
        if self.coefficients > MOST:
            raise MethodError(
                f"The logit of {self.column!r} given {', '.join(map(repr, self.parents))} would "
                f"have {self.coefficients:,} coefficients, and {MOST:,} is the most; give it fewer "
                "parents, coarser states, or take a table (states=table)."
            )

    @classmethod
    def of(cls, schema: Schema, column: str, parents: tuple[str, ...]) -> StateLogit:
        """The logit of a column of a schema.

        Raises:
            MethodError: a numeric column, which has numbers beside its states, or too many
                coefficients.
        """
        if isinstance(schema.columns[column], NUMERIC):
            raise MethodError(f"The column {column!r} has numbers, and a logit is for states only.")
        return cls(column, schema.columns[column].size, Features.of(schema, parents))

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return self.features.parents

    @cached_property
    def coefficients(self) -> int:
        """How many there are, intercepts among them."""
        return (self.size - 1) * (1 + len(self.features.names))

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws of chains that leave the posterior as it is; see `ColumnModel`."""
        states = records[self.column].states
        design = self.features.matrix(records, len(states))
        target = WeightedLogit(design, states, weights, self.size - 1, self._precisions)
        with threadpool_limits(limits=1, user_api="blas"):
            sampled = logit_draws(target, source, draws=draws, how=self.chains)
        return {COEFFICIENTS: sampled.points}

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log P of each record's state; see `ColumnModel`."""
        return self.log_contributions(draws, records, np.ones(len(records[self.column].states)))

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """α·log P; see `ColumnModel`."""
        states, points = records[self.column].states, draws[COEFFICIENTS]
        design = self.features.matrix(records, len(states))
        for part in slices(len(points), len(states)):
            logs = own_logs(points[part], design, states)
            logs *= weights
            yield logs

    def draw(self, theta: Theta, drawn: Records, uniforms: Floats) -> Drawn:
        """States by inversion of the first row of uniform numbers; see `ColumnModel`."""
        linear = self.features.linear(theta[COEFFICIENTS])
        parents = self.features.gathered(drawn, uniforms.shape[1])
        return Drawn(outcomes_of(linear, parents, uniforms[0]))

    @cached_property
    def _precisions(self) -> Floats:
        """Of the prior, for the intercept and each feature."""
        slope = self.slope / math.sqrt(max(len(self.parents), 1))
        return np.array([self.intercept**-2.0, *[slope**-2.0] * len(self.features.names)])
