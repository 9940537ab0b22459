"""One step of a Gibbs sampler for many records at once: a column is drawn given its key."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # numba ships no types
def drawn_states(keys: Integers, ends: Floats, uniforms: Floats) -> Integers:
    """A state for each record.

    Args:
        keys: shape (n,).
        ends: upper end of each state's part of [0, 1] by key, shape (keys, states); the last state
            with a share ends at 1.
        uniforms: in [0, 1), shape (n,).
    """
    drawn = np.empty(len(keys), dtype=np.int64)
    last = ends.shape[1] - 1
    for k in range(len(keys)):
        row, uniform = ends[keys[k]], uniforms[k]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if row[middle] > uniform:
                high = middle
            else:
                low = middle + 1
        drawn[k] = low
    return drawn


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def drawn_open_states(
    keys: Integers, shares: Floats, still_open: NDArray[np.bool_], uniforms: Floats
) -> Integers:
    """The same where rules leave each record some states open only.

    A record whose row has no share in these gets any of them alike.

    Args:
        keys: shape (n,).
        shares: of each state by key, shape (keys, states).
        still_open: which states a record may have, at least one, shape (n, states).
        uniforms: in [0, 1), shape (n,).
    """
    drawn = np.zeros(len(keys), dtype=np.int64)
    for k in range(len(keys)):
        row, total, n_open = shares[keys[k]], 0.0, 0
        for state in range(len(row)):
            if still_open[k, state]:
                total += row[state]
                n_open += 1
        even = total <= 0
        place, reached = uniforms[k] * (n_open if even else total), 0.0
        for state in range(len(row)):
            weight = 1.0 if even else row[state]
            if still_open[k, state] and weight > 0:
                drawn[k] = state  # the last one, should rounding carry the place beyond the total
                reached += weight
                if reached > place:
                    break
    return drawn
