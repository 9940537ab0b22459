"""Estimates from a release alone; a bootstrap runs methods on rows that the release has drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from understudy import engine as engines
from understudy.arguments import require_function, require_number, require_text
from understudy.errors import InferenceError
from understudy.pipeline.gates import open_gate
from understudy.pipeline.interruption import Progress
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.noise.randomness import SeededRandomness
from understudy.release import Release
from understudy.release.release import given_release
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.inference.analysis import Analysis
    from understudy.inference.estimates.estimators import Estimator


def analyze(
    release: Release | str | Path,
    kind: str | Estimator,
    formula: str = "",
    *,
    probability: float = 0.5,
    level: float = 0.95,
    anyway: bool = False,
    uncertainty: Literal["rules", "bootstrap"] = "rules",
    repeats: int = 200,
    interval: Literal["basic", "percentile", "studentised"] = "basic",
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Analysis:
    """Estimate something from a release alone, with error bars that count noise and synthesis.

    Args:
        release: a release, or the folder of one.
        kind: "mean", "proportion", "table", "total", "quantile", "correlation", "odds-ratio",
            "independence", "standardised-difference", "ratio", "ols", "logit" or "poisson"; or a
            function that takes a data frame and gives estimates and their (co)variances.
        formula: an expression, "log(income + 1)", or one by groups, "income ~ sex"; columns to
            cross, "sex + region", or two to relate, "works + {income > 25000}"; for models a
            formula, "income ~ age + C(region)".
        probability: of a quantile.
        level: confidence level in (0, 1).
        anyway: give numbers even where no rule is valid; they are stamped so.
        uncertainty: "rules": noisy counts with known noise, or a combining rule for several sets;
            "bootstrap": the whole method is run again on tables drawn from the released model, as
            post-processing (`understudy.inference.bootstrap_intervals`).
        repeats: how often, for a bootstrap.
        interval: of a bootstrap.
        seed: of a bootstrap; the answer follows from it, whatever the number of workers.
        workers: processes of a bootstrap. With several, a script needs the guard
            `if __name__ == "__main__":`.
        progress: called with a stage, and how much of how much is done.

    Raises:
        InferenceError: unknown kind or name, no valid rule, or an estimate that cannot be computed;
            says what would work.
        ReleaseError: the folder is not a release.
    """
    from understudy.inference.answering import about_rules, analyze_release
    from understudy.inference.bootstrap_intervals import require_options
    from understudy.inference.estimates.estimators import Question
    from understudy.pipeline.bootstrap import bootstrap

    loaded = given_release(release)
    require_text("formula", formula, InferenceError, "income ~ age")
    require_number("probability", probability, InferenceError, 0.5)
    require_number("level", level, InferenceError, 0.95)
    require_function("progress", progress, InferenceError)
    if uncertainty == "rules":
        return analyze_release(
            loaded, kind, formula, probability=probability, level=level, anyway=anyway
        )
    require_options(uncertainty, interval, workers=workers, repeats=repeats)
    question = Question.of(kind, formula, loaded.schema, probability=probability)
    analysis = bootstrap(
        loaded,
        question,
        replica_gate,
        repeats=repeats,
        interval=interval,
        level=level,
        seed=seed,
        workers=workers,
        anyway=anyway,
        progress=progress,
    )
    return about_rules(analysis, formula, loaded.schema)


def replica_gate(rows: pl.DataFrame, schema: Schema, budget: Budget, seed: int) -> Gate:
    """A gate in front of rows that were drawn from a released model, so that nothing is secret.

    Args:
        rows: the drawn table.
        schema: of the release.
        budget: of the release.
        seed: of the noise.
    """
    return open_gate(engines.Table(rows, schema), budget, SeededRandomness(seed))
