"""Perturbed Gibbs sampling: every record pays for every column that it draws.

* **Draws** each record from a uniform seed: column after column again, given the key columns, from
  the real records with that key and a weight α in each state, for one sweep or more.
* **Public**: schema, keys, their order, seeds, number of sweeps; the number of records is public or
  bought. The default order is that of the schema. The paper ranks columns by mutual information in
  the confidential table, which is a leak: give an `order` from public knowledge, or buy the keys
  with a `choice_share` of the budget.
* **Guarantee**: pure ε, or (ε, δ); add/remove and replace. α = 1/(e^ε₀ − 1), where all ñ·s·M steps
  cost ε₀ each (δ > 0: ε₀²/8 in zCDP for add/remove, ε₀²/2 for replace). Proof:
  `understudy.privacy.mechanisms.records.perturbed_gibbs`.
* **Weights by marginals** (`weights=marginals`): α is then the weight of the rarest state, and
  others have more, in proportion to noisy marginals that are bought. `mode=paper` reads the
  marginals off the rows instead and keeps the sum of even weights; its guarantee is conditional.
* **Costs** one binary search a step, whatever the number of cells; memory by occupied rows.
* **Choose it** for a handful of records, or to reproduce the paper, whose ε is per record. For more
  than a few, ε₀ is so small that records are all but uniform: take `pegs-tables`, which pays for
  its tables once and draws any number of records, or `pegs-reset`. The plan says how little is
  left.

Records share rows, and α pulls every state towards an even spread, by an amount that nobody outside
knows: no error bars can be given.

Source: Park & Ghosh (2014), §3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

from pydantic import Field

from understudy.families.gibbs_family import PaidGibbsRecords
from understudy.families.method import Facts
from understudy.privacy.mechanisms.records.perturbed_gibbs import PerturbedGibbs
from understudy.privacy.mechanisms.records.state_weights import StateShares
from understudy.schema import GibbsSweep, Schema


@final
@dataclass(frozen=True, kw_only=True)
class Pegs(PaidGibbsRecords):
    """Configuration; options about keys are those of `PaidGibbsRecords`.

    Attributes:
        sweeps: how often each column is drawn for one record; each time is paid for.
    """

    facts: ClassVar[Facts] = Facts(
        name="pegs",
        title="perturbed Gibbs sampling that pays for each record; for a handful of records",
        paper="Park & Ghosh (2014)",
        guarantee="pure ε, or (ε, δ); add/remove and replace (conditional in paper mode)",
        data="many categorical columns, few records to draw",
        cost="rows × columns + records × sweeps × columns",
        cost_class="fast",
    )

    sweeps: Annotated[int, Field(ge=1)] = 1

    def mechanism(self, sweep: GibbsSweep, n_rows: int, shares: StateShares) -> PerturbedGibbs:
        """The named mechanism."""
        return PerturbedGibbs(sweep=sweep, n_rows=n_rows, sweeps=self.sweeps, shares=shares)

    @property
    def turns(self) -> int:
        """How often each column is drawn for one record."""
        return self.sweeps

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """What else to take."""
        return (
            "Each record pays for each of its columns, so the budget is divided by the number of "
            "records. For more than a handful take pegs-tables, which pays for its tables once and "
            "then draws any number of records.",
        )

    @property
    def paid_for(self) -> str:
        """What each record or block pays for, in a word."""
        return "step"
