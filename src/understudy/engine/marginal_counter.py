"""Exact marginal counts of a coded table, streamed batch by batch.

A table is coded into one unsigned integer array per column. :class:`MarginalCounter` counts the
few covering tables of :mod:`understudy.engine.query_cover` with one compiled kernel and reads each
requested marginal off them by summing and transposing. Counts are exact and confidential.

Rows are copied, a few at a time, into one small staging array whose columns have one type: the
kernel then needs one compiled form for each width of code, whatever mixture of types the batches
bring, and memory above the data does not grow with the rows.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain.stacked_tables import BLOCK_ROWS, StackedTables, code_type
from understudy.engine.query_cover import CELL_CAP, MAX_CELLS, cover

_STAGE_BYTES = 2**21
"""Size of the staging array. Many rows at a time, so that a table that was drawn into the cache is
used often before the next one displaces it."""

_NARROW_ROWS = 2**32 - 1
"""Rows that 32-bit counts can hold for certain."""


def count_marginals(
    columns: Sequence[NDArray[np.unsignedinteger]],
    sizes: Sequence[int],
    marginals: Sequence[tuple[int, ...]],
) -> list[NDArray[np.int64]]:
    """Count marginals of a table that is at hand as a whole.

    Args:
        columns: Codes of each column, shape ``(n_rows,)`` each.
        sizes: Number of values of each column.
        marginals: Distinct column indices of each marginal, in any order; ``()`` is the total.

    Returns:
        One array for each marginal, as :meth:`MarginalCounter.tables` gives it.

    Raises:
        ValueError: As :class:`MarginalCounter` and its ``add`` raise it.

    Example:
        >>> sex = np.array([0, 1, 1, 0, 1], dtype=np.uint8)
        >>> age = np.array([2, 0, 1, 2, 1], dtype=np.uint8)
        >>> table, total = count_marginals([sex, age], [2, 3], [(1, 0), ()])
        >>> table
        array([[0, 1],
               [0, 2],
               [2, 0]])
        >>> int(total)
        5
    """
    counter = MarginalCounter(sizes, marginals)
    counter.add(columns)
    return counter.tables()


class MarginalCounter:
    """Counts of marginals, accumulated over batches of rows.

    Args:
        sizes: Number of values of each column, at least 1.
        marginals: Distinct column indices of each marginal, in any order; ``()`` is the total.
        cap: Largest number of cells of a table that covers several marginals.

    Raises:
        ValueError: If a size, a marginal or the cap is not admissible, or a marginal has more than
            2^31 cells (count the occupied cells instead, :mod:`understudy.engine.occupied_cells`).
    """

    def __init__(
        self,
        sizes: Sequence[int],
        marginals: Sequence[tuple[int, ...]],
        *,
        cap: int = CELL_CAP,
    ) -> None:
        self._sizes = tuple(int(size) for size in sizes)
        self._marginals = tuple(tuple(marginal) for marginal in marginals)
        self._cover = cover(self._sizes, self._marginals, cap=cap)
        cells = [math.prod(self._sizes[j] for j in table) for table in self._cover.tables]
        largest = max(cells, default=1)
        if largest > MAX_CELLS:
            raise ValueError(f"a dense table may have {MAX_CELLS} cells, a marginal has {largest}")
        self._layout, self._used = StackedTables.of(self._cover.tables, self._sizes)
        # Half as wide as the result: more of a table stays in cache. Widened when rows demand it.
        self._counts: NDArray[np.uint32 | np.int64] = np.zeros(sum(cells), dtype=np.uint32)
        self._rows = 0
        width = code_type([self._sizes[j] for j in self._used])
        row_bytes = max(1, len(self._used)) * width.itemsize
        stage_rows = max(BLOCK_ROWS, _STAGE_BYTES // row_bytes)
        self._stage = np.zeros((len(self._used), stage_rows), dtype=width)

    def add(self, columns: Sequence[NDArray[np.unsignedinteger]]) -> None:
        """Count one batch of rows.

        Args:
            columns: Codes of each column, shape ``(n_rows,)`` each; unsigned integers whose widths
                may differ between columns and between batches.

        Raises:
            ValueError: If the batch does not fit the sizes. Nothing of it is counted then.
        """
        n_rows = check_batch(columns, self._sizes)
        if self._rows + n_rows > _NARROW_ROWS:
            self._counts = self._counts.astype(np.int64, copy=False)
        self._rows += n_rows
        stage_rows = self._stage.shape[1]
        for start in range(0, n_rows, stage_rows):
            rows = min(stage_rows, n_rows - start)
            for slot, j in enumerate(self._used):
                self._stage[slot, :rows] = columns[j][start : start + rows]
            self._layout.add(self._stage, rows, self._counts)

    @property
    def counts(self) -> NDArray[np.uint32 | np.int64]:
        """Counts of the covering tables, one after the other; for `merge`."""
        return self._counts

    def merge(self, counts: NDArray[np.uint32 | np.int64]) -> None:
        """Add what another counter of the same marginals has counted."""
        self._counts = self._counts.astype(np.int64, copy=False)
        self._counts += counts

    def tables(self) -> list[NDArray[np.int64]]:
        """Marginal counts of all rows added so far.

        Returns:
            One new array for each marginal, in request order, with its axes in the order in which
            the marginal names its columns; its shape is those columns' sizes, ``()`` for the total.
        """
        return [
            self._marginal(marginal, table)
            for marginal, table in zip(self._marginals, self._cover.table_of, strict=True)
        ]

    def _marginal(self, marginal: tuple[int, ...], table: int) -> NDArray[np.int64]:
        """Sum the other columns out of a covering table and order the axes as requested."""
        columns = self._cover.tables[table]
        offsets = self._layout.offsets
        joint = self._counts[offsets[table] : offsets[table + 1]]
        others = tuple(axis for axis, j in enumerate(columns) if j not in marginal)
        summed = joint.reshape([self._sizes[j] for j in columns]).sum(axis=others, dtype=np.int64)
        kept = [j for j in columns if j in marginal]
        ordered = np.transpose(summed, [kept.index(j) for j in marginal])
        return np.array(ordered, dtype=np.int64, order="C")


def in_groups(
    marginals: Sequence[tuple[int, ...]], cells: Sequence[int], most: int
) -> Iterator[list[tuple[int, ...]]]:
    """Marginals in groups that are counted at once; one that is larger than allowed stands alone.

    Args:
        marginals: Columns of each table.
        cells: Number of cells of each table.
        most: Most cells of a group.

    Example:
        >>> list(in_groups([(0,), (1,), (2,)], [4, 3, 9], 8))
        [[(0,), (1,)], [(2,)]]
    """
    group: list[tuple[int, ...]] = []
    used = 0
    for marginal, size in zip(marginals, cells, strict=True):
        if group and used + size > most:
            yield group
            group, used = [], 0
        group.append(marginal)
        used += size
    if group:
        yield group


def check_batch(columns: Sequence[NDArray[np.unsignedinteger]], sizes: Sequence[int]) -> int:
    """Number of rows of a batch, after checking that it fits the sizes.

    The compiled kernels do not check bounds, so each batch passes here first. Messages name the
    column and what was expected of it, never a value that was found.

    Args:
        columns: Codes of each column, shape ``(n_rows,)`` each.
        sizes: Number of values of each column.

    Returns:
        Number of rows.

    Raises:
        ValueError: If the number of columns, a shape, a type or a code is not as declared.
    """
    if len(columns) != len(sizes):
        raise ValueError(f"expected {len(sizes)} columns, got {len(columns)}")
    n_rows = len(columns[0])
    for j, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        if column.ndim != 1 or len(column) != n_rows:
            raise ValueError(f"column {j} must be one-dimensional and as long as column 0")
        if column.dtype.kind != "u":
            raise ValueError(f"column {j} must hold unsigned integers, got {column.dtype}")
        if n_rows > 0 and int(column.max()) >= size:
            raise ValueError(f"column {j} must hold codes below {size}, and does not")
    return n_rows
