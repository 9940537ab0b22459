"""Noisy counts of the states of a column, from its table and from its number line.

A release that is to answer questions counts a column of numbers twice: the table that a model is
fitted to has its states, a number line (`understudy.features.line_cells`) has cells of its own. The
edges that both have cut the column into *parts*, each of whole states and whole cells. With y the
count of a state, s its variance, S the sum of these over its part, and L the count of the part by
the line, of variance v, generalised least squares puts them together:

    x = y + s/(S + v)·(L − Σ y),

and a sum of some states has the variance Σ s − Σ (sum of s within a part)²/(S + v), over the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.arrays import Flags, Floats, Integers
from understudy.features.line_cells import LineCells, Numeric
from understudy.privacy.released import Noise, NoisyLine
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

    @classmethod
    def of(cls, line: NoisyLine, noise: Noise, schema: Schema) -> LineParts:
        """The parts of a line and the states of its column.

        What is beyond the bounds counts as the bound, as in a table.

        Args:
            line: as released.
            noise: in each cell.
            schema: with the states.
        """
        (name,) = line.columns
        alone = schema.part([name]).model_copy(update={"forbidden": ()})
        column, fine = alone.columns[name], alone.with_bins(line.bins).columns[name]
        assert isinstance(column, NUMERIC)
        assert isinstance(fine, NUMERIC)
        edges = _common_edges(column, fine)
        cells = _parts(fine, edges)
        own = np.concatenate([cells, cells[list(LineCells(fine).ends)]])
        counts = np.asarray(np.bincount(own, line.counts), dtype=np.float64)
        return cls(_parts(column, edges), counts, np.bincount(own), noise)


@dataclass(frozen=True, eq=False)
class StateCounts:
    """Noisy counts of the states of a column.

    Attributes:
        table: by its table, shape (states,).
        spread: their variances, 0 for states that hold nobody; same shape.
        line: what a number line says; None without one.
    """

    table: Floats
    spread: Floats
    line: LineParts | None = None

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


def _common_edges(one: Numeric, other: Numeric) -> Floats:
    """Where bins of both columns begin, ascending; shape (edges,)."""
    own, others = (
        np.array([bin_.low for bin_ in column.intervals if not bin_.spike])
        for column in (one, other)
    )
    if not len(own) or not len(others):
        return np.array([-np.inf])
    near = SAME * (one.bounds[1] - one.bounds[0])
    after = np.minimum(np.searchsorted(others, own - near), len(others) - 1)
    return np.asarray(own[np.abs(others[after] - own) <= near])


def _parts(column: Numeric, edges: Floats) -> Integers:
    """Part of each state: stretches between edges first, then spikes and codes, each its own."""
    near = SAME * (column.bounds[1] - column.bounds[0])
    apart = alone(column)
    parts = len(edges) - 1 + np.cumsum(apart)
    lows = np.array([one.low for one in column.intervals if not one.spike])
    parts[~apart] = np.searchsorted(edges, lows + near, side="right") - 1
    return np.asarray(parts, dtype=np.int64)


def alone(column: Column) -> Flags:
    """Which states stand by themselves: spikes and codes of absence; shape (states,)."""
    found = np.arange(column.size) >= column.n_ordinary
    if isinstance(column, NUMERIC):
        found[: column.n_ordinary] = [interval.spike for interval in column.intervals]
    return found
