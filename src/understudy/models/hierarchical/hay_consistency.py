"""Consistent counts by the closed form for a constant fan-out, and as STEPS prints it.

`understudy.models.hierarchical.node_least_squares.gls` does more and is what releases use; these
are here for comparison.

* `hay`: least squares for trees in which every node has b children and all counts have the same
  variance (Hay, Rastogi, Miklau & Suciu 2010).
* `paper_phantom`: equations (2) and (3) of Bowen, Liu & Su (2021) as printed. Nodes with fewer
  children are padded with phantom categories, and the result is neither additive nor least squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from understudy.models.hierarchical.node_least_squares import Floats, Hierarchy


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
        >>> [one.tolist() for one in hay(tree, ([10], [3, 4]))]
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
        >>> [one.round(1)[:2].tolist() for one in fixed[1:]]
        [[52.8, 0.0], [29.2, 25.2]]
        >>> [one[:2].tolist() for one in paper_phantom(tree, counts, 52)[1:]]
        [[52.0, 0.0], [30.0, 26.0]]
    """
    if not all(one.all() for one in tree.fan_outs[:-1]):
        raise ValueError("paper_phantom needs all leaves in the last layer")
    widest = max((int(one.max()) for one in tree.fan_outs[:-1]), default=1)
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
    z = [np.asarray(one, dtype=np.float64) for one in counts]
    below: list[Floats] = []
    for layer in range(tree.depth - 1, -1, -1):
        below.insert(0, tree.sums(layer, z[layer + 1]))
        height = tree.depth - layer + raised
        # (b^η − b^(η−1))/(b^η − 1) = 1/(1 + b⁻¹ + … + b^(1−η)), which also holds for b = 1.
        own = 1 / sum(float(fan_out) ** -k for k in range(height))
        z[layer] = own * z[layer] + (1 - own) * below[0]
    root = z[0] if total is None else np.asarray(total, dtype=np.float64)[..., None]
    result = [np.broadcast_to(root, z[0].shape)]
    for layer in range(tree.depth):
        residual = (result[layer] - below[layer])[..., tree.parents[layer + 1]]
        corrected = leaves_corrected or layer + 1 < tree.depth
        result.append(z[layer + 1] + corrected * residual / fan_out)
    return result
