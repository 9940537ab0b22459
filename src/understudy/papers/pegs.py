"""Perturbed Gibbs sampling: every record pays for every column that it draws.

* **Draws** each record from a uniform seed: column after column again, given the key columns, from
  the real records with that key and a weight α in each state, for one sweep or more.
* **Public**: schema, keys, their order, seeds, number of sweeps; the number of records is public or
  bought. The default order is that of the schema. The paper ranks columns by mutual information in
  the confidential table, which is a leak: give an `order` from public knowledge, or buy the keys
  with a `choice_share` of the budget.
* **Guarantee**: pure ε, or (ε, δ); add/remove and replace. α = 1/(e^ε₀ − 1), where all ñ·s·M steps
  cost ε₀ each (δ > 0: ε₀²/8 in zCDP for add/remove, ε₀²/2 for replace). Proof:
  `understudy.papers.perturbed_gibbs`.
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

**Perturbed Gibbs sampling in blocks with reset: a block pays for each table once.**

* **Draws** records in blocks: each starts from the one before, column after column again, from the
  real records with the same key and a weight α in each state. A row that was drawn from is uniform
  for the rest of its block.
* **Public**: schema, keys, their order, seeds, block length; the number of records is public or
  bought. The default order is that of the schema; the paper reads it off the confidential table.
  A `choice_share` of the budget buys the keys instead.
* **Guarantee**: pure ε, or (ε, δ); add/remove and replace. The paper's claim holds for add/remove
  alone; replacing a record may change two rows of each table and costs twice as much in pure DP,
  which is allowed for. Proof: `understudy.papers.perturbed_gibbs`.
* **Weights by marginals** (`weights=marginals`), as in `pegs`; rows that were drawn from are then
  drawn by these weights alone.
* **Costs** one binary search a step, whatever the number of cells; memory by occupied rows.
* **Choose it** over `pegs` for more than a few records. `pegs-tables` is better still for many:
  here at most one draw from each row of each block says anything.

How long a block should be: as long as a column has keys (the default, where `usual_block` takes the
median column). Longer ones draw from rows that are uniform already, shorter ones pay more often.
block=0 makes the whole release one block: the least noise in a row, but most records are uniform.

Source: Park & Ghosh (2014), §3.4.

**Gibbs sampling from ℓ-diverse rows: syntactic, without any privacy guarantee.**

* **Draws** each record from a uniform seed, column after column again, given the key columns. Rows
  of sensitive columns get the smallest weight in each state at which the entropy of their draws
  reaches log ℓ; rows of other columns are used as they are.
* **Public**: schema, keys, their order, ℓ. The exact tables are not published as such.
* **Guarantee**: none. ℓ-diversity is a property of the rows, not of what an outsider learns; it is
  **not differential privacy** (`understudy.papers.perturbed_gibbs`). Needs
  `allow_nonprivate`, and the release is stamped not private. Where the schema forbids combinations,
  even the syntactic promise is about rows before forbidden states are left out.
* **Costs** like `pegs`.
* **Choose it** to compare with older practice. **Do not** publish from it.

Sources: Park & Ghosh (2014), §3.3; Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007).

**Gibbs sampling from noisy tables that are bought once: the strict variant of PeGS that scales.**

1. For each column a key: the columns that it is drawn given. It is declared, follows from a public
   `order`, or is bought by the exponential mechanism.
2. The table of each column with its key gets noise in every cell.
3. Records are drawn by sweeps: from a seed on, each column in turn is drawn in proportion to the
   noisy counts of its row, the other columns being as they are.

Each record of `pegs` pays for each of its columns. Here the tables pay, and any number of records
and sweeps is post-processing.

* **`form=dense`** writes the tables out and publishes them. Negative counts are dealt with by
  projection onto the known number of records, and sweeps start from a chain of the same tables
  (`papers.pegs_tables`); `allocation=clipped` and `seeds=uniform` are the plain way.
  Columns whose declared keys give the same set of columns share one table.
* **`form=lazy`** is for tables of up to 2⁶² cells. A row gets its noise when a record first comes
  by, with the very distribution of the dense form that is clipped and starts from uniform seeds;
  memory goes by visited rows. Nothing but the records is published. `auto` is dense as long as all
  tables have four million cells together.
* **Keys.** By default a table may have as many cells as are θ-useful: with n/cells records in a
  cell on average, at least θ times the scale of the noise. `choice_share` of the budget buys a key
  for each column, among the largest that fit (`papers.pegs_tables`), by its distance from
  being independent of it. The published way, by mutual information in the confidential table, is a
  leak.
* **Measures** M choices, where keys are bought, once for all sets, in equal parts; then a table for
  each of the M columns, or for each set of columns, in equal parts.
* **Public**: schema with its bins and structural zeros, options, seeds, the keys once chosen.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP; **add/remove and replace**. Choices: scores and their
  sensitivities are in `mechanisms.selection_scores`; tables: one record is in one cell of
  each.
* **Costs** one count of the rows for each candidate and table; then a draw for each record, column
  and sweep, and in the lazy form for each cell of a new row (`benchmarks/pegs.py`).
* **Choose it** where `pegs` is wanted for more than a handful of records. **Do not** expect more
  than from `marginals`, whose tables are made consistent with each other.

Sweeps. On coded Adult and on 13 columns of hospital stays, one to five sweeps from a chain are as
far from the rows as a hundred (mean distance of pairs and triples of columns, ε = 1). From uniform
seeds it takes 10 on the hospital stays and nearly 100 on Adult, where the columns of a household
hold each other in place; the default is then 20 (`benchmarks/pegs.py --mixing`). The projection
takes a sixth to two fifths off the distance of pairs at ε = 1 (`docs/evidence/pegs-tables.md`).

Sources: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3; for θ and the choice Zhang et al. (2017), PrivBayes, ACM TODS 42(4).

**What methods share that draw records column by column from hashed tables.**

What a column is drawn given is public: declared with `keys`, or the foremost columns of an `order`
(by default that of the schema) as long as the key has at most `key_limit` values. Methods that pay
may also buy it (`choice_share`). Long keys keep more of how columns go together, and spread the
same records over more rows, which a given weight of the states then drowns sooner. A sweep of which
it is known what each column is drawn given has its tables, and their records.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.dp.budget import Approximate, Budget, exact, split
from understudy.dp.calibration import NoiseName
from understudy.dp.gate import Gate
from understudy.dp.perturbation import Mode
from understudy.errors import MethodError
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import (
    DENSE_CELLS,
    Beside,
    Effort,
    Estimate,
    Facts,
    Method,
    Names,
    NonAdaptiveMethod,
    PaidRecords,
    Prepared,
    PreparingMethod,
    Tables,
    expected_rows,
    known_rows,
)
from understudy.methods.noisy_marginals import require_columns
from understudy.methods.plan import (
    AnyGate,
    PlannedTable,
    natural_noise,
    plan_mechanism,
    plan_table,
)
from understudy.methods.privbayes import LARGEST_TABLE
from understudy.models.model import InferenceFacts, Model
from understudy.papers.gibbs_mechanisms import StateShares, n_cells, state_weight
from understudy.papers.pegs_tables import (
    Allocation,
    NoisyTableGibbs,
    Seeds,
    TableLimit,
    bought_keys,
    declared_keys,
    gibbs_sweep,
    gibbs_sweep_of_tables,
    most_key_columns,
    ordered_keys,
    planned_keys,
    planned_rows,
    ranked_columns,
    require_one_of,
)
from understudy.papers.perturbed_gibbs import (
    DiverseRows,
    LazyRows,
    PerturbedGibbs,
    ResetBlocks,
    usual_block,
)
from understudy.schema import GibbsSweep, Schema

_SWEEPS = {"chain": 5, "uniform": 20}


@final
@dataclass(frozen=True, kw_only=True)
class PegsTables(PreparingMethod):
    """The hashed tables of PeGS, as configured.

    Attributes:
        sets: "free" or "split"; keys are bought once for all sets.
        form: "dense" writes the tables out and publishes them; "lazy" draws noise as it is needed
            and publishes records alone; "auto": dense up to four million cells in all.
        order: columns, the most telling first; those left out follow in the order of the schema.
            No key is bought then.
        keys: what each column is drawn given, instead, like "job<-age & sex, income<-job".
        key_limit: most values of a key; None for as many cells of the table as are θ-useful.
        theta: least number of records per cell and scale of noise, without a key_limit.
        choice_share: part of the budget that buys the keys, where none are given; with 0 they
            follow from the order of the schema.
        sweeps: how often each column is drawn; None for 5 from a chain and 20 from uniform seeds.
        allocation: "projected" or "clipped"; "auto" is the first where tables are written out.
        seeds: "chain" or "uniform"; "auto" is the first where tables are written out.
        noise: noise of the tables; "auto" is geometric for δ = 0 and Gaussian otherwise.
    """

    facts: ClassVar[Facts] = Facts(
        name="pegs-tables",
        title="Gibbs sampling from noisy tables that are bought once",
        paper="Park & Ghosh (2014), §3; strict variant",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="many categorical columns; tables of up to 2⁶² cells in the lazy form",
        cost="rows × tables + records × sweeps × columns",
        cost_class="fast",
    )
    inference: ClassVar[InferenceFacts] = InferenceFacts(swept=True, leaves_only=True)
    bytes_per_cell: ClassVar[int] = 100

    sets: Literal["free", "split"] = "free"
    form: Literal["auto", "dense", "lazy"] = "auto"
    order: Names = ()
    keys: Names = ()
    key_limit: Annotated[float, Field(ge=1)] | None = None
    theta: Annotated[float, Field(gt=0)] = 8.0
    choice_share: Annotated[float, Field(ge=0, lt=1)] = 0.1
    sweeps: Annotated[int, Field(ge=1)] | None = None
    allocation: Literal["auto", "projected", "clipped"] = "auto"
    seeds: Literal["auto", "chain", "uniform"] = "auto"
    noise: Literal["auto", "geometric", "laplace", "gaussian"] = "auto"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The tables, or as many unknown ones as there will be."""
        self._require(schema)
        sweep = self._public_sweep(schema, spend, budget)
        if sweep is not None:
            return self._sampler(schema, sweep, budget).plan(schema, spend, budget)
        distribution, share = self._noise(budget), spend / len(schema.names)
        most = self._limit.largest(schema, spend, budget, distribution, bought=self._buys(schema))
        if self._lazy(schema):
            rows = LazyRows(
                sweep=GibbsSweep.of(schema.names, schema.domain, {}),
                sweeps=self._turns(schema),
                n_rows=1,
                noise=distribution,
            )
            return (planned_rows(schema, rows, spend, budget, sum(most), chosen=True),)
        query = "counts by a column and its key"
        return tuple(
            plan_table(schema, (), share, budget, distribution, n_cells=cells, query=query)
            for cells in most
        )

    @property
    def accounting(self) -> Approximate:
        """Gaussian DP where the noise of the tables is Gaussian."""
        return "gdp" if self.noise in ("auto", "gaussian") else "zcdp"

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Memory for cells and records; time for sweeps, noise and the scores of candidates."""
        n, d = expected_rows(schema), len(schema.names)
        steps = n * d * self._turns(schema)
        cells = sum(table.n_cells for table in tables)
        if self._lazy(schema):  # a step visits one row at most, which may be new
            cells = min(cells, steps // d * sum(schema.sizes))
        candidates = d * math.comb(d - 1, most_key_columns(d)) * self._buys(schema)
        seconds = cells / 2e7 + steps * 7e-8
        memory = (8 if self._lazy(schema) else self.bytes_per_cell) * cells + 16 * n * d
        return Effort(memory / 1e6, seconds + n * (candidates + d) / 5e7)

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing where keys are given, or where there is nothing to choose."""
        return exact(self.choice_share) if self._buys(schema) else Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """One choice for each column."""
        return planned_keys(schema, spend, budget) if self._buys(schema) else ()

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The keys, once for all fits, where they are bought."""
        schema = gate.schema
        self._require(schema)
        sweep = None
        if self._buys(schema):
            cells = self._table_cells(gate, (gate.remaining - spend) / fits)
            sweep = bought_keys(gate, cells, spend)
        return Prepared(partial(self._measure_tables, gate, sweep), schema)

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """The sweeps of the released tables, which tell the keys."""
        sweep = gibbs_sweep_of_tables(schema, [table.columns for table in tables])
        return self._sampler(schema, sweep, None).model(tables, n_rows)

    def _measure_tables(
        self, gate: Gate, sweep: GibbsSweep | None, spend: Fraction, n_rows: int
    ) -> Model:
        """Measure the tables of bought keys, or of those that follow from an order."""
        schema, budget = gate.schema, gate.budget
        gate.require(spend)
        sweep = sweep or self._public_sweep(schema, spend, budget)
        if sweep is None:
            sweep = ordered_keys(schema, self.order, self._table_cells(gate, spend))
        return self._sampler(schema, sweep, budget).fit(gate, spend, n_rows)

    def _table_cells(self, gate: Gate, spend: Fraction) -> tuple[float, ...]:
        """Most cells of each column's table, where all tables of a fit cost so much."""
        distribution = self._noise(gate.budget)
        return self._limit.cells(gate.schema, known_rows(gate), spend, gate.budget, distribution)

    def _sampler(self, schema: Schema, sweep: GibbsSweep, budget: Budget | None) -> NoisyTableGibbs:
        """Columns share tables where the plan can know which; only then is their number known."""
        lazy = self._lazy(schema)
        distribution: NoiseName = "geometric" if budget is None else self._noise(budget)
        allocation: Allocation = "projected" if self.allocation == "auto" else self.allocation
        return NoisyTableGibbs(
            sweep=sweep,
            shared=self._shares_tables(schema),
            lazy=lazy,
            noise=distribution,
            sweeps=self._turns(schema),
            allocation="clipped" if lazy else allocation,
            seeds=self._start(schema),
        )

    def _public_sweep(self, schema: Schema, spend: Fraction, budget: Budget) -> GibbsSweep | None:
        """The keys, where they are known before anything is bought."""
        if self.keys:
            return GibbsSweep.of(schema.names, schema.domain, declared_keys(schema, self.keys))
        if self._buys(schema) or not self._shares_tables(schema):
            return None
        cells = self._limit.cells(schema, schema.n_rows or 0, spend, budget, self._noise(budget))
        return ordered_keys(schema, self.order, cells)

    def _shares_tables(self, schema: Schema) -> bool:
        """Return whether the keys follow from public facts, so that the plan knows all tables."""
        if self.keys:
            return True
        return not self._buys(schema) and (self.key_limit is not None or schema.rows == "public")

    def _buys(self, schema: Schema) -> bool:
        given = self.keys or self.order or not self.choice_share
        return not given and len(schema.names) > 2

    @property
    def _limit(self) -> TableLimit:
        return TableLimit(self.key_limit, self.theta, None if self.form == "lazy" else DENSE_CELLS)

    def _lazy(self, schema: Schema) -> bool:
        if self.form != "auto":
            return self.form == "lazy"
        cells: float
        if self.keys:
            cells = n_cells(
                GibbsSweep.of(schema.names, schema.domain, declared_keys(schema, self.keys))
            )
        elif self.key_limit is None:
            return False
        elif self._buys(schema):
            cells = sum(self._limit.limit_cells(schema, LARGEST_TABLE))
        else:
            cells = n_cells(ordered_keys(schema, self.order, self._limit.limit_cells(schema)))
        return cells > DENSE_CELLS

    def _start(self, schema: Schema) -> Seeds:
        if self._lazy(schema):
            return "uniform"
        return "chain" if self.seeds == "auto" else self.seeds

    def _turns(self, schema: Schema) -> int:
        return self.sweeps or _SWEEPS[self._start(schema)]

    def _noise(self, budget: Budget) -> NoiseName:
        return natural_noise(budget.accounting) if self.noise == "auto" else self.noise

    def _require(self, schema: Schema) -> None:
        """Refuse what cannot be done, from public facts alone."""
        require_columns(schema)
        require_one_of(self.keys, self.order)
        ranked_columns(schema, self.order)  # refuses one that is none, also where rows are private
        if not self._lazy(schema):
            return
        if self.allocation == "projected" or self.seeds == "chain":
            raise MethodError(
                "form=lazy never has a whole table, so allocation=projected and seeds=chain are "
                "not for it; leave them out."
            )
        if self.noise == "laplace":
            raise MethodError("form=lazy needs whole numbers; take noise=geometric.")


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

    inference: ClassVar[InferenceFacts] = InferenceFacts(swept=True)

    sets: Literal["split"] = "split"
    order: Names = ()
    keys: Names = ()
    key_limit: Annotated[float, Field(ge=1)] = 1_000

    def sweep(self, schema: Schema) -> GibbsSweep:
        """Choose the columns that each column is drawn given.

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
        """Number of times that each column is drawn for one record."""
        return 1


@dataclass(frozen=True, kw_only=True)
class PaidGibbsRecords(GibbsMethod, PreparingMethod):
    """A method that draws records column by column, and pays for that.

    Attributes:
        choice_share: part of the budget that buys a key of at most `key_limit` values for each
            column, once for all sets; 0 for public keys.
        weights: weights that are added to the states of a row: "even", or in proportion to
            "marginals", which are bought once for all sets; the rarest state sets their scale
            (`understudy.papers.gibbs_mechanisms`).
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
        """Word for what each record or block pays for."""

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all tables; nothing is added to a number, so its deviation is 0."""
        self._require()
        sweep, buys = self.sweep(schema), self._buys(schema)
        most = sum(int(self.key_limit) * size for size in schema.sizes)
        asked = self.mechanism(sweep, 1, self._unknown)
        (step,) = plan_mechanism(asked, schema, spend, budget, chosen=buys)
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
            steps += plan_mechanism(_marginals(schema, budget), schema, counts, budget)
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
        return Prepared(partial(self._draw_records, gate, sweep, shares), schema)

    def _draw_records(
        self, gate: Gate, sweep: GibbsSweep, shares: StateShares, spend: Fraction, n_rows: int
    ) -> Model:
        """Draw the records through the gate."""
        return PaidRecords.of(gate.ask(self.mechanism(sweep, n_rows, shares), spend=spend))

    def cautions(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[str, ...]:
        """Warn how little this budget buys, where the number of rows is public."""
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
        """Division of weights before anything is bought."""
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
            raise MethodError(
                "choice_share pays for the choice of keys; leave out keys and order, or "
                "choice_share."
            )
        if self.mode == "paper" and self.weights == "even":
            raise MethodError(
                "mode=paper is how weights=marginals was published; set both or neither."
            )
        if self.weights == "marginals" and self.choice_share + self.weights_share >= 1:
            raise MethodError("choice_share and weights_share leave nothing for the records.")


def _marginals(schema: Schema, budget: Budget) -> NoisyTables:
    """A noisy count by each column."""
    return NoisyTables([(name,) for name in schema.names], natural_noise(budget.accounting))


@final
@dataclass(frozen=True, kw_only=True)
class Pegs(PaidGibbsRecords):
    """PeGS, as configured; options about keys are those of `PaidGibbsRecords`.

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
        """Number of times that each column is drawn for one record."""
        return self.sweeps

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """Recommend what else to take."""
        return (
            "Each record pays for each of its columns, so the budget is divided by the number of "
            "records. For more than a handful take pegs-tables, which pays for its tables once and "
            "then draws any number of records.",
        )

    @property
    def paid_for(self) -> str:
        """Word for what each record or block pays for."""
        return "step"


@final
@dataclass(frozen=True, kw_only=True)
class PegsReset(PaidGibbsRecords):
    """PeGS with reset, as configured; options about keys are those of `PaidGibbsRecords`.

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
        """Explain how blocks pay."""
        block = self._block(self.sweep(schema))
        length = f"each block of {block:,} records" if block else "the release, one block,"
        return (
            f"Here {length} pays for each table once, and draws from each row once; all other "
            "draws are uniform. For many records take pegs-tables.",
        )

    @property
    def paid_for(self) -> str:
        """Word for what each record or block pays for."""
        return "table of a block"


@final
@dataclass(frozen=True, kw_only=True)
class PegsDiverse(GibbsMethod, NonAdaptiveMethod):
    """PeGS with ℓ-diversity, as configured; `order`, `keys` and `key_limit` are in `GibbsMethod`.

    Attributes:
        diversity: ℓ, at most the number of states of each sensitive column.
        sensitive: columns whose rows are made ℓ-diverse; all columns if none is named.
        sweeps: how often each column is drawn for one record.
    """

    facts: ClassVar[Facts] = Facts(
        name="pegs-diverse",
        title="Gibbs sampling from l-diverse rows; syntactic, not private",
        paper="Park & Ghosh (2014), §3.3",
        guarantee="none",
        data="many categorical columns",
        cost="rows × columns + records × sweeps × columns",
        cost_class="fast",
    )
    private: ClassVar[bool] = False

    diversity: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 2.0
    sensitive: Names = ()
    sweeps: Annotated[int, Field(ge=1)] = 1

    def mechanism(self, schema: Schema, n_rows: int) -> DiverseRows:
        """The named mechanism.

        Raises:
            MethodError: an unknown column, or one with fewer states than ℓ.
        """
        for name in self.sensitive:
            if name not in schema.names:
                raise MethodError(f"The option sensitive names {name!r}, which is no column.")
        chosen = self.sensitive or schema.names
        for name in chosen:
            if (size := schema.columns[name].size) < self.diversity:
                raise MethodError(
                    f"The column {name!r} has {size} states, so its rows cannot be "
                    f"{self.diversity:g}-diverse; take diversity={size} or less, or name the "
                    "columns that are to be so with the option sensitive."
                )
        places = tuple(j for j, name in enumerate(schema.names) if name in chosen)
        return DiverseRows(
            sweep=self.sweep(schema),
            diversity=self.diversity,
            sensitive=places,
            n_rows=n_rows,
            sweeps=self.sweeps,
        )

    @property
    def turns(self) -> int:
        """Number of times that each column is drawn for one record."""
        return self.sweeps

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """Explain what ℓ-diversity is not."""
        cut = {name for _, box in schema.boxes for name in box}
        named = [name for name in self.sensitive or schema.names if name in cut]
        limits = (
            f"Where forbidden combinations leave fewer states of {', '.join(named)} open, what is "
            "drawn from is less diverse than its row.",
        )
        return (
            "l-diversity is a property of the rows that records are drawn from, not of what an "
            "outsider learns; it is not differential privacy.",
            *limits * bool(named),
        )

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Draw the records, from the exact table of each column."""
        records = gate.ask(self.mechanism(gate.schema, n_rows))
        return lambda: PaidRecords.of(records)
