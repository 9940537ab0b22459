"""Shares of noisy counts within groups, drawn towards given ones as far as noise made them.

The counts c of a group with total T are shrunk towards e, given shares of T, by the factor
1 − (k − 1)σ²/Σ(c − e)² of James and Stein, and cut at 0, so that noise alone makes no shape.

Source: James & Stein (1961), Fourth Berkeley Symposium 1, 361-379.
"""

from __future__ import annotations

import numpy as np

from understudy.arrays import Floats, Integers


def shrunk(counts: Floats, groups: Integers, even: Floats, stddev: float) -> Floats:
    """Shares in each group, in any unit; none negative.

    Args:
        counts: noisy ones, shape (cells,).
        groups: of each cell, shape (cells,).
        even: shares towards which they are drawn, in any unit within a group, shape (cells,).
        stddev: of the noise in each count.

    Returns:
        Shape (cells,); those of `even` where all of a group would be cut at 0.
    """
    weights = even.copy()
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        total = counts[own].sum()
        flat = total * even[own] / even[own].sum()
        spread = float(((counts[own] - flat) ** 2).sum())
        kept = max(0.0, 1 - (len(own) - 1) * stddev**2 / spread) if spread > 0 else 0.0
        shaped = np.maximum(flat + kept * (counts[own] - flat), 0.0)
        if shaped.any():
            weights[own] = shaped
    return weights
