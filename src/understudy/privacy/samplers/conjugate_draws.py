"""Normal, gamma and Wishart variables made of uniforms, and the regression that they alone draw.

**Variables** are what the steps of a Gibbs sampler draw. They go by inversion, or by rejection, of
words of the boundary's own source. They are rounded real numbers; who needs an exact distribution
finds one in `understudy.privacy.noise.distributions`.

**Normal linear regression with a conjugate prior**: exact posterior draws under record weights.
z ~ N(x'β, σ²). Prior: σ² ~ InverseGamma(ν/2, ν·s²/2), restricted to σ above a public floor, and β
given σ² ~ N(0, σ²·A²·I). A record of weight α contributes N(z | x'β, σ²)^α. With W = Σ α_i,
P = I/A² + Σ α_i·x_i·x_i' and m = P⁻¹·Σ α_i·x_i·z_i, completing the square in β gives

    -½[Σ α_i(z_i - x_i'β)² + β'β/A²] = -½[(β - m)'P(β - m) + Σ α_i(z_i - x_i'm)² + m'm/A²],

and so, (σ²)^(-W/2) coming from the powers of the densities,

    σ² ~ InverseGamma((ν + W)/2, [ν·s² + Σ α_i(z_i - x_i'm)² + m'm/A²]/2), above the floor,
    β given σ² ~ N(m, σ²·P⁻¹).

Draws are independent and exact up to rounding: no chain, and nothing to wait for. The floor bounds
the density of a response by 1/(floor·√(2π)), as in `mixture_prior`. Choose it where numbers follow
one line with one spread on the scale of the response; choose a mixture otherwise.

Sources: Bartlett (1933), Proceedings of the Royal Society of Edinburgh 53, for the Wishart
distribution; Marsaglia & Tsang (2000), ACM Transactions on Mathematical Software 26, for gamma by
rejection; Gelman, Carlin, Stern, Dunson, Vehtari & Rubin (2013), Bayesian Data Analysis, §14.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtri

from understudy.errors import MethodError
from understudy.features.number_line import normal_quantiles
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.column_model import Floats, Integers, Theta

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
    the variable itself is far below the smallest number, as under a sparse Dirichlet distribution.

    Args:
        shapes: s > 0, any shape of array, which the answer has too.
        source: where the randomness comes from.
    """
    uniforms = source.uniforms(2 * shapes.size).reshape(2, *shapes.shape)
    logs = np.log(gammaincinv(shapes + 1.0, uniforms[0])) + np.log(uniforms[1]) / shapes
    return np.asarray(logs)


def many_log_gammas(shapes: Floats, source: Randomness) -> Floats:
    """`log_gammas` by rejection, some ten times as fast for thousands of variables.

    For a shape s + 1, d = s + ⅔ and c = 1/√(9d), a normal number x is kept with probability
    exp(x²/2 + d - dv + d·log v), v = (1 + cx)³ > 0; then d·v has that distribution, and more than
    95 in 100 are kept (Marsaglia & Tsang 2000). What is left of small shapes goes as in
    `log_gammas`.

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
    A_jj² ~ χ² of df - j degrees, j = 0, 1, …, the matrix L⁻ᵀ·AA'·L⁻¹ has that distribution
    (Bartlett).

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


@dataclass(frozen=True, kw_only=True)
class NormalLinear:
    """The regression with its prior; θ is "coefficients" and "variances".

    Attributes:
        coefficient_scale: A, prior standard deviation of a coefficient, in σ.
        noise_scale: s.
        noise_df: ν.
        noise_floor: smallest σ; 0 is none.

    Raises:
        MethodError: a number out of range.
    """

    coefficient_scale: float = 5.0
    noise_scale: float = 1.0
    noise_df: float = 3.0
    noise_floor: float = 0.01

    def __post_init__(self) -> None:
        """Check what is public."""
        positive = self.coefficient_scale, self.noise_scale, self.noise_df
        if not all(0 < number < math.inf for number in positive) or self.noise_df < 1:
            raise MethodError("Scales of a regression's prior are positive, and its df at least 1.")
        if not 0 <= self.noise_floor < math.inf:
            raise MethodError("The floor of a regression's σ must not be negative.")

    def draws(
        self, responses: Floats, design: Floats, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Shapes (S, p) and (S,); see `Regression`."""
        p = design.shape[1]
        weighted = design * weights[:, np.newaxis]
        precision = design.T @ weighted + np.eye(p) / self.coefficient_scale**2
        mean = np.linalg.solve(precision, weighted.T @ responses)
        misfit = float(weights @ (responses - design @ mean) ** 2)
        misfit += float(mean @ mean) / self.coefficient_scale**2
        variances = self._variances(float(weights.sum()), misfit, source, draws)
        z = normals((p, draws), source)
        moved = np.linalg.solve(np.linalg.cholesky(precision).T, z).T
        beta = mean + np.sqrt(variances)[:, np.newaxis] * moved
        return {"coefficients": np.asarray(beta), "variances": variances}

    def _variances(self, weight: float, misfit: float, source: Randomness, draws: int) -> Floats:
        """σ², shape (draws,)."""
        rate = (self.noise_df * self.noise_scale**2 + misfit) / 2.0
        floor = self.noise_floor**2
        ceilings = np.full(draws, rate / floor if floor > 0 else np.inf)
        shapes = np.full(draws, (self.noise_df + weight) / 2.0)
        return np.maximum(rate / gammas_below(shapes, ceilings, source), floor)

    def log_likelihoods(self, draws: Theta, responses: Floats, design: Floats) -> Floats:
        """Shape (S, n); see `Regression`."""
        variances = draws["variances"][:, np.newaxis]
        distances = responses - draws["coefficients"] @ design.T
        distances *= distances
        distances *= -0.5 / variances
        distances -= 0.5 * np.log(2.0 * math.pi * variances)
        return np.asarray(distances)

    def log_contributions(
        self, draws: Theta, responses: Floats, design: Floats, weights: Floats
    ) -> Floats:
        """Shape (S, n); see `Regression`."""
        return self.log_likelihoods(draws, responses, design) * weights

    def numbers(self, theta: Theta, design: Floats, uniforms: Floats) -> Floats:
        """Shape (n,); see `Regression`. The first row of uniform numbers is left aside."""
        spread = np.sqrt(theta["variances"]) * normal_quantiles(uniforms[1])
        return np.asarray(design @ theta["coefficients"] + spread)

    def labels(self, theta: Theta, responses: Floats, design: Floats, uniforms: Floats) -> Integers:
        """Zeros: there is one component."""
        return np.zeros(len(responses), dtype=np.int64)

    def labelled(self, theta: Theta, design: Floats, labels: Integers, uniforms: Floats) -> Floats:
        """As `numbers`."""
        return self.numbers(theta, design, uniforms)
