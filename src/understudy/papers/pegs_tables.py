"""Which columns each column is drawn given: declared, the foremost of a public order, or bought.

A bought key is chosen for each column by the exponential mechanism among the largest sets of other
columns whose table has few enough cells, by the distance of the column from being independent of
them. The number of candidates is limited by the number of columns in a key.

**Gibbs sampling from a noisy table of each column with its key: plan, noise and model.**

**Gibbs sampling from noisy tables: each column is drawn given its key columns, again and again.**

Each column has a noisy table of itself and its key columns. From a seed on, each column in turn is
drawn in proportion to the counts of its row, the other columns being as they are, for a number of
sweeps. Tables of different columns contradict each other a little, with noise and where keys leave
columns out, so that the records have no distribution that could be written down but the one in
which the sweeps end.

* **Allocation.** `projected` takes the nearest table without negative counts that has the known
  number of records (`models.tables.project`), by which most of the noise in empty cells goes, and a
  row that nothing is left of has the margin of its table; where two tables have the same columns,
  their mean stands for both. `clipped` sets negative counts to 0, and such a row is uniform, as in
  `understudy.papers.perturbed_gibbs`.
* **Seeds.** `uniform` ones are cells that can occur. A `chain` of the same tables draws the columns
  one after the other, each given those of its key columns that come before it. Where columns go
  together closely, a sweep can hardly leave the seed: from uniform ones it takes nearly a hundred
  on coded Adult to arrive where a chain starts.
* **Structural zeros**: a column is drawn among the states that they leave open given the rest of
  the record, so that each record is one that can occur, at any time.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3, whose conditionals these tables replace. Projection and chain: ours.

One step of a Gibbs sampler for many records at once: a column is drawn given its key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.dp.budget import Budget, split
from understudy.dp.calibration import NoiseName
from understudy.dp.gate import Gate
from understudy.dp.released import NoisyTable
from understudy.errors import MethodError
from understudy.mechanisms.selection import CandidateColumns
from understudy.mechanisms.selection_scores import DistanceFromIndependence
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import MOST_CELLS, PaidRecords, known_rows
from understudy.methods.plan import PlannedTable, plan_mechanism, planned_choice
from understudy.methods.privbayes import LARGEST_TABLE, edge, parent_sets, useful_cells
from understudy.models.bayesian_network import BayesianNetwork, conditionals, row_shares
from understudy.models.model import Model, Sample
from understudy.models.tables import project
from understudy.papers.gibbs_mechanisms import n_cells
from understudy.papers.perturbed_gibbs import LazyRows
from understudy.schema import GibbsSweep, Schema

MOST_KEYS = 200
"""Candidates for the key of one column, by which the number of its columns is limited."""


def declared_keys(schema: Schema, entries: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Keys in words: "job<-age & sex", "age<-job"; a column without an entry has no key.

    Args:
        schema: the columns.
        entries: one for each column that has a key.

    Raises:
        MethodError: an entry that cannot be read, or names what is no column.
    """
    keys: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        column, key = edge(schema, entry, "keys", "job<-age & sex, income<-job")
        if column in keys:
            raise MethodError(f"The option keys has the column {column!r} twice.")
        keys[column] = key
    return keys


def ranked_columns(schema: Schema, order: Sequence[str]) -> tuple[str, ...]:
    """All columns in the order in which keys take them; those that an order lacks come last.

    Args:
        schema: the columns.
        order: some of them, the most telling first.

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    for name in order:
        if name not in schema.names:
            raise MethodError(f"The option order names {name!r}, which is no column.")
    if len(set(order)) < len(order):
        raise MethodError("The option order has a column twice.")
    return (*order, *(name for name in schema.names if name not in order))


def foremost_key(
    schema: Schema, column: str, ranked: Sequence[str], key_limit: float
) -> tuple[str, ...]:
    """The foremost columns beside a column, as long as their key has few enough values.

    Args:
        schema: the columns.
        column: its name.
        ranked: columns, the most telling first.
        key_limit: most values of the key; a column that would exceed it ends the key.
    """
    key, n_keys = [], 1
    for name in (name for name in ranked if name != column):
        n_keys *= schema.columns[name].size
        if n_keys > key_limit:
            break
        key.append(name)
    return tuple(key)


def foremost_keys(
    schema: Schema, order: Sequence[str], key_limit: float
) -> dict[str, tuple[str, ...]]:
    """The foremost key of each column (`ranked_columns`, `foremost_key`).

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    ranked = ranked_columns(schema, order)
    return {name: foremost_key(schema, name, ranked, key_limit) for name in schema.names}


def require_one_of(keys: Sequence[str], order: Sequence[str]) -> None:
    """Refuse keys beside an order.

    Raises:
        MethodError: both are given.
    """
    if keys and order:
        raise MethodError("The option keys says all that order would; leave one of them out.")


def gibbs_sweep(
    schema: Schema, keys: Sequence[str], order: Sequence[str], key_limit: float
) -> GibbsSweep:
    """The sweep of these options.

    Raises:
        MethodError: options that contradict each other, or do not fit the schema.
    """
    require_one_of(keys, order)
    chosen = declared_keys(schema, keys) if keys else foremost_keys(schema, order, key_limit)
    return GibbsSweep.of(schema.names, schema.domain, chosen)


def most_key_columns(n_columns: int) -> int:
    """Columns of a key, so that no column has more than `MOST_KEYS` candidates; at least 1.

    Example:
        >>> [most_key_columns(d) for d in (2, 8, 13, 21, 22)]
        [1, 7, 2, 2, 1]
    """
    others = n_columns - 1
    most = max((math.comb(others, k) for k in range(others + 1)), default=1)
    if most <= MOST_KEYS:
        return max(1, others)
    width = 1
    while math.comb(others, width + 1) <= MOST_KEYS:
        width += 1
    return width


@dataclass(frozen=True)
class TableLimit:
    """An upper limit on the size of the table of a column and its key.

    Attributes:
        key_limit: most values of a key; None for as many cells as are θ-useful.
        theta: least number of records per cell and scale of noise, without a key_limit.
        all_cells: most cells of all tables together, without a key_limit, if there is a limit.
    """

    key_limit: float | None
    theta: float
    all_cells: int | None

    def limit_cells(self, schema: Schema, most: float = math.inf) -> tuple[float, ...]:
        """Cells of each column's table by the declared limit of keys."""
        assert self.key_limit is not None
        return tuple(min(self.key_limit * size, most) for size in schema.sizes)

    def cells(
        self, schema: Schema, n_rows: int, spend: Fraction, budget: Budget, distribution: NoiseName
    ) -> tuple[float, ...]:
        """Most cells of each column's table.

        Args:
            schema: the columns.
            n_rows: number of records, as known.
            spend: cost of all tables together.
            budget: the whole budget.
            distribution: noise.
        """
        if self.key_limit is not None:
            return self.limit_cells(schema)
        d = len(schema.names)
        useful = useful_cells(
            schema, n_rows, spend / d, budget, distribution=distribution, theta=self.theta
        )
        most = LARGEST_TABLE if self.all_cells is None else self.all_cells / d
        return (min(useful, most),) * d

    def largest(
        self,
        schema: Schema,
        spend: Fraction,
        budget: Budget,
        distribution: NoiseName,
        *,
        bought: bool,
    ) -> tuple[int, ...]:
        """Cells of the largest table that each column may get, from public facts alone.

        Args:
            schema: the columns.
            spend: cost of all tables together.
            budget: the whole budget.
            distribution: noise.
            bought: whether keys are, by which the number of their columns is limited.
        """
        d = len(schema.names)
        rows = schema.most_rows
        most: tuple[float, ...] = (LARGEST_TABLE,) * d
        if self.key_limit is not None or rows is not None:
            most = self.cells(schema, rows or 0, spend, budget, distribution)
        width, sizes = most_key_columns(d) if bought else d, []
        for j, (size, limit) in enumerate(zip(schema.sizes, most, strict=True)):
            others = sorted((*schema.sizes[:j], *schema.sizes[j + 1 :]), reverse=True)[:width]
            cells = min(limit, LARGEST_TABLE if bought else MOST_CELLS, size * math.prod(others))
            sizes.append(max(size, int(cells)))
        return tuple(sizes)


def key_candidates(schema: Schema, column: str, cells: float) -> tuple[tuple[str, ...], ...]:
    """A column, first, with each largest set of others whose table has so many cells at most.

    Args:
        schema: the columns.
        column: its name.
        cells: most cells of the table; a column with more alone has no key.
    """
    others = tuple(name for name in schema.names if name != column)
    width = most_key_columns(len(schema.names))
    keys = parent_sets(schema, column, others, width, min(cells, LARGEST_TABLE))
    return tuple((column, *key) for key in keys)


def bought_keys(gate: Gate, cells: Sequence[float], spend: Fraction) -> GibbsSweep:
    """A key for each column, chosen for an equal part each.

    Args:
        gate: chooses.
        cells: most cells of each column's table.
        spend: cost of all choices together.
    """
    schema, keys = gate.schema, {}
    shares = split(spend, [1] * len(schema.names))
    for name, most, share in zip(schema.names, cells, shares, strict=True):
        listed = key_candidates(schema, name, most)
        score = DistanceFromIndependence(schema, listed)
        keys[name] = gate.ask(CandidateColumns(listed, score), spend=share).value[1:]
    return GibbsSweep.of(schema.names, schema.domain, keys)


def planned_keys(schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
    """One choice for each column, as `bought_keys` will make it."""
    query = f"one of the candidates by {DistanceFromIndependence.title}"
    share = spend / len(schema.names)
    return (planned_choice(schema, query, share, budget, chosen=True),) * len(schema.names)


def ordered_keys(schema: Schema, order: Sequence[str], cells: Sequence[float]) -> GibbsSweep:
    """For each column the foremost others of an order, as long as its table has few enough cells.

    Args:
        schema: the columns.
        order: columns, the most telling first; those it lacks follow in the order of the schema.
        cells: most cells of each column's table.

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    ranked = ranked_columns(schema, order)
    limits = zip(schema.names, cells, schema.sizes, strict=True)
    keys = {name: foremost_key(schema, name, ranked, most / size) for name, most, size in limits}
    return GibbsSweep.of(schema.names, schema.domain, keys)


def distinct_tables(sweep: GibbsSweep) -> tuple[tuple[str, ...], ...]:
    """A table for each set of columns that a sweep needs, for `gibbs_sweep_of_tables` to read off.

    Columns that need the same set share its table; one for which it is not the first table with
    this column stands last. Where two of them had to, each column has a table of its own.

    Example:
        Columns a and b share the table that a is drawn from given b, and b given a:

        >>> from understudy.schema import Domain
        >>> distinct_tables(GibbsSweep(("a", "b", "c"), Domain((2, 2, 2)), ((1,), (0,), (1,))))
        (('b', 'a'), ('b', 'c'))
    """
    separate = own_tables(sweep)
    shared: dict[frozenset[str], tuple[str, ...]] = {}
    for table in separate:
        shared.setdefault(frozenset(table), table)
    first = {name: next(columns for columns in shared if name in columns) for name in sweep.names}
    for table in separate:
        if first[table[-1]] != frozenset(table):
            shared[frozenset(table)] = table
    tables = tuple(shared.values())
    needed = [frozenset(columns) for columns in separate]
    return tables if _read(sweep.names, tables) == needed else separate


def own_tables(sweep: GibbsSweep) -> tuple[tuple[str, ...], ...]:
    """A table for each column, which stands last in it, in the order of the columns."""
    return tuple(tuple(sweep.names[j] for j in places) for places in sweep.tables)


def gibbs_sweep_of_tables(schema: Schema, tables: Sequence[tuple[str, ...]]) -> GibbsSweep:
    """The sweep whose tables were measured: a column is drawn given the others of its table.

    That is the table in which it stands last, or else the first one that has it.

    Args:
        schema: the columns.
        tables: of `distinct_tables` or `own_tables`.
    """
    keys = {}
    for name, table in zip(schema.names, _read(schema.names, tables), strict=True):
        given = next(columns for columns in tables if frozenset(columns) == table)
        keys[name] = tuple(other for other in given if other != name)
    return GibbsSweep.of(schema.names, schema.domain, keys)


def _read(names: Sequence[str], tables: Sequence[tuple[str, ...]]) -> list[frozenset[str]]:
    """The table of each column: the first in which it stands last, or else that has it."""
    last = {table[-1]: table for table in reversed(tables)}
    tables_of = (last.get(name) or next(t for t in tables if name in t) for name in names)
    return [frozenset(table) for table in tables_of]


Allocation = Literal["projected", "clipped"]
Seeds = Literal["chain", "uniform"]
_CHUNK = 2**13
"""Records that are swept at once, so that their states and keys stay in the cache."""


@dataclass(frozen=True)
class ConditionalTables:
    """A model of the whole table.

    Attributes:
        sweep: the columns, and what each is drawn given.
        shares: for each column the share of each state by key, shape (keys, states).
        sweeps: how often each column is drawn.
        chain: what seeds are drawn from; uniform ones if None.

    Example:
        A column x and a copy of it, y, of which the table has seen one combination only:

        >>> from understudy.schema import Domain
        >>> sweep = GibbsSweep(("x", "y"), Domain((2, 2)), ((1,), (0,)))
        >>> from understudy.dp.released import NO_NOISE
        >>> noisy = NoisyTable(("x", "y"), np.array([[0.0, 0.0], [-1.0, 9.0]]), 0, NO_NOISE)
        >>> model = ConditionalTables.of_tables(sweep, [noisy], 9, sweeps=1)
        >>> [column.tolist() for column in model.sample(3, np.random.default_rng(1)).states]
        [[1, 1, 1], [1, 1, 1]]
    """

    sweep: GibbsSweep
    shares: tuple[Floats, ...]
    sweeps: int
    chain: BayesianNetwork | None = None

    @classmethod
    def of_tables(
        cls,
        sweep: GibbsSweep,
        tables: Sequence[NoisyTable],
        n_rows: int,
        *,
        sweeps: int,
        allocation: Allocation = "projected",
        seeds: Seeds = "chain",
    ) -> ConditionalTables:
        """From noisy tables.

        Args:
            sweep: the columns, and what each is drawn given.
            tables: for each column one of it and its key columns, in any order of the columns; of
                several the one in which it stands last.
            n_rows: number of records, as known.
            sweeps: how often each column is drawn.
            allocation: see the module.
            seeds: see the module.

        Raises:
            ValueError: a column without its table.
        """
        projecting = allocation == "projected"
        known = _average(tables) if projecting else tables
        kept = [replace(table, counts=_allocate(table, n_rows, allocation)) for table in known]
        shares = tuple(_shares(sweep, places, kept, margin=projecting) for places in sweep.tables)
        chain = _chain(sweep, kept) if seeds == "chain" else None
        return cls(sweep, shares, sweeps, chain)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""
        states = np.empty((len(self.sweep.names), n_rows), dtype=np.int32)
        for start in range(0, n_rows, _CHUNK):
            begun = self._seeds(min(_CHUNK, n_rows - start), rng)
            states[:, start : start + _CHUNK] = self._sweep_states(begun, rng)
        return Sample([*states])

    def _seeds(self, n: int, rng: np.random.Generator) -> Integers:
        """Shape (columns, n)."""
        if self.chain is not None:
            return np.array(self.chain.sample(n, rng).states, dtype=np.int64)
        return np.array(self.sweep.domain.draw(n, rng.random), dtype=np.int64)

    def _sweep_states(self, states: Integers, rng: np.random.Generator) -> Integers:
        """Records after all sweeps, in place."""
        keys = self.sweep.keys_of([*states])
        for _ in range(self.sweeps):
            for column in range(len(states)):
                uniforms: Floats = rng.random((states.shape[1],))
                drawn = self._draw_states(states, keys[column], column, uniforms)
                self.sweep.move(keys, column, drawn - states[column])
                states[column] = drawn
        return states

    def _draw_states(
        self, states: Integers, keys: Integers, column: int, uniforms: Floats
    ) -> Integers:
        """New states of a column."""
        still_open = self.sweep.domain.open_states(column, [*states])
        if still_open is None:
            drawn: Integers = drawn_states(keys, self._ends[column], uniforms)
        else:
            drawn = drawn_open_states(keys, self.shares[column], still_open, uniforms)
        return drawn

    @cached_property
    def _ends(self) -> tuple[Floats, ...]:
        """Upper ends of the states' parts of [0, 1]; the last state with a share ends at 1."""
        ends = [np.cumsum(shares, axis=1) for shares in self.shares]
        return tuple(end / end[:, -1:] for end in ends)


def _average(tables: Sequence[NoisyTable]) -> list[NoisyTable]:
    """The mean of tables of the same columns, whose noise is alike."""
    alike: dict[frozenset[str], list[NoisyTable]] = {}
    for table in tables:
        alike.setdefault(frozenset(table.columns), []).append(table)
    return [
        replace(
            first, counts=np.mean([_reorder_axes(table, first.columns) for table in same], axis=0)
        )
        for same in alike.values()
        for first in same[:1]
    ]


def _reorder_axes(table: NoisyTable, names: Sequence[str]) -> NDArray[Any]:
    """Counts with the axes in another order."""
    return table.counts.transpose([table.columns.index(name) for name in names])


def _allocate(table: NoisyTable, n_rows: int, allocation: Allocation) -> Floats:
    """Counts without negative ones, in the shape of the table."""
    if allocation == "clipped":
        return np.asarray(np.maximum(table.counts, 0), dtype=np.float64)
    return np.asarray(project(table.counts.reshape(-1), n_rows).reshape(table.counts.shape))


def _shares(
    sweep: GibbsSweep,
    places: tuple[int, ...],
    tables: Sequence[NoisyTable],
    *,
    margin: bool,
) -> Floats:
    """Share of each state of the last of some columns by the states of the others."""
    names = tuple(sweep.names[j] for j in places)
    fitting = [table for table in tables if frozenset(table.columns) == frozenset(names)]
    table = max(fitting, key=lambda table: table.columns[-1] == names[-1])
    weights = _reorder_axes(table, names)
    rows = np.ascontiguousarray(weights).reshape(-1, weights.shape[-1])
    allowed = sweep.domain.project(places).allowed_mask().reshape(rows.shape)
    return row_shares(rows, allowed, margin=margin)


def _chain(sweep: GibbsSweep, tables: Sequence[NoisyTable]) -> BayesianNetwork:
    """Each column given those of its key columns that come before it."""
    edges = [
        (name, tuple(sweep.names[j] for j in sorted(key) if j < place))
        for place, (name, key) in enumerate(zip(sweep.names, sweep.given, strict=True))
    ]
    return BayesianNetwork(sweep.domain, conditionals(tables, edges, sweep.domain, sweep.names))


@compiled
def drawn_states(keys: Integers, ends: Floats, uniforms: Floats) -> Integers:
    """A state for each record.

    Args:
        keys: shape (n,).
        ends: upper end of each state's part of [0, 1] by key, shape (keys, states); the last state
            with a share ends at 1.
        uniforms: in [0, 1), shape (n,).
    """
    drawn = np.empty(len(keys), dtype=np.int64)
    last = ends.shape[1] - 1
    for k in range(len(keys)):
        row, uniform = ends[keys[k]], uniforms[k]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if row[middle] > uniform:
                high = middle
            else:
                low = middle + 1
        drawn[k] = low
    return drawn


@compiled
def drawn_open_states(
    keys: Integers, shares: Floats, still_open: NDArray[np.bool_], uniforms: Floats
) -> Integers:
    """The same where rules leave each record some states open only.

    A record whose row has no share in these gets any of them alike.

    Args:
        keys: shape (n,).
        shares: of each state by key, shape (keys, states).
        still_open: which states a record may have, at least one, shape (n, states).
        uniforms: in [0, 1), shape (n,).
    """
    drawn = np.zeros(len(keys), dtype=np.int64)
    for k in range(len(keys)):
        row, total, n_open = shares[keys[k]], 0.0, 0
        for state in range(len(row)):
            if still_open[k, state]:
                total += row[state]
                n_open += 1
        even = total <= 0
        place, reached = uniforms[k] * (n_open if even else total), 0.0
        for state in range(len(row)):
            weight = 1.0 if even else row[state]
            if still_open[k, state] and weight > 0:
                drawn[k] = state  # the last one, should rounding carry the place beyond the total
                reached += weight
                if reached > place:
                    break
    return drawn


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
        return plan_mechanism(NoisyTables(self.tables, noise=self.noise), schema, spend, budget)

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
        return ConditionalTables.of_tables(
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
    (step,) = plan_mechanism(rows, schema, spend, budget, chosen=chosen)
    return replace(step, n_cells=most_cells, noise_mass=0.0)
