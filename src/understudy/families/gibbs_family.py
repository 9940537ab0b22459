"""What methods share that draw records column by column from hashed tables.

What a column is drawn given is public: declared with `keys`, or the foremost columns of an `order`
(by default that of the schema) as long as the key has at most `key_limit` values. Methods that pay
may also buy it (`choice_share`). Long keys keep more of how columns go together, and spread the
same records over more rows, which a given weight of the states then drowns sooner. A sweep of which
it is known what each column is drawn given has its tables, and their records.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.effort import Effort, expected_rows, known_rows
from understudy.families.key_choice import (
    bought_keys,
    distinct_tables,
    gibbs_sweep,
    own_tables,
    planned_keys,
)
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Method, Names, Prepared, PreparingMethod
from understudy.families.paid_records import PaidRecords
from understudy.models import Model
from understudy.models.conditional_tables import Allocation, ConditionalTables, Seeds
from understudy.privacy.accounting.budget import Budget, exact
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.mechanisms.records.gibbs_chain import state_weight
from understudy.privacy.mechanisms.records.key_counts import n_cells
from understudy.privacy.mechanisms.records.lazy_gibbs import LazyRows
from understudy.privacy.mechanisms.records.perturbed_gibbs import PerturbedGibbs
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import ResetBlocks
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


BYTES_PER_CELL = 60
"""Of an occupied cell, its row included, while tables are being put behind one another."""


@dataclass(frozen=True, kw_only=True)
class GibbsMethod(Method):
    """A method that draws records column by column.

    Attributes:
        sets: always "split": each set is drawn at a cost of its own.
        order: columns, the most telling first; those left out follow in the order of the schema.
        keys: what each column is drawn given, instead, like "job<-age & sex, income<-job".
        key_limit: most values of a key, where the order decides on it.
    """

    swept: ClassVar[bool] = True

    sets: Literal["split"] = "split"
    order: Names = ()
    keys: Names = ()
    key_limit: Annotated[float, Field(ge=1)] = 1_000

    def sweep(self, schema: Schema) -> GibbsSweep:
        """What each column is drawn given.

        Raises:
            MethodError: options that do not fit the schema, or each other.
        """
        return gibbs_sweep(schema, self.keys, self.order, self.key_limit)

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Memory for the occupied cells, 1 µs for each step, and 1 µs for each row and table."""
        n, sweep, d = expected_rows(schema), self.sweep(schema), len(schema.sizes)
        sizes = zip(sweep.n_keys, schema.sizes, strict=True)
        cells = sum(min(n, n_keys * size) for n_keys, size in sizes)
        seconds = 1e-6 * n * d * (1 + self.turns)
        return Effort((BYTES_PER_CELL * cells + 16 * n * d) / 1e6, seconds)

    @property
    def turns(self) -> int:
        """How often each column is drawn for one record."""
        return 1


@dataclass(frozen=True, kw_only=True)
class PaidGibbsRecords(GibbsMethod, PreparingMethod):
    """A method that draws records column by column, and pays for that.

    Attributes:
        choice_share: part of the budget that buys a key of at most `key_limit` values for each
            column, once for all sets; 0 for public keys.
    """

    choice_share: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @abstractmethod
    def mechanism(self, sweep: GibbsSweep, n_rows: int) -> PerturbedGibbs | ResetBlocks:
        """The named mechanism, over known keys, that draws so many records."""

    @property
    @abstractmethod
    def paid_for(self) -> str:
        """What each record or block pays for, in a word."""

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all tables; nothing is added to a number, so its deviation is 0."""
        self._require()
        sweep, buys = self.sweep(schema), self._buys(schema)
        most = sum(int(self.key_limit) * size for size in schema.sizes)
        how = {"form": Form.SWEEPS, "chosen": buys, "records": True}
        asked, columns = self.mechanism(sweep, 1), [schema.names]
        (step,) = announced(asked, schema, spend, budget, columns, **how)
        return (replace(step, n_cells=most) if buys else step,)

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing where keys are public, or where there is nothing to choose."""
        return exact(self.choice_share) if self._buys(schema) else Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """One choice for each column."""
        return planned_keys(schema, spend, budget) if self._buys(schema) else ()

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The keys, once for all sets."""
        self._require()
        schema = gate.schema
        if self._buys(schema):
            sweep = bought_keys(gate, [self.key_limit * size for size in schema.sizes], spend)
        else:
            sweep = self.sweep(schema)
        return Prepared(partial(self._drawn, gate, sweep), schema)

    def _drawn(self, gate: Gate, sweep: GibbsSweep, spend: Fraction, n_rows: int) -> Model:
        """Draw the records through the gate."""
        return PaidRecords.of(gate.ask(self.mechanism(sweep, n_rows), spend=spend))

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """How little this budget buys, where the number of rows is public."""
        if schema.rows != "public" or not schema.n_rows:
            return ()
        n, sweep = schema.n_rows, self.sweep(schema)
        epsilon = self.mechanism(sweep, n).epsilon(spend, budget.accounting, schema.neighbours)
        prior = float(state_weight(epsilon))
        factor = max(size * (n + prior) / (n + size * prior) for size in schema.sizes)
        return (
            f"For {n:,} records this budget leaves ε = {float(epsilon):.3g} for each "
            f"{self.paid_for}, so {prior:,.4g} records are added to each state of a row. Were all "
            f"{n:,} rows alike, that would raise the share of their state to at most "
            f"{factor:,.4g} times what an even spread gives it.",
        )

    def _buys(self, schema: Schema) -> bool:
        return self.choice_share > 0 and len(schema.names) > 1

    def _require(self) -> None:
        if self.choice_share and (self.keys or self.order):
            raise MethodError("choice_share buys the keys; leave keys and order out, or it.")
