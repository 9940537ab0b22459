"""Perturbed Gibbs sampling in blocks with reset: a block pays for each table once.

* **Draws** records in blocks: each starts from the one before, column after column again, from the
  real records with the same key and a weight α in each state. A row that was drawn from is uniform
  for the rest of its block.
* **Public**: schema, keys, their order, seeds, block length; the number of records is public or
  bought. The default order is that of the schema; the paper reads it off the confidential table.
  A `choice_share` of the budget buys the keys instead.
* **Guarantee**: pure ε, or (ε, δ); add/remove and replace. The paper's claim holds for add/remove
  alone; replacing a record may change two rows of each table and costs twice as much in pure DP,
  which is allowed for. Proof: `understudy.privacy.mechanisms.records.perturbed_gibbs_reset`.
* **Weights by marginals** (`weights=marginals`), as in `pegs`; rows that were drawn from are then
  drawn by these weights alone.
* **Costs** one binary search a step, whatever the number of cells; memory by occupied rows.
* **Choose it** over `pegs` for more than a few records. `pegs-tables` is better still for many:
  here at most one draw from each row of each block says anything.

How long a block should be: as long as a column has keys (the default, where `usual_block` takes the
median column). Longer ones draw from rows that are uniform already, shorter ones pay more often.
block=0 makes the whole release one block: the least noise in a row, but most records are uniform.

Source: Park & Ghosh (2014), §3.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

from pydantic import Field

from understudy.families.gibbs_family import PaidGibbsRecords
from understudy.families.method import Facts
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import ResetBlocks, usual_block
from understudy.privacy.mechanisms.records.state_weights import StateShares
from understudy.schema import GibbsSweep, Schema


@final
@dataclass(frozen=True, kw_only=True)
class PegsReset(PaidGibbsRecords):
    """Configuration; options about keys are those of `PaidGibbsRecords`.

    Attributes:
        block: records of a block; 0 for the whole release in one, None for about as many as a
            column has keys, or `key_limit` where keys are bought.
    """

    facts: ClassVar[Facts] = Facts(
        name="pegs-reset",
        title="perturbed Gibbs sampling in blocks, each of which draws from a row once",
        paper="Park & Ghosh (2014), §3.4",
        guarantee="pure ε, or (ε, δ); add/remove and replace (conditional in paper mode)",
        data="many categorical columns",
        cost="rows × columns + records × columns",
        cost_class="fast",
    )

    block: Annotated[int, Field(ge=0)] | None = None

    def mechanism(self, sweep: GibbsSweep, n_rows: int, shares: StateShares) -> ResetBlocks:
        """The named mechanism."""
        return ResetBlocks(sweep=sweep, n_rows=n_rows, block=self._block(sweep), shares=shares)

    def _block(self, sweep: GibbsSweep) -> int:
        """Records of a block; bought keys must not decide on it, since the plan announces it."""
        if self.block is not None:
            return self.block
        return int(self.key_limit) if self.choice_share else usual_block(sweep)

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """How blocks pay."""
        block = self._block(self.sweep(schema))
        length = f"each block of {block:,} records" if block else "the release, one block,"
        return (
            f"Here {length} pays for each table once, and draws from each row once; all other "
            "draws are uniform. For many records take pegs-tables.",
        )

    @property
    def paid_for(self) -> str:
        """What each record or block pays for, in a word."""
        return "table of a block"
