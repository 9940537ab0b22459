"""Classical multiple synthesis: records from the posterior of a Bayesian model, without privacy.

The baseline without privacy of the comparative study: the models and blocks of `modips`, given the
exact sufficient statistics. Parameters are drawn once for each set, then records, so that the
differences between sets show the uncertainty of the parameters (T = ū + b/m).

* **Measures** exactly: the table of cells of each block, sums and scatters of its normal columns.
* **Public**: schema, prior, blocks. The exact statistics are not published as such.
* **Guarantee**: none. Records drawn from exact statistics reveal them in the long run. Needs
  `allow_nonprivate`, and the release is stamped not private.
* **Costs** one pass over the rows for all tables, and one for each block with normal columns.
* **Choose it** only as a yardstick: what is lost beyond it is the price of privacy. **Do not**
  publish from it.

Sources: Rubin (1993); Raghunathan, Reiter & Rubin (2003); Reiter (2003); Bowen & Liu (2020), §3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

from understudy.families.column_blocks import BlocksMethod, Layout, Measured, block
from understudy.families.measurement_plan import Form, PlannedTable, announced, planned_charge
from understudy.families.method import Facts
from understudy.models.bayesian.bayesian_model import Block, BlocksModel
from understudy.models.model import Model
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.sums.scatter import table_columns
from understudy.privacy.not_dp.exact_statistics import ExactMoments, ExactTables
from understudy.privacy.released import NoisyTable
from understudy.privacy.terms import terms_of
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class MultipleSynthesis(BlocksMethod):
    """Configuration; those of blocks and models are in `BlocksMethod`.

    Attributes:
        sets: always "posterior": one fit, and parameters of its own for each set.
    """

    facts: ClassVar[Facts] = Facts(
        name="multiple-synthesis",
        title="Bayesian models given exact statistics; not private",
        paper="Raghunathan, Reiter & Rubin (2003); Bowen & Liu (2020), §3.2",
        guarantee="none",
        data="categorical cells with normal numbers; wide tables in independent blocks",
        cost="rows + cells · p² (p normal columns of a block)",
        cost_class="fast",
    )
    private: ClassVar[bool] = False

    sets: Literal["posterior"] = "posterior"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """Exact tables of all blocks, then exact sums and scatters block by block."""
        layouts = self.layouts(schema)
        binned = schema.with_bins(self.bins(schema))
        tables, terms = _tables(layouts), terms_of(binned, budget)
        moments = (
            planned_charge(
                table_columns(layout.numbers, layout.columns), step, budget, form=Form.MOMENTS
            )
            for layout in layouts
            if layout.numbers
            for step in ExactMoments(layout.numbers, layout.columns).price(terms, spend)
        )
        return (*announced(tables, binned, spend, budget, tables.marginals), *moments)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Take the exact statistics of all blocks."""
        schema, layouts = gate.schema, self.layouts(gate.schema)
        binned = gate.rebinned(self.bins(schema))
        tables = binned.ask(_tables(layouts))
        blocks = [
            self._block(binned, schema, layout, table.value)
            for layout, table in zip(layouts, tables, strict=True)
        ]
        return BlocksModel(schema, tuple(blocks))

    def _block(self, gate: Gate, schema: Schema, layout: Layout, table: NoisyTable) -> Block:
        asked = ExactMoments(layout.numbers, layout.columns)
        moments = gate.ask(asked) if layout.numbers else ()
        counts = table.counts[1] if layout.model == "bernoulli" else table.counts
        measured = Measured(
            counts=counts,
            moments=[moment.value for moment in moments],
            n_rows=int(table.counts.sum()),
            exact=True,
        )
        return block(layout, schema, measured, self.prior)


def _tables(layouts: Sequence[Layout]) -> ExactTables:
    return ExactTables([layout.columns for layout in layouts])
