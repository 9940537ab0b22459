"""Noisy counts in the nodes of a tree, made consistent, and turned into shares of its leaves.

A parent's count is the sum of its children's, but independent noise knows nothing of that. `gls`
puts it right by exact generalised least squares, for any tree: unequal fan-out, unequal variances,
unobserved and exact nodes. With σ² the variance of a node's own count h, and z, v the best estimate
from its subtree alone and its variance:

* up: z = h, v = σ² in a leaf; else, with S = Σ z and V = Σ v over the children,
  z = (V·h + σ²·S)/(σ² + V) and v = σ²·V/(σ² + V);
* down: n̄ = z in the root; else n̄ = z + v/V·(n̄[parent] − S), with V and S of the parent.

The first is inverse-variance weighting of two independent unbiased estimates. In the second the
residual of the parent is spread over the children in proportion to their variances, which is least
squares under the constraint that they sum to n̄[parent]. Both are linear in noisy counts, and
`downward` is a function of them: post-processing.

Every function takes any number of leading axes of repetitions: counts of a layer have shape
(..., nodes). It works layer by layer, in time linear in the number of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree, layer by layer; nodes without children may stand in any layer.

    Attributes:
        parents: for each layer, the root's first, the place of each node's parent in the layer
            above, in any order, shape (nodes,); the root's own entry is 0.

    Raises:
        ValueError: not a tree with one root.
    """

    parents: tuple[Integers, ...]

    def __post_init__(self) -> None:
        """The first layer is the root; each parent stands in the layer above."""
        widths = [1, *(len(parents) for parents in self.parents)]
        for parents, width in zip(self.parents, widths, strict=False):
            if parents.size and not 0 <= parents.min() <= parents.max() < width:
                raise ValueError("a node's parent must be in the layer above")
        if widths[1:2] != [1]:
            raise ValueError("a hierarchy needs one root")

    @property
    def depth(self) -> int:
        """Layers below the root."""
        return len(self.parents) - 1

    def sums(self, layer: int, values: NDArray[Any]) -> Floats:
        """Sums over the children of each node of a layer.

        Args:
            layer: of the parents, above the last.
            values: of the layer below, shape (..., nodes there).

        Returns:
            Shape (..., nodes of the layer); 0 where there are no children.
        """
        places, width = self.parents[layer + 1], len(self.parents[layer])
        rows = values.reshape(-1, values.shape[-1])
        summed = [np.bincount(places, weights=row, minlength=width) for row in rows]
        return np.array(summed, dtype=np.float64).reshape(*values.shape[:-1], width)

    @cached_property
    def fan_outs(self) -> tuple[Integers, ...]:
        """Number of children of each node, by layer, each of shape (nodes,)."""
        below = [
            np.bincount(places, minlength=len(above)).astype(np.int64)
            for above, places in zip(self.parents, self.parents[1:], strict=False)
        ]
        return (*below, np.zeros(len(self.parents[-1]), dtype=np.int64))

    @cached_property
    def leaves(self) -> tuple[Floats, ...]:
        """Number of leaves in each node, by layer, each of shape (nodes,); 1 in a leaf."""
        leaves = [np.ones(len(self.parents[-1]))]
        for layer in range(self.depth - 1, -1, -1):
            leaves.append(np.where(self.fan_outs[layer] > 0, self.sums(layer, leaves[-1]), 1.0))
        return tuple(leaves[::-1])

    @property
    def fan_out(self) -> int | None:
        """The fan-out of all nodes above the last layer, if it is one and the same and not 0."""
        fan_outs = {int(fan_out) for counts in self.fan_outs[:-1] for fan_out in np.unique(counts)}
        return fan_outs.pop() if len(fan_outs) == 1 and fan_outs != {0} else None

    def with_chain(self) -> Hierarchy:
        """With a further child of the root, its only child, and so on down to the last layer.

        The nodes of the chain stand last in their layers.
        """
        below = self.parents[1:]
        # A chain's node stands behind all of its layer.
        chain = [0, *(len(nodes) for nodes in below)]
        longer = [np.append(nodes, place) for nodes, place in zip(below, chain, strict=False)]
        return Hierarchy((self.parents[0], *longer))


def gls(
    tree: Hierarchy, counts: Sequence[ArrayLike], variances: Sequence[ArrayLike]
) -> list[Floats]:
    """Generalised least squares: consistent counts of all nodes, in two passes.

    Args:
        tree: the tree.
        counts: noisy counts, by layer, each of shape (..., nodes).
        variances: of the noise in each count, by layer, each a number or an array that broadcasts
            to the counts; inf: not observed (the count is not looked at), 0: exact.

    Returns:
        Counts by layer, each of shape (..., nodes); each parent is the sum of its children. What
        the observations leave open among leaves that were not observed is shared evenly.

    Example:
        A root (100) of two nodes, 52 of leaves (20, 15, 11) and 50 of (30, 26), equal variances:

        >>> tree = Hierarchy(tuple(map(np.array, ([0], [0, 0], [0, 0, 0, 1, 1]))))
        >>> counts = [100], [52, 50], [20, 15, 11, 30, 26]
        >>> [layer.round(4).tolist() for layer in gls(tree, counts, [2, 2, 2])][:2]
        [[101.0345], [49.7241, 51.3103]]
        >>> [layer.round(4).tolist() for layer in gls(tree, counts, [0, 2, 2])][:2]
        [[100.0], [49.1765, 50.8235]]
    """
    noise = [
        _variance(variance, len(p)) for variance, p in zip(variances, tree.parents, strict=True)
    ]
    z = [
        np.where(np.isinf(v), 0.0, np.asarray(h, dtype=np.float64))
        for h, v in zip(counts, noise, strict=True)
    ]
    sums: list[Floats] = []
    for layer in range(tree.depth - 1, -1, -1):
        below, spread = tree.sums(layer, z[layer + 1]), tree.sums(layer, noise[layer + 1])
        observed, known = z[layer], noise[layer]
        weight = _weight(known, spread)
        inner = tree.fan_outs[layer] > 0
        z[layer] = np.where(inner, below + weight * (observed - below), observed)
        noise[layer] = np.where(inner, _shrunk(weight, known, spread), known)
        sums.insert(0, below)
    result = [z[0]]
    for layer in range(tree.depth):
        places = tree.parents[layer + 1]
        residual = (result[layer] - sums[layer])[..., places]
        result.append(z[layer + 1] + _part(tree, layer, noise[layer + 1]) * residual)
    return result


def downward(
    tree: Hierarchy,
    consistent: Sequence[NDArray[Any]],
    sizes: Sequence[ArrayLike] | None = None,
) -> list[Floats]:
    """Shares of all nodes, from the root down, which keep what is known of upper layers.

    A node hands its share down in proportion to the positive parts of its children's counts. Where
    no child has a positive one, in proportion to their sizes. Clipping the leaves alone would
    instead hand most of the mass to nodes with many leaves, as each has noise of its own.

    Args:
        tree: the tree.
        consistent: counts of all nodes, by layer, each of shape (..., nodes); the root's is not
            looked at.
        sizes: allowed cells of each node, whole numbers, by layer, each of shape (nodes,); the
            number of leaves if None.

    Returns:
        Non-negative shares by layer, each of shape (..., nodes). The root has 1, and children sum
        to their parent.

    Example:
        >>> tree = Hierarchy(tuple(map(np.array, ([0], [0, 0], [0, 0, 0, 1, 1]))))
        >>> downward(tree, [[0], [30, 10], [-1, -2, 0, 5, -9]])[2].round(2).tolist()
        [0.25, 0.25, 0.25, 0.25, 0.0]
    """
    places = tree.leaves if sizes is None else [np.asarray(size, np.float64) for size in sizes]
    shares = [np.ones((*np.asarray(consistent[-1]).shape[:-1], 1))]
    for layer in range(tree.depth):
        positive = np.maximum(np.asarray(consistent[layer + 1], dtype=np.float64), 0)
        above, total = tree.parents[layer + 1], tree.sums(layer, positive)
        even = places[layer + 1] / np.maximum(tree.sums(layer, places[layer + 1]), 1)[above]
        shared = (total > 0)[..., above]
        parts = np.where(shared, positive / np.where(total > 0, total, 1)[..., above], even)
        shares.append(shares[layer][..., above] * parts)
    return shares


def _variance(value: ArrayLike, width: int) -> Floats:
    """As an array with an entry for each node."""
    array = np.asarray(value, dtype=np.float64)
    return array if array.ndim and array.shape[-1] == width else np.broadcast_to(array, (width,))


def _weight(known: Floats, spread: Floats) -> Floats:
    """Weight V/(σ² + V) of a node's own count, against the sum of its children."""
    with np.errstate(invalid="ignore"):
        weight = spread / (known + spread)
    # An exact node over exact children keeps its count; an unobserved one takes their sum.
    weight = np.where((known == 0) | np.isinf(spread), 1.0, weight)
    return np.where(np.isinf(known), 0.0, weight)


def _shrunk(weight: Floats, known: Floats, spread: Floats) -> Floats:
    """Variance σ²·V/(σ² + V) of the weighted mean."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(known), spread, weight * known)


def _part(tree: Hierarchy, layer: int, noise: Floats) -> Floats:
    """Part v/V of its parent's residual that falls to each node below a layer."""
    places = tree.parents[layer + 1]
    unknown = np.isinf(noise)
    if unknown.any():
        # Nodes that nothing is known of take all of it, evenly.
        noise = np.where(tree.sums(layer, unknown)[..., places] > 0, unknown, noise)
    spread = tree.sums(layer, noise)[..., places]
    return np.asarray(noise / np.where(spread > 0, spread, 1))
