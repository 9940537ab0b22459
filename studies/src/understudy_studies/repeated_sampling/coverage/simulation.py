"""Scenarios of the coverage study, and their repetitions: sample, release, analyse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

import understudy as us
from understudy.errors import InferenceError, MethodError
from understudy.inference.analyze import analyze_release
from understudy.methods.base import CostClass, SetsKind
from understudy.methods.registry import METHODS
from understudy.release.release import Release
from understudy.workflow import plan
from understudy.workflow.analyze import rebuildable
from understudy_studies.framework.interval_tally import Estimand
from understudy_studies.framework.study import Row
from understudy_studies.repeated_sampling.coverage import naive, population

N_ROWS = 2_000
EPSILONS = (0.5, 1.0, 2.0, 5.0)
SETS = (1, 5)
FORMS: dict[str, tuple[str, ...]] = {
    "laplace": ("form=dense", "form=filtered", "form=lazy"),
    "empirical-cdf": ("columns=independent", "columns=ordered"),
    "multiple-imputation": ("penalty=0.003",),
    "perturbed-histogram": ("bins=10",),
    "smoothed-histogram": ("bins=10",),
    "privbayes": ("degree=1", "degree=2"),
    "steps": ("layers=2", "order=a"),
    "universal-histogram": ("form=layers", "form=ranges"),
}
"""Options worth a scenario of their own; other methods run with their defaults."""

UNANSWERED = "every question about its records is refused"
REAL_ROWS = "real rows"
VALID, NAIVE, REFUSED = "valid", "naive", "refused"

RowsKind = Literal["private", "public"]


@dataclass(frozen=True)
class Scenario:
    """One way to make a release.

    Attributes:
        method: name of the method; `REAL_ROWS` for the analysis of the sample itself.
        options: its options, "name=value", joined by ", ".
        sets: number of synthetic sets.
        sets_kind: how they are made.
        epsilon: budget of the release; 0 for the real rows.
        rows: whether the number of rows is private, or public where the method needs that.
        n_rows: size of the sample.
    """

    method: str
    options: str
    sets: int
    sets_kind: SetsKind
    epsilon: float
    rows: RowsKind
    n_rows: int = N_ROWS

    @property
    def arguments(self) -> dict[str, Any]:
        """What `plan.plan` and `workflow.synthesize` are called with."""
        options = dict(pair.split("=", 1) for pair in self.options.split(", ") if pair)
        return {
            "epsilon": self.epsilon,
            "method": self.method,
            "sets": self.sets,
            "options": {**options, "sets": self.sets_kind},
        }


def scenarios() -> tuple[Scenario, ...]:
    """The real rows, and all that the methods in the table accept, if they answer anything."""
    found = [Scenario(REAL_ROWS, "", 1, "free", 0.0, "public")]
    for method in filter(_answers, METHODS):
        for options in FORMS.get(method, ("",)):
            for epsilon in EPSILONS:
                found += [one for one, _ in _layouts(method, options, epsilon) if one]
    return tuple(found)


def left_out() -> dict[str, str]:
    """Methods that have no scenario, and what they say against it."""
    found = {}
    for method in METHODS:
        layouts = [
            layout
            for options in FORMS.get(method, ("",))
            for layout in _layouts(method, options, EPSILONS[0])
        ]
        if not any(scenario for scenario, _ in layouts):
            found[method] = layouts[0][1]
        elif not _answers(method):
            found[method] = UNANSWERED
    return found


def _answers(method: str) -> bool:
    """Whether any table is kept as it was measured, or released.

    Records that are drawn column by column keep none, nor do those of a chosen generator.
    """
    kind = METHODS[method]
    return not (kind.inference.swept or kind.picked) or method in rebuildable()


def _layouts(method: str, options: str, epsilon: float) -> Iterator[tuple[Scenario | None, str]]:
    """One set; several free ones; several split ones: each with what is said against it."""
    for sets in SETS:
        for kind in get_args(SetsKind):
            found = _accepted(Scenario(method, options, sets, kind, epsilon, "private"))
            yield found
            if sets == 1 and found[0]:
                break  # a single set is the same, be it called free or split


def _accepted(scenario: Scenario) -> tuple[Scenario | None, str]:
    """The scenario with private rows, else with public ones, else what the method says."""
    why = ""
    for one in (scenario, replace(scenario, rows="public")):
        try:
            plan.plan(population.schema(one.rows, one.n_rows), **one.arguments)
        except MethodError as error:
            why = str(error)
        else:
            return one, ""
    return None, why


def cost_class(scenario: Scenario) -> CostClass:
    """Of the method; the real rows cost next to nothing."""
    return "fast" if scenario.method == REAL_ROWS else METHODS[scenario.method].facts.cost_class


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Repetitions of: draw a sample, release it, ask the release for every estimand.

    One row for each repetition, estimand and role: the valid interval of `analyze_release` (or its
    refusal), and the naive one of the first set.
    """
    rows: list[Row] = []
    for child in np.random.SeedSequence(seed).spawn(repetitions):
        rng = np.random.default_rng(child)
        sample = population.sample(scenario.n_rows, rng)
        if scenario.method == REAL_ROWS:
            rows += [_naive(sample, one, rule="textbook") for one in population.estimands()]
            continue
        release = us.synthesize(
            sample,
            population.schema(scenario.rows, scenario.n_rows),
            insecure_noise_seed=int(rng.integers(2**63)),
            allow_nonprivate=True,
            **scenario.arguments,
        )
        for estimand in population.estimands():
            rows += [_valid(release, estimand), _naive(release.tables[0], estimand)]
    return rows


def _valid(release: Release, estimand: Estimand) -> Row:
    try:
        pooled = analyze_release(release, estimand.kind, estimand.formula).pooled
    except InferenceError as error:
        return _row(estimand, VALID, REFUSED, None, why=short_reason(str(error)))
    place = pooled.names.index(estimand.term)
    low, high = (float(end[place]) for end in pooled.interval(naive.LEVEL))
    return _row(estimand, VALID, pooled.rule, (float(pooled.estimate[place]), low, high))


def _naive(table: pl.DataFrame, estimand: Estimand, rule: str = "naive, set 1") -> Row:
    found = naive.interval(table, estimand)
    role = VALID if rule == "textbook" else NAIVE
    if found is None:
        return _row(estimand, role, REFUSED, None, why="the set cannot give it")
    return _row(estimand, role, rule, found)


def _row(
    estimand: Estimand, role: str, rule: str, found: naive.Interval | None, why: str = ""
) -> Row:
    estimate, low, high = found or (None, None, None)
    return {
        "estimand": estimand.name,
        "role": role,
        "rule": rule,
        "why": why,
        "estimate": estimate,
        "low": low,
        "high": high,
    }


_SHORT = {
    "share its noise": "the sets share their noise",
    "one set does not show": "one set does not show its noise",
    "never measured together": "the columns were not measured together",
    "are misplaced": "too many records are misplaced",
    "drawn column by column": "the records were drawn column by column",
    "regressions with a penalty": "a penalty makes relations weaker",
}


def short_reason(message: str) -> str:
    """A refusal in a few words, without numbers that change from one repetition to the next.

    Example:
        >>> short_reason("No valid error bars (sets-not-valid): one set does not show how much …")
        'one set does not show its noise'
    """
    for fragment, short in _SHORT.items():
        if fragment in message:
            return short
    sentence = re.split(r"[;\n]", message)[0].rpartition(": ")[2]
    return re.sub(r"\d[\d.,]*", "…", sentence).rstrip(".")
