"""Normal, gamma and Wishart variables made of uniforms: what the steps of a Gibbs sampler draw.

They go by inversion, or by rejection, of words of the boundary's own source. They are rounded real
numbers; who needs an exact law finds one in `understudy.privacy.noise.distributions`.

Sources: Bartlett (1933), Proceedings of the Royal Society of Edinburgh 53, for the Wishart law;
Marsaglia & Tsang (2000), ACM Transactions on Mathematical Software 26, for gamma by rejection.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv, ndtri

from understudy.privacy.noise.randomness import Randomness

Floats = NDArray[np.float64]

TINY: Final = 1e-300
"""Stands for what is not positive, where it is refused; its logarithm is far below any height."""
RARE: Final = 1e-10
"""Below this mass the far tail is drawn by rejection, as inversion would lose its digits."""


def normals(shape: tuple[int, ...], source: Randomness) -> Floats:
    """Independent standard normal numbers, of the shape asked for."""
    return np.asarray(ndtri(source.uniforms(int(np.prod(shape)))).reshape(shape))


def log_gammas(shapes: Floats, source: Randomness) -> Floats:
    """Logarithms of independent gamma variables of rate 1.

    If G has shape s + 1 and U is uniform, G·U^(1/s) has shape s. Its logarithm stays finite where
    the variable itself is far below the smallest number, as under a sparse Dirichlet law.

    Args:
        shapes: s > 0, any shape of array, which the answer has too.
        source: where the randomness comes from.
    """
    uniforms = source.uniforms(2 * shapes.size).reshape(2, *shapes.shape)
    logs = np.log(gammaincinv(shapes + 1.0, uniforms[0])) + np.log(uniforms[1]) / shapes
    return np.asarray(logs)


def many_log_gammas(shapes: Floats, source: Randomness) -> Floats:
    """The law of `log_gammas` by rejection, some ten times as fast for thousands of variables.

    For a shape s + 1, d = s + ⅔ and c = 1/√(9d), a normal number x is kept with probability
    exp(x²/2 + d - dv + d·log v), v = (1 + cx)³ > 0; then d·v has that law, and more than 95 in 100
    are kept (Marsaglia & Tsang 2000). What is left of small shapes goes as in `log_gammas`.

    Args:
        shapes: s > 0, any shape of array, which the answer has too.
        source: where the randomness comes from.
    """
    flat = shapes.ravel()
    logs = np.empty(flat.size)
    left = np.arange(flat.size)
    while left.size:
        d = flat[left] + 2.0 / 3.0
        x = normals((left.size,), source)
        stretch = np.maximum(1.0 + x / (3.0 * np.sqrt(d)), TINY)
        height = 0.5 * x * x + d * (1.0 - stretch**3 + 3.0 * np.log(stretch))
        kept = np.log(source.uniforms(left.size)) < height
        logs[left[kept]] = (np.log(d) + 3.0 * np.log(stretch))[kept]
        left = left[~kept]
    return np.asarray((logs + np.log(source.uniforms(flat.size)) / flat).reshape(shapes.shape))


def gammas(shapes: Floats, source: Randomness) -> Floats:
    """Independent gamma variables of rate 1; shapes as in `log_gammas`, not much below ½."""
    return np.asarray(np.exp(log_gammas(shapes, source)))


def gammas_below(shapes: Floats, ceilings: Floats, source: Randomness) -> Floats:
    """Independent gamma variables of rate 1, each given that it is at most its ceiling.

    By inversion on [0, P(G ≤ c)]. Where that mass is below `RARE`, c lies far below the shape s.
    There, with G = c·e^(-t), t has a density ∝ exp(-st - c·e^(-t)) ≤ exp(-c)·exp(-(s - c)t), as
    e^(-t) ≥ 1 - t: an exponential variable of rate s - c is kept with probability
    exp(-c(e^(-t) - 1 + t)), which is near 1.

    Args:
        shapes: s ≥ ½.
        ceilings: c > 0, of the same shape of array; infinity is none.
        source: where the randomness comes from.
    """
    mass = np.asarray(gammainc(shapes, ceilings))
    drawn = gammaincinv(shapes, source.uniforms(shapes.size).reshape(shapes.shape) * mass)
    drawn = np.asarray(drawn)
    rare = mass < RARE
    if rare.any():
        drawn[rare] = _far_below(shapes[rare], ceilings[rare], source)
    return np.asarray(np.minimum(drawn, ceilings))


def _far_below(shapes: Floats, ceilings: Floats, source: Randomness) -> Floats:
    drawn = np.empty(len(shapes))
    left = np.arange(len(shapes))
    while left.size:
        uniforms = source.uniforms(2 * left.size).reshape(2, left.size)
        c = ceilings[left]
        t = -np.log(uniforms[0]) / (shapes[left] - c)
        drawn[left] = c * np.exp(-t)
        left = left[np.log(uniforms[1]) >= -c * (np.expm1(-t) + t)]
    return drawn


def wisharts(df: float, inverse_scales: Floats, source: Randomness) -> Floats:
    """Independent Wishart matrices, of mean df·S⁻¹.

    With S = LL' (Cholesky) and A lower triangular, standard normal below the diagonal and
    A_jj² ~ χ² of df - j degrees, j = 0, 1, …, the matrix L⁻ᵀ·AA'·L⁻¹ has that law (Bartlett).

    Args:
        df: above p - 1.
        inverse_scales: S, shape (..., p, p).
        source: where the randomness comes from.

    Returns:
        Shape (..., p, p).
    """
    *lead, p, _ = inverse_scales.shape
    halves = np.broadcast_to((df - np.arange(p)) / 2.0, (*lead, p))
    factor = np.tril(normals((*lead, p, p), source), -1)
    factor[..., np.arange(p), np.arange(p)] = np.sqrt(2.0 * gammas(halves, source))
    lower = np.linalg.cholesky(inverse_scales)
    root = np.linalg.solve(np.swapaxes(lower, -1, -2), factor)
    return np.asarray(root @ np.swapaxes(root, -1, -2))
