"""Logistic and Poisson models from noisy second moments and the records of the synthetic sets.

With design x, outcome y and mean μ(x'β), coefficients solve

    U(β) = Σ x y − Σ x μ(x'β) = 0.                                                             (1)

The first sum is X'y = W M w, which was measured (W, w the weights of the terms in the scores, M
their second moments). The second is a function of the predictors alone, estimated from synthetic
records that are calibrated to the measured moments (below): of x μ, what is
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
  what second moments do not explain of x μ. It does not fall with the number of rows. Where it
  would be far more than the others together, there is no answer.

**When it holds.** All of this is of first order, as in `least_squares`: each eigenvalue of H (its
columns scaled to the same size) must exceed `FIRM_MODEL` standard deviations of its noise. U is
curved, and its variance changes with β: rare outcomes have lopsided intervals, so these come from
tests of the score (below). Where they would surely be so lopsided that one end is
hardly known, there is no answer: where the standard error must be more than `_WIDEST` times as wide
for both tails of the score, at the ends, to be no more than `_TAILS`. It is judged by what the
synthetic records say, whose noise is not that of the moments, so that the choice whether to answer
does not favour errors in one direction.

Sources: Ferrando, Wang & Sheldon (2022), AISTATS, for sufficient statistics with noise; McCullagh
& Nelder (1989), Generalized Linear Models; Rao (1948), Proceedings of the Cambridge Philosophical
Society 44, 50-57. This file has those of the calibration.

**Families of models with a canonical link, and the solution of their equations of the score.**

Source: McCullagh & Nelder (1989), Generalized Linear Models, chapter 2.

**Intervals of coefficients of logistic and Poisson models, by inverting tests of the score.**

At a value b of coefficient j, let the others solve their own equations of the score U
(above), β(b), and H be the information there. With a = e_j − H_jo
H_oo⁻¹ on the others o, the efficient score

    S(b) = a'U(β(b)),    V(b) = a'(noise + sampling + misfit)a at β(b),

has, at the true b, the mean 0 and the variance V to first order. For given β the score is *linear*
in the measured moments, so the noise in it is exact, that of the predictors' moments too, and its
variance is that at b and not that at an estimate: where few records have the outcome an estimate
that came out too low has too small an error of its own. The interval has every b with |S| ≤ z√V +
B, B what was not measured of records without a value. It is longer on the side that is known less,
and endless where no b, however far, is told from the estimate. A linear model has Fieller's
interval by this (`inverted`), an odds ratio without noise Cornfield's. Of values beyond an end none
is in the interval, though a score may be told from 0 less clearly where it rests on few records.

Sources: Rao (1948), Proceedings of the Cambridge Philosophical Society 44, 50-57; Boos (1992), "On
Generalized Score Tests", The American Statistician 46, 327-333, for other variances than H.

**Synthetic records, with weights that give them the measured second moments.**

A sum over the rows of a function g of predictors is estimated from the records. With q(x) the
products of two among 1 and the terms, m(M) their measured sums, the records get the weights

    w_i = q_i' (Σ q q')⁺ m(M), so that Σ w_i q_i = m(M).                                       (1)

Then Σ w_i g(x_i) = Γ m(M), Γ the least-squares regression of g on q over the records: the
generalised regression estimator of survey sampling. What of g is a quadratic function of the terms
rests on the measured moments alone, whatever relations the records have; and so does everything
where there is one predictor of levels, or two that are 0 or 1. Only the remainder e = g − Γq rests
on the records. Noise in M goes through Γ, which is linear. Records with the same predictors have
the same g and q, and are taken together.

**Misfit.** If the true distribution of the predictors has the density ratio f/g to that of the
records, the error is n·E[(f/g) e], at most n·sd(e) times the part of f/g that lies in the direction
of e. How far the records are off in a direction is *measured*, in those of q: it is m(M)/n −
mean(q), in units of the spread of q, less its noise. A direction that nobody measured is taken to
be as far off as those are on average, and no less than sampling and a small effect (0.1 standard
deviations, w = 0.1 of Cohen, so 0.1²/3 in the mean square) of unknown size and sign would have it.
That is no bound: it is as much as released values can tell.

**Numbers as their line has them.** What e is along a single number need not be guessed where its
number line was measured (`Shapes`): sums over the rows of functions of the number that are straight
between a few quantiles. They join q, with their own noise, as what products do not tell of them. So
with many records the small effect stands for functions of several predictors alone.

Sources: Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, chapter 6, and Deville
& Särndal (1992), JASA 87, 376-382, for (1); Cohen (1988), Statistical Power Analysis, chapter 7.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import block_diag
from scipy.special import expit, ndtr, ndtri

from understudy._arrays import Z_95, Floats, Integers
from understudy.inference.combining import Pooled, require_level
from understudy.inference.second_moments import (
    FIRM_MODEL,
    LostInNoiseError,
    Sums,
    refuse_lost,
)

_STEPS: Final = 50
_HALVINGS: Final = 30
_CLOSE: Final = 1e-12  # of the likelihood, what a last step gains


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


def solution(
    family: Family,
    x: Floats,
    weights: Floats,
    crossed: Floats,
    *,
    fixed: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Solution of Σ x y = Σ w x μ(x'β) by Newton's method.

    Args:
        family: with μ.
        x: terms, shape (N, p).
        weights: w, shape (N,).
        crossed: Σ x y, shape (p,).
        fixed: added to x'β, shape (N,); 0 by default.
        start: first β, shape (p,); 0 by default.

    Returns:
        Shape (p,).

    Raises:
        LostInNoiseError: there is none, or H on the way is not positive definite.
    """
    beta = np.zeros(x.shape[1]) if start is None else start
    added = np.zeros(len(x)) if fixed is None else fixed

    def likelihood(at: Floats) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(crossed @ at - weights @ family.potential(added + x @ at))

    value = likelihood(beta)
    for taken in range(_STEPS):
        with np.errstate(over="ignore", invalid="ignore"):
            eta = added + x @ beta
            score = crossed - x.T @ (weights * family.mean(eta))
            information = weigh_products(x, weights * family.slope(eta))
            step = _newton(information, score)
        if step is None:
            raise _endless() if taken else not_apart(0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            gain = float(score @ step)  # of a coefficient far off it may have no end
        if gain <= _CLOSE * (len(x) + abs(value)):
            return beta + step
        for _ in range(_HALVINGS):
            after = likelihood(beta + step)
            if np.isfinite(after) and after >= value:
                break
            step = step / 2
        else:
            raise _endless()
        beta, value = beta + step, after
    raise _endless()


def _newton(information: Floats, score: Floats) -> Floats | None:
    """H⁻¹ U; None where H is not positive definite, or has no end."""
    diagonal = np.diag(information)  # one that is not positive stays, and has no step
    size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = information / np.outer(size, size)
    if not (np.isfinite(scaled).all() and np.isfinite(score).all()):
        return None
    try:
        np.linalg.cholesky(scaled)
        return np.asarray(np.linalg.solve(scaled, score / size) / size)
    except np.linalg.LinAlgError:  # of either: rounding may leave what is singular a root
        return None


def weigh_products(x: Floats, weights: Floats) -> Floats:
    """Σ w x x', shape (p, p)."""
    return np.asarray((x.T * weights) @ x)


def not_apart(firmness: float) -> LostInNoiseError:
    """The refusal of predictors that are lost in the noise, with how far they stand out of it."""
    what = "The predictors are not told apart clearly enough under the privacy noise"
    return refuse_lost(what, firmness, FIRM_MODEL)


def _endless() -> LostInNoiseError:
    return LostInNoiseError(
        "The model has no finite estimate under the privacy noise: the measured moments say that "
        "the outcome is always, or never, there for some of the predictors: fewer predictors, "
        "coarser levels, more ε or more records would do."
    )


SMALL_EFFECT: Final = 0.1
_RANK: Final = 1e-9
_APART: Final = 1e-4
"""Least mean square of what products do not tell of a shape, in that of the shape."""
_MOST: Final = 20_000_000  # numbers in the products of the records' terms


@dataclass(frozen=True, eq=False)
class Shapes:
    """Functions of single predictors whose sums over the rows were measured beside moments.

    Attributes:
        values: of the records of all sets, shape (N, m).
        sums: over the rows, shape (m,).
        noise: covariance of these, shape (m, m).
    """

    values: Floats
    sums: Floats
    noise: Floats


@dataclass(frozen=True)
class CalibratedRecords:
    """Synthetic records with the measured second moments, those with the same predictors together.

    Attributes:
        x: p terms of K kinds of records, shape (K, p).
        t: r products of terms, and what these do not tell of shapes, brought to mean squares 1 and
            mean products 0, shape (K, r).
        counts: number of records, shape (K,).
        y: mean of their outcomes, shape (K,).
        spread: Σ of squares of what outcomes are off their mean, shape (K,).
        weights: of all records of a kind together, shape (K,).
        crossed: Σ x y, as measured, shape (p,).
        squares: Σ y², as measured.
        sums: Σ t, as measured, shape (r,).
        noise: covariance of `crossed`, `sums` and `squares` by noise, shape (p + r + 1, p + r + 1).
        n: records of the rows.
        forms: derivatives of `crossed`, `sums` and `squares` in the moments.
        matrix: the moments.
        products: how many of t are products.
    """

    x: Floats
    t: Floats
    counts: Integers
    y: Floats
    spread: Floats
    weights: Floats
    crossed: Floats
    squares: float
    sums: Floats
    noise: Floats
    n: float
    forms: Floats
    matrix: Sums
    products: int

    @property
    def shares(self) -> Floats:
        """Of the records, shape (K,)."""
        return np.asarray(self.counts / self.counts.sum())

    def regression(self, values: Floats) -> Floats:
        """Coefficients of values, shape (K, k), on the products, shape (k, r)."""
        return np.asarray((values.T * self.shares) @ self.t)

    def undo_calibration(self) -> CalibratedRecords:
        """The records as they are, each standing for as many rows; with their own sums."""
        weights = self.n * self.shares
        return replace(
            self,
            weights=weights,
            crossed=self.x.T @ (weights * self.y),
            squares=float(weights @ (self.spread / self.counts + self.y**2)),
            sums=weights @ self.t,
        )

    @property
    def moment_noise(self) -> Floats:
        """Covariance of `sums` by noise, shape (r, r)."""
        p = len(self.crossed)
        return self.noise[p:-1, p:-1]

    def bound_hidden(self, change: Floats) -> Floats:
        """Bound the error of combinations of `crossed`, `sums` and `squares`, shape (k,).

        Args:
            change: the combinations, shape (k, p + r + 1).
        """
        return self.matrix.bound_hidden(np.tensordot(change, self.forms, axes=1))

    def misfit(self) -> float:
        """Mean square by which the records are off in a direction, in units of its spread."""
        own = slice(self.products)  # records were fitted to lines more closely than to moments
        off = (self.sums / self.n - self.shares @ self.t)[own]
        noise = np.diag(self.moment_noise)[own] / self.n**2
        sampling = 1 / self.n + 1 / float(self.counts.sum())
        weight = 1 / (noise + sampling) ** 2
        measured = float(weight @ (off**2 - noise) / weight.sum())
        return max(measured, sampling + SMALL_EFFECT**2 / 3)


def calibrate_records(
    matrix: Sums,
    design: Floats,
    outcome: Floats,
    sets: Sequence[tuple[Floats, Floats]],
    *,
    shapes: Shapes | None = None,
) -> CalibratedRecords:
    """Calibrate the records of all sets together, evenly thinned where they are very many.

    Args:
        matrix: second moments.
        design: weights of p terms in the scores, shape (p, s + 1).
        outcome: weights of the outcome, shape (s + 1,).
        sets: outcome (n,) and design (n, p) of the complete records of each synthetic set.
        shapes: of the same records, in this order.
    """
    y, x = np.concatenate([y for y, _ in sets]), np.concatenate([x for _, x in sets])
    p = len(design)
    step = -(-len(x) * (p + 1) * (p + 2) // (2 * _MOST))
    y, x = y[::step], x[::step]
    first, kinds, counts = _alike(x)
    x, mean = x[first], np.bincount(kinds, y) / counts
    shares = counts / len(y)
    t, forms = _products(matrix, design, x, shares)
    products, sums = t.shape[1], np.einsum("kij,ij->k", forms, matrix.sums)
    beside = np.zeros((products, products))
    if shapes is not None:
        each = [np.bincount(kinds, own) / counts for own in shapes.values[::step].T]
        values = np.stack(each, axis=1)
        told = (values.T * shares) @ t
        left = values - t @ told.T
        lengths, axes = np.linalg.eigh((left.T * shares) @ left)
        kept = lengths > _APART * (shares @ values**2).max()
        turn = axes[:, kept] / np.sqrt(lengths[kept])
        t = np.hstack([t, left @ turn])
        forms = np.concatenate([forms, -np.tensordot(turn.T @ told, forms, axes=1)])
        sums = np.append(sums, turn.T @ (shapes.sums - told @ sums))
        beside = block_diag(beside, turn.T @ shapes.noise @ turn)
    crossed, squares = np.multiply.outer(design, outcome), np.multiply.outer(outcome, outcome)
    every = np.concatenate([crossed, forms, squares[None]])
    p = len(crossed)
    noise = matrix.noise_covariance(every)
    noise[p:-1, p:-1] += beside
    return CalibratedRecords(
        x=x,
        t=t,
        counts=counts,
        y=mean,
        spread=np.asarray(np.bincount(kinds, (y - mean[kinds]) ** 2), dtype=np.float64),
        weights=t @ sums * shares,
        crossed=design @ matrix.sums @ outcome,
        squares=float(outcome @ matrix.sums @ outcome),
        sums=sums,
        noise=noise,
        n=matrix.n,
        forms=every,
        matrix=matrix,
        products=products,
    )


def _alike(x: Floats) -> tuple[Integers, Integers, Integers]:
    """Number the different rows of a matrix, in ascending order.

    Args:
        x: shape (n, p).

    Returns:
        One row of each kind, shape (K,); the kind of each row, shape (n,); and how many rows are
        of each kind, shape (K,).
    """
    kinds = np.zeros(len(x), np.int64)
    for values in x.T:  # one after the other: to compare whole rows takes ten times as long
        own, places = np.unique(values, return_inverse=True)
        kinds = np.unique(kinds * len(own) + places, return_inverse=True)[1]
    _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    return first, kinds, counts


def _products(matrix: Sums, design: Floats, x: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Products of two terms, uncorrelated over the records, and their forms in the moments."""
    values, rows = np.column_stack([np.ones(len(x)), x]), np.vstack([matrix.constant, design])
    size = np.maximum(np.abs(values).max(axis=0), 1e-300)
    root = np.sqrt(shares)[:, None]
    left, sizes, right = np.linalg.svd(root * values / size, full_matrices=False)
    kept = sizes > _RANK * sizes[0]
    z, basis = left[:, kept] / root, (right[kept] / sizes[kept, None] / size) @ rows
    first, second = np.triu_indices(len(basis))
    q = z[:, first] * z[:, second]
    lengths, axes = np.linalg.eigh((q.T * shares) @ q)
    kept = lengths > _RANK * lengths[-1]
    turn = axes[:, kept] / np.sqrt(lengths[kept])
    forms = np.tensordot(turn.T, basis[first][:, :, None] * basis[second][:, None, :], axes=1)
    return q @ turn, forms


_TAILS: Final = 0.055
_WIDEST: Final = 1.5
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
        bias: bound on what was not measured (`MomentMatrix.bound_hidden`), shape (p,).
        records: that the model rests on.
        growth: by which sampling variances are larger since records of one unit are alike; in
            `sampling` already; shape (p,).
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    misfit: Floats
    explained: Floats
    firmness: float
    bias: Floats
    records: CalibratedRecords
    growth: Floats

    def grown(self, growth: Floats) -> ScoreFit:
        """The same of records that are alike within units."""
        root = np.sqrt(growth)
        return replace(self, growth=growth, sampling=self.sampling * np.multiply.outer(root, root))


# Of the variance by noise and sampling: five of their standard errors. What it does to coverage and
# widths where rows are many is shown by `python benchmarks/questions.py --n 50000`.
_MOST_MISFIT = 25.0


def score_model(
    kind: str,
    matrix: Sums,
    design: Floats,
    outcome: Floats,
    sets: Sequence[tuple[Floats, Floats]],
    *,
    shapes: Shapes | None = None,
) -> ScoreFit:
    """A logistic or Poisson model.

    Args:
        kind: "logit" or "poisson".
        matrix: second moments.
        design: weights of its p terms, shape (p, s + 1).
        outcome: weights of the outcome, shape (s + 1,).
        sets: outcome (n,) and design (n, p) of the complete records of each synthetic set.
        shapes: of the same records.

    Raises:
        LostInNoiseError: what was measured is lost in its noise, or says too little.
    """
    records = calibrate_records(matrix, design, outcome, sets, shapes=shapes)
    fit = _fit(kind, records)
    if fit.firmness < FIRM_MODEL:
        raise not_apart(fit.firmness)
    if (np.diag(fit.misfit) > _MOST_MISFIT * np.diag(fit.noise + fit.sampling)).any():
        raise LostInNoiseError(
            "Second moments say too little of this model: its coefficients would rest on relations "
            "among three predictors or more, or on how numbers are spread, as the synthetic "
            "records have them; take fewer predictors, or coarser ones."
        )
    drawn = records.undo_calibration()
    _require_both_ends(kind, drawn, _fit(kind, drawn))
    return fit


def _fit(kind: str, records: CalibratedRecords) -> ScoreFit:
    """The solution for some weights and sums, and the parts of its covariance."""
    family, x = FAMILIES[kind], records.x
    estimate = solution(family, x, records.weights, records.crossed)
    eta = x @ estimate
    slope, added = family.slope(eta), x * family.mean(eta)[:, None]
    information = weigh_products(x, records.weights * slope)
    inverse = _inverse(information)
    gamma = records.regression(added)
    change = np.hstack([np.eye(len(estimate)), -gamma, np.zeros((len(estimate), 1))])
    spread = information if kind == "logit" else _spread(family, records, eta)
    left = np.cov(added - records.t @ gamma.T, rowvar=False, fweights=records.counts)
    whole = np.cov(added, rowvar=False, fweights=records.counts)
    rest, variances = left.reshape(information.shape), whole.reshape(information.shape).diagonal()
    return ScoreFit(
        estimate=estimate,
        noise=inverse @ (change @ records.noise @ change.T) @ inverse,
        sampling=inverse @ spread @ inverse,
        misfit=inverse @ (rest * records.n**2 * records.misfit()) @ inverse,
        explained=1 - np.diag(rest) / np.maximum(variances, 1e-300),
        firmness=_firmness(records, slope, information),
        bias=records.bound_hidden(np.asarray(inverse @ change)),
        records=records,
        growth=np.ones(len(estimate)),
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
    shape, size = shape_of(family, records), size_of(family, records, eta)
    return weigh_products(records.x, shape * size)


def shape_of(family: Family, records: CalibratedRecords) -> Floats:
    """The part of each kind of records in Σ (y − μ)² of counts, by their own fit, shape (K,)."""
    y, x, counts = records.y, records.x, records.counts.astype(np.float64)
    mean = family.mean(x @ solution(family, x, counts, x.T @ (counts * y)))
    shape = records.spread + counts * (y - mean) ** 2
    return np.asarray(shape / shape.sum() if shape.any() else counts * mean / (counts @ mean))


def size_of(family: Family, records: CalibratedRecords, eta: Floats) -> float:
    """Σ (y − μ)² of counts, at least twice the standard deviation of the noise in Σ y².

    Args:
        family: of the model.
        records: with Σ y².
        eta: x'β, shape (K,).
    """
    size = records.squares - records.weights @ family.mean(eta) ** 2
    return max(float(size), 2 * math.sqrt(records.noise[-1, -1]))


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
    inverse = _inverse(weigh_products(x, records.weights * family.slope(x @ fit.estimate)))
    stderr = np.sqrt(np.diag(covariance))
    both = np.array([[-1.0], [1.0]])
    for j in range(len(stderr)):
        ends = fit.estimate + both * _WIDEST * Z_95 * covariance[:, j] / stderr[j]
        with np.errstate(over="ignore", invalid="ignore"):
            means = family.mean(x @ ends.T) * records.weights[:, None]
            moved = -both[:, 0] * ((records.crossed - (means.T @ x)) @ inverse[j])
        if not float(ndtr(-moved / stderr[j]).sum()) <= _TAILS:
            raise LostInNoiseError(
                "An interval of this model would be lopsided under the privacy noise, since too "
                "few records have the outcome, or lack it, at some of the predictors: fewer "
                "predictors, coarser levels, more ε or more records would do."
            )


_FARTHEST: Final = 15.0  # of x'β, over the range of what others do not tell: e^15 is endless
_FURTHER: Final = 1.25
_CLOSE_ENDS: Final = 1e-3  # of half an interval


@dataclass(frozen=True, eq=False)
class ScoreTests:
    """Tests of the coefficients of a model.

    Attributes:
        kind: "logit" or "poisson".
        fit: of the model.
    """

    kind: str
    fit: ScoreFit

    @property
    def family(self) -> Family:
        """Of the model."""
        return FAMILIES[self.kind]

    @cached_property
    def _shape(self) -> Floats:
        return shape_of(self.family, self.fit.records)

    def distance(self, j: int, value: float) -> float:
        """Compute how far a coefficient is from what was measured, in standard errors.

        Args:
            j: which coefficient.
            value: of it.

        Returns:
            (|S| − B)/√V, at least 0; 0 too where the other coefficients have no finite estimate.
        """
        records, family, estimate = self.fit.records, self.family, self.fit.estimate
        x, weights, shares = records.x, records.weights, records.shares
        others, moves = self._beside(j)
        fixed, rest = value * x[:, j], x[:, others]
        start = estimate[others] + (value - estimate[j]) * moves
        try:
            own = solution(family, rest, weights, records.crossed[others], fixed=fixed, start=start)
        except LostInNoiseError:
            return 0.0
        eta = fixed + rest @ own
        mean, slope = family.mean(eta), weights * family.slope(eta)
        direction = np.zeros(len(self.fit.estimate))
        direction[j] = 1.0
        across = rest.T * slope
        direction[others] = -np.linalg.lstsq(across @ rest, across @ x[:, j])[0]
        along = x @ direction
        score = float(records.crossed @ direction - (weights * mean) @ along)
        added = along * mean
        gamma = records.t.T @ (shares * added)
        left = shares @ (added - records.t @ gamma) ** 2
        change = np.concatenate([direction, -gamma, [0.0]])
        variance = (
            float(change @ records.noise @ change)
            + float(self.fit.growth[j]) * self._sampling_variance(along, eta, slope)
            + float(left) * records.n**2 * self._misfit
        )
        bias = float(records.bound_hidden(change[None])[0])
        return max(abs(score) - bias, 0.0) / math.sqrt(max(variance, sys.float_info.min))

    def _beside(self, j: int) -> tuple[Integers, Floats]:
        """Other coefficients, and how much each moves with this one, if x'β is to stay.

        Without it a predictor far from 0, such as a date, takes x'β out of all bounds.
        """
        x, estimate = self.fit.records.x, self.fit.estimate
        others = np.delete(np.arange(len(estimate), dtype=np.int64), j)
        slope = self.fit.records.weights * self.family.slope(x @ estimate)
        across = x[:, others].T * slope
        return others, -np.asarray(np.linalg.lstsq(across @ x[:, others], across @ x[:, j])[0])

    @cached_property
    def _misfit(self) -> float:
        return self.fit.records.misfit()

    def _sampling_variance(self, along: Floats, eta: Floats, slope: Floats) -> float:
        """Of the score: Σ (y − μ)² (a'x)²."""
        if self.kind == "logit":
            return max(float(slope @ along**2), 0.0)
        return float(self._shape @ along**2) * size_of(self.family, self.fit.records, eta)

    def ends(self, j: int, z: float) -> tuple[float, float]:
        """Ends of the interval of a coefficient; infinite where it has none.

        Args:
            j: which coefficient.
            z: largest distance in it.
        """
        others, moves = self._beside(j)
        values = self.fit.records.x[:, j] + self.fit.records.x[:, others] @ moves
        far = _FARTHEST / (np.ptp(values) or np.abs(values).max())
        fit, at = self.fit, self.fit.estimate[j]
        near = z * np.sqrt((fit.noise + fit.sampling + fit.misfit)[j, j])

        def below(step: float) -> float:
            return self.distance(j, at - step) - z

        def above(step: float) -> float:
            return self.distance(j, at + step) - z

        return at - _root(below, near, far), at + _root(above, near, far)


def _root(excess: Callable[[float], float], near: float, far: float) -> float:
    """Find the first root of a function below 0 at 0; infinite if there is none before far off.

    Args:
        excess: the function.
        near: a guess.
        far: far off.
    """
    from scipy.optimize import brentq  # takes long, and few answers need it

    low, high = 0.0, near
    while excess(high) < 0:
        if high >= far:
            return float(np.inf)
        low, high = high, min(_FURTHER * high, max(far, near))
    return float(brentq(excess, low, high, xtol=_CLOSE_ENDS * high))


@dataclass(frozen=True)
class ScoreIntervals(Pooled):
    """Coefficients whose intervals come from tests of the score.

    Attributes:
        tests: of the coefficients.
    """

    tests: ScoreTests = field(kw_only=True)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, each of shape (k,); infinite where there is none.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        if level not in self._known:
            z = float(ndtri((1 + level) / 2))
            ends = [self.tests.ends(j, z) for j in range(len(self.names))]
            self._known[level] = np.array(ends).T
        lower, upper = self._known[level]
        return lower.copy(), upper.copy()

    @cached_property
    def _known(self) -> dict[float, Floats]:
        return {}

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each coefficient is 0, by the same tests."""
        away = [self.tests.distance(j, 0.0) for j in range(len(self.names))]
        return np.asarray(2 * ndtr(-np.asarray(away)))
