"""The smoothed histogram: independent records from the rows' histogram and a uniform density.

1. Put numeric columns into bins, and cross them with the categorical ones: K allowed cells.
2. Give each cell a prior weight of a = 1/(e^(ε/ñ) − 1) records, and draw ñ records independently
   with probabilities (n_k + a)/(n + Ka). This is the density of Wasserman & Zhou,
   (1 − λ)·histogram + λ·uniform, with λ = Ka/(n + Ka) = K/(K + n(e^(ε/ñ) − 1)).
3. Draw numbers uniformly within their bin.

It is `dp-prior` on bins, and shares its mechanism (`understudy.privacy.mechanisms.records.urn`).

* **Measures** nothing but, for `bins=bought`, the deviations of the numeric columns, once for all
  sets; what leaves is the records. The density would reveal the counts exactly, and stays inside.
* **Bins** (`histogram_bins`): those of the schema, a number, the rules of Sturges, of Scott or of
  Freedman & Diaconis from what is public, or Scott's with a bought deviation.
* **Public**: the schema with its bounds and structural zeros; what the bins are made of; the number
  of records drawn, or that number bought with noise.
* **Guarantee**: pure ε-DP, add/remove and replace. It is the drawing that protects, so no seed is
  accepted, and m sets have ε/m each. In `mode=paper` the deviations for `bins=scott`, or the
  quartiles for `bins=fd`, are read off the rows; the guarantee then is conditional and says so.
  Nothing else differs from the paper.
* **Costs** occupied cells and records, up to 2⁶² cells.
* **Bias.** As n(e^(ε/n) − 1) is hardly more than ε, λ is about K/(K + ε) at any n: with K = 7,
  n = 40 and ε = 1 it is 0.874. Under Scott's rule K grows with n, so results get *worse* with more
  rows.
* **Choose it** to reproduce published results, with very few bins. **Do not** choose it otherwise:
  `perturbed-histogram` gets better with more rows.

Sources: Wasserman & Zhou (2010), "A statistical framework for differential privacy"; Bowen & Liu
(2020), §3.1.2, eqs 5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

from understudy.families.histogram_bins import Binned
from understudy.families.measurement_plan import PlannedTable
from understudy.families.method import Facts
from understudy.families.paid_records import UrnMethod
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.mechanisms.records.urn import Urn
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class SmoothedHistogram(Binned, UrnMethod):
    """Configuration: the options of `Binned`; the prior follows from the budget.

    Attributes:
        sets: always "split": each set has draws of its own, at its share of the budget.
    """

    facts: ClassVar[Facts] = Facts(
        name="smoothed-histogram",
        title="independent records from a smoothed histogram",
        paper="Wasserman & Zhou (2010); Bowen & Liu (2020), §3.1.2",
        guarantee="pure ε; add/remove and replace",
        data="few bins, numeric or mixed; up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )

    sets: Literal["split"] = "split"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all columns, in the chosen bins."""
        return super().plan(self.binned(schema), spend, budget)

    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """Records are drawn independently: the shares are those of `dp-prior`, over bins."""
        return Urn(columns=columns, n_rows=n_rows, reinforced=False)
