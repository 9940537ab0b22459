"""Noisy counts in the nodes of a tree, made consistent, and turned into shares of its leaves.

A parent's count is the sum of its children's, but independent noise knows nothing of that. Least
squares puts it right (`understudy.models.spine`), and `downward` is a function of what it gives:
post-processing.

Every function takes any number of leading axes of repetitions: counts of a layer have shape
(..., nodes). It works layer by layer, in time linear in the number of nodes.

**Consistent counts of a tree whose layers were measured, with records out of domain.**

The number of rows counts every record, the layers below count those that fit the schema and, as one
more number, those that do not. For least squares the latter are one more child of the root, and a
chain with one node in every layer.

Consistent counts by the closed form for a constant fan-out, and as STEPS prints it.

`understudy.models.spine.gls` does more and is what releases use; these are here for comparison.

* `hay`: least squares for trees in which every node has b children and all counts have the same
  variance (Hay, Rastogi, Miklau & Suciu 2010).
* `paper_phantom`: equations (2) and (3) of Bowen, Liu & Su (2021) as printed. Nodes with fewer
  children are padded with phantom categories, and the result is neither additive nor least squares.

A tree of ranges over the states of one column, with a constant fan-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats, Integers
from understudy.models.spine import Hierarchy, gls


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


Consistency = Literal["gls", "hay", "paper_phantom"]


@dataclass(frozen=True, eq=False)
class NoisyLayer:
    """The measurement of one layer.

    Attributes:
        counts: noisy counts of its nodes, shape (..., nodes).
        outside: noisy number of records out of domain, shape (...).
        variance: of one noisy number.
        summed: how many noisy numbers are summed in each count, shape (nodes,) or a number.
    """

    counts: NDArray[Any]
    outside: NDArray[Any] | float
    variance: float
    summed: ArrayLike = 1


def consistent(
    tree: Hierarchy,
    layers: Sequence[NoisyLayer],
    total: ArrayLike,
    total_variance: float,
    how: Consistency = "gls",
) -> list[Floats]:
    """Consistent counts of all nodes.

    Args:
        tree: the nodes of records that fit the schema.
        layers: what was measured of each layer below the root.
        total: number of rows, shape (...).
        total_variance: of the noise in it; 0 if it is public.
        how: "gls" weighs everything by its variance. "hay" and "paper_phantom" take the number of
            rows less the mean of the layers' `outside` as exact, and all other noise as equal.

    Returns:
        Counts by layer, the root's first, each of shape (..., nodes).

    Raises:
        ValueError: a tree that does not fit "hay" or "paper_phantom".

    Example:
        >>> tree = Hierarchy((np.array([0]), np.array([0, 0])))
        >>> layer = NoisyLayer(np.array([50, 40]), 4, 2.0)
        >>> [counts.tolist() for counts in consistent(tree, [layer], 100, 0.0)]
        [[94.0], [52.0, 42.0]]
    """
    n_rows = np.asarray(total, dtype=np.float64)
    if how != "gls":
        outside = [np.asarray(layer.outside) for layer in layers]
        inside = n_rows - np.mean(outside, axis=0) if layers else n_rows
        known = [inside[..., None], *(layer.counts for layer in layers)]
        return (hay if how == "hay" else paper_phantom)(tree, known, inside)
    counts = [n_rows[..., None], *(_with_outside(layer) for layer in layers)]
    variances: list[ArrayLike] = [total_variance, *(_variances(layer) for layer in layers)]
    estimates = gls(tree.with_chain(), counts, variances)
    below = [estimate[..., :-1] for estimate in estimates[1:]]
    root = tree.sums(0, below[0]) if below else estimates[0]
    return [root, *below]


def _with_outside(layer: NoisyLayer) -> NDArray[Any]:
    outside = np.broadcast_to(layer.outside, layer.counts.shape[:-1])
    return np.concatenate([layer.counts, outside[..., None]], axis=-1)


def _variances(layer: NoisyLayer) -> Floats:
    """Of each node's count, and of the number out of domain."""
    width = layer.counts.shape[-1]
    summed = np.broadcast_to(np.asarray(layer.summed, dtype=np.float64), (width,))
    return np.append(layer.variance * summed, layer.variance)


def hay(
    tree: Hierarchy, counts: Sequence[ArrayLike], total: ArrayLike | None = None
) -> list[Floats]:
    """Consistent counts for a constant fan-out b and equal variances, in closed form.

    With η the height of a node (1 in a leaf), z = h in a leaf, else
    z = ((b^η − b^(η−1))·h + (b^(η−1) − 1)·Σ z)/(b^η − 1), the sum over its children; then n̄ = z in
    the root, else n̄ = z + (n̄[parent] − Σ z)/b, the sum over the node and its siblings.

    Args:
        tree: all leaves in the last layer, and the same number of children everywhere.
        counts: noisy counts, by layer, each of shape (..., nodes).
        total: exact count of the root, shape (...); None if it has noise like all others.

    Returns:
        Counts by layer, each of shape (..., nodes); equal to those of `gls`.

    Raises:
        ValueError: fan-out that is not constant.

    Source: Hay, Rastogi, Miklau & Suciu (2010), Theorem 3.

    Example:
        >>> tree = Hierarchy((np.array([0]), np.array([0, 0])))
        >>> [counts.tolist() for counts in hay(tree, ([10], [3, 4]))]
        [[9.0], [4.0, 5.0]]
    """
    if tree.depth and tree.fan_out is None:
        raise ValueError("hay needs the same number of children for every node")
    return _constant(tree, counts, tree.fan_out or 1, total, raised=1, leaves_corrected=True)


def paper_phantom(
    tree: Hierarchy,
    counts: Sequence[ArrayLike],
    total: ArrayLike,
    *,
    as_printed: bool = True,
) -> list[Floats]:
    """Equations (2) and (3) of Bowen, Liu & Su, with phantom categories.

    Nodes are padded to the largest fan-out b by children that hold 0 and stay at 0. As printed,
    the exponents are one lower than those of `hay`, so that children have weight 0 just above the
    leaves, and leaves are not corrected. Even with the exponents and the leaves of `hay`, a phantom
    child swallows its b-th part of each residual: neither form is additive or least squares.

    Args:
        tree: all leaves in the last layer.
        counts: noisy counts, by layer, each of shape (..., nodes); the root's is not looked at.
        total: count of the root, shape (...).
        as_printed: False for the exponents and the leaves of Hay et al.

    Returns:
        Counts by layer, each of shape (..., nodes).

    Raises:
        ValueError: a leaf above the last layer.

    Source: Bowen, Liu & Su (2021), METRON 79, §2.2.2, equations (2) and (3).

    Example:
        A node 52.8 with children (29.2, 25.2), that is 54.4, where least squares has 53.33:

        >>> tree = Hierarchy(tuple(map(np.array, ([0], [0, 0], [0, 0, 1, 1, 1, 1]))))
        >>> counts = [0], [52, 0], [30, 26, 0, 0, 0, 0]
        >>> fixed = paper_phantom(tree, counts, 52.8, as_printed=False)
        >>> [layer.round(1)[:2].tolist() for layer in fixed[1:]]
        [[52.8, 0.0], [29.2, 25.2]]
        >>> [layer[:2].tolist() for layer in paper_phantom(tree, counts, 52)[1:]]
        [[52.0, 0.0], [30.0, 26.0]]
    """
    if not all(fan_outs.all() for fan_outs in tree.fan_outs[:-1]):
        raise ValueError("paper_phantom needs all leaves in the last layer")
    widest = max((int(fan_outs.max()) for fan_outs in tree.fan_outs[:-1]), default=1)
    return _constant(
        tree,
        counts,
        widest,
        total,
        raised=0 if as_printed else 1,
        leaves_corrected=not as_printed,
    )


def _constant(
    tree: Hierarchy,
    counts: Sequence[ArrayLike],
    fan_out: int,
    total: ArrayLike | None,
    *,
    raised: int,
    leaves_corrected: bool,
) -> list[Floats]:
    """The two passes of `hay` for a fan-out b; exponents are depth − layer + `raised`."""
    z = [np.asarray(layer, dtype=np.float64) for layer in counts]
    below: list[Floats] = []
    for layer in range(tree.depth - 1, -1, -1):
        below.insert(0, tree.sums(layer, z[layer + 1]))
        height = tree.depth - layer + raised
        # (b^η − b^(η−1))/(b^η − 1) = 1/(1 + b⁻¹ + … + b^(1−η)), which also holds for b = 1.
        weight = 1 / sum(float(fan_out) ** -k for k in range(height))
        z[layer] = weight * z[layer] + (1 - weight) * below[0]
    root = z[0] if total is None else np.asarray(total, dtype=np.float64)[..., None]
    result = [np.broadcast_to(root, z[0].shape)]
    for layer in range(tree.depth):
        residual = (result[layer] - below[layer])[..., tree.parents[layer + 1]]
        corrected = leaves_corrected or layer + 1 < tree.depth
        result.append(z[layer + 1] + corrected * residual / fan_out)
    return result


@dataclass(frozen=True)
class RangeTree:
    """The root holds all states; each range is divided into `fan_out` ranges of equal width.

    Attributes:
        size: number of states.
        fan_out: at least 2.
        padded: whether states that cannot occur follow until every node has all its children;
            else the last nodes are narrower, or have fewer children.

    Example:
        >>> [edges.tolist() for edges in RangeTree(5, 2).edges]
        [[0, 4, 5], [0, 2, 4, 5], [0, 1, 2, 3, 4, 5]]
        >>> RangeTree(5, 2, padded=True).edges[0].tolist()
        [0, 4, 8]
    """

    size: int
    fan_out: int
    padded: bool = False

    @property
    def depth(self) -> int:
        """Layers below the root, the states themselves included; at least 1."""
        depth = 1
        while self.fan_out**depth < self.size:
            depth += 1
        return depth

    @property
    def n_leaves(self) -> int:
        """Nodes of the last layer."""
        return self.fan_out**self.depth if self.padded else self.size

    @cached_property
    def edges(self) -> tuple[Integers, ...]:
        """For each layer below the root, first states of its ranges, and the end of the last."""
        end = self.n_leaves
        widths = [self.fan_out**k for k in range(self.depth - 1, -1, -1)]
        return tuple(np.append(np.arange(0, end, width), end) for width in widths)

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The ranges as nodes."""
        lengths = [1, *(len(edges) - 1 for edges in self.edges)]
        parents = [np.zeros(lengths[1], dtype=np.int64)]
        parents += [np.arange(length, dtype=np.int64) // self.fan_out for length in lengths[2:]]
        return Hierarchy((np.zeros(1, dtype=np.int64), *parents))

    @cached_property
    def sizes(self) -> tuple[Integers, ...]:
        """States that can occur in each node, by layer, the root's first."""
        below = [np.diff(np.minimum(edges, self.size)) for edges in self.edges]
        return (np.array([self.size]), *below)
