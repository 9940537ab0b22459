"""Counting and drawing cumulative distributions that keep within a band around a given one.

Which bands are counted, from public facts alone (`empirical_distribution.py`: the cap, blocks of
levels), stands here too.

A *path* is a vector of cumulative counts 0 ≤ Y₁ ≤ … ≤ Y_d ≤ n of whole numbers. It keeps within
band t of a path N if |Y_k - N_k| ≤ t for all k. The number of paths in a band, and a path that is
uniform among them, come from one recursion. With lₖ = max(0, N_k - t) and hₖ = min(n, N_k + t), let
S_k(y) be the number of ways to lay Y₁ ≤ … ≤ Y_k ≤ y within the band:

    S₁(y) = y - l₁ + 1,    S_k(y) = S_k(y - 1) + S_{k-1}(min(y, h_{k-1})),    l_k ≤ y ≤ h_k.

S_d(h_d) is the number of paths. A uniform path is drawn from its end: Y_k is the first y at which
S_k(y) exceeds U·S_k(min(Y_{k+1}, h_k)), U uniform. Cost: d·min(2t + 1, n + 1) additions.

**Arithmetic.** Only positive numbers are added, so nothing cancels: the relative error of a sum is
below (number of additions)·2⁻⁵³. The numbers span hundreds of thousands of binary orders where
counts are flat, so each is held as m·2^(512·e), 2⁻²⁵⁶ ≤ m < 2²⁵⁶, e a whole number.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import compiled

MOST_STEPS = 2**32
"""Most additions of one draw."""
_RARE = 14  # e^-14 < 10⁻⁶
_SHIFT = 512
_UP = 2.0**_SHIFT
_DOWN = 2.0**-_SHIFT
_TOP = 2.0 ** (_SHIFT // 2)
_BOTTOM = 2.0 ** -(_SHIFT // 2)
_DENSE = 8  # draw places one by one when at most one in so many is wanted


def highest_level(n_cells: int, total: int, epsilon: Fraction) -> int:
    """The cap T, from public facts alone; 0 only where there is no record."""
    level = needed_level(n_cells, total, epsilon)
    while level > 1 and steps_up_to(level, n_cells, total) > MOST_STEPS:
        level = level * 3 // 4
    return level


def needed_level(n_cells: int, total: int, epsilon: Fraction) -> int:
    """The least cap that is exceeded with a probability below 10⁻⁶, whatever the rows."""
    enough = math.ceil(2 / epsilon * Fraction(log_all_paths(n_cells, total) + _RARE))
    return min(total, enough)


def steps_up_to(cap: int, n_cells: int, total: int) -> int:
    """Additions that counting all bands below the cap takes."""
    widths = np.minimum(2 * block_ends(n_cells, cap), total) + 1
    return n_cells * int(widths.sum())


def block_ends(n_cells: int, cap: int) -> NDArray[np.int64]:
    """Last level of each block of levels below the cap."""
    ends = []
    level = 0
    while level < cap:
        end = min(cap - 1, level + 2 * level // n_cells)
        ends.append(end)
        level = end + 1
    return np.array(ends, dtype=np.int64)


def log_paths(cumulative: NDArray[np.int64], total: int, band: int) -> float:
    """Logarithm of the number of paths within a band.

    Args:
        cumulative: N₁ ≤ … ≤ N_d, within 0 and `total`, shape (d,), d ≥ 1.
        total: largest value of a path.
        band: t ≥ 0.

    Example:
        >>> round(math.exp(log_paths(np.array([1, 1]), 2, 1)), 9)
        6.0
    """
    sums, powers = _room(2, total, band)
    return _fill(cumulative, total, band, sums, powers)


def path_within(
    cumulative: NDArray[np.int64], total: int, band: int, randomness: Randomness
) -> NDArray[np.int64]:
    """A uniform path within a band; arguments as for `log_paths`.

    Returns:
        Shape (d,).
    """
    sums, powers = _room(len(cumulative), total, band)
    _fill(cumulative, total, band, sums, powers)
    uniforms = randomness.uniforms(len(cumulative))
    return _descend((cumulative, total, band), sums, powers, uniforms)


def log_all_paths(length: int, total: int) -> float:
    """Logarithm of the number of all paths, C(total + length, length)."""
    return math.log(math.comb(total + length, length))


def any_path(length: int, total: int, randomness: Randomness) -> NDArray[np.int64]:
    """A uniform path among all of them, exactly: a uniform set of places, read as a path.

    Y_k + k - 1, k = 1..d, are d different numbers below total + d; each such set is one path.

    Returns:
        Shape (length,).
    """
    places = total + length
    if length * _DENSE > places:
        chosen = randomness.permutation(places)[:length]
    else:
        chosen = np.zeros(0, dtype=np.int64)
        while len(chosen) < length:
            both = np.concatenate([chosen, randomness.below(places, length - len(chosen))])
            _, first = np.unique(both, return_index=True)
            chosen = both[np.sort(first)]
    return np.sort(chosen) - np.arange(length)


def _room(rows: int, total: int, band: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    width = min(2 * band, total) + 1
    return np.empty((rows, width)), np.empty((rows, width), dtype=np.int32)


@compiled
def _fill(
    cumulative: NDArray[np.int64],
    total: int,
    band: int,
    sums: NDArray[np.float64],
    powers: NDArray[np.int32],
) -> float:
    """Write S_k(y) to [k mod rows, y - l_k] as (m, e); return log S_d(h_d)."""
    rows = sums.shape[0]
    last_low = last_high = 0
    m, e = 0.0, 0
    for k in range(cumulative.size):
        low = max(0, cumulative[k] - band)
        high = min(total, cumulative[k] + band)
        here, last = k % rows, (k - 1) % rows
        m, e = 0.0, 0
        for y in range(low, high + 1):
            if k == 0:
                more, power = 1.0, 0
            else:
                at = min(y, last_high) - last_low
                more, power = sums[last, at], powers[last, at]
            if power == e:
                m += more
            elif power > e:  # S is non-decreasing, so a power passed once is never below again
                m = more + (m * _DOWN if power == e + 1 else 0.0)
                e = power
            elif power == e - 1:
                m += more * _DOWN
            if m >= _TOP:
                m, e = m * _DOWN, e + 1
            sums[here, y - low], powers[here, y - low] = m, e
        last_low, last_high = low, high
    return math.log(m) + e * _SHIFT * math.log(2.0)


@compiled
def _descend(
    within: tuple[NDArray[np.int64], int, int],
    sums: NDArray[np.float64],
    powers: NDArray[np.int32],
    uniforms: NDArray[np.float64],
) -> NDArray[np.int64]:
    """A path by inversion of the S_k, from the last place to the first."""
    cumulative, total, band = within
    path = np.empty(cumulative.size, dtype=np.int64)
    above = total
    for k in range(cumulative.size - 1, -1, -1):
        low = max(0, cumulative[k] - band)
        last = min(above, total, cumulative[k] + band) - low
        m, e = sums[k, last] * uniforms[k], powers[k, last]
        if m < _BOTTOM:
            m, e = m * _UP, e - 1
        first = 0
        while first < last:
            middle = (first + last) // 2
            power = powers[k, middle]
            if power > e or (power == e and sums[k, middle] > m):
                last = middle
            else:
                first = middle + 1
        above = low + first
        path[k] = above
    return path
