"""How far regressions on released sets are from those on the records, by method and budget.

x₂ on x₁ by least squares; of m sets the mean of their coefficients. The target is least squares on
the confidential records, not the truth. Where synthetic x₁ are all equal there is no slope; such a
repetition counts as not usable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from understudy._arrays import Floats
from understudy.dp.randomness import Randomness
from understudy.inference.private_regression import coefficients
from understudy.mechanisms.regression import (
    NormalEquations,
    RegressionMechanism,
    on_lattice,
    plan,
    sanitise,
)
from understudy.methods.base import CostClass
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row
from understudy_studies.snoke_slavkovic_2018 import (
    comparators,
    limits,
    methods,
    proposals,
    searches,
)
from understudy_studies.snoke_slavkovic_2018.candidates import DEPTH_2, TRUTH, generated
from understudy_studies.snoke_slavkovic_2018.conditions import (
    CONDITIONS,
    PAPER,
    SMALLER,
    Condition,
)
from understudy_studies.snoke_slavkovic_2018.limits import TiltedPrior
from understudy_studies.snoke_slavkovic_2018.population import Regressions, fitted, records
from understudy_studies.snoke_slavkovic_2018.repetition_values import kept

INTERCEPT, SLOPE = "intercept", "slope"
COEFFICIENTS = (INTERCEPT, SLOPE)
REACHES = (2.0, 4.0, 5.0, 10.0)
"""Bounds, in standard deviations."""
DEPTHS: tuple[int | None, ...] = (1, 2, 5, None)
"""Of greedy trees, as in the paper."""
MECHANISMS: dict[str, RegressionMechanism] = {
    methods.FUNCTIONAL: "functional",
    methods.FUNCTIONAL_8: "functional-published",
    methods.KNORM: "k-norm",
}

EFFECTIVE = "effective candidates"
Part = Literal["counted", "bounded", "searches", "rounds", "limits"]


@dataclass(frozen=True)
class Scenario:
    """Some methods, in a part of the repetitions.

    Attributes:
        part: which methods.
        condition: a name in `CONDITIONS`.
        every: one repetition of so many is simulated, one at least of each chunk.
    """

    part: Part
    condition: str = PAPER
    every: int = 1


@dataclass(frozen=True)
class Sample:
    """Confidential records, what is estimated of them, and where randomness comes from.

    Attributes:
        tables: shape (R, n, 2).
        condition: under which they are released.
        streams: of the chunk.
    """

    tables: Floats
    condition: Condition
    streams: Streams

    def errors(self, method: str, epsilon: float | None, estimates: Floats) -> Iterator[Row]:
        """|β̂ − β̂_OLS| of both coefficients.

        Args:
            method: name.
            epsilon: budget.
            estimates: intercepts and slopes, shape (R, 2).
        """
        found = np.abs(estimates - estimated(self.tables[:, None]))
        for name, values in zip(COEFFICIENTS, found.T, strict=True):
            yield kept(name, method, epsilon, values)


def scenarios() -> tuple[Scenario, ...]:
    """The paper's condition, part by part, then fewer records."""
    return (
        Scenario("counted"),
        Scenario("bounded", every=4),
        Scenario("searches", every=10),
        Scenario("rounds", every=20),
        Scenario("limits", every=16),
        Scenario("bounded", SMALLER, every=5),
        Scenario("limits", SMALLER, every=16),
    )


def cost_class(_scenario: Scenario) -> CostClass:
    """All are alike; `every` sees to what is expensive."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Errors of all methods of a scenario."""
    streams, condition = Streams(seed), CONDITIONS[scenario.condition]
    truth = Regressions.of(TRUTH, (max(1, repetitions // scenario.every),))
    tables = records(truth, condition.n_rows, streams.generator("sample"))
    return list(_PARTS[scenario.part](Sample(tables, condition, streams)))


def estimated(sets: Floats) -> Floats:
    """Intercept and slope, means over sets: (R, m, n, 2) → (R, 2); NaN where there is no slope."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = fitted(sets)
    both = np.stack([found.intercept, found.slope], axis=-1)
    return np.asarray(np.where(np.isfinite(both), both, np.nan).mean(axis=1))


def _counted(sample: Sample) -> Iterator[Row]:
    tables, streams = sample.tables, sample.streams
    exact = comparators.without_privacy(
        tables, methods.SETS, streams.generator(methods.NON_PRIVATE)
    )
    yield from sample.errors(methods.NON_PRIVATE, None, estimated(exact))


def _searches(sample: Sample) -> Iterator[Row]:
    for method, theta, rng in searches.proven(sample.tables, methods.EPSILONS, sample.streams):
        yield from _free_sets(sample, method, theta, rng)


def _rounds(sample: Sample) -> Iterator[Row]:
    rng = sample.streams.generator(methods.ROUNDS)
    q = searches.scores(sample.tables, DEPTH_2)
    theta = searches.in_rounds(sample.tables, q, methods.EPSILONS, rng)
    yield from _free_sets(sample, methods.ROUNDS, theta, rng)


def _free_sets(
    sample: Sample, method: str, theta: Floats, rng: np.random.Generator
) -> Iterator[Row]:
    """M sets from one θ of shape (R, budgets, 5)."""
    for j, epsilon in enumerate(methods.EPSILONS):
        same = np.repeat(theta[:, j, None], methods.SETS, axis=1)
        yield from sample.errors(method, epsilon, estimated(generated(same, rng, bounded=True)))


def _limits(sample: Sample) -> Iterator[Row]:
    rng, condition = sample.streams.generator(methods.LIMIT), sample.condition
    points = proposals.weighted(int(rng.integers(2**31)), proposals.ALL_DEPTHS)
    worlds = rng.standard_normal((condition.worlds, condition.n_rows, 2))
    greedy = limits.greedy_scores(sample.tables, points.theta, condition.trees(*DEPTHS), worlds)
    for epsilon in methods.EPSILONS:
        for depth, q in zip(DEPTHS, greedy, strict=True):
            for m in condition.sets:
                law = TiltedPrior(points, q, limits.published_rate(epsilon, m))
                method = methods.published(depth, m)
                yield kept(EFFECTIVE, method, epsilon, law.effective())
                sets = generated(law.drawn(m, rng), rng, condition.n_rows, bounded=False)
                yield from sample.errors(method, epsilon, estimated(sets))


def _bounded(sample: Sample) -> Iterator[Row]:
    """Noisy Bayes, smoothed histograms, and regressions that release coefficients only."""
    for epsilon in methods.EPSILONS:
        for reach in REACHES:
            for method, draw in _WITHIN.items():
                name = methods.within(method, reach)
                rng = sample.streams.generator(name, epsilon)
                randomness = sample.streams.randomness(name, epsilon)
                found = draw(sample.tables, reach, epsilon, rng, randomness)
                yield from sample.errors(name, epsilon, found)


Within = Callable[[Floats, float, float, np.random.Generator, Randomness], Floats]
"""Tables, bounds, budget, randomness of both kinds → intercepts and slopes, shape (R, 2)."""


def _bayes(
    tables: Floats, reach: float, epsilon: float, rng: np.random.Generator, noise: Randomness
) -> Floats:
    return estimated(
        comparators.noisy_bayes(
            tables, reach, epsilon, sets=methods.SETS, rng=rng, randomness=noise
        )
    )


def _histogram(method: str) -> Within:
    def draw(
        tables: Floats, reach: float, epsilon: float, rng: np.random.Generator, noise: Randomness
    ) -> Floats:
        smoothing = comparators.smoothing_of(method, reach, epsilon, tables.shape[1])
        return estimated(comparators.smoothed_histogram(tables, reach, smoothing, rng, noise))

    return draw


def _coefficients(mechanism: RegressionMechanism) -> Within:
    def draw(
        tables: Floats, reach: float, epsilon: float, _rng: np.random.Generator, noise: Randomness
    ) -> Floats:
        equations = NormalEquations(1, counted=False)
        planned = plan(equations, "replace", mechanism, Fraction(epsilon))
        bounds = [(float(low), float(high)) for low, high in comparators.bounds_of(reach)]
        exact = equations.statistics(on_lattice(comparators.clipped(tables, reach), bounds))
        noisy = sanitise(exact, planned, noise)
        n_rows = tables.shape[1]
        solved = coefficients(noisy, equations, bounds, stddev=planned.stddev, n_rows=n_rows)
        return solved.coefficients

    return draw


_WITHIN: dict[str, Within] = {
    methods.BAYES: _bayes,
    **{
        name: _histogram(name)
        for name in (methods.AS_PRINTED, methods.PER_RECORD, methods.SMOOTHED)
    },
    **{name: _coefficients(mechanism) for name, mechanism in MECHANISMS.items()},
}

_PARTS: dict[Part, Callable[[Sample], Iterator[Row]]] = {
    "counted": _counted,
    "bounded": _bounded,
    "searches": _searches,
    "rounds": _rounds,
    "limits": _limits,
}
