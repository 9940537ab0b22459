"""Consistent counts of a tree whose layers were measured, with records out of domain.

The number of rows counts every record, the layers below count those that fit the schema and, as one
more number, those that do not. For least squares the latter are one more child of the root, and a
chain with one node in every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.models.hierarchical.hay_consistency import hay, paper_phantom
from understudy.models.hierarchical.node_least_squares import Floats, Hierarchy, gls

Consistency = Literal["gls", "hay", "paper_phantom"]


@dataclass(frozen=True, eq=False)
class NoisyLayer:
    """What was measured of one layer.

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
        >>> [one.tolist() for one in consistent(tree, [layer], 100, 0.0)]
        [[94.0], [52.0, 42.0]]
    """
    n_rows = np.asarray(total, dtype=np.float64)
    if how != "gls":
        outside = [np.asarray(one.outside) for one in layers]
        inside = n_rows - np.mean(outside, axis=0) if layers else n_rows
        known = [inside[..., None], *(one.counts for one in layers)]
        return (hay if how == "hay" else paper_phantom)(tree, known, inside)
    counts = [n_rows[..., None], *(_with_outside(one) for one in layers)]
    variances: list[ArrayLike] = [total_variance, *(_variances(one) for one in layers)]
    found = gls(tree.with_chain(), counts, variances)
    below = [one[..., :-1] for one in found[1:]]
    root = tree.sums(0, below[0]) if below else found[0]
    return [root, *below]


def _with_outside(layer: NoisyLayer) -> NDArray[Any]:
    outside = np.broadcast_to(layer.outside, layer.counts.shape[:-1])
    return np.concatenate([layer.counts, outside[..., None]], axis=-1)


def _variances(layer: NoisyLayer) -> Floats:
    """Of each node's count, and of the number out of domain."""
    width = layer.counts.shape[-1]
    summed = np.broadcast_to(np.asarray(layer.summed, dtype=np.float64), (width,))
    return np.append(layer.variance * summed, layer.variance)
