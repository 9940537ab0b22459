"""Table 2: how well trees tell a released set from the records, by method and budget.

Of every repetition one released set is compared; of m sets one, since they have the same
distribution. Two measures of the distance: the pMSE of a greedy tree without limit of depth, as in
the paper, and, under the paper's condition, that of the best tree of depth 2 on the public grid.

The expensive methods are simulated in a part of the repetitions only (`Scenario.every`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from understudy._arrays import Floats
from understudy.methods.base import CostClass
from understudy.papers.trees_greedy import CountedTreeClass, pmse
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row
from understudy_studies.measures.cart_path import by_column
from understudy_studies.snoke_slavkovic_2018 import (
    candidates,
    comparators,
    limits,
    methods,
    proposals,
    searches,
    walks,
)
from understudy_studies.snoke_slavkovic_2018.candidates import DEPTH_2, TRUTH, generated
from understudy_studies.snoke_slavkovic_2018.conditions import (
    CONDITIONS,
    LARGER_C,
    PAPER,
    PRUNED,
    SMALLER,
    SMALLEST,
    Condition,
)
from understudy_studies.snoke_slavkovic_2018.limits import TiltedPrior
from understudy_studies.snoke_slavkovic_2018.population import Regressions, records
from understudy_studies.snoke_slavkovic_2018.repetition_values import kept

GREEDY, EXACT = "greedy tree", "exact tree, depth 2"
MEASURES = (GREEDY, EXACT)
EFFECTIVE, ODDS = "effective candidates", "log₁₀ odds of the published prior"
REACH = 4.0
"""Bounds of noisy Bayes and of histograms, in standard deviations."""
WALKS = {100: 16, 200: 16}
"""Lengths of the walks, and in which part of the repetitions they are made."""

_SOME = {SMALLER: 16, SMALLEST: 16, PRUNED: 50, LARGER_C: 50}
"""In which part of the repetitions the published mechanism is simulated under other conditions."""

Part = Literal["counted", "averages", "histograms", "searches", "rounds", "limits", "walks"]


@dataclass(frozen=True)
class Scenario:
    """Some methods, in a part of the repetitions.

    Attributes:
        part: which methods.
        condition: a name in `CONDITIONS`.
        every: one repetition of so many is simulated, one at least of each chunk.
        steps: of a walk.
    """

    part: Part
    condition: str = PAPER
    every: int = 1
    steps: int = 0


@dataclass(frozen=True)
class Sample:
    """Confidential records, and where randomness comes from.

    Attributes:
        tables: shape (R, n, 2).
        condition: under which they are released.
        streams: of the chunk.
    """

    tables: Floats
    condition: Condition
    streams: Streams


Compare = Callable[[str, float | None, Floats], Iterator[Row]]
"""Method, budget and sets of shape (R, n, 2) → rows."""


def scenarios() -> tuple[Scenario, ...]:
    """The paper's condition, part by part, then what hangs on it."""
    others = [name for name in CONDITIONS if name != PAPER]
    return (
        Scenario("counted"),
        Scenario("averages", every=5),
        Scenario("histograms", every=5),
        Scenario("searches", every=10),
        Scenario("rounds", every=20),
        Scenario("limits", every=16),
        *(Scenario("walks", every=every, steps=steps) for steps, every in WALKS.items()),
        *(Scenario("counted", name, every=5) for name in others),
        *(Scenario("limits", name, every=_SOME[name]) for name in others),
    )


def cost_class(_scenario: Scenario) -> CostClass:
    """All are alike; `every` sees to what is expensive."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Values of all methods of a scenario."""
    streams, condition = Streams(seed), CONDITIONS[scenario.condition]
    size = max(1, repetitions // scenario.every)
    truth = Regressions.of(TRUTH, (size,))
    tables = records(truth, condition.n_rows, streams.generator("sample"))
    sample = Sample(tables, condition, streams)
    confidential = Compared(tables, condition, exact=scenario.condition == PAPER)

    def compare(method: str, epsilon: float | None, sets: Floats) -> Iterator[Row]:
        for measure, values in confidential.with_sets(sets).items():
            yield kept(measure, method, epsilon, values)

    return list(_PARTS[scenario.part](sample, scenario, compare))


class Compared:
    """Confidential tables, sorted and counted once for all that is compared with them.

    Args:
        tables: shape (R, n, 2).
        condition: under which sets are released.
        exact: whether to compare by the exact tree too.
    """

    def __init__(self, tables: Floats, condition: Condition, *, exact: bool) -> None:
        self._condition = condition
        self._sorted = [by_column(one) for one in tables]
        self._trees = candidates.trees_of(DEPTH_2) if exact else None
        self._counts = None if self._trees is None else self._counted(self._trees, tables)

    def with_sets(self, sets: Floats) -> dict[str, Floats]:
        """The pMSE of one set for each table, (R, n, 2), by measure, each of shape (R,)."""
        n, greedy = self._condition.n_rows, self._condition.unlimited
        grown = [
            greedy.sses_of(one, by_column(other))[0]
            for one, other in zip(self._sorted, sets, strict=True)
        ]
        found = {GREEDY: pmse(np.array(grown), n, n)}
        if self._trees is not None and self._counts is not None:
            pairs = zip(self._counts, self._counted(self._trees, sets), strict=True)
            best = [self._trees.smallest_sses_of(one, other) for one, other in pairs]
            found[EXACT] = pmse(np.array(best), n, n)
        return found

    @staticmethod
    def _counted(trees: CountedTreeClass, tables: Floats) -> candidates.Counts:
        return trees.counts(candidates.cells(tables))


def _counted(sample: Sample, _scenario: Scenario, compare: Compare) -> Iterator[Row]:
    """Without privacy, noisy Bayes, and the smoothed histogram as fitted."""
    tables, streams = sample.tables, sample.streams
    exact = comparators.without_privacy(tables, 1, streams.generator(methods.NON_PRIVATE))
    yield from compare(methods.NON_PRIVATE, None, exact[:, 0])
    for epsilon in methods.EPSILONS:
        for m in sample.condition.sets:
            name = methods.bayes(m)
            rng, noise = streams.generator(name, epsilon), streams.randomness(name, epsilon)
            share = epsilon / m  # one of m sets
            sets = comparators.noisy_bayes(tables, REACH, share, sets=1, rng=rng, randomness=noise)
            yield from compare(name, epsilon, sets[:, 0])
        yield from _smoothed(sample, methods.AS_PRINTED, epsilon, compare)


def _averages(sample: Sample, _scenario: Scenario, _compare: Compare) -> Iterator[Row]:
    """The mean pMSE of m sets: what a simulation of the paper may have kept."""
    tables, streams, m = sample.tables, sample.streams, methods.SETS

    confidential = Compared(tables, sample.condition, exact=False)

    def mean(method: str, epsilon: float | None, sets: Floats) -> Row:
        each = [confidential.with_sets(sets[:, k])[GREEDY] for k in range(m)]
        return kept(GREEDY, methods.averaged(method), epsilon, np.mean(each, axis=0))

    rng = streams.generator(methods.NON_PRIVATE)
    yield mean(methods.NON_PRIVATE, None, comparators.without_privacy(tables, m, rng))
    for epsilon in methods.EPSILONS:
        rng = streams.generator(methods.BAYES, epsilon)
        noise = streams.randomness(methods.BAYES, epsilon)
        sets = comparators.noisy_bayes(tables, REACH, epsilon, sets=m, rng=rng, randomness=noise)
        yield mean(methods.BAYES, epsilon, sets)


def _histograms(sample: Sample, _scenario: Scenario, compare: Compare) -> Iterator[Row]:
    """The smoothed histogram with other bins and weights."""
    for epsilon in methods.EPSILONS:
        for method in (methods.SMOOTHED, methods.PER_RECORD):
            yield from _smoothed(sample, method, epsilon, compare)


def _smoothed(sample: Sample, method: str, epsilon: float, compare: Compare) -> Iterator[Row]:
    streams = sample.streams
    rng, noise = streams.generator(method, epsilon), streams.randomness(method, epsilon)
    smoothing = comparators.smoothing_of(method, REACH, epsilon, sample.condition.n_rows)
    sets = comparators.smoothed_histogram(sample.tables, REACH, smoothing, rng, noise)
    yield from compare(method, epsilon, sets[:, 0])


def _searches(sample: Sample, _scenario: Scenario, compare: Compare) -> Iterator[Row]:
    for method, theta, rng in searches.proven(sample.tables, methods.EPSILONS, sample.streams):
        yield from _strict(method, theta, rng, compare)


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


def _limits(sample: Sample, scenario: Scenario, compare: Compare) -> Iterator[Row]:
    rng, condition = sample.streams.generator(methods.LIMIT), sample.condition
    points = proposals.weighted(int(rng.integers(2**31)), proposals.DEEP)
    worlds = rng.standard_normal((condition.worlds, condition.n_rows, 2))
    (greedy,) = limits.greedy_scores(sample.tables, points.theta, condition.unlimited, worlds)
    exact = None
    if scenario.condition == PAPER:
        exact = limits.exact_scores(sample.tables, points.theta)
    for epsilon in methods.EPSILONS:
        laws = {
            methods.published(None, m): TiltedPrior(
                points, greedy, limits.published_rate(epsilon, m)
            )
            for m in condition.sets
        }
        for method, law in laws.items():
            yield kept(ODDS, method, epsilon, law.log_odds())
        if exact is not None:
            laws[methods.LIMIT] = TiltedPrior(points, exact, searches.rate(epsilon))
        for method, law in laws.items():
            yield kept(EFFECTIVE, method, epsilon, law.effective())
            theta = law.drawn(1, rng)[:, 0]
            bounded = method == methods.LIMIT
            sets = generated(theta, rng, condition.n_rows, bounded=bounded)
            yield from compare(method, epsilon, sets)


def _walks(sample: Sample, scenario: Scenario, compare: Compare) -> Iterator[Row]:
    method, rng = methods.walking(scenario.steps), sample.streams.generator("walk")
    trees, sets = sample.condition.unlimited, sample.condition.sets[0]
    for epsilon in methods.EPSILONS:
        source = sample.streams.randomness(method, epsilon)
        theta = np.stack(
            [
                walks.walked(table, trees, epsilon, source, sets=sets, steps=scenario.steps)
                for table in sample.tables
            ]
        )
        yield from compare(method, epsilon, generated(theta, rng, bounded=False))


_PARTS: dict[Part, Callable[[Sample, Scenario, Compare], Iterator[Row]]] = {
    "counted": _counted,
    "averages": _averages,
    "histograms": _histograms,
    "searches": _searches,
    "rounds": _rounds,
    "limits": _limits,
    "walks": _walks,
}
