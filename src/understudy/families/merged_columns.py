"""Columns whose states are merged into groups, and what tables say of these.

**Observations.** Tables in merged states, as if every record were in domain.

**Groups.** Which states of a column are merged before marginals are measured follows from its noisy
table, and from what is public: the kind of a column, and which of its states stand in which rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Flags, Floats, Integers
from understudy.families.level_branches import level_groups
from understudy.families.noisy_marginal import CLEAR, NoisyMarginal
from understudy.families.state_counts import alone
from understudy.models.graphical.linear_measurement import Observation
from understudy.models.graphical.merged_state_model import RARE, merged_runs, numbered
from understudy.models.number_tails import LEAST_HELD
from understudy.privacy.released import Groups
from understudy.schema import Column, Schema, is_ordered
from understudy.schema.coarsening import signatures, summed


@dataclass(frozen=True)
class Merged:
    """States of some columns merged into groups.

    Attributes:
        schema: states not merged.
        groups: column → group of each state.
        masses: numeric column → estimated records in each state, as groups were made by them.
    """

    schema: Schema
    groups: Groups
    masses: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def by_tables(
        cls, schema: Schema, marginals: Sequence[NoisyMarginal], masses: Mapping[str, Floats]
    ) -> Merged:
        """As the tables say that were measured over groups."""
        groups: dict[str, tuple[int, ...]] = {}
        for marginal in marginals:
            groups.update(marginal.table.groups)
        return cls(schema, groups, masses)

    def measured(self, groups: Groups) -> Schema:
        """The schema of a table over some groups: the coarse one, or one with finer runs."""
        if not groups:
            return self.schema
        if groups.items() <= self.groups.items():
            return self.coarse
        key = repr(sorted(groups.items()))
        if key not in self._finer:
            self._finer[key] = self.schema.with_groups(groups)
        return self._finer[key]

    @cached_property
    def _finer(self) -> dict[str, Schema]:
        return {}

    def held(self, name: str) -> NDArray[np.bool_] | None:
        """Which states of a merged column of numbers hold records; None for another column."""
        if name not in self.groups or name not in self.masses:
            return None
        return self.masses[name] > LEAST_HELD

    def runs(self, name: str) -> list[int]:
        """Groups of an ordered column that are runs of its values, in their order.

        Args:
            name: of a column with groups; its spikes and codes of absence are in no run.
        """
        pairs = zip(self.groups[name], alone(self.schema.columns[name]), strict=True)
        return list(dict.fromkeys(group for group, apart in pairs if not apart))

    @cached_property
    def coarse(self) -> Schema:
        """The schema over groups."""
        return self.schema.with_groups(self.groups) if self.groups else self.schema


def observations(
    merged: Merged, marginals: Sequence[NoisyMarginal], n_rows: float
) -> list[Observation]:
    """The tables in merged states, as if every record were in domain.

    A table of all states of a column is summed over each group: the variance adds up, but for
    states of numbers that hold nobody, whose counts are noise. Where records out of domain clearly
    stand out, counts are scaled up to the number of rows.

    Args:
        merged: the columns in which the tables were measured.
        marginals: the tables.
        n_rows: number of rows.
    """
    place = {name: j for j, name in enumerate(merged.schema.names)}
    observed = []
    for marginal in marginals:
        table, own = marginal.table, marginal.table.groups
        allowed = merged.measured(own).table(table.columns).allowed_mask()
        by_state = len(table.columns) == 1 and not own
        summed_up = _states_summed if by_state else _cells_summed
        counts, variance = summed_up(merged, marginal, allowed)
        scale = _scale(marginal, n_rows, int(allowed.sum()))
        columns = tuple(place[name] for name in table.columns)
        observed.append(Observation(columns, counts * scale, variance * scale**2))
    return observed


def _states_summed(
    merged: Merged, marginal: NoisyMarginal, allowed: Flags
) -> tuple[Floats, Floats]:
    """Counts of the groups of one column and their variances, from a table of its states."""
    (name,) = marginal.table.columns
    held = merged.held(name)
    noisy = marginal.by_state(allowed if held is None else allowed & held)
    groups = merged.groups.get(name, range(allowed.size))
    variances = noisy.variances_of(np.array(groups))
    return summed(noisy.counts, groups), np.where(variances > 0, variances, marginal.stddev**2)


def _cells_summed(merged: Merged, marginal: NoisyMarginal, allowed: Flags) -> tuple[Floats, Floats]:
    """Counts of the cells of a table in merged states, and their variances."""
    groups, own = merged.groups, marginal.table.groups
    counts = np.asarray(marginal.table.counts, dtype=np.float64)
    cells = allowed.astype(np.float64)
    for axis, name in enumerate(marginal.table.columns):
        if name in groups and own.get(name) != groups[name]:
            into = _into(groups[name], own.get(name))
            counts = np.apply_along_axis(summed, axis, counts, into)
            cells = np.apply_along_axis(summed, axis, cells, into)
    return counts, np.maximum(cells, 1.0) * marginal.stddev**2


def _into(groups: tuple[int, ...], finer: tuple[int, ...] | None) -> tuple[int, ...]:
    """Group of each state, or of each of its finer groups, all of whose states are in one group."""
    return groups if finer is None else tuple(dict(zip(finer, groups, strict=True)).values())


def _scale(marginal: NoisyMarginal, n_rows: float, n_cells: int) -> float:
    """What turns counts of records in domain into counts of all records."""
    inside = float(np.sum(marginal.table.counts))
    if not marginal.strays or inside <= CLEAR * marginal.stddev * math.sqrt(n_cells):
        return 1.0
    return max(n_rows, 1.0) / inside


FEW_VALUES = 16
"""Values of an ordered column, up to which even `rare_groups` merges neighbours only."""
TAILS = 64.0
"""Cells that noise must leave room for, or few records beside a heavy value share a run."""
_SINGLE = 10**9
"""Runs that no mass limits: only values with too little of it beside noise are merged."""


def rare_groups(schema: Schema, marginals: Sequence[NoisyMarginal]) -> Groups:
    """Rare states of each column in one group; those of few ordered values with their neighbours.

    Args:
        schema: in which the tables were measured.
        marginals: a one-way table of each column.
    """
    return _groups(schema, marginals, None, {}, {})


def coarse_groups(
    schema: Schema,
    marginals: Sequence[NoisyMarginal],
    bins: int,
    masses: Mapping[str, Floats],
    finer: Groups | None = None,
    *,
    room: float = math.inf,
    rare: float = RARE,
) -> Groups:
    """Rare levels in one group, and ordered values in runs of about equal mass.

    Stretches of numbers that hold nobody belong to the run before them, or else after them.

    Args:
        schema: in which the tables were measured.
        marginals: a one-way table of each column.
        bins: runs of an ordered column.
        masses: numeric column → estimated records in each state; noisy counts stand for others.
        finer: numeric column → runs that are not to be cut.
        room: cells that noise leaves room for in a table of two columns, if there is to be one.
            More of them than `TAILS` let few records beside a heavy value have runs of their own
            (`merged_runs`); the fewer they are, the more a level must hold to be no rare one.
        rare: deviations of the noise in its counts that a run holds at least.
    """
    return _groups(schema, marginals, bins, masses, finer or {}, room=room, rare=rare)


def _groups(
    schema: Schema,
    marginals: Sequence[NoisyMarginal],
    bins: int | None,
    masses: Mapping[str, Floats],
    finer: Groups,
    *,
    room: float = math.inf,
    rare: float = RARE,
) -> Groups:
    rules = dict(zip(schema.names, signatures(schema.domain), strict=True))
    merged = {}
    for marginal in marginals:
        (name,) = marginal.table.columns
        column, counts = schema.columns[name], np.asarray(marginal.table.counts, dtype=np.float64)
        signature = _signature(column, rules[name])
        stddev = marginal.stddev
        if is_ordered(column) and (bins is not None or column.size <= FEW_VALUES):
            single = alone(column)
            parts = np.array(finer.get(name, range(column.size)))
            first = np.unique(parts, return_index=True)[1]
            groups = merged_runs(
                np.bincount(parts, masses.get(name, counts)),
                stddev,
                bins=_SINGLE if bins is None or column.size <= bins else bins,
                tails=TAILS < room < math.inf,
                rare=rare,
                alone=single[first],
                signatures=signature[first],
            )[parts]
            if name in masses:
                groups = _without_empty(groups, masses[name] > LEAST_HELD, signature, single)
        else:
            groups = level_groups(column, counts, stddev, signature, room)
        if len(np.unique(groups)) < column.size:
            merged[name] = tuple(int(group) for group in groups)
    return merged


def _without_empty(
    groups: Integers, held: Flags, signature: Integers, single: Flags
) -> NDArray[np.int64]:
    """Groups of which none is held by nobody, if another of its signature is on the same line."""
    full, names, line = np.isin(groups, groups[held]), groups.copy(), np.flatnonzero(~single)
    for stretch in np.split(line, np.flatnonzero(np.diff(signature[line])) + 1):
        filled = np.flatnonzero(full[stretch])
        if len(filled):
            before = np.searchsorted(filled, np.arange(len(stretch)), side="right") - 1
            names[stretch] = groups[stretch[filled[np.maximum(before, 0)]]]
    return numbered(names)


def _signature(column: Column, rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """States that may be merged: in the same rules, and all of them values or all of them codes."""
    coded = np.arange(column.size) >= column.n_ordinary
    return rules * 2 + coded
