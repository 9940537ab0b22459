"""Scenarios of the study of bootstrap intervals, their repetitions, and the rows made of these."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

import understudy as us
from understudy.errors import InferenceError
from understudy.inference.analysis import Analysis
from understudy.inference.analyze import analyze_release
from understudy.inference.bootstrap import INTERVALS, analysis_of, doubts, outcome_of
from understudy.inference.estimators import Question
from understudy.methods.base import CostClass
from understudy.release.release import Release
from understudy.workflow.analyze import World, replica_gate, replicates
from understudy_studies.framework.interval_tally import Estimand
from understudy_studies.framework.study import Row
from understudy_studies.repeated_sampling.bootstrap import population
from understudy_studies.repeated_sampling.coverage.simulation import short_reason

N_ROWS = 2_000
REFITS = 100
EPSILONS = (0.5, 1.0, 5.0)
DELTA = "0.000001"
METHODS = ("marginals",)
SETS = 5
LEVEL = 0.95

POSTERIOR, NAIVE = "posterior sets", "naive"
WAYS = (*INTERVALS, POSTERIOR, NAIVE)

Interval = tuple[float, float, float]
"""Estimate, lower and upper end."""


@dataclass(frozen=True)
class Scenario:
    """One way to make a release.

    Attributes:
        method: name of the method.
        epsilon: budget of the release.
        n_rows: size of the sample.
        refits: replicates of each bootstrap.
    """

    method: str
    epsilon: float
    n_rows: int = N_ROWS
    refits: int = REFITS


def scenarios() -> tuple[Scenario, ...]:
    """Every method at every budget."""
    return tuple(Scenario(method, epsilon) for method in METHODS for epsilon in EPSILONS)


def cost_class(scenario: Scenario) -> CostClass:
    """A hundred fits for each repetition are slow, however fast one is."""
    return "slow"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Repetitions of: draw a sample, release it twice, ask for every estimand in every way.

    One row for each repetition, estimand and way: an interval, or why there is none.
    """
    rows: list[Row] = []
    for child in np.random.SeedSequence(seed).spawn(repetitions):
        rng = np.random.default_rng(child)
        sample = population.sample(scenario.n_rows, rng)
        one = _release(scenario, sample, rng, sets=1, kind="free")
        rows += _bootstrap(scenario, one, int(rng.integers(2**63)))
        rows += [_naive(one, estimand) for estimand in population.estimands()]
        several = _release(scenario, sample, rng, sets=SETS, kind="posterior")
        rows += [_posterior(several, estimand) for estimand in population.estimands()]
    return rows


def _release(
    scenario: Scenario, sample: pl.DataFrame, rng: np.random.Generator, *, sets: int, kind: str
) -> Release:
    return us.synthesize(
        sample,
        population.schema(scenario.n_rows),
        epsilon=scenario.epsilon,
        delta=DELTA,
        method=scenario.method,
        sets=sets,
        options={"sets": kind},
        insecure_noise_seed=int(rng.integers(2**63)),
    )


def _bootstrap(scenario: Scenario, release: Release, seed: int) -> list[Row]:
    """All kinds of intervals from the same replicates."""
    asked = {e.name: _question(e) for e in population.estimands()}
    open_ones = {name: one for name, one in asked.items() if not doubts(release, one)}
    world = World.of(release, list(open_ones.values()), replica_gate, seed=seed)
    answers = replicates(world, scenario.refits if open_ones else 0)
    rows = []
    for estimand in population.estimands():
        question = asked[estimand.name]
        if estimand.name not in open_ones:
            why = short_reason(f"cannot be given: {doubts(release, question)}")
            rows += [_row(estimand, way, None, why) for way in INTERVALS]
            continue
        place = list(open_ones).index(estimand.name)
        truth, own = answers.truth[place], [replicate[place] for replicate in answers.replicates]
        for way in INTERVALS:
            try:
                found = analysis_of(
                    release, question, truth, own, interval=way, level=LEVEL, anyway=False
                )
            except InferenceError as error:
                rows.append(_row(estimand, way, None, short_reason(str(error))))
            else:
                rows.append(_row(estimand, way, _interval(found, estimand)))
    return rows


def _posterior(release: Release, estimand: Estimand) -> Row:
    try:
        found = analyze_release(release, estimand.kind, estimand.formula)
    except InferenceError as error:
        return _row(estimand, POSTERIOR, None, short_reason(str(error)))
    return _row(estimand, POSTERIOR, _interval(found, estimand))


def _naive(release: Release, estimand: Estimand) -> Row:
    """The set taken for real rows."""
    try:
        found = outcome_of(_question(estimand).answer(release.tables, release.schema))
    except InferenceError:
        return _row(estimand, NAIVE, None, "the set cannot give it")
    place = found.names.index(estimand.term)
    estimate = float(found.estimate[place])
    reach = float(stats.norm.ppf((1 + LEVEL) / 2)) * float(found.stderr[place])
    return _row(estimand, NAIVE, (estimate, estimate - reach, estimate + reach))


def _question(estimand: Estimand) -> Question:
    return Question.of(estimand.kind, estimand.formula, population.schema(N_ROWS))


def _interval(found: Analysis, estimand: Estimand) -> Interval:
    place = found.pooled.names.index(estimand.term)
    low, high = (float(end[place]) for end in found.pooled.interval(LEVEL))
    return float(found.pooled.estimate[place]), low, high


def _row(estimand: Estimand, way: str, found: Interval | None, why: str = "") -> Row:
    estimate, low, high = found or (None, None, None)
    return {
        "estimand": estimand.name,
        "way": way,
        "why": why,
        "estimate": estimate,
        "low": low,
        "high": high,
    }


def summarise(scenario: Scenario, rows: list[Row]) -> list[Row]:
    """Rows of `results.csv` for one scenario.

    Each has `asked`, the repetitions, and `n`, those that gave an interval; `why` is the commonest
    reason for a refusal. `coverage_low` and `coverage_high` are Wilson's 95 % interval of the
    coverage; `width_ratio` compares the mean width with that of an interval from real rows,
    `bias_ratio` the bias of estimates with their standard error.
    """
    found = []
    for estimand in population.estimands():
        for way in WAYS:
            here = [r for r in rows if r["estimand"] == estimand.name and r["way"] == way]
            found.append(_summary(scenario, estimand, way, here))
    return found


def _summary(scenario: Scenario, estimand: Estimand, way: str, rows: list[Row]) -> Row:
    given = [row for row in rows if row["low"] is not None]
    reasons = Counter(row["why"] for row in rows if row["why"])
    head = {
        "estimand": estimand.name,
        "truth": estimand.truth,
        "way": way,
        "asked": len(rows),
        "n": len(given),
        "why": reasons.most_common(1)[0][0] if reasons else "",
    }
    return head | (estimand.judged(given, scenario.n_rows, LEVEL) if given else {})
