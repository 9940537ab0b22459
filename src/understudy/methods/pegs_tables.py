"""Gibbs sampling from noisy tables that are bought once: the strict variant of PeGS that scales.

1. For each column a key: the columns that it is drawn given. It is declared, follows from a public
   `order`, or is bought by the exponential mechanism.
2. The table of each column with its key gets noise in every cell.
3. Records are drawn by sweeps: from a seed on, each column in turn is drawn in proportion to the
   noisy counts of its row, the other columns being as they are.

Each record of `pegs` pays for each of its columns. Here the tables pay, and any number of records
and sweeps is post-processing.

* **`form=dense`** writes the tables out and publishes them. Negative counts are dealt with by
  projection onto the known number of records, and sweeps start from a chain of the same tables
  (`models.conditional_tables`); `allocation=clipped` and `seeds=uniform` are the plain way.
  Columns whose declared keys give the same set of columns share one table.
* **`form=lazy`** is for tables of up to 2⁶² cells. A row gets its noise when a record first comes
  by, with the very distribution of the dense form that is clipped and starts from uniform seeds;
  memory goes by visited rows. Nothing but the records is published. `auto` is dense as long as all
  tables have four million cells together.
* **Keys.** By default a table may have as many cells as are θ-useful: with n/cells records in a
  cell on average, at least θ times the scale of the noise. `choice_share` of the budget buys a key
  for each column, among the largest that fit (`families.key_choice`), by its distance from
  being independent of it. The published way, by mutual information in the confidential table, is a
  leak.
* **Measures** M choices, where keys are bought, once for all sets, in equal parts; then a table for
  each of the M columns, or for each set of columns, in equal parts.
* **Public**: schema with its bins and structural zeros, options, seeds, the keys once chosen.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP; **add/remove and replace**. Choices: scores and their
  sensitivities are in `privacy.selection.dependence_scores`; tables: one record is in one cell of
  each.
* **Costs** one count of the rows for each candidate and table; then a draw for each record, column
  and sweep, and in the lazy form for each cell of a new row (`benchmarks/pegs.py`).
* **Choose it** where `pegs` is wanted for more than a handful of records. **Do not** expect more
  than from `marginals`, whose tables are made consistent with each other.

Sweeps. On coded Adult and on 13 columns of hospital stays, one to five sweeps from a chain are as
far from the rows as a hundred (mean distance of pairs and triples of columns, ε = 1). From uniform
seeds it takes 10 on the hospital stays and nearly 100 on Adult, where the columns of a household
hold each other in place; the default is then 20 (`benchmarks/pegs.py --mixing`). The projection
takes a sixth to two fifths off the distance of pairs at ε = 1 (`docs/pegs-tables.md`).

Sources: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3; for θ and the choice Zhang et al. (2017), PrivBayes, ACM TODS 42(4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.effort import DENSE_CELLS, Effort, expected_rows, known_rows
from understudy.families.key_choice import (
    TableLimit,
    bought_keys,
    declared_keys,
    gibbs_sweep_of_tables,
    most_key_columns,
    ordered_keys,
    planned_keys,
    ranked_columns,
    require_one_of,
)
from understudy.families.measurement_plan import PlannedTable, natural_noise, planned
from understudy.families.method import Beside, Facts, Names, Prepared, PreparingMethod, Tables
from understudy.families.network_options import LARGEST_TABLE, require_columns
from understudy.families.noisy_table_gibbs import NoisyTableGibbs, planned_rows
from understudy.models import Model
from understudy.models.conditional_tables import Allocation, Seeds
from understudy.privacy.accounting.budget import Approximate, Budget, exact
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.key_counts import n_cells
from understudy.privacy.mechanisms.records.lazy_gibbs import LazyRows
from understudy.privacy.noise.calibration import NoiseName
from understudy.schema import GibbsSweep, Schema

_SWEEPS = {"chain": 5, "uniform": 20}


@final
@dataclass(frozen=True, kw_only=True)
class PegsTables(PreparingMethod):
    """Configuration.

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
    swept: ClassVar[bool] = True
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
            planned(schema, (), share, budget, distribution, n_cells=cells, query=query)
            for cells in most
        )

    @property
    def leaves_only(self) -> bool:
        """A table of all columns is drawn from as it is."""
        return True

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
        return Prepared(partial(self._measured, gate, sweep), schema)

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """The sweeps of the released tables, which tell the keys."""
        released = [table for table, _ in tables]
        sweep = gibbs_sweep_of_tables(schema, [table.columns for table in released])
        return self._sampler(schema, sweep, None).model(released, n_rows)

    def _measured(
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
        """Whether the keys follow from public facts, so that the plan knows all tables."""
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
            cells = sum(self._limit.declared(schema, LARGEST_TABLE))
        else:
            cells = n_cells(ordered_keys(schema, self.order, self._limit.declared(schema)))
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
