"""Logistic-normal models: bounded numbers and ordered levels given other columns.

y = β₀ + Σ β f + σ·ε, ε standard normal, and p = 1/(1 + e⁻ʸ), where f are the features of the
parents (see `features`). A number is lower + (upper − lower)·p, rounded to what the column holds
(Aitchison & Shen 1980); an ordinal column of K levels is at level ⌊K·p⌋, counted from 0. No number
is clipped at a bound, and skewed columns are as easy as symmetric ones.

A column with spikes or codes of absence first draws a *kind*: ordinary, one of the spikes, one of
the codes; by a multinomial logit with the same features and "ordinary" as reference. Only where it
is ordinary is there a number or a level.

Priors, all independent: β₀ ~ N(0, 1.5²); coefficients N(0, 1/parents); log σ ~ N(−0.3, 0.6²).
Medians of a column then lie between 5 % and 95 % of its range with probability 95 %, and σ between
0.23 and 2.4: from normal-looking numbers with a standard deviation of 6 % of the range to a
U shape. Before anything is known, records are nearly uniform over the range. Of the kinds but
"ordinary", J in all, intercepts are N(−1 − log J, 1.5²), coefficients N(0, 1/parents): a share of
2 % to 87 % for a single one, centred at 27 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from scipy.special import expit, logit

from understudy.arrays import Floats, Integers, compiled
from understudy.features.design import Features, Parents, indicated, outcomes_of, predicted
from understudy.features.number_line import Drawn, Line, line_of, normal_quantiles, settled
from understudy.functions.column_regressions import (
    cuts,
    feature_row,
    linear_and_stddev,
    logit_shares,
    shares_between,
    shares_of_range,
)
from understudy.functions.parameter_prior import LogitWidths, NormalWidths, Prior
from understudy.schema import NUMERIC, Boolean, Categorical, Column

_PLACE = NormalWidths(intercept=1.5, slope=1.0, log_sd_mean=-0.3, log_sd=0.6)
_KIND = LogitWidths(intercept=1.5, slope=1.0)


@dataclass(frozen=True, kw_only=True)
class LogisticNormalWidths:
    """The prior.

    Attributes:
        place: of the parameters of y.
        kind: standard deviations of the logit of kinds.
        kind_mean: mean of its intercepts, where there is one kind beside the ordinary.
    """

    place: NormalWidths = _PLACE
    kind: LogitWidths = _KIND
    kind_mean: float = -1.0


LOGISTIC_NORMAL = LogisticNormalWidths()


@dataclass(frozen=True, eq=False)
class LogisticNormal:
    """The model of a numeric or ordinal column.

    Attributes:
        column: its name.
        declared: the column as the schema declares it.
        features: of its parents.
        widths: the prior.

    Raises:
        ValueError: a column that is neither numeric nor ordinal.
    """

    column: str
    declared: Column
    features: Features
    widths: LogisticNormalWidths = LOGISTIC_NORMAL

    def __post_init__(self) -> None:
        if isinstance(self.declared, Categorical | Boolean):
            raise ValueError("a logistic-normal model is for numbers and ordered levels")

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return self.features.parents

    @cached_property
    def prior(self) -> Prior:
        """The logit of kinds, kind by kind; then β₀, coefficients of the features, log σ."""
        place = self.widths.place.prior(self.column, self.features)
        if not len(self._special):
            return place
        outcomes = [f"{self.column} = {self.declared.labels[k]}" for k in self._special]
        mean = self.widths.kind_mean - log(len(outcomes))
        return Prior.joined([self.widths.kind.prior(outcomes, self.features, mean), place])

    def draw(self, theta: Floats, drawn: Mapping[str, Drawn], uniforms: Floats) -> Drawn:
        """Draw kinds by the first row of uniform numbers, places by the second."""
        parents = self.features.gathered(drawn, uniforms.shape[1])
        kinds, place = np.split(theta, [len(self._special) * (1 + len(self.features.names))])
        linear, stddev = linear_and_stddev(self.features, place)
        p = expit(predicted(linear, parents) + stddev * normal_quantiles(uniforms[1]))
        if isinstance(self.declared, NUMERIC):
            low, high = self.declared.bounds
            records = Drawn(*settled(self._line, low * (1.0 - p) + high * p))
        else:
            records = Drawn(_levels(p, self.declared.n_ordinary))
        self._put_kinds(records, kinds, parents, uniforms[0])
        return records

    def log_shares(self, points: Floats, given: Integers, states: Integers) -> Floats:
        """Log probabilities of states, given one combination of the parents' states."""
        row = feature_row(self.features, given)
        n_kinds, places = len(self._special), self._places[states]
        shares = np.zeros((len(states), len(points)))
        if n_kinds:
            logits = points[:, : n_kinds * len(row)].reshape(len(points), n_kinds, len(row))
            kinds = np.maximum(-places, 0)
            shares += logit_shares(np.ascontiguousarray(logits), row, kinds)
        ordinary = np.flatnonzero(places >= 0)
        place = points[:, n_kinds * len(row) :]
        shares[ordinary] += shares_between(place, row, self._cuts, places[ordinary])
        return shares

    @cached_property
    def _places(self) -> Integers:
        """Of each state: its place among the bins or levels; -1, -2, … of spikes and codes."""
        places = np.empty(self.declared.size, dtype=np.int64)
        numeric = isinstance(self.declared, NUMERIC)
        ordinary = self._line.states if numeric else np.arange(self.declared.n_ordinary)
        places[ordinary] = np.arange(len(ordinary))
        places[self._special] = -1 - np.arange(len(self._special))
        return places

    @cached_property
    def _cuts(self) -> Floats:
        """The y at which a number or level passes to the next bin or level."""
        if not isinstance(self.declared, NUMERIC):
            n = self.declared.n_ordinary
            return np.asarray(logit(np.arange(1, n) / n))
        return np.asarray(logit(shares_of_range(cuts(self._line), *self.declared.bounds)))

    def _put_kinds(self, drawn: Drawn, theta: Floats, parents: Parents, uniforms: Floats) -> None:
        """Write spikes and codes over ordinary records."""
        if not len(self._special):
            return
        linear = self.features.linear(theta.reshape(-1, 1 + len(self.features.names)))
        kinds = outcomes_of(linear, parents, uniforms)
        rows = np.flatnonzero(kinds)
        drawn.states[rows] = self._special[kinds[rows] - 1]
        if drawn.numbers is not None:
            drawn.numbers[rows] = np.nan

    @cached_property
    def _special(self) -> Integers:
        """States of spikes and codes."""
        return np.array(indicated(self.declared), dtype=np.int64)

    @cached_property
    def _line(self) -> Line:
        assert isinstance(self.declared, NUMERIC)
        return line_of(self.declared)


@compiled
def _levels(places: Floats, n_levels: int) -> Integers:
    """Level of each place in [0, 1], shape (n,)."""
    levels = np.empty(len(places), dtype=np.int64)
    for i in range(len(places)):
        levels[i] = min(int(n_levels * places[i]), n_levels - 1)
    return levels
