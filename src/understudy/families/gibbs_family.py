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
from understudy.families.effort import Effort, expected_rows
from understudy.families.key_choice import (
    bought_keys,
    gibbs_sweep,
    planned_keys,
)
from understudy.families.measurement_plan import Form, PlannedTable, announced, natural_noise
from understudy.families.method import Method, Names, Prepared, PreparingMethod
from understudy.families.paid_records import PaidRecords
from understudy.models import Model
from understudy.privacy.accounting.budget import Budget, exact, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.mechanisms.records.gibbs_chain import state_weight
from understudy.privacy.mechanisms.records.perturbed_gibbs import PerturbedGibbs
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import ResetBlocks
from understudy.privacy.mechanisms.records.state_weights import StateShares
from understudy.privacy.noise.perturbation import Mode
from understudy.schema import GibbsSweep, Schema

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
        weights: weights that are added to the states of a row: "even", or in proportion to
            "marginals", which are bought once for all sets; the rarest state sets their scale
            (`understudy.privacy.mechanisms.records.state_weights`).
        weights_share: part of the budget that buys these, a noisy count by each column.
        mode: "paper" reads the marginals off the rows, unpaid, and keeps the sum of even weights;
            the guarantee is then conditional. Seeds and keys are public all the same.
    """

    choice_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weights: Literal["even", "marginals"] = "even"
    weights_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    mode: Mode = "strict"

    @abstractmethod
    def mechanism(
        self, sweep: GibbsSweep, n_rows: int, shares: StateShares
    ) -> PerturbedGibbs | ResetBlocks:
        """The named mechanism, over known keys, that draws so many records.

        Args:
            sweep: what each column is drawn given.
            n_rows: how many records.
            shares: how weights are divided among states.
        """

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
        asked, columns = self.mechanism(sweep, 1, self._unknown), [schema.names]
        (step,) = announced(asked, schema, spend, budget, columns, **how)
        return (replace(step, n_cells=most) if buys else step,)

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing where keys are public, or where there is nothing to choose, and weights even."""
        return sum(self._bought_shares(schema), Fraction(0))

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """One choice for each column, then one count by each."""
        steps: tuple[PlannedTable, ...] = ()
        choices, counts = self._bought_spends(schema, spend)
        if choices:
            steps += planned_keys(schema, choices, budget)
        if counts:
            tables = _marginals(schema, budget)
            steps += announced(tables, schema, counts, budget, tables.marginals)
        return steps

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The keys and the marginals, once for all sets."""
        self._require()
        schema, shares = gate.schema, self._unknown
        choices, counts = self._bought_spends(schema, spend)
        if choices:
            sweep = bought_keys(gate, [self.key_limit * size for size in schema.sizes], choices)
        else:
            sweep = self.sweep(schema)
        if counts:
            noisy = gate.ask(_marginals(schema, gate.budget), spend=counts)
            counted = (table.value.counts.clip(0).tolist() for table in noisy)
            shares = StateShares(form="bought", shares=tuple(map(tuple, counted)))
        return Prepared(partial(self._drawn, gate, sweep, shares), schema)

    def _drawn(
        self, gate: Gate, sweep: GibbsSweep, shares: StateShares, spend: Fraction, n_rows: int
    ) -> Model:
        """Draw the records through the gate."""
        return PaidRecords.of(gate.ask(self.mechanism(sweep, n_rows, shares), spend=spend))

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """How little this budget buys, where the number of rows is public."""
        if schema.rows != "public" or not schema.n_rows:
            return ()
        n, sweep = schema.n_rows, self.sweep(schema)
        asked = self.mechanism(sweep, n, self._unknown)
        epsilon = asked.epsilon(spend, budget.accounting, schema.neighbours)
        prior = float(state_weight(epsilon))
        left = (
            f"For {n:,} records this budget leaves ε = {float(epsilon):.3g} for each "
            f"{self.paid_for}, so {prior:,.4g} records are added to each state of a row"
        )
        if self.weights == "marginals":
            how = "on average" if self.mode == "paper" else "or more, by their shares in all rows"
            return (f"{left}, {how}.",)
        factor = max(size * (n + prior) / (n + size * prior) for size in schema.sizes)
        return (
            f"{left}. Were all {n:,} rows alike, that would raise the share of their state to at "
            f"most {factor:,.4g} times what an even spread gives it.",
        )

    @property
    def _unknown(self) -> StateShares:
        """How weights are divided, before anything is bought."""
        if self.weights == "even":
            return StateShares()
        return StateShares(form="paper" if self.mode == "paper" else "bought")

    def _bought_shares(self, schema: Schema) -> tuple[Fraction, Fraction]:
        """Parts of the budget for keys, and for marginals."""
        keys = exact(self.choice_share) if self._buys(schema) else Fraction(0)
        marginals = self._unknown.form == "bought"
        return keys, exact(self.weights_share) if marginals else Fraction(0)

    def _bought_spends(self, schema: Schema, spend: Fraction) -> tuple[Fraction, Fraction]:
        """The cost of keys, and of marginals, which together cost `spend`."""
        shares = self._bought_shares(schema)
        keys, marginals = split(spend, shares) if any(shares) else shares
        return keys, marginals

    def _buys(self, schema: Schema) -> bool:
        return self.choice_share > 0 and len(schema.names) > 1

    def _require(self) -> None:
        if self.choice_share and (self.keys or self.order):
            raise MethodError("choice_share buys the keys; leave keys and order out, or it.")
        if self.mode == "paper" and self.weights == "even":
            raise MethodError(
                "mode=paper is how weights=marginals was published; set both or neither."
            )
        if self.weights == "marginals" and self.choice_share + self.weights_share >= 1:
            raise MethodError("choice_share and weights_share leave nothing for the records.")


def _marginals(schema: Schema, budget: Budget) -> NoisyTables:
    """A noisy count by each column."""
    return NoisyTables([(name,) for name in schema.names], natural_noise(budget.accounting))
