"""Records chosen among many, so that tables of pairs of columns are those of all of them.

Records that are drawn at random scatter about their model: in a table that the draw does not even
out, a cell of k expected records gets k ± √k. That says nothing of the rows, and moves every
distance. So several times as many records are drawn as are wanted, and halved until they are as
many:

1. Records meet in pairs, at random; one of each pair is kept.
2. It is the one that brings the tables of single columns and pairs of columns closer to half of
   those before, in the sum of (found − half)²/(half + 1). Each pair decides in turn; those of the
   last halving decide again, knowing what the others did.

**Each record is kept with the same probability**, whatever it holds. Were first and second of every
pair exchanged, what tables have too much they would lack, and the other records would be kept. Both
ways of meeting are as likely, so each halving keeps a record with probability ½, and the expected
number in every cell is that of the model. (It would not be were a halving to mend what the one
before left: cells that expect less than half a record would be emptied for good, and tails of
numbers with them.) What is impossible stays so. Tables of three columns and more scatter no more
than before.

Sources: Spencer (1977), "Balancing games", Journal of Combinatorial Theory B 23 (signs that keep
sums of vectors small, one after the other); Dwivedi & Mackey (2021), "Kernel thinning", COLT
(points that are halved again and again). Tables of pairs as what is balanced are our choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Integers, compiled
from understudy.domain.stacked_tables import table_counts

MOST_DRAWN = 8
"""Records drawn for each that is kept, at most."""
MOST_VALUES = 2**22
"""Values of all that are drawn, at most."""
MOST_WORK = 2**26
"""Pairs of values of all that are drawn, at most: about two seconds."""
MOST_CELLS = 2**23
"""Cells of all tables that are kept in balance, the smallest tables first: 64 megabytes."""
_PASSES = 2
"""Decisions of each pair of the last halving; what others leave counts a half, a quarter of it."""


def times_drawn(n_rows: int, columns: int) -> int:
    """How many records are drawn for each that is wanted: 1, 2, 4 or 8.

    Args:
        n_rows: records wanted.
        columns: number of columns.

    Example:
        >>> [times_drawn(n, 14) for n in (1_000, 100_000, 1_000_000)]
        [8, 2, 1]
    """
    times, values = 1, n_rows * columns
    while (
        times < MOST_DRAWN
        and 2 * times * values <= MOST_VALUES
        and times * values * (columns - 1) <= MOST_WORK
    ):
        times *= 2
    return times


def balanced(
    states: NDArray[np.int32], n_rows: int, sizes: Sequence[int], rng: np.random.Generator
) -> Integers:
    """Which records to keep, in random order; shape (n_rows,).

    Args:
        states: of each column and record, shape (columns, records); 2ᵏ·n_rows records.
        n_rows: how many are kept.
        sizes: number of states of each column.
        rng: which records meet.
    """
    kept: Integers = rng.permutation(states.shape[1])
    own, tables = np.ascontiguousarray(states.T), _tables(sizes, n_rows)
    places = _starts(tables, sizes), np.array(sizes, dtype=np.int64)
    wanted = table_counts(states, sizes, tables)
    while len(kept) > n_rows:
        wanted /= 2
        first, second = np.split(kept, 2)
        signs = np.zeros(len(first), dtype=np.int8)
        balance = np.stack([1 / (wanted + 1), np.zeros_like(wanted)], axis=1)
        for _ in range(_PASSES if len(first) == n_rows else 1):
            _decide(own, (first, second), signs, places, balance)
        kept = np.where(signs > 0, first, second)
        wanted += balance[:, 1]
    return kept


def _tables(sizes: Sequence[int], n_rows: int) -> list[tuple[int, ...]]:
    """Columns of the tables that are kept in balance: single ones, and the smallest pairs.

    A table of more cells than there are records to keep cannot be balanced.
    """
    pairs = combinations(range(len(sizes)), 2)
    tables: list[tuple[int, ...]] = [(j,) for j in range(len(sizes))]
    cells = sum(sizes)
    for size, pair in sorted((sizes[u] * sizes[v], (u, v)) for u, v in pairs):
        cells += size
        if size > n_rows or cells > MOST_CELLS:
            break
        tables.append(pair)
    return tables


def _starts(tables: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> Integers:
    """Where the cells of each pair begin, −1 without a table, and on the diagonal of each column.

    Shape (columns, columns).
    """
    starts, start = np.full((len(sizes),) * 2, -1, dtype=np.int64), 0
    for table in tables:
        starts[table[0], table[-1]] = start
        start += math.prod(sizes[j] for j in table)
    return starts


@compiled
def _decide(
    own: NDArray[np.int32],
    met: tuple[Integers, Integers],
    signs: NDArray[np.int8],
    places: tuple[Integers, Integers],
    balance: NDArray[np.float32],
) -> None:
    """Each pair keeps one of its records; signs and balance are changed in place.

    Args:
        own: states of each record, shape (records, columns).
        met: the first and the second of each pair, shape (pairs,).
        signs: 1 where the first is kept, −1 where the second is, 0 where neither is yet.
        places: where tables begin (`_starts`), and sizes of the columns.
        balance: weight of each cell, and by how much its count exceeds the wanted one, where a
            record of a pair that has not decided counts one half; shape (cells, 2).
    """
    starts, sizes = places
    d = own.shape[1]
    plus, minus = np.empty(d * d, dtype=np.int64), np.empty(d * d, dtype=np.int64)
    for p in range(len(signs)):
        a, b = own[met[0][p]], own[met[1][p]]
        half, gain, differ = np.float32(0.5) * signs[p], np.float32(0), 0
        for u in range(d):
            for v in range(u, d):
                start = starts[u, v]
                if start < 0 or (a[u] == b[u] and a[v] == b[v]):
                    continue
                width = sizes[v] if v > u else 0
                i, j = start + a[u] * width + a[v], start + b[u] * width + b[v]
                plus[differ], minus[differ] = i, j
                by_a = balance[i, 0] * (balance[i, 1] - half)
                by_b = balance[j, 0] * (balance[j, 1] + half)
                gain += by_a - by_b  # rounded alike where a and b are exchanged
                differ += 1
        sign = 1 if gain <= 0 else -1
        if sign != signs[p]:
            step = np.float32(0.5) * (sign - signs[p])
            for k in range(differ):
                balance[plus[k], 1] += step
                balance[minus[k], 1] -= step
            signs[p] = sign
