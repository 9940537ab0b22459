"""The published mechanisms of a regression: coefficients for a pure ε, and no records or errors."""

from __future__ import annotations

from pathlib import Path

from understudy.inference.private_regression import (
    PrivateRegression,
    Repair,
    private_regression,
    read_formula,
    require_repair,
)
from understudy.pipeline.gates import open_gate, summed_rows
from understudy.pipeline.interruption import Progress
from understudy.pipeline.late_needs import require_late_needs, telling_what_was_spent
from understudy.pipeline.outlay import outlay_of
from understudy.pipeline.run_spending import spending
from understudy.privacy.accounting.budget import Budget, Number
from understudy.privacy.mechanisms.sums.linear_regression import Regression, RegressionMechanism
from understudy.privacy.noise.randomness import randomness_of
from understudy.privacy.terms import terms_of
from understudy.schema import Schema
from understudy.schema.given_schema import given_schema


def published_regression(
    data: object,
    schema: Schema | str | Path,
    formula: str,
    *,
    epsilon: Number,
    mechanism: RegressionMechanism,
    repair: Repair,
    insecure_noise_seed: int | None,
    governed: tuple[str | Path | None, str | None],
    spill: str | Path | None,
    trusted_cluster: bool,
    tell: Progress,
) -> PrivateRegression:
    """Coefficients alone; whatever does not fit is refused before rows are read.

    Args:
        data: as for `pipeline.regression.regress`, and so are the others.
        schema: reviewed.
        formula: names of numeric columns.
        epsilon: pure ε.
        mechanism: which.
        repair: what is done where noise leaves no positive definite matrix.
        insecure_noise_seed: of the noise.
        governed: the ledger of the population, and who spends.
        spill: folder for coded rows.
        trusted_cluster: as for `regress`.
        tell: who waits.
    """
    schema = given_schema(schema)
    schema.require_reviewed()
    response, predictors = read_formula(formula)
    require_repair(repair)
    budget = Budget.of(epsilon)
    asked = Regression(response=response, predictors=predictors, mechanism=mechanism)
    asked.price(terms_of(schema, budget), budget.amount)
    seed = insecure_noise_seed
    source = randomness_of(seed)
    require_late_needs(source)
    outlay = outlay_of(schema, budget, *governed, secure=source.secure)
    rows = summed_rows(data, schema, tell, spill, passes=2, trusted_cluster=trusted_cluster)
    request = {"formula": formula, "mechanism": mechanism, "epsilon": str(budget.epsilon)}
    with spending(outlay, "regression", request) as spent:
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
