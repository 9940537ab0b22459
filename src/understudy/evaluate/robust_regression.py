"""Least squares and logistic regression that never refuse: what cannot be estimated is NaN.

An evaluation must also score a synthetic set in which a level is absent or a likelihood has no
maximum; `understudy.inference` refuses these, as it should for an analyst.

**What a table determines.** A coefficient has no interval to compare with in three cases:

* **collinear**: some combination of terms is 0 for every record and the coefficient has a part in
  it, so that it can be moved without moving any prediction. That is so of *every* term of the
  combination, not only of the last one, which a fit leaves out: where c = a + b in one table and
  not in another, "a given b" is another quantity in each. A term that does not vary, or that no
  record has, is of this kind.
* **separated**: the likelihood of a logistic model rises without end along a direction that moves
  the coefficient. Records whose outcome the direction predicts for certain say nothing more; the
  coefficient is determined if the records that are left determine it (Geyer 2009).
* **exact**: least squares fit without error what bears on the coefficient, say where the outcome is
  0 for everybody in the group of reference. Its interval has no width but that of rounding, about
  10⁻¹⁶, and a ratio of widths to it says nothing.

Sources: Albert & Anderson (1984), Biometrika 71, 1-10; Geyer (2009), "Likelihood inference in
exponential families and directions of recession", Electronic Journal of Statistics 3, 259-289.

**Logistic regression on sparse indicators, for one labelling and for many at once.**

The columns are first made orthonormal by a pivoted Cholesky factor, which finds the rank and makes
few iterations enough: in the new coordinates the log-likelihood is curved by at most 1/4 in every
direction (Böhning & Lindsay 1988, Annals of the Institute of Statistical Mathematics 40, 641-663).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import linalg, stats
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.special import expit

from understudy._arrays import Z_95, Flags, Floats
from understudy.inference.regression_models import find_separation

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
            asked.
    """

    estimate: Floats
    stderr: Floats
    reach: float
    shrunk: bool = False
    covariance: Floats | None = field(default=None, repr=False)
    reasons: tuple[str, ...] = ()

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Coefficients that the table determines, shape (p,)."""
        return np.array([not reason for reason in self.reasons], dtype=np.bool_)

    @property
    def lower(self) -> Floats:
        """Lower ends of the 95 % intervals, shape (p,)."""
        return self.estimate - self.reach * self.stderr

    @property
    def upper(self) -> Floats:
        """Upper ends of the 95 % intervals, shape (p,)."""
        return self.estimate + self.reach * self.stderr


def fit(y: Floats, x: Floats, *, binary: bool) -> Fit:
    """Fit a regression to the linearly independent columns of a design.

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


def independent(x: Floats) -> NDArray[np.bool_]:
    """Mark columns that are no linear combination of those before them, shape (p,)."""
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


def fit_counts(y: Floats, x: Floats, counts: Floats, start: Floats | None = None) -> Fit:
    """Logistic regression on rows that occur several times each; as `fit` to all of them.

    Where one value of an indicator goes with one outcome only, the likelihood has no maximum, which
    is seen at once and not by a search that runs away.

    Args:
        y: outcome, 0 or 1, shape (k,).
        x: design with its intercept, shape (k, p).
        counts: how often each row occurs, above 0, shape (k,).
        start: where a search that shrinks begins, shape (p,), say the estimate of a table like this
            one; it saves steps, the maximum being one. All 0 if None or where not finite.
    """
    p = x.shape[1]
    estimate, covariance = np.full(p, np.nan), np.full((p, p), np.nan)
    used = independent(x)
    if counts.sum() <= used.sum() or y.min() == y.max():
        return Fit(estimate, estimate.copy(), 0.0, covariance=covariance)
    first = np.zeros(p) if start is None else np.nan_to_num(start, posinf=0.0, neginf=0.0)
    coefficients, square, shrunk = _logistic(y, x[:, used], counts, first[used])
    estimate[used] = coefficients
    covariance[np.ix_(used, used)] = square
    stderr = np.sqrt(np.diag(covariance))
    return Fit(estimate, stderr, Z_95, shrunk, covariance)


def _least_squares(y: Floats, x: Floats) -> tuple[Floats, Floats]:
    n, p = x.shape
    q, r = np.linalg.qr(x)
    estimate = linalg.solve_triangular(r, q.T @ y)
    residual = y - x @ estimate
    inner = (q * residual[:, None] ** 2).T @ q * n / (n - p)
    half = linalg.solve_triangular(r, linalg.cholesky(inner + _floor(inner), lower=True))
    return estimate, np.sqrt((half**2).sum(axis=1))


def _floor(matrix: Floats) -> Floats:
    """A trace of the identity, so that a perfect fit has a Cholesky factor too."""
    return np.asarray(np.eye(len(matrix)) * (1e-14 * np.trace(matrix) + 1e-300))


def _logistic(y: Floats, x: Floats, counts: Floats, start: Floats) -> tuple[Floats, Floats, bool]:
    """Maximum of the likelihood; with a normal prior if it has none.

    The prior has standard deviation 5 on coefficients of columns scaled to standard deviation 1.
    A search without it starts at 0, so that one that runs away is told by how far it came.

    Returns:
        Estimates; their covariance; whether the prior was needed.
    """
    mean = counts @ x / counts.sum()
    spread = np.sqrt(counts @ (x - mean) ** 2 / counts.sum())
    scale = np.where(spread > 0, spread, 1.0)
    scaled, sound = x / scale, False
    if not _one_sided(y, x, counts):
        zero = np.zeros(x.shape[1])
        estimate, covariance, sound = _newton(y, scaled, counts, zero, zero)
    if not sound:
        penalty = np.where(spread > 0, _PRIOR_SD**-2, 1e-8)
        estimate, covariance, _ = _newton(y, scaled, counts, penalty, start * scale)
    return estimate / scale, covariance / np.outer(scale, scale), not sound


def _one_sided(y: Floats, x: Floats, counts: Floats) -> bool:
    """Return whether one value of an indicator goes with one outcome: then there is no maximum."""
    indicators = x[:, ((x == 0) | (x == 1)).all(axis=0)]
    ones, all_ones = (counts * y) @ indicators, counts @ indicators
    zeros, all_zeros = counts @ y - ones, counts.sum() - all_ones
    pure = [
        (all_ > 0) & ((hits == 0) | (hits == all_))
        for hits, all_ in ((ones, all_ones), (zeros, all_zeros))
    ]
    return bool(np.any(pure))


def _newton(
    y: Floats, x: Floats, counts: Floats, penalty: Floats, start: Floats
) -> tuple[Floats, Floats, bool]:
    """Newton's method with halved steps; also whether it ended at an inner maximum."""
    estimate = start
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


def _objective(y: Floats, x: Floats, counts: Floats, estimate: Floats, penalty: Floats) -> float:
    score = x @ estimate
    each = y * score - np.logaddexp(0, score)
    return float(counts @ each - penalty @ estimate**2 / 2)


COLLINEAR, SEPARATED, EXACT, UNFITTED = "collinear", "separated", "exact", "not fitted"
REASONS = {
    COLLINEAR: "follows from other terms, or does not vary",
    SEPARATED: "predicts the outcome of some records for certain, so no estimate is finite",
    EXACT: "is fitted without any error",
    UNFITTED: "too few records, or an outcome that does not vary",
}
"""Reason → what it means."""

_NULL = 1e-9
_PART = 1e-6
_LARGE_PREDICTOR = 10.0  # beyond e^±10 look whether the likelihood has a maximum
_ROUNDING = 1e-5


def diagnose_fit(fitted: Fit, y: Floats, x: Floats, *, binary: bool) -> Fit:
    """A fit that says of each coefficient why it is not determined, or "".

    Args:
        fitted: the fit of the regression.
        y: outcome, shape (n,).
        x: design, shape (n, p).
        binary: whether it is a logistic regression.
    """
    if np.isnan(fitted.estimate).all():
        return replace(fitted, reasons=(UNFITTED,) * x.shape[1])
    reasons = np.full(x.shape[1], "", dtype=object)
    if binary:
        reasons[find_separated(y, x, fitted)] = SEPARATED
    else:
        reasons[_without_error(fitted, y, x)] = EXACT
    reasons[find_undetermined(x)] = COLLINEAR
    return replace(fitted, reasons=tuple(reasons.tolist()))


def find_undetermined(x: Floats) -> Flags:
    """Columns with a part in a combination of columns that is 0 in every row, shape (p,).

    Args:
        x: design, shape (n, p); without rows nothing is determined.

    >>> a, b = np.array([0.0, 1, 0, 1]), np.array([0.0, 0, 1, 1])
    >>> find_undetermined(np.stack([np.ones(4), a, b, a + b], axis=1)).tolist()
    [False, True, True, True]
    """
    length = np.linalg.norm(x, axis=0)
    scaled = x / np.where(length > 0, length, 1.0)
    sizes, directions = np.linalg.eigh(scaled.T @ scaled)
    return np.asarray(np.abs(directions[:, sizes < _NULL]).max(axis=1, initial=0.0) > _PART)


def find_separated(y: Floats, x: Floats, fitted: Fit) -> Flags:
    """Coefficients of a logistic regression that separation leaves without an estimate, shape (p,).

    Args:
        y: outcome, 0 or 1, shape (n,).
        x: design, shape (n, p).
        fitted: its fit; where no prediction is near 0 or 1 there is nothing to look for.
    """
    predictor = x @ np.nan_to_num(fitted.estimate)
    if not fitted.shrunk and np.abs(predictor).max() < _LARGE_PREDICTOR:
        return np.zeros(x.shape[1], dtype=np.bool_)
    rows = np.unique(np.column_stack([y, x]), axis=0)
    outcome, left = rows[:, 0], rows[:, 1:]
    while len(left):
        used = independent(left)
        direction = find_separation("logit", outcome, left[:, used])
        if direction is None:
            break
        scale = np.abs(left[:, used]).max(axis=0)
        certain = np.abs(left[:, used] / scale @ direction) > _PART
        if not certain.any():
            break
        outcome, left = outcome[~certain], left[~certain]
    return find_undetermined(left) & ~find_undetermined(x)


def _without_error(fitted: Fit, y: Floats, x: Floats) -> Flags:
    """Coefficients whose standard error is rounding, beside that of an outcome without relation."""
    spread = x.std(axis=0)
    unit = y.std() / (np.where(spread > 0, spread, 1.0) * np.sqrt(len(y)))
    with np.errstate(invalid="ignore"):
        return np.asarray(fitted.stderr < _ROUNDING * unit)


_SINGULAR = 1e-9
_LOGISTIC_STEPS = 200
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

        options: dict[str, Any] = {"maxiter": _LOGISTIC_STEPS, "ftol": 1e-9, "gtol": 1e-4}
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
