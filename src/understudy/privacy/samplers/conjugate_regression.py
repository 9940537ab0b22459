"""Normal linear regression with a conjugate prior: exact posterior draws under record weights.

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

Source: Gelman, Carlin, Stern, Dunson, Vehtari & Rubin (2013), Bayesian Data Analysis, §14.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from understudy.errors import MethodError
from understudy.features.number_line import normal_quantiles
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.column_model import Floats, Theta
from understudy.privacy.samplers.conjugate_draws import gammas_below, normals
from understudy.privacy.samplers.regression_model import Integers

__all__ = ["NormalLinear"]


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
        if not all(0 < one < math.inf for one in positive) or self.noise_df < 1:
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
