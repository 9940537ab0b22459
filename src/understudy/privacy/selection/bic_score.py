r"""BIC of one column within a node, another score by which STEPS may divide a node.

**Score.** With the notation of `understudy.privacy.selection.aic_score`, of the same model,

    BIC = −2 log L + K log max(n, 1),

and the column of *smallest* BIC is the best. The penalty depends on the n records of the node,
which are private, so that the sensitivity is not that of AIC. (A node of no record has BIC 0.)

**Sensitivity.** A record of state j that is added to n ≥ 1 records changes BIC by

    2(g(n+1) − g(n_j+1)) + K log((n+1)/n) ∈ [0, h(n)],    h(n) = (2n + K) log((n+1)/n),

as g(n+1) = n log((n+1)/n) and g ≥ 0; a first record changes it by 0. For K ≥ 1 h decreases: its
derivative is 2 log((n+1)/n) − (2n + K)/(n(n+1)), and log((n+1)/n), the integral of 1/t from n to
n + 1, is below the trapezoid (1/n + 1/(n+1))/2 = (2n + 1)/(2n(n+1)). So the most is
h(1) = (K + 2) log 2, which two records of different states attain. Every BIC moves one way, by at
most Δ = (K + 2) log 2 with K the most states of a column: monotone under add/remove.

A record that is replaced inside a node leaves n as it is, so that BIC changes as AIC does, by less
than 2 ≤ Δ; one that leaves a node for another (or the domain) moves the BICs of each one way by at
most Δ. So all nodes of a layer cost ε once, by the argument for AIC.

**Groups.** The difference of two mean BICs changes by at most Δ if a record is added or removed,
and by at most max(Δ, 4) if one is replaced.

`tests/privacy/mechanisms/choices/test_tree_split.py` enumerates the neighbours.

Source: Schwarz (1978), for the criterion; Bowen, Liu & Su (2021), §2.2.2, who name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.selection import aic_score

LOG_2 = Fraction(6931471806, 10**10)
"""Rounded up."""

Floats = NDArray[np.float64]


def sensitivity(sizes: Sequence[int]) -> Fraction:
    """Largest change between neighbours, rounded up.

    Args:
        sizes: public numbers of states of the columns.

    Example:
        >>> float(sensitivity((2, 3)))
        3.465735903
    """
    return (max(sizes) + 2) * LOG_2


def group_sensitivity(sizes: Sequence[int], neighbours: Neighbours) -> Fraction:
    """Largest change of the difference of two mean BICs between neighbours."""
    of_groups = aic_score.group_sensitivity(neighbours)
    return max(sensitivity(sizes), of_groups) if neighbours == "replace" else sensitivity(sizes)


def words(change: Fraction) -> str:
    """A sensitivity for the ledger.

    Example:
        >>> words(sensitivity((2, 3))), words(Fraction(4))
        ('5 · log 2', '4')
    """
    times = change / LOG_2
    return f"{times} · log 2" if times.denominator == 1 else str(change)


def bic(counts: NDArray[Any]) -> Floats:
    """BIC of the univariate log-linear model.

    Args:
        counts: records in each public state, shape (..., states).

    Returns:
        Shape (...).

    Example:
        >>> float(bic(np.array([3, 1, 0])).round(6))
        5.884976
    """
    n, states = np.maximum(counts.sum(axis=-1), 1), counts.shape[-1]
    return np.asarray(aic_score.aic(counts) + states * (np.log(n) - 2))
