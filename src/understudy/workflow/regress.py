"""One regression of a confidential table: the release of one declared analysis, and its answer.

By default, second moments of the formula's columns are bought with most of the budget
(`understudy.mechanisms.second_moments`), and synthetic records of these columns with
the rest; coefficients, standard errors and intervals then follow from the release alone
(`understudy.inference`). What a fifth of the budget buys is needed: the sampling error of a
coefficient rests on fourth moments, whose shape the records tell, and so does whether a predictor
is told from the noise.

Two published mechanisms spend all of a pure ε on the coefficients of a linear regression of
numbers, without synthetic records and without standard errors
(`understudy.inference.private_regression`).

Sources: sufficient statistics with noise, Vu & Slavković (2009), "Differential privacy for clinical
trial data"; Wang (2018), "Revisiting differentially private linear regression".

**The published mechanisms of a regression: coefficients for a pure ε, and no records or errors.**
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, Unpack, overload

from understudy._validation import require_number, require_text
from understudy.dp.budget import Budget, Number
from understudy.dp.confidential import terms_of
from understudy.dp.randomness import randomness_of
from understudy.errors import InferenceError, MethodError, suggestion
from understudy.inference.combining import require_level
from understudy.inference.declared import DeclaredAnalysis
from understudy.inference.private_regression import (
    PrivateRegression,
    RegressionRelease,
    Repair,
    private_regression,
    read_formula,
    require_repair,
)
from understudy.mechanisms.regression import MECHANISMS, Regression, RegressionMechanism
from understudy.mechanisms.second_moments import SecondMoments, TermMoments
from understudy.schema import Schema
from understudy.schema.design import Design
from understudy.schema.geography import Geography
from understudy.schema.schema import given_schema
from understudy.workflow.gates import (
    laid_out,
    open_gate,
    require_late_needs,
    summed_rows,
    telling_what_was_spent,
)
from understudy.workflow.governance import outlay_of, reserve_cost
from understudy.workflow.options import (
    AnswerKeywords,
    RegressKeywords,
    RunOptions,
    SynthesisOptions,
    gather,
    list_keywords,
)
from understudy.workflow.request import request_of
from understudy.workflow.synthesize import synthesize


def published_regression(
    data: object,
    schema: Schema | str | Path,
    formula: str,
    *,
    epsilon: Number,
    mechanism: RegressionMechanism,
    repair: Repair,
    run: RunOptions,
) -> PrivateRegression:
    """Coefficients alone, of arguments as for `regress`; what does not fit is refused at once."""
    schema = given_schema(schema)
    schema.require_reviewed()
    response, predictors = read_formula(formula)
    require_repair(repair)
    budget = Budget.of(epsilon)
    asked = Regression(response=response, predictors=predictors, mechanism=mechanism)
    asked.price(terms_of(schema, budget), budget.amount)
    source = randomness_of(run.insecure_noise_seed)
    require_late_needs(source)
    outlay = outlay_of(schema, budget, run)
    rows = summed_rows(data, schema, run, passes=2)
    request = {"formula": formula, "mechanism": mechanism, "epsilon": str(budget.epsilon)}
    with reserve_cost(outlay, "regression", request) as spent:
        gate = open_gate(rows, budget, source)
        gate.listen(spent.note)
        with telling_what_was_spent(gate):
            released = gate.ask(asked, spend=budget.amount)
            promise = gate.guarantee()
            found = private_regression(
                released, formula, repair, guarantee=promise, ledger=gate.ledger
            )
            spent.settle(promise, found.to_json())
    return found


SUFFICIENT_STATISTICS: Final = "sufficient-statistics"
RegressionKind = Literal["ols", "logit", "poisson"]
MOMENTS_SHARE: Final = Fraction(4, 5)
"""Of what the number of rows leaves; more makes intervals hardly shorter, and records poor."""
_LEVEL: Final = 0.95


@overload
def regress(
    data: object,
    schema: Schema | str | Path,
    formula: str,
    *,
    epsilon: Number,
    delta: Number = ...,
    kind: RegressionKind = ...,
    mechanism: Literal["sufficient-statistics"] = ...,
    level: float = ...,
    run: RunOptions | None = ...,
    **keywords: Unpack[RegressKeywords],
) -> RegressionRelease: ...


@overload
def regress(
    data: object,
    schema: Schema | str | Path,
    formula: str,
    *,
    epsilon: Number,
    mechanism: RegressionMechanism,
    repair: Repair | None = ...,
    run: RunOptions | None = ...,
    **keywords: Unpack[AnswerKeywords],
) -> PrivateRegression: ...


@list_keywords(RegressKeywords)
def regress(
    data: object,
    schema: Schema | str | Path,
    formula: str,
    *,
    epsilon: Number,
    delta: Number = 0,
    kind: RegressionKind = "ols",
    mechanism: Literal["sufficient-statistics"] | RegressionMechanism = SUFFICIENT_STATISTICS,
    repair: Repair | None = None,
    level: float = _LEVEL,
    run: RunOptions | None = None,
    **keywords: Unpack[RegressKeywords],
) -> RegressionRelease | PrivateRegression:
    """One regression that is known beforehand, under differential privacy.

    By default it is the release of one declared analysis: coefficients with standard errors,
    intervals and p-values, which count sampling and noise, and the release that they follow from.
    Only records with a value in each column of the formula count; numbers beyond their bounds are
    clipped to them. Each further regression costs a budget of its own; several belong into one
    release (`synthesize(analyses=…)`).

    Args:
        data: pandas, Polars or Arrow table, a path to CSV or Parquet (file or folder), or a Spark
            data frame.
        schema: a reviewed schema, or the path of its file; the bounds of the columns set the size
            of the noise.
        formula: such as "income ~ age + C(region)", as `analyze` takes it; for the two published
            mechanisms names of numeric columns, "income ~ age + size". It must be chosen without a
            look at the rows.
        epsilon: ε of the whole.
        delta: δ of the whole; 0 for pure differential privacy, at which many columns are dear.
        kind: "ols", "logit" or "poisson".
        mechanism: "sufficient-statistics"; or, of an "ols" without standard errors and for a pure
            ε, "k-norm" (Awan & Slavković 2018) or "functional" (Zhang et al. 2012), which has
            twice the noise where records are added or removed, and much alike where they are
            replaced; "functional-published" has the noise of its published sensitivity, which is
            larger than needed.
        repair: for the latter two, what is done where noise leaves no positive definite matrix:
            "ridge" (if none is given) or "trim".
        level: confidence level of the intervals shown, in (0, 1).
        run: how the run goes. Use it instead of the keywords that follow.
        **keywords: fields of `RunOptions`.

    Returns:
        A `RegressionRelease`. Where the answer is lost in the noise it says so; its budget is
        spent nevertheless. For the two published mechanisms a `PrivateRegression`: coefficients
        with guarantee and ledger, and the noisy statistics that they follow from.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or too little to draw the noise exactly.
        InferenceError: a kind, a formula, a level or a repair that cannot be read, or a formula
            that second moments do not answer.
        MethodError: a mechanism, columns or options that do not fit.
        DataError: a structural fault of the data; nothing was spent.
        CheckpointError: as `synthesize`.
        LedgerError: as `synthesize`.
    """
    _, run = gather("regress", RegressKeywords, keywords, run=run)
    require_mechanism(mechanism)
    require_text("formula", formula, InferenceError, "income ~ age")
    require_number("level", level, InferenceError, 0.95)
    require_level(level)
    if mechanism != SUFFICIENT_STATISTICS:
        own: dict[str, object] = {"delta": Budget.of(epsilon, delta).delta, "kind": kind != "ols"}
        own |= {"level": level != _LEVEL, "seed": run.seed is not None}
        own |= {"checkpoint": run.checkpoint, "confide": run.confide}
        _require_none(mechanism, [name for name, given in own.items() if given])
        return published_regression(
            data,
            schema,
            formula,
            epsilon=epsilon,
            mechanism=mechanism,
            repair="ridge" if repair is None else repair,
            run=run,
        )
    if repair is not None:
        raise MethodError("Sufficient statistics are not repaired; leave repair out.")
    declared = declare_regression(schema, formula, epsilon=epsilon, delta=delta, kind=kind)
    rows = laid_out(data, given_schema(schema))
    return RegressionRelease.of(synthesize(rows, **declared, run=run), level)


def declare_regression(
    schema: Schema | str | Path,
    formula: str,
    *,
    epsilon: Number,
    delta: Number = 0,
    kind: str = "ols",
) -> dict[str, Any]:
    """The release of one regression, as arguments of `synthesize` that say what is measured.

    Arguments and errors are those of `regress`.
    """
    from understudy.inference.question import MODELS
    from understudy.workflow.expected_answers import require_moments

    schema = given_schema(schema)
    schema.require_reviewed()
    if kind not in MODELS:
        raise InferenceError(
            f"There is no regression {kind!r}{suggestion(kind, MODELS)}; take one of "
            f"{', '.join(MODELS)}."
        )
    analysis = DeclaredAnalysis(kind, formula)
    analysis.require_about_units(schema)
    estimand = analysis.estimand(schema)
    if estimand.where:
        raise InferenceError(
            f"A regression is released of all records; leave 'where {estimand.where}' out."
        )
    analysis = DeclaredAnalysis(kind, estimand.formula)  # derived columns are written out
    parts: dict[str, Number] = {"answers": MOMENTS_SHARE, "layer": 0, "lines": 0}
    how = SynthesisOptions(budget=parts, analyses=(analysis,))
    changed = {"design": Design(), "geography": Geography()}
    part = schema.part(estimand.columns).model_copy(update=changed)
    arguments: dict[str, Any] = {"schema": part, "how": how}
    arguments |= {"epsilon": epsilon, "delta": delta}
    request = request_of(**arguments)
    request.setup()  # refuses what cannot be measured
    pure = request.budget.accounting == "pure"
    bought = SecondMoments | TermMoments
    asked = [own for own, _ in request.answers if isinstance(own, bought)]
    require_moments(request.analyses, request.schema, asked, pure=pure)
    return arguments


def require_mechanism(mechanism: object) -> None:
    """Refuse an unknown mechanism.

    Raises:
        MethodError: unknown.
    """
    known = (SUFFICIENT_STATISTICS, *MECHANISMS)
    if mechanism not in known:
        raise MethodError(
            f"There is no mechanism {mechanism!r} for a regression"
            f"{suggestion(mechanism, known)}; take one of {', '.join(known)}."
        )


def _require_none(mechanism: str, given: Sequence[str]) -> None:
    """Refuse options that a published mechanism has no use for."""
    if given:
        raise MethodError(
            f"The mechanism {mechanism} gives the coefficients of a linear regression for a pure "
            f"epsilon, and no errors or records; leave out {', '.join(given)}, or take the "
            f"mechanism {SUFFICIENT_STATISTICS}."
        )
