"""Evidence in a calibrated junction tree: the same distribution, given states of some columns.

One pass from the leaves to the root. Each clique's conditional distribution given its separator is
multiplied by the weights of its own columns' states and by what its children sent; what it sums to
by the states of the separator goes to its parent. What is left at the root is the probability of
the evidence. Drawing from the root on, clique by clique, is then drawing from the distribution
given the evidence, exactly (Lauritzen & Spiegelhalter 1988); a column outside the evidence costs
nothing but its part of the pass.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from understudy.arrays import Floats
from understudy.functions.triangulation import Columns
from understudy.models.graphical.belief_propagation import conditional
from understudy.models.graphical.clique_layout import TreeLayout


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
