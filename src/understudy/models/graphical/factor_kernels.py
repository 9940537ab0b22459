"""Sums, products and maxima between a table and a smaller one of its columns; counts of records.

`digits` are zeros, one for each group of axes but two, or more, and zeros again in the end: kernels
that allocate nothing are compiled sooner.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers, compiled

_FAST = {"nnan", "ninf", "nsz", "arcp", "contract", "reassoc"}


@compiled(inline="always")
def _advance(digits: Integers, extents: Integers, steps: Integers) -> int:
    """Count on over all groups of axes but the last two; how far the smaller table moves.

    After the last group all digits are 0 again, for the next table.
    """
    moved = 0
    for k in range(len(extents) - 3, -1, -1):
        digits[k] += 1
        moved += steps[k]
        if digits[k] < extents[k]:
            break
        moved -= steps[k] * extents[k]
        digits[k] = 0
    return int(moved)


@compiled(no_cpython_wrapper=True)
def add(large: Floats, small: Floats, extents: Integers, steps: Integers, digits: Integers) -> None:
    """Add the smaller table to the larger."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    start, base = 0, 0
    while start < len(large):
        at = base
        for _ in range(rows):
            row = large[start : start + width]
            if steps[n - 1] > 0:
                other = small[at : at + width]
                for j in range(width):
                    row[j] += other[j]
            else:
                value = small[at]
                for j in range(width):
                    row[j] += value
            start += width
            at += step
        base += _advance(digits, extents, steps)


@compiled(no_cpython_wrapper=True)
def multiply(
    large: Floats, small: Floats, extents: Integers, steps: Integers, digits: Integers
) -> None:
    """Multiply the larger table by the smaller."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    start, base = 0, 0
    while start < len(large):
        at = base
        for _ in range(rows):
            row = large[start : start + width]
            if steps[n - 1] > 0:
                other = small[at : at + width]
                for j in range(width):
                    row[j] *= other[j]
            else:
                value = small[at]
                for j in range(width):
                    row[j] *= value
            start += width
            at += step
        base += _advance(digits, extents, steps)


@compiled(no_cpython_wrapper=True, fastmath=_FAST)
def sum_up(
    large: Floats, small: Floats, extents: Integers, steps: Integers, digits: Integers
) -> None:
    """Add the sums of the larger table to the smaller."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    start, base = 0, 0
    while start < len(large):
        at = base
        for _ in range(rows):
            row = large[start : start + width]
            if steps[n - 1] > 0:
                other = small[at : at + width]
                for j in range(width):
                    other[j] += row[j]
            else:
                value = 0.0
                for j in range(width):
                    value += row[j]
                small[at] += value
            start += width
            at += step
        base += _advance(digits, extents, steps)


@compiled(no_cpython_wrapper=True, fastmath=_FAST)
def maximise(
    large: Floats, small: Floats, extents: Integers, steps: Integers, digits: Integers
) -> None:
    """Raise the smaller table to the largest cells of the larger."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    start, base = 0, 0
    while start < len(large):
        at = base
        for _ in range(rows):
            row = large[start : start + width]
            if steps[n - 1] > 0:
                other = small[at : at + width]
                for j in range(width):
                    other[j] = row[j] if row[j] > other[j] else other[j]
            else:
                value = small[at]
                for j in range(width):
                    value = row[j] if row[j] > value else value
                small[at] = value
            start += width
            at += step
        base += _advance(digits, extents, steps)


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
    d, width = len(sizes), max(1, *(len(table) for table in tables), 1)
    columns = np.full((len(tables), width), d, dtype=np.int64)
    for k, table in enumerate(tables):
        columns[k, width - len(table) :] = table
    radices = np.array([*sizes, 1], dtype=np.int64)
    kind = np.uint8 if radices.max() <= 2**8 else np.int32
    drawn = np.zeros((d + 1, states.shape[1]), dtype=kind)
    drawn[:d] = states
    starts = np.cumsum([0, *radices[columns].prod(axis=1)], dtype=np.int64)
    counts = np.zeros(int(starts[-1]), dtype=np.uint32)
    blocks = np.empty(_BLOCK, dtype=np.uint32), np.empty(_BLOCK, dtype=np.uint32)
    _count(drawn, radices, (columns, starts), blocks, counts)
    return np.multiply(counts, np.float32(weight), dtype=np.float32)


@compiled
def _count(
    states: NDArray[np.integer],
    radices: NDArray[np.int64],
    tables: tuple[NDArray[np.int64], NDArray[np.int64]],
    blocks: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    counts: NDArray[np.uint32],
) -> None:
    """Count all tables."""
    first, cell = blocks
    columns, starts = tables
    last = columns.shape[1] - 1
    for begin in range(0, states.shape[1], _BLOCK):
        left = states.shape[1] - begin
        n = _BLOCK if left > _BLOCK else left
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
