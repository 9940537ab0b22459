"""What the urn methods share: one step, which draws the records themselves.

The mechanism, its law and its proof stand in `understudy.privacy.mechanisms.records.urn`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from understudy.families.measurement_plan import Form, PlannedTable
from understudy.families.method import Method
from understudy.families.paid_records import PaidRecords
from understudy.models import Model
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.urn import Urn, describe_urn, prior_weight, urn_query
from understudy.schema import Schema


@dataclass(frozen=True, kw_only=True)
class UrnMethod(Method):
    """A method whose records are drawn from real ones and a prior.

    Attributes:
        sets: always "split": each set is drawn at a cost of its own.
    """

    sets: Literal["split"] = "split"

    @abstractmethod
    def urn(self, columns: tuple[str, ...]) -> Urn:
        """The mechanism: what happens to a record that was drawn.

        Args:
            columns: names of all columns.
        """

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all columns.

        Nothing is added to a number, so its standard deviation is 0. Its noise mass is the prior
        weight of all cells together, or 0 where that depends on a private number of rows.
        """
        self._require(schema, budget)
        n_cells, mass = schema.domain.n_allowed, Fraction(0)
        reinforced = self.urn(schema.names).reinforced
        if schema.n_rows is not None and schema.rows == "public":
            mass = n_cells * prior_weight(schema.n_rows, spend, reinforced=reinforced)
        table = PlannedTable(
            columns=schema.names,
            n_cells=n_cells,
            share=spend / budget.amount,
            noise=describe_urn(spend, reinforced=reinforced),
            stddev=0.0,
            noise_mass=float(mass),
            form=Form.DRAWS,
            query=urn_query(schema.names),
            records=True,
        )
        return (table,)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Draw the records through the gate."""
        self._require(gate.schema, gate.budget)
        urn = self.urn(gate.schema.names)
        records = gate.posterior(urn, n_rows=n_rows, spend=spend)
        return PaidRecords.of(records)

    def _require(self, schema: Schema, budget: Budget) -> None:
        self.require_pure(budget)
        self.require_numbered(schema)
