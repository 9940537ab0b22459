"""A noisy table with the noise that is in it, which can be drawn again.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Flags
from understudy.families.method import Beside
from understudy.families.state_counts import LineParts, StateCounts
from understudy.privacy.released import Noise, NoisyLine, NoisyTable, Released
from understudy.schema import Schema

LEAST_STDDEV = 1e-6
"""In records: that of whole-number noise at a huge budget underflows when it is squared."""
CLEAR = 4.0
"""Standard deviations by which records out of domain must stand out to be taken off."""


@dataclass(frozen=True)
class NoisyMarginal:
    """A released table and its noise.

    Attributes:
        table: the noisy counts.
        noise: in each of them.
        line: what a number line says of the states, if the table is of one column.
    """

    table: NoisyTable
    noise: Noise
    line: LineParts | None = None

    @property
    def stddev(self) -> float:
        """Deviation of the noise, kept above what a fit can tell from none at all."""
        return max(self.noise.stddev, LEAST_STDDEV)

    @property
    def strays(self) -> bool:
        """Whether records out of domain clearly stand out."""
        return self.table.outside > CLEAR * self.stddev

    @classmethod
    def of(cls, released: Released[NoisyTable]) -> NoisyMarginal:
        """From what the gate gave out."""
        return cls(released.value, released.noise)

    def by_state(self, held: Flags) -> StateCounts:
        """Counts of the states of its column, with those of its number line.

        Args:
            held: which states may hold records, shape (states,).
        """
        counts = np.where(held, np.asarray(self.table.counts, dtype=np.float64), 0.0)
        return StateCounts(counts, np.where(held, self.stddev**2, 0.0), self.line)


def with_lines(
    schema: Schema, marginals: Sequence[NoisyMarginal], beside: Beside
) -> list[NoisyMarginal]:
    """The same tables; the first of each column that has a number line takes in what it says.

    Args:
        schema: in which the tables were measured, states not merged.
        marginals: the tables.
        beside: what else was measured.
    """
    lines: dict[tuple[str, ...], LineParts] = {
        value.columns: LineParts.of(value, noise, schema)
        for value, noise in beside
        if isinstance(value, NoisyLine)
    }
    found = []
    for marginal in marginals:
        own = None if marginal.table.groups else lines.pop(marginal.table.columns, None)
        found.append(marginal if own is None else replace(marginal, line=own))
    return found


def fresh(schema: Schema, marginal: NoisyMarginal, rng: np.random.Generator) -> NoisyMarginal:
    """A measured table with fresh noise on top; structural zeros stay 0.

    Args:
        schema: in which it was measured, states not merged.
        marginal: the released table and its noise.
        rng: randomness.
    """
    table = marginal.table
    binned = schema.with_bins(table.bins) if table.bins else schema
    coarse = binned.with_groups(table.groups) if table.groups else binned
    allowed = coarse.table(table.columns).allowed_mask().reshape(table.counts.shape)
    drawn = np.where(allowed, noise_of(marginal.noise, table.counts.shape, rng), 0.0)
    outside = float(table.outside) + float(noise_of(marginal.noise, (), rng))
    line = marginal.line
    if line is not None:
        noise = np.sqrt(line.cells) * noise_of(line.noise, line.counts.shape, rng)
        line = replace(line, counts=line.counts + noise)
    again = replace(table, counts=table.counts + drawn, outside=outside)
    return replace(marginal, table=again, line=line)


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
