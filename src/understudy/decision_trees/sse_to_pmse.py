"""From the smallest SSE to pMSE, and the sensitivity of both (proof: `tree_class`)."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from understudy.decision_trees.leaf_impurity import Floats

_Number = TypeVar("_Number", float, Floats)


def pmse(sse: _Number, n_original: int, n_synthetic: int) -> _Number:
    """c(1 − c) − SSE/N: the mean squared distance of a tree's propensity scores from c.

    N = n + ñ points, of which a share c = ñ/N is synthetic; a leaf's propensity score is its share
    of synthetic points. For ñ = n this is 1/4 − SSE/N. The total sum of squares N·c(1 − c) is that
    within leaves (SSE) and that between them (N·pMSE).

    Args:
        sse: Σ ab/(a + b) over the leaves, of any shape.
        n_original: n, not negative.
        n_synthetic: ñ, not negative.

    Returns:
        pMSE, of the same shape; 0 where there are no points.

    Source:
        Snoke & Slavković (2018), "pMSE Mechanism: Differentially Private Synthetic Data with
        Maximal Distributional Similarity", section 3.

    Example:
        >>> from understudy.decision_trees import Stumps
        >>> sse = Stumps().smallest_sse([[0], [0], [1]], [[0], [1], [1]])
        >>> round(sse, 6), round(pmse(sse, 3, 3), 6)
        (1.333333, 0.027778)
    """
    total = n_original + n_synthetic
    if total == 0:
        return sse * 0.0
    return (n_original / total) * (n_synthetic / total) - sse / total


def sensitivity(n_synthetic: int) -> Fraction:
    """ñ/(ñ + 1): by how much the smallest SSE of a fixed class moves with one original record.

    It holds when one record is replaced, and when one is added or removed, where the smallest SSE
    can only rise with an added one; both bounds are attained. In units of pMSE with ñ = n, for a
    replaced record: 1/(2(n + 1)).
    """
    return Fraction(n_synthetic, n_synthetic + 1)
