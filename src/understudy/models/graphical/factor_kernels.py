"""Sums, products and maxima between a table and a smaller one of some of its columns.

Both lie flat in memory. Neighbouring axes of the larger table that are all in the smaller one, or
all not, are one group: `extents` has the cells along each group, `steps` how far one goes in the
smaller table along it, 0 where that is summed over. There are at least two groups, and along the
last one the step is 0 or 1 (see `TreeLayout`), so that the innermost loops run along memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from understudy.models.hierarchical.node_least_squares import Floats, Integers

_FAST = {"nnan", "ninf", "nsz", "arcp", "contract", "reassoc"}


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _advance(digits: Integers, extents: Integers, steps: Integers) -> int:
    """Count on over all groups of axes but the last two; how far the smaller table moves."""
    moved = 0
    for k in range(len(digits) - 1, -1, -1):
        digits[k] += 1
        moved += steps[k]
        if digits[k] < extents[k]:
            break
        moved -= steps[k] * extents[k]
        digits[k] = 0
    return int(moved)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def add(large: Floats, small: Floats, extents: Integers, steps: Integers) -> None:
    """Add the smaller table to the larger."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    digits = np.zeros(n - 2, dtype=np.int64)
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


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def multiply(large: Floats, small: Floats, extents: Integers, steps: Integers) -> None:
    """Multiply the larger table by the smaller."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    digits = np.zeros(n - 2, dtype=np.int64)
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


@njit(cache=True, nogil=True, fastmath=_FAST)  # type: ignore[untyped-decorator]
def sum_up(large: Floats, small: Floats, extents: Integers, steps: Integers) -> None:
    """Add the sums of the larger table to the smaller."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    digits = np.zeros(n - 2, dtype=np.int64)
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


@njit(cache=True, nogil=True, fastmath=_FAST)  # type: ignore[untyped-decorator]
def maximise(large: Floats, small: Floats, extents: Integers, steps: Integers) -> None:
    """Raise the smaller table to the largest cells of the larger."""
    n = len(extents)
    rows, width, step = extents[n - 2], extents[n - 1], steps[n - 2]
    digits = np.zeros(n - 2, dtype=np.int64)
    start, base = 0, 0
    while start < len(large):
        at = base
        for _ in range(rows):
            row = large[start : start + width]
            if steps[n - 1] > 0:
                other = small[at : at + width]
                for j in range(width):
                    other[j] = max(other[j], row[j])
            else:
                value = small[at]
                for j in range(width):
                    value = max(value, row[j])
                small[at] = value
            start += width
            at += step
        base += _advance(digits, extents, steps)
