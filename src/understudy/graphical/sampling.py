"""Drawing records from a calibrated junction tree.

Cliques come in order, parents first; all new columns of a clique are drawn together given the
columns it shares with its parent. Records with the same state of the separator are one group.

*Systematic* draws give each cell of a group its expected number of records rounded up or down, and
deal them to the group's records in random order (`understudy.models.model`). That order is
drawn again for each clique: without it, two children of one parent would both follow the order of
the records, and high states of one would meet high states of the other although the model has them
independent given the parent.

*Independent* draws give each record a uniform number of its own.

**Records chosen among many, so that tables of pairs of columns are those of all of them.**

Records that are drawn at random scatter about their model: in a table that the draw does not even
out, a cell of k expected records gets k ± √k. That says nothing of the rows, and moves every
distance. So several times as many records are drawn as are wanted, and halved until they are as
many:

1. Records meet in pairs, at random; one of each pair is kept.
2. It is the one that brings the tables of single columns and pairs of columns closer to half of
   those before, in the sum of (found − half)²/(half + 1). Each pair decides in turn.
3. Those kept meet those left in new pairs, at random, and decide again, knowing what all others
   did: in the last halving eight times, in each one before half as often.

**Each record is kept with the same probability**, whatever it holds. Were first and second of every
pair exchanged, what tables have too much they would lack, and the other records would be kept, now
and in each later meeting. Both ways of meeting are as likely, so each halving keeps a record with
probability ½, and the expected number in every cell is that of the model. (It would not be were a
halving to mend what the one before left: cells that expect less than half a record would be emptied
for good, and tails of numbers with them.) What is impossible stays so. Tables of three columns and
more scatter no more than before.

Sources: Spencer (1977), "Balancing games", Journal of Combinatorial Theory B 23 (signs that keep
sums of vectors small, one after the other); Dwivedi & Mackey (2021), "Kernel thinning", COLT
(points that are halved again and again). Tables of pairs as what is balanced are our choice.

**Records weighted until they hold the tables of their model again, after rules took some away.**

A rule that the tree has no room for is kept by drawing records again. What is left is the model
given the rule, and its tables are no longer those that were measured: a table without noise may be
contradicted by any amount. Records are therefore weighted: table after table, each cell by what the
model says of it over what the records have (iterative proportional fitting, Deming & Stephan 1940).
Of all distributions with these tables this approaches the one nearest to the model given the rules
(Csiszár 1975), which is the distribution of greatest entropy that keeps both. Then as many records
are taken as there were, each as often as its weight says.

Cost: a pass over the records for each table and sweep, only where rules were left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.graphical.factors import TreeLayout
from understudy.graphical.junction_tree import Columns
from understudy.models.model import dealt, records_by_cell
from understudy.schema.domain import table_counts

States = NDArray[np.int32]


class _Step(NamedTuple):
    """Drawing the new columns of a clique.

    Attributes:
        ends: sums of probabilities up to each cell of the new columns, by state of the separator;
            shape (groups, cells).
        given: the separator's columns, and their sizes.
        new: the same of the new columns; the last one runs fastest.
    """

    ends: Floats
    given: tuple[tuple[int, int], ...]
    new: tuple[tuple[int, int], ...]


def draw_records(
    layout: TreeLayout,
    probabilities: Floats,
    n_rows: int,
    rng: np.random.Generator,
    *,
    systematic: bool = True,
) -> States:
    """Draw records.

    Args:
        layout: the tree, and where its cliques lie.
        probabilities: of the cells of each clique.
        n_rows: how many.
        rng: randomness.
        systematic: whether the records of a group are drawn systematically, or independently.

    Returns:
        States, shape (columns, n_rows), records in random order.
    """
    states = np.zeros((len(layout.tree.sizes), n_rows), dtype=np.int32)
    for k in range(len(layout.tree.cliques)):
        step = _step(layout, probabilities, k)
        if step.new:
            groups = _groups(states, step.given)
            draw = _evenly if systematic else _freely
            _write(states, draw(step.ends, groups, rng), step.new)
    return states


def _step(layout: TreeLayout, probabilities: Floats, k: int) -> _Step:
    clique, given = layout.tree.cliques[k], layout.tree.separators[k]
    new = tuple(j for j in clique if j not in given)
    flat = probabilities[layout.clique_starts[k] : layout.clique_starts[k + 1]]
    table = layout.read(flat, clique, (*given, *new))
    ends = np.cumsum(table.reshape(layout.tree.cells_of(given), -1), axis=1)
    sizes = layout.tree.sizes
    return _Step(ends, tuple((j, sizes[j]) for j in given), tuple((j, sizes[j]) for j in new))


def _groups(states: States, given: tuple[tuple[int, int], ...]) -> NDArray[np.int32]:
    """Group of each record: the cell of the separator's columns, the last one runs fastest."""
    if not given:
        return np.zeros(states.shape[1], dtype=np.int32)
    first, *others = given
    groups: States = states[first[0]]
    for column, size in others:
        groups = groups * np.int32(size) + states[column]
    return groups


def _evenly(ends: Floats, groups: NDArray[np.int32], rng: np.random.Generator) -> States:
    """Systematic draws: a cell for each record."""
    n_groups, n_cells = ends.shape
    sizes = np.bincount(groups, minlength=n_groups)
    firsts = np.arange(n_groups + 1) * n_cells
    counts = records_by_cell(ends.ravel(), firsts, sizes, np.asarray(rng.random(n_groups)))
    queue = np.repeat(np.tile(np.arange(n_cells, dtype=np.int32), n_groups), counts)
    return dealt(groups, sizes, queue, rng)


def _freely(ends: Floats, groups: NDArray[np.int32], rng: np.random.Generator) -> States:
    """Independent draws: each record looks up its own place."""
    whole = ends[:, -1:]
    n_groups, n_cells = ends.shape
    line = (ends / np.where(whole > 0, whole, 1.0) + np.arange(n_groups)[:, None]).ravel()
    last = (ends < whole).sum(axis=1)  # rounding must not carry a record into an empty cell
    cells = np.searchsorted(line, groups + rng.random(len(groups)), side="right")
    own = np.minimum(cells - groups * np.int64(n_cells), last[groups])
    return np.asarray(own, dtype=np.int32)


def _write(states: States, cells: States, new: tuple[tuple[int, int], ...]) -> None:
    """The states of cells, the last column runs fastest."""
    for column, size in new[:0:-1]:
        cells, states[column] = np.divmod(cells, np.int32(size))
    states[new[0][0]] = cells


MOST_DRAWN = 8
"""Records drawn for each that is kept, at most."""
MOST_VALUES = 2**22
"""Values of all that are drawn, at most."""
MOST_WORK = 2**26
"""Pairs of values of all that are drawn, at most: about two seconds."""
MOST_CELLS = 2**23
"""Cells of all tables that are kept in balance, the smallest tables first: 64 megabytes."""
_MEETINGS = 8
"""Of the records of the last halving; those before have half, a quarter as many, as what they leave
counts a half, a quarter of it."""


def times_drawn(n_rows: int, columns: int) -> int:
    """Choose how many records are drawn for each that is wanted: 1, 2, 4 or 8.

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


def choose_balanced(
    states: NDArray[np.int32], n_rows: int, sizes: Sequence[int], rng: np.random.Generator
) -> Integers:
    """Choose which records to keep, in random order; shape (n_rows,).

    Args:
        states: of each column and record, shape (columns, records); 2ᵏ·n_rows records.
        n_rows: how many are kept.
        sizes: number of states of each column.
        rng: which records meet.
    """
    kept: Integers = rng.permutation(states.shape[1])
    own, tables = np.ascontiguousarray(states.T), _tables(sizes, n_rows)
    room = np.empty((2, len(sizes) ** 2), dtype=np.int64)
    places = _starts(tables, sizes), np.array(sizes, dtype=np.int64), room
    wanted = table_counts(states, sizes, tables)
    while len(kept) > n_rows:
        wanted /= 2
        first, second = np.split(kept, 2)
        signs = np.zeros(len(first), dtype=np.int8)
        balance = np.stack([1 / (wanted + 1), np.zeros_like(wanted)], axis=1)
        for _ in range(max(_MEETINGS * n_rows // len(first), 1)):
            _decide(own, (first, second), signs, places, balance)
            is_first = signs > 0
            kept, left = np.where(is_first, first, second), np.where(is_first, second, first)
            first, second = rng.permutation(kept), rng.permutation(left)
            signs[:] = 1
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
    """Find where the cells of each pair begin, −1 without a table; on the diagonal, of each column.

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
    places: tuple[Integers, Integers, Integers],
    balance: NDArray[np.float32],
) -> None:
    """Each pair keeps one of its records; signs and balance are changed in place.

    Args:
        own: states of each record, shape (records, columns).
        met: the first and the second of each pair, shape (pairs,).
        signs: 1 where the first is kept, −1 where the second is, 0 where neither is yet.
        places: where tables begin (`_starts`), sizes of the columns, and room for two cells of
            each pair of columns: kernels that allocate nothing are compiled sooner.
        balance: weight of each cell, and by how much its count exceeds the wanted one, where a
            record of a pair that has not decided counts one half; shape (cells, 2).
    """
    starts, sizes, (plus, minus) = places
    d = own.shape[1]
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


SWEEPS: Final = 50
_CLOSE: Final = 1e-3
"""Share of the records by which a table may still be off at the end."""
_SLOW: Final = 0.98
"""Part of what the worst table was off before a sweep, of which less must be left after it."""


def choose_raked(
    groups: Sequence[NDArray[np.integer[Any]]],
    tables: Mapping[Columns, Floats],
    rng: np.random.Generator,
    *,
    sweeps: int = SWEEPS,
) -> NDArray[np.int64]:
    """Choose as many records as there are, some of them more than once, in random order.

    Args:
        groups: of each column and record, shape (n,) each.
        tables: expected counts, by their columns, an axis for each.
        rng: which records are taken.
        sweeps: in which weights follow every table, at most.
    """
    n = len(groups[0])
    cells = {columns: _cells(groups, columns, table) for columns, table in tables.items()}
    weights, before = np.full(n, 1.0 / n), np.inf
    for _ in range(sweeps):
        off = 0.0
        for columns, table in tables.items():
            wanted = table.reshape(-1) / table.sum()
            found = np.bincount(cells[columns], weights, minlength=len(wanted))
            off = max(off, float(np.abs(wanted - found).sum()) / 2)
            weights *= np.divide(wanted, found, out=np.ones_like(found), where=found > 0)[
                cells[columns]
            ]
            weights /= weights.sum()
        if off < _CLOSE or off > _SLOW * before:
            break
        before = off
    order = rng.permutation(n)
    ends = np.cumsum(weights[order]) * n
    places = np.searchsorted(ends, np.arange(n) + rng.random(), side="right")
    taken: NDArray[np.int64] = order[np.minimum(places, n - 1)]
    return rng.permutation(taken)


def table_of(states: States, columns: Columns, sizes: Sequence[int]) -> Floats:
    """Count records by some columns.

    Args:
        states: shape (columns, records).
        columns: places of those that are counted.
        sizes: number of states of each column.

    Returns:
        An axis for each of these.
    """
    shape = tuple(sizes[j] for j in columns)
    cells = np.ravel_multi_index(tuple(states[j] for j in columns), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def _cells(
    groups: Sequence[NDArray[np.integer[Any]]], columns: Columns, table: Floats
) -> NDArray[np.int64]:
    """The cell of each record."""
    own = tuple(groups[j].astype(np.int64) for j in columns)
    return np.asarray(np.ravel_multi_index(own, table.shape), dtype=np.int64)
