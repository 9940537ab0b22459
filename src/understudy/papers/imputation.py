"""Imputation of whole tables by elastic-net regressions: perturbed, or without privacy.

**Perturbed multiple imputation: records drawn column by column from perturbed regressions.**

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
  is that share of ρ. The proof is in `understudy.papers.imputation_draws`: p
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

**Multiple imputation of whole tables by elastic-net regressions, without privacy.**

The baseline without privacy of `perturbed-imputation`, its limit as α → 0. For each set:

1. Give the rows independent exponential weights (Bayesian bootstrap): parameters fitted to weighted
   rows are an approximate draw from their posterior.
2. Fit to the weighted rows, for each column, an elastic-net multinomial regression on all others,
   its penalty found by cross-validation unless given.
3. Start every record at a uniform allowed cell, and go through the columns several times, drawing
   each state given the other columns. Sweeps are free, so that the start is forgotten.

* **Measures** exactly: the full table, by its occupied cells. It is not published as such.
* **Public**: the schema.
* **Guarantee**: none. Needs `allow_nonprivate`, and the release is stamped not private.
* **Costs** a fit for each set (see `perturbed-imputation`); up to 2⁶² cells.
* **Combining.** Each set has parameters of its own, drawn around those of the rows, so T = ū + b/m
  is the rule. It counts sampling, parameters and drawing, not what the model leaves out:
  interactions of several columns, and the pull of the penalty, which makes relations weaker. So
  questions about several columns are refused (`understudy study coverage` has the others).
* **Choose it** only as a yardstick, for what regressions without interactions keep. **Do not**
  publish from it.

Sources: Rubin (1981, 1987); Raghunathan, Reiter & Rubin (2003); Park & Ghosh (2014), §2.1 and
Table 1; regressions by Zou & Hastie (2005).

Methods that impute: each column from an elastic-net regression on the others.

Records imputed from an exact table: by regressions, their parameters drawn anew for each set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from understudy.dp.budget import Budget
from understudy.dp.mechanism import Form
from understudy.dp.randomness import SeededRandomness
from understudy.methods.base import (
    Effort,
    Estimate,
    Facts,
    NonAdaptiveMethod,
    PaidRecords,
    expected_rows,
)
from understudy.methods.plan import AnyGate, PlannedTable
from understudy.models.model import InferenceFacts, Sample
from understudy.models.tables import unravel
from understudy.papers.exact import ExactFullTable
from understudy.papers.imputation_draws import (
    Imputation,
    ImputedRecords,
    fit_imputers,
    imputed_records,
    require_imputable,
    step_prior,
)
from understudy.schema import Domain, Schema


@dataclass(frozen=True, kw_only=True)
class ImputingMethod(NonAdaptiveMethod):
    """A method that imputes.

    Attributes:
        sweeps: how often each column of a record is drawn.
        penalty: λ of the elastic net, of the mean loss of a row; found by cross-validation if None,
            or 3/n of fewer than 100 rows.
        mixing: share of the absolute penalty, from 0 (ridge) to 1 (lasso).
        most_rows: fitted to a random choice of so many rows, if there are more.
    """

    sweeps: Annotated[int, Field(ge=1)] = 1
    penalty: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    mixing: Annotated[float, Field(ge=0, le=1)] = 0.5
    most_rows: Annotated[int, Field(ge=1)] = 10_000

    @property
    def imputation(self) -> Imputation:
        """Way in which columns are imputed."""
        return Imputation(
            sweeps=self.sweeps,
            penalty=self.penalty,
            mixing=self.mixing,
            most_rows=self.most_rows,
        )

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Time on two busy cores, with coefficients, a chunk of probabilities and coded rows."""
        states, d, n = sum(schema.sizes), len(schema.names), expected_rows(schema)
        fitted = min(n, self.most_rows)
        fits = 1 if self.penalty is not None else 3
        seconds = 1e-7 * fits * fitted * states * d + 6e-9 * n * self.sweeps * states * d
        return Effort((8 * states**2 + 8 * n * d + 10**8) / 1e6, seconds)


@final
@dataclass(frozen=True, kw_only=True)
class PerturbedImputation(ImputingMethod):
    """Perturbed imputation, as configured; regressions are in `ImputingMethod`, each sweep costs.

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
    inference: ClassVar[InferenceFacts] = InferenceFacts(swept=True)

    sets: Literal["split"] = "split"

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Draw the records: one step over all columns."""
        imputed = ImputedRecords(imputation=self.imputation, n_rows=n_rows)
        records = gate.ask(imputed, spend=spend)
        return lambda: PaidRecords.of(records)

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """Warn how little this budget buys, where the number of rows is public."""
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


@dataclass(frozen=True)
class ImputedModel:
    """Imputation without perturbation, from an exact table: not private.

    Attributes:
        domain: sizes and structural zeros of all columns.
        codes: mixed-radix numbers of the occupied cells, shape (cells,).
        counts: records in them, shape (cells,).
        imputation: how columns are regressed, and how often each is drawn.
    """

    domain: Domain
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    imputation: Imputation

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw weights of the rows, fit to the weighted rows, and draw records.

        Weights are those of the Bayesian bootstrap (Rubin 1981): independent exponential numbers.
        """
        states = unravel(np.repeat(self.codes, self.counts), self.domain.sizes)
        weights = rng.standard_exponential(len(states[0]))
        randomness = SeededRandomness(int(rng.integers(2**63)))
        imputers = fit_imputers(
            states, self.domain.sizes, self.imputation, randomness, weights=weights
        )
        records = imputed_records(
            imputers,
            self.domain,
            None,
            n_rows,
            sweeps=self.imputation.sweeps,
            randomness=randomness,
        )
        return Sample([*records.columns])


@final
@dataclass(frozen=True, kw_only=True)
class MultipleImputation(ImputingMethod):
    """Multiple imputation, as configured; options of the regressions are in `ImputingMethod`.

    Attributes:
        sets: always "posterior": each set has parameters of its own.
        sweeps: how often each column of a record is drawn.
    """

    facts: ClassVar[Facts] = Facts(
        name="multiple-imputation",
        title="columns imputed by regressions on the others; not private",
        paper="Raghunathan, Reiter & Rubin (2003); Park & Ghosh (2014), §2.1",
        guarantee="none",
        data="columns of up to 8,000 states together, up to 2⁶² cells",
        cost="fits of 10,000 rows × states² for each set",
        cost_class="slow",
    )
    private: ClassVar[bool] = False
    inference: ClassVar[InferenceFacts] = InferenceFacts(posterior_rule="partial", shrunk=True)

    sets: Literal["posterior"] = "posterior"
    sweeps: Annotated[int, Field(ge=1)] = 10

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The exact full table, from which records are swept."""
        (step,) = super().plan(schema, spend, budget)
        return (replace(step, form=Form.SWEEPS),)

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Take the exact full table."""
        domain = gate.schema.domain
        require_imputable(domain.sizes)
        self.require_numbered(gate.schema)
        full = gate.ask(ExactFullTable())
        return lambda: ImputedModel(domain, full.value.codes, full.value.counts, self.imputation)
