"""What the choice of a rule depends on: facts about a release, all of them public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from understudy.inference.choice.distortion import distortion
from understudy.inference.estimates.estimands import RATIOS, SHARES
from understudy.inference.noise_aware.cell_scores import MOST_CELLS, covers
from understudy.inference.noise_aware.urn_estimates import are_drawn
from understudy.models.bayesian_network import kept
from understudy.release import Measurement, Release
from understudy.release.measurement import kept_columns
from understudy.release.measurement_content import Kind
from understudy.schema import NUMERIC, Column, Ordinal, Schema


@dataclass(frozen=True)
class Facts:
    """What the choice of a rule depends on; all of it public.

    Attributes:
        kind: of the estimand; "function" for an analyst's own.
        columns: that it uses.
        full: whether a full noisy table over these columns is released.
        together: whether the sets keep their joint distribution up to noise: a released measurement
            covers them, or a family of columns that the network keeps.
        sets: number of sets.
        sets_kind: how they were made.
        n_rows: records in each set.
        distortion: share of records misplaced by clipping or thresholds, 0 to 1.
        drawn: whether all sets were drawn from urns over these columns and more.
        merged: columns whose states the answer needs one by one together with other columns, and
            that were measured together with these in merged states only.
        redrawn: whether sets share one noise, and each has as much again of its own.
        conditioned: whether impossible combinations of columns that were measured apart change the
            distribution of these columns in the sets.
        swept: whether records were drawn column by column.
        picked: whether records come from a generator whose parameters were chosen among candidates.
        shrunk: whether a penalty makes relations between columns weaker in all sets.
        weighted: whether one of the columns was drawn from a posterior of the exact rows.
    """

    kind: str
    columns: tuple[str, ...]
    full: bool
    together: bool
    sets: int
    sets_kind: str
    n_rows: int
    distortion: float
    drawn: bool = False
    conditioned: bool = False
    swept: bool = False
    picked: bool = False
    shrunk: bool = False
    weighted: bool = False
    merged: tuple[str, ...] = ()
    redrawn: bool = False

    @property
    def counted(self) -> bool:
        """Whether the estimand is a sum of counts, or a ratio of two."""
        return self.kind in RATIOS or self.kind == "total"

    @property
    def countable(self) -> bool:
        """Whether the released counts, or the law of the drawing, answer it without the sets."""
        if self.kind == "quantile":  # follows from the counts at or below each number
            return self.full
        return self.counted and (self.full or self.drawn)


def facts_of(release: Release, kind: str, columns: Sequence[str]) -> Facts:
    """What is public about a release and matters to an analysis of some columns."""
    measured = release.measurements
    n_cells = math.prod(release.schema.columns[name].size for name in columns)
    manifest = release.manifest
    made = manifest.inference
    tables = [frozenset(one.columns) for one in measured if one.kind is not Kind.CHOICE]
    kept_together = kept(made.network) if made.network else tables
    return Facts(
        kind=kind,
        columns=tuple(columns),
        full=n_cells <= MOST_CELLS and any(covers(one, columns) for one in measured),
        together=any(set(columns) <= one for one in kept_together),
        sets=manifest.sets,
        sets_kind=manifest.sets_kind,
        n_rows=manifest.n_rows,
        distortion=distortion(
            measured,
            _drawn_from(release, columns),
            manifest.n_rows,
            release.schema,
            prior=made.prior_weight,
            network=made.network,
        ),
        merged=_merged(measured, kind, columns, release.schema),
        redrawn=made.posterior_rule == "mi",
        swept=made.swept or any(one.kind is Kind.SWEEPS for one in measured),
        picked=any(one.kind is Kind.PARAMETERS for one in measured),
        shrunk=made.shrunk,
        weighted=any(one.kind is Kind.POSTERIOR for one in measured)
        and not set(columns) <= set(kept_columns(measured)),
        drawn=are_drawn(measured, columns, manifest, release.schema),
        conditioned=bool(_cut_off(tables, kept_together, release.schema) & set(columns)),
    )


def merged_columns(measured: Sequence[Measurement], columns: Sequence[str]) -> tuple[str, ...]:
    """Columns whose states are merged in the finest measured table that has all of some columns.

    Args:
        measured: what was released.
        columns: several; of one column alone every state is measured.
    """
    counted = [one for one in measured if one.kind is not Kind.CHOICE]
    covering = [one for one in counted if set(columns) <= set(one.columns)]
    merged = [tuple(name for name in columns if name in one.groups) for one in covering]
    return min(merged, key=len, default=())


def _merged(
    measured: Sequence[Measurement], kind: str, columns: Sequence[str], schema: Schema
) -> tuple[str, ...]:
    """Merged columns whose states matter one by one: all of them in shares, else unordered ones.

    A moment or a coefficient of a number changes little when neighbours are merged into many runs
    of about equal mass; that is said in a note.
    """
    found = merged_columns(measured, columns)
    if kind in SHARES:
        return found
    groups = {name: merged for one in measured for name, merged in one.groups.items()}
    return tuple(name for name in found if not _in_runs(schema.columns[name], groups[name]))


def _in_runs(column: Column, groups: Sequence[int]) -> bool:
    """Whether states of a column are merged with neighbours only, spikes left aside."""
    if not isinstance(column, (*NUMERIC, Ordinal)):
        return False
    values = list(groups[: column.n_ordinary])
    if isinstance(column, NUMERIC):
        pairs = zip(values, column.intervals, strict=True)
        values = [group for group, one in pairs if not one.spike]
    return len(set(values)) == len([group for group, _ in groupby(values)])


def _drawn_from(release: Release, columns: Sequence[str]) -> Sequence[str]:
    """Columns of the table whose cells records are drawn from.

    Where shares are handed down a tree, upper layers are kept, and columns stand for themselves;
    records that are drawn from the leaves alone have what is wrong with the leaves.
    """
    whole = release.schema.names
    leaves = release.manifest.inference.leaves_only
    measured = any(set(one.columns) == set(whole) for one in release.measurements)
    return whole if leaves and measured else columns


def _cut_off(
    tables: Sequence[frozenset[str]], kept_together: Sequence[frozenset[str]], schema: Schema
) -> set[str]:
    """Columns that go together with one in a rule over columns that were drawn apart.

    Records that such a rule forbids are drawn again, which shifts its columns and whatever goes
    together with them: columns of one table, and of tables that overlap. In a network a rule over
    parents that are drawn one by one is of that kind, though a table covers it.

    Args:
        tables: columns of each measured table.
        kept_together: columns that are drawn as one table has them.
        schema: with the rules.
    """
    apart = [
        set(rule.where)
        for rule in schema.forbidden
        if not any(set(rule.where) <= one for one in kept_together)
    ]
    groups: list[frozenset[str]] = []
    for table in tables:
        joined = [one for one in groups if one & table]
        groups = [one for one in groups if not one & table] + [table.union(*joined)]
    return {name for rule in apart for group in groups if rule & group for name in group}
