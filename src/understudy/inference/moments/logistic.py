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

**When it holds.** All of this is of first order, as in `least_squares`: each eigenvalue of H (its
columns scaled to the same size) must exceed `FIRM_MODEL` standard deviations of its noise. U is
curved, and its variance changes with β: rare outcomes have lopsided intervals, so these come from
tests of the score (`score_intervals`). Where they would surely be so lopsided that one end is
hardly known, there is no answer: where the standard error must be more than `_WIDEST` times as wide
for both tails of the score, at the ends, to be no more than `_TAILS`. It is judged by what the
synthetic records say, whose noise is not that of the moments, so that the choice whether to answer
does not favour errors in one direction.

Sources: Ferrando, Wang & Sheldon (2022), AISTATS, for sufficient statistics with noise; McCullagh
& Nelder (1989), Generalized Linear Models; Rao (1948), Proceedings of the Cambridge Philosophical
Society 44, 50-57. `calibrated_records` has those of the calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from understudy.arrays import Floats
from understudy.inference.moments.calibrated_records import CalibratedRecords, calibrated
from understudy.inference.moments.firmness import FIRM_MODEL, LostInNoiseError
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.moments.score_equations import (
    FAMILIES,
    Family,
    not_apart,
    solution,
    weighted,
)

_TAILS: Final = 0.055
_WIDEST: Final = 1.5
_Z: Final = 1.96
_SINGULAR: Final = 1e-12


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
        bias: bound on what was not measured (`MomentMatrix.hidden`), shape (p,).
        records: that the model rests on.
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    misfit: Floats
    explained: Floats
    firmness: float
    bias: Floats
    records: CalibratedRecords


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
        raise not_apart(fit.firmness)
    if (np.diag(fit.misfit) > np.diag(fit.noise + fit.sampling)).any():
        raise LostInNoiseError(
            "Second moments say too little of this model: its coefficients would rest on relations "
            "among three predictors or more, or on how numbers are spread, as the synthetic "
            "records have them; take fewer predictors, or coarser ones."
        )
    drawn = records.uncalibrated()
    _require_both_ends(kind, drawn, _fit(kind, drawn))
    return fit


def _fit(kind: str, records: CalibratedRecords) -> ScoreFit:
    """The solution for some weights and sums, and the parts of its covariance."""
    family, x = FAMILIES[kind], records.x
    estimate = solution(family, x, records.weights, records.crossed)
    eta = x @ estimate
    slope, added = family.slope(eta), x * family.mean(eta)[:, None]
    information = weighted(x, records.weights * slope)
    inverse = _inverse(information)
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
        bias=records.hidden(np.asarray(inverse @ change)),
        records=records,
    )


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
    shape, size = shape_of(family, records), size_of(family, records, records.weights, eta)
    return weighted(records.x, shape * size)


def shape_of(family: Family, records: CalibratedRecords) -> Floats:
    """The part of each record in Σ (y − μ)² of counts, by their own fit, shape (N,)."""
    y, x, ones = records.y, records.x, np.ones(len(records.y))
    mean = family.mean(x @ solution(family, x, ones, x.T @ y))
    shape = (y - mean) ** 2
    return np.asarray(shape / shape.sum() if shape.any() else mean / mean.sum())


def size_of(family: Family, records: CalibratedRecords, weights: Floats, eta: Floats) -> float:
    """Σ (y − μ)² of counts, at least twice the standard deviation of the noise in Σ y².

    Args:
        family: of the model.
        records: with Σ y².
        weights: of records, shape (K,).
        eta: x'β of these, shape (K,).
    """
    size = records.squares - weights @ family.mean(eta) ** 2
    return max(float(size), 2 * float(np.sqrt(records.noise[-1, -1])))


def _inverse(information: Floats) -> Floats:
    """H⁻¹.

    Raises:
        LostInNoiseError: there is none, as a level weighs nothing, or as much as another.
    """
    try:
        return np.asarray(np.linalg.inv(information))
    except np.linalg.LinAlgError:
        raise not_apart(0.0) from None


def _require_both_ends(kind: str, records: CalibratedRecords, fit: ScoreFit) -> None:
    """Refuse a model of which an interval would be very lopsided.

    Raises:
        LostInNoiseError: it would.
    """
    family, x, covariance = FAMILIES[kind], records.x, fit.noise + fit.sampling + fit.misfit
    inverse = _inverse(weighted(x, records.weights * family.slope(x @ fit.estimate)))
    stderr = np.sqrt(np.diag(covariance))
    both = np.array([[-1.0], [1.0]])
    for j in range(len(stderr)):
        ends = fit.estimate + both * _WIDEST * _Z * covariance[:, j] / stderr[j]
        with np.errstate(over="ignore", invalid="ignore"):
            means = family.mean(x @ ends.T) * records.weights[:, None]
            moved = -both[:, 0] * ((records.crossed - (means.T @ x)) @ inverse[j])
        if not float(ndtr(-moved / stderr[j]).sum()) <= _TAILS:
            raise LostInNoiseError(
                "An interval of this model would be lopsided under the privacy noise, since too "
                "few records have the outcome, or lack it, at some of the predictors: fewer "
                "predictors, coarser levels, more ε or more records would do."
            )
