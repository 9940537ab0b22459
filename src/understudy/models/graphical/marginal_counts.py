"""Tables of drawn records, many at once.

A table's cells are numbered by its columns but the last, and the last. The first part is worked out
once for neighbouring tables that share it; records come in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

_BLOCK = 2**12
"""Records that all tables are counted for before the next ones."""


def table_counts(
    states: NDArray[np.integer],
    sizes: Sequence[int],
    tables: Sequence[tuple[int, ...]],
    *,
    weight: float = 1.0,
) -> NDArray[np.float32]:
    """Weighted counts of every cell of several tables.

    Args:
        states: of records, shape (columns, n).
        sizes: number of states of each column.
        tables: columns of each; fastest where tables of the same first columns stand together.
        weight: of a record.

    Returns:
        All tables, one after the other, each in C order.

    Example:
        >>> table_counts(np.array([[0, 1, 1], [0, 0, 1]]), (2, 2), [(0,), (0, 1)]).tolist()
        [1.0, 2.0, 1.0, 0.0, 1.0, 1.0]
    """
    # A further column of a single state fills up tables of fewer columns, in front.
    d, width = len(sizes), max(1, *(len(one) for one in tables), 1)
    columns = np.full((len(tables), width), d, dtype=np.int64)
    for k, one in enumerate(tables):
        columns[k, width - len(one) :] = one
    radices = np.array([*sizes, 1], dtype=np.int64)
    kind = np.uint8 if radices.max() <= 2**8 else np.int32
    drawn = np.zeros((d + 1, states.shape[1]), dtype=kind)
    drawn[:d] = states
    starts = np.cumsum([0, *radices[columns].prod(axis=1)], dtype=np.int64)
    counts = np.zeros(int(starts[-1]), dtype=np.uint32)
    _count(drawn, radices, (columns, starts), counts)
    return np.multiply(counts, np.float32(weight), dtype=np.float32)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # numba ships no types
def _count(
    states: NDArray[np.integer],
    radices: NDArray[np.int64],
    tables: tuple[NDArray[np.int64], NDArray[np.int64]],
    counts: NDArray[np.uint32],
) -> None:
    """Count all tables."""
    columns, starts = tables
    last = columns.shape[1] - 1
    first, cell = np.empty(_BLOCK, dtype=np.uint32), np.empty(_BLOCK, dtype=np.uint32)
    for begin in range(0, states.shape[1], _BLOCK):
        n = min(_BLOCK, states.shape[1] - begin)
        for t in range(len(columns)):
            known = t > 0
            for k in range(last):
                known = known and columns[t, k] == columns[t - 1, k]
            if not known:
                first[:n] = 0
                for k in range(last):
                    codes = states[columns[t, k], begin : begin + n]
                    radix = np.uint32(radices[columns[t, k]])
                    for i in range(n):
                        first[i] = first[i] * radix + codes[i]
            table = counts[starts[t] : starts[t + 1]]
            codes = states[columns[t, last], begin : begin + n]
            radix = np.uint32(radices[columns[t, last]])
            for i in range(n):  # apart from the increments, so that it becomes vector instructions
                cell[i] = first[i] * radix + codes[i]
            for i in range(n):
                table[cell[i]] += 1
