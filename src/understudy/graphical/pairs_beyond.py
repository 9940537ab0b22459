"""Pairs of columns that no table holds together, as second moments tell of them.

A graph says of such a pair what follows from the tables that it has. Second moments that a release
bought to answer questions say more: noisy contrasts of either column's states, multiplied. They are
no part of the graph, which would have to join all columns. Drawn records take them in:

1. What a pair lacks is what moments say of its cells, less what the records have. A pair is taken
   in where noise alone would hardly lack as much, by a sum of squares in which a cell counts by its
   records. So many are clear as noise is expected to make `FALSE` of them (Benjamini & Hochberg
   1995): of many weak pairs those that noise made conspicuous are let be.
2. Of a cell of m records what it lacks is taken to have the variance τ·m before noise of variance
   v, with τ by the method of moments, and no deviation beyond half of m. The cell is given the part
   τ·m/(τ·m + v) of what it lacks, which is the mean given what was measured (empirical Bayes); and
   rows and columns get the sums that they had.
3. Records are weighted until they hold these tables and all that were measured, and taken by weight
   (`graphical.sampling`): of all distributions with these tables, about that nearest to the model.

What is impossible stays so, and each measured table stays as it is, in the groups of the graph. All
of it is post-processing.

Sources: Efron & Morris (1973), "Stein's estimation rule and its competitors", JASA 68, for what
a cell is given; Satterthwaite (1946), Biometrics Bulletin 2, for sums of squares of unlike
variances; Benjamini & Hochberg (1995), JRSS B 57; Csiszár (1975) for weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.graphical.junction_tree import Columns
from understudy.graphical.sampling import choose_raked, table_of

FALSE: Final = 0.02
"""Part of the pairs that are taken in of which noise alone may have made something, on average."""
_LARGEST: Final = 0.5
"""Deviation of what a cell lacks, in its records, at most."""
_TINY: Final = 1e-300
_FEW, _MANY = 10, 30
"""Sweeps of many tables, and of a single one."""
MOST_CELLS: Final = 2**26
"""Records times tables, up to which records are weighted: half a gigabyte, and some seconds."""


@dataclass(frozen=True, eq=False)
class NoisyPair:
    """Dependence of two columns beyond their one-way tables, in groups of states.

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

    def compare(self, expected: Floats) -> Comparison:
        """Compare what records have with what was measured.

        Args:
            expected: records in each cell.
        """
        from scipy.special import gammaincc  # not for a plan, which draws no records

        sizes = np.sqrt(np.outer(*self.states))
        left, right = (_off_effects(one) for one in self.states)
        lacking = self.noisy / sizes - left @ (expected / sizes) @ right
        noise = self.stddev**2 * np.outer(np.diagonal(left), np.diagonal(right))
        spread = expected / sizes**2
        found, by_noise = (float((spread * one).sum()) for one in (lacking**2, noise))
        # A sum of squares of unlike variances is like one of alike ones with its first two moments,
        # whose chance is that of χ².
        half = self.stddev**4 * float((spread * (left**2 @ spread @ right**2)).sum())
        chance = gammaincc(by_noise**2 / half / 2, found * by_noise / half / 2) if half else 1.0
        excess = max(found - by_noise, 0.0) / max(float((spread**2).sum()), _TINY)
        return Comparison(expected, lacking * sizes, noise * sizes**2, excess, float(chance))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Counts that records of a pair have, and those they seem to lack.

    Attributes:
        expected: records in each cell.
        lacking: what was measured, less these.
        noise: variance in each cell of what was measured.
        excess: variance of what is lacking beyond noise, in a cell with one record.
        chance: with which noise alone makes records seem to lack as much.
    """

    expected: Floats
    lacking: Floats
    noise: Floats
    excess: float
    chance: float

    def estimate(self) -> Floats:
        """Estimate the records in each cell; rows and columns have the sums that they had."""
        expected = self.expected
        prior = np.minimum(self.excess * expected, (_LARGEST * expected) ** 2)
        part = np.divide(prior, prior + self.noise, out=np.zeros_like(prior), where=prior > 0)
        found: Floats = np.maximum(expected + part * self.lacking, (1 - _LARGEST) * expected)
        for _ in range(_MANY):
            for axis in (0, 1):
                wanted, sums = (one.sum(axis=axis, keepdims=True) for one in (expected, found))
                found *= np.divide(wanted, sums, out=np.ones_like(sums), where=sums > 0)
        return found


def clear(chances: Sequence[float]) -> list[bool]:
    """Mark those that are so small that of all marked ones noise made about `FALSE` at most.

    Args:
        chances: with which noise alone makes as much of each.

    Example:
        >>> clear([0.5, 0.001, 0.9, 0.009])
        [False, True, False, True]
    """
    ordered = np.sort(chances)
    allowed = FALSE * np.arange(1, len(ordered) + 1) / len(ordered)
    largest = max(ordered[ordered <= allowed], default=-1.0)
    return [bool(chance <= largest) for chance in chances]


def _off_effects(states: Integers) -> Floats:
    """The projection on what no effect that all states share explains; shape (groups, groups)."""
    along = np.sqrt(states / states.sum())
    return np.asarray(np.eye(len(along)) - np.outer(along, along))


@dataclass(frozen=True, eq=False)
class PairsBeyond:
    """Estimates about pairs that no table of a model holds.

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
        scale = self.total / n
        compared = [
            pair.compare(scale * table_of(states, pair.columns, self.sizes)) for pair in self.pairs
        ]
        found = clear([one.chance for one in compared])
        told = {
            pair.columns: one.estimate() / scale
            for pair, one, is_clear in zip(self.pairs, compared, found, strict=True)
            if is_clear
        }
        if not told:
            return states
        held = {columns: table_of(states, columns, self.sizes) for columns in self.held}
        return np.asarray(states[:, choose_raked([*states], told | held, rng, sweeps=_FEW)])
