"""Estimates from a release, and a private linear regression of a table without synthetic records.

Estimates need a release alone; a bootstrap runs methods on rows that a release has drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from understudy import engine as engines
from understudy.arguments import require_function, require_number, require_text
from understudy.errors import InferenceError
from understudy.inference.private_regression import (
    PrivateRegression,
    Repair,
    private_regression,
    read_formula,
    require_repair,
)
from understudy.pipeline.gates import open_gate
from understudy.pipeline.interruption import Progress
from understudy.privacy.accounting.budget import Budget, Number
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.sums.linear_regression import (
    Regression,
    RegressionMechanism,
)
from understudy.privacy.noise.randomness import SecureRandomness, SeededRandomness
from understudy.privacy.terms import terms_of
from understudy.release import Release
from understudy.release.release import given_release
from understudy.schema import Schema
from understudy.schema.given_schema import given_schema

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
            "independence", "standardised-difference", "ols", "logit" or "poisson"; or a function
            that takes a data frame and gives estimates and their (co)variances.
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
    from understudy.inference.analysis import analyze_release
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
    return bootstrap(
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


def replica_gate(rows: pl.DataFrame, schema: Schema, budget: Budget, seed: int) -> Gate:
    """A gate in front of rows that were drawn from a released model, so that nothing is secret.

    Args:
        rows: the drawn table.
        schema: of the release.
        budget: of the release.
        seed: of the noise.
    """
    return open_gate(engines.Table(rows, schema), budget, SeededRandomness(seed))


def regress(
    data: object,
    schema: Schema | str | Path,
    formula: str,
    *,
    epsilon: Number,
    mechanism: RegressionMechanism = "k-norm",
    repair: Repair = "ridge",
    insecure_noise_seed: int | None = None,
) -> PrivateRegression:
    """Coefficients of a linear regression of numeric columns, under pure differential privacy.

    All of ε goes into the coefficients of one regression that is known beforehand; each further
    one costs its own ε. Records that lack a number in one of the columns do not count; values
    beyond the bounds are clipped to them. There are no standard errors: neither mechanism has any
    (`understudy.inference.private_regression`).

    Args:
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).
        schema: a reviewed schema, or the path of its file; the bounds of the columns set the size
            of the noise.
        formula: names of numeric columns, "income ~ age + size"; with an intercept.
        epsilon: ε of the whole.
        mechanism: "k-norm" (Awan & Slavković 2018), or "functional" (Zhang et al. 2012), with twice
            the noise where records are added or removed, and much alike where they are replaced.
        repair: what is done where noise leaves no positive definite matrix: "ridge" or "trim".
        insecure_noise_seed: for tests and studies only: draw the noise from this seed, so that the
            result is **not private** and its guarantee says so.

    Returns:
        Coefficients with guarantee and ledger, and the noisy statistics that they follow from.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or too little to draw the noise exactly.
        InferenceError: a formula or a repair that cannot be read.
        MethodError: a mechanism or columns that do not fit.
        DataError: a structural fault of the data; nothing was spent.
    """
    # Whatever does not fit is refused here, before rows are read.
    schema = given_schema(schema)
    schema.require_reviewed()
    require_text("formula", formula, InferenceError, "income ~ age")
    response, predictors = read_formula(formula)
    require_repair(repair)
    budget = Budget.of(epsilon)
    asked = Regression(response=response, predictors=predictors, mechanism=mechanism)
    asked.price(terms_of(schema, budget), budget.amount)
    seed = insecure_noise_seed
    source = SecureRandomness() if seed is None else SeededRandomness(seed)
    gate = open_gate(engines.Table(data, schema), budget, source)
    released = gate.ask(asked, spend=budget.amount)
    return private_regression(
        released, formula, repair, guarantee=gate.guarantee(), ledger=gate.ledger
    )
