"""Gibbs sampling from noisy tables: each column is drawn given its key columns, again and again.

Each column has a noisy table of itself and its key columns. From a seed on, each column in turn is
drawn in proportion to the counts of its row, the other columns being as they are, for a number of
sweeps. Tables of different columns contradict each other a little, with noise and where keys leave
columns out, so that the records have no distribution that could be written down but the one in
which the sweeps end.

* **Allocation.** `projected` takes the nearest table without negative counts that has the known
  number of records (`projection.projected`), by which most of the noise in empty cells goes, and a
  row that nothing is left of has the margin of its table; where two tables have the same columns,
  their mean stands for both. `clipped` sets negative counts to 0, and such a row is uniform, as in
  `understudy.privacy.mechanisms.records.lazy_gibbs`.
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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers, compiled
from understudy.models.bayesian_network import BayesianNetwork, conditionals, row_shares
from understudy.models.model import Sample
from understudy.models.table_models import projected
from understudy.privacy.released import NoisyTable
from understudy.schema import GibbsSweep

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
        >>> noisy = NoisyTable(("x", "y"), np.array([[0.0, 0.0], [-1.0, 9.0]]), outside=0)
        >>> model = ConditionalTables.fitted(sweep, [noisy], 9, sweeps=1)
        >>> [column.tolist() for column in model.sample(3, np.random.default_rng(1)).states]
        [[1, 1, 1], [1, 1, 1]]
    """

    sweep: GibbsSweep
    shares: tuple[Floats, ...]
    sweeps: int
    chain: BayesianNetwork | None = None

    @classmethod
    def fitted(
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
        known = _averaged(tables) if projecting else tables
        kept = [replace(table, counts=_allocated(table, n_rows, allocation)) for table in known]
        shares = tuple(_shares(sweep, places, kept, margin=projecting) for places in sweep.tables)
        chain = _chain(sweep, kept) if seeds == "chain" else None
        return cls(sweep, shares, sweeps, chain)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""
        states = np.empty((len(self.sweep.names), n_rows), dtype=np.int32)
        for start in range(0, n_rows, _CHUNK):
            begun = self._seeds(min(_CHUNK, n_rows - start), rng)
            states[:, start : start + _CHUNK] = self._swept(begun, rng)
        return Sample([*states])

    def _seeds(self, n: int, rng: np.random.Generator) -> Integers:
        """Shape (columns, n)."""
        if self.chain is not None:
            return np.array(self.chain.sample(n, rng).states, dtype=np.int64)
        return np.array(self.sweep.domain.draw(n, rng.random), dtype=np.int64)

    def _swept(self, states: Integers, rng: np.random.Generator) -> Integers:
        """Records after all sweeps, in place."""
        keys = self.sweep.keys_of([*states])
        for _ in range(self.sweeps):
            for column in range(len(states)):
                uniforms: Floats = rng.random((states.shape[1],))
                drawn = self._drawn(states, keys[column], column, uniforms)
                self.sweep.move(keys, column, drawn - states[column])
                states[column] = drawn
        return states

    def _drawn(self, states: Integers, keys: Integers, column: int, uniforms: Floats) -> Integers:
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


def _averaged(tables: Sequence[NoisyTable]) -> list[NoisyTable]:
    """The mean of tables of the same columns, whose noise is alike."""
    alike: dict[frozenset[str], list[NoisyTable]] = {}
    for table in tables:
        alike.setdefault(frozenset(table.columns), []).append(table)
    return [
        replace(first, counts=np.mean([_turned(table, first.columns) for table in same], axis=0))
        for same in alike.values()
        for first in same[:1]
    ]


def _turned(table: NoisyTable, names: Sequence[str]) -> NDArray[Any]:
    """Counts with the axes in another order."""
    return table.counts.transpose([table.columns.index(name) for name in names])


def _allocated(table: NoisyTable, n_rows: int, allocation: Allocation) -> Floats:
    """Counts without negative ones, in the shape of the table."""
    if allocation == "clipped":
        return np.asarray(np.maximum(table.counts, 0), dtype=np.float64)
    return np.asarray(projected(table.counts.reshape(-1), n_rows).reshape(table.counts.shape))


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
    weights = _turned(table, names)
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
