"""One step of a Gibbs sampler for many records at once: a column is drawn given its key.

A state is found on the cumulative shares of its row, and the keys of other columns move along with
it, so that no key is ever computed anew (`understudy.schema.sweep`).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
States = NDArray[np.int32]
Swept = tuple[States, Integers]
"""States of records and their keys, each of shape (columns, n)."""
Place = tuple[int, Integers]
"""A column, and by how much each key grows with its state, shape (columns,)."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # numba ships no types
def step(records: Swept, column: Place, ends: Floats, uniforms: Floats) -> None:
    """Draw a column of all records, in place.

    Args:
        records: states and keys.
        column: the column, and its part in the keys.
        ends: upper end of each state's part of [0, 1] by key, shape (keys, states); the last state
            with a share ends at 1.
        uniforms: in [0, 1), shape (n,).
    """
    own, last = records[1][column[0]], ends.shape[1] - 1
    for k in range(uniforms.size):
        row = own[k]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if ends[row, middle] > uniforms[k]:
                high = middle
            else:
                low = middle + 1
        _move(records, column, k, low)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def open_step(
    records: Swept,
    column: Place,
    shares: Floats,
    still_open: NDArray[np.bool_],
    uniforms: Floats,
) -> None:
    """The same where rules leave each record some states open only.

    A record whose row has no share in these gets any of them alike.

    Args:
        records: as in `step`.
        column: as in `step`.
        shares: of each state by key, shape (keys, states).
        still_open: which states a record may have, at least one, shape (n, states).
        uniforms: as in `step`.
    """
    own, size = records[1][column[0]], shares.shape[1]
    for k in range(uniforms.size):
        row, total, n_open = own[k], 0.0, 0
        for state in range(size):
            if still_open[k, state]:
                total += shares[row, state]
                n_open += 1
        even = total <= 0
        place = uniforms[k] * (n_open if even else total)
        chosen, reached = 0, 0.0
        for state in range(size):
            weight = 1.0 if even else shares[row, state]
            if still_open[k, state] and weight > 0:
                chosen = state  # the last one, should rounding carry the place beyond the total
                reached += weight
                if reached > place:
                    break
        _move(records, column, k, chosen)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _move(records: Swept, column: Place, record: int, state: int) -> None:
    """Give a record another state, and keep its keys up with it."""
    states, keys = records
    place, strides = column
    change = np.int64(state) - states[place, record]
    if change:
        states[place, record] = state
        for j in range(len(strides)):
            keys[j, record] += strides[j] * change
