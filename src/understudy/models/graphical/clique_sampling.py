"""Drawing records from a calibrated junction tree.

Cliques come in order, parents first; all new columns of a clique are drawn together given the
columns it shares with its parent. Records with the same state of the separator are one group.

*Systematic* draws give each cell of a group its expected number of records rounded up or down, and
deal them to the group's records in random order (`understudy.models.even_draws`). That order is
drawn again for each clique: without it, two children of one parent would both follow the order of
the records, and high states of one would meet high states of the other although the model has them
independent given the parent.

*Independent* draws give each record a uniform number of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.models.even_draws import dealt, records_by_cell
from understudy.models.graphical.clique_layout import TreeLayout

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
