"""Least squares and logistic regression that never refuse: what cannot be estimated is NaN.

An evaluation must also score a synthetic set in which a level is absent or a likelihood has no
maximum; `understudy.inference` refuses these, as it should for an analyst.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
        covariance: of the estimates, shape (p, p), NaN where `estimate` is; of a logistic
            regression only.
        reasons: why each coefficient is not determined, "" where it is; empty where that was not
            asked (`understudy.evaluation.utility.identification`).
    """

    estimate: Vector
    stderr: Vector
    reach: float
    shrunk: bool = False
    covariance: Vector | None = field(default=None, repr=False)
    reasons: tuple[str, ...] = ()

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Coefficients that the table determines, shape (p,)."""
        return np.array([not reason for reason in self.reasons], dtype=np.bool_)

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
    if binary:
        return fit_counts(y, x, np.ones(len(y)))
    estimate, stderr = np.full(x.shape[1], np.nan), np.full(x.shape[1], np.nan)
    used = independent(x)
    n, p = len(y), int(used.sum())
    if n <= p or np.ptp(y) == 0:
        return Fit(estimate, stderr, 0.0)
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


def fit_counts(y: Vector, x: Vector, counts: Vector) -> Fit:
    """Logistic regression on rows that occur several times each; as `fit` to all of them.

    Where one value of an indicator goes with one outcome only, the likelihood has no maximum, which
    is seen at once and not by a search that runs away.

    Args:
        y: outcome, 0 or 1, shape (k,).
        x: design with its intercept, shape (k, p).
        counts: how often each row occurs, above 0, shape (k,).
    """
    p = x.shape[1]
    estimate, covariance = np.full(p, np.nan), np.full((p, p), np.nan)
    used = independent(x)
    if counts.sum() <= used.sum() or y.min() == y.max():
        return Fit(estimate, estimate.copy(), 0.0, covariance=covariance)
    found, square, shrunk = _logistic(y, x[:, used], counts)
    estimate[used] = found
    covariance[np.ix_(used, used)] = square
    stderr = np.sqrt(np.diag(covariance))
    return Fit(estimate, stderr, float(stats.norm.ppf(0.975)), shrunk, covariance)


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


def _logistic(y: Vector, x: Vector, counts: Vector) -> tuple[Vector, Vector, bool]:
    """Maximum of the likelihood; with a normal prior if it has none.

    The prior has standard deviation 5 on coefficients of columns scaled to standard deviation 1.

    Returns:
        Estimates; their covariance; whether the prior was needed.
    """
    mean = counts @ x / counts.sum()
    spread = np.sqrt(counts @ (x - mean) ** 2 / counts.sum())
    scale = np.where(spread > 0, spread, 1.0)
    scaled, sound = x / scale, False
    if not _one_sided(y, x, counts):
        estimate, covariance, sound = _newton(y, scaled, counts, np.zeros(x.shape[1]))
    if not sound:
        penalty = np.where(spread > 0, _PRIOR_SD**-2, 1e-8)
        estimate, covariance, _ = _newton(y, scaled, counts, penalty)
    return estimate / scale, covariance / np.outer(scale, scale), not sound


def _one_sided(y: Vector, x: Vector, counts: Vector) -> bool:
    """Whether one value of an indicator goes with one outcome only, so that there is no maximum."""
    indicators = x[:, ((x == 0) | (x == 1)).all(axis=0)]
    ones, all_ones = (counts * y) @ indicators, counts @ indicators
    zeros, all_zeros = counts @ y - ones, counts.sum() - all_ones
    pure = [
        (all_ > 0) & ((hits == 0) | (hits == all_))
        for hits, all_ in ((ones, all_ones), (zeros, all_zeros))
    ]
    return bool(np.any(pure))


def _newton(y: Vector, x: Vector, counts: Vector, penalty: Vector) -> tuple[Vector, Vector, bool]:
    """Newton's method with halved steps; also whether it ended at an inner maximum."""
    estimate = np.zeros(x.shape[1])
    value, converged = _objective(y, x, counts, estimate, penalty), False
    for _ in range(_STEPS):
        mean = expit(x @ estimate)
        information = (x * (counts * mean * (1 - mean))[:, None]).T @ x + np.diag(penalty)
        gradient = x.T @ (counts * (y - mean)) - penalty * estimate
        covariance = np.linalg.pinv(information, hermitian=True)
        step = covariance @ gradient
        ahead = _objective(y, x, counts, estimate + step, penalty)
        while ahead < value - 1e-9 and np.abs(step).max() > 0:
            step = step / 2
            ahead = _objective(y, x, counts, estimate + step, penalty)
        estimate, value = estimate + step, ahead
        converged = bool(gradient @ covariance @ gradient < _TOLERANCE)
        if converged or np.abs(x @ estimate).max() > 4 * _SEPARATED:
            break
    within = bool(np.abs(x @ estimate).max() < 2 * _SEPARATED)
    return estimate, covariance, converged and within


def _objective(y: Vector, x: Vector, counts: Vector, estimate: Vector, penalty: Vector) -> float:
    score = x @ estimate
    each = y * score - np.logaddexp(0, score)
    return float(counts @ each - penalty @ estimate**2 / 2)
