"""Regressions of one column on others: normal ones for numbers, multinomial logits for categories.

**Normal**: a number given other columns, as the pMSE mechanism was published.

z = β₀ + Σ β f + σ·ε, ε standard normal, where z is the number in units in which its public bounds
are −1 and 1, and f are the features of the parents (see `features`); for numeric parents these are
their own z. Numbers are then kept within the bounds and rounded to what the column holds, as
`features.number_line` does it. Source: Snoke & Slavković (2018), §6.

**Multinomial logits**: a category given other columns.

P(k) ∝ exp(β₀ₖ + Σ βₖ f) over the states k, codes of absence among them, where the first state is
the reference with β = 0 and f are the features of the parents (see `features`). A state is drawn by
inversion: the first whose cumulative probability exceeds the uniform number.

**Probabilities of states** are given the states of the parents alone, one combination at a time. A
numeric parent stands at the middle of its bin, where a regression that draws sees its number:
within narrow bins it is the same. So each probability is a function of a record's own states and of
θ. Sums run in one fixed order, in compiled loops over one number after the other, so that not even
rounding depends on anything else. Where numbers of a column fall into its bins (`cuts`) is found by
bisection of the very function that settles drawn numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import erfc, sqrt

import numpy as np

from understudy.arrays import Floats, Integers, compiled
from understudy.errors import MethodError
from understudy.features.design import Features, Linear, outcomes_of, predicted
from understudy.features.number_line import Drawn, Line, line_of, normal_quantiles, settled
from understudy.functions.parameter_prior import LOGIT, NORMAL, LogitWidths, NormalWidths, Prior
from understudy.schema import NUMERIC, Column

LARGEST_LOG = 600.0
"""Beyond it, σ would be no number."""
_HALVINGS = 1100
"""Enough for any two float64 to become neighbours."""


@dataclass(frozen=True, eq=False)
class MultinomialLogit:
    """The model of a categorical or boolean column.

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


@dataclass(frozen=True, eq=False)
class NormalRegression:
    """The model of a numeric column without codes and spikes.

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
    interval = column.intervals[state]
    return np.array([interval.low / 2 + interval.high / 2])


@compiled
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
    shares, etas = np.empty((len(outcomes), n)), np.zeros(m + 1)
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
            shares[i, g] = etas[outcomes[i]] - top - np.log(total)
    return shares


@compiled
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
    shares = np.empty((len(bins), n))
    for g in range(n):
        eta = 0.0
        for j in range(width):
            eta += coefficients[g, j] * row[j]
        for i in range(len(bins)):
            low = (cuts[bins[i] - 1] - eta) / stddevs[g] if bins[i] > 0 else -np.inf
            high = (cuts[bins[i]] - eta) / stddevs[g] if bins[i] < len(cuts) else np.inf
            shares[i, g] = np.log(_between(low, high))
    return shares


@compiled
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
