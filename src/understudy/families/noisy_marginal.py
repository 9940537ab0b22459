"""Noisy tables with the noise that is in them: what a model fits to, merges by, and draws again.

**Observations.** Tables in merged states, as if every record were in domain.

**Groups.** Which states of a column are merged before marginals are measured follows from its noisy
table, and from what is public: the kind of a column, and which of its states stand in which rule.

**Tables drawn again.** A released count is y = t + e with noise e of a known, symmetric law. Under
a flat prior for the true count t its posterior is y plus noise of that law. So a table that is
drawn again is the noisy one with fresh noise of the same law; what is computed from it varies
around what was released as that varies around the truth. Where the law is discrete Laplace,
discrete Gaussian, or Laplace on a fine lattice, the continuous law of the same deviation stands for
it: nothing here has to be private, for it is post-processing of what was released. What this leaves
out: a flat prior knows neither that counts are whole numbers of at least 0 nor that tables agree
(the model that is fitted afterwards sees to that, and is a little further from sparse tables than
the released fit, having twice the noise to get rid of); which tables were measured, and which
states merged, stays as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.models.graphical.linear_measurement import Observation
from understudy.models.graphical.merged_state_model import merged_levels, merged_runs
from understudy.privacy.released import Groups, Noise, NoisyTable, Released
from understudy.schema import NUMERIC, Column, Ordinal, Schema
from understudy.schema.coarsening import signatures, summed

LEAST_STDDEV = 1e-6
"""In records: that of whole-number noise at a huge budget underflows when it is squared."""
_CLEAR = 4.0
"""Standard deviations by which records out of domain must stand out to be taken off."""


@dataclass(frozen=True)
class NoisyMarginal:
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
    def of(cls, released: Released[NoisyTable]) -> NoisyMarginal:
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
    def by_tables(cls, schema: Schema, noisy_marginals: Sequence[NoisyMarginal]) -> Merged:
        """As the tables say that were measured over groups."""
        found: dict[str, tuple[int, ...]] = {}
        for one in noisy_marginals:
            found.update(one.table.groups)
        return cls(schema, found)

    @cached_property
    def coarse(self) -> Schema:
        """The schema over groups."""
        return self.schema.with_groups(self.groups) if self.groups else self.schema


def observations(
    merged: Merged, noisy_marginals: Sequence[NoisyMarginal], n_rows: float
) -> list[Observation]:
    """The tables in merged states, as if every record were in domain.

    A table of all states of a column is summed over each group: the variance adds up. Where records
    out of domain clearly stand out, counts are scaled up to the number of rows.

    Args:
        merged: the columns in which the tables were measured.
        noisy_marginals: the tables.
        n_rows: number of rows.
    """
    groups = merged.groups
    place = {name: j for j, name in enumerate(merged.schema.names)}
    found = []
    for one in noisy_marginals:
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


def _scale(one: NoisyMarginal, n_rows: float, n_cells: int) -> float:
    """What turns counts of records in domain into counts of all records."""
    outside = float(one.table.outside)
    inside = float(np.sum(one.table.counts))
    spread = one.stddev
    if outside <= _CLEAR * spread or inside <= _CLEAR * spread * math.sqrt(n_cells):
        return 1.0
    return max(n_rows, 1.0) / inside


FEW_VALUES = 16
"""Values of an ordered column, up to which even `rare_groups` merges neighbours only."""
_SINGLE = 10**9
"""Runs that no mass limits: only values with too little of it beside noise are merged."""


def rare_groups(schema: Schema, noisy_marginals: Sequence[NoisyMarginal]) -> Groups:
    """Rare states of each column in one group; those of few ordered values with their neighbours.

    Args:
        schema: in which the tables were measured.
        noisy_marginals: a one-way table of each column.
    """
    return _groups(schema, noisy_marginals, None)


def coarse_groups(schema: Schema, noisy_marginals: Sequence[NoisyMarginal], bins: int) -> Groups:
    """Rare levels in one group, and ordered values in runs of about equal noisy mass.

    Args:
        schema: in which the tables were measured.
        noisy_marginals: a one-way table of each column.
        bins: runs of an ordered column.
    """
    return _groups(schema, noisy_marginals, bins)


def is_ordered(column: Column) -> bool:
    """Whether states next to each other are alike: numbers and ordinal levels."""
    return isinstance(column, (*NUMERIC, Ordinal))


def _groups(schema: Schema, noisy_marginals: Sequence[NoisyMarginal], bins: int | None) -> Groups:
    rules = dict(zip(schema.names, signatures(schema.domain), strict=True))
    found = {}
    for one in noisy_marginals:
        (name,) = one.table.columns
        column, counts = schema.columns[name], np.asarray(one.table.counts, dtype=np.float64)
        signature = _signature(column, rules[name])
        stddev = one.stddev
        if is_ordered(column) and (bins is not None or column.size <= FEW_VALUES):
            groups = merged_runs(
                counts,
                stddev,
                bins=_SINGLE if bins is None or column.size <= bins else bins,
                alone=_alone(column),
                signatures=signature,
            )
        else:
            groups = merged_levels(counts, stddev, signatures=signature)
        if len(np.unique(groups)) < column.size:
            found[name] = tuple(int(group) for group in groups)
    return found


def _signature(column: Column, rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """States that may be merged: in the same rules, and all of them values or all of them codes."""
    coded = np.arange(column.size) >= column.n_ordinary
    return rules * 2 + coded


def _alone(column: Column) -> NDArray[np.bool_]:
    """Spikes and codes of absence, which are no part of a run."""
    alone = np.arange(column.size) >= column.n_ordinary
    if isinstance(column, NUMERIC):
        alone[: column.n_ordinary] = [one.spike for one in column.intervals]
    return alone


def fresh(
    schema: Schema, noisy_marginals: NoisyMarginal, rng: np.random.Generator
) -> NoisyMarginal:
    """A measured table with fresh noise on top; structural zeros stay 0.

    Args:
        schema: in which it was measured, states not merged.
        noisy_marginals: the released table and its noise.
        rng: randomness.
    """
    table = noisy_marginals.table
    binned = schema.with_bins(table.bins) if table.bins else schema
    coarse = binned.with_groups(table.groups) if table.groups else binned
    allowed = coarse.table(table.columns).allowed_mask().reshape(table.counts.shape)
    drawn = np.where(allowed, noise_of(noisy_marginals.noise, table.counts.shape, rng), 0.0)
    outside = float(table.outside) + float(noise_of(noisy_marginals.noise, (), rng))
    return NoisyMarginal(
        replace(table, counts=table.counts + drawn, outside=outside), noisy_marginals.noise
    )


def noise_of(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise of the deviation of a released number, Gaussian or Laplace as that was.

    Args:
        noise: what was added.
        shape: of the result.
        rng: randomness.
    """
    if "gaussian" in noise.distribution:
        return np.asarray(rng.normal(0.0, noise.stddev, shape))
    return np.asarray(rng.laplace(0.0, noise.stddev / np.sqrt(2), shape))
