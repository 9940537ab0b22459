"""Table 2: how well trees tell a released set from the records, by method and budget.

Of every repetition one released set is compared; of m sets one, since they have the same
distribution. Two measures of the distance: the pMSE of a greedy tree without limit of depth,
pruned, as in the paper, and that of the best tree of depth 2 on the public grid.

The expensive methods are simulated in a part of the repetitions only (`Scenario.every`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from understudy.arrays import Floats
from understudy.decision_trees import pmse
from understudy.families.method import CostClass
from understudy.privacy.noise.randomness import Randomness
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row
from understudy_studies.snoke_slavkovic_2018 import (
    candidates,
    comparators,
    limits,
    methods,
    searches,
    walks,
)
from understudy_studies.snoke_slavkovic_2018.candidates import DEPTH_2, TRUTH, generated
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS, Regressions, records
from understudy_studies.snoke_slavkovic_2018.repetition_values import kept

GREEDY, EXACT = "greedy tree", "exact tree, depth 2"
MEASURES = (GREEDY, EXACT)
EFFECTIVE, ODDS = "effective candidates", "log₁₀ odds of the published prior"
REACH = 4.0
"""Bounds of noisy Bayes and of histograms, in standard deviations."""
WALKS = {100: 50, 1_000: 100}
"""Lengths of the walks, and in which part of the repetitions they are made."""

Part = Literal["counted", "rounds", "limits", "walks"]


@dataclass(frozen=True)
class Scenario:
    """Some methods, in a part of the repetitions.

    Attributes:
        part: which methods.
        every: one repetition of so many is simulated, one at least of each chunk.
        steps: of a walk.
    """

    part: Part
    every: int = 1
    steps: int = 0


@dataclass(frozen=True)
class Sample:
    """Confidential records, and where randomness comes from.

    Attributes:
        tables: shape (R, n, 2).
        streams: of the chunk.
    """

    tables: Floats
    streams: Streams


Compare = Callable[[str, float | None, Floats], Iterator[Row]]
"""Method, budget and sets of shape (R, n, 2) → rows."""


def scenarios() -> tuple[Scenario, ...]:
    """What is cheap, rounds, the published mechanism without a walk, and walks."""
    return (
        Scenario("counted"),
        Scenario("rounds", every=5),
        Scenario("limits", every=4),
        *(Scenario("walks", every=every, steps=steps) for steps, every in WALKS.items()),
    )


def cost_class(_scenario: Scenario) -> CostClass:
    """All are alike; `every` sees to what is expensive."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Values of all methods of a scenario."""
    streams = Streams(seed)
    size = max(1, repetitions // scenario.every)
    tables = records(Regressions.of(TRUTH, (size,)), N_ROWS, streams.generator("sample"))
    sample = Sample(tables, streams)

    def compare(method: str, epsilon: float | None, sets: Floats) -> Iterator[Row]:
        for measure, values in compared(tables, sets).items():
            yield kept(measure, method, epsilon, values)

    return list(_PARTS[scenario.part](sample, scenario, compare))


def compared(tables: Floats, sets: Floats) -> dict[str, Floats]:
    """The pMSE of one set for each table by both measures, each of shape (R,)."""
    greedy, exact = limits.greedy_trees(None), candidates.trees_of(DEPTH_2)
    grown = [greedy.sses(one, other)[0] for one, other in zip(tables, sets, strict=True)]
    first, second = (exact.counts(candidates.cells(one)) for one in (tables, sets))
    best = [exact.smallest_sses_of(one, other) for one, other in zip(first, second, strict=True)]
    return {
        GREEDY: pmse(np.array(grown), N_ROWS, N_ROWS),
        EXACT: pmse(np.array(best), N_ROWS, N_ROWS),
    }


def _counted(sample: Sample, _scenario: Scenario, compare: Compare) -> Iterator[Row]:
    tables, streams = sample.tables, sample.streams
    exact = comparators.without_privacy(tables, 1, streams.generator(methods.NON_PRIVATE))
    yield from compare(methods.NON_PRIVATE, None, exact[:, 0])
    for method, theta, rng in searches.proven(tables, methods.EPSILONS, streams):
        yield from _strict(method, theta, rng, compare)
    for epsilon in methods.EPSILONS:
        for method, sets in _others(sample, epsilon):
            yield from compare(method, epsilon, sets)


def _others(sample: Sample, epsilon: float) -> Iterator[tuple[str, Floats]]:
    """Sets of noisy Bayes and of both smoothed histograms."""
    streams = sample.streams

    def randoms(method: str) -> tuple[np.random.Generator, Randomness]:
        return streams.generator(method, epsilon), streams.randomness(method, epsilon)

    rng, randomness = randoms(methods.BAYES)
    share = epsilon / methods.SETS  # one of m sets
    sets = comparators.noisy_bayes(
        sample.tables, REACH, share, sets=1, rng=rng, randomness=randomness
    )
    yield methods.BAYES, sets[:, 0]
    for method in (methods.SMOOTHED, methods.PER_RECORD):
        prior = comparators.prior_of(epsilon, per_record=method == methods.PER_RECORD)
        sets = comparators.smoothed_histogram(sample.tables, REACH, prior, *randoms(method))
        yield method, sets[:, 0]


def _rounds(sample: Sample, _scenario: Scenario, compare: Compare) -> Iterator[Row]:
    rng = sample.streams.generator(methods.ROUNDS)
    q = searches.scores(sample.tables, DEPTH_2)
    theta = searches.in_rounds(sample.tables, q, methods.EPSILONS, rng)
    yield from _strict(methods.ROUNDS, theta, rng, compare)


def _strict(
    method: str, theta: Floats, rng: np.random.Generator, compare: Compare
) -> Iterator[Row]:
    for j, epsilon in enumerate(methods.EPSILONS):
        yield from compare(method, epsilon, generated(theta[:, j], rng, bounded=True))


def _limits(sample: Sample, _scenario: Scenario, compare: Compare) -> Iterator[Row]:
    rng = sample.streams.generator(methods.LIMIT)
    exact = limits.exact_scores(sample.tables)
    (greedy,) = limits.greedy_scores(sample.tables, None)
    for epsilon in methods.EPSILONS:
        ways = [(methods.LIMIT, exact, searches.rate(epsilon))] + [
            (methods.published(None, m), greedy, limits.published_rate(epsilon, m))
            for m in (methods.SETS, 1)
        ]
        for method, q, exponent in ways:
            yield kept(EFFECTIVE, method, epsilon, limits.effective(q, exponent))
            theta = limits.drawn(q, exponent, 1, rng)[:, 0]
            sets = generated(theta, rng, bounded=method == methods.LIMIT)
            yield from compare(method, epsilon, sets)
        for m in (methods.SETS, 1):
            odds = limits.log_odds(greedy, limits.published_rate(epsilon, m))
            yield kept(ODDS, methods.published(None, m), epsilon, odds)


def _walks(sample: Sample, scenario: Scenario, compare: Compare) -> Iterator[Row]:
    method, rng = methods.walking(scenario.steps), sample.streams.generator("walk")
    for epsilon in methods.EPSILONS:
        source = sample.streams.randomness(method, epsilon)
        theta = np.stack(
            [
                walks.walked(table, epsilon, source, sets=methods.SETS, steps=scenario.steps)
                for table in sample.tables
            ]
        )
        yield from compare(method, epsilon, generated(theta, rng, bounded=False))


_PARTS: dict[Part, Callable[[Sample, Scenario, Compare], Iterator[Row]]] = {
    "counted": _counted,
    "rounds": _rounds,
    "limits": _limits,
    "walks": _walks,
}
