"""Drawing records from a calibrated junction tree.

Cliques come in order, parents first; all new columns of a clique are drawn together given the
columns it shares with its parent. Records with the same state of the separator are one group.

*Systematic* draws put the n records of a group, in random order, at u, u + 1, …, u + n − 1 on a
line of length n that the cells divide in proportion to their probabilities, with one uniform u for
each group. So each cell gets its expected number of records rounded up or down, and exactly so many
on average. The random order is drawn again for each clique: without it, two children of one parent
would both follow the order of the records, and high states of one would meet high states of the
other although the model has them independent given the parent. Source: Madow & Madow (1944).

*Independent* draws give each record a uniform number of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers, compiled
from understudy.models.graphical.clique_layout import TreeLayout

States = NDArray[np.int32]


class _Step(NamedTuple):
    """Drawing the new columns of a clique.

    Attributes:
        table: probabilities, shape (states of the separator, cells of the new columns).
        given: places of the separator's columns and their sizes, shape (columns, 2).
        new: the same of the new columns; the last one runs fastest.
    """

    table: Floats
    given: Integers
    new: Integers


class _Chances(NamedTuple):
    """Uniform numbers.

    Attributes:
        order: for the random order of the records, shape (n,).
        places: one for each group, or for each record, as the draw is systematic or not.
    """

    order: Floats
    places: Floats


class _Work(NamedTuple):
    """What a draw writes to; kernels that allocate nothing are compiled sooner.

    Attributes:
        keys: group of each record, shape (n,); 0 at first.
        order: the records sorted by group, shape (n,).
        starts: where each group starts there, and the end, shape (groups + 1,); 0 at first.
        ahead: the same while they are sorted.
        ends: upper ends of the cells of one group, shape (cells,).
    """

    keys: Integers
    order: Integers
    starts: Integers
    ahead: Integers
    ends: Floats


def drawn(
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
        if len(step.new):
            places = rng.random(len(step.table) if systematic else n_rows)
            keys, starts = (np.zeros(k, dtype=np.int64) for k in (n_rows, len(step.table) + 1))
            ends = np.empty(step.table.shape[1])
            work = _Work(keys, np.empty_like(keys), starts, np.empty_like(starts), ends)
            _draw(states, step, _Chances(rng.random(n_rows), places), systematic, work)
    return states


def _step(layout: TreeLayout, probabilities: Floats, k: int) -> _Step:
    clique, given = layout.tree.cliques[k], layout.tree.separators[k]
    new = tuple(j for j in clique if j not in given)
    flat = probabilities[layout.clique_starts[k] : layout.clique_starts[k + 1]]
    table = layout.read(flat, clique, (*given, *new))
    axes = [
        np.array([(j, layout.tree.sizes[j]) for j in columns], dtype=np.int64)
        for columns in (given, new)
    ]
    groups = layout.tree.cells_of(given)
    return _Step(
        np.ascontiguousarray(table).reshape(groups, -1),
        axes[0].reshape(-1, 2),
        axes[1].reshape(-1, 2),
    )


@compiled
def _draw(states: States, step: _Step, chances: _Chances, systematic: bool, work: _Work) -> None:
    """Fill in the new columns, in place."""
    _group(states, step.given, work)
    starts, order, ends = work.starts, work.order, work.ends
    for group in range(len(step.table)):
        a, b = starts[group], starts[group + 1]
        if a == b:
            continue
        _shuffle(order, a, b, chances.order)
        ends[0] = step.table[group, 0]
        for cell in range(1, len(ends)):
            ends[cell] = ends[cell - 1] + step.table[group, cell]
        last = len(ends) - 1  # rounding must not carry a record into an empty cell at the end
        while last > 0 and step.table[group, last] <= 0:
            last -= 1
        if systematic:
            _place_evenly(states, order[a:b], (ends, last), step.new, chances.places[group])
        else:
            _place_freely(states, order[a:b], (ends, last), step.new, chances.places)


@compiled(inline="always")
def _group(states: States, given: Integers, work: _Work) -> None:
    """Sort the records by group (a counting sort)."""
    keys, order, starts, ahead, _ = work
    n, n_groups = len(keys), len(starts) - 1
    for c in range(len(given)):
        column, size = given[c, 0], given[c, 1]
        for i in range(n):
            keys[i] = keys[i] * size + states[column, i]
    for i in range(n):
        starts[keys[i] + 1] += 1
    for group in range(n_groups):
        ahead[group] = starts[group]
        starts[group + 1] += starts[group]
    for i in range(n):
        order[ahead[keys[i]]] = i
        ahead[keys[i]] += 1


@compiled(inline="always")
def _shuffle(order: Integers, a: int, b: int, uniforms: Floats) -> None:
    """Put the records from place a to b into random order (Fisher & Yates)."""
    for i in range(a, b - 1):
        j = i + int(uniforms[i] * (b - i))
        j = j if j < b else b - 1
        order[i], order[j] = order[j], order[i]


@compiled(inline="always")
def _place_evenly(
    states: States, records: Integers, cells: tuple[Floats, int], new: Integers, start: float
) -> None:
    """Systematic draws: a comb of equally spaced places moves along the cells."""
    ends, last = cells
    total, cell = ends[last], 0
    for i in range(len(records)):
        place = (i + start) / len(records) * total
        while cell < last and ends[cell] <= place:
            cell += 1
        _write(states, records[i], cell, new)


@compiled(inline="always")
def _place_freely(
    states: States, records: Integers, cells: tuple[Floats, int], new: Integers, uniforms: Floats
) -> None:
    """Independent draws: each record looks up its own place."""
    ends, last = cells
    for i in records:
        place = uniforms[i] * ends[last]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if ends[middle] > place:
                high = middle
            else:
                low = middle + 1
        _write(states, i, low, new)


@compiled(inline="always")
def _write(states: States, record: int, cell: int, new: Integers) -> None:
    """The states of one cell, the last column runs fastest."""
    for c in range(len(new) - 1, -1, -1):
        states[new[c, 0], record] = cell % new[c, 1]
        cell //= new[c, 1]
