"""The perturbed histogram: the Laplace sanitizer on the bins of numeric columns.

1. Put numeric columns into bins, and cross them with the categorical ones: K cells.
2. Add noise to the count of every allowed cell, empty ones included; set negative counts to 0.
3. Draw cells in proportion to what is left, and numbers uniformly within their bin: the density
   estimate p_k / h of Wasserman & Zhou.

* **Measures** one table over all columns, and the out-of-domain count; for `bins=bought` the
  deviations of the numeric columns before it, once for all sets.
* **Bins** (`histogram_bins`): those of the schema, a number, the rules of Sturges, of Scott or of
  Freedman & Diaconis from what is public, or Scott's with a bought deviation. The forms
  `dense`, `filtered` and `lazy` are those of `laplace`.
* **Public**: the schema with its bounds and structural zeros; what the bins are made of.
* **Guarantee**: pure ε-DP, add/remove and replace. `mode=paper`, dense only, has continuous noise
  of scale 1/ε, half of what a replaced record needs, and reads the deviations for `bins=scott` or
  the quartiles for `bins=fd` off the rows; the guarantee then is conditional and says so.
  Bowen & Liu take Scott's rule and ten sets at ε/10 each (`bins=scott`, `sets=split`); free sets
  cost less noise.
* **Costs** like `laplace`: K cells (dense), or occupied cells and records.
* **Choose it** for one or two numbers of any shape, and mixed tables of few columns. **Do not**
  choose it when the noise mass that `plan` shows exceeds the number of records: fewer bins, or a
  model (`modips`), then do better.

Sources: Wasserman & Zhou (2010), §3.2; Bowen & Liu (2020), §3.1.2, eq. 4; Scott (1979).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

from understudy.families.histogram_bins import Binned
from understudy.families.measurement_plan import PlannedTable
from understudy.families.method import Facts
from understudy.methods.laplace import Laplace
from understudy.privacy.accounting.budget import Budget
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class PerturbedHistogram(Binned, Laplace):
    """Configuration: the options of `Binned` for the bins, those of `Laplace` for the noise.

    Attributes:
        sets: "free": all sets are drawn from one noisy fit; "split": each has a fit of its own, at
            its share of the budget.
    """

    facts: ClassVar[Facts] = Facts(
        name="perturbed-histogram",
        title="noise on every bin, numbers uniform within",
        paper="Wasserman & Zhou (2010); Bowen & Liu (2020), §3.1.2",
        guarantee="pure ε; add/remove and replace (conditional in paper mode)",
        data="few columns, numeric or mixed",
        cost="cells (dense), occupied cells + records (filtered, lazy)",
        cost_class="fast",
    )

    sets: Literal["free", "split"] = "free"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One table over all columns, in the chosen bins."""
        return super().plan(self.binned(schema), spend, budget)
