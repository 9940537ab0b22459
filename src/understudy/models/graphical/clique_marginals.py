"""Marginals of any columns of a calibrated junction tree.

Within a clique, a sum. Across cliques, along the part of the tree between them: from its far ends
towards its root, each clique's conditional distribution given its separator is multiplied by what
its children sent, and all columns are summed out but the separator and those wanted. This is exact
(Koller & Friedman 2009, §10.3.3.2). Cost: cells of these cliques times combinations of the states
of the wanted columns below them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.functions.triangulation import Columns
from understudy.models.graphical.clique_layout import TreeLayout
from understudy.models.graphical.junction_tree import JunctionTree
from understudy.models.hierarchical.node_least_squares import Floats

Factor = tuple[Floats, Columns]
"""A table and the columns of its axes."""


def marginal(layout: TreeLayout, probabilities: Floats, columns: Sequence[int]) -> Floats:
    """Probabilities of the combinations of states of some columns.

    Args:
        layout: the tree, and where its cliques lie.
        probabilities: of the cells of each clique.
        columns: distinct, in any order.

    Returns:
        Shape: sizes of the columns, in the order given.

    Raises:
        ValueError: columns that are not distinct columns of the table.
    """
    wanted = tuple(columns)
    if len(set(wanted)) < len(wanted) or not set(wanted) <= {*range(len(layout.tree.sizes))}:
        raise ValueError(f"a marginal has distinct columns of the table: {wanted}")
    home = layout.tree.covering(wanted)
    if home is not None:
        flat = probabilities[layout.clique_starts[home] : layout.clique_starts[home + 1]]
        return layout.read(flat, layout.tree.cliques[home], wanted)
    return _across(layout, probabilities, wanted)


def _across(layout: TreeLayout, probabilities: Floats, wanted: Columns) -> Floats:
    tree = layout.tree
    sent: dict[int, list[Factor]] = {}
    between = _between(tree, wanted)
    for k in reversed(between):
        columns = tree.cliques[k]
        flat = probabilities[layout.clique_starts[k] : layout.clique_starts[k + 1]]
        table = layout.read(flat, columns, columns)
        top = k == between[0]
        separator = () if top else tree.separators[k]
        if not top:
            table = _conditional(table, columns, separator)
        factors = [(table, columns), *sent.pop(k, [])]
        below = {j for _, axes in factors for j in axes}
        kept = (*separator, *(j for j in wanted if j in below and j not in separator))
        result = _contracted(factors, wanted if top else kept)
        sent.setdefault(tree.parents[k], []).append((result, kept))
    return result


def _between(tree: JunctionTree, wanted: Columns) -> list[int]:
    """Cliques on the paths between those nearest to the root that hold a wanted column."""
    tops = {next(k for k, one in enumerate(tree.cliques) if j in one) for j in wanted}
    found = set(tops)
    ends = set(tops)
    while len(ends) > 1:  # parents stand before children, so the last of them is no one's ancestor
        last = max(ends)
        ends.remove(last)
        ends.add(tree.parents[last])
        found.add(tree.parents[last])
    return sorted(found)


def _conditional(table: Floats, columns: Columns, separator: Columns) -> Floats:
    """Given the separator; 0 where that has probability 0."""
    others = tuple(k for k, j in enumerate(columns) if j not in separator)
    given = table.sum(axis=others, keepdims=True)
    return np.asarray(np.divide(table, given, out=np.zeros_like(table), where=given > 0))


def _contracted(factors: Sequence[Factor], kept: Columns) -> Floats:
    """The product of tables, summed over all columns but some."""
    labels = {j: k for k, j in enumerate(sorted({j for _, axes in factors for j in axes}))}
    operands: list[Any] = []
    for table, axes in factors:
        operands += [table, [labels[j] for j in axes]]
    operands.append([labels[j] for j in kept])
    return np.asarray(np.einsum(*operands, optimize="greedy"))
