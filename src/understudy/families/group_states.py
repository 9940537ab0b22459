"""The way back from groups of states to states and numbers, by what tables of the columns say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from understudy.arrays import Floats
from understudy.families.level_branches import has_branches, in_branches
from understudy.families.merged_columns import Merged
from understudy.families.noisy_marginal import NoisyMarginal
from understudy.models.graphical.max_entropy import MaxEntropy
from understudy.models.graphical.merged_state_model import Expansion, shapes
from understudy.models.graphical.run_places import RunPlaces
from understudy.models.share_tree import denoised
from understudy.models.within_bins import WithinBins, state_widths
from understudy.schema import NUMERIC, Column, Schema, is_ordered


def denoised_columns(
    merged: Merged, one_ways: Mapping[str, NoisyMarginal], n_rows: float
) -> dict[str, Floats]:
    """Estimated records in each state of the columns that are merged or hold numbers.

    Args:
        merged: the columns.
        one_ways: the one-way table of each column.
        n_rows: number of rows.
    """
    masses = {}
    for name, column in merged.schema.columns.items():
        if name not in one_ways:
            continue
        if isinstance(column, NUMERIC):
            masses[name] = merged.masses[name]
        elif name in merged.groups:
            counts = np.asarray(one_ways[name].table.counts, dtype=np.float64)
            order = in_branches(column)
            masses[name] = np.empty(column.size)
            masses[name][order] = denoised(
                counts[order],
                one_ways[name].stddev,
                total=n_rows,
                ordered=is_ordered(column) or has_branches(column),
            )
    return masses


def _widths(column: Column) -> Floats | None:
    return state_widths(column) if isinstance(column, NUMERIC) else None


def expansions(merged: Merged, masses: Mapping[str, Floats]) -> dict[int, Expansion]:
    """How groups become states, by place of the column.

    Args:
        merged: the columns.
        masses: estimated records in each state of the merged ones.
    """
    by_place, schema = {}, merged.schema
    for name, groups in merged.groups.items():
        column = np.array(groups)
        shares = shapes(masses[name], column, widths=_widths(schema.columns[name]))
        by_place[schema.names.index(name)] = Expansion(column, shares)
    return by_place


def run_places(merged: Merged, fit: MaxEntropy) -> dict[int, RunPlaces]:
    """What other columns say of places within runs, by place of the column.

    Args:
        merged: the columns.
        fit: over their groups.
    """
    places = {
        j: RunPlaces.of(fit, j, merged.runs(name))
        for j, name in enumerate(merged.schema.names)
        if name in merged.groups and is_ordered(merged.schema.columns[name])
    }
    return {j: found for j, found in places.items() if found is not None}


def numbers(schema: Schema, masses: Mapping[str, Floats]) -> dict[str, tuple[int, WithinBins]]:
    """How bins become numbers, by name, with the place of the column.

    Args:
        schema: states not merged.
        masses: estimated records in each state of the numeric columns.
    """
    return {
        name: (j, WithinBins(column, masses[name][: column.n_ordinary]))
        for j, (name, column) in enumerate(schema.columns.items())
        if isinstance(column, NUMERIC) and name in masses
    }
