"""Mean products of many columns, weighed between records and noisy measurements of them.

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
from itertools import compress, product
from typing import Final

import numpy as np

from understudy.arrays import Floats

_FAR: Final = (2.0, 3.0)  # deviations from which on single pairs count
_FILLED: Final = 8  # rounds in which the diagonal follows from what is kept
_SIGNS: Final = 8
_STEP: Final = 0.05  # of a divergence, in deviations of the noise


def wanted(own: Floats, excess: Floats, stddev: float) -> Floats:
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
    """What of a symmetric matrix, whose diagonal is unknown, is not explained by noise.

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
    """What of each number is beyond a threshold, larger ones nearly whole."""
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
