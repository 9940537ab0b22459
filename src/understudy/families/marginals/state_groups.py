"""Which states of a column are merged before marginals are measured, by its noisy table.

Everything here is post-processing of released tables, and of what is public: the kind of a column,
and which of its states stand in which rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.families.marginals.noisy_marginal import Noted
from understudy.models.states.state_merging import merged_levels, merged_runs
from understudy.privacy.released import Groups
from understudy.schema import NUMERIC, Column, Ordinal, Schema
from understudy.schema.coarsening import signatures

FEW_VALUES = 16
"""Values of an ordered column, up to which even `rare_groups` merges neighbours only."""
_SINGLE = 10**9
"""Runs that no mass limits: only values with too little of it beside noise are merged."""


def rare_groups(schema: Schema, noted: Sequence[Noted]) -> Groups:
    """Rare states of each column in one group; those of few ordered values with their neighbours.

    Args:
        schema: in which the tables were measured.
        noted: a one-way table of each column.
    """
    return _groups(schema, noted, None)


def coarse_groups(schema: Schema, noted: Sequence[Noted], bins: int) -> Groups:
    """Rare levels in one group, and ordered values in runs of about equal noisy mass.

    Args:
        schema: in which the tables were measured.
        noted: a one-way table of each column.
        bins: runs of an ordered column.
    """
    return _groups(schema, noted, bins)


def is_ordered(column: Column) -> bool:
    """Whether states next to each other are alike: numbers and ordinal levels."""
    return isinstance(column, (*NUMERIC, Ordinal))


def _groups(schema: Schema, noted: Sequence[Noted], bins: int | None) -> Groups:
    rules = dict(zip(schema.names, signatures(schema.domain), strict=True))
    found = {}
    for one in noted:
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
