"""Noisy tables with the noise that is in them, as observations for a model over merged states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.models.graphical.linear_measurement import Observation
from understudy.privacy.released import Groups, Noise, NoisyTable, Released
from understudy.schema import Schema
from understudy.schema.coarsening import summed

LEAST_STDDEV = 1e-6
"""In records: that of whole-number noise at a huge budget underflows when it is squared."""
_CLEAR = 4.0
"""Standard deviations by which records out of domain must stand out to be taken off."""


@dataclass(frozen=True)
class Noted:
    """A released table and its noise.

    Attributes:
        table: the noisy counts.
        noise: in each of them.
    """

    table: NoisyTable
    noise: Noise

    @property
    def stddev(self) -> float:
        """Deviation of the noise, kept above what a fit can tell from none at all."""
        return max(self.noise.stddev, LEAST_STDDEV)

    @classmethod
    def of(cls, released: Released[NoisyTable]) -> Noted:
        """From what the gate gave out."""
        return cls(released.value, released.noise)


@dataclass(frozen=True)
class Merged:
    """States of some columns merged into groups.

    Attributes:
        schema: states not merged.
        groups: column → group of each state.
    """

    schema: Schema
    groups: Groups

    @classmethod
    def by_tables(cls, schema: Schema, noted: Sequence[Noted]) -> Merged:
        """As the tables say that were measured over groups."""
        found: dict[str, tuple[int, ...]] = {}
        for one in noted:
            found.update(one.table.groups)
        return cls(schema, found)

    @cached_property
    def coarse(self) -> Schema:
        """The schema over groups."""
        return self.schema.with_groups(self.groups) if self.groups else self.schema


def observations(merged: Merged, noted: Sequence[Noted], n_rows: float) -> list[Observation]:
    """The tables in merged states, as if every record were in domain.

    A table of all states of a column is summed over each group: the variance adds up. Where records
    out of domain clearly stand out, counts are scaled up to the number of rows.

    Args:
        merged: the columns in which the tables were measured.
        noted: the tables.
        n_rows: number of rows.
    """
    groups = merged.groups
    place = {name: j for j, name in enumerate(merged.schema.names)}
    found = []
    for one in noted:
        counts = np.asarray(one.table.counts, dtype=np.float64)
        measured = merged.coarse if one.table.groups else merged.schema
        allowed = measured.table(one.table.columns).allowed_mask()
        cells = allowed.astype(np.float64)
        for axis, name in enumerate(one.table.columns):
            if name in groups and name not in one.table.groups:
                counts = np.apply_along_axis(summed, axis, counts, groups[name])
                cells = np.apply_along_axis(summed, axis, cells, groups[name])
        scale = _scale(one, n_rows, int(allowed.sum()))
        variance = np.maximum(cells, 1.0) * (one.stddev * scale) ** 2
        columns = tuple(place[name] for name in one.table.columns)
        found.append(Observation(columns, counts * scale, variance))
    return found


def _scale(one: Noted, n_rows: float, n_cells: int) -> float:
    """What turns counts of records in domain into counts of all records."""
    outside = float(one.table.outside)
    inside = float(np.sum(one.table.counts))
    spread = one.stddev
    if outside <= _CLEAR * spread or inside <= _CLEAR * spread * math.sqrt(n_cells):
        return 1.0
    return max(n_rows, 1.0) / inside
