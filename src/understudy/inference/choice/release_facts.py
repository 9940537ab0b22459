"""What the choice of a rule depends on: facts about a release, all of them public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from understudy.inference.choice.distortion import distorted, misplaced
from understudy.inference.estimates.analysis_records import is_binned, is_grouping, level_values
from understudy.inference.estimates.estimands import RATIOS, SHARES, TWO_WAY
from understudy.inference.noise_aware.full_tables import MOST_CELLS, covers
from understudy.inference.noise_aware.urn_estimates import are_drawn
from understudy.models.bayesian_network import kept
from understudy.models.graphical.linear_effects import contrasts_of
from understudy.release import Measurement, Release
from understudy.release.measurement import groups_of, kept_columns
from understudy.release.measurement_kind import Kind
from understudy.release.once import once
from understudy.schema import NUMERIC, Column, Schema, is_ordered

FEWEST_RUNS = 4
"""Runs of an ordered column that tell how a relation goes on within them."""


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
        binned: numeric columns whose numbers are known by bins only.
        redrawn: whether sets share one noise, and each has as much again of its own.
        conditioned: whether impossible combinations of columns that were measured apart change the
            distribution of these columns in the sets.
        swept: whether records were drawn column by column.
        picked: whether records come from a generator whose parameters were chosen among candidates.
        shrunk: whether a penalty makes relations between columns weaker in all sets.
        weighted: whether one of the columns was drawn from a posterior of the exact rows.
        firm: whether redrawn fits keep how far any two of the columns go together more firmly than
            their single counts (`understudy.models.graphical.linear_effects`).
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
    firm: bool = False
    binned: tuple[str, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether the estimand is a sum of counts, or a ratio of two."""
        return self.kind in RATIOS or self.kind == "total"

    @property
    def countable(self) -> bool:
        """Whether the released counts, or how the sets were drawn, answer it without the sets."""
        if self.kind in ("quantile", *TWO_WAY):  # follow from the counts of a table
            return self.full
        return self.counted and (self.full or self.drawn)


def facts_of(
    release: Release, kind: str, columns: Sequence[str], *, additive: bool = False
) -> Facts:
    """What is public about a release and matters to an analysis of some columns.

    Args:
        release: that is analysed.
        kind: of the estimand.
        columns: that it uses.
        additive: whether it is a model of the columns as they are, without interactions.
    """
    # The sets know nothing of what an amendment measured later; answers from counts do.
    measured = release.behind_sets
    n_cells = math.prod(release.schema.columns[name].size for name in columns)
    manifest = release.manifest
    made = manifest.inference
    return Facts(
        kind=kind,
        columns=tuple(columns),
        full=n_cells <= MOST_CELLS
        and any(covers(table, columns) for table in release.measurements),
        together=any(set(columns) <= table for table in _kept_together(release)),
        sets=manifest.sets,
        sets_kind=manifest.sets_kind,
        n_rows=manifest.n_rows,
        distortion=distorted(
            _misplaced(release), _drawn_from(release, columns), network=made.network
        ),
        merged=_merged(measured, kind, columns, release.schema),
        redrawn=made.posterior_rule == "mi",
        firm=additive
        and made.posterior_rule == "mi"
        and _are_firm(measured, columns, release.schema),
        binned=tuple(
            name
            for name in columns
            if name not in made.modelled and is_binned(release.schema.columns[name])
        ),
        swept=made.swept or any(table.kind is Kind.SWEEPS for table in measured),
        picked=any(table.kind is Kind.PARAMETERS for table in measured),
        shrunk=made.shrunk,
        weighted=any(table.kind is Kind.POSTERIOR for table in measured)
        and not set(columns) <= set(kept_columns(measured)),
        drawn=are_drawn(measured, columns, manifest, release.schema),
        conditioned=bool(_cut_off(release) & set(columns)),
    )


@once
def _misplaced(release: Release) -> dict[frozenset[str], float]:
    return misplaced(
        release.behind_sets,
        release.manifest.n_rows,
        release.schema,
        prior=release.manifest.inference.prior_weight,
    )


def _are_firm(measured: Sequence[Measurement], columns: Sequence[str], schema: Schema) -> bool:
    """Whether each two of some columns have effects, and those are all that a model sees of them.

    A model sees all levels of an ordered column that are texts; its evenly spaced scores are one
    effect among several.
    """
    groups = groups_of(measured)
    many = 0
    for name in columns:
        column = schema.columns[name]
        n = len(contrasts_of(column, groups.get(name)))
        many += n > 1
        seen = len(level_values(column)) - 1 if is_grouping(column) else 1
        if n == 0 or n < seen:
            return False
    return many < 2


def merged_columns(measured: Sequence[Measurement], columns: Sequence[str]) -> tuple[str, ...]:
    """Columns whose states are merged in the finest measured table that has all of some columns.

    Args:
        measured: what was released.
        columns: several; of one column alone every state is measured.
    """
    counted = [table for table in measured if table.kind.is_joint]
    covering = [table for table in counted if set(columns) <= set(table.columns)]
    merged = [tuple(name for name in columns if name in table.groups) for table in covering]
    return min(merged, key=len, default=())


def _merged(
    measured: Sequence[Measurement], kind: str, columns: Sequence[str], schema: Schema
) -> tuple[str, ...]:
    """Merged columns whose states matter one by one: all of them in shares, else unordered ones.

    A moment or a coefficient of a number changes little when neighbours are merged into many runs
    of about equal mass (`understudy.inference.within_runs`). Fewer than `FEWEST_RUNS` say nothing
    of how a relation goes on within a long one.
    """
    names = merged_columns(measured, columns)
    if kind in SHARES:
        return names
    groups = groups_of(measured)
    return tuple(name for name in names if not _in_runs(schema.columns[name], groups[name]))


def _in_runs(column: Column, groups: Sequence[int]) -> bool:
    """Whether states of a column are merged with neighbours only, spikes left aside."""
    if not is_ordered(column):
        return False
    values = list(groups[: column.n_ordinary])
    longest = max(values.count(group) for group in set(values))
    if len(set(values)) < FEWEST_RUNS and longest > 2:
        return False
    if isinstance(column, NUMERIC):
        pairs = zip(values, column.intervals, strict=True)
        values = [group for group, interval in pairs if not interval.spike]
    return len(set(values)) == len([group for group, _ in groupby(values)])


def _drawn_from(release: Release, columns: Sequence[str]) -> Sequence[str]:
    """Columns of the table whose cells records are drawn from.

    Where shares are handed down a tree, upper layers are kept, and columns stand for themselves;
    records that are drawn from the leaves alone have what is wrong with the leaves.
    """
    whole = release.schema.names
    leaves = release.manifest.inference.leaves_only
    measured = any(
        set(table.columns) == set(whole) and table.kind.is_joint for table in release.behind_sets
    )
    return whole if leaves and measured else columns


@once
def _tables(release: Release) -> tuple[frozenset[str], ...]:
    """Columns of each table that the sets know of."""
    return tuple(frozenset(one.columns) for one in release.behind_sets if one.kind.is_joint)


@once
def _kept_together(release: Release) -> tuple[frozenset[str], ...]:
    """Columns that are drawn as one table has them."""
    network = release.manifest.inference.network
    return tuple(map(frozenset, kept(network))) if network else _tables(release)


@once
def _cut_off(release: Release) -> frozenset[str]:
    """Columns that go together with one in a rule over columns that were drawn apart.

    Records that such a rule forbids are drawn again, which shifts its columns and whatever goes
    together with them: columns of one table, and of tables that overlap. In a network a rule over
    parents that are drawn one by one is of that kind, though a table covers it.
    """
    together = _kept_together(release)
    boxes = (set(box) for _, box in release.schema.boxes)
    apart = [box for box in boxes if not any(box <= names for names in together)]
    groups: list[frozenset[str]] = []
    for table in _tables(release):
        joined = [group for group in groups if group & table]
        groups = [group for group in groups if not group & table] + [table.union(*joined)]
    return frozenset(name for rule in apart for group in groups if rule & group for name in group)
