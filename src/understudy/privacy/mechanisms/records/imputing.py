"""The verb that imputes: records from perturbed regressions, each step paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from understudy.privacy.accounting.budget import Accounting
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.door import Door
from understudy.privacy.mechanisms.records.imputation_draws import (
    Imputation,
    fit_imputers,
    imputed_records,
    require_imputable,
)
from understudy.privacy.mechanisms.records.urn import prior_weight, urn_epsilon
from understudy.privacy.released import Noise, Records, Released, SweepDraws
from understudy.privacy.rows_in_domain import known_rows

IMPUTATION = "perturbed imputation"


class Imputing(Door):
    """Records from perturbed imputation."""

    @verb
    def impute(
        self, specification: Imputation, *, n_rows: HowMany, spend: Fraction
    ) -> Released[Records]:
        """Synthetic records of all columns, each state drawn from a perturbed regression.

        Proof: `understudy.privacy.mechanisms.records.imputation_draws`. Every step of every record
        has an equal share.

        Args:
            specification: a named mechanism and its public parameters.
            n_rows: how many; public or released.
            spend: cost of all of them together.

        Raises:
            MethodError: columns with too many states.
            BudgetError: so many steps that next to nothing is left for each.
            InsufficientBudgetError: more than is left.
        """
        names, domain = self.own_schema.names, self.own_schema.domain
        require_imputable(domain.sizes)
        self._ledger.require(spend)
        steps = steps_of_record(specification, names)
        prior = step_prior(spend / max(1, n_rows * steps), self.budget.accounting)
        entry = self._ledger.charge(
            spend,
            IMPUTATION,
            imputation_query(names),
            sensitivity="any probabilities in place of any others",
            noise=describe_imputation(spend, steps),
            cells=steps,
        )
        rows = [
            one.astype(np.int64) for one in known_rows(self._secret_rows(), self.own_schema, names)
        ]
        imputers = fit_imputers(rows, domain.sizes, specification, self._secret_randomness)
        drawn = imputed_records(
            imputers,
            domain,
            prior,
            n_rows,
            sweeps=specification.sweeps,
            randomness=self._secret_randomness,
        )
        noise = Noise(IMPUTATION, str(prior), 0.0)
        keys = {name: tuple(other for other in names if other != name) for name in names}
        public = SweepDraws(names, keys, IMPUTATION, prior, bins=self._bins_of(names))
        self._measured.append(Released(public, noise, IMPUTATION, entry))
        return Released(drawn, noise, IMPUTATION, entry)


def imputation_query(columns: tuple[str, ...]) -> str:
    """What is asked, in the words of the ledger."""
    return "records imputed over " + " × ".join(columns)


def steps_of_record(specification: Imputation, columns: tuple[str, ...]) -> int:
    """How many states are drawn for each record."""
    return specification.sweeps * len(columns)


def step_prior(spend: Fraction, accounting: Accounting) -> Fraction:
    """α of a step, rounded up, in units of probability.

    Args:
        spend: cost of a step.
        accounting: unit of it.

    Raises:
        BudgetError: next to nothing.
    """
    return prior_weight(1, urn_epsilon(spend, accounting), reinforced=False)


def describe_imputation(spend: Fraction, steps: int) -> str:
    """The mechanism with its parameter, for the ledger; n stands for the records it draws."""
    cost = f"{spend}/(n·{steps})"
    return f"draws by fitted probabilities, prior weight 1/(exp(e) - 1), e-DP at a cost of {cost}"
