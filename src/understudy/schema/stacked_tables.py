"""Dense tables that stand one after the other, and how rows are counted into all of them.

The kernel needs one compiled form for each width of code and of cell, whoever counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import compiled

BLOCK_ROWS = 2**12
"""Rows whose cell indices are computed at once: the indices stay in the first-level cache."""


class StackedTables(NamedTuple):
    """Where the tables lie and which columns they are made of.

    Attributes:
        offsets: Table ``t`` is ``counts[offsets[t]:offsets[t + 1]]``, its last column fastest.
        starts: Table ``t`` has the columns ``slots[starts[t]:starts[t + 1]]``.
        slots: Places of columns among those that are used, table after table.
        radices: Number of values of the column in each slot, in the type of the cell indices.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    slots: NDArray[np.int64]
    radices: NDArray[np.unsignedinteger]

    @classmethod
    def of(
        cls, tables: Sequence[tuple[int, ...]], sizes: Sequence[int]
    ) -> tuple[StackedTables, tuple[int, ...]]:
        """Lay out tables; also the columns that they use, in the order of the slots.

        Args:
            tables: Column indices of each, at most 2³² cells.
            sizes: Number of values of each column.
        """
        used = sorted({j for table in tables for j in table})
        flat = [j for table in tables for j in table]
        cells = [math.prod(sizes[j] for j in table) for table in tables]
        index_type = np.uint16 if max(cells, default=1) <= 2**16 else np.uint32
        layout = cls(
            offsets=_starts(cells),
            starts=_starts([len(table) for table in tables]),
            slots=np.searchsorted(np.array(used, dtype=np.int64), np.array(flat, dtype=np.int64)),
            # A radix of 2^16 wraps to 0, rightly: its column is then the only one that varies.
            radices=np.array([sizes[j] for j in flat], dtype=np.int64).astype(index_type),
        )
        return layout, tuple(used)

    def add(
        self,
        codes: NDArray[np.unsignedinteger],
        rows: int,
        counts: NDArray[np.uint32 | np.int64],
    ) -> None:
        """Add rows to all tables.

        Args:
            codes: Of the used columns, shape ``(n_used_columns, capacity)``; not checked.
            rows: How many of them to count.
            counts: All tables, flat; incremented in place.
        """
        _count_rows(codes, rows, self, counts, np.zeros(BLOCK_ROWS, dtype=self.radices.dtype))


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
    layout, used = StackedTables.of(tables, sizes)
    codes = np.empty((len(used), states.shape[1]), dtype=code_type([sizes[j] for j in used]))
    for slot, j in enumerate(used):
        codes[slot] = states[j]
    counts = np.zeros(int(layout.offsets[-1]), dtype=np.uint32)
    layout.add(codes, states.shape[1], counts)
    return np.multiply(counts, np.float32(weight), dtype=np.float32)


def code_type(sizes: Sequence[int]) -> np.dtype[np.unsignedinteger]:
    """The smallest type that holds the codes of columns of such sizes."""
    return np.min_scalar_type(max(sizes, default=1) - 1)


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Start of each of several consecutive runs, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)


@compiled
def _count_rows(
    stage: NDArray[np.unsignedinteger],
    rows: int,
    layout: StackedTables,
    counts: NDArray[np.uint32 | np.int64],
    index: NDArray[np.unsignedinteger],
) -> None:
    """Add rows to all tables.

    The index loops run over contiguous memory and vectorise; only the increments are scattered.

    Args:
        stage: Codes, shape ``(n_used_columns, capacity)``.
        rows: How many of them to count.
        layout: The tables.
        counts: All tables, flat; incremented in place.
        index: Scratch for cell indices; its length is the number of rows treated at once.
    """
    for t in range(len(layout.offsets) - 1):
        table = counts[layout.offsets[t] : layout.offsets[t + 1]]
        for begin in range(0, rows, len(index)):
            n = len(index) if len(index) < rows - begin else rows - begin
            index[:n] = 0
            for k in range(layout.starts[t], layout.starts[t + 1]):
                codes = stage[layout.slots[k], begin : begin + n]
                radix = layout.radices[k]
                for i in range(n):
                    index[i] = index[i] * radix + codes[i]
            for i in range(n):
                table[index[i]] += 1
