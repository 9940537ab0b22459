"""Least squares and logistic regression that never refuse: what cannot be estimated is NaN.

An evaluation must also score a synthetic set in which a level is absent or a likelihood has no
maximum; `understudy.inference` refuses these, as it should for an analyst.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats
from scipy.special import expit

Vector = NDArray[np.float64]

_DEPENDENT = 1e-9
_STEPS = 40
_TOLERANCE = 1e-9
_SEPARATED = 15.0
_PRIOR_SD = 5.0


@dataclass(frozen=True)
class Fit:
    """Coefficients of one regression on one table.

    Attributes:
        estimate: shape (p,), NaN where a coefficient cannot be estimated.
        stderr: shape (p,).
        reach: how many standard errors the 95 % interval extends to each side.
        shrunk: whether the likelihood had no maximum, so that the estimates were shrunk.
    """

    estimate: Vector
    stderr: Vector
    reach: float
    shrunk: bool = False

    @property
    def lower(self) -> Vector:
        """Lower ends of the 95 % intervals, shape (p,)."""
        return self.estimate - self.reach * self.stderr

    @property
    def upper(self) -> Vector:
        """Upper ends of the 95 % intervals, shape (p,)."""
        return self.estimate + self.reach * self.stderr


def fit(y: Vector, x: Vector, *, binary: bool) -> Fit:
    """Fit a regression to the columns of a design that can be told apart.

    Args:
        y: outcome, shape (n,); 0 or 1 if binary.
        x: design with its intercept, shape (n, p).
        binary: logistic regression, errors from the information matrix; else least squares with
            heteroscedasticity-consistent errors (HC1: White 1980 with n/(n - p)).
    """
    estimate, stderr = np.full(x.shape[1], np.nan), np.full(x.shape[1], np.nan)
    used = independent(x)
    n, p = len(y), int(used.sum())
    if n <= p or np.ptp(y) == 0:
        return Fit(estimate, stderr, 0.0)
    if binary:
        estimate[used], stderr[used], shrunk = _logistic(y, x[:, used])
        return Fit(estimate, stderr, float(stats.norm.ppf(0.975)), shrunk)
    estimate[used], stderr[used] = _least_squares(y, x[:, used])
    return Fit(estimate, stderr, float(stats.t.ppf(0.975, n - p)))


def independent(x: Vector) -> NDArray[np.bool_]:
    """Which columns are no linear combination of those before them, shape (p,)."""
    length = np.linalg.norm(x, axis=0)
    scaled = x / np.where(length > 0, length, 1.0)
    gram = scaled.T @ scaled
    kept: list[int] = []
    for j in range(len(gram)):
        left = gram[j, j]
        if kept:
            left -= gram[j, kept] @ np.linalg.solve(gram[np.ix_(kept, kept)], gram[kept, j])
        if left > _DEPENDENT:
            kept.append(j)
    return np.isin(np.arange(len(gram)), kept)


def _least_squares(y: Vector, x: Vector) -> tuple[Vector, Vector]:
    n, p = x.shape
    q, r = np.linalg.qr(x)
    estimate = linalg.solve_triangular(r, q.T @ y)
    residual = y - x @ estimate
    inner = (q * residual[:, None] ** 2).T @ q * n / (n - p)
    half = linalg.solve_triangular(r, linalg.cholesky(inner + _floor(inner), lower=True))
    return estimate, np.sqrt((half**2).sum(axis=1))


def _floor(matrix: Vector) -> Vector:
    """A trace of the identity, so that a perfect fit has a Cholesky factor too."""
    return np.asarray(np.eye(len(matrix)) * (1e-14 * np.trace(matrix) + 1e-300))


def _logistic(y: Vector, x: Vector) -> tuple[Vector, Vector, bool]:
    """Maximum of the likelihood; with a normal prior if it has none.

    The prior has standard deviation 5 on coefficients of columns scaled to standard deviation 1.
    """
    spread = x.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    scaled = x / scale
    estimate, covariance, sound = _newton(y, scaled, np.zeros(x.shape[1]))
    if not sound:
        penalty = np.where(spread > 0, _PRIOR_SD**-2, 1e-8)
        estimate, covariance, _ = _newton(y, scaled, penalty)
    return estimate / scale, np.sqrt(np.diag(covariance)) / scale, not sound


def _newton(y: Vector, x: Vector, penalty: Vector) -> tuple[Vector, Vector, bool]:
    """Newton's method with halved steps; also whether it ended at an inner maximum."""
    estimate = np.zeros(x.shape[1])
    value, converged = _objective(y, x, estimate, penalty), False
    for _ in range(_STEPS):
        mean = expit(x @ estimate)
        information = (x * (mean * (1 - mean))[:, None]).T @ x + np.diag(penalty)
        gradient = x.T @ (y - mean) - penalty * estimate
        covariance = np.linalg.pinv(information, hermitian=True)
        step = covariance @ gradient
        while _objective(y, x, estimate + step, penalty) < value - 1e-9 and np.abs(step).max() > 0:
            step = step / 2
        estimate = estimate + step
        value = _objective(y, x, estimate, penalty)
        converged = bool(gradient @ covariance @ gradient < _TOLERANCE)
        if converged or np.abs(x @ estimate).max() > 4 * _SEPARATED:
            break
    within = bool(np.abs(x @ estimate).max() < 2 * _SEPARATED)
    return estimate, covariance, converged and within


def _objective(y: Vector, x: Vector, estimate: Vector, penalty: Vector) -> float:
    score = x @ estimate
    return float(y @ score - np.logaddexp(0, score).sum() - penalty @ estimate**2 / 2)
