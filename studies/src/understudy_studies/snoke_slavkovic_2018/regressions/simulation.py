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

from understudy.arrays import Floats
from understudy.families.method import CostClass
from understudy.inference.private_regression import coefficients
from understudy.privacy.mechanisms.sums.linear_regression import (
    RegressionMechanism,
    plan,
    sanitise,
)
from understudy.privacy.mechanisms.sums.normal_equations import NormalEquations, on_lattice
from understudy.privacy.noise.randomness import Randomness
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row
from understudy_studies.snoke_slavkovic_2018 import comparators, limits, methods, searches
from understudy_studies.snoke_slavkovic_2018.candidates import DEPTH_2, TRUTH, generated
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS, Regressions, fitted, records
from understudy_studies.snoke_slavkovic_2018.repetition_values import kept

INTERCEPT, SLOPE = "intercept", "slope"
COEFFICIENTS = (INTERCEPT, SLOPE)
REACHES = (2.0, 4.0, 5.0, 10.0)
"""Bounds, in standard deviations."""
DEPTHS: tuple[int | None, ...] = (1, 2, 5, None)
"""Of greedy trees, as in the paper."""
MECHANISMS: dict[str, RegressionMechanism] = {
    methods.FUNCTIONAL: "functional",
    methods.KNORM: "k-norm",
}

Part = Literal["counted", "bounded", "rounds", "limits"]


@dataclass(frozen=True)
class Scenario:
    """Some methods, in a part of the repetitions.

    Attributes:
        part: which methods.
        every: one repetition of so many is simulated, one at least of each chunk.
    """

    part: Part
    every: int = 1


@dataclass(frozen=True)
class Sample:
    """Confidential records, what is estimated of them, and where randomness comes from.

    Attributes:
        tables: shape (R, n, 2).
        streams: of the chunk.
    """

    tables: Floats
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
    """What is cheap, methods with bounds, rounds, and the published mechanism."""
    return (
        Scenario("counted"),
        Scenario("bounded"),
        Scenario("rounds", every=2),
        Scenario("limits", every=2),
    )


def cost_class(_scenario: Scenario) -> CostClass:
    """All are alike; `every` sees to what is expensive."""
    return "fast"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Errors of all methods of a scenario."""
    streams = Streams(seed)
    size = max(1, repetitions // scenario.every)
    tables = records(Regressions.of(TRUTH, (size,)), N_ROWS, streams.generator("sample"))
    return list(_PARTS[scenario.part](Sample(tables, streams)))


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
    for method, theta, rng in searches.proven(tables, methods.EPSILONS, streams):
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
    rng = sample.streams.generator(methods.LIMIT)
    exact = limits.exact_scores(sample.tables)
    greedy = limits.greedy_scores(sample.tables, *DEPTHS)
    for epsilon in methods.EPSILONS:
        ways = [(methods.LIMIT, exact, searches.rate(epsilon), 1)] + [
            (methods.published(depth, m), q, limits.published_rate(epsilon, m), m)
            for depth, q in zip(DEPTHS, greedy, strict=True)
            for m in (methods.SETS, 1)
        ]
        for method, q, exponent, m in ways:
            theta = limits.drawn(q, exponent, m, rng)
            repeated = np.repeat(theta, methods.SETS // m, axis=1)
            sets = generated(repeated, rng, bounded=method == methods.LIMIT)
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


def _histogram(*, per_record: bool) -> Within:
    def draw(
        tables: Floats, reach: float, epsilon: float, rng: np.random.Generator, noise: Randomness
    ) -> Floats:
        prior = comparators.prior_of(epsilon, per_record=per_record)
        return estimated(comparators.smoothed_histogram(tables, reach, prior, rng, noise))

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
        solved = coefficients(noisy, equations, bounds, stddev=planned.stddev, n_rows=N_ROWS)
        return solved.coefficients

    return draw


_WITHIN: dict[str, Within] = {
    methods.BAYES: _bayes,
    methods.SMOOTHED: _histogram(per_record=False),
    methods.PER_RECORD: _histogram(per_record=True),
    **{name: _coefficients(mechanism) for name, mechanism in MECHANISMS.items()},
}

_PARTS: dict[Part, Callable[[Sample], Iterator[Row]]] = {
    "counted": _counted,
    "bounded": _bounded,
    "rounds": _rounds,
    "limits": _limits,
}
