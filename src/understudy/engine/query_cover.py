"""Few joint tables that hold many marginals.

Counting rows costs one increment for each row and each table, whatever the table's size, as long
as it stays in cache. So instead of counting every requested marginal we count a few larger joint
tables, each of which contains several of the marginals, and sum those out afterwards.

The choice is a greedy set cover. It reads the sizes of the columns and the names of the marginals,
both public, and never a row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    assigned = _assigned(_Sets.of(distinct, len(sizes)), values, clipped, cap).tolist()
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


def _assigned(
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
