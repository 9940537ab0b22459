"""Records exchange values until their ranks go together as they were measured to.

A graph says of columns that no table holds together what follows from those that are: of a relation
of their own nothing is left. Noisy sums of products of ranks (`features.scores`) say of every
pair how far its ranks go together, and cost little. They are no part of the graph, which would have
to join all columns. Drawn records take them in afterwards:

1. What is wanted is weighed between what the records have and what was measured
   (`graphical.rank_exchange`).
2. Two records that agree in all columns that a table or a rule holds together with a column may
   exchange their values of it: **given its neighbours in the graph a column is independent of all
   others**, so the model draws the exchanged records as often as those before. Tables that were
   measured, and rules, are left as they are. Such pairs are met at random, and exchange where that
   brings the sums of products closer to the wanted ones, in the mean square.

So what is drawn keeps each measured table to the record, in the groups of the graph.

**Mean products of many columns, weighed between records and noisy measurements of them.**

Of d columns the records have the mean products S, and noisy ones say S + D, with noise of deviation
σ in each pair. Six matrices may be the truth's best likeness:

* what the records have: no change; and S + D as it was measured;
* S + P(D), single pairs that the records lack, far beyond noise;
* C + P(S + D − C) with C = L(S + D): a few common causes, and single pairs beside them;

the latter two with P from two and from three deviations on. A pair that goes together by itself
among many columns is no common cause; causes of many are lost among single pairs. P leaves x − t²/x
of what is beyond t, and nothing of the rest (the garrote of Breiman 1995): of a strong relation it
takes little.

L leaves of each eigenvalue w, of a symmetric matrix with unknown diagonal, sign(w)·√(w² − 4dσ²), or
0: noise alone has none beyond 2σ√d (Wigner 1958), and that is what a larger one was before noise
moved it (Benaych-Georges & Nadakuditi 2011). The likeness is their mixture of least estimated risk:
with y what was measured, f_k the six and v their weights,

    |Σ v_k f_k − y|² + 2σ² Σ v_k·div f_k(y),    v_k ≥ 0, Σ v_k = 1

is its squared error but for a constant, without bias (Stein 1981). Divergences are estimated by a
few random signs (Ramani, Blu & Unser 2008). All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.features.scores import RANK_UNIT, shorten_vectors

_FAR: Final = (2.0, 3.0)  # deviations from which on single pairs count
_FILLED: Final = 8  # rounds in which the diagonal follows from what is kept
_SIGNS: Final = 8
_STEP: Final = 0.05  # of a divergence, in deviations of the noise


def compute_target(own: Floats, excess: Floats, stddev: float) -> Floats:
    """By how much mean products should exceed those of the records.

    Args:
        own: mean products of the records, shape (d, d).
        excess: by how much measured ones exceed them, noisy, shape (d, d); its diagonal is not
            looked at.
        stddev: of the noise in each number off the diagonal.

    Returns:
        Shape (d, d), symmetric, with zeros on the diagonal.
    """
    pairs = np.triu_indices(len(own), 1)
    base = _without_diagonal(own)

    def likenesses(noisy: Floats) -> Floats:
        """Excess of each of them, shape (6, pairs)."""
        common = shrunk(base + noisy, stddev) - base
        single = [far(noisy, k * stddev) for k in _FAR]
        both = [common + far(noisy - common, k * stddev) for k in _FAR]
        return np.stack([0 * noisy, noisy, *single, *both])[:, *pairs]

    measured = _without_diagonal(excess)
    found = likenesses(measured)
    spread = np.zeros(len(found))
    rng = np.random.default_rng(0)  # of the divergences; nothing of it is seen
    for _ in range(_SIGNS if stddev > 0 else 0):
        signs = np.zeros_like(own)
        signs[pairs] = rng.choice([-1.0, 1.0], len(pairs[0]))
        step = _STEP * stddev * (signs + signs.T)
        spread += (likenesses(measured + step) - found) @ step[pairs]
    divergence = spread / (_SIGNS * (_STEP * stddev) ** 2) if stddev > 0 else spread
    weights = _least(found - measured[pairs], 2 * stddev**2 * divergence)
    mixed = np.zeros_like(own)
    mixed[pairs] = weights @ found
    return mixed + mixed.T


def shrunk(noisy: Floats, stddev: float) -> Floats:
    """Shrink a symmetric matrix with unknown diagonal to what noise does not explain.

    Args:
        noisy: shape (d, d).
        stddev: of the noise in each number off the diagonal.

    Returns:
        Shape (d, d), with zeros on the diagonal.
    """
    found, edge = np.array(noisy), 4 * len(noisy) * stddev**2
    diagonal = np.zeros(len(noisy))
    for _ in range(_FILLED):
        np.fill_diagonal(found, diagonal)
        values, vectors = np.linalg.eigh(found)
        values = np.sign(values) * np.sqrt(np.maximum(values**2 - edge, 0))
        kept: Floats = (vectors * values) @ vectors.T
        diagonal = np.diagonal(kept).copy()
    return _without_diagonal(kept)


def far(noisy: Floats, threshold: float) -> Floats:
    """Reduce each number to what is beyond a threshold, larger ones nearly whole."""
    if threshold == 0:
        return noisy
    size = np.maximum(np.abs(noisy), threshold)
    kept: Floats = noisy * (1 - (threshold / size) ** 2)
    return kept


def _without_diagonal(matrix: Floats) -> Floats:
    return matrix - np.diag(np.diagonal(matrix))


def _least(rest: Floats, price: Floats) -> Floats:
    """Weights v ≥ 0 with sum 1 of least |v·rest|² + v·price: the best over all sets of them."""
    gram = rest @ rest.T
    return min(_corners(gram, price), key=lambda v: float(v @ gram @ v + v @ price))


def _corners(gram: Floats, price: Floats) -> Iterator[Floats]:
    """The least point of each set of weights that are not 0, where none of them is negative."""
    n = len(price)
    for chosen in product((False, True), repeat=n):
        used: Sequence[int] = list(compress(range(n), chosen))
        if not used:
            continue
        system = np.zeros((len(used) + 1,) * 2)
        system[:-1, :-1] = 2 * gram[np.ix_(used, used)]
        system[-1, :-1] = system[:-1, -1] = 1
        wished = np.append(-price[used], 1.0)
        found = np.linalg.lstsq(system, wished, rcond=None)[0][:-1]
        if (found >= -1e-12).all() and abs(found.sum() - 1) < 1e-9:
            weights = np.zeros(n)
            weights[used] = np.maximum(found, 0)
            yield weights


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
    """An exchange of records' values by which they take in what was measured of ranks.

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

    def exchange_values(
        self, groups: NDArray[np.int32], rng: np.random.Generator
    ) -> NDArray[np.int32]:
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
        lacking = compute_target(found, np.nan_to_num(self.measured - found), self.stddev)
        if _size(lacking) <= CLOSE:
            return groups
        goal, states = found + lacking, groups.copy()
        vectors = np.ascontiguousarray(own / RANK_UNIT, dtype=np.float32)
        for _ in range(SWEEPS if n <= MOST_MET else SOME_SWEEPS if n <= LONG else FEW_SWEEPS):
            before = _size(lacking)
            order = rng.permutation(n)[:MOST_MET]
            for k in rng.permutation(len(self.columns)):
                met = _meetings([states[j] for j in self.partners[k]], order)
                _exchange(states[self.columns[k]], vectors, lacking, met, int(k))
            if n <= LONG:  # exchanges book whole vectors; shortened ones have changed by less
                lacking = goal - self._products(vectors.astype(np.float64) * RANK_UNIT)
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
        whole: Floats = own.T @ own / (RANK_UNIT**2 * len(own))
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
        kept = shorten_vectors(own, self.most) / RANK_UNIT
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
    place = _stable_order(key)
    return order[place], np.append(np.flatnonzero(np.diff(key[place])) + 1, len(order))


def _stable_order(keys: Integers) -> Integers:
    """Order of whole numbers from 0 on, equal ones as they stand.

    numpy sorts 16 bits by counting, and more by comparing, which takes four times as long.
    """
    place = np.arange(len(keys))
    for shift in range(0, int(keys.max(initial=0)).bit_length(), 16):
        digits = (keys[place] >> shift).astype(np.uint16)  # the lowest 16 bits of what is left
        place = place[np.argsort(digits, kind="stable")]
    return place


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
    start = 0
    for end in ends:
        for t in range(start, end - 1, 2):
            i, j = order[t], order[t + 1]
            step = (vectors[i, column] - vectors[j, column]) / n
            if step == 0:
                continue
            gain = 0.0
            for other in range(d):
                if other != column:
                    moved = step * (vectors[j, other] - vectors[i, other])
                    gain += moved * (2 * lacking[column, other] - moved)
            if gain > COST / n:
                for other in range(d):
                    if other != column:
                        lacking[column, other] -= step * (vectors[j, other] - vectors[i, other])
                        lacking[other, column] = lacking[column, other]
                states[i], states[j] = states[j], states[i]
                vectors[i, column], vectors[j, column] = (
                    vectors[j, column],
                    vectors[i, column],
                )
        start = end
