"""AIM: marginals of a workload chosen and measured one by one, where the model is worst.

1. A noisy table of each column.
2. In rounds: the exponential mechanism picks, among all parts of the workload's marginals, the one
   whose table is farthest from the model, less what noise alone would put there, times its weight;
   its table is measured and the model fitted again. A round that found nothing new halves the
   noise of the next ones (`families.adaptive_rounds`).
3. Records are drawn from the model of greatest entropy that fits all tables
   (`models.graphical.max_entropy`).

* **Numbers** whose bins are the default ones have fine bins in step 1 (`families.fine_bins`), and
  about as many runs of these as the default bins in rounds. In declared bins all is as in the
  paper.
* **Measures** at first d one-way tables and rounds of ρ/(16 d) each (ε/(2 d) where δ = 0, as costs
  add up differently there), nine tenths of it for tables.
* **Public**: the schema with its bins and structural zeros, the options.
* **Guarantee**: (ε, δ)-DP with discrete Gaussian noise if δ > 0 (Gaussian DP accounting), pure ε-DP
  with geometric noise otherwise; **add/remove and replace**. The score is not monotone and is
  charged as such (`understudy.privacy.selection.scores`); adaptive costs stay within a
  privacy filter (`understudy.privacy.accounting.ledger`).
* **Costs** one count of the rows for each part of the workload, then seconds of fitting; it grows
  with the cells of the model, not with the domain.
* **Choose it** to compare with the literature. **Do not** choose it for columns of many levels:
  `marginals` merges them and is closer to the truth at the same budget.

Source: McKenna, Mullins, Sheldon & Miklau (2022), "AIM: An Adaptive and Iterative Mechanism for
Differentially Private Synthetic Data", PVLDB 15(11), 2599-2612, doi:10.14778/3551793.3551817.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, final

from understudy.families.adaptive_rounds import AdaptiveMethod, Pace, expected_effort
from understudy.families.effort import Effort, known_rows
from understudy.families.fine_bins import fine_bins
from understudy.families.measurement_plan import PlannedTable, planned_rounds
from understudy.families.method import Facts, Prepared
from understudy.models import Model
from understudy.privacy.accounting.budget import Accounting, Budget
from understudy.privacy.gate import Gate
from understudy.schema import Schema

MEASURED = Fraction(9, 10)


@final
@dataclass(frozen=True, kw_only=True)
class Aim(AdaptiveMethod):
    """Configuration; see `AdaptiveMethod`."""

    facts: ClassVar[Facts] = Facts(
        name="aim",
        title="marginals chosen one by one where the model is worst",
        paper="McKenna, Mullins, Sheldon & Miklau (2022)",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="many columns of few levels",
        cost="rows × marginals of three columns",
        cost_class="slow",
    )
    fine_numbers: ClassVar[bool] = True

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One-way tables, and rounds that follow from what is measured."""
        self._workload(schema)
        _, bought = self._spends(schema, spend, budget.accounting)
        one_ways = self._planned_one_ways(schema.with_bins(fine_bins(schema)), bought, budget)
        if bought == spend:
            return tuple(one_ways)
        return (*one_ways, planned_rounds(schema, spend - bought, budget, self._cells))

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """About 2 rounds a column, as seen at ε = 1 with δ (`understudy.families.effort`)."""
        return expected_effort(
            schema,
            self._workload(schema),
            tables,
            rounds=2 * len(schema.names),
            model_cells=self._cells,
        )

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Fine bins for numbers whose bins are the default ones."""
        left, d = gate.remaining / fits, len(gate.schema.names)
        _, bought = self._spends(gate.schema, left, gate.budget.accounting)
        own, fine = self._fine(gate, bought / d)
        return Prepared(partial(self._fit, own, fine), own.schema)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the columns, then what the model gets wrong."""
        return self._fit(gate, (), spend, n_rows)

    def _fit(self, gate: Gate, fine: tuple[str, ...], spend: Fraction, n_rows: int) -> Model:
        """The same, where some columns of numbers are in fine bins."""
        gate.require(spend)
        first, bought = self._spends(gate.schema, spend, gate.budget.accounting)
        known = self._one_ways(gate, bought)
        pace = Pace(
            spend=spend - bought,
            first=first,
            measured=MEASURED,
            model_cells=self._cells,
            noise=self._noise(gate.budget),
        )
        merged = self._number_runs(gate.schema, known, fine, known_rows(gate))
        workload = self._workload(merged.coarse)
        return self._in_rounds(gate, merged, known, pace, workload, bought=bought)

    def _spends(
        self, schema: Schema, spend: Fraction, accounting: Accounting
    ) -> tuple[Fraction, Fraction]:
        """What a round costs at first, and all one-way tables; a single column gets all of it."""
        d = len(schema.names)
        first = spend / ((2 if accounting == "pure" else 16) * d)
        return first, d * first * MEASURED if d > 1 else spend
