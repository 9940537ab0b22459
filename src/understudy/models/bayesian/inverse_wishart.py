"""Covariance matrices: the nearest admissible scatter, and the inverse Wishart law.

All functions take leading axes of repetitions and have no loop over them.
"""

from __future__ import annotations

import numpy as np

from understudy.models.bayesian.bayesian_model import Floats

FLOOR = 1e-8
"""Least eigenvalue of a scatter of numbers that are in units of their range."""


def admissible_root(scatter: Floats, most: Floats) -> Floats:
    """A root C, S = C Cᵀ, of the nearest scatter matrix S that numbers within bounds could have.

    Sums of squares are clipped to [0, most], products to what Cauchy and Schwarz allow; then
    eigenvalues below a small floor are raised to it (the nearest such matrix in the Frobenius
    norm; Higham 1988). The root is made of eigenvectors, so no factorisation can fail.

    Args:
        scatter: symmetric, of centred sums of products, in units of the ranges, shape (..., p, p).
        most: largest possible sum of squares of each column, shape (..., p).

    Example:
        >>> noisy = np.array([[4.0, 9.0], [9.0, -3.0]])
        >>> root = admissible_root(noisy, np.array([2.0, 2.0]))
        >>> (root @ root.T).round(6).tolist()
        [[2.0, 0.0], [0.0, 0.0]]
    """
    squares = np.clip(np.diagonal(scatter, axis1=-2, axis2=-1), 0, most)
    limit = np.sqrt(squares[..., :, None] * squares[..., None, :])
    clipped = np.clip(scatter, -limit, limit)
    values, vectors = np.linalg.eigh(clipped)
    return np.asarray(vectors * np.sqrt(np.maximum(values, FLOOR))[..., None, :])


def inverse_wishart_root(root: Floats, degrees: Floats, rng: np.random.Generator) -> Floats:
    """A matrix F with F Fᵀ ~ InvWishart(ν, S), by Bartlett's decomposition.

    With S = C Cᵀ and A lower triangular, A_ii² ~ χ²(ν − i) for i = 0, 1, …, and standard normal
    below the diagonal, A Aᵀ ~ Wishart(ν, I), so that C (A Aᵀ)⁻¹ Cᵀ is the draw and F = C A⁻ᵀ.
    Any root C serves, since Wishart(ν, I) does not change under rotations.

    Args:
        root: C, not singular, shape (..., p, p).
        degrees: ν > p − 1, shape (...).
        rng: randomness.

    Returns:
        Shape (..., p, p); not triangular.
    """
    p = root.shape[-1]
    shape = (np.asarray(degrees)[..., None] - np.arange(p)) / 2
    bartlett = np.tril(rng.standard_normal(root.shape), -1)
    places = np.arange(p)
    bartlett[..., places, places] = np.sqrt(2 * rng.standard_gamma(shape))
    # F = C A⁻ᵀ, that is A Fᵀ = Cᵀ.
    return np.swapaxes(np.linalg.solve(bartlett, np.swapaxes(root, -1, -2)), -1, -2)
