"""Records exchange values until their ranks go together as they were measured to.

A graph says of columns that no table holds together what follows from those that are: of a relation
of their own nothing is left. Noisy sums of products of ranks (`features.rank_scores`) say of every
pair how far its ranks go together, and cost little. They are no part of the graph, which would have
to join all columns. Drawn records take them in afterwards:

1. What is wanted is weighed between what the records have and what was measured
   (`models.mean_products`).
2. Two records that agree in all columns that a table or a rule holds together with a column may
   exchange their values of it: **given its neighbours in the graph a column is independent of all
   others**, so the model draws the exchanged records as often as those before. Tables that were
   measured, and rules, are left as they are. Such pairs are met at random, and exchange where that
   brings the sums of products closer to the wanted ones, in the mean square.

So what is drawn keeps each measured table to the record, in the groups of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers, compiled
from understudy.features.rank_scores import UNIT, shortened
from understudy.models.mean_products import wanted

SWEEPS, SOME_SWEEPS, FEW_SWEEPS = 40, 10, 2
"""Of all columns, at most; of sets of more than `MOST_MET` records; and of `LONG` ones."""
SLOW: Final = 0.99
"""Part of what was lacking before a sweep, of which less must be lacking after it, or it is the
last."""
MOST_MET: Final = 2**16
"""Records that meet in a sweep for a column, chosen at random; of more a part is enough."""
LONG: Final = 2**20
"""Records of sets whose products are not worked out again after a sweep."""
MOST_NOISE: Final = 0.125
"""Deviation of the noise in a mean product above which nothing is taken from it."""
CLOSE: Final = 0.002
"""Root mean squared difference of mean products that is left alone."""
COST: Final = 0.1
"""What an exchange must gain, over the number of records, in squared mean products: those that gain
less only mix what no table holds."""


@dataclass(frozen=True, eq=False)
class RankExchange:
    """How records take in what was measured of their ranks.

    Attributes:
        columns: places of the ordered columns.
        scores: of each group of them, whole, in units of 1/`UNIT`.
        most: largest squared length of a record that was counted.
        partners: of each of them, the columns that a table or a rule holds together with it.
        sums: measured mean products of each pair, first < second, NaN where they do not count;
            shape (pairs,).
        stddev: of the noise in each of them.
    """

    columns: tuple[int, ...]
    scores: tuple[Floats, ...]
    most: int
    partners: tuple[tuple[int, ...], ...]
    sums: Floats
    stddev: float

    def exchanged(self, groups: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """Records after the exchange.

        Args:
            groups: of each column and record, shape (columns, n).
            rng: which records meet.
        """
        n = groups.shape[1]
        if n < 2 or self.stddev > MOST_NOISE:
            return groups
        own = self._vectors(groups)
        found = self._products(own)
        lacking = wanted(found, np.nan_to_num(self.measured - found), self.stddev)
        if _size(lacking) <= CLOSE:
            return groups
        goal, states = found + lacking, groups.copy()
        vectors = np.ascontiguousarray(own / UNIT, dtype=np.float32)
        for _ in range(SWEEPS if n <= MOST_MET else SOME_SWEEPS if n <= LONG else FEW_SWEEPS):
            before = _size(lacking)
            order = rng.permutation(n)[:MOST_MET]
            for k in rng.permutation(len(self.columns)):
                met = _meetings([states[j] for j in self.partners[k]], order)
                _exchange(states[self.columns[k]], vectors, lacking, met, int(k))
            if n <= LONG:  # exchanges book whole vectors; shortened ones have changed by less
                lacking = goal - self._products(vectors.astype(np.float64) * UNIT)
                np.fill_diagonal(lacking, 0)
            if _size(lacking) <= CLOSE or _size(lacking) > SLOW * before:
                break
        return states

    def beyond(self, groups: NDArray[np.int32]) -> Floats:
        """By how much mean products of whole vectors exceed those of shortened ones, shape (d, d).

        Args:
            groups: of each column and record, shape (columns, n).
        """
        own = self._vectors(groups)
        whole: Floats = own.T @ own / (UNIT**2 * len(own))
        return whole - self._products(own)

    def _vectors(self, groups: NDArray[np.int32]) -> Floats:
        """Scores of records, in units of 1/`UNIT`, shape (n, d)."""
        pairs = zip(self.columns, self.scores, strict=True)
        return np.column_stack([table[groups[j]] for j, table in pairs])

    @cached_property
    def measured(self) -> Floats:
        """Measured mean products, shape (d, d), with zeros on the diagonal."""
        found = np.zeros((len(self.columns),) * 2)
        found[np.triu_indices(len(found), 1)] = self.sums
        return found + found.T

    def _products(self, own: Floats) -> Floats:
        """Mean products of the records as they are counted, shape (d, d)."""
        kept = shortened(own, self.most) / UNIT
        products: Floats = kept.T @ kept / len(own)
        return products


def _size(matrix: Floats) -> float:
    """Root mean square off the diagonal."""
    d = len(matrix)
    return float(np.sqrt((matrix**2).sum() / max(d * (d - 1), 1)))


def _meetings(partners: Sequence[NDArray[np.int32]], order: Integers) -> tuple[Integers, Integers]:
    """Records, in their order within those that agree in all partners, and where these end."""
    key = np.zeros(len(order), dtype=np.int64)
    for states in partners:
        key = key * (int(states.max()) + 1) + states[order]
        if key.max() > 2**40:
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
    place = np.argsort(key, kind="stable")
    return order[place], np.append(np.flatnonzero(np.diff(key[place])) + 1, len(order))


@compiled
def _exchange(
    states: NDArray[np.int32],
    vectors: NDArray[np.float32],
    lacking: Floats,
    met: tuple[Integers, Integers],
    column: int,
) -> None:
    """Let records that stand next to each other exchange their values of a column, in place.

    `lacking` is by how much the wanted mean products exceed those of the records; it is kept.
    """
    n, d = vectors.shape
    order, ends = met
    change = np.empty(d)
    start = 0
    for end in ends:
        for t in range(start, end - 1, 2):
            i, j = order[t], order[t + 1]
            step = (vectors[i, column] - vectors[j, column]) / n
            if step == 0:
                continue
            gain = 0.0
            for other in range(d):
                moved = step * (vectors[j, other] - vectors[i, other])
                if other == column:
                    moved = 0.0
                change[other] = moved
                gain += moved * (2 * lacking[column, other] - moved)
            if gain > COST / n:
                for other in range(d):
                    lacking[column, other] -= change[other]
                    lacking[other, column] = lacking[column, other]
                states[i], states[j] = states[j], states[i]
                vectors[i, column], vectors[j, column] = (
                    vectors[j, column],
                    vectors[i, column],
                )
        start = end
