"""Rank sums: methods that were scored by several measures, put into one order.

Each measure ranks the methods, the best has rank 1, and the sum of its ranks is a method's overall
score: the smaller, the better. Tied methods share the best of their ranks and the ranks behind them
are left out (1, 2, 2, 4), as Bowen, Liu & Su (2021, table 3) do.

A rank sum weighs all measures alike and looks at order alone: that one method is far better than
the rest by one measure, and a little worse by three, counts as worse. Ties depend on how many
digits are looked at. Read it beside the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Better = Literal["low", "high"]


def ranks(
    values: ArrayLike, better: Sequence[Better], *, decimals: int | None = None
) -> NDArray[np.int64]:
    """Rank of each method by each measure, 1 the best; ties share the best rank.

    Args:
        values: scores, shape (..., methods, measures); NaN is worse than any score.
        better: whether low or high scores are good, one for each measure.
        decimals: digits behind the point that count; all of them if None.

    Returns:
        Shape of `values`.

    Raises:
        ValueError: another number of measures in `better` than in `values`.

    Example:
        >>> ranks([[0.9, 0.2], [0.5, 0.3], [0.5, 0.1]], ["low", "high"]).tolist()
        [[3, 2], [1, 1], [1, 3]]
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim < 2 or scores.shape[-1] != len(better):
        raise ValueError(f"expected (methods, measures) with {len(better)} measures")
    if decimals is not None:
        scores = np.round(scores, decimals)
    cost = scores * np.where([side == "low" for side in better], 1.0, -1.0)
    cost = np.where(np.isnan(cost), np.inf, cost)
    ahead = cost[..., None, :, :] < cost[..., :, None, :]
    return np.asarray(1 + ahead.sum(axis=-2))


def rank_sums(
    values: ArrayLike, better: Sequence[Better], *, decimals: int | None = None
) -> NDArray[np.int64]:
    """Sum of each method's ranks; the smaller, the better.

    Args:
        values: scores, shape (..., methods, measures).
        better: whether low or high scores are good, one for each measure.
        decimals: digits behind the point that count; all of them if None.

    Returns:
        Shape (..., methods).

    Raises:
        ValueError: another number of measures in `better` than in `values`.

    Example:
        >>> rank_sums([[0.9, 0.2], [0.5, 0.3], [0.5, 0.1]], ["low", "high"]).tolist()
        [5, 2, 4]
    """
    return np.asarray(ranks(values, better, decimals=decimals).sum(axis=-1))
