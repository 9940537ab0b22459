"""Multiple imputation of whole tables by elastic-net regressions, without privacy.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.families.imputing_method import ImputingMethod
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Facts
from understudy.models import Model
from understudy.models.imputed_model import ImputedModel
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.imputers import require_imputable
from understudy.privacy.not_dp.exact_statistics import ExactFullTable
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class MultipleImputation(ImputingMethod):
    """Configuration; that of the regressions is in `ImputingMethod`.

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
    shrunk: ClassVar[bool] = True

    sets: Literal["posterior"] = "posterior"
    sweeps: Annotated[int, Field(ge=1)] = 10

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The exact full table."""
        require_imputable(schema.sizes)
        self.require_numbered(schema)
        columns = [schema.names]
        return announced(ExactFullTable(), schema, spend, budget, columns, form=Form.SWEEPS)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Take the exact full table."""
        cells = gate.ask(ExactFullTable()).value
        return ImputedModel(gate.schema.domain, cells.codes, cells.counts, self.imputation)
