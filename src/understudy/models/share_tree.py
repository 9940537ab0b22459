"""Shares of many states from one noisy table: a tree of halves, with a prior that it learns.

The states stand in a row, and the row is halved again and again. A part of mass M that is known
from above falls into a left half of mass θM and a right one of (1 − θ)M, of which noisy sums l and
r were released, with variances V and W. Given M, all they say of θM is

* z = (l·W + (M − r)·V)/(V + W), with variance V·W/(V + W).

The prior of θ is a mixture: the halves are as even as their widths; or unlike by a normal deviate
of one of four sizes, cut to [0, 1]; or one half is empty. Its weights are learned for each
layer from the noisy sums of that layer (empirical Bayes, by expectation–maximisation), so that a
smooth column is smoothed, while heaps, jumps and gaps stay. The posterior mean of θ takes the mass
one layer down. Nothing becomes negative, and the sum is kept.

Where halves begin is arbitrary: the result is the mean over 16 places of the row in its tree, for
unordered states over 16 fixed arrangements.

What is approximate: a part's mass is taken as known once the layers above gave it, and other noise
is treated as normal with the same variance. That costs accuracy, never privacy: all of it is
post-processing.

Sources: Haar wavelets with shifts, Coifman & Donoho (1995), "Translation-invariant de-noising";
multiscale priors of splits, Kolaczyk (1999), "Bayesian multiscale models for Poisson processes";
scale mixtures learned by empirical Bayes, Stephens (2017), "False discovery rates: a new deal".

A better one-way table from a noisy one: post-processing of released values alone.

A column of hundreds of states, bought with a small share of the budget, has more noise than
records in most of them. What is known beside the noisy counts: they are not negative, their sum
is known well, and states next to each other are often alike. `denoised` uses all three
(`share_tree.py`).

When not: as data of a least-squares fit, or of an estimate that is to be unbiased. It pulls counts
towards smoothness, which lowers the total error and biases single counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from understudy.arrays import Floats

ARRANGEMENTS = 16
_SIZES = (0.03, 0.1, 0.3, 2.0)  # of the deviates from even halves, in parts of M
_EVEN = 1.0  # prior number of even splits in a layer of each tree: doubt is for smoothness
_ROUNDS = 20
_LEAST = 1e-12  # least mass of a part, and its least deviation is 1000 times that; of a mass of 1
_HALF_LOG_2PI = 0.9189385332046727


def tree_shares(noisy: Floats, variance: Floats, widths: Floats, *, ordered: bool = True) -> Floats:
    """Shares of the states.

    Args:
        noisy: noisy shares of a whole that is known to be 1, shape (K,).
        variance: of the noise in them, shape (K,).
        widths: what the states would share alike, such as widths of bins; 0 for a state that cannot
            occur; shape (K,).
        ordered: whether states next to each other are alike.

    Returns:
        Shape (K,): not negative, with a sum of 1 unless all widths are 0.
    """
    known = widths > 0
    used = _Sums(
        np.where(known, noisy, 0.0),
        np.where(known, np.maximum(variance, (1e3 * _LEAST) ** 2), 0.0),
        np.where(known, widths, 0.0),
    )
    places = _places(len(noisy), ordered)
    leaves = used.spread(places, 1 << int(places.max()).bit_length())
    shares = np.take_along_axis(_down(leaves), places, axis=1).mean(axis=0)
    return np.asarray(shares, dtype=np.float64)


def _places(n_states: int, ordered: bool) -> NDArray[np.int64]:
    """Leaf of each state in each tree, shape (trees, K)."""
    row = np.arange(n_states)
    if ordered:
        n_trees = min(ARRANGEMENTS, 1 << (n_states - 1).bit_length())
        return row + np.arange(n_trees)[:, None]
    rng = np.random.default_rng(0)  # fixed and public: these are no random results
    return rng.permuted(np.tile(row, (ARRANGEMENTS, 1)), axis=1)


@dataclass(frozen=True)
class _Sums:
    """Noisy sums, their variances and widths: of states, or of the parts of a layer."""

    noisy: Floats
    variance: Floats
    width: Floats

    def spread(self, places: NDArray[np.int64], n_leaves: int) -> _Sums:
        """The states as leaves of trees; leaves without a state have no width."""
        spread = []
        for array in (self.noisy, self.variance, self.width):
            leaves = np.zeros((len(places), n_leaves))
            np.put_along_axis(leaves, places, np.broadcast_to(array, places.shape), axis=1)
            spread.append(leaves)
        return _Sums(*spread)

    def every_other(self, start: int) -> _Sums:
        """Left halves (0) or right ones (1)."""
        return _Sums(*(array[:, start::2] for array in (self.noisy, self.variance, self.width)))

    def halved(self) -> _Sums:
        """The layer above."""
        pairs = (self.noisy, self.variance, self.width)
        return _Sums(*(pair[:, 0::2] + pair[:, 1::2] for pair in pairs))

    def only(self, chosen: NDArray[np.bool_]) -> _Sums:
        """Some parts of all trees, in one row."""
        return _Sums(self.noisy[chosen], self.variance[chosen], self.width[chosen])


def _down(leaves: _Sums) -> Floats:
    """Masses of the leaves, from the roots down; shape (trees, leaves)."""
    layers = [leaves]
    while layers[-1].noisy.shape[1] > 1:
        layers.append(layers[-1].halved())
    mass = np.ones((len(leaves.noisy), 1))
    for layer in layers[-2::-1]:
        mass = _divided(mass, layer.every_other(0), layer.every_other(1))
    return mass


def _divided(mass: Floats, left: _Sums, right: _Sums) -> Floats:
    """Masses of the next layer, shape (trees, 2·parts)."""
    share = (left.width > 0).astype(np.float64)
    open_ = (left.width > 0) & (right.width > 0)
    if open_.any():
        known = np.maximum(mass[open_], _LEAST)
        share[open_] = _split(known, left.only(open_), right.only(open_), trees=len(mass))
    return np.stack([mass * share, mass * (1 - share)], axis=-1).reshape(len(mass), -1)


def _split(mass: Floats, left: _Sums, right: _Sums, *, trees: int) -> Floats:
    """Posterior mean of θ for each part of a layer, shape (parts,)."""
    both = left.variance + right.variance
    seen = (left.noisy * right.variance + (mass - right.noisy) * left.variance) / both / mass
    variance = np.maximum(left.variance * right.variance / both / mass**2, 1e-30)
    means, logs = _components(seen, variance, left.width / (left.width + right.width))
    likelihoods = np.exp(logs - logs.max(axis=0))
    chances = likelihoods * _weights(likelihoods, _EVEN * trees)[:, None]
    return np.asarray((chances * means).sum(axis=0) / chances.sum(axis=0))


def _components(seen: Floats, variance: Floats, even: Floats) -> tuple[Floats, Floats]:
    """Posterior mean of θ, and log marginal likelihood, under each component of the prior.

    Args:
        seen: z/M, shape (parts,).
        variance: its variance, shape (parts,).
        even: θ of even halves, shape (parts,).

    Returns:
        Two arrays of shape (components, parts): even halves first, an empty one last.
    """
    means, logs = [even], [-((seen - even) ** 2) / variance / 2]
    halves, place = np.unique(even, return_inverse=True)  # few differ where a column has many parts
    for size in _SIZES:
        wide = size**2 + variance
        middle = (even * variance + seen * size**2) / wide
        mean, inside = _cut(middle, size * np.sqrt(variance / wide))
        before = _cut(halves, np.full_like(halves, size))[1][place]
        means.append(mean)
        logs.append(inside - before - (seen - even) ** 2 / wide / 2 - np.log(wide / variance) / 2)
    for end in (0.0, 1.0):
        means.append(np.full_like(even, end))
        logs.append(-((seen - end) ** 2) / variance / 2)
    return np.stack(means), np.stack(logs)


def _cut(middle: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Mean of a normal distribution cut to [0, 1], and the log probability of that interval."""
    low, high = -middle / deviation, (1 - middle) / deviation
    mirrored = low > 0  # the lower tail is where logarithms of probabilities are exact
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    below, upto = log_ndtr(low), log_ndtr(high)
    inside = upto + np.log1p(-np.exp(np.minimum(below - upto, -1e-12)))
    # Far out these exponents are lost to rounding; there the limit below is the nearer end.
    at_low = np.exp(np.minimum(-(low**2) / 2 - _HALF_LOG_2PI - inside, 30.0))
    at_high = np.exp(np.minimum(-(high**2) / 2 - _HALF_LOG_2PI - inside, 30.0))
    shift = np.where(mirrored, -1.0, 1.0) * (at_low - at_high)
    return np.clip(middle + deviation * shift, 0.0, 1.0), inside


def _weights(likelihoods: Floats, even: float) -> Floats:
    """Weights of the components that make the layer most likely, shape (components,)."""
    weights = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(_ROUNDS):
        chances = likelihoods * weights[:, None]
        weights = (chances / chances.sum(axis=0)).sum(axis=1)
        weights[0] += even
        weights[-2:] = weights[-2:].mean()  # which half is empty is a matter of names
        weights /= weights.sum()
    return weights


def denoised(
    noisy: ArrayLike,
    stddev: ArrayLike,
    *,
    total: ArrayLike | None = None,
    widths: ArrayLike | None = None,
    ordered: bool = True,
) -> Floats:
    """Counts without most of their noise: not negative, with a given sum.

    Args:
        noisy: noisy counts of all states of a column, shape (..., K).
        stddev: of the noise in them, one number or shape (K,).
        total: sum afterwards, shape (...), at least 0; that of the noisy counts if None.
        widths: public; what the states would share alike, such as widths of bins, and 0 for a state
            that cannot occur; shape (K,), 1 each if None.
        ordered: whether states next to each other are alike. Spikes and codes of absence need not
            be taken out: the tree sees that they are like no other.

    Returns:
        Shape (..., K).

    Example:
        >>> denoised([4.0, -3.0, 1.0, 998.0], 5.0, total=1000).round().tolist()
        [0.0, 0.0, 0.0, 1000.0]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    n_states = counts.shape[-1]
    sums = counts.sum(axis=-1) if total is None else np.asarray(total, dtype=np.float64)
    variance = np.broadcast_to(np.asarray(stddev, dtype=np.float64) ** 2, (n_states,))
    wide = np.ones(n_states) if widths is None else np.asarray(widths, dtype=np.float64)
    rows = counts.reshape(-1, n_states)
    positive = np.broadcast_to(np.maximum(sums, 0.0), counts.shape[:-1]).reshape(-1)
    result = np.zeros(rows.shape)
    for k in np.flatnonzero(positive):
        whole = positive[k]
        shares = tree_shares(rows[k] / whole, variance / whole**2, wide, ordered=ordered)
        result[k] = whole * shares
    return result.reshape(counts.shape)
