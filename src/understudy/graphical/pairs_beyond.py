"""Pairs of columns that no table holds together, as second moments tell of them.

A graph says of such a pair what follows from the tables that it has. Second moments that a release
bought to answer questions say more: noisy contrasts of either column's states, multiplied. They are
no part of the graph, which would have to join all columns. Drawn records take them in:

1. What a pair lacks is what moments say of its cells, less what the records have. Of a cell of m
   records it is taken to have the variance τ·m before noise of variance v, and not to exceed half
   of m. τ is by the method of moments, with weights by which it is found best where it is small.
   Only what exceeds the largest sum of squares that noise alone would have in so many pairs counts:
   of many weak pairs those that noise made conspicuous are let be.
2. Of what a cell lacks it is given the part τ·m/(τ·m + v), which is the mean given what was
   measured (empirical Bayes). Then the table gets the rows and columns of the records again.
3. Records are weighted until they hold these tables and all that were measured, and taken by weight
   (`graphical.sampling`): of all distributions with these tables, about that nearest to the model.

What is impossible stays so, and each measured table stays as it is, in the groups of the graph. All
of it is post-processing.

Sources: Efron & Morris (1973), "Stein's estimation rule and its competitors", JASA 68, for what
a cell is given; Satterthwaite (1946), Biometrics Bulletin 2, for sums of squares of unlike
variances; Csiszár (1975) for weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from understudy._arrays import Floats, Integers
from understudy.graphical.junction_tree import Columns
from understudy.graphical.sampling import choose_raked, table_of

CHANCE: Final = 0.05
"""With which noise alone is taken for something, in any of all pairs."""
_LARGEST: Final = 0.5
"""Deviation of what a cell lacks, in its records, at most."""
_FEW, _MANY = 10, 30
"""Sweeps of many tables, and of a single one."""
MOST_CELLS: Final = 2**26
"""Records times tables, up to which records are weighted: half a gigabyte, and some seconds."""


@dataclass(frozen=True, eq=False)
class NoisyPair:
    """How two columns go together beyond their one-way tables, in groups of states.

    Attributes:
        columns: their places.
        noisy: records in each cell, less what additive effects of both columns explain, where all
            states of a group count; shape (groups, groups).
        states: of each group of either column, how many it has.
        stddev: of the noise in a cell of two states, as far as no additive effects explain it.
    """

    columns: tuple[int, int]
    noisy: Floats
    states: tuple[Integers, Integers]
    stddev: float

    def estimate(self, expected: Floats, chance: float) -> Floats | None:
        """Estimate the records in each cell; None where noise explains what they lack.

        Args:
            expected: what the records have.
            chance: with which noise alone may pass for something.

        Returns:
            Like `expected`, and with the same sums of rows and of columns.
        """
        sizes = np.sqrt(np.outer(*self.states))
        left, right = (_off_effects(one) for one in self.states)
        lacking = self.noisy / sizes - left @ (expected / sizes) @ right
        noise = self.stddev**2 * np.outer(np.diagonal(left), np.diagonal(right))
        spread = expected / sizes**2
        mean = float((spread * noise).sum())
        if mean <= 0:
            return None
        # Of a sum of squares by noise: half of its variance, and so its likeness (Satterthwaite).
        half = self.stddev**4 * float((spread * (left**2 @ spread @ right**2)).sum())
        by_noise = half / mean * float(chi2.isf(chance, mean**2 / half))
        excess = float((spread * lacking**2).sum()) - by_noise
        if excess <= 0:
            return None
        prior = np.minimum(excess / (spread**2).sum() * expected, (_LARGEST * expected) ** 2)
        part = np.divide(prior, prior + noise * sizes**2, out=np.zeros_like(prior), where=prior > 0)
        found: Floats = np.maximum(expected + part * lacking * sizes, (1 - _LARGEST) * expected)
        for _ in range(_MANY):
            for axis in (0, 1):
                wanted, sums = (one.sum(axis=axis, keepdims=True) for one in (expected, found))
                found *= np.divide(wanted, sums, out=np.ones_like(sums), where=sums > 0)
        return found


def _off_effects(states: Integers) -> Floats:
    """The projection on what no effect that all states share explains; shape (groups, groups)."""
    along = np.sqrt(states / states.sum())
    return np.asarray(np.eye(len(along)) - np.outer(along, along))


@dataclass(frozen=True, eq=False)
class PairsBeyond:
    """What is known of pairs that no table of a model holds.

    Attributes:
        pairs: each in groups of the model.
        held: columns of the tables that the model holds, every single column among them.
        sizes: groups of each column.
        total: records that the pairs count.
    """

    pairs: Sequence[NoisyPair]
    held: Sequence[Columns]
    sizes: tuple[int, ...]
    total: float

    def choose_records(
        self, states: NDArray[np.int32], rng: np.random.Generator
    ) -> NDArray[np.int32]:
        """Take records by weights with which they hold the pairs as well; as many as there are.

        Args:
            states: in groups, shape (columns, records).
            rng: which records are taken.

        Returns:
            Shape (columns, records), in random order.
        """
        n = states.shape[1]
        if not n or n * (len(self.held) + len(self.pairs)) > MOST_CELLS:
            return states
        scale, chance = self.total / n, CHANCE / len(self.pairs)
        told = {}
        for pair in self.pairs:
            found = pair.estimate(scale * table_of(states, pair.columns, self.sizes), chance)
            if found is not None:
                told[pair.columns] = found / scale
        if not told:
            return states
        held = {columns: table_of(states, columns, self.sizes) for columns in self.held}
        return np.asarray(states[:, choose_raked([*states], told | held, rng, sweeps=_FEW)])
