"""Calibration of a junction tree: the normalising constant and all marginals of a log-linear model.

p(x) ∝ exp(Σ θ_c(x_c)) over the allowed cells. One pass from the leaves to the root turns each
clique into a conditional distribution of its own columns given the separator and sends the
logarithm of what they sum to; one pass back multiplies by the separator's marginal. Source: Jensen,
Lauritzen & Olesen (1990), in the form with conditionals (Shafer & Shenoy's messages upwards).

Every conditional is scaled by its own largest cell and messages are sums of logarithms, so nothing
overflows, and a state of the separator keeps its conditional however unlikely it is: cells more
than e⁻³⁴⁵ below the largest one with the same separator, and separators below 1e−150, count as
zero, which also keeps denormal numbers (slow) out. A forbidden cell has exactly probability 0.

Cost: one exponential per cell of the tree, and two passes over a clique for each table in it that
lies in no other table.

Marginals of any columns of a calibrated junction tree.

Within a clique, a sum. Across cliques, along the part of the tree between them: from its far ends
towards its root, each clique's conditional distribution given its separator is multiplied by what
its children sent, and all columns are summed out but the separator and those wanted. This is exact
(Koller & Friedman 2009, §10.3.3.2). Cost: cells of these cliques times combinations of the states
of the wanted columns below them.

Evidence in a calibrated junction tree: the same distribution, given states of some columns.

One pass from the leaves to the root. Each clique's conditional distribution given its separator is
multiplied by the weights of its own columns' states and by what its children sent; what it sums to
by the states of the separator goes to its parent. What is left at the root is the probability of
the evidence. Drawing from the root on, clique by clique, is then drawing from the distribution
given the evidence, exactly (Lauritzen & Spiegelhalter 1988); a column outside the evidence costs
nothing but its part of the pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.functions.triangulation import Columns
from understudy.models.graphical.clique_layout import Calibration, Cells, TreeLayout
from understudy.models.graphical.factor_kernels import FORBIDDEN
from understudy.models.graphical.junction_tree import JunctionTree


def calibrate(program: Calibration, forbidden: Integers, cells: Cells) -> float:
    """Calibrate in place.

    Args:
        program: see `TreeLayout.calibration`.
        forbidden: cells of the cliques that cannot occur.
        cells: the cliques receive their probabilities; their content is not read. The nodes are
            log-potentials of the measured tables, behind zeros for separators and aids; they
            receive the probabilities in all of them.

    Returns:
        log Σ exp(Σ θ_c(x_c)) over the allowed cells; below −1e200 if there is none.
    """
    cells.cliques[:] = 0.0
    cells.cliques[forbidden] = FORBIDDEN
    program.collect.run(cells.memory)
    constant = float(cells.nodes[0])
    cells.nodes[0] = 1.0
    program.distribute.run(cells.memory)
    return constant


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
    asked = tuple(columns)
    if len(set(asked)) < len(asked) or not set(asked) <= {*range(len(layout.tree.sizes))}:
        raise ValueError(f"a marginal has distinct columns of the table: {asked}")
    home = layout.tree.covering(asked)
    if home is not None:
        flat = probabilities[layout.clique_starts[home] : layout.clique_starts[home + 1]]
        return layout.read(flat, layout.tree.cliques[home], asked)
    return _across(layout, probabilities, asked)


def _across(layout: TreeLayout, probabilities: Floats, asked: Columns) -> Floats:
    tree = layout.tree
    sent: dict[int, list[Factor]] = {}
    between = _between(tree, asked)
    for k in reversed(between):
        columns = tree.cliques[k]
        flat = probabilities[layout.clique_starts[k] : layout.clique_starts[k + 1]]
        table = layout.read(flat, columns, columns)
        top = k == between[0]
        separator = () if top else tree.separators[k]
        if not top:
            table = conditional(table, columns, separator)
        factors = [(table, columns), *sent.pop(k, [])]
        below = {j for _, axes in factors for j in axes}
        kept = (*separator, *(j for j in asked if j in below and j not in separator))
        result = _contracted(factors, asked if top else kept)
        sent.setdefault(tree.parents[k], []).append((result, kept))
    return result


def _between(tree: JunctionTree, asked: Columns) -> list[int]:
    """Cliques on the paths between those nearest to the root that hold a wanted column."""
    tops = {next(k for k, clique in enumerate(tree.cliques) if j in clique) for j in asked}
    nodes = set(tops)
    ends = set(tops)
    while len(ends) > 1:  # parents stand before children, so the last of them is no one's ancestor
        last = max(ends)
        ends.remove(last)
        ends.add(tree.parents[last])
        nodes.add(tree.parents[last])
    return sorted(nodes)


def conditional(table: Floats, columns: Columns, separator: Columns) -> Floats:
    """A table given its separator; 0 where that has probability 0.

    Args:
        table: probabilities, an axis for each column.
        columns: of the axes.
        separator: some of them.
    """
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


def given_weights(
    layout: TreeLayout, probabilities: Floats, weights: Mapping[int, Floats]
) -> tuple[Floats, float]:
    """The cliques given evidence, for `clique_sampling.drawn`.

    Args:
        layout: the tree, and where its cliques lie.
        probabilities: of the cells of each clique.
        weights: by column, the probability of the evidence given each of its states, shape
            (states,); 1 and 0 where it says which states there can be.

    Returns:
        The cells of each clique, in proportion to the probabilities given the separator and the
        evidence, and the probability of the evidence.
    """
    tree, starts = layout.tree, layout.clique_starts
    given = np.empty_like(probabilities)
    sent: dict[int, list[tuple[Floats, Columns]]] = {}
    mass = 0.0
    for k in range(len(tree.cliques) - 1, -1, -1):
        clique, separator = tree.cliques[k], tree.separators[k]
        cells = slice(int(starts[k]), int(starts[k + 1]))
        table = layout.read(probabilities[cells], clique, clique)
        table = conditional(table, clique, separator)
        own = [(weights[j], (j,)) for j in clique if j in weights and j not in separator]
        for factor, columns in (*own, *sent.pop(k, [])):
            shape = [tree.sizes[j] if j in columns else 1 for j in clique]
            table = table * factor.reshape(shape)
        given[cells] = layout.stored(table, clique)
        summed = table.sum(axis=tuple(a for a, j in enumerate(clique) if j not in separator))
        if k:
            sent.setdefault(tree.parents[k], []).append((np.asarray(summed), separator))
        else:
            mass = float(summed)
    return given, mass
