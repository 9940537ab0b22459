"""Structural zeros in a junction tree: which rules it can keep exactly, and where.

A rule is a box: columns, and states of each; records in all of them cannot occur. Where a clique
holds all columns of a box, its cells get probability 0, and with them every record in the box,
since each record has one cell in that clique. So one clique for each box is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from understudy.functions.triangulation import Columns, Growth
from understudy.models.graphical.clique_layout import TreeLayout
from understudy.models.hierarchical.node_least_squares import Integers

Box = Mapping[int, frozenset[int]]


def enforceable(
    sizes: Sequence[int], cliques: Iterable[Columns], boxes: Iterable[Box], most_cells: float
) -> tuple[tuple[Columns, ...], tuple[Box, ...], tuple[Box, ...]]:
    """Choose the boxes that a tree keeps; boxes that enlarge it least come first.

    Args:
        sizes: of all columns.
        cliques: columns that the tree covers anyway.
        boxes: column → states.
        most_cells: of the tree, unless it is larger without any box.

    Returns:
        Columns of all cliques that the tree is to cover, the boxes kept, the boxes left out.
    """
    covered = [*cliques]
    growth = Growth(sizes, covered)
    most = max(most_cells, growth.cells)
    kept: list[Box] = []
    left: list[Box] = []
    for box in sorted(boxes, key=lambda one: growth.cells_with(tuple(one))):
        if growth.cells_with(tuple(box)) <= most:
            growth.add(tuple(box))
            covered.append(tuple(sorted(box)))
            kept.append(box)
        else:
            left.append(box)
    return tuple(covered), tuple(kept), tuple(left)


def excluded(layout: TreeLayout, boxes: Iterable[Box]) -> Integers:
    """Cells of the cliques, in the layout's numbering, that lie in a box; ascending, shape (n,)."""
    found = [np.zeros(0, dtype=np.int64)]
    for box in boxes:
        home = layout.tree.covering(box)
        assert home is not None
        columns = layout.ordered(layout.tree.cliques[home])
        shape = layout.shape(columns)
        states = [sorted(box.get(j, range(size))) for j, size in zip(columns, shape, strict=True)]
        if all(states):
            cells = np.ravel_multi_index(np.ix_(*states), shape).reshape(-1)
            found.append(cells + layout.clique_starts[home])
    return np.unique(np.concatenate(found))
