"""Pearson's correlation of two columns from noisy second moments.

r = C_xy/S with S = √(C_xx·C_yy) and C the moments about the means. Its interval is that of
`Inverted`, with the noise in C_xy − r·S and in S, to first order. Its sampling variance is that of
the influence of a record, z_x z_y − r(z_x² + z_y²)/2 with z in standard units, over n: right
whatever the distributions (Fisher's z assumes normal ones). It has fourth moments, which are those
of the synthetic records, whose own correlation stands in the influence; and it is no less than
(1 − r²)²/n, that of normal ones.
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
class Correlation:
    """A correlation, and the parts of its variance.

    Attributes:
        estimate: r.
        noise: variance by privacy noise.
        sampling: variance by sampling.
        denominator: S.
        mixed: covariance of the noise in S with that in C_xy − r·S.
        squared: variance of the noise in S.
        bias: bound on what was not measured (`MomentMatrix.hidden`).
    """

    estimate: float
    noise: float
    sampling: float
    denominator: float
    mixed: float
    squared: float
    bias: float


def correlation(
    matrix: MomentMatrix, x: Floats, y: Floats, sets: Sequence[tuple[Floats, Floats]]
) -> Correlation:
    """The correlation of two affine functions of scores.

    Args:
        matrix: second moments.
        x: weights, shape (s + 1,).
        y: weights, shape (s + 1,).
        sets: both for the complete records of each synthetic set, shapes (n,).

    Raises:
        LostInNoiseError: a variance is not clearly above 0 under its noise, or no records are left.
    """
    n, sums = matrix.n, matrix.sums
    if n <= 0:
        raise LostInNoiseError("By the noisy counts no record has a value of both columns.")
    centred = []
    for weights in (x, y):
        own = weights.copy()
        own[0] -= float(weights @ sums[0]) / n
        centred.append(own)
    a, b = centred
    variances = np.array([a @ sums @ a, b @ sums @ b])
    squares = np.stack([np.multiply.outer(a, a), np.multiply.outer(b, b)])
    shown = np.mean([[len(u) * u.var(), len(v) * v.var()] for u, v in sets], axis=0)
    noise = np.diag(matrix.noise_covariance(squares))
    require_firm(shown, noise, "A column varies too little under the privacy noise")
    if variances.min() <= 0:
        raise LostInNoiseError("The noisy second moments of a column fit no records.")
    size = float(np.sqrt(variances.prod()))
    r = float(a @ sums @ b / size)
    root = size / 2 * (squares[0] / variances[0] + squares[1] / variances[1])
    derivatives = np.stack([np.multiply.outer(a, b) - r * root, root])
    both = matrix.noise_covariance(derivatives)
    spread = float(np.mean([_influence(*pair) for pair in sets]))
    return Correlation(
        estimate=r,
        noise=float(both[0, 0]) / size**2,
        sampling=max(spread, (1 - min(r * r, 1.0)) ** 2) / n,
        denominator=size,
        mixed=float(both[0, 1]),
        squared=float(both[1, 1]),
        bias=float(matrix.hidden(derivatives[:1])[0]) / size,
    )


def _influence(x: Floats, y: Floats) -> float:
    """Variance of the influence of a record on the correlation."""
    if not (x.std() > 0 and y.std() > 0):
        return 0.0
    u, v = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = float(np.mean(u * v))
    return float(np.var(u * v - r * (u * u + v * v) / 2))
