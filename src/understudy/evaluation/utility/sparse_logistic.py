"""Logistic regression on sparse indicators, for one labelling and for many at once.

The columns are first made orthonormal by a pivoted Cholesky factor, which finds the rank and makes
few iterations enough: in the new coordinates the log-likelihood is curved by at most 1/4 in every
direction (Böhning & Lindsay 1988, Annals of the Institute of Statistical Mathematics 40, 641-663).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.special import expit

from understudy.arrays import Floats

_SINGULAR = 1e-9
_STEPS = 200
_NULL_STEPS = 50
_NULL_TOLERANCE = 1e-4
_LARGEST_STEP = 8.0
_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Logistic:
    """A design that labels are regressed on.

    Attributes:
        design: zeros and ones, shape (n, columns), with an intercept among the columns.
    """

    design: sp.csr_matrix
    _whitening: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        gram = _gram(self.design)
        length = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        factor, order, rank, _ = lapack.dpstrf(gram / np.outer(length, length), tol=_SINGULAR)
        used = order[:rank] - 1
        whitening = np.zeros((len(gram), rank))
        whitening[used] = linalg.solve_triangular(factor[:rank, :rank], np.eye(rank))
        object.__setattr__(self, "_whitening", whitening / length[:, None])

    @property
    def rank(self) -> int:
        """Number of parameters that can be estimated, the intercept included."""
        return int(self._whitening.shape[1])

    def fit(self, label: NDArray[np.bool_]) -> Floats:
        """Fitted probability that each row is labelled, shape (n,).

        Where a group holds one label only, the estimate is infinite; its probability is then within
        10⁻⁴ or so of 0 or 1, where the search stops.
        """
        target = label.astype(np.float64)

        def loss(u: Floats) -> tuple[float, Floats]:
            score = self._score(u)
            value = float(np.logaddexp(0, score).sum() - score @ target)
            return value, self._whitening.T @ (self.design.T @ (expit(score) - target))

        options: dict[str, Any] = {"maxiter": _STEPS, "ftol": 1e-9, "gtol": 1e-4}
        start = np.zeros(self.rank)
        optimum = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(expit(self._score(optimum.x)))

    def fit_many(self, labels: NDArray[np.bool_]) -> Floats:
        """The same for many labellings that tell little about the rows, such as permuted ones.

        Newton's steps with the curvature of no effect, c(1 - c) for a share c of labelled rows;
        they converge in a few steps as long as fitted probabilities stay near c, and always if a
        step is at most 8 (twice the bound).

        Args:
            labels: shape (n, repetitions), each column with the same number of labelled rows.

        Returns:
            Shape (n, repetitions).
        """
        share = float(labels[:, 0].mean())
        step = min(1 / (share * (1 - share)), _LARGEST_STEP)
        u = np.zeros((self.rank, labels.shape[1]))
        fitted = np.full(labels.shape, share)
        for _ in range(_NULL_STEPS):
            ascent = step * (self._whitening.T @ (self.design.T @ (labels - fitted)))
            u += ascent
            fitted = expit(self._score(u))
            if np.abs(ascent).max() < _NULL_TOLERANCE:
                break
        return np.asarray(fitted)

    def _score(self, u: Floats) -> Floats:
        return np.asarray(self.design @ (self._whitening @ u))


def _gram(design: sp.csr_matrix) -> Floats:
    """Numbers of rows that two columns share, by dense blocks: faster than a sparse product.

    Single precision is exact here, as a block has fewer than 2²⁴ rows and the design holds ones.
    """
    gram = np.zeros((design.shape[1],) * 2)
    for start in range(0, design.shape[0], _BLOCK_ROWS):
        block = design[start : start + _BLOCK_ROWS].astype(np.float32).toarray()
        gram += block.T @ block
    return gram
