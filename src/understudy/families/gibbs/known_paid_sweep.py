"""Records drawn column by column and paid for, of which it is known what each column is given."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from understudy.families.measurement_plan import PlannedTable, planned_sweeps
from understudy.families.method import Method
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.perturbed_gibbs import PerturbedSweeps
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import ResetBlocks
from understudy.privacy.mechanisms.records.sweeping import n_cells
from understudy.privacy.released import Records, Released
from understudy.schema import Schema


@dataclass(frozen=True, kw_only=True)
class KnownPaidSweep(Method):
    """A method that knows its keys.

    Attributes:
        sets: always "split": each set is drawn at a cost of its own.
        specification: the named mechanism.
    """

    sets: Literal["split"] = "split"
    specification: PerturbedSweeps | ResetBlocks

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all tables; nothing is added to a number, so its deviation is 0."""
        one = self.specification
        noise = one.noise(spend, budget.accounting, schema.neighbours)
        cells = n_cells(one.sweep)
        return (planned_sweeps(schema, spend, budget, n_cells=cells, noise=noise, query=one.query),)

    def draws_records(self, schema: Schema) -> bool:
        """Always."""
        return True

    def synthesize(self, gate: Gate, n_rows: int, spend: Fraction) -> Released[Records]:
        """Draw the records through the gate."""
        return gate.sweep(self.specification, n_rows=n_rows, spend=spend)
