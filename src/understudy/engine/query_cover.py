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

from understudy.arrays import compiled

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
    sets, values = _incidence(distinct, len(sizes)), np.array([min(n, cap + 1) for n in sizes])
    table_of = np.full(len(distinct), -1, dtype=np.int64)
    terms = _Terms(
        np.array([min(cells[columns], cap + 1) for columns in distinct], dtype=np.int64),
        values,
        np.log2(values + 1.0),
        _PROGRESS ** np.arange(-1.0, sets.arity.max(initial=0) + 1),
    )
    growth = _Growth(sets.arity.copy(), np.zeros(len(sizes), dtype=np.bool_), np.zeros(len(sizes)))
    _assign(sets, terms, cap, growth, table_of)
    assigned = table_of.tolist()
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


class _Incidence(NamedTuple):
    """Which sets hold which columns, in compressed rows, both ways round.

    Set ``s`` has ``arity[s]`` columns, ``members[member_start[s]:member_start[s + 1]]``; column
    ``c`` is in the sets ``holders[holder_start[c]:holder_start[c + 1]]``.
    """

    arity: NDArray[np.int64]
    member_start: NDArray[np.int64]
    members: NDArray[np.int64]
    holder_start: NDArray[np.int64]
    holders: NDArray[np.int64]


def _incidence(sets: Sequence[tuple[int, ...]], n_columns: int) -> _Incidence:
    """Index the sets by column and the columns by set."""
    arity = np.array([len(columns) for columns in sets], dtype=np.int64)
    members = np.array([column for columns in sets for column in columns], dtype=np.int64)
    owner = np.repeat(np.arange(len(sets), dtype=np.int64), arity)
    degree = np.bincount(members, minlength=n_columns)
    return _Incidence(
        arity=arity,
        member_start=np.concatenate(([0], np.cumsum(arity))).astype(np.int64),
        members=members,
        holder_start=np.concatenate(([0], np.cumsum(degree))).astype(np.int64),
        holders=owner[np.argsort(members, kind="stable")],
    )


class _Terms(NamedTuple):
    """What decides which column is taken; worked out before, so that the kernel compiles sooner.

    Attributes:
        cells: Cells of each set, clipped to ``cap + 1``, shape ``(n_sets,)``.
        sizes: Values of each column, clipped to ``cap + 1``, shape ``(n_columns,)``.
        takes: Room that each column takes: the logarithm of its size, shape ``(n_columns,)``.
        worth: Of a set that misses k columns more than one, from k = -1 on.
    """

    cells: NDArray[np.int64]
    sizes: NDArray[np.int64]
    takes: NDArray[np.float64]
    worth: NDArray[np.float64]


class _Growth(NamedTuple):
    """A growing table; its arrays are updated in place, and start anew with each seed.

    Attributes:
        missing: How many columns each set still misses, shape ``(n_sets,)``; only kept up for sets
            that no earlier table covers.
        chosen: Which columns the table has, shape ``(n_columns,)``.
        score: What each further column would do for the uncovered sets, shape ``(n_columns,)``.
    """

    missing: NDArray[np.int64]
    chosen: NDArray[np.bool_]
    score: NDArray[np.float64]


@compiled
def _assign(
    sets: _Incidence, terms: _Terms, cap: int, growth: _Growth, table_of: NDArray[np.int64]
) -> None:
    """Give each set the number of the first table that covers it.

    Each set that is still uncovered when its turn comes seeds a new table, which then grows one
    column at a time, while there is room for more cells.

    Args:
        sets: The distinct marginals, the largest first.
        terms: Of all tables.
        cap: Largest number of cells of a table with more than its seed.
        growth: Written to.
        table_of: Receives the table of each set, shape ``(n_sets,)``; all -1 at first.
    """
    n_columns, n_tables = len(terms.sizes), 0
    for seed in range(len(table_of)):
        if table_of[seed] >= 0:
            continue
        for s in range(len(table_of)):
            growth.missing[s] = sets.arity[s]
        for column in range(n_columns):
            growth.chosen[column], growth.score[column] = False, 0.0
        given, room = sets.member_start[seed], cap // terms.cells[seed]
        while True:
            if given < sets.member_start[seed + 1]:
                column, given = sets.members[given], given + 1
            else:
                column = _best(terms, growth, room)
                if column == n_columns:
                    break
                room //= terms.sizes[column]
            _include(column, sets, terms, growth, table_of)
        for s in range(seed, len(table_of)):
            if growth.missing[s] == 0 and table_of[s] < 0:
                table_of[s] = n_tables
        n_tables += 1


@compiled(inline="always")
def _best(terms: _Terms, growth: _Growth, room: int) -> int:
    """The column that does most for its room, or the number of columns if none fits.

    A column is worth the uncovered sets that it completes, and those that it brings nearer, in
    ratio to the room it takes.
    """
    best, best_rate = len(terms.sizes), 0.0
    for column in range(len(terms.sizes)):
        rate = growth.score[column] / terms.takes[column]
        if not growth.chosen[column] and terms.sizes[column] <= room and rate > best_rate:
            best, best_rate = column, rate
    return best


@compiled(inline="always")
def _include(
    column: int, sets: _Incidence, terms: _Terms, growth: _Growth, table_of: NDArray[np.int64]
) -> None:
    """Add a column to the growing table."""
    growth.chosen[column] = True
    for h in range(sets.holder_start[column], sets.holder_start[column + 1]):
        s = sets.holders[h]
        if table_of[s] >= 0:
            continue
        growth.missing[s] -= 1
        # Worth of the set now less its worth before; for a completed set it no longer matters,
        # because all its columns are chosen.
        gain = terms.worth[growth.missing[s]] - terms.worth[growth.missing[s] + 1]
        for k in range(sets.member_start[s], sets.member_start[s + 1]):
            growth.score[sets.members[k]] += gain
