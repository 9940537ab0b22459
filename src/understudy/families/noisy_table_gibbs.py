"""Gibbs sampling from a noisy table of each column with its key: plan, noise and model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from understudy.families.effort import known_rows
from understudy.families.key_choice import distinct_tables, own_tables
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.paid_records import PaidRecords
from understudy.models import Model
from understudy.models.conditional_tables import Allocation, ConditionalTables, Seeds
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.mechanisms.records.key_counts import n_cells
from understudy.privacy.mechanisms.records.lazy_gibbs import LazyRows
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.released import NoisyTable
from understudy.schema import GibbsSweep, Schema


@dataclass(frozen=True, kw_only=True)
class NoisyTableGibbs:
    """Gibbs sampling from the noisy table of each column with its key.

    Attributes:
        sweep: what each column is drawn given.
        shared: whether columns share a table that serves several of them.
        lazy: whether tables are never written out.
        noise: noise.
        sweeps: how often each column is drawn.
        allocation: how negative counts are dealt with.
        seeds: from where sweeps start.
    """

    sweep: GibbsSweep
    shared: bool
    lazy: bool
    noise: NoiseName
    sweeps: int
    allocation: Allocation
    seeds: Seeds

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Names of the columns of each table that is written out."""
        return distinct_tables(self.sweep) if self.shared else own_tables(self.sweep)

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The tables, in equal parts; one step if they are not written out."""
        if self.lazy:
            return (planned_rows(schema, self._rows(1), spend, budget, n_cells(self.sweep)),)
        tables = NoisyTables(self.tables, noise=self.noise)
        return announced(tables, schema, spend, budget, self.tables)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the tables; draw records through the gate where they are not written out.

        Args:
            gate: in whose columns the keys are.
            spend: cost of all tables together.
            n_rows: records to be drawn.
        """
        if self.lazy:
            return PaidRecords.of(gate.ask(self._rows(n_rows), spend=spend))
        tables = gate.ask(NoisyTables(self.tables, noise=self.noise), spend=spend)
        return self.model([table.value for table in tables], known_rows(gate))

    def _rows(self, n_rows: int) -> LazyRows:
        return LazyRows(sweep=self.sweep, sweeps=self.sweeps, n_rows=n_rows, noise=self.noise)

    def model(self, tables: Sequence[NoisyTable], n_rows: int) -> Model:
        """The model of measured tables.

        Args:
            tables: in the order of `tables`.
            n_rows: rows of the confidential table, as known.
        """
        return ConditionalTables.fitted(
            self.sweep,
            tables,
            n_rows,
            sweeps=self.sweeps,
            allocation=self.allocation,
            seeds=self.seeds,
        )


def planned_rows(
    schema: Schema,
    rows: LazyRows,
    spend: Fraction,
    budget: Budget,
    most_cells: int,
    *,
    chosen: bool = False,
) -> PlannedTable:
    """Records swept through noisy tables that are not written out, as they are announced.

    Args:
        schema: the public schema.
        rows: the mechanism.
        spend: its cost.
        budget: the whole budget.
        most_cells: of all tables together.
        chosen: whether an earlier step chooses the keys.
    """
    how = {"form": Form.SWEEPS, "chosen": chosen, "records": True}
    (step,) = announced(rows, schema, spend, budget, [schema.names], **how)
    return replace(step, n_cells=most_cells, noise_mass=0.0)
