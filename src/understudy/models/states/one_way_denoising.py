"""A better one-way table from a noisy one: post-processing of released values alone.

A column of hundreds of states, bought with a small share of the budget, has more noise than
records in most of them. What is known beside the noisy counts: they are not negative, their sum
is known well, and states next to each other are often alike. `denoised` uses all three
(`share_tree.py`).

When not: as data of a least-squares fit, or of an estimate that is to be unbiased. It pulls counts
towards smoothness, which lowers the total error and biases single counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.models.hierarchical.node_least_squares import Floats
from understudy.models.states.share_tree import tree_shares


def denoised(
    noisy: ArrayLike,
    stddev: ArrayLike,
    *,
    total: ArrayLike | None = None,
    widths: ArrayLike | None = None,
    ordered: bool = True,
) -> Floats:
    """Counts without most of their noise: not negative, with a given sum.

    Args:
        noisy: noisy counts of all states of a column, shape (..., K).
        stddev: of the noise in them, one number or shape (K,).
        total: sum afterwards, shape (...), at least 0; that of the noisy counts if None.
        widths: public; what the states would share alike, such as widths of bins, and 0 for a state
            that cannot occur; shape (K,), 1 each if None.
        ordered: whether states next to each other are alike. Spikes and codes of absence need not
            be taken out: the tree sees that they are like no other.

    Returns:
        Shape (..., K).

    Example:
        >>> denoised([4.0, -3.0, 1.0, 998.0], 5.0, total=1000).round().tolist()
        [0.0, 0.0, 0.0, 1000.0]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    n_states = counts.shape[-1]
    sums = counts.sum(axis=-1) if total is None else np.asarray(total, dtype=np.float64)
    variance = np.broadcast_to(np.asarray(stddev, dtype=np.float64) ** 2, (n_states,))
    wide = np.ones(n_states) if widths is None else np.asarray(widths, dtype=np.float64)
    rows = counts.reshape(-1, n_states)
    wanted = np.broadcast_to(np.maximum(sums, 0.0), counts.shape[:-1]).reshape(-1)
    result = np.zeros(rows.shape)
    for k in np.flatnonzero(wanted):
        whole = wanted[k]
        shares = tree_shares(rows[k] / whole, variance / whole**2, wide, ordered=ordered)
        result[k] = whole * shares
    return result.reshape(counts.shape)
