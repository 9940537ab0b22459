"""How far pMSE moves with one record: X, the same X with one record elsewhere, and one Z.

X has n records of the simulated case; Z has as many from the regressions fitted to X. The first
record of X then moves, and pMSE against the same Z is taken again, with trees of every kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from understudy._arrays import Floats
from understudy.methods.base import CostClass
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row
from understudy_studies.snoke_slavkovic_2018.bound_violations.tally import row
from understudy_studies.snoke_slavkovic_2018.bound_violations.trees import (
    COMPLEXITIES,
    Line,
    Way,
    ways,
)
from understudy_studies.snoke_slavkovic_2018.population import (
    Parameters,
    Regressions,
    fitted,
    records,
)


@dataclass(frozen=True)
class Move:
    """Where a record goes.

    Attributes:
        name: in the results.
        variance: of the Gaussian noise that is added to both of its values; None for the outlier.
        every: every how many repetitions.
    """

    name: str
    variance: float | None
    every: int


NOISE = Move("noise, variance 1", 1.0, 1)
SMALL_NOISE = Move("noise, variance 0.25", 0.25, 2)
OUTLIER = Move("outlier", None, 8)
MOVES = (NOISE, SMALL_NOISE, OUTLIER)

FAR = 6.0
"""How many standard deviations from the middle an outlier lies, in both columns."""


@dataclass(frozen=True)
class Scenario:
    """A population.

    Attributes:
        n_rows: n, public, one of `COMPLEXITIES`.
    """

    n_rows: int


class Sample(NamedTuple):
    """All repetitions of a chunk.

    Attributes:
        original: X, shape (repetitions, n, 2).
        synthetic: Z, of the same shape.
        places: where each of `MOVES` puts the first record, shape (moves, repetitions, 2).
    """

    original: Floats
    synthetic: Floats
    places: Floats


def scenarios() -> tuple[Scenario, ...]:
    """Two sizes of tables."""
    return tuple(Scenario(n_rows) for n_rows in COMPLEXITIES)


def cost_class(_scenario: Scenario) -> CostClass:
    """Both are fast."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Sums over repetitions, for every move and every kind of trees."""
    sample = drawn(scenario, repetitions, Streams(seed))
    return [
        row(move.name, line, found, scenario.n_rows)
        for way in ways(scenario.n_rows)
        for move, line, found in changes(way, sample)
    ]


def drawn(scenario: Scenario, repetitions: int, streams: Streams) -> Sample:
    """Tables of all repetitions, and the moves."""
    distribution, n = Parameters(), scenario.n_rows
    truth = Regressions.of(distribution, (repetitions,))
    original = records(truth, n, streams.generator("original"))
    synthetic = records(fitted(original), n, streams.generator("synthetic"))
    places = np.empty((len(MOVES), repetitions, 2))
    for place, move in zip(places, MOVES, strict=True):
        if move.variance is None:
            place[:] = outlier(distribution)
        else:
            noise = streams.generator(move.name).standard_normal(place.shape)
            place[:] = original[:, 0] + sqrt(move.variance) * noise
    return Sample(original, synthetic, places)


def outlier(distribution: Parameters) -> tuple[float, float]:
    """A record far out in both columns; without it the table has an ordinary one."""
    second = distribution.intercept + distribution.slope * distribution.mean
    return (
        distribution.mean + FAR * distribution.stddev,
        second + FAR * hypot(distribution.slope * distribution.stddev, distribution.residual),
    )


def changes(way: Way, sample: Sample) -> Iterator[tuple[Move, Line, Floats]]:
    """By how much the SSE rises with each move, shape (repetitions that were asked,)."""
    asked = range(0, len(sample.original), way.every)
    before = {r: way.sses(sample.original[r], sample.synthetic[r]) for r in asked}
    for move, place in zip(MOVES, sample.places, strict=True):
        found = []
        for r in asked:
            if r % move.every == 0:
                moved = sample.original[r].copy()
                moved[0] = place[r]
                found.append(way.sses(moved, sample.synthetic[r]) - before[r])
        for j, line in enumerate(way.lines):
            yield move, line, np.array([one[j] for one in found])
