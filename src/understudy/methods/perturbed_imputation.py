"""Perturbed multiple imputation: records drawn column by column from perturbed regressions.

1. Fit to the rows, for each column, an elastic-net multinomial regression on all other columns.
2. Start every record at a uniform allowed cell, which is public.
3. Go through the columns in the order of the schema: draw each one's state again, by the fitted
   probabilities p given the other columns as they are, with a prior weight α added to each state
   that the structural zeros leave open: (p + α)/(1 + |S|·α).

* **Measures** nothing that leaves; what leaves is the records, and how they were drawn.
* **Public**: the schema with its structural zeros; the number of records drawn, or that number
  bought with noise.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP; add/remove and replace, at the same α. Each
  of the ñ·sweeps·M draws costs ε₀ = ε/(ñ·sweeps·M), with α = 1/(e^ε₀ − 1), or the ε₀ of which ε₀²/2
  is that share of ρ. The proof is in `understudy.privacy.mechanisms.records.imputation_draws`: p
  lies in [0, 1] whatever the rows are, so fits, tuning and their failures cost nothing. The paper
  states ε for one record; m sets have a share of the budget each. It is the drawing that protects,
  so no seed is accepted.
* **Costs** one fit for each column, of 10,000 rows at most, by scikit-learn: seconds for a dozen
  columns, two or three times as long with cross-validation; drawing is fast beside it.
* **How little it buys.** α is about ñ·M/ε for one sweep. A thousand records of 13 columns at ε = 1
  have α = 13,000: the regressions have a weight of 1/(1 + |S|·α), less than one in ten thousand,
  and the records are uniform for every purpose. Even at ε = 10,000, α = 0.86.
* **Choose it** to reproduce published comparisons, or for a handful of records at a large ε. **Do
  not** choose it for a table: at any usual ε `independent` is closer to the rows, and `privbayes`
  or `marginals` keep relations, as they pay once for all records.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3.5; regressions by Zou & Hastie (2005), "Regularization and variable selection
via the elastic net".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

from understudy.families.imputing_method import ImputingMethod
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Facts
from understudy.families.paid_records import PaidRecords
from understudy.models import Model
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.imputation_draws import ImputedRecords, step_prior
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class PerturbedImputation(ImputingMethod):
    """Configuration; that of the regressions is in `ImputingMethod`. Each sweep costs.

    Attributes:
        sets: always "split": each set is drawn at a cost of its own.
    """

    needs_records = True
    facts: ClassVar[Facts] = Facts(
        name="perturbed-imputation",
        title="columns imputed by perturbed regressions, paid for by record",
        paper="Park & Ghosh (2014), §3.5",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="any columns, of up to 8,000 states together",
        cost="fits of 10,000 rows × states² + records × states",
        cost_class="slow",
    )
    swept: ClassVar[bool] = True

    sets: Literal["split"] = "split"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all columns, counted by the states drawn for a record."""
        how = {"form": Form.SWEEPS, "records": True}
        return announced(self._records(1), schema, spend, budget, [schema.names], **how)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Draw the records through the gate."""
        return PaidRecords.of(gate.ask(self._records(n_rows), spend=spend))

    def _records(self, n_rows: int) -> ImputedRecords:
        return ImputedRecords(imputation=self.imputation, n_rows=n_rows)

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """How little this budget buys, where the number of rows is public."""
        if schema.rows != "public" or not schema.n_rows:
            return ()
        steps = schema.n_rows * self.sweeps * len(schema.names)
        prior = step_prior(spend / steps, budget.accounting)
        weight = float(1 / (1 + min(schema.sizes) * prior))
        return (
            f"{schema.n_rows:,} records take {steps:,} draws, each paid for, so fitted "
            f"probabilities have a weight of {weight:.2g} at most beside an even spread. Methods "
            "that pay once for all records, such as marginals, keep more.",
        )
