"""Study 3: a mixed table, released by the mixture model and by histograms within cells.

All sets of some repetitions are drawn at once, through the kernels that releases use; of each only
sums stay (`description`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import Randomness
from understudy.methods.base import CostClass
from understudy.papers.bayesian_models import LocationStatistics, Mixture
from understudy_studies.bowen_liu_2020.mixed import cellwise
from understudy_studies.bowen_liu_2020.mixed.description import Described, described, estimated
from understudy_studies.bowen_liu_2020.mixed.population import (
    BOUNDS,
    CELLS,
    NUMBERS,
    WIDTH,
    Data,
    Scenario,
    drawn,
)
from understudy_studies.framework import interval_tally
from understudy_studies.framework.interval_tally import Values
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row

LOG_EPSILONS = tuple(range(-5, 11))
SETS = 10
BLOCKS = 6
"""Counts, means of both numbers, both variances, covariance: each has a sixth of a set's budget."""

ORIGINAL, MS = "original", "MS"
MODIPS, STRICT = "MODIPS", "MODIPS, strict sensitivities"
PERTURBED = "perturbed histogram"
EMPTY = "empty cells"

MODEL = Mixture(
    np.tile(np.array([BOUNDS]), (NUMBERS, 1)),
    np.ones((CELLS, NUMBERS), dtype=np.bool_),
    np.ones(CELLS, dtype=np.bool_),
)


@dataclass(frozen=True)
class Sensitivities:
    """Of the blocks of statistics.

    Attributes:
        counts: of the cells' counts.
        sums: of a number's sums by cell.
        squares: of a number's scatter within cells.
        products: of the scatter of both.
    """

    counts: float
    sums: float
    squares: float
    products: float


def strict(_n_rows: int) -> Sensitivities:
    """Those of a release, when a record is replaced, which may change its cell."""
    return Sensitivities(2.0, WIDTH, WIDTH**2, 2 * WIDTH**2)


def as_published(n_rows: int) -> Sensitivities:
    """Those of the paper: for a record that keeps its cell, and whose removal changes one count."""
    within = WIDTH**2 * (n_rows - 1) / n_rows
    return Sensitivities(1.0, WIDTH, within, within)


@dataclass(frozen=True)
class Sample:
    """The confidential data of all repetitions, and what a method needs beside them.

    Attributes:
        scenario: their population.
        data: the records.
        exact: their sums, of shape (repetitions,).
        epsilon: budget of the whole release.
        rng: for post-processing.
        randomness: for privacy noise.
    """

    scenario: Scenario
    data: Data
    exact: Described
    epsilon: float
    rng: np.random.Generator
    randomness: Randomness

    @property
    def lead(self) -> tuple[int, int]:
        """Repetitions and sets."""
        return len(self.data.cells), SETS


OTHERS = (
    Scenario(1000, centre=-0.5),
    Scenario(1000, centre=-1.0),
    Scenario(1000, spread=0.0),
    Scenario(1000, spread=2.0),
    Scenario(1000, correlation=0.1),
    Scenario(1000, correlation=0.9),
)
"""Other readings of the population, whose table is lost."""
OTHER_BUDGETS = (-2, 0, 1, 2, 4, 10)
"""Where they are run."""


def scenarios() -> tuple[Scenario, ...]:
    """The population that the paper is judged by, and other readings of it."""
    return (Scenario(1000), *OTHERS)


def cost_class(_scenario: Scenario) -> CostClass:
    """Of the study."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Sums over repetitions, for every estimand, method and budget."""
    streams = Streams(seed)
    data = drawn(scenario, repetitions, streams.generator("sample"))
    exact = described(data.places, data.values.reshape(-1, NUMBERS), repetitions)
    rows = list(_rows(scenario, ORIGINAL, None, exact.reshaped(repetitions, 1)))

    def sample(epsilon: float, *purpose: object) -> Sample:
        rng, randomness = streams.generator(*purpose), streams.randomness(*purpose)
        return Sample(scenario, data, exact, epsilon, rng, randomness)

    rows += _rows(scenario, MS, None, multiple_synthesis(sample(math.inf, MS)))
    rows += [
        {"estimand": name, "method": PERTURBED, "log_epsilon": None, "bins": bins, "n": n}
        for name, bins, n in cellwise.numbers_of_bins(data, exact)
    ]
    other = scenario in OTHERS
    for log_epsilon in OTHER_BUDGETS if other else LOG_EPSILONS:
        for method in OTHER_METHODS if other else METHODS:
            synthesize = METHODS[method]
            found = synthesize(sample(math.exp(log_epsilon), method, log_epsilon))
            rows += _rows(scenario, method, log_epsilon, found)
    return rows


def _rows(
    scenario: Scenario, method: str, log_epsilon: float | None, sets: Described
) -> Iterator[Row]:
    for name, found, truth in estimated(sets, scenario):
        yield interval_tally.totals(name, method, log_epsilon, found, truth)
    empty = sets.counts == 0
    yield {
        "estimand": EMPTY,
        "method": method,
        "log_epsilon": log_epsilon,
        "empty": int(empty.sum()),
        "n": int(empty[..., 0].size),
    }


def multiple_synthesis(sample: Sample) -> Described:
    """Classical multiple synthesis: the model with exact statistics."""
    counts, sums, scatter = (
        np.repeat(one[:, None], SETS, axis=1)
        for one in (sample.exact.counts, sample.exact.sums, sample.exact.scatter)
    )
    n_rows = float(sample.scenario.n_rows)
    repeated = LocationStatistics(counts, sums, scatter, n_rows=n_rows, exact=True)
    return modelled(sample, repeated)


def modips(sample: Sample) -> Described:
    """MODIPS as published: noise in the means of the cells, of a scale that has the private n_k."""
    return modelled(sample, noisy(sample, as_published(sample.scenario.n_rows), means=True))


def modips_strict(sample: Sample) -> Described:
    """MODIPS with the sensitivities of a release: noise in the sums of the cells."""
    return modelled(sample, noisy(sample, strict(sample.scenario.n_rows), means=False))


def noisy(sample: Sample, each: Sensitivities, *, means: bool) -> LocationStatistics:
    """Statistics of every set with noise, each block at ε/(6m).

    Args:
        sample: the data.
        each: sensitivities.
        means: whether means get the noise of sums over n_k, or sums do.
    """
    lead, exact = sample.lead, sample.exact
    unit = BLOCKS * lead[1] / sample.epsilon

    def noise(sensitivity: float, *shape: int) -> Values:
        distribution = ContinuousLaplace(sensitivity * unit)
        return perturb(np.zeros((*lead, *shape)), distribution, sample.randomness)

    # One more number, as a release counts what lies outside the domain too.
    counts = exact.counts[:, None] + noise(each.counts, CELLS + 1)[..., :CELLS]
    of_sums = np.stack([noise(each.sums, CELLS) for _ in range(NUMBERS)], axis=-1)
    if means:
        real = np.maximum(exact.counts, 1)[:, None, :, None]
        middles = (exact.sums[:, None] + of_sums * (exact.counts > 0)[:, None, :, None]) / real
        sums = middles * np.maximum(counts, 1)[..., None]
    else:
        sums = exact.sums[:, None] + of_sums
    first, product, second = (noise(size) for size in (each.squares, each.products, each.squares))
    scatter = np.stack([first, product, product, second], axis=-1)
    scatter = exact.scatter[:, None] + scatter.reshape(*lead, NUMBERS, NUMBERS)
    return LocationStatistics(counts, sums, scatter, n_rows=float(sample.scenario.n_rows))


def modelled(sample: Sample, statistics: LocationStatistics) -> Described:
    """Sets from the mixture model given statistics, noisy or not, of shape (repetitions, m)."""
    lead, n = sample.lead, sample.scenario.n_rows
    theta = MODEL.posterior(statistics, sample.rng)
    records = MODEL.predict(theta, n, sample.rng)
    data = Data(records.cells.reshape(-1, n), records.values.reshape(-1, n, NUMBERS))
    sets = described(data.places, data.values.reshape(-1, NUMBERS), len(data.cells))
    return sets.reshaped(*lead)


def perturbed(sample: Sample) -> Described:
    """Noise in the table of cells and in the histograms within cells, half of ε/m each."""
    scale = 2 * SETS / sample.epsilon
    counts = sample.exact.counts[:, None]
    counts = np.repeat(counts, SETS, axis=1)
    table = perturb(counts, ContinuousLaplace(scale), sample.randomness)
    places, values = cellwise.records(
        sample.data,
        sample.exact,
        table,
        scale=scale,
        rng=sample.rng,
        randomness=sample.randomness,
    )
    return described(places, values, math.prod(sample.lead)).reshaped(*sample.lead)


METHODS: dict[str, Callable[[Sample], Described]] = {
    MODIPS: modips,
    STRICT: modips_strict,
    PERTURBED: perturbed,
}
OTHER_METHODS = (MODIPS, PERTURBED)
"""What is run in the other populations."""


def summarise(scenario: Scenario, rows: list[Row]) -> list[Row]:
    """Rows of `results.csv`; empty cells of a set on average, and medians of the bins of a cell."""
    kept = [row for row in rows if row.get("error") is not None]
    return [*interval_tally.summarise(scenario, kept), *_empty(rows), *_bins(rows)]


def _empty(rows: list[Row]) -> Iterator[Row]:
    merged: dict[tuple[str, float | None], tuple[int, int]] = {}
    for row in rows:
        if row["estimand"] == EMPTY:
            key = row["method"], row["log_epsilon"]
            empty, n = merged.get(key, (0, 0))
            merged[key] = empty + row["empty"], n + row["n"]
    for (method, log_epsilon), (empty, n) in merged.items():
        head = {"estimand": EMPTY, "method": method, "log_epsilon": log_epsilon}
        yield head | {"empty_cells": empty / n}


def _bins(rows: list[Row]) -> Iterator[Row]:
    merged: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("bins") is not None:
            merged.setdefault(row["estimand"], []).append(row)
    for name, here in merged.items():
        numbers = np.repeat([row["bins"] for row in here], [row["n"] for row in here])
        head = {"estimand": name, "method": PERTURBED, "log_epsilon": None}
        yield head | {"bins_median": float(np.median(numbers))}
