"""Noisy tables that are drawn again, averaged, and put together with number lines.

A released count is y = t + e with noise e of a known, symmetric distribution. Under a flat prior
for the true count t its posterior is y plus such noise. So a table that is drawn again is the noisy
one with fresh noise of the same distribution; what is computed from it varies around what was
released as that varies around the truth. Discrete Laplace, discrete Gaussian, and Laplace noise on
a fine lattice are replaced by continuous noise of the same deviation: nothing here has to be
private, for it is post-processing of what was released. What this leaves out: a flat prior knows
neither that counts are whole numbers of at least 0 nor that tables agree (the model that is fitted
afterwards sees to that, and is a little further from sparse tables than the released fit, having
twice the noise to get rid of); which tables were measured, and which states merged, stays as it
was. A prior that draws tables towards independent columns would have less noise, but its sets would
not answer: a relation is just what it shrinks, and of intervals of a correlation hardly any would
hold the truth where noise is as large as the relation.

**Noisy counts of the states of a column, from its table and from its number line.**

A release that is to answer questions counts a column of numbers twice: the table that a model is
fitted to has its states, a number line (`understudy.features.grids`) has cells of its own. The
edges that both have cut the column into *parts*, each of whole states and whole cells. With y the
count of a state, s its variance, S the sum of these over its part, and L the count of the part by
the line, of variance v, generalised least squares puts them together:

    x = y + s/(S + v)·(L − Σ y),

and a sum of some states has the variance Σ s − Σ (sum of s within a part)²/(S + v), over the parts.
Where a finer line was bought beside the usual one, its parts lie within those of that. It comes
first; then s·v/(S + v), the covariance of a state with a part of the usual line, stands in place of
s. So what the finer line costs the usual one is told by its own cells again.

**Records in each state of a column of numbers, as its one-way tables tell them.**

A fine table, of which noise is taken (`models.number_line`), and the first one over runs of its
states, if there is one, whose counts have the noise of one state each. A column measured more than
once has the mean of its tables. All of it is post-processing of released tables.

**Columns whose states are merged into groups, and what tables say of these.**

**Observations.** Tables in merged states, as if every record were in domain.

**Groups.** Which states of a column are merged before marginals are measured follows from its noisy
table, and from what is public: the kind of a column, and which of its states stand in which rule.

**The way back from groups of states to states and numbers, by what tables of the columns say.**

**Levels and their public branches: in what order they stand, and which are measured together.**

**Runs of fine bins, in which columns of numbers are measured by themselves once more.**

Where noise is known to be Gaussian, half of what a column of numbers costs buys its fine bins, and
half the runs that these tell: what a run holds is known by the noise of one cell then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Flags, Floats, Integers
from understudy.dp.budget import Budget
from understudy.dp.released import CLEAR, LEAST_STDDEV, Groups, Noise, NoisyLine, NoisyTable
from understudy.errors import MethodError
from understudy.features.grids import LineCells, Numeric
from understudy.graphical.compression import (
    RARE,
    Expansion,
    RunPlaces,
    merged_branches,
    merged_levels,
    merged_runs,
    number_groups,
    shapes,
)
from understudy.graphical.estimation import MaxEntropy, Observation
from understudy.graphical.ridges import find_ridges
from understudy.mechanisms.tables import MAX_CELLS
from understudy.methods.base import (
    Beside,
    Tables,
)
from understudy.methods.plan import (
    size_weights,
)
from understudy.models.number_line import LEAST_HELD, denoise, estimate_support, estimated_records
from understudy.models.numeric import WithinBins, state_widths
from understudy.models.tables import project
from understudy.schema import NUMERIC, Categorical, Column, Schema, is_ordered
from understudy.schema.coarsening import signatures, sum_groups

SAME = 1e-12
"""Distance of two edges that are one, in parts of the range."""


@dataclass(frozen=True, eq=False)
class LineParts:
    """Information of a number line about the states of its column.

    Attributes:
        states: part of each state, shape (states,).
        counts: noisy ones of the parts, shape (parts,).
        cells: of the line in each part, those beyond the bounds included; same shape.
        noise: in each cell.
    """

    states: Integers
    counts: Floats
    cells: Integers
    noise: Noise

    @property
    def variances(self) -> Floats:
        """Of the noise in the counts, shape (parts,)."""
        return np.asarray(self.cells * max(self.noise.stddev, LEAST_STDDEV) ** 2)

    def resample(self, rng: np.random.Generator) -> LineParts:
        """The same with fresh noise on top, in each cell."""
        drawn = np.sqrt(self.cells) * noise_of(self.noise, self.counts.shape, rng)
        return replace(self, counts=self.counts + drawn)

    @classmethod
    def of(cls, line: NoisyLine, schema: Schema) -> LineParts:
        """The parts of a line and the states of its column.

        What is beyond the bounds counts as the bound, as in a table.

        Args:
            line: as released.
            schema: with the states.
        """
        (name,) = line.columns
        alone = schema.part([name]).model_copy(update={"forbidden": ()})
        column, fine = alone.columns[name], alone.with_bins(line.bins).columns[name]
        assert isinstance(column, NUMERIC)
        assert isinstance(fine, NUMERIC)
        edges = _common_edges(column, fine)
        cells = _parts(fine, edges)
        parts = np.concatenate([cells, cells[list(LineCells(fine).ends)]])
        counts = np.asarray(np.bincount(parts, line.counts), dtype=np.float64)
        return cls(_parts(column, edges), counts, np.bincount(parts), line.noise)


@dataclass(frozen=True, eq=False)
class StateCounts:
    """Noisy counts of the states of a column, whose noise differs and may go together.

    So they are no `NoisyTable`: a number line corrects all states of a part at once, and states
    that hold nobody have no noise.

    Attributes:
        table: by its table, shape (states,).
        spread: their variances, 0 for states that hold nobody; same shape.
        lines: what number lines say; each part of one lies in a part of the next.
    """

    table: Floats
    spread: Floats
    lines: tuple[LineParts, ...] = ()

    @classmethod
    def of(cls, table: NoisyTable, held: Flags, lines: tuple[LineParts, ...]) -> StateCounts:
        """By a one-way table, and its number lines if it has some.

        Args:
            table: in states that are not merged.
            held: which states may hold records, shape (states,).
            lines: what number lines say.
        """
        counts = np.where(held, np.asarray(table.counts, dtype=np.float64), 0.0)
        return cls(counts, np.where(held, table.stddev**2, 0.0), lines)

    @cached_property
    def counts(self) -> Floats:
        """Of all, shape (states,)."""
        found = self.table
        for line, (along, whole) in zip(self.lines, self._changes, strict=True):
            lacking = line.counts - np.bincount(line.states, found)
            found = found + along * (lacking / whole)[line.states]
        return found

    @cached_property
    def deviations(self) -> Floats:
        """Of the noise in `counts`, shape (states,)."""
        variances = self.spread
        for line, (along, whole) in zip(self.lines, self._changes, strict=True):
            variances = variances - along**2 / whole[line.states]
        least = np.minimum(self.spread, LEAST_STDDEV**2)  # next to nothing may round to below 0
        return np.sqrt(np.maximum(variances, least))

    def variances_of(self, groups: Integers) -> Floats:
        """Variances of sums over groups of states.

        Args:
            groups: of each state, numbered from 0, shape (states,).

        Returns:
            Shape (groups,).
        """
        sums = np.asarray(np.bincount(groups, self.spread), dtype=np.float64)
        for line, (along, whole) in zip(self.lines, self._changes, strict=True):
            cells = len(sums) * len(whole)
            shared = np.bincount(groups * len(whole) + line.states, along, cells)
            sums = sums - (shared.reshape(-1, len(whole)) ** 2 / whole).sum(axis=1)
        return sums

    @cached_property
    def _changes(self) -> tuple[tuple[Floats, Floats], ...]:
        """By line, covariance of each state with its part before it, and what they differ by.

        The latter is the variance of the difference of the line and what is known before it.
        """
        found, along = [], self.spread
        for line in self.lines:
            whole = np.asarray(np.bincount(line.states, along) + line.variances)
            found.append((along, whole))
            along = along * (line.variances / whole)[line.states]
        return tuple(found)


Lines = Mapping[str, tuple[LineParts, ...]]
"""Column → what its number lines say of its states, finer ones first."""


def _common_edges(first: Numeric, other: Numeric) -> Floats:
    """List where bins of both columns begin, ascending; shape (edges,)."""
    edges, others = (
        np.array([bin_.low for bin_ in column.intervals if not bin_.spike])
        for column in (first, other)
    )
    if not len(edges) or not len(others):
        return np.array([-np.inf])
    near = SAME * (first.bounds[1] - first.bounds[0])
    after = np.minimum(np.searchsorted(others, edges - near), len(others) - 1)
    return np.asarray(edges[np.abs(others[after] - edges) <= near])


def _parts(column: Numeric, edges: Floats) -> Integers:
    """Part of each state: stretches between edges first, then spikes and codes, each its own."""
    near = SAME * (column.bounds[1] - column.bounds[0])
    apart = alone(column)
    parts = len(edges) - 1 + np.cumsum(apart)
    lows = np.array([one.low for one in column.intervals if not one.spike])
    parts[~apart] = np.searchsorted(edges, lows + near, side="right") - 1
    return np.asarray(parts, dtype=np.int64)


def alone(column: Column) -> Flags:
    """Mark states that stand by themselves: spikes and codes of absence; shape (states,)."""
    found = np.arange(column.size) >= column.n_ordinary
    if isinstance(column, NUMERIC):
        found[: column.n_ordinary] = [interval.spike for interval in column.intervals]
    return found


def line_parts(schema: Schema, beside: Beside) -> Lines:
    """Return what number lines say of the states of their columns.

    Args:
        schema: in which tables were measured, states not merged.
        beside: what was measured beside them.
    """
    found: dict[str, tuple[LineParts, ...]] = {}
    for line in beside:
        if isinstance(line, NoisyLine):
            (name,), parts = line.columns, LineParts.of(line, schema)
            before = found.get(name, ())
            if not before or _is_within(parts, before[0]):  # usual lines come first
                found[name] = (parts, *before)
    return found


def _is_within(fine: LineParts, coarse: LineParts) -> bool:
    """Return whether each part of a line lies in one part of another."""
    pairs = np.unique(np.stack([fine.states, coarse.states]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(fine.states)))


def counts_states(table: NoisyTable) -> bool:
    """Return whether a table is of one column, in states that are not merged."""
    return len(table.columns) == 1 and not table.groups


def resample(schema: Schema, table: NoisyTable, rng: np.random.Generator) -> NoisyTable:
    """Draw a measured table again: with fresh noise on top; structural zeros stay 0.

    Args:
        schema: in which it was measured, states not merged.
        table: as released.
        rng: randomness.
    """
    binned = schema.with_bins(table.bins) if table.bins else schema
    coarse = binned.with_groups(table.groups) if table.groups else binned
    allowed = coarse.table(table.columns).allowed_mask().reshape(table.counts.shape)
    drawn = np.where(allowed, noise_of(table.noise, table.counts.shape, rng), 0.0)
    outside = float(table.outside) + float(noise_of(table.noise, (), rng))
    return replace(table, counts=table.counts + drawn, outside=outside)


def noise_of(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise of the deviation of a released number, Gaussian or Laplace as that was.

    Args:
        noise: what was added.
        shape: of the result.
        rng: randomness.
    """
    if noise.family.is_gaussian:
        return np.asarray(rng.normal(0.0, noise.stddev, shape))
    return np.asarray(rng.laplace(0.0, noise.stddev / np.sqrt(2), shape))


def number_masses(
    schema: Schema,
    marginals: Tables,
    n_rows: float,
    lines: Lines,
    known: Mapping[str, Floats] | None = None,
) -> dict[str, Floats]:
    """Estimated records in each state of the columns of numbers, with tails (`models.number_line`).

    Args:
        schema: states not merged.
        marginals: tables, among them one-way ones, some also over runs of their states.
        n_rows: number of rows.
        lines: of the columns that have one.
        known: earlier estimates; states that held hardly anybody then are empty now.
    """
    masses = {}
    for name, table in fine_tables(marginals).items():
        column = schema.columns[name]
        if not isinstance(column, NUMERIC):
            continue
        noisy = StateCounts.of(table, schema.table((name,)).allowed_mask(), lines.get(name, ()))
        if known is None:
            inside, normal = n_rows - max(table.outside, 0.0), table.noise.family.is_gaussian
            held = estimate_support(column, noisy.counts, noisy.deviations, inside, normal=normal)
        else:
            held = known[name] > LEAST_HELD
        over = [m for m in marginals if m.columns == (name,) and m.groups]
        runs = None
        if over:  # the first was measured before any round
            runs = np.array(over[0].groups[name]), np.asarray(over[0].counts), over[0].stddev
        masses[name] = estimated_records(
            column, noisy.counts, noisy.deviations, n_rows, held, over=runs
        )
    return masses


def fine_tables(marginals: Tables) -> dict[str, NoisyTable]:
    """The one-way table of each column in states that are not merged; the mean of several."""
    found: dict[str, NoisyTable] = {}
    for marginal in marginals:
        if counts_states(marginal):
            (name,) = marginal.columns
            found[name] = average_tables(found[name], marginal) if name in found else marginal
    return found


def average_tables(first: NoisyTable, other: NoisyTable) -> NoisyTable:
    """The mean, by inverse variance, of two tables of the same cells with independent noise.

    Of Gaussian noise that is as good as a single table for the cost of both; of Laplace noise it is
    not. Its noise is named as that of the first.

    Args:
        first: a table.
        other: of the same columns, bins and groups.
    """
    variances = first.stddev**2, other.stddev**2
    share = variances[0] / sum(variances)  # of the other
    counts = np.asarray(first.counts, dtype=np.float64)
    counts = counts + share * (np.asarray(other.counts) - counts)
    outside = first.outside + share * (other.outside - first.outside)
    variance = share * variances[1]
    noise = Noise(first.noise.distribution, str(variance), math.sqrt(variance))
    return replace(first, counts=counts, outside=float(outside), noise=noise)


PARTS: Final = 256
"""A level, or a group of one branch, is crossed with other columns from this part of the records
on. Of 64, 128 and 256, found best on made diagnoses (`benchmarks/level_branches.py`)."""
CELLS: Final = 4
"""Cells of a table of two columns, as full as noise wants them, whose records suffice as well."""


def has_branches(column: Column) -> bool:
    """Return whether levels have public branches."""
    return isinstance(column, Categorical) and column.hierarchy is not None


def in_branches(column: Column) -> Integers:
    """The states in an order in which those of one branch stand together; as declared without."""
    states = np.arange(column.size)
    return np.lexsort([states, *_branches(column)]) if has_branches(column) else states


def level_groups(
    column: Column,
    counts: Floats,
    stddev: float,
    signatures: Integers,
    *,
    total: float,
    room: float = math.inf,
    part: float = 0.0,
) -> Integers:
    """Group of each state of an unordered column: rare levels together, if possible of one branch.

    Args:
        column: with branches or without.
        counts: released, of each state.
        stddev: of their noise.
        signatures: equal numbers for states that may be merged, shape (K,).
        total: records of all states.
        room: cells that noise leaves room for in a table of two columns.
        part: of all records, below which a level is rare in any case.
    """
    least = total / PARTS
    if not has_branches(column):
        least *= min(1.0, PARTS * CELLS / max(room, 1.0))
    least = max(least, total * part)
    if not has_branches(column):
        return merged_levels(counts, stddev, least=least, signatures=signatures)
    return merged_branches(counts, stddev, _branches(column), least=least, signatures=signatures)


def _branches(column: Column) -> list[Integers]:
    """The branch of each state, finest branching first; codes of absence have one of their own."""
    assert isinstance(column, Categorical)
    assert column.hierarchy is not None
    codes = ("",) * len(column.codes)
    named = (np.array([*names, *codes]) for names in column.hierarchy.branches(column.levels))
    return [np.unique(names, return_inverse=True)[1] for names in named]


@dataclass(frozen=True)
class CompressedDomain:
    """States of some columns merged into groups.

    Attributes:
        schema: states not merged.
        groups: column → group of each state.
        masses: numeric column → estimated records in each state, as groups were made by them.
        moved: numeric column → records that its measured sum adds to each state.
    """

    schema: Schema
    groups: Groups
    masses: Mapping[str, Floats] = field(default_factory=dict)
    moved: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def by_tables(
        cls, schema: Schema, marginals: Sequence[NoisyTable], masses: Mapping[str, Floats]
    ) -> CompressedDomain:
        """As the tables say that were measured over groups."""
        groups: dict[str, tuple[int, ...]] = {}
        for marginal in marginals:
            groups.update(marginal.groups)
        return cls(schema, groups, masses)

    def choose_schema(self, groups: Groups) -> Schema:
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

    def find_held_states(self, name: str) -> NDArray[np.bool_] | None:
        """Mark states of a merged column of numbers that hold records; None for another column."""
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


LEAST_FITTED: Final = 0.002
"""Deviation in records: a fit that has to come closer to counts crawls, or ends where it began."""


def observations(
    merged: CompressedDomain, marginals: Sequence[NoisyTable], n_rows: float, lines: Lines
) -> list[Observation]:
    """The tables in merged states, as if every record were in domain.

    A table of all states of a column is summed over each group: the variance adds up, but for
    states of numbers that hold nobody, whose counts are noise. No count is taken to be nearer than
    `LEAST_FITTED`. Every table of one column takes in what its measured sum says. Where records out
    of domain clearly stand out, counts are scaled up to the number of rows.

    Args:
        merged: the columns in which the tables were measured.
        marginals: the tables.
        n_rows: number of rows.
        lines: of columns; the first table of the states of each takes in what they say.
    """
    place = {name: j for j, name in enumerate(merged.schema.names)}
    observed, lines = [], dict(lines)
    for table in marginals:
        allowed = merged.choose_schema(table.groups).table(table.columns).allowed_mask()
        if counts_states(table):
            own = lines.pop(table.columns[0], ())
            counts, variance = _sum_states(merged, table, allowed, own)
        else:
            counts, variance = _sum_cells(merged, table, allowed)
        if len(table.columns) == 1 and table.columns[0] in merged.moved:
            moved = merged.moved[table.columns[0]]
            groups = merged.groups.get(table.columns[0], range(len(moved)))
            counts = counts + sum_groups(moved, groups)
        scale = _scale(table, n_rows, int(allowed.sum()))
        columns = tuple(place[name] for name in table.columns)
        variance = np.maximum(variance * scale**2, LEAST_FITTED**2)
        observed.append(Observation(columns, counts * scale, variance))
    return observed


def _sum_states(
    merged: CompressedDomain, marginal: NoisyTable, allowed: Flags, lines: tuple[LineParts, ...]
) -> tuple[Floats, Floats]:
    """Counts of the groups of one column and their variances, from a table of its states."""
    (name,) = marginal.columns
    held = merged.find_held_states(name)
    noisy = StateCounts.of(marginal, allowed if held is None else allowed & held, lines)
    groups = merged.groups.get(name, range(allowed.size))
    variances = noisy.variances_of(np.array(groups))
    return sum_groups(noisy.counts, groups), np.where(variances > 0, variances, marginal.stddev**2)


def _sum_cells(
    merged: CompressedDomain, marginal: NoisyTable, allowed: Flags
) -> tuple[Floats, Floats]:
    """Counts of the cells of a table in merged states, and their variances."""
    groups, finer = merged.groups, marginal.groups
    counts = np.asarray(marginal.counts, dtype=np.float64)
    cells = allowed.astype(np.float64)
    for axis, name in enumerate(marginal.columns):
        if name in groups and finer.get(name) != groups[name]:
            into = _into(groups[name], finer.get(name))
            counts = np.apply_along_axis(sum_groups, axis, counts, into)
            cells = np.apply_along_axis(sum_groups, axis, cells, into)
    return counts, np.maximum(cells, 1.0) * marginal.stddev**2


def _into(groups: tuple[int, ...], finer: tuple[int, ...] | None) -> tuple[int, ...]:
    """Group of each state, or of each of its finer groups, all of whose states are in one group."""
    return groups if finer is None else tuple(dict(zip(finer, groups, strict=True)).values())


def _scale(marginal: NoisyTable, n_rows: float, n_cells: int) -> float:
    """Compute the factor that turns counts of records in domain into counts of all records."""
    inside = float(np.sum(marginal.counts))
    if not marginal.strays or inside <= CLEAR * marginal.stddev * math.sqrt(n_cells):
        return 1.0
    return max(n_rows, 1.0) / inside


FEW_VALUES = 16
"""Values of an ordered column, up to which even `rare_groups` merges neighbours only."""
TAILS = 64.0
"""Cells that noise must leave room for, or few records beside a heavy value share a run."""
_SINGLE = 10**9
"""Runs that no mass limits: only values with too little of it beside noise are merged."""


def rare_groups(schema: Schema, marginals: Sequence[NoisyTable]) -> Groups:
    """Rare states of each column in one group; those of few ordered values with their neighbours.

    Args:
        schema: in which the tables were measured.
        marginals: a one-way table of each column.
    """
    return _groups(schema, marginals, None, {}, {})


def coarse_groups(
    schema: Schema,
    marginals: Sequence[NoisyTable],
    bins: int,
    masses: Mapping[str, Floats],
    finer: Groups | None = None,
    *,
    n_rows: float,
    room: float = math.inf,
    rare: float = RARE,
    once: bool = False,
    least: float = 0.0,
) -> Groups:
    """Rare levels in one group, and ordered values in runs of about equal mass.

    Stretches of numbers that hold nobody belong to the run before them, or else after them.

    Args:
        schema: in which the tables were measured.
        marginals: a one-way table of each column.
        bins: runs of an ordered column.
        masses: numeric column → estimated records in each state; noisy counts stand for others.
        finer: numeric column → runs that are not to be cut.
        n_rows: number of rows, which is better known than the sum of many noisy counts.
        room: cells that noise leaves room for in a table of two columns, if there is to be one.
            More of them than `TAILS` let few records beside a heavy value have runs of their own
            (`merged_runs`); the fewer they are, the more a level must hold to be no rare one.
        rare: deviations of the noise in its counts that a run holds at least.
        once: whether runs are to be counted themselves (`merged_runs`).
        least: part of all records below which a level is rare in any case.
    """
    own = finer or {}
    return _groups(
        schema,
        marginals,
        bins,
        masses,
        own,
        n_rows=n_rows,
        room=room,
        rare=rare,
        once=once,
        least=least,
    )


def _groups(
    schema: Schema,
    marginals: Sequence[NoisyTable],
    bins: int | None,
    masses: Mapping[str, Floats],
    finer: Groups,
    *,
    n_rows: float | None = None,
    room: float = math.inf,
    rare: float = RARE,
    once: bool = False,
    least: float = 0.0,
) -> Groups:
    rules = dict(zip(schema.names, signatures(schema.domain), strict=True))
    merged = {}
    for marginal in marginals:
        (name,) = marginal.columns
        column, counts = schema.columns[name], np.asarray(marginal.counts, dtype=np.float64)
        signature = _signature(column, rules[name])
        stddev = marginal.stddev
        inside = counts.sum() if n_rows is None else n_rows - max(marginal.outside, 0.0)
        total = max(float(inside), 0.0)
        if is_ordered(column) and (bins is not None or column.size <= FEW_VALUES):
            single = alone(column)
            parts = np.array(finer.get(name, range(column.size)))
            first = np.unique(parts, return_index=True)[1]
            groups = merged_runs(
                np.bincount(parts, masses.get(name, project(counts, total))),
                stddev,
                bins=_SINGLE if bins is None or column.size <= bins else bins,
                tails=once or TAILS < room < math.inf,
                rare=rare,
                once=once,
                alone=single[first],
                signatures=signature[first],
            )[parts]
            if name in masses:
                groups = _without_empty(groups, masses[name] > LEAST_HELD, signature, single)
        else:
            groups = level_groups(
                column, counts, stddev, signature, total=total, room=room, part=least
            )
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
    return number_groups(names)


def _signature(column: Column, rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """States that may be merged: in the same rules, and all of them values or all of them codes."""
    coded = np.arange(column.size) >= column.n_ordinary
    return rules * 2 + coded


def denoised_columns(
    merged: CompressedDomain, one_ways: Mapping[str, NoisyTable], n_rows: float
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
            masses[name] = merged.masses[name] + merged.moved.get(name, 0.0)
        elif name in merged.groups:
            counts = np.asarray(one_ways[name].counts, dtype=np.float64)
            order = in_branches(column)
            masses[name] = np.empty(column.size)
            masses[name][order] = denoise(
                counts[order],
                one_ways[name].stddev,
                total=n_rows,
                ordered=is_ordered(column) or has_branches(column),
            )
    return masses


def _widths(column: Column) -> Floats | None:
    return state_widths(column) if isinstance(column, NUMERIC) else None


def expansions(merged: CompressedDomain, masses: Mapping[str, Floats]) -> dict[int, Expansion]:
    """Map each place of a column with groups to how its groups become states.

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


def run_places(merged: CompressedDomain, fit: MaxEntropy) -> dict[int, RunPlaces]:
    """Map each place of a column with runs to what other columns say of places within them.

    Args:
        merged: the columns.
        fit: over their groups.
    """
    runs = {
        j: merged.runs(name)
        for j, name in enumerate(merged.schema.names)
        if name in merged.groups and is_ordered(merged.schema.columns[name])
    }
    ridges, leaders = find_ridges(fit, runs)
    places: dict[int, RunPlaces] = {}
    for j in [*(runs.keys() - leaders.keys()), *leaders]:  # each behind the one that leads it
        leader = leaders.get(j)  # in a table of next to nobody it may have no places itself
        leader = leader if leader in places else None
        if (found := RunPlaces.of(fit, j, runs[j], ridges.get(j), leader)) is not None:
            places[j] = found
    return {j: places[j] for j in runs if j in places}


def numbers(schema: Schema, masses: Mapping[str, Floats]) -> dict[str, tuple[int, WithinBins]]:
    """Map each name to how bins become numbers, with the place of the column.

    Args:
        schema: states not merged.
        masses: estimated records in each state of the numeric columns.
    """
    return {
        name: (j, WithinBins(column, masses[name][: column.n_ordinary]))
        for j, (name, column) in enumerate(schema.columns.items())
        if isinstance(column, NUMERIC) and name in masses
    }


LEAST_RUNS = 24
"""Runs of a column, even where tables of two have fewer."""
LIGHT = 2.0
"""Deviations of the noise of one cell that a run holds at least, with room."""
LIGHT_ROOM = 16.0
"""Cells that noise must leave room for in a table of two, or a run holds as many as others."""


def wide_numbers(schema: Schema, budget: Budget, most: int) -> tuple[str, ...]:
    """Columns of numbers that are measured in fine bins, and then in runs of these.

    Not without δ, where half of the cost is twice the noise, nor where all is one column.

    Args:
        schema: in fine bins.
        budget: for its accounting.
        most: runs of a column; columns with fewer states are measured once.
    """
    if budget.accounting == "pure" or len(schema.names) == 1:
        return ()
    return tuple(
        name
        for name, column in schema.columns.items()
        if isinstance(column, NUMERIC) and column.size > most
    )


def finer_runs(
    schema: Schema,
    marginals: Sequence[NoisyTable],
    n_rows: float,
    wide: tuple[str, ...],
    *,
    lines: Lines,
    bins: int,
    room: float,
) -> Groups:
    """Runs in which columns of numbers are measured by themselves once more.

    Such a run needs no more records than make it worth the noise of one cell: the noise of its fine
    bins, which adds up in it, is gone once it is measured. Of few records those runs are better
    that fine bins tell apart for certain.

    Args:
        schema: in fine bins.
        marginals: a one-way table of each column.
        n_rows: number of rows.
        wide: columns to be measured once more.
        lines: of the columns that have one.
        bins: runs of a column in tables of two; about so many of equal mass, `LEAST_RUNS` at least.
        room: cells that noise leaves room for in a table of two columns (`coarse_groups`).
    """
    masses = number_masses(schema, marginals, n_rows, lines)
    ones = [one for name, one in fine_tables(marginals).items() if name in wide]
    most = max(bins, LEAST_RUNS)
    ample = room > LIGHT_ROOM
    rare = LIGHT if ample else RARE
    return coarse_groups(
        schema, ones, most, masses, n_rows=n_rows, room=room, rare=rare, once=ample
    )


def runs_spend(schema: Schema, bought: Fraction, wide: tuple[str, ...]) -> Fraction:
    """Compute the cost of tables of runs: as much as the fine tables of the same columns."""
    fine = dict(zip(schema.names, size_weights(schema, 2 / 3, wide), strict=True))
    again = sum((fine[name] for name in wide), Fraction(0))
    return bought * again / (sum(fine.values()) + again)


def require_columns(schema: Schema) -> None:
    """Refuse a column that cannot be counted alone; a public check.

    Raises:
        MethodError: more than `MAX_CELLS` states.
    """
    for name in schema.names:
        _require_cells(schema, (name,))


def _require_cells(schema: Schema, names: tuple[str, ...]) -> None:
    n = math.prod(schema.columns[name].size for name in names)
    if n > MAX_CELLS:
        raise MethodError(
            f"The table of {', '.join(names)} has {n:,} cells, too many to write out (at most "
            f"{MAX_CELLS:,}); take fewer parents or coarser bins."
        )
