"""What is taken of a set: counts, sums and scatter, and the estimates with their variances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy_studies.bowen_liu_2020.mixed import population
from understudy_studies.bowen_liu_2020.mixed.population import CELLS, NUMBERS, Scenario
from understudy_studies.framework.interval_tally import Intervals, Values, pooled, pooled_where

GROUPS = ("cell means", "marginal shares", "cell shares", "σ₁²", "σ₂²", "σ₁₂", "ρ")
MEANS, MARGINALS, CELL_SHARES, FIRST, SECOND, PRODUCT, CORRELATION = GROUPS


@dataclass(frozen=True)
class Described:
    """Sums over the records of sets.

    Attributes:
        counts: records in each cell, shape (..., 24).
        sums: of the numbers by cell, shape (..., 24, 2).
        scatter: pooled within cells, shape (..., 2, 2).
        fourth: sums of fourth powers of the residuals from the cells' means, shape (..., 2).
    """

    counts: Values
    sums: Values
    scatter: Values
    fourth: Values

    def reshaped(self, *lead: int) -> Described:
        """The same with other leading axes."""
        return Described(
            self.counts.reshape(*lead, CELLS),
            self.sums.reshape(*lead, CELLS, NUMBERS),
            self.scatter.reshape(*lead, NUMBERS, NUMBERS),
            self.fourth.reshape(*lead, NUMBERS),
        )


def described(places: NDArray[np.int64], values: Values, sets: int) -> Described:
    """Sums over records in any order.

    Args:
        places: 24 · set + cell of each record, shape (records,).
        values: its numbers, shape (records, 2).
        sets: number of sets.
    """
    size = sets * CELLS
    counts = np.bincount(places, minlength=size)
    sums = np.stack([_summed(places, values[:, j], size) for j in range(NUMBERS)], axis=1)
    residuals = values - (sums / np.maximum(counts, 1)[:, None])[places]
    owner = places // CELLS

    first, second = residuals[:, 0], residuals[:, 1]
    squares = first * first, first * second, second * second
    scatter = np.stack([_summed(owner, squares[k], sets) for k in (0, 1, 1, 2)], axis=1)
    fourth = np.stack([_summed(owner, squares[k] ** 2, sets) for k in (0, 2)], axis=1)
    return Described(
        counts.astype(np.float64).reshape(sets, CELLS),
        sums.reshape(sets, CELLS, NUMBERS),
        scatter.reshape(sets, NUMBERS, NUMBERS),
        fourth,
    )


def _summed(places: NDArray[np.int64], weights: Values, size: int) -> Values:
    return np.asarray(np.bincount(places, weights=weights, minlength=size), dtype=np.float64)


def estimated(sets: Described, scenario: Scenario) -> Iterator[tuple[str, Intervals, float]]:
    """Intervals for every estimand: its name, intervals, true value.

    A cell's mean is pooled over those sets that have records in the cell.

    Args:
        sets: of shape (repetitions, m).
        scenario: the population, with n records in every set.
    """
    yield from _shares(sets, scenario)
    n = scenario.n_rows
    occupied = (sets.counts > 0).sum(axis=-1)
    covariance = sets.scatter / np.maximum(n - occupied, 1)[..., None, None]
    yield from _means(sets, covariance, population.means(scenario.centre, scenario.spread))
    squares = np.diagonal(sets.scatter, axis1=-2, axis2=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(squares > 0, n * sets.fourth / squares**2, 3.0) - 3.0
    for j, name in enumerate((FIRST, SECOND)):
        q = covariance[..., j, j]
        u = np.maximum(q**2 * (2 / (n - 1) + excess[..., j] / n), 0.0)
        yield name, pooled(q, u), population.VARIANCE
    product, both = covariance[..., 0, 1], covariance[..., 0, 0] * covariance[..., 1, 1]
    truth = population.VARIANCE * scenario.correlation
    yield PRODUCT, pooled(product, (both + product**2) / (n - 1)), truth
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(both > 0, np.clip(product / np.sqrt(both), -1, 1), 0.0)
    yield CORRELATION, pooled(r, (1 - r**2) ** 2 / (n - 1)), scenario.correlation


def _shares(sets: Described, scenario: Scenario) -> Iterator[tuple[str, Intervals, float]]:
    n = scenario.n_rows
    p = sets.counts / n
    for name, q, truth in (
        (MARGINALS, population.marginals(p), population.marginals(population.shares())),
        (CELL_SHARES, p, population.shares()),
    ):
        found = pooled(*(np.swapaxes(one, -1, -2) for one in (q, q * (1 - q) / n)))
        for k in range(q.shape[-1]):
            yield f"{name} {k + 1}", _part(found, k), float(truth[k])


def _means(
    sets: Described, covariance: Values, truth: Values
) -> Iterator[tuple[str, Intervals, float]]:
    counts = np.maximum(sets.counts, 1)
    present = np.swapaxes(sets.counts > 0, -1, -2)
    for j in range(NUMBERS):
        q = np.swapaxes(sets.sums[..., j] / counts, -1, -2)
        u = np.swapaxes(covariance[..., j, j][..., None] / counts, -1, -2)
        found = pooled_where(present, q, u)
        for k in range(CELLS):
            yield f"{MEANS} {j + 1}, {k + 1}", _part(found, k), float(truth[k, j])


def _part(found: Intervals, k: int) -> Intervals:
    return Intervals(found.estimate[..., k], found.reach[..., k], found.usable[..., k])
