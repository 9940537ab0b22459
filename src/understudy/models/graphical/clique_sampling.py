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
            _draw(states, step, _Chances(rng.random(n_rows), places), systematic)
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
def _draw(states: States, step: _Step, chances: _Chances, systematic: bool) -> None:
    """Fill in the new columns, in place."""
    starts, order = _grouped(states, step.given, len(step.table))
    ends = np.empty(step.table.shape[1])
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
def _grouped(states: States, given: Integers, n_groups: int) -> tuple[Integers, Integers]:
    """Where each group starts, and the records sorted by group (a counting sort)."""
    n = states.shape[1]
    keys = np.zeros(n, dtype=np.int64)
    for c in range(len(given)):
        column, size = given[c, 0], given[c, 1]
        for i in range(n):
            keys[i] = keys[i] * size + states[column, i]
    starts = np.zeros(n_groups + 1, dtype=np.int64)
    for i in range(n):
        starts[keys[i] + 1] += 1
    for group in range(n_groups):
        starts[group + 1] += starts[group]
    ahead, order = starts.copy(), np.empty(n, dtype=np.int64)
    for i in range(n):
        order[ahead[keys[i]]] = i
        ahead[keys[i]] += 1
    return starts, order


@compiled(inline="always")
def _shuffle(order: Integers, a: int, b: int, uniforms: Floats) -> None:
    """Put the records from place a to b into random order (Fisher & Yates)."""
    for i in range(a, b - 1):
        j = min(i + int(uniforms[i] * (b - i)), b - 1)
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
