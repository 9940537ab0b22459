"""Tables of drawn records, many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray


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
        tables: columns of each.
        weight: of a record.

    Returns:
        All tables, one after the other, each in C order.

    Example:
        >>> table_counts(np.array([[0, 1, 1], [0, 0, 1]]), (2, 2), [(0,), (0, 1)]).tolist()
        [1.0, 2.0, 1.0, 0.0, 1.0, 1.0]
    """
    kind = np.uint8 if max(sizes, default=1) <= 2**8 else np.int32
    width = max((len(one) for one in tables), default=0)
    columns = np.full((len(tables), width), -1, dtype=np.int64)
    for k, one in enumerate(tables):
        columns[k, : len(one)] = one
    cells = [int(np.prod([sizes[j] for j in one], dtype=np.int64)) for one in tables]
    starts = np.concatenate(([0], np.cumsum(cells, dtype=np.int64))).astype(np.int64)
    found = np.zeros(int(starts[-1]), dtype=np.float32)
    drawn = np.ascontiguousarray(states, dtype=kind)
    _count(drawn, np.array(sizes, dtype=np.int64), (columns, starts), np.float32(weight), found)
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # numba ships no types
def _count(
    states: NDArray[np.integer],
    sizes: NDArray[np.int64],
    tables: tuple[NDArray[np.int64], NDArray[np.int64]],
    weight: np.float32,
    found: NDArray[np.float32],
) -> None:
    """Add up all tables; those of one to three columns have a loop of their own."""
    columns, starts = tables
    n = states.shape[1]
    for t in range(columns.shape[0]):
        table = found[starts[t] : starts[t + 1]]
        width = 0
        while width < columns.shape[1] and columns[t, width] >= 0:
            width += 1
        if width == 2:
            a, b = states[columns[t, 0]], states[columns[t, 1]]
            size = sizes[columns[t, 1]]
            for i in range(n):
                table[np.int64(a[i]) * size + b[i]] += weight
        elif width == 3:
            a, b, c = states[columns[t, 0]], states[columns[t, 1]], states[columns[t, 2]]
            one, two = sizes[columns[t, 1]], sizes[columns[t, 2]]
            for i in range(n):
                table[(np.int64(a[i]) * one + b[i]) * two + c[i]] += weight
        else:
            for i in range(n):
                cell = np.int64(0)
                for k in range(width):
                    cell = cell * sizes[columns[t, k]] + states[columns[t, k], i]
                table[cell] += weight
