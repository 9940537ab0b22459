"""Contrasts between states, of which each says something that the others do not."""

from __future__ import annotations

import numpy as np

from understudy.arrays import Floats


def contrasts(k: int) -> Floats:
    """Orthonormal contrasts between k states: of each state with the mean of those before it.

    Returns:
        Shape (k, k − 1); columns have length 1 and mean 0 (Helmert).
    """
    table = np.zeros((k, k - 1))
    for j in range(1, k):
        table[:j, j - 1], table[j, j - 1] = 1, -j
        table[:, j - 1] /= np.sqrt(j * (j + 1))
    return table
