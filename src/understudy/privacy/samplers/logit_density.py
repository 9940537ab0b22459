"""The target of a Bayesian multinomial logit under record weights, on arrays.

Outcomes 0, …, m of n records with features x (an intercept first); outcome 0 is the reference:

    log P(k | x, B) = η_k - log(1 + Σ_l exp(η_l)),   η_k = x'B_k, η_0 = 0.

Priors are independent normal with mean 0 and public precisions λ. Under record weights α the log of
the target is, up to a constant,

    h(B) = Σ_k B_k's_k - Σ_i α_i·log(1 + Σ_l exp(x_i'B_l)) - ½ Σ_kj λ_j B_kj²,
    s_k = Σ_{i in outcome k} α_i·x_i,

with gradient s_k - Σ_i α_i P_ik x_i - λB_k, and -h has the positive definite matrix of second
derivatives Σ_i α_i (1[k = l]·P_ik - P_ik P_il) x_i x_i' + λ. So h is strictly concave, whatever the
rows: outcomes that features separate, or that never occur, have a proper posterior by their prior.

Several B ("chains") are evaluated at once, records block by block.

Source: Agresti (2013), Categorical Data Analysis, §8.1; the second derivatives: Böhning (1992),
Annals of the Institute of Statistical Mathematics 44.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.rejection_sampling import compiled
from understudy.privacy.samplers.column_model import Floats

__all__ = ["WeightedLogit", "own_logs"]

Integers = NDArray[np.int64]

BLOCK: Final = 1 << 16
"""Linear predictors in a block of records, about (½ MiB)."""


@dataclass(frozen=True, eq=False)
class WeightedLogit:
    """A target. CONFIDENTIAL.

    Attributes:
        design: x, shape (n, p).
        outcomes: from 0 to m, shape (n,).
        weights: α, shape (n,).
        size: m, how many outcomes there are beside the reference.
        precisions: λ of each feature, shape (p,).
    """

    design: Floats
    outcomes: Integers
    weights: Floats
    size: int
    precisions: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Of B: (m, p)."""
        return self.size, self.design.shape[1]

    def evaluated(self, points: Floats) -> tuple[Floats, Floats]:
        """Heights h and their gradients.

        Args:
            points: B of C chains, shape (C, m, p).

        Returns:
            Shapes (C,) and (C, m, p).
        """
        prior = self.precisions * points
        heights = np.sum((self._sums - 0.5 * prior) * points, axis=(1, 2))
        gradients = self._sums - prior
        flat = points.reshape(-1, self.design.shape[1])
        for part in _blocks(len(self.design), len(flat)):
            rows = self.design[part]
            shares = (rows @ flat.T).reshape(len(rows), *points.shape[:2])
            heights -= _normalised(shares, self.weights[part])
            gradients -= (shares.reshape(len(rows), -1).T @ rows).reshape(points.shape)
        return heights, gradients

    def curvature(self, point: Floats) -> Floats:
        """Second derivatives of -h.

        Args:
            point: B, shape (m, p).

        Returns:
            Shape (m·p, m·p), B laid flat.
        """
        m, p = self.shape
        matrix = np.zeros((m, p, m, p))
        for part in _blocks(len(self.design), max(m, p)):
            rows, weights = self.design[part], self.weights[part]
            shares = (rows @ point.T)[:, np.newaxis]
            _normalised(shares, np.ones(len(rows)))
            for k in range(m):
                for other in range(k, m):
                    by = shares[:, 0, k] * (float(k == other) - shares[:, 0, other]) * weights
                    matrix[k, :, other] += (rows * by[:, np.newaxis]).T @ rows
        for k in range(m):
            matrix[k, :, k] += np.diag(self.precisions)
            for other in range(k):
                matrix[k, :, other] = matrix[other, :, k].T
        return matrix.reshape(m * p, m * p)

    @cached_property
    def _sums(self) -> Floats:
        """s, shape (m, p)."""
        return np.array(
            [(self.weights * (self.outcomes == k)) @ self.design for k in range(1, self.size + 1)]
        ).reshape(self.shape)


def own_logs(points: Floats, design: Floats, outcomes: Integers) -> Floats:
    """Log probabilities of the records' own outcomes.

    Args:
        points: B of C draws, shape (C, m, p).
        design: shape (n, p).
        outcomes: from 0 to m, shape (n,).

    Returns:
        Shape (C, n).
    """
    logs = np.empty((len(points), len(design)))
    for row, point in zip(logs, points, strict=True):
        for part in _blocks(len(design), len(point)):
            predictors = (design[part] @ point.T)[:, np.newaxis]
            row[part] = _own(predictors, outcomes[part])
            row[part] -= _exponentials(predictors)[0][:, 0]
    return logs


def _blocks(records: int, width: int) -> Iterator[slice]:
    """Blocks of records with so many linear predictors each."""
    step = max(1, BLOCK // max(width, 1))
    for first in range(0, records, step):
        yield slice(first, first + step)


def _normalised(predictors: Floats, weights: Floats) -> Floats:
    """Weighted sums of log(1 + Σ exp η) over records, shape (C,).

    Args:
        predictors: η, shape (n, C, m); weighted probabilities α·P stand there in the end.
        weights: α, shape (n,).
    """
    logs, totals = _exponentials(predictors)
    _scaled(predictors, weights[:, np.newaxis] / totals)
    return np.asarray(weights @ logs)


def _exponentials(predictors: Floats) -> tuple[Floats, Floats]:
    """Log(1 + Σ exp η), and its sum of terms relative to the largest, shapes (n, C).

    Exponentials are taken between kernels, where numpy has them several at a time.

    Args:
        predictors: η, shape (n, C, m); terms relative to the largest stand there in the end.
    """
    tops = np.empty(predictors.shape[:2])
    _lowered(predictors, tops)
    np.exp(predictors, out=predictors)
    totals = np.exp(-tops)
    _added(predictors, totals)
    return tops + np.log(totals), totals


@compiled
def _lowered(predictors: Floats, tops: Floats) -> None:
    """Take the largest predictor away, the reference's 0 among them, and say it (kernel)."""
    n, chains, m = predictors.shape
    for i in range(n):
        for c in range(chains):
            row = predictors[i, c]
            top = 0.0
            for k in range(m):
                top = max(top, row[k])
            for k in range(m):
                row[k] -= top
            tops[i, c] = top


@compiled
def _added(terms: Floats, totals: Floats) -> None:
    """Add the terms of outcomes to totals (kernel)."""
    n, chains, m = terms.shape
    for i in range(n):
        for c in range(chains):
            row = terms[i, c]
            for k in range(m):
                totals[i, c] += row[k]


@compiled
def _scaled(terms: Floats, factors: Floats) -> None:
    """Multiply the terms of outcomes by a factor (kernel)."""
    n, chains, m = terms.shape
    for i in range(n):
        for c in range(chains):
            row = terms[i, c]
            for k in range(m):
                row[k] *= factors[i, c]


@compiled
def _own(predictors: Floats, outcomes: Integers) -> Floats:
    """Predictors of the records' own outcomes in one chain, shape (n,) (kernel)."""
    chosen = np.zeros(len(predictors))
    for i in range(len(predictors)):
        if outcomes[i] > 0:
            chosen[i] = predictors[i, 0, outcomes[i] - 1]
    return chosen
