"""The contingency table itself: records drawn from the exact full table, without privacy.

A record is a real record's cell, drawn with replacement. The one extreme of the comparison of
synthesizers: every relation is kept, every rare record is shown.

* **Measures** exactly: the full table, by its occupied cells. It is not published as such.
* **Public**: the schema.
* **Guarantee**: none. Needs `allow_nonprivate`, and the release is stamped not private. Records in
  the release are real records, whole, but for numbers within their bins.
* **Costs** occupied cells and records; up to 2⁶² cells.
* **Combining.** Sets are drawn from the same table: their differences show the drawing alone, so
  a single set already says all there is.
* **Choose it** only as a yardstick, for what is lost by drawing records alone. **Do not** publish
  from it.

Sources: Park & Ghosh (2014), §2 and Table 1; Winkler (2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

from understudy.families.measurement_plan import PlannedTable, announced
from understudy.families.method import Facts, Method
from understudy.models import Model, TableModel
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.not_dp.exact_statistics import ExactFullTable
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class ContingencyTable(Method):
    """Configuration.

    Attributes:
        sets: always "free": all sets are drawn from the one table.
    """

    facts: ClassVar[Facts] = Facts(
        name="contingency-table",
        title="records drawn from the exact full table; not private",
        paper="Park & Ghosh (2014), Table 1",
        guarantee="none",
        data="any columns, up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )
    private: ClassVar[bool] = False

    sets: Literal["free"] = "free"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The exact full table."""
        self.require_numbered(schema)
        return announced(ExactFullTable(), schema, spend, budget, [schema.names])

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Take the exact full table."""
        return TableModel.sparse(gate.ask(ExactFullTable()).value, gate.schema.domain)
