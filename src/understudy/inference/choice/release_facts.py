"""What the choice of a rule depends on: facts about a release, all of them public.

One of them is how many records of a set clipping, thresholds and priors misplaced. Negative noisy
counts are set to 0, cells below a threshold are left out, a prior adds records everywhere: what a
set is drawn from has another mass than the unbiased counts behind it. The share of records that
this puts into cells, or takes out of them, biases all sets alike, so that their differences do not
show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from understudy.functions.sequential_generator import Edge
from understudy.inference.estimates.analysis_records import is_binned
from understudy.inference.estimates.estimands import RATIOS, SHARES, TWO_WAY
from understudy.inference.noise_aware.full_tables import MOST_CELLS, covers
from understudy.inference.noise_aware.urn_estimates import are_drawn
from understudy.models.bayesian_network import kept
from understudy.release import Measurement, Release
from understudy.release.measurement import kept_columns
from understudy.release.measurement_kind import Kind
from understudy.schema import NUMERIC, Column, Ordinal, Schema

_DISTORTING = (
    *(Kind.TABLE, Kind.CELLS, Kind.TOTALS),
    *(Kind.LEAF_SUMS, Kind.DRAWS, Kind.DISTRIBUTION),
)
"""Kinds of measurements that say how many records are misplaced."""


def distortion(
    measured: Sequence[Measurement],
    columns: Sequence[str],
    n_rows: int,
    schema: Schema,
    *,
    prior: float = 0.0,
    network: Sequence[Edge] | None = None,
) -> float:
    """Share of a set's records that clipping, a threshold or a prior misplaced, estimated, 0 to 1.

    Mean over the measurements of one table (one for each split set). The least over several tables
    that cover the columns, as what is drawn keeps to the best of them; in a network the sum over
    the tables of the columns and of all that they descend from. 0 if no table covers them.

    Args:
        measured: what was released.
        columns: names of the columns in question; all of them, if records are drawn from the cells
            of the full table alone.
        n_rows: number of rows, as declared or released.
        schema: the public schema.
        prior: records that the method adds to each cell.
        network: the network that sets are drawn from, if it is one.
    """
    shares: dict[frozenset[str], list[float]] = {}
    for measurement in measured:
        if measurement.kind in _DISTORTING:
            share = _misplaced(measurement, n_rows, schema, prior)
            shares.setdefault(frozenset(measurement.columns), []).append(share)
    mean = {table: sum(several) / len(several) for table, several in shares.items()}
    if network is None:
        return _least(mean, columns)
    needed = ancestors(network, columns)
    families = [(column, *parents) for column, parents in network if column in needed]
    return min(1.0, sum(_least(mean, family) for family in families))


def _least(shares: Mapping[frozenset[str], float], columns: Sequence[str]) -> float:
    """The least share among the tables that cover some columns."""
    return min((share for table, share in shares.items() if set(columns) <= table), default=0.0)


def _misplaced(measurement: Measurement, n_rows: int, schema: Schema, prior: float) -> float:
    """With P the mass that records are drawn from and Y the unbiased number of records: 1 - Y/P.

    For a full table Y is the sum of all noisy counts and P that of the positive ones; for totals
    of a table that was never written out, Y is the number of rows. A filtered table has gained the
    mass S of empty cells that noise alone lifted over the threshold, known in expectation, and lost
    cells below it: the larger of the shares S/P and 1 - (P - S)/n. What a prior adds to each cell
    of a full table, or to the rows, is misplaced too. Of a distribution that the exponential
    mechanism chose no bias is known, only the size of its error, so that stands for it.
    """
    if measurement.kind is Kind.DISTRIBUTION:
        return min(1.0, measurement.stddev / max(n_rows, 1))
    if measurement.kind is Kind.DRAWS:
        urn = measurement.totals or {}
        return _share(n_rows, n_rows + urn["prior"] * urn["cells"])
    if measurement.kind in (Kind.TOTALS, Kind.LEAF_SUMS):
        mass = (measurement.totals or {}).get("positive_mass", 0.0)
        return _share(n_rows, mass)
    counts = measurement.counts
    mass = float(counts[counts > 0].sum())
    if measurement.family.is_truncated:  # its noise is not centred where counts are small
        return _share(n_rows, mass)
    if measurement.kind is Kind.CELLS:
        real = mass - _spurious(measurement, schema)
        return max(_share(real, mass), _share(real, n_rows))
    return _share(float(counts.sum()), mass + prior * _n_allowed(measurement, schema))


def _n_allowed(measurement: Measurement, schema: Schema) -> int:
    return measurement.binned(schema).table(measurement.columns).n_allowed


def _spurious(measurement: Measurement, schema: Schema) -> float:
    """Expected mass of empty cells that noise alone lifted over the threshold."""
    scale, least = float(Fraction(measurement.scale)), float(measurement.threshold or 0)
    # A Laplace-type tail: half of it lies above 0, and it exceeds any threshold by one scale.
    return _n_allowed(measurement, schema) * 0.5 * math.exp(-least / scale) * (least + scale)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, 1 - part / whole)) if whole > 0 else 1.0


def ancestors(network: Sequence[Edge], columns: Iterable[str]) -> set[str]:
    """Some columns and all that they descend from.

    Args:
        network: each column with its parents, which stand before it.
        columns: names.

    Example:
        >>> sorted(ancestors((("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ())), ["c"]))
        ['a', 'b', 'c']
    """
    needed = set(columns)
    for column, parents in reversed(network):
        if column in needed:
            needed.update(parents)
    return needed


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


def facts_of(release: Release, kind: str, columns: Sequence[str]) -> Facts:
    """What is public about a release and matters to an analysis of some columns."""
    # The sets know nothing of what an amendment measured later; answers from counts do.
    measured = release.behind_sets
    n_cells = math.prod(release.schema.columns[name].size for name in columns)
    manifest = release.manifest
    made = manifest.inference
    tables = [frozenset(table.columns) for table in measured if table.kind.is_joint]
    kept_together = kept(made.network) if made.network else tables
    return Facts(
        kind=kind,
        columns=tuple(columns),
        full=n_cells <= MOST_CELLS
        and any(covers(table, columns) for table in release.measurements),
        together=any(set(columns) <= table for table in kept_together),
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
        conditioned=bool(_cut_off(tables, kept_together, release.schema) & set(columns)),
    )


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
    of about equal mass; that is said in a note.
    """
    names = merged_columns(measured, columns)
    if kind in SHARES:
        return names
    groups = {name: merged for table in measured for name, merged in table.groups.items()}
    return tuple(name for name in names if not _in_runs(schema.columns[name], groups[name]))


def _in_runs(column: Column, groups: Sequence[int]) -> bool:
    """Whether states of a column are merged with neighbours only, spikes left aside."""
    if not isinstance(column, (*NUMERIC, Ordinal)):
        return False
    values = list(groups[: column.n_ordinary])
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
        set(box) for _, box in schema.boxes if not any(set(box) <= names for names in kept_together)
    ]
    groups: list[frozenset[str]] = []
    for table in tables:
        joined = [group for group in groups if group & table]
        groups = [group for group in groups if not group & table] + [table.union(*joined)]
    return {name for rule in apart for group in groups if rule & group for name in group}
