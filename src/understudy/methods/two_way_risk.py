"""What tables save of the distance of pairs of columns, estimated from released values.

Rounds buy tables of pairs; the same budget could buy all tables of single columns once more. Of d
columns each is in d − 1 pairs, so little noise less in each of many columns may save more than
another pair. Both are told in records of L1 distance, summed over all pairs of columns, with the
mean size of a normal error of the same variance in each cell.

* **A pair that was measured.** With y the noisy table, m what the model said before, and v the
  variance of noise in each of k cells, s² = |y − m|²/k − v estimates without bias the mean squared
  error that the model had: the choice came before the noise of the table, so that the best of many
  is not taken for better than it is. Afterwards the error has the variance s²v/(s² + v) at best.
* **All columns once more.** A cell of two independent columns with shares p and q has an error
  of variance npq, as rows scatter about any model, and q²·v + p²·w by noise in the columns. With
  more precise columns only the latter falls. A pair in a table has the noise of that besides.

Of triples a pair is in d − 2, a column in (d − 1)(d − 2)/2: that is half as many for each pair as
there are pairs of a column. And pairs tell of others by way of columns that they share. So rounds
give way to columns where a pair saves less than half as much for its cost (`PAIR_WORTH`).

Distance is not all that users look at: correlations and predictions need the strong ties, even
where these are a small part of all distance. So rounds never give way while they find ties. A
table is **clear** if its distance from the model is more than noise, the columns' own noise and
the scatter of rows explain: by a χ² test at `LEVEL`, divided by the number of pairs, as rounds
choose the best of many. Rounds give way where none of the last four tables of pairs is clear
(`UNCLEAR`), and fewer than half of all: first rounds are so noisy that they miss strong ties.

All of it is post-processing. What the rest of the budget buys follows from released values, as
rounds do: nothing more is paid for the decision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

from understudy._arrays import Floats
from understudy.dp.released import NoisyTable
from understudy.schema import Column

PAIR_WORTH = 2.0
"""How much distance that a pair saves counts, beside distance that columns save."""
PARTS = 8
"""Into which a sum is divided between pairs and columns."""
LATEST = 2
"""Rounds whose savings tell what the next one would save; one of a single column saves no pair."""
UNCLEAR = 4
"""Rounds of pairs in a row that must not be clear; each has half the noise of one that failed."""
LEVEL = 0.05
"""Of the test whether a table is clear of noise, for all pairs together."""
_SCATTER = 1.5
"""Variance of rows about the model, and of the records that it was counted in, in counts."""
_MEAN_SIZE = math.sqrt(2 / math.pi)


def saved_by_pairs(counts: Floats, before: Floats, variance: float) -> float:
    """Estimate what a table saves of the distance of its pairs of columns, in records.

    Args:
        counts: as measured, with an axis for each column.
        before: what the model said of them; the same shape.
        variance: of the noise in each cell.

    Example:
        >>> near, far = np.array([[50.0, 50], [50, 50]]), np.array([[90.0, 10], [10, 90]])
        >>> [round(saved_by_pairs(far, one, 100.0)) for one in (near, far)]
        [93, 0]
    """
    saved = 0.0
    for kept in combinations(range(counts.ndim), 2):
        others = tuple(axis for axis in range(counts.ndim) if axis not in kept)
        moved = (counts - before).sum(axis=others)
        noise = variance * counts.size / moved.size
        error = max(float((moved**2).mean()) - noise, 0.0)
        saved += moved.size * _MEAN_SIZE * (math.sqrt(error) - _left(error, noise))
    return saved


def saved_by_columns(
    counts: Sequence[Floats],
    variances: tuple[Floats, Floats],
    measured: dict[tuple[int, int], float],
) -> float:
    """Estimate what more precise columns save of the distance of all pairs, in records.

    Args:
        counts: of the states of each column, as the model has them; none negative.
        variances: of the noise in each state of a column, before and after, shape (columns,).
        measured: pair of places, ascending → variance of noise in each of its cells.

    Example:
        >>> even = [np.full(2, 500.0)] * 3
        >>> after = np.array([25.0, 25, 25])
        >>> round(saved_by_columns(even, (4 * after, after), {}), 1)
        10.7
    """
    total, saved = max(float(counts[0].sum()), 1.0), 0.0
    shares = [each / total for each in counts]
    for i, j in combinations(range(len(counts)), 2):
        p, q = shares[i][:, None], shares[j][None, :]
        still = total * p * q + measured.get((i, j), 0.0)
        before, after = (
            float(np.sqrt(still + each[i] * q**2 + each[j] * p**2).sum()) for each in variances
        )
        saved += _MEAN_SIZE * (before - after)
    return saved


def is_clear(
    counts: Floats, before: Floats, variance: float, columns: Sequence[float], tests: int
) -> bool:
    """Return whether a table shows a tie of two columns that the model did not have.

    Args:
        counts: as measured, with an axis for each column.
        before: what the model said of them; the same shape.
        variance: of the noise in each cell.
        columns: variance of the noise in each state of each column, by which the model errs.
        tests: among how many pairs this one was chosen.

    Example:
        >>> even, tied = np.full((2, 2), 50.0), np.array([[90.0, 10], [10, 90]])
        >>> [is_clear(table, even, 100.0, (9.0, 9.0), 10) for table in (even, tied)]
        [False, True]
    """
    from scipy.special import chdtrc  # takes long, and no plan needs it

    total = max(float(before.sum()), 1.0)
    for a, b in combinations(range(counts.ndim), 2):
        others = tuple(axis for axis in range(counts.ndim) if axis not in (a, b))
        said = before.sum(axis=others)
        p, q = said.sum(axis=1, keepdims=True) / total, said.sum(axis=0, keepdims=True) / total
        noise = variance * counts.size / said.size + columns[a] * q**2 + columns[b] * p**2
        moved = (counts.sum(axis=others) - said) ** 2 / (noise + _SCATTER * np.maximum(said, 0))
        if chdtrc(said.size, float(moved.sum())) < LEVEL / tests:
            return True
    return False


def best_precision(columns: Mapping[str, Column], known: Sequence[NoisyTable]) -> Floats:
    """Precision of the best table of each column alone, shape (columns,).

    Args:
        columns: name → column, in groups.
        known: tables measured before pairs.
    """
    precision = dict.fromkeys(columns, 0.0)
    for one in known:
        if len(one.columns) == 1:
            (name,) = one.columns
            merged = max(one.counts.size / columns[name].size, 1.0)
            precision[name] = max(precision[name], 1 / (merged * one.stddev**2))
    return np.array([*precision.values()])


def part_for_pairs(
    pairs: Sequence[tuple[tuple[int, ...], Floats, float]],
    columns: Sequence[Floats],
    precision: tuple[Floats, Floats],
    more: float,
) -> Fraction:
    """Return which part of a sum saves most distance if it buys pairs once more, the rest columns.

    The model has independent columns. Of a tie counts what noise of a deviation more than usual
    does not explain, by itself or as the mean of all pairs, whichever is more.

    Args:
        pairs: of each its places of columns, its noisy counts, and the variance of their noise.
        columns: counts of the states of each, as the model has them; none negative.
        precision: of the tables of each column, and what the whole sum adds; shape (columns,).
        more: precision that the whole sum adds to pairs, in parts of theirs.

    Example:
        >>> even, tied = np.full((2, 2), 50.0), np.array([[90.0, 10], [10, 90]])
        >>> one, alone = np.full(2, 100.0), np.full(2, 0.01)
        >>> for counts in (even, tied):
        ...     print(part_for_pairs([((0, 1), counts, 100.0)], [one, one], (alone, alone), 1.0))
        0
        1
    """
    total, cells = max(float(columns[0].sum()), 1.0), sum(one.size for _, one, _ in pairs)
    sizes = [
        float(((counts - np.outer(columns[i], columns[j]) / total) ** 2).sum()) / variance
        for (i, j), counts, variance in pairs
    ]
    usual = (sum(sizes) - cells - math.sqrt(2 * cells)) / cells
    ties = []
    for size, (_, counts, variance) in zip(sizes, pairs, strict=True):
        own = size / counts.size - 1 - math.sqrt(2 / counts.size)
        ties.append((max(own, usual, 0.0) * variance, variance, counts.size))

    def saved(part: Fraction) -> float:
        now, whole = precision
        after = 1 / (now + float(1 - part) * whole)
        by_pairs = sum(
            size * _MEAN_SIZE * (_left(error, noise) - _left(error, noise / (1 + more * part)))
            for error, noise, size in ties
        )
        return PAIR_WORTH * by_pairs + saved_by_columns(columns, (1 / now, after), {})

    return max((Fraction(k, PARTS) for k in range(PARTS + 1)), key=saved)


def _left(error: float, noise: float) -> float:
    """Deviation that a table leaves of a mean squared error, for the variance of its noise."""
    return math.sqrt(error * noise / (error + noise)) if error else 0.0


@dataclass
class TwoWayRisk:
    """What is known of the errors of columns and pairs, as rounds go on.

    Attributes:
        columns: precision of the tables of each column alone, in groups; shape (columns,).
        known: precision of each column by all tables that hold it, shape (columns,).
        measured: pair of places, ascending → variance of noise in each of its cells.
        latest: what the pairs of each round saved, and its cost.
        clear: of each round of pairs, whether its table was clear of noise.
    """

    columns: Floats
    known: Floats = field(init=False)
    measured: dict[tuple[int, int], float] = field(default_factory=dict)
    latest: list[tuple[float, float]] = field(default_factory=list)
    clear: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Nothing is known but tables of one column."""
        self.known = self.columns.copy()

    def note(
        self, places: tuple[int, ...], counts: Floats, before: Floats, variance: float, cost: float
    ) -> None:
        """Take in a round.

        Args:
            places: of the columns of its table, ascending.
            counts: as measured, with an axis for each of them.
            before: what the model said of these; the same shape.
            variance: of the noise in each cell.
            cost: of the round.
        """
        if len(places) > 1:
            columns = [1 / self.known[place] for place in places]
            tests = math.comb(len(self.known), 2)
            self.clear.append(is_clear(counts, before, variance, columns, tests))
        for place, size in zip(places, counts.shape, strict=True):
            self.known[place] += size / (variance * counts.size)
        for a, b in combinations(range(len(places)), 2):
            noise = variance * counts.size / (counts.shape[a] * counts.shape[b])
            pair = places[a], places[b]
            self.measured[pair] = 1 / (1 / self.measured.get(pair, math.inf) + 1 / noise)
        self.latest.append((saved_by_pairs(counts, before, variance), cost))

    def prefers_columns(self, counts: Sequence[Floats], precision: Floats, cost: float) -> bool:
        """Return whether all columns would save more than another pair, and no tie was clear.

        Args:
            counts: of each column's states, as the model has them.
            precision: that they would add, shape (columns,).
            cost: of all of them, more than 0.
        """
        latest = self.latest[-LATEST:]
        if len(latest) < LATEST or self._finds_ties():
            return False
        by_pair = sum(saved for saved, _ in latest) / sum(paid for _, paid in latest)
        variances = 1 / self.known, 1 / (self.known + precision)
        by_columns = saved_by_columns(counts, variances, self.measured) / cost
        return PAIR_WORTH * by_pair < by_columns

    def _finds_ties(self) -> bool:
        """Return whether rounds still find ties, or have not looked for them often enough."""
        latest = self.clear[-UNCLEAR:]
        return len(latest) < UNCLEAR or any(latest) or 2 * sum(self.clear) >= len(self.clear)
