"""The DP-prior synthesizer: independent records from smoothed shares.

1. Give each of the K allowed cells of the full table a prior weight of a = 1/(e^(ε/ñ) − 1) records.
2. Draw ñ records independently with probabilities p_k = (n_k + a)/(n + Ka): each one a real
   record's cell with weight n, or a uniform cell with weight Ka.

* **Measures** nothing; what leaves is the records, and how they were drawn. The probabilities would
  reveal the counts exactly, and stay inside.
* **Public**: the schema with its structural zeros; the number of records drawn, or that number
  bought with noise. The prior follows from these and from ε.
* **Guarantee**: pure ε-DP, add/remove and replace; exact
  (`understudy.privacy.mechanisms.records.urn`). It is the drawing that protects, so no seed is
  accepted, and m sets have ε/m each.
* **Costs** occupied cells and records, up to 2⁶² cells.
* **Bias.** Shares are drawn towards 1/K with weight Ka/(n + Ka), and n does not help, as a is about
  ñ/ε: with K = 2 and ε = 1 the prior has weight 0.664 at n = ñ = 40 and 0.667 at 1000; with K cells
  about 1/(1 + ε/K). An analyst can put shares right, as the prior is published.
* **Choose it** to reproduce published results. `dirichlet` biases less at each ε, for a somewhat
  larger variance: its prior falls like e^−ε, this one only like 1/ε. **Do not** choose it for
  tables with more cells than ε: the records are then mostly uniform.

Source: McClure & Reiter (2012), "Differential privacy and statistical disclosure risk measures: an
investigation with binary synthetic data".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from understudy.families.method import Facts
from understudy.families.paid_records import UrnMethod
from understudy.privacy.mechanisms.records.urn import Urn


@final
@dataclass(frozen=True, kw_only=True)
class DPPrior(UrnMethod):
    """Configuration; there is nothing to choose, as the prior follows from the budget."""

    facts: ClassVar[Facts] = Facts(
        name="dp-prior",
        title="independent records from smoothed shares",
        paper="McClure & Reiter (2012)",
        guarantee="pure ε; add/remove and replace",
        data="few cells; up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )

    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """Records are drawn independently: none is copied."""
        return Urn(columns=columns, n_rows=n_rows, reinforced=False)
