"""Linear models from noisy second moments, with errors that count sampling and noise.

With the design X, outcome y and second moments M of all scores, coefficients solve X'X b = X'y,
where X'X = W M Wᵀ and X'y = W M w for the weights W, w of the terms (`affine_weights`). To first
order

    b̂ − β = A⁻¹ (Σ x_i r_i + W E ω),    A = X'X, r = y − x'β, ω = w − Wᵀβ,                     (1)

E the noise in M: noise in the design is in it, times the coefficients. Variance:

* *noise*: exact for (1), number by number (`MomentMatrix.noise_covariance`);
* *sampling*: A⁻¹ B A⁻¹ with B = Σ r²xx', so variances may differ between records (White 1980). B
  has fourth moments, which were not measured. Of a 0/1 outcome they follow: r² has the mean
  p(1 − p) given x, p = x'b cut to [0, 1]. Else the *shape* of B is that of the synthetic records,
  by their own fit, and its *size* that of Σ r² = ωᵀ M ω, which was measured. Records whose relation
  was drawn too weak have the larger residuals that this takes back.

**Noise in the design.** Coefficient k is the ratio of x̃_k'y to x̃_k'x_k, x̃_k what is left of its
predictor when the others are taken out, so its interval is that of `Inverted`: noise that makes the
denominator smaller makes it longer. Where a denominator is not firm under its noise
(`require_firm`), or A is not positive definite, there is no answer.

Sources: White (1980), Econometrica 48, 817-838; noise in all moments as in Sheffet (2017) and
Evans & King (2023), Political Analysis 31, 1-21, whose correction it shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.moments.inverted import require_firm
from understudy.inference.moments.moment_matrix import MomentMatrix


@dataclass(frozen=True)
class LinearFit:
    """Coefficients, and the parts of their covariance.

    Attributes:
        estimate: shape (p,).
        noise: by privacy noise, shape (p, p).
        sampling: by sampling, shape (p, p).
        denominator: sum of squares of each predictor when the others are taken out, shape (p,).
        mixed: covariance of its noise with that of the numerator (`Inverted`), shape (p,).
        squared: variance of its noise, shape (p,).
        bias: bound on what was not measured, shape (p,) (`MomentMatrix.hidden`).
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    denominator: Floats
    mixed: Floats
    squared: Floats
    bias: Floats


def least_squares(
    matrix: MomentMatrix,
    design: Floats,
    outcome: Floats,
    sets: Sequence[tuple[Floats, Floats]],
    *,
    binary: bool,
) -> LinearFit:
    """A linear model.

    Args:
        matrix: second moments.
        design: weights of its p terms, shape (p, s + 1).
        outcome: weights of the outcome, shape (s + 1,).
        sets: outcome (n,) and design (n, p) of the complete records of each synthetic set, which
            the shape of the sampling variance is taken from.
        binary: whether the outcome is 0 or 1.

    Raises:
        LostInNoiseError: predictors are not told apart under the noise.
    """
    gram = matrix.form(design, design)
    inverse = _inverse(gram)
    estimate = inverse @ (design @ matrix.sums @ outcome)
    residual = outcome - estimate @ design
    influence = inverse @ design
    derivatives = influence[:, :, None] * residual
    noise, bias = matrix.noise_covariance(derivatives), matrix.hidden(derivatives)
    variances = np.diag(inverse)
    mixed, squared = _denominator_noise(matrix, influence / variances[:, None], residual)
    shown = [1 / np.diag(np.linalg.pinv(x.T @ x)) for _, x in sets]
    require_firm(np.mean(shown, axis=0), squared, _NOT_APART)
    squares = residual @ matrix.sums @ residual
    error = np.sqrt(matrix.noise_covariance(np.multiply.outer(residual, residual)[None])[0, 0])
    middle = np.mean(
        [
            _middle(y, x, estimate, matrix.n, max(squares, 2 * error), binary=binary)
            for y, x in sets
        ],
        axis=0,
    )
    sampling = inverse @ middle @ inverse
    return LinearFit(estimate, noise, sampling, 1 / variances, mixed, squared, bias)


def _inverse(gram: Floats) -> Floats:
    """Of the second moments of the predictors, which must be positive definite."""
    size = np.sqrt(np.maximum(np.diag(gram), 0))
    if not (size > 0).all() or np.linalg.eigvalsh(gram / np.outer(size, size)).min() <= 0:
        raise LostInNoiseError(
            f"{_NOT_APART} (their noisy second moments fit no records); take fewer of them."
        )
    return np.asarray(np.linalg.inv(gram))


def _denominator_noise(
    matrix: MomentMatrix, left: Floats, residual: Floats
) -> tuple[Floats, Floats]:
    """Covariance of the noise in numerators and denominators, and its variance in these.

    With W the weights of the design, row k of A⁻¹W is x̃_k over its sum of squares S_k, and S_k is 1
    over the k-th diagonal entry of A⁻¹; so `left` has the weights of each x̃_k.
    """
    numerators, own = left[:, :, None] * residual, left[:, :, None] * left[:, None, :]
    both = matrix.noise_covariance(np.concatenate([numerators, own]))
    p = len(left)
    return np.diag(both[:p, p:]), np.diag(both)[p:]


_NOT_APART = "The predictors are not told apart clearly enough under the privacy noise"


def _middle(
    y: Floats, x: Floats, estimate: Floats, n: float, squares: float, *, binary: bool
) -> Floats:
    """Σ r²xx' over n records, from the records of one set."""
    if binary:
        p = np.clip(x @ estimate, 0.0, 1.0)
        return np.asarray((x.T * (p * (1 - p))) @ x * (n / len(y)))
    own, *_ = np.linalg.lstsq(x, y, rcond=None)
    r2 = (y - x @ own) ** 2
    if not r2.any():
        return np.asarray(x.T @ x * (squares / len(y)))
    return np.asarray((x.T * r2) @ x * (squares / r2.sum()))
