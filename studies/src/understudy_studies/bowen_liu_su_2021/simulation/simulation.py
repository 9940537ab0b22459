"""Repetitions of: draw records, release them in many ways at four budgets, regress, predict.

Every release is made by the code that makes every release, with seeded noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import understudy as us
from understudy._parallel import single_threaded
from understudy.methods.base import CostClass
from understudy.release.release import Release
from understudy_studies.bowen_liu_su_2021.simulation import population
from understudy_studies.bowen_liu_su_2021.simulation.population import (
    MAIN,
    SATURATED,
    SHARES,
    UNEQUAL,
    Data,
    Model,
    Scenario,
)
from understudy_studies.bowen_liu_su_2021.simulation.regression import Fit, regress, sums
from understudy_studies.bowen_liu_su_2021.simulation.release_ways import (
    EPSILONS,
    GROUPS,
    LIGHT,
    LINES,
    ORIGINAL,
    PAPERS,
    SETS,
)
from understudy_studies.framework import interval_tally
from understudy_studies.framework.interval_tally import Intervals, Values, pooled_where
from understudy_studies.framework.monte_carlo_error import mean_and_error
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row

N_ROWS = (4_000, 10_000)
PENALTY: dict[Model, float] = {MAIN: 0.0, SATURATED: 50.0}
"""λ of the ridge regression. The paper does not tell it; 50 is fitted to its exception, that the
coverage of STEPS gets further from 95 % with ε, which shrinkage alone brings about."""
LIGHTER = 1.0
"""λ of the posterior mean of coefficients from N(0, 1) with errors of variance 1."""
TEST_ROWS = 100
JUDGED = UNEQUAL
"""The law of the levels under which points are judged."""
REPETITIONS, FEWER = 100, 30

PREDICTION = "prediction"
CHOSEN = "group "
KEY = ("estimand", "method", "epsilon")


@dataclass(frozen=True)
class Case:
    """A way to make a release, at one budget; no budget for the original."""

    method: str
    epsilon: float | None

    @property
    def head(self) -> Row:
        """What its rows begin with."""
        return {"method": self.method, "epsilon": self.epsilon}


def scenarios() -> tuple[Scenario, ...]:
    """Two models, two sizes, under each law of the levels."""
    return tuple(
        Scenario(model, n, levels)
        for levels in SHARES
        for model in (MAIN, SATURATED)
        for n in N_ROWS
    )


def repetitions(scenario: Scenario) -> int:
    """How many repetitions a scenario gets: fewer under the other laws of the levels."""
    return REPETITIONS if scenario.levels == JUDGED else FEWER


def cases(scenario: Scenario) -> tuple[Case, ...]:
    """The original, and every way at every budget; beside the judged law the paper's ways alone."""
    names = tuple(LINES) if scenario.levels == JUDGED else PAPERS
    ways = [
        Case(method, epsilon)
        for epsilon in EPSILONS
        for method in names
        if epsilon in LINES[method].epsilons
    ]
    return (Case(ORIGINAL, None), *ways)


def cost_class(_scenario: Scenario) -> CostClass:
    """Of the study: a second or so for each repetition."""
    return "slow"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Sums over repetitions, for every coefficient, way and budget.

    All ways at all budgets have the same records, and the same test records.
    """
    streams = Streams(seed)
    fits: dict[Case, list[Fit]] = {}
    groups: Counter[tuple[Case, str]] = Counter()
    tests = []
    with single_threaded():
        for r in range(repetitions):
            data = population.drawn(scenario, scenario.n_rows, streams.generator("sample", r))
            tests.append(population.drawn(scenario, TEST_ROWS, streams.generator("test", r)))
            for case in cases(scenario):
                sets = [data]
                if case.epsilon is not None:
                    release = released(scenario, data, case, streams, r)
                    sets = [Data.of(table) for table in release.tables]
                    groups.update((case, group) for group in chosen(release, case))
                for read_as, penalty in penalties(scenario, case).items():
                    fits.setdefault(read_as, []).append(fitted(scenario, sets, penalty))
    rows = [row for case, found in fits.items() for row in _rows(scenario, case, found, tests)]
    return rows + [_group(case, name, n) for (case, name), n in groups.items()]


def released(
    scenario: Scenario, data: Data, case: Case, streams: Streams, repetition: int
) -> Release:
    """Split sets of the records."""
    assert case.epsilon is not None
    line = LINES[case.method]
    rng = streams.generator("release", case.method, case.epsilon, repetition)
    return us.synthesize(
        data.frame(),
        population.schema(scenario),
        epsilon=f"{float(line.spends(case.epsilon, scenario.n_rows)):.9g}",
        method=line.method,
        sets=SETS,
        options=line.options_for(scenario.n_rows),
        insecure_noise_seed=int(rng.integers(2**63)),
    )


def penalties(scenario: Scenario, case: Case) -> dict[Case, float]:
    """The penalties of the regression on a release, each with the case that it counts for."""
    found = {case: PENALTY[scenario.model]}
    if scenario.model == SATURATED and scenario.levels == JUDGED and case.method in LIGHT:
        found[replace(case, method=LIGHT[case.method])] = LIGHTER
    return found


def fitted(scenario: Scenario, sets: list[Data], penalty: float) -> Fit:
    """The regression of every set with a ridge penalty; leading axis for the sets."""
    data = Data(np.stack([one.cells for one in sets]), np.stack([one.values for one in sets]))
    return regress(sums(data), population.design(scenario.model), penalty)


def chosen(release: Release, case: Case) -> Iterator[str]:
    """The group that the exponential mechanism put into the first layer, if one was bought."""
    if case.method == GROUPS:
        for measurement in release.measurements:
            if measurement.kind == "choice":
                yield " + ".join(sorted(measurement.columns))


def _rows(scenario: Scenario, case: Case, fits: list[Fit], tests: list[Data]) -> Iterator[Row]:
    found = pooled(fits)
    truths = population.coefficients(scenario.model)
    for k, (label, truth) in enumerate(zip(population.labels(scenario.model), truths, strict=True)):
        one = Intervals(found.estimate[k], found.reach[k], found.usable[k])
        yield {"estimand": label, **case.head, **interval_tally.sums(one, float(truth))}
    errors = predicted(scenario, found, tests)
    yield {
        "estimand": PREDICTION,
        **case.head,
        "errors": [float(error) for error in errors if np.isfinite(error)],
        "n": len(errors),
    }


def pooled(fits: list[Fit]) -> Intervals:
    """Intervals of every coefficient, shape (coefficients, repetitions)."""
    q, u = (
        np.stack(one).transpose(2, 0, 1) for one in zip(*(fit[:2] for fit in fits), strict=True)
    )
    present = np.broadcast_to(np.stack([fit.present for fit in fits]), q.shape)
    return pooled_where(present, q, u)


def predicted(scenario: Scenario, found: Intervals, tests: list[Data]) -> Values:
    """Root mean squared error of the pooled coefficients' predictions, shape (repetitions,).

    NaN where a coefficient has no estimate.
    """
    means = np.where(found.usable, found.estimate, np.nan).T @ population.design(scenario.model).T
    cells = np.stack([test.cells for test in tests])
    gaps = np.stack([test.values for test in tests]) - np.take_along_axis(means, cells, axis=1)
    return np.asarray(np.sqrt((gaps**2).mean(axis=1)))


def _group(case: Case, name: str, n: int) -> Row:
    return {"estimand": CHOSEN + name, **case.head, "n": n}


def summarise(scenario: Scenario, rows: list[Row]) -> list[Row]:
    """Rows of `results.csv`: coefficients, errors of predictions, groups that were chosen."""
    kept = [row for row in rows if row.get("truth") is not None]
    return [
        *interval_tally.summarise(scenario, kept, KEY),
        *_predictions(rows),
        *_groups(rows),
    ]


def _predictions(rows: list[Row]) -> Iterator[Row]:
    merged: dict[Case, list[float]] = {}
    for row in rows:
        if row["estimand"] == PREDICTION:
            merged.setdefault(Case(row["method"], row["epsilon"]), []).extend(row["errors"])
    for case, errors in merged.items():
        mean, error = mean_and_error(errors)
        usable = {"usable": len(errors)}
        yield {"estimand": PREDICTION, **case.head, **usable, "rmse": mean, "rmse_error": error}


def _groups(rows: list[Row]) -> Iterator[Row]:
    merged: Counter[tuple[str, Case]] = Counter()
    for row in rows:
        if row["estimand"].startswith(CHOSEN):
            merged[row["estimand"], Case(row["method"], row["epsilon"])] += row["n"]
    for (name, case), n in merged.items():
        yield {"estimand": name, **case.head, "usable": n}
