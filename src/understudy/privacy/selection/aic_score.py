r"""AIC of one column within a node, the score by which STEPS divides a node (Bowen, Liu & Su 2021).

**Score.** A node v holds n records, n_k of them in state k of a column of K public states. The
univariate log-linear model has

    log L = log n! - Σ log n_k! + Σ n_k log(n_k / n),    AIC = -2 log L + 2K,

and the column of *smallest* AIC is the best: the score is -AIC. With s(k) = log k! - k log k + k
and s(0) = 0, log L = s(n) - Σ s(n_k): the linear terms cancel, and no large numbers are left to
cancel in floating point either, as s(k) is about ½ log(2πk).

**Sensitivity.** s(k) − s(k−1) = 1 − g(k) with g(1) = 0, g(k) = (k−1) log(k/(k−1)), increasing to 1.
Adding a record of state j to the node changes AIC by

    −2[(1 − g(n+1)) − (1 − g(n_j+1))] = 2(g(n+1) − g(n_j+1)) ∈ [0, 2),

since n_j ≤ n. So under add/remove every AIC moves one way, by less than 2: the score is monotone
with Δ = 2, and exp(−ε·AIC/2) is ε-DP. **K must be the number of public states.** With the number
of *occupied* states, as in the proof of lemma 1 of the paper, a first record of a state adds 2 more
and the supremum is 4; without the multinomial coefficient it grows like 2 log n.

Under replace inside a node one record leaves and one enters, so AIC changes by less than 2 either
way: Δ = 2, no longer monotone, and exp(−ε·AIC/4) is ε-DP (eq. 5 of the paper).

**All nodes of a layer together cost ε once.** Nodes are disjoint. Under add/remove the record is in
one node. Under replace it may leave one node and enter another: all AICs of the first fall by less
than 2 and all of the second rise by less than 2. Within one node a shift of all scores one way by
less than Δ changes log P, at the rate ε/(2Δ), by less than ε/2 (with all weights moving by factors
in [1, e^{ε/2}], so does their sum). Both together: less than ε. The choices are independent given
the rows, so the layer is ε-DP. Under zCDP the same two nodes have ranges ε/2 each, and
2·(ε/2)²/8 ≤ ε²/8. An empty node has log L = 0: its AICs are 2K, and it is divided like any other.

**Groups.** All columns may instead be divided into two groups, of which one divides the root. The
score is the mean AIC of the other group less the mean AIC of that one. (The paper takes the
absolute difference and then puts the better group first; which one that is depends on the rows as
well, so here a candidate is an ordered pair.) Under add/remove both means rise by an amount in
[0, 2), so Δ = 2, not monotone; under replace both move by less than 2 either way, so Δ = 4. An
absolute difference changes by no more than the difference does: 2^(p−1) − 1 unordered pairs of
groups of p columns have the same Δ, and which of the two comes first is one more choice.

`tests/privacy/mechanisms/choices/test_tree_split.py` enumerates the neighbours.

Sources: Bowen, Liu & Su (2021), METRON 79, arXiv:1803.06763, §2.2.3 and lemma 1, with the
corrections above.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from understudy.domain.cell_tree import Split
from understudy.privacy.accounting.budget import Neighbours

SENSITIVITY = Fraction(2)
_SERIES_FROM = 64

Floats = NDArray[np.float64]


def group_sensitivity(neighbours: Neighbours) -> Fraction:
    """Largest change of the difference of two mean AICs between neighbours."""
    return SENSITIVITY if neighbours == "add_remove" else 2 * SENSITIVITY


def aic(counts: NDArray[Any]) -> Floats:
    """AIC of the univariate log-linear model.

    Args:
        counts: records in each public state, shape (..., states).

    Returns:
        Shape (...).

    Example:
        >>> float(aic(np.array([3, 1, 0])).round(6))
        7.726092
    """
    likelihood = _excess(counts.sum(axis=-1)) - _excess(counts).sum(axis=-1)
    return np.asarray(-2 * likelihood + 2 * counts.shape[-1])


def ordered_groups(columns: Sequence[int]) -> list[Split]:
    """All proper groups of columns that could divide the root, the others being left to the leaves.

    Example:
        >>> ordered_groups((0, 1, 2))
        [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    sizes = range(1, len(columns))
    return [group for size in sizes for group in combinations(columns, size)]


def unordered_groups(columns: Sequence[int]) -> list[Split]:
    """One group of each pair into which columns can be divided: the one with the first column.

    Example:
        >>> unordered_groups((0, 1, 2)), len(unordered_groups(range(5)))
        ([(0,), (0, 1), (0, 2)], 15)
    """
    return [group for group in ordered_groups(columns) if columns[0] in group]


def group_scores(scores: Floats, groups: Sequence[Split]) -> Floats:
    """Mean AIC of the columns outside each group less that of those in it, shape (groups,).

    Args:
        scores: AIC of each column, shape (columns,).
        groups: places in `scores`.
    """
    inside = np.zeros((len(groups), len(scores)))
    for row, group in zip(inside, groups, strict=True):
        row[list(group)] = 1
    size = inside.sum(axis=1)
    within = inside @ scores
    return np.asarray((scores.sum() - within) / (len(scores) - size) - within / size)


def _excess(counts: NDArray[Any]) -> Floats:
    """Log k! − k log k + k, and 0 at 0; the Stirling series where the terms would cancel."""
    k = np.asarray(counts, dtype=np.float64)
    large = np.maximum(k, _SERIES_FROM)
    series = 0.5 * np.log(2 * np.pi * large) + 1 / (12 * large) - 1 / (360 * large**3)
    small = np.minimum(k, _SERIES_FROM)
    return np.where(k > _SERIES_FROM, series, gammaln(small + 1) - xlogy(small, small) + small)
