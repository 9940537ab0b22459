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

**Records in each state of a column of numbers, as its one-way tables tell them.**

A fine table, of which noise is taken (`models.number_line`), and the first one over runs of its
states, if there is one, whose counts have the noise of one state each. A column measured more than
once has the mean of its tables. All of it is post-processing of released tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Flags, Floats, Integers
from understudy.dp.released import Noise, NoisyLine, NoisyTable
from understudy.features.grids import LineCells, Numeric
from understudy.methods.base import Beside, Tables
from understudy.models.number_line import LEAST_HELD, estimate_support, estimated_records
from understudy.schema import NUMERIC, Column, Schema

SAME = 1e-12
"""Distance of two edges that are one, in parts of the range."""


@dataclass(frozen=True, eq=False)
class LineParts:
    """What a number line says of the states of its column.

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
        return np.asarray(self.cells * self.noise.stddev**2)

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
        line: what a number line says; None without one.
    """

    table: Floats
    spread: Floats
    line: LineParts | None = None

    @classmethod
    def of(cls, table: NoisyTable, held: Flags, line: LineParts | None) -> StateCounts:
        """By a one-way table, and its number line if it has one.

        Args:
            table: in states that are not merged.
            held: which states may hold records, shape (states,).
            line: what a number line says.
        """
        counts = np.where(held, np.asarray(table.counts, dtype=np.float64), 0.0)
        return cls(counts, np.where(held, table.stddev**2, 0.0), line)

    @cached_property
    def counts(self) -> Floats:
        """Of both, shape (states,)."""
        if self.line is None:
            return self.table
        parts = self.line.states
        lacking = self.line.counts - np.bincount(parts, self.table)
        return np.asarray(self.table + self.spread * (lacking / self._whole)[parts])

    @cached_property
    def deviations(self) -> Floats:
        """Of the noise in `counts`, shape (states,)."""
        if self.line is None:
            return np.sqrt(self.spread)
        return np.sqrt(self.spread - self.spread**2 / self._whole[self.line.states])

    def variances_of(self, groups: Integers) -> Floats:
        """Variances of sums over groups of states.

        Args:
            groups: of each state, numbered from 0, shape (states,).

        Returns:
            Shape (groups,).
        """
        sums = np.asarray(np.bincount(groups, self.spread), dtype=np.float64)
        if self.line is None:
            return sums
        n_parts = len(self._whole)
        shared = np.bincount(groups * n_parts + self.line.states, self.spread)
        shared = np.append(shared, np.zeros(len(sums) * n_parts - len(shared)))
        return np.asarray(sums - (shared.reshape(-1, n_parts) ** 2 / self._whole).sum(axis=1))

    @cached_property
    def _whole(self) -> Floats:
        """Variance of what table and line differ by in each part."""
        assert self.line is not None
        return np.asarray(np.bincount(self.line.states, self.spread) + self.line.variances)


Lines = Mapping[str, LineParts]
"""Column → what its number line says of its states."""


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
    """What number lines say of the states of their columns.

    Args:
        schema: in which tables were measured, states not merged.
        beside: what was measured beside them.
    """
    return {
        value.columns[0]: LineParts.of(value, schema)
        for value in beside
        if isinstance(value, NoisyLine)
    }


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
        noisy = StateCounts.of(table, schema.table((name,)).allowed_mask(), lines.get(name))
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
