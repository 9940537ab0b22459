"""Independent columns: a noisy one-way table for each, then columns drawn independently.

The baseline that every other method has to beat, and a sound choice when only one-way distributions
matter or the budget is very small.

* **Measures** the one-way table of each column, with noise in every state and in the out-of-domain
  count. Columns are drawn by the nearest counts without negative ones. Numbers whose bins are the
  default ones have fine bins (`methods.binning`) of which noise is taken
  (`methods.noisy_marginals`), and lie within them as `models.numeric` says.
* **Public**: the schema (levels, bounds, bins, structural zeros).
* **Guarantee**: pure ε-DP with geometric or Laplace noise; (ε, δ)-DP through Gaussian DP (zCDP
  where ε is large) with discrete Gaussian noise when δ > 0. Both neighbouring relations. One-way
  tables of different columns share the rows, so their costs add up.
* **Costs** one pass over the rows.
* **Choose it** for marginal distributions, teaching files, testing of programs. **Do not** choose
  it when relations between columns matter: it keeps none, but for the structural zeros.

Source: Dwork & Roth (2014), §3.3, applied to each column.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal, final

from understudy.dp.budget import Accounting, Approximate, Budget
from understudy.dp.calibration import NoiseName
from understudy.dp.gate import Gate
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import (
    Beside,
    Estimate,
    Facts,
    NonAdaptiveMethod,
    Prepared,
    Tables,
    known_rows,
)
from understudy.methods.binning import (
    bins_for,
    coarse_again,
    fine_bins,
    numeric_columns,
    records_per_noise,
)
from understudy.methods.noisy_marginals import number_masses, numbers
from understudy.methods.plan import AnyGate, PlannedTable, natural_noise
from understudy.models.model import InferenceFacts, Model
from understudy.models.tables import ProductModel, project
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class Independent(NonAdaptiveMethod):
    """Independent columns, as configured.

    Attributes:
        sets: "free": all sets are drawn from one noisy fit; "split": each has a fit of its own, at
            its share of the budget.
        noise: noise; "auto" is geometric for δ = 0 and Gaussian otherwise.
    """

    facts: ClassVar[Facts] = Facts(
        name="independent",
        title="one-way tables, columns drawn independently",
        paper="Dwork & Roth (2014), §3.3",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="any columns, any number of them",
        cost="rows × columns",
        cost_class="fast",
    )
    fine_numbers: ClassVar[bool] = True
    inference: ClassVar[InferenceFacts] = InferenceFacts(independent=True)

    sets: Literal["free", "split"] = "free"
    noise: Literal["auto", "geometric", "laplace", "gaussian"] = "auto"

    @property
    def accounting(self) -> Approximate:
        """Gaussian DP for Gaussian noise."""
        return "gdp" if self.noise in ("auto", "gaussian") else "zcdp"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """List the tables in the finest bins, as it is not known how many are worth their noise."""
        return super().plan(schema.with_bins(fine_bins(schema)), spend, budget)

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Fine bins for numbers whose bins are the default ones."""
        each = gate.remaining / fits / len(gate.schema.names)
        records = records_per_noise(gate, self._noise(gate.budget.accounting), each)
        own = gate.rebin(fine_bins(gate.schema, bins_for(records)))
        return Prepared(partial(self.fit, own), own.schema)

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """One table per column, each with the same share; then columns are drawn by them."""
        marginals, noise = (
            [(name,) for name in gate.schema.names],
            self._noise(gate.budget.accounting),
        )
        tables = gate.ask(NoisyTables(marginals, noise=noise), spend=spend)
        return lambda: _drawn_from(gate.schema, [one.value for one in tables], known_rows(gate))

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """Columns drawn by their released tables."""
        return _drawn_from(schema, tables, n_rows)

    def _noise(self, accounting: Accounting) -> NoiseName:
        return natural_noise(accounting) if self.noise == "auto" else self.noise


def _drawn_from(schema: Schema, marginals: Tables, n_rows: int) -> ProductModel:
    """Columns drawn by the nearest counts that are not negative and have the same sum.

    Those of numbers in fine bins are drawn by estimated records, of so many rows.
    """
    weights = {one.columns[0]: project(one.counts, one.counts.sum()) for one in marginals}
    declared = coarse_again(schema).columns
    fine = {name for name in numeric_columns(schema) if declared[name] != schema.columns[name]}
    numeric = [one for one in marginals if fine.intersection(one.columns)]
    weights |= number_masses(schema, numeric, n_rows, {})
    within = numbers(schema, {name: weights[name] for name in fine})
    return ProductModel(schema.domain, tuple(weights.values()), within)
