"""Generators that draw one column after the other, each given columns drawn before it.

G(θ, ω) is a record-wise function: records in impossible combinations may come out, for the models
of columns know no rules. `GeneratedModel` (`papers.column_models`) draws such
records again.

Source: Snoke & Slavković (2018), "pMSE mechanism: differentially private synthetic data with
maximal distributional similarity", for sequential normal regressions; Raghunathan, Lepkowski, Van
Hoewyk & Solenberger (2001) for sequential regressions of mixed types.

A generator is made of a network, of columns each with parents that stand before it, and of a model
of each column given its parents. A column model turns parameters θ, the parents' records and
uniform numbers ω into records. Nothing else is random: the same θ and ω give the same records, so
that what is computed from them is a function of θ alone, and how it changes with θ is no matter of
chance (common random numbers).

Every column model has

* `column`, its name, and `parents`, the names of the columns that it is drawn given;
* `prior`, of its p parameters;
* `draw(theta, drawn, uniforms)`: the column, from its parameters, shape (p,), records of the
  parents, n each, and numbers in (0, 1), shape (2, n): for the state or the kind of state, and for
  the number;
* `log_shares(points, given, states)`: log probabilities of k states at G points, shape (k, G),
  given one combination of the parents' states; a function of θ and of these states alone, to the
  last bit. Numeric parents stand at the middle of their bins.

The list is closed: a mechanism asks column models about rows, so it knows them by name.

**Regressions of one column on others: normal ones for numbers, multinomial logits for categories.**

**Normal**: a number given other columns, as the pMSE mechanism was published.

z = β₀ + Σ β f + σ·ε, ε standard normal, where z is the number in units in which its public bounds
are −1 and 1, and f are the features of the parents (see `features`); for numeric parents these are
their own z. Numbers are then kept within the bounds and rounded to what the column holds, as
`features.grids` does it. Source: Snoke & Slavković (2018), §6.

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

**Logistic-normal models: bounded numbers and ordered levels given other columns.**

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

**Priors over the parameters of a generator, and public points that cover them evenly.**

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

**Public simulated sets as functions of parameters: Z(θ) = G(θ, ω), with ω drawn once and for all.**

ω never depends on rows. With it fixed, how well anything tells Z(θ) from a table is a function of θ
and the table alone, so that a score of θ has the sensitivity of the comparison, whatever ω is, and
a mixture over ω has the guarantee of each ω (methods with *fresh* records at each evaluation have
neither the density they state nor this argument).

Records here are not conditioned on structural zeros: that would need an unknown number of draws.
`GeneratedModel.sample` conditions on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from math import erfc, log, sqrt
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.errors import MethodError
from understudy.features.design import (
    Features,
    Linear,
    Parents,
    list_indicated,
    outcomes_of,
    predict,
)
from understudy.features.grids import Drawn, Line, line_of, normal_quantiles, settle_numbers
from understudy.models.model import Edge, require_network
from understudy.schema import NUMERIC, Boolean, Categorical, Column, Ordinal, Schema

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
    def join(cls, priors: Sequence[Prior]) -> Prior:
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
        if p > (most := scipy.stats.qmc.Sobol.MAXDIM):
            raise MethodError(
                f"A grid of points has at most {most} parameters, and this generator "
                f"has {p}; give its columns fewer parents, or coarser categories."
            )
        points = np.empty((n, p))
        points[:1] = self.means
        if n > 1 and p:
            places = even_points(n - 1, p, SCRAMBLING)
            points[1:] = self.means + self.stddevs * scipy.special.ndtri(places)
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
    sequence = scipy.stats.qmc.Sobol(p, scramble=True, seed=seed)
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
        slope = share_slope(self.slope, features)
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
        slope = share_slope(self.slope, features)
        means = np.zeros(len(terms))
        means[-1] = self.log_sd_mean
        stddevs = np.array([self.intercept, *[slope] * len(features.names), self.log_sd])
        return Prior(tuple(f"{column}: {term}" for term in terms), means, stddevs)


NORMAL = NormalWidths()


def share_slope(slope: float, features: Features) -> float:
    """Standard deviation of a coefficient, where the parents together have `slope`."""
    return slope / sqrt(max(len(features.parents), 1))


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
        parents = self.features.gather(drawn, uniforms.shape[1])
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
        parents = self.features.gather(drawn, uniforms.shape[1])
        places = predict(linear, parents) + stddev * normal_quantiles(uniforms[1])
        low, high = self._line.low, self._line.high
        numbers = low / 2 + high / 2 + (high / 2 - low / 2) * places
        return Drawn(*settle_numbers(self._line, numbers))

    def log_shares(self, points: Floats, given: Integers, states: Integers) -> Floats:
        """Log probabilities of states, given one combination of the parents' states."""
        row = feature_row(self.features, given)
        return shares_between(points, row, self._cuts, np.argsort(self._line.states)[states])

    @cached_property
    def _cuts(self) -> Floats:
        """Ends of bins, in units in which the bounds are −1 and 1."""
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
            shares[i, g] = np.log(_normal_mass(low, high))
    return shares


@compiled
def _normal_mass(low: float, high: float) -> float:
    """Φ(high) - Φ(low), from the nearer tail."""
    if low > 0:
        return 0.5 * (erfc(low / sqrt(2.0)) - erfc(high / sqrt(2.0)))
    if high < 0:
        return 0.5 * (erfc(-high / sqrt(2.0)) - erfc(-low / sqrt(2.0)))
    return 1.0 - 0.5 * (erfc(-low / sqrt(2.0)) + erfc(high / sqrt(2.0)))


def cuts(line: Line) -> Floats:
    """Find where drawn numbers pass from one bin of a numeric column to the next.

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
        above = settle_numbers(line, middle)[1] >= edges
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high


def shares_of_range(numbers: Floats, low: float, high: float) -> Floats:
    """Compute how far numbers lie between bounds, from 0 to 1; nothing overflows."""
    return np.asarray((numbers / 2 - low / 2) / (high / 2 - low / 2 or 1.0))


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
        return Prior.join([self.widths.kind.prior(outcomes, self.features, mean), place])

    def draw(self, theta: Floats, drawn: Mapping[str, Drawn], uniforms: Floats) -> Drawn:
        """Draw kinds by the first row of uniform numbers, places by the second."""
        parents = self.features.gather(drawn, uniforms.shape[1])
        kinds, place = np.split(theta, [len(self._special) * (1 + len(self.features.names))])
        linear, stddev = linear_and_stddev(self.features, place)
        p = scipy.special.expit(predict(linear, parents) + stddev * normal_quantiles(uniforms[1]))
        if isinstance(self.declared, NUMERIC):
            low, high = self.declared.bounds
            records = Drawn(*settle_numbers(self._line, low * (1.0 - p) + high * p))
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
            return np.asarray(scipy.special.logit(np.arange(1, n) / n))
        return np.asarray(
            scipy.special.logit(shares_of_range(cuts(self._line), *self.declared.bounds))
        )

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
        return np.array(list_indicated(self.declared), dtype=np.int64)

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


ColumnGenerator = LogisticNormal | MultinomialLogit | NormalRegression
"""The model of one column given its parents."""


@dataclass(frozen=True, eq=False)
class SequentialGenerator:
    """G: parameters and uniform numbers → records.

    Attributes:
        schema: columns, in whose bins states are.
        column_models: one per column of the schema, parents before children.

    Raises:
        ValueError: column models that are no network of the schema's columns.
    """

    schema: Schema
    column_models: tuple[ColumnGenerator, ...]

    def __post_init__(self) -> None:
        require_network(
            [(column_model.column, column_model.parents) for column_model in self.column_models],
            self.schema.names,
        )

    @cached_property
    def prior(self) -> Prior:
        """Of all parameters, column by column."""
        return Prior.join([column_model.prior for column_model in self.column_models])

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Places of the parameters of each column in θ."""
        ends = accumulate(
            (len(column_model.prior.names) for column_model in self.column_models), initial=0
        )
        return tuple(slice(start, end) for start, end in pairwise(ends))

    def records(self, theta: Floats, uniforms: Floats) -> dict[str, Drawn]:
        """Draw records.

        Args:
            theta: shape (p,).
            uniforms: in (0, 1), shape (columns, 2, n), in the order of `column_models`.

        Returns:
            For each column, in the order of `column_models`, n records.
        """
        drawn: dict[str, Drawn] = {}
        for column_model, part, numbers in zip(
            self.column_models, self.parts, uniforms, strict=True
        ):
            drawn[column_model.column] = column_model.draw(theta[part], drawn, numbers)
        return drawn


def regressions(
    schema: Schema,
    edges: Sequence[Edge],
    *,
    numbers: Literal["logistic-normal", "normal"] = "logistic-normal",
    logit: LogitWidths = LOGIT,
    logistic: LogisticNormalWidths = LOGISTIC_NORMAL,
    normal: NormalWidths = NORMAL,
) -> SequentialGenerator:
    """Regressions of mixed types: a model for each kind of column.

    Categorical and boolean columns have multinomial logits, and so have ordinal ones of one or two
    levels; other ordinal columns have logistic-normal models.

    Args:
        schema: the columns.
        edges: each column with its parents, which stand before it.
        numbers: model of the numeric columns. "normal" is for those without codes and spikes.
        logit: how wide the priors of multinomial logits are.
        logistic: the same of logistic-normal models.
        normal: the same of normal regressions.

    Raises:
        ValueError: edges that are no network.
        MethodError: `numbers="normal"` and a numeric column with codes or spikes.
    """
    require_network(edges, schema.names)

    def column_model(name: str, parents: tuple[str, ...]) -> ColumnGenerator:
        column, features = schema.columns[name], Features.of(schema, parents)
        if isinstance(column, Categorical | Boolean) or _is_short(column):
            return MultinomialLogit(name, column, features, logit)
        if isinstance(column, NUMERIC) and numbers == "normal":
            return NormalRegression(name, column, features, normal)
        return LogisticNormal(name, column, features, logistic)

    return SequentialGenerator(
        schema, tuple(column_model(name, tuple(given)) for name, given in edges)
    )


def normal_regressions(
    schema: Schema, edges: Sequence[Edge], *, widths: NormalWidths = NORMAL
) -> SequentialGenerator:
    """Normal linear regressions throughout, as in Snoke & Slavković (2018).

    Args:
        schema: numeric columns without codes and spikes.
        edges: each column with its parents, which stand before it.
        widths: how wide the priors are.

    Raises:
        ValueError: edges that are no network.
        MethodError: another kind of column.
    """
    for name, column in schema.columns.items():
        if not isinstance(column, NUMERIC):
            raise MethodError(
                f"The column {name!r} is not numeric, and normal regressions are for numeric "
                "columns only; leave it out, or use regressions of mixed types."
            )
    return regressions(schema, edges, numbers="normal", normal=widths)


def _is_short(column: Column) -> bool:
    """Return whether an ordinal column has no more than an intercept could say."""
    return isinstance(column, Ordinal) and column.n_ordinary <= 2


Codes = tuple[NDArray[np.int64], ...]


def even_numbers(sets: int, columns: int, n: int, seed: int) -> Floats:
    """ω, laid evenly rather than drawn: the luck of one ω would be a bias that all θ share.

    Each set has a scrambled Sobol sequence of its own, whose points are its records.

    Args:
        sets: how many.
        columns: of each record, at most 10,600.
        n: records of each set.
        seed: public.

    Returns:
        In (0, 1), shape (sets, columns, 2, n).
    """
    seeds = np.random.SeedSequence(seed).generate_state(sets).tolist()
    points = np.stack([even_points(n, 2 * columns, seed).T for seed in seeds])
    return np.ascontiguousarray(points).reshape(sets, columns, 2, n)


@dataclass(frozen=True, eq=False)
class SimulatedRecords:
    """All columns at once.

    Attributes:
        generator: G.
        uniforms: ω in (0, 1), shape (columns, 2, n), in the order in which columns are drawn.

    Raises:
        ValueError: uniforms of another shape.
    """

    generator: SequentialGenerator
    uniforms: Floats

    def __post_init__(self) -> None:
        if self.uniforms.ndim != 3 or self.uniforms.shape[:2] != (
            len(self.generator.column_models),
            2,
        ):
            raise ValueError("uniforms have the shape (columns, 2, n)")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the schema."""
        return self.generator.schema.names

    @property
    def n_records(self) -> int:
        """n, records in a set."""
        return int(self.uniforms.shape[-1])

    @property
    def prior(self) -> Prior:
        """Of all parameters."""
        return self.generator.prior

    def codes(self, theta: Floats) -> Codes:
        """States of the records, one array of shape (n,) per column.

        Args:
            theta: shape (p,).
        """
        drawn = self.generator.records(theta, self.uniforms)
        return tuple(drawn[name].states for name in self.columns)


@dataclass(frozen=True, eq=False)
class SimulatedColumn:
    """One column given its parents, whose records follow from parameters chosen before.

    Attributes:
        generator: G.
        place: of the column's model in the generator.
        drawn: records of the parents at least, n each.
        uniforms: the column's part of ω, in (0, 1), shape (2, n).

    Raises:
        ValueError: uniforms of another shape, or a parent that was not drawn.
    """

    generator: SequentialGenerator
    place: int
    drawn: Mapping[str, Drawn]
    uniforms: Floats

    def __post_init__(self) -> None:
        if self.uniforms.ndim != 2 or len(self.uniforms) != 2:
            raise ValueError("uniforms of one column have the shape (2, n)")
        if not set(self._model_parents) <= set(self.drawn):
            raise ValueError("a column is drawn after its parents")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the parents, then of the column."""
        column_model = self.generator.column_models[self.place]
        return (*column_model.parents, column_model.column)

    @property
    def n_records(self) -> int:
        """n, records in a set."""
        return int(self.uniforms.shape[-1])

    @property
    def prior(self) -> Prior:
        """Of the column's parameters."""
        return self.generator.column_models[self.place].prior

    def codes(self, theta: Floats) -> Codes:
        """States of the parents, which are the same for every θ, then of the column.

        Args:
            theta: the column's parameters, shape (p,).
        """
        column_model = self.generator.column_models[self.place]
        states = column_model.draw(theta, self.drawn, self.uniforms).states
        return (*(self.drawn[name].states for name in column_model.parents), states)

    @property
    def _model_parents(self) -> tuple[str, ...]:
        return self.generator.column_models[self.place].parents
