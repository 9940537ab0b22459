"""The multinomial–Dirichlet synthesizer: records from a posterior predictive distribution.

1. Give each of the K allowed cells of the full table a prior weight of α = ñ/(e^ε − 1) records.
2. Draw ñ records, each one a real record's cell, a uniform cell, or a copy of an earlier synthetic
   record, with weights n, Kα and (so far) i. This is as if cell probabilities were drawn from their
   posterior Dirichlet(n_k + α), then records from these. With two cells it is the beta–binomial
   synthesizer.

* **Measures** nothing; what leaves is the records, and how they were drawn.
* **Public**: the schema with its structural zeros; the number of records drawn, or that number
  bought with noise. The prior follows from these and from ε.
* **Guarantee**: pure ε-DP, add/remove and replace; exact
  (`understudy.privacy.mechanisms.records.urn`). It is the drawing that protects, so no seed is
  accepted, and m sets have ε/m each. Under replace no smaller α would do.
* **Costs** occupied cells and records, up to 2⁶² cells.
* **Bias.** Shares are drawn towards 1/K with weight Kα/(n + Kα), and n does not help: α grows with
  the number of records. With K = 2 and ε = 1 the prior has weight 0.538 at n = ñ = 40, 100 or 1000;
  with K cells and small ε nearly 1/(1 + ε/K). Counts of an analyst's own can be put right, as the
  prior is published: the expected share of cell k is (n_k + α)/(n + Kα).
* **Choose it** for one binary variable or a handful of cells at ε of several units, where a record
  should never leave a noisy table behind, or to reproduce published results. **Do not** choose it
  for tables with many more cells than e^ε: the records are then little more than uniform.

Sources: Abowd & Vilhuber (2008), "How protective are synthetic data?"; Charest (2010), "How can we
analyze differentially-private synthetic datasets?" (beta–binomial); Bowen & Liu (2020), §3.1.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from understudy.families.method import Facts
from understudy.families.paid_records import UrnMethod
from understudy.privacy.mechanisms.records.urn import Urn


@final
@dataclass(frozen=True, kw_only=True)
class Dirichlet(UrnMethod):
    """Configuration; there is nothing to choose, as the prior follows from the budget."""

    facts: ClassVar[Facts] = Facts(
        name="dirichlet",
        title="records from a Dirichlet–multinomial posterior",
        paper="Abowd & Vilhuber (2008); Charest (2010)",
        guarantee="pure ε; add/remove and replace",
        data="few cells; up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )

    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """Each record that was drawn is copied: it may be drawn again, as if it were a real one."""
        return Urn(columns=columns, n_rows=n_rows, reinforced=True)
