"""Occupied cells of a full joint table that is too large to be held.

A row is one 64-bit mixed-radix code; a table of up to 2^62 cells is then a sorted list of the codes
that occur, each with its count. Counts, and the list of cells itself, are exact and confidential.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import compiled
from understudy.engine.marginal_counter import check_batch

MAX_CODES = 2**62
"""Largest number of cells that can be coded."""


_Run = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Distinct codes, ascending, and their counts."""


class OccupiedCounter:
    """Counts of the occupied cells of a joint table, accumulated over batches of rows.

    Memory is proportional to the occupied cells, or to `most`, and the largest batch.

    Args:
        sizes: Number of values of each column, at least 1.
        start: Cells of lower codes are not counted.
        most: Of the others only so many are, those of the lowest codes.

    Raises:
        ValueError: If there is no column, a size is below 1, or the table has more than 2^62 cells.
    """

    def __init__(self, sizes: Sequence[int], *, start: int = 0, most: int = MAX_CODES) -> None:
        self._sizes = _checked_sizes(sizes)
        self._start, self._most = start, most
        self._end = MAX_CODES
        """No cell from this code on is among the lowest."""
        self._runs: list[_Run] = []

    def add(
        self,
        columns: Sequence[NDArray[np.unsignedinteger]],
        keep: NDArray[np.bool_] | None = None,
    ) -> None:
        """Count one batch of rows.

        Args:
            columns: Codes of each column, shape ``(n_rows,)`` each; unsigned integers whose widths
                may differ.
            keep: Which rows to count, shape ``(n_rows,)``; all if not given. The other rows are
                not looked at.

        Raises:
            ValueError: If ``keep`` is not one boolean per row, or a row to count does not fit the
                sizes. Nothing of the batch is counted then.
        """
        if keep is not None:
            if keep.dtype != np.bool_ or any(keep.shape != column.shape for column in columns):
                raise ValueError("keep must hold one boolean for each row of each column")
            columns = [column[keep] for column in columns]
        codes = encode(columns, self._sizes)
        if self._start > 0 or self._end < MAX_CODES:
            codes = codes[(codes >= self._start) & (codes < self._end)]
        codes, counts = np.unique(codes, return_counts=True)
        self.merge(codes[: self._most], counts[: self._most].astype(np.int64, copy=False))

    def merge(self, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Add cells that a counter of the same start and number gave elsewhere by `cells`."""
        self._keep((codes, counts))
        # Merging only runs of like length keeps the total work at n log n over many small batches,
        # and the lengths geometric, so that together they are at most twice the longest.
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            self._merge_last()

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Occupied cells of all rows added so far.

        Returns:
            New arrays, shape ``(n_occupied,)`` each: the codes, ascending, and their counts, at
            least 1. :func:`decode` gives the codes' values column by column.
        """
        while len(self._runs) > 1:
            self._merge_last()
        if not self._runs:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        codes, counts = self._runs[0]
        return codes.copy(), counts.copy()

    def _merge_last(self) -> None:
        """Replace the two shortest runs by their union."""
        last, previous = self._runs.pop(), self._runs.pop()
        self._keep(_merge(*previous, *last, self._most))

    def _keep(self, run: _Run) -> None:
        codes = run[0]
        if len(codes) == self._most:
            self._end = min(self._end, int(codes[-1]) + 1)
        self._runs.append(run)


def inside(
    columns: Sequence[NDArray[np.unsignedinteger]], sizes: Sequence[int]
) -> NDArray[np.bool_]:
    """Which rows have a state of the table in each of its columns, and none out of domain.

    Args:
        columns: States of each column, shape ``(n_rows,)`` each; at least one.
        sizes: Number of values of each column.
    """
    within = np.ones(len(columns[0]), dtype=np.bool_)
    for states, size in zip(columns, sizes, strict=True):
        within &= states < size
    return within


def encode(
    columns: Sequence[NDArray[np.unsignedinteger]], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """Mixed-radix code of each row, the last column varying fastest.

    Args:
        columns: Codes of each column, shape ``(n_rows,)`` each.
        sizes: Number of values of each column; their product is at most 2^62.

    Returns:
        Codes from 0 to the product of the sizes less 1, shape ``(n_rows,)``.

    Raises:
        ValueError: If the sizes are not admissible or the columns do not fit them.

    Example:
        >>> encode([np.array([0, 1], dtype=np.uint8), np.array([2, 1], dtype=np.uint16)], [2, 3])
        array([2, 4])
    """
    sizes = _checked_sizes(sizes)
    codes = np.zeros(check_batch(columns, sizes), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        _append_digit(codes, column, size)
    return codes


def decode(codes: NDArray[np.int64], sizes: Sequence[int]) -> list[NDArray[np.unsignedinteger]]:
    """Columns of mixed-radix codes; the inverse of :func:`encode`.

    Args:
        codes: Codes from 0 to the product of the sizes less 1, shape ``(n_rows,)``.
        sizes: Number of values of each column; their product is at most 2^62.

    Returns:
        One array per column, shape ``(n_rows,)`` each, of the smallest unsigned type that holds
        the column's values.

    Raises:
        ValueError: If the sizes are not admissible or a code lies outside the table.

    Example:
        >>> decode(np.array([2, 4]), [2, 3])
        [array([0, 1], dtype=uint8), array([2, 1], dtype=uint8)]
    """
    sizes = _checked_sizes(sizes)
    if len(codes) > 0 and not (codes.min() >= 0 and int(codes.max()) < math.prod(sizes)):
        raise ValueError("codes must lie in the table that the sizes describe")
    columns: list[NDArray[np.unsignedinteger]] = []
    for size in reversed(sizes):
        quotient = codes // size
        columns.append((codes - quotient * size).astype(np.min_scalar_type(size - 1)))
        codes = quotient
    return columns[::-1]


def _checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes as plain integers, if their product can be coded."""
    checked = tuple(int(size) for size in sizes)
    if not checked or min(checked) < 1:
        raise ValueError("a table needs at least one column, and each column at least one value")
    if math.prod(checked) > MAX_CODES:
        raise ValueError(f"a joint table may have {MAX_CODES} cells, got {math.prod(checked)}")
    return checked


@compiled
def _append_digit(codes: NDArray[np.int64], column: NDArray[np.unsignedinteger], size: int) -> None:
    """Shift the codes by one digit and put the column's value there, in place."""
    for i in range(len(codes)):
        # The cast matters: a signed plus an unsigned 64-bit integer would be a float.
        codes[i] = codes[i] * size + np.int64(column[i])


@compiled
def _merge(
    codes_a: NDArray[np.int64],
    counts_a: NDArray[np.int64],
    codes_b: NDArray[np.int64],
    counts_b: NDArray[np.int64],
    most: int,
) -> _Run:
    """The lowest codes of two runs in one pass; counts of codes in both are added."""
    codes = np.empty(min(len(codes_a) + len(codes_b), most), dtype=np.int64)
    counts = np.empty(len(codes), dtype=np.int64)
    a = b = n = 0
    while a < len(codes_a) or b < len(codes_b):
        if b == len(codes_b) or (a < len(codes_a) and codes_a[a] <= codes_b[b]):
            code, count = codes_a[a], counts_a[a]
            a += 1
        else:
            code, count = codes_b[b], counts_b[b]
            b += 1
        # Codes come out in order, so equal ones come out together.
        if n > 0 and codes[n - 1] == code:
            counts[n - 1] += count
        elif n == most:
            break
        else:
            codes[n], counts[n] = code, count
            n += 1
    if n == len(codes):
        return codes, counts
    return codes[:n].copy(), counts[:n].copy()
