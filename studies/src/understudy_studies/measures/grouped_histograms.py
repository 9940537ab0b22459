"""Histograms of one bounded number, of many repetitions at once.

The steps of the perturbed histogram that follow the noise, as a release takes them for one table
(`TableModel`, and values uniform within their bin), here with leading axes for repetitions and
sets: simulation studies call them. `tests/models/test_histogram.py` shows that one repetition is
what a release does.

Source: Wasserman & Zhou (2010), §3; Bowen & Liu (2020), eq. 4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import compiled

_GUIDES = 4  # places of the guide table for each bin


def bin_counts(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Records in each bin [edge, next edge), the last one closed; outside values are clipped.

    Args:
        values: shape (..., n).
        edges: ascending, shape (K + 1,).

    Returns:
        Shape (..., K).

    Example:
        >>> bin_counts(np.array([[0.0, 0.5], [9.0, 1.0]]), np.array([0, 0.5, 1])).tolist()
        [[1, 1], [0, 2]]
    """
    n_bins, leading = len(edges) - 1, values.shape[:-1]
    places = np.searchsorted(edges[1:-1], values, side="right")
    places = places.reshape(math.prod(leading), values.shape[-1])
    places += np.arange(len(places))[:, None] * n_bins
    counts = np.bincount(places.reshape(-1), minlength=len(places) * n_bins)
    return counts.reshape(*leading, n_bins)


def bin_shares(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Shares of noisy counts: negative ones count as 0, and all bins alike if none is positive.

    Args:
        counts: shape (..., K).

    Example:
        >>> bin_shares(np.array([[3.5, -1.0, 0.0], [-1.0, -2.0, -3.0]])).round(3).tolist()
        [[1.0, 0.0, 0.0], [0.333, 0.333, 0.333]]
    """
    weights = np.maximum(counts, 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    empty = total <= 0
    return np.asarray(np.where(empty, 1 / counts.shape[-1], weights / np.where(empty, 1.0, total)))


def draw_values(
    shares: NDArray[np.float64],
    edges: NDArray[np.float64],
    n_rows: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Records that are independent draws of a bin, and uniform within it.

    Args:
        shares: of the bins, shape (..., K); each row sums to 1.
        edges: ascending, shape (K + 1,).
        n_rows: records per row.
        rng: randomness; one uniform number per record.

    Returns:
        Shape (..., n_rows).
    """
    values = rng.random((*shares.shape[:-1], n_rows))
    flat = np.ascontiguousarray(shares.reshape(-1, shares.shape[-1]))
    _invert(flat, np.asarray(edges, dtype=np.float64), values.reshape(len(flat), n_rows))
    return values


@compiled
def _invert(
    shares: NDArray[np.float64], edges: NDArray[np.float64], numbers: NDArray[np.float64]
) -> None:
    """Put each uniform number through the inverse of its row's cdf, in place.

    The cdf is linear within a bin, so what is left of the number below its bin's share says where
    in the bin the value lies. A guide table (Chen & Asau 1974) finds the bin in few steps.
    """
    n_bins = shares.shape[1]
    n_guides = _GUIDES * n_bins
    below, guide = np.empty(n_bins + 1), np.empty(n_guides, dtype=np.int64)
    slope = np.empty(n_bins)
    for row in range(shares.shape[0]):
        below[0] = 0.0
        for k in range(n_bins):
            share = shares[row, k]
            below[k + 1] = below[k] + share
            slope[k] = (edges[k + 1] - edges[k]) / share if share > 0 else 0.0
        last = n_bins - 1  # rounding must not carry a number into an empty bin at the end
        while last > 0 and shares[row, last] <= 0:
            last -= 1
        k = 0
        for g in range(n_guides):
            while k < last and below[k + 1] <= g / n_guides * below[n_bins]:
                k += 1
            guide[g] = k
        for i in range(numbers.shape[1]):
            u = numbers[row, i]
            k = guide[int(u * n_guides)]
            u *= below[n_bins]
            while k < last and below[k + 1] <= u:
                k += 1
            numbers[row, i] = min(edges[k] + (u - below[k]) * slope[k], edges[k + 1])
