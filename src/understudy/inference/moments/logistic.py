"""Logistic and Poisson models from noisy second moments and the records of the synthetic sets.

With design x, outcome y and mean μ(x'β), coefficients solve

    U(β) = Σ x y − Σ x μ(x'β) = 0.                                                             (1)

The first sum is X'y = W M w, which was measured (W, w the weights of the terms in the scores, M
their second moments). The second is a function of the predictors alone, estimated from synthetic
records that are calibrated to the measured moments (`calibrated_records`): of x μ, what is
quadratic in the terms rests on M, and of one predictor of levels all, so that the estimate is the
log odds ratio of the measured table. With synthetic records that are the rows and no noise the
estimate is that of the rows.

Variance, by H = Σ w μ'(x'β) x x', to first order H⁻¹ V H⁻¹ with V the sum of

* *noise*: (1) is linear in M for given β: exact, number by number (`noise_covariance`);
* *sampling*: Σ (y − μ)² x x'. Of a 0/1 outcome its mean is Σ μ(1 − μ) x x' = H, if the model is
  right: as it is for the rows' own information matrix. Of counts it has the *shape* that it has
  with the synthetic records and their own fit, and the *size* Σ y² − Σ w μ², which is Σ (y − μ)²
  if the model is right: variance need not equal mean;
* *misfit*: n² cov(e) times the mean square by which records are off in a direction, where e is
  what second moments do not explain of x μ. Where it would be most of the variance of a
  coefficient, there is no answer.

**When it holds.** All of it is of first order, as in `least_squares`: each eigenvalue of H (its
columns scaled to the same size) must exceed `FIRM_MODEL` standard deviations of its noise. U is
curved: rare outcomes within rare levels have lopsided intervals. So the standard error is *widened*
until the score, at the ends of the interval, leaves both tails together no more than `_TAILS`: that
is an interval as wide as the score test of Rao gives, to the side where it is wider. Where that
takes more than `_WIDEST`, there is no answer. It is judged strictly by what the synthetic records
say, whose noise is not that of the moments, so that the choice whether to answer does not favour
errors in one direction; and loosely at the estimate itself.

Sources: Ferrando, Wang & Sheldon (2022), AISTATS, for sufficient statistics with noise; McCullagh
& Nelder (1989), Generalized Linear Models; Rao (1948), Proceedings of the Cambridge Philosophical
Society 44, 50-57. `calibrated_records` has those of the calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from scipy.special import expit, ndtr

from understudy.arrays import Floats
from understudy.inference.moments.calibrated_records import CalibratedRecords, calibrated
from understudy.inference.moments.firmness import FIRM_MODEL, LostInNoiseError, lost
from understudy.inference.moments.moment_matrix import MomentMatrix

_TAILS: Final = 0.055
_WIDEST: Final = (1.3, 3.0)  # by the synthetic records, and at the estimate
_TRIALS: Final = 8
_Z: Final = 1.96
"""Least information, in standard deviations of its noise: these intervals are of first order."""
_SINGULAR: Final = 1e-12
_STEPS: Final = 50
_HALVINGS: Final = 30
_CLOSE: Final = 1e-12  # of the likelihood, what a last step gains


@dataclass(frozen=True)
class ScoreFit:
    """Coefficients, and the parts of their covariance.

    Attributes:
        estimate: shape (p,).
        noise: by privacy noise, shape (p, p).
        sampling: by sampling, shape (p, p).
        misfit: by what the synthetic records may have wrong beyond second moments, shape (p, p).
        explained: share of the variance of x μ(x'β) over the records that second moments explain,
            for each term, shape (p,).
        firmness: smallest eigenvalue of the scaled H in standard deviations of its noise.
        widening: of each standard error, for intervals that would be lopsided, shape (p,).
        bias: bound on what was not measured, shape (p,) (`MomentMatrix.hidden`).
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    misfit: Floats
    explained: Floats
    firmness: float
    widening: Floats
    bias: Floats


@dataclass(frozen=True)
class Family:
    """A mean as a function of x'β.

    Attributes:
        mean: μ, the inverse of the canonical link.
        slope: its derivative.
        potential: its integral.
    """

    mean: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    potential: Callable[[Floats], Floats]


FAMILIES: Final = {
    "logit": Family(
        mean=expit,
        slope=lambda eta: np.asarray(expit(eta) * expit(-eta)),
        potential=lambda eta: np.logaddexp(0.0, eta),
    ),
    "poisson": Family(mean=np.exp, slope=np.exp, potential=np.exp),
}


def score_model(
    kind: str,
    matrix: MomentMatrix,
    design: Floats,
    outcome: Floats,
    sets: Sequence[tuple[Floats, Floats]],
) -> ScoreFit:
    """A logistic or Poisson model.

    Args:
        kind: "logit" or "poisson".
        matrix: second moments.
        design: weights of its p terms, shape (p, s + 1).
        outcome: weights of the outcome, shape (s + 1,).
        sets: outcome (n,) and design (n, p) of the complete records of each synthetic set.

    Raises:
        LostInNoiseError: what was measured is lost in its noise, or says too little.
    """
    records = calibrated(matrix, design, outcome, sets)
    fit = _fit(kind, records)
    if fit.firmness < FIRM_MODEL:
        raise _lost(fit.firmness)
    if (np.diag(fit.misfit) > np.diag(fit.noise + fit.sampling)).any():
        raise LostInNoiseError(
            "Second moments say too little of this model: its coefficients would rest on relations "
            "among three predictors or more, or on how numbers are spread, as the synthetic "
            "records have them; take fewer predictors, or coarser ones."
        )
    drawn = records.uncalibrated()
    _widening(kind, drawn, _fit(kind, drawn), _WIDEST[0])
    wider = _widening(kind, records, fit, _WIDEST[1])
    scale = np.multiply.outer(wider, wider)
    return replace(
        fit,
        noise=fit.noise * scale,
        sampling=fit.sampling * scale,
        misfit=fit.misfit * scale,
        widening=wider,
    )


def _fit(kind: str, records: CalibratedRecords) -> ScoreFit:
    """The solution for some weights and sums, and the parts of its covariance."""
    family, x = FAMILIES[kind], records.x
    estimate = _solution(family, x, records.weights, records.crossed)
    eta = x @ estimate
    slope, added = family.slope(eta), x * family.mean(eta)[:, None]
    information = _weighted(x, records.weights * slope)
    try:
        inverse = np.linalg.inv(information)
    except np.linalg.LinAlgError:  # a level that weighs nothing, or as much as another
        raise _lost(0.0) from None
    gamma = records.regression(added)
    change = np.hstack([np.eye(len(estimate)), -gamma, np.zeros((len(estimate), 1))])
    spread = information if kind == "logit" else _spread(family, records, eta)
    rest = np.cov(added - records.t @ gamma.T, rowvar=False).reshape(information.shape)
    return ScoreFit(
        estimate=estimate,
        noise=inverse @ (change @ records.noise @ change.T) @ inverse,
        sampling=inverse @ spread @ inverse,
        misfit=inverse @ (rest * records.n**2 * records.misfit()) @ inverse,
        explained=1 - np.diag(rest) / np.maximum(added.var(axis=0, ddof=1), 1e-300),
        firmness=_firmness(records, slope, information),
        widening=np.ones(len(estimate)),
        bias=records.hidden(np.asarray(inverse @ change)),
    )


def _solution(family: Family, x: Floats, weights: Floats, crossed: Floats) -> Floats:
    """Solution of Σ x y = Σ w x μ(x'β) by Newton's method from β = 0.

    Raises:
        LostInNoiseError: there is none, or H on the way is not positive definite.
    """
    beta = np.zeros(x.shape[1])
    value = _likelihood(family, x, weights, crossed, beta)
    for taken in range(_STEPS):
        eta = x @ beta
        score = crossed - x.T @ (weights * family.mean(eta))
        information = _weighted(x, weights * family.slope(eta))
        diagonal = np.diag(information)  # one that is not positive stays, and is refused below
        size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        try:
            np.linalg.cholesky(information / np.outer(size, size))
            step = np.linalg.solve(information / np.outer(size, size), score / size) / size
        except np.linalg.LinAlgError:
            raise (_endless() if taken else _lost(0.0)) from None
        gain = float(score @ step)
        if gain <= _CLOSE * (len(x) + abs(value)):
            return beta + step
        for _ in range(_HALVINGS):
            after = _likelihood(family, x, weights, crossed, beta + step)
            if np.isfinite(after) and after >= value:
                break
            step /= 2
        else:
            raise _endless()
        beta, value = beta + step, after
    raise _endless()


def _likelihood(family: Family, x: Floats, weights: Floats, crossed: Floats, beta: Floats) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(crossed @ beta - weights @ family.potential(x @ beta))


def _weighted(x: Floats, weights: Floats) -> Floats:
    """Σ w x x', shape (p, p)."""
    return np.asarray((x.T * weights) @ x)


def _firmness(records: CalibratedRecords, slope: Floats, information: Floats) -> float:
    """The least eigenvalue of H in standard deviations of its noise; at most 0 if none is firm."""
    size = np.sqrt(np.maximum(np.diag(information), 0))
    if not (size > 0).all():
        return 0.0
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    if values[0] <= _SINGULAR:
        return 0.0
    gamma = records.regression((records.x / size @ vectors) ** 2 * slope[:, None])
    stddev = np.sqrt(np.einsum("ki,ij,kj->k", gamma, records.moment_noise, gamma).clip(0))
    with np.errstate(divide="ignore"):
        return float((values / stddev).min())


def _spread(family: Family, records: CalibratedRecords, eta: Floats) -> Floats:
    """Σ (y − μ)² x x' of counts."""
    y, x, ones = records.y, records.x, np.ones(len(records.y))
    own = _solution(family, x, ones, x.T @ y)
    shape = (y - family.mean(x @ own)) ** 2
    size = records.squares - records.weights @ family.mean(eta) ** 2
    size = max(size, 2 * np.sqrt(records.noise[-1, -1]))
    if not shape.any():
        shape = family.mean(eta)
    return _weighted(x, shape * (size / shape.sum()))


def _widening(kind: str, records: CalibratedRecords, fit: ScoreFit, widest: float) -> Floats:
    """How much wider each standard error must be, for its interval to have both its tails.

    Raises:
        LostInNoiseError: more than the widest.
    """
    family, x, covariance = FAMILIES[kind], records.x, fit.noise + fit.sampling + fit.misfit
    inverse = np.linalg.inv(_weighted(x, records.weights * family.slope(x @ fit.estimate)))
    stderr = np.sqrt(np.diag(covariance))

    def tails(j: int, factor: float) -> float:
        """Chances beyond both ends, by the score that it would have there."""
        both = np.array([[-1.0], [1.0]])
        ends = fit.estimate + both * factor * _Z * covariance[:, j] / stderr[j]
        with np.errstate(over="ignore", invalid="ignore"):
            means = family.mean(x @ ends.T) * records.weights[:, None]
            moved = -both[:, 0] * ((records.crossed - (means.T @ x)) @ inverse[j])
        return float(ndtr(-moved / stderr[j]).sum())

    return np.array([_least_factor(partial(tails, j), widest) for j in range(len(stderr))])


def _least_factor(tails: Callable[[float], float], widest: float) -> float:
    """The least factor of at least 1 that leaves tails no heavier than they may be."""
    if tails(1.0) <= _TAILS:
        return 1.0
    low, high = 1.0, widest
    if not tails(widest) <= _TAILS:
        raise LostInNoiseError(
            "An interval of this model would be lopsided under the privacy noise, since too few "
            "records have the outcome, or lack it, at some of the predictors: fewer predictors, "
            "coarser levels, more ε or more records would do."
        )
    for _ in range(_TRIALS):
        middle = (low + high) / 2
        low, high = (low, middle) if tails(middle) <= _TAILS else (middle, high)
    return high


def _lost(firmness: float) -> LostInNoiseError:
    what = "The predictors are not told apart clearly enough under the privacy noise"
    return lost(what, firmness, FIRM_MODEL)


def _endless() -> LostInNoiseError:
    return LostInNoiseError(
        "The model has no finite estimate under the privacy noise: the measured moments say that "
        "the outcome is always, or never, there for some of the predictors: fewer predictors, "
        "coarser levels, more ε or more records would do."
    )
