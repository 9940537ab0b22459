"""Study 2: mean and variance of one bounded number, released by models and by histograms.

Synthetic records are drawn through the kernels that releases use, with leading axes for repetitions
and sets, in pieces that fit into the processor's cache; of each set only mean and variance stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import Randomness
from understudy.mechanisms.urn import prior_weight
from understudy.methods.base import CostClass
from understudy.papers import bayesian_models
from understudy_studies.bowen_liu_2020 import histograms
from understudy_studies.framework import interval_tally
from understudy_studies.framework.interval_tally import Values, pooled
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row

N_ROWS = (40, 100, 1000)
VARIANCES = (0.25, 1.0, 4.0)
LOG_EPSILONS = tuple(range(-5, 11))
SETS = 10

MEAN, VARIANCE, BINS = "μ", "σ²", "bins"
ORIGINAL, MS = "original", "MS"
SPLIT, NONSPLIT = "MODIPS, split", "MODIPS, non-split"
PERTURBED, SMOOTHED = "perturbed histogram", "smoothed histogram"
PRIVATE = (SPLIT, NONSPLIT, PERTURBED, SMOOTHED)
OTHER_RULES: dict[str, histograms.Rule] = {
    "perturbed histogram, Sturges": "sturges",
    "perturbed histogram, Freedman & Diaconis": "fd",
}
"""The perturbed histogram in bins by the rules that the paper compared with Scott's."""
RULE_BUDGETS = (-2, 0, 2, 4, 10)
"""Where they are run."""

Shape = Literal["asymmetric", "symmetric"]
ASYMMETRIC: Shape = "asymmetric"
SYMMETRIC: Shape = "symmetric"
ENDS: dict[Shape, tuple[float, float]] = {ASYMMETRIC: (-3.0, 4.0), SYMMETRIC: (-4.0, 4.0)}
"""Bounds of the data in standard deviations."""


@dataclass(frozen=True)
class Scenario:
    """A population.

    Attributes:
        shape: whether the bounds lie symmetric about the mean.
        variance: σ² of the normal distribution before data are clipped to the bounds.
        n_rows: number of records, public.
    """

    shape: Shape
    variance: float
    n_rows: int

    @property
    def bounds(self) -> tuple[float, float]:
        """Public bounds."""
        low, high = ENDS[self.shape]
        return low * math.sqrt(self.variance), high * math.sqrt(self.variance)

    @property
    def width(self) -> float:
        """Distance of the bounds."""
        return self.bounds[1] - self.bounds[0]


class Moments(NamedTuple):
    """Mean and variance (divisor n - 1) of each set, shape (repetitions, m)."""

    mean: Values
    variance: Values


def scenarios() -> tuple[Scenario, ...]:
    """Nine populations within asymmetric bounds, and nine within symmetric ones."""
    return tuple(
        Scenario(shape, variance, n_rows)
        for shape in ENDS
        for variance in VARIANCES
        for n_rows in N_ROWS
    )


def cost_class(_scenario: Scenario) -> CostClass:
    """All are fast."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Sums over repetitions, for every method and budget."""
    streams = Streams(seed)
    data = drawn(scenario, repetitions, streams.generator("sample"))
    exact = moments(data)
    rows = list(_rows(scenario, ORIGINAL, None, exact))
    binned = tuple(histograms.binned(data, scenario.bounds, exact.variance[:, 0]))
    others = {
        method: tuple(histograms.by_rule(data, scenario.bounds, rule))
        for method, rule in OTHER_RULES.items()
    }
    sample = Sample(scenario, _repeated(exact), binned, others)
    rows += _rows(scenario, MS, None, modelled(scenario, sample.exact, streams.generator(MS)))
    for method, found in ({PERTURBED: binned} | others).items():
        head = {"estimand": BINS, "method": method, "log_epsilon": None}
        rows += [head | {"bins": one.n_bins, "n": one.places.size} for one in found]
    for log_epsilon in LOG_EPSILONS:
        for method in (*PRIVATE, *(OTHER_RULES if log_epsilon in RULE_BUDGETS else ())):
            purpose = method, log_epsilon
            rng, randomness = streams.generator(*purpose), streams.randomness(*purpose)
            sets = released(sample, method, math.exp(log_epsilon), rng, randomness)
            rows += _rows(scenario, method, log_epsilon, sets)
    return rows


def drawn(scenario: Scenario, repetitions: int, rng: np.random.Generator) -> Values:
    """Confidential data, shape (repetitions, n): normal numbers, clipped to the bounds."""
    drawn = rng.standard_normal((repetitions, scenario.n_rows)) * math.sqrt(scenario.variance)
    return np.clip(drawn, *scenario.bounds)


def moments(records: Values) -> Moments:
    """Mean and variance of the only set of every repetition, shape (repetitions, 1)."""
    mean, variance = mean_and_variance(records)
    return Moments(mean[:, None], variance[:, None])


def mean_and_variance(records: Values) -> tuple[Values, Values]:
    """Over the last axis, with the divisor n - 1.

    The mean of these data is within a few standard deviations of 0, so sums of squares lose
    nothing to rounding.
    """
    n = records.shape[-1]
    mean = records.sum(axis=-1) / n
    squares = np.einsum("...i,...i->...", records, records)
    return mean, np.maximum(squares - n * mean**2, 0.0) / (n - 1)


def _repeated(exact: Moments) -> Moments:
    return Moments(*(np.repeat(values, SETS, axis=1) for values in exact))


def _rows(
    scenario: Scenario, method: str, log_epsilon: float | None, found: Moments
) -> Iterator[Row]:
    """Sums for both estimands: u = s²/n for the mean, u = 2s⁴/(n - 1) for the variance."""
    n = scenario.n_rows
    of_mean = pooled(found.mean, found.variance / n)
    yield interval_tally.totals(MEAN, method, log_epsilon, of_mean, 0.0)
    of_variance = pooled(found.variance, 2 * found.variance**2 / (n - 1))
    yield interval_tally.totals(VARIANCE, method, log_epsilon, of_variance, scenario.variance)


@dataclass(frozen=True)
class Sample:
    """The confidential data of all repetitions, as far as methods use them.

    Attributes:
        scenario: their population.
        exact: mean and variance, repeated for every set, shape (repetitions, m).
        binned: their histograms, in bins by Scott's rule.
        others: method of `OTHER_RULES` → their histograms in its bins.
    """

    scenario: Scenario
    exact: Moments
    binned: tuple[histograms.Binned, ...]
    others: Mapping[str, tuple[histograms.Binned, ...]] = field(default_factory=dict)


def released(
    sample: Sample,
    method: str,
    epsilon: float,
    rng: np.random.Generator,
    randomness: Randomness,
) -> Moments:
    """Sets of a private method, shape (repetitions, m).

    Args:
        sample: the data.
        method: one of `PRIVATE` or of `OTHER_RULES`.
        epsilon: budget of the whole release.
        rng: for post-processing.
        randomness: for privacy noise.
    """
    if method in {SPLIT, NONSPLIT}:
        scales = modips_scales(sample.scenario, epsilon, split=method == SPLIT)
        noisy = (
            perturb(values, ContinuousLaplace(scale), randomness)
            for values, scale in zip(sample.exact, scales, strict=True)
        )
        return modelled(sample.scenario, Moments(*noisy), rng)
    how = histograms.Drawing(sample.scenario.n_rows, sample.scenario.bounds, rng, randomness)
    m = 1 if method == SMOOTHED else SETS
    shape = (len(sample.exact.mean), m)
    found = Moments(np.empty(shape), np.empty(shape))
    for one in sample.others.get(method, sample.binned):
        if method != SMOOTHED:
            pieces = histograms.perturbed(one, how, sets=m, scale=m / epsilon)
        else:
            prior = prior_weight(how.n_rows, Fraction(epsilon), reinforced=False)
            pieces = histograms.smoothed(one, how, prior)
        for places, records in pieces:
            found.mean[places], found.variance[places] = mean_and_variance(records)
    return found


def modips_scales(scenario: Scenario, epsilon: float, *, split: bool) -> tuple[float, float]:
    """Scales of the noise of mean and variance in one of the sets.

    Sensitivities are R/n and R²/n. Split: half of the budget for each; non-split: both get noise of
    the scale of their sum.
    """
    each = scenario.width / scenario.n_rows, scenario.width**2 / scenario.n_rows
    if split:
        return 2 * SETS * each[0] / epsilon, 2 * SETS * each[1] / epsilon
    return sum(each) * SETS / epsilon, sum(each) * SETS / epsilon


def modelled(scenario: Scenario, statistics: Moments, rng: np.random.Generator) -> Moments:
    """Sets from the normal model given statistics, noisy or not, shape (repetitions, m)."""
    n, bounds = scenario.n_rows, scenario.bounds
    drawn = bayesian_models.normal_posterior(
        statistics.mean, statistics.variance, n, rng, bounds=bounds
    )
    mean, stddev = drawn.mean.ravel(), drawn.stddev.ravel()
    found = Moments(np.empty_like(mean), np.empty_like(mean))
    step = max(1, histograms.PIECE // n)
    buffer = np.empty((step, n))
    for start in range(0, mean.size, step):
        piece = slice(start, start + step)
        theta = bayesian_models.NormalParameters(mean[piece], stddev[piece])
        out = buffer[: theta.mean.size]
        bayesian_models.predict_normal(theta, n, rng, bounds=bounds, out=out)
        found.mean[piece], found.variance[piece] = mean_and_variance(out)
    shape = statistics.mean.shape
    return Moments(found.mean.reshape(shape), found.variance.reshape(shape))


def summarise(scenario: Scenario, rows: list[Row]) -> list[Row]:
    """Rows of `results.csv`; the numbers of bins with their quartiles."""
    found = interval_tally.summarise(scenario, [row for row in rows if row["estimand"] != BINS])
    return [*found, *_numbers_of_bins(rows)]


def _numbers_of_bins(rows: list[Row]) -> Iterator[Row]:
    bins = [row for row in rows if row["estimand"] == BINS]
    for method in dict.fromkeys(row["method"] for row in bins):
        here = [row for row in bins if row["method"] == method]
        numbers = np.repeat([row["bins"] for row in here], [row["n"] for row in here])
        low, middle, high = np.quantile(numbers, [0.25, 0.5, 0.75])
        head = {name: here[0][name] for name in ("estimand", "method", "log_epsilon")}
        yield head | {"bins_low": low, "bins_median": middle, "bins_high": high}
