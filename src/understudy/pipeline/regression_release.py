"""From a table to a differentially private linear regression, without synthetic records."""

from __future__ import annotations

from pathlib import Path

from understudy import engine as engines
from understudy.arguments import require_text
from understudy.errors import InferenceError
from understudy.inference.private_regression import (
    PrivateRegression,
    Repair,
    private_regression,
    read_formula,
    require_repair,
)
from understudy.pipeline.gates import open_gate
from understudy.privacy.accounting.budget import Budget, Number
from understudy.privacy.mechanisms.sums.linear_regression import (
    Regression,
    RegressionMechanism,
)
from understudy.privacy.noise.randomness import SecureRandomness, SeededRandomness
from understudy.privacy.terms import terms_of
from understudy.schema import Schema
from understudy.schema.given_schema import given_schema


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
