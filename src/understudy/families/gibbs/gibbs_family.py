"""What methods share that draw records column by column from hashed tables.

What a column is drawn given is public: declared with `keys`, or the foremost columns of an `order`
(by default that of the schema) as long as the key has at most `key_limit` values. Methods that pay
may also buy it (`choice_share`). Long keys keep
more of how columns go together, and spread the same records over more rows, which a given weight of
the states then drowns sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.effort import Effort, expected_rows
from understudy.families.gibbs.declared_keys import sweep_of
from understudy.families.gibbs.known_paid_sweep import KnownPaidSweep
from understudy.families.gibbs.private_keys import bought_keys, planned_keys
from understudy.families.measurement_plan import PlannedTable
from understudy.families.method import Method, Names
from understudy.privacy.accounting.budget import Budget, exact
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.gibbs_chain import state_weight
from understudy.privacy.mechanisms.records.perturbed_gibbs import PerturbedSweeps
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import ResetBlocks
from understudy.privacy.released import Records, Released
from understudy.schema import Schema, Sweep

BYTES_PER_CELL = 60
"""Of an occupied cell, its row included, while tables are being put behind one another."""


@dataclass(frozen=True, kw_only=True)
class SweepingMethod(Method):
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

    def sweep(self, schema: Schema) -> Sweep:
        """What each column is drawn given.

        Raises:
            MethodError: options that do not fit the schema, or each other.
        """
        return sweep_of(schema, self.keys, self.order, self.key_limit)

    def draws_records(self, schema: Schema) -> bool:
        """Always."""
        return True

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
class PaidSweeps(SweepingMethod):
    """A method that draws records column by column, and pays for that.

    Attributes:
        choice_share: part of the budget that buys a key of at most `key_limit` values for each
            column, once for all sets; 0 for public keys.
    """

    choice_share: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def specification(self, sweep: Sweep) -> PerturbedSweeps | ResetBlocks:
        """The named mechanism, over known keys."""
        raise NotImplementedError

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all tables."""
        self._require()
        (known,) = self._known(self.sweep(schema)).plan(schema, spend, budget)
        if not self._buys(schema):
            return (known,)
        most = sum(int(self.key_limit) * size for size in schema.sizes)
        return (replace(known, n_cells=most, chosen=True),)

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing where keys are public, or where there is nothing to choose."""
        return exact(self.choice_share) if self._buys(schema) else Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """One choice for each column."""
        return planned_keys(schema, spend, budget) if self._buys(schema) else ()

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> tuple[Method, Gate]:
        """The keys, once for all sets."""
        if not self._buys(gate.schema):
            return self, gate
        self._require()
        cells = [self.key_limit * size for size in gate.schema.sizes]
        return self._known(bought_keys(gate, cells, spend)), gate

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """How little this budget buys, where the number of rows is public."""
        if schema.rows != "public" or not schema.n_rows:
            return ()
        n, one = schema.n_rows, self.specification(self.sweep(schema))
        epsilon = one.step_epsilon(n, spend, budget.accounting, schema.neighbours)
        prior = float(state_weight(epsilon))
        factor = max(size * (n + prior) / (n + size * prior) for size in schema.sizes)
        return (
            f"For {n:,} records this budget leaves ε = {float(epsilon):.3g} for each "
            f"{self._paid_for}, so {prior:,.4g} records are added to each state of a row. Were all "
            f"{n:,} rows alike, that would raise the share of their state to at most "
            f"{factor:,.4g} times what an even spread gives it.",
        )

    def synthesize(self, gate: Gate, n_rows: int, spend: Fraction) -> Released[Records]:
        """Draw the records; without `setup`, keys are bought from the same budget."""
        gate.require(spend)
        bought = spend * self.setup_share(gate.schema)
        method, _ = self.setup(gate, bought)
        known = (
            method if isinstance(method, KnownPaidSweep) else self._known(self.sweep(gate.schema))
        )
        return known.synthesize(gate, n_rows, spend - bought)

    def _known(self, sweep: Sweep) -> KnownPaidSweep:
        return KnownPaidSweep(specification=self.specification(sweep))

    def _buys(self, schema: Schema) -> bool:
        return self.choice_share > 0 and len(schema.names) > 1

    def _require(self) -> None:
        if self.choice_share and (self.keys or self.order):
            raise MethodError("choice_share buys the keys; leave keys and order out, or it.")

    @property
    def _paid_for(self) -> str:
        """What each record or block pays for, in a word."""
        raise NotImplementedError
