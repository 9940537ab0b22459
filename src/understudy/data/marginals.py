"""Exact marginal counts of a coded table, streamed batch by batch.

A table is coded into one unsigned integer array per column. :class:`MarginalCounter` counts the
few covering tables (below) with one compiled kernel and reads each
requested marginal off them by summing and transposing. Counts are exact and confidential.

Rows are copied, a few at a time, into one small staging array whose columns have one type: the
kernel then needs one compiled form for each width of code, whatever mixture of types the batches
bring, and memory above the data does not grow with the rows.

**Few joint tables that hold many marginals.**

Counting rows costs one increment for each row and each table, whatever the table's size, as long
as it stays in cache. So instead of counting every requested marginal we count a few larger joint
tables, each of which contains several of the marginals, and sum those out afterwards.

The choice is a greedy set cover. It reads the sizes of the columns and the names of the marginals,
both public, and never a row.

**Occupied cells of a full joint table that is too large to be held.**

A row is one 64-bit mixed-radix code; a table of up to 2^62 cells is then a sorted list of the codes
that occur, each with its count. Counts, and the list of cells itself, are exact and confidential.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import compiled
from understudy.schema.domain import BLOCK_ROWS, StackedTables, code_type

CELL_CAP = 2**16
"""Default bound on the cells of a covering table: 256 KiB of 32-bit counts stay in a core's cache,
and the index of a cell fits in 16 bits."""

MAX_CELLS = 2**31
"""Largest dense table that is counted; beyond it only the occupied cells can be kept."""

_PROGRESS = 0.125
"""What a set that misses two more columns is worth, relative to one that misses one more."""


@dataclass(frozen=True)
class Cover:
    """Covering tables and where each requested marginal is found.

    Attributes:
        tables: Column indices of each covering table, ascending.
        table_of: For each requested marginal, in request order, the position in ``tables`` of a
            table that contains all its columns.
    """

    tables: tuple[tuple[int, ...], ...]
    table_of: tuple[int, ...]


def cover(
    sizes: Sequence[int], marginals: Sequence[tuple[int, ...]], *, cap: int = CELL_CAP
) -> Cover:
    """Choose few joint tables such that each marginal is contained in one of them.

    The tables do not depend on the order in which the marginals, or the columns within one, are
    named.

    Args:
        sizes: Number of values of each column, at least 1.
        marginals: Distinct column indices of each marginal, in any order; ``()`` is the total.
        cap: Largest number of cells of a covering table. A marginal that is larger by itself gets
            a table of its own.

    Returns:
        The covering tables. A marginal that was requested several times is found in one table.

    Raises:
        ValueError: If a size, a marginal or the cap is not admissible.

    Example:
        >>> cover([3, 4, 2, 50], [(1, 0), (0, 2), (3,), ()], cap=100)
        Cover(tables=((3,), (0, 1, 2)), table_of=(1, 1, 0, 0))
    """
    _check_request(sizes, marginals, cap)
    ordered = [tuple(sorted(marginal)) for marginal in marginals]
    # Large ones first: they leave least freedom, and small ones fill the room beside them.
    cells = {columns: math.prod(sizes[j] for j in columns) for columns in set(ordered)}
    distinct = sorted(cells, key=lambda columns: (-cells[columns], columns))
    clipped = np.array([min(cells[columns], cap + 1) for columns in distinct], dtype=np.int64)
    values = np.array([min(n, cap + 1) for n in sizes], dtype=np.int64)
    assigned = _assign_sets(_Sets.of(distinct, len(sizes)), values, clipped, cap).tolist()
    members: list[set[int]] = [set() for _ in range(max(assigned, default=-1) + 1)]
    for columns, table in zip(distinct, assigned, strict=True):
        # A column that was tried but completed no marginal is dropped again here.
        members[table].update(columns)
    position = dict(zip(distinct, assigned, strict=True))
    return Cover(
        tables=tuple(tuple(sorted(columns)) for columns in members),
        table_of=tuple(position[columns] for columns in ordered),
    )


def _check_request(sizes: Sequence[int], marginals: Sequence[tuple[int, ...]], cap: int) -> None:
    """Raise ``ValueError`` unless sizes, marginals and cap are admissible."""
    if not 1 <= cap <= MAX_CELLS:
        raise ValueError(f"cap must lie in 1..{MAX_CELLS}, got {cap}")
    if len(sizes) == 0:
        raise ValueError("a table needs at least one column, got no sizes")
    for j, size in enumerate(sizes):
        if size < 1:
            raise ValueError(f"column {j} must have at least 1 value, got size {size}")
    for marginal in marginals:
        if len(set(marginal)) < len(marginal):
            raise ValueError(f"a marginal names each column once, got {marginal}")
        if any(not 0 <= j < len(sizes) for j in marginal):
            raise ValueError(f"columns are numbered 0..{len(sizes) - 1}, got {marginal}")


class _Sets(NamedTuple):
    """Which sets hold which columns, both ways round.

    Attributes:
        arity: Columns of each set, shape ``(n_sets,)``.
        members: Those columns, filled up with ``n_columns``; shape ``(n_sets, largest arity)``.
        holders: The sets that hold each column; those that a table covers may be dropped.
    """

    arity: NDArray[np.int64]
    members: NDArray[np.int64]
    holders: list[NDArray[np.int64]]

    @classmethod
    def of(cls, sets: Sequence[tuple[int, ...]], n_columns: int) -> "_Sets":
        """Index the sets by column and the columns by set."""
        arity = np.array([len(columns) for columns in sets], dtype=np.int64)
        flat = np.array([column for columns in sets for column in columns], dtype=np.int64)
        members = np.full((len(sets), arity.max(initial=0)), n_columns, dtype=np.int64)
        members[np.arange(members.shape[1]) < arity[:, None]] = flat
        owner = np.repeat(np.arange(len(sets), dtype=np.int64), arity)
        ends = np.cumsum(np.bincount(flat, minlength=n_columns))
        return cls(arity, members, np.split(owner[np.argsort(flat, kind="stable")], ends[:-1]))


def _assign_sets(
    sets: _Sets, sizes: NDArray[np.int64], cells: NDArray[np.int64], cap: int
) -> NDArray[np.int64]:
    """The number of the first table that covers each set, shape ``(n_sets,)``.

    Each set that is still uncovered when its turn comes seeds a new table, which then grows one
    column at a time, while there is room for more cells.

    Args:
        sets: The distinct marginals, the largest first.
        sizes: Values of each column, clipped to ``cap + 1``, shape ``(n_columns,)``.
        cells: Cells of each set, clipped likewise.
        cap: Largest number of cells of a table with more than its seed.
    """
    table_of, n_tables = np.full(len(cells), -1, dtype=np.int64), 0
    takes = np.log2(sizes + 1.0)
    # What a set gains that misses k columns now: its worth less that before. For a completed set it
    # does not matter: all its columns are chosen.
    gains = -np.diff(_PROGRESS ** np.arange(-1.0, sets.arity.max(initial=0) + 1))
    missing, none = sets.arity.copy(), np.flatnonzero(sets.arity == 0)
    for seed in range(len(cells)):
        if table_of[seed] >= 0:
            continue
        score, room = np.zeros(len(sizes) + 1), cap // int(cells[seed])
        columns = sets.members[seed, : sets.arity[seed]].tolist()
        touched = [none, *(_include(column, sets, gains, missing, score) for column in columns)]
        while (best := _best(score[:-1], takes, sizes <= room)) is not None:
            touched.append(_include(best, sets, gains, missing, score))
            room //= int(sizes[best])
        near = np.concatenate(touched)
        table_of[near[missing[near] == 0]] = n_tables
        missing[near] = np.where(missing[near] > 0, sets.arity[near], -1)
        n_tables += 1
    return table_of


def _best(
    score: NDArray[np.float64], takes: NDArray[np.float64], fits: NDArray[np.bool_]
) -> int | None:
    """The column that does most for its room, or None if none does anything.

    A column is worth the uncovered sets that it completes, and those that it brings nearer, in
    ratio to the room it takes.
    """
    rates = np.where(fits, score / takes, 0.0)
    best = int(rates.argmax())
    return best if rates[best] > 0 else None


def _include(
    column: int,
    sets: _Sets,
    gains: NDArray[np.float64],
    missing: NDArray[np.int64],
    score: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Add a column to the growing table; gives the uncovered sets that hold it.

    Args:
        column: Which.
        sets: The distinct marginals.
        gains: Of a set that misses k columns now.
        missing: How many columns each set still misses, below 0 for one that an earlier table
            covers, shape ``(n_sets,)``; updated.
        score: What each further column would do for the uncovered sets, and something behind them,
            shape ``(n_columns + 1,)``; updated.
    """
    holders = sets.holders[column]
    before = missing[holders]
    sets.holders[column] = holders = holders[before > 0]
    left = before[before > 0] - 1
    missing[holders] = left
    members = sets.members[holders]
    gained = np.repeat(gains[left], members.shape[1])
    score += np.bincount(members.ravel(), gained, len(score))
    score[column] = -np.inf
    return holders


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
            2^31 cells (count the occupied cells instead).
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
    """Find the rows with a state of the table in each of its columns, and none out of domain.

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
