"""The nearest table without negative counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.models.hierarchical.node_least_squares import Floats


def projected(counts: ArrayLike, total: ArrayLike) -> Floats:
    """The non-negative numbers of a given sum that are nearest in the mean square.

    They are max(x − τ, 0), with the τ at which they have this sum. Setting negative counts to 0 and
    rescaling the others would keep the noise of each empty cell that it happened to raise; here
    most of these fall below τ. Found by sorting: with x₁ ≥ x₂ ≥ …, τ is the largest of
    (x₁ + … + x_k − total)/k.

    Args:
        counts: noisy counts, shape (..., K).
        total: their sum afterwards, shape (...); negative counts as 0.

    Returns:
        Shape (..., K).

    Sources: Held, Wolfe & Crowder (1974); Wang et al. (2020), "Locally differentially private
    frequency estimation with consistency", where it is called Norm-Sub.

    Example:
        >>> projected([5.0, 3.0, 0.5, -2.0], 6.0).tolist()
        [4.0, 2.0, 0.0, 0.0]
    """
    x = np.asarray(counts, dtype=np.float64)
    wanted = np.maximum(np.asarray(total, dtype=np.float64), 0)[..., None]
    sums = np.cumsum(-np.sort(-x, axis=-1), axis=-1)
    tau = ((sums - wanted) / np.arange(1, x.shape[-1] + 1)).max(axis=-1, keepdims=True)
    nearest: Floats = np.maximum(x - tau, 0)
    return nearest
