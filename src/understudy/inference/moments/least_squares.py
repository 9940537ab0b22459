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

**When it holds.** (1) is of first order in E A⁻¹. Where A is not clearly positive definite, the
estimate has heavy tails and no interval of this kind is right: each eigenvalue of A (its columns
scaled to the same size) must exceed `FIRM` standard deviations of its own noise.

Sources: White (1980), Econometrica 48, 817-838; noise in all moments as in Sheffet (2017) and
Evans & King (2023), Political Analysis 31, 1-21, whose correction it shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.moments.moment_matrix import MomentMatrix

FIRM = 6.0


@dataclass(frozen=True)
class LinearFit:
    """Coefficients, and the parts of their covariance.

    Attributes:
        estimate: shape (p,).
        noise: by privacy noise, shape (p, p).
        sampling: by sampling, shape (p, p).
        firmness: smallest eigenvalue of the scaled design in standard deviations of its noise.
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    firmness: float


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
        InferenceError: the design is not clearly positive definite under its noise.
    """
    gram = matrix.form(design, design)
    firmness = _firmness(matrix, design, gram)
    if firmness < FIRM:
        raise InferenceError(
            "The predictors are not told apart clearly enough under the privacy noise (the weakest "
            f"combination of them stands {max(firmness, 0):.1f} standard deviations of noise above "
            f"0; {FIRM:g} are needed); take fewer predictors or coarser levels, or declare this "
            "analysis when the release is made."
        )
    inverse = np.linalg.inv(gram)
    estimate = inverse @ (design @ matrix.sums @ outcome)
    residual = outcome - estimate @ design
    influence = inverse @ design
    noise = matrix.noise_covariance(influence[:, :, None] * residual)
    squares = residual @ matrix.sums @ residual
    error = np.sqrt(matrix.noise_covariance(np.multiply.outer(residual, residual)[None])[0, 0])
    middle = np.mean(
        [
            _middle(y, x, estimate, matrix.n, max(squares, 2 * error), binary=binary)
            for y, x in sets
        ],
        axis=0,
    )
    return LinearFit(estimate, noise, inverse @ middle @ inverse, firmness)


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


def _firmness(matrix: MomentMatrix, design: Floats, gram: Floats) -> float:
    """The least eigenvalue in standard deviations of its noise; at most 0 if none is firm."""
    size = np.sqrt(np.maximum(np.diag(gram), 0))
    if not (size > 0).all():
        return 0.0
    scaled = design / size[:, None]
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    weights = vectors.T @ scaled
    derivatives = weights[:, :, None] * weights[:, None, :]
    stddev = np.sqrt(np.diag(matrix.noise_covariance(derivatives)))
    with np.errstate(divide="ignore"):
        return float((values / stddev).min())
