r"""The density of a mixture of regressions on unbounded coordinates, for samplers by gradients.

**Coordinates** of a point, with the prior of `mixture_prior` (K components, p predictors):

* "concentration": log a, of shape ();
* "shares": t, shape (K,), with log π = t - L and L = log Σ_k exp(t_k). The K numbers hold one
  too many: L has the distribution N(0, `TOTAL`²), independent of the rest, which makes the map
  one to one;
* "coefficients": β, shape (K, p);
* "excess": log(σ_k - floor), shape (K,);
* "rates": log(1/s_j), shape (p,).

**What is integrated out.** Neither b nor Σ stands between these and the data. σ_k given all else is
half-t above the floor. With S = 2ν·diag(1/s) and m = ν + p - 1, the product of the normal
distributions of β_1, …, β_K and of the Wishart distribution of Σ⁻¹ integrates over Σ⁻¹, B having
the rows β_k', to

    p(B | s) = π^(-Kp/2) · Γ_p((m+K)/2)/Γ_p(m/2) · |S|^(m/2) / |S + B'B|^((m+K)/2),            (1)

and |S + B'B| = |S|·|I + BS⁻¹B'|, of which the second is K by K and never near 0.

**Jacobians.** |∂(π_1, …, π_{K-1}, L)/∂t| = ∏ π_k, so that t has the density
Γ(a)/Γ(a/K)^K·∏ π_k^(a/K) times the one of L. Log a, log(1/s) and log(σ - floor) bring the factors
a, 1/s and σ - floor.

**Target.** Two forms of what a record of weight α adds, u_k = π_k·N(y | x'β_k, σ_k²):

* power "labels": log Σ_k u_k^α, as in `mixture_gibbs`;
* power "marginal": α·log Σ_k u_k, the power of the density itself. No label goes with a record
  there, so that no Gibbs sampler has it for a target; and components do not fill up where weights
  are small, as they do under "labels".

At weight 1 they agree; at weight 0 they are log K and 0, neither of which moves a posterior. All
functions take NumPy's arrays, or those of a library that differentiates: `Arrays` says whose.

Sources: Huang & Wand (2013) for Σ; Dawid (1981), Biometrika 68, for (1); Savitsky, Williams &
Hu (2020) for weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.special import gammaln, multigammaln, stdtr

from understudy.privacy.samplers.mixture_prior import MixturePrior, Mixtures, MixtureState

__all__ = ["NUMPY", "POWERS", "Arrays", "MixtureTarget", "Power", "coordinates", "mixtures"]

Floats = NDArray[np.float64]
Point = Mapping[str, Any]
"""Coordinate → array; leading axes, alike in all, for points side by side."""
Power = Literal["labels", "marginal"]
POWERS: Final[tuple[Power, ...]] = get_args(Power)

TOTAL: Final = 0.5
"""Standard deviation of L: it changes only the shape of the space that a sampler walks."""


@dataclass(frozen=True)
class Arrays:
    """A library of arrays.

    Attributes:
        xp: with the functions of NumPy.
        special: with those of `scipy.special`.
    """

    xp: Any
    special: Any


NUMPY: Final = Arrays(np, special)


def coordinates(state: MixtureState, prior: MixturePrior) -> dict[str, Floats]:
    """Where states of chains stand, with L = 0; leading axis (C,)."""
    drawn = state.mixtures
    excess = np.sqrt(drawn.variances) - prior.noise_floor
    return {
        "concentration": np.log(state.concentration),
        "shares": drawn.log_shares,
        "coefficients": drawn.coefficients,
        "excess": np.log(np.maximum(excess, 1e-3 * prior.noise_scale)),
        "rates": np.log(state.precision_rates),
    }


def mixtures(points: Point, prior: MixturePrior) -> Mixtures:
    """θ at points, with their leading axes."""
    log_shares = points["shares"] - special.logsumexp(points["shares"], axis=-1, keepdims=True)
    stddevs = prior.noise_floor + np.exp(points["excess"])
    return Mixtures(log_shares, np.asarray(points["coefficients"]), stddevs**2)


@dataclass(frozen=True)
class MixtureTarget:
    """The target as a function of the coordinates.

    Attributes:
        prior: public.
        power: which form of the weighted likelihood.
        arrays: whose arrays come in.
    """

    prior: MixturePrior
    power: Power
    arrays: Arrays = NUMPY

    def log_density(self, point: Point, responses: Any, design: Any, weights: Any) -> Any:
        """The logarithm of prior times weighted likelihood.

        Args:
            point: leading axes (...).
            responses: y, shape (n,).
            design: x, shape (n, p).
            weights: α, shape (n,).

        Returns:
            Shape (...).
        """
        added = self.contributions(point, responses, design, weights)
        return self.log_prior(point) + added.sum(axis=-1)

    def log_prior(self, point: Point) -> Any:
        """The normalised log density of the coordinates, shape (...)."""
        return (
            self._log_concentration(point)
            + self._log_shares(point)
            + self._log_coefficients(point)
            + self._log_noise(point)
        )

    def contributions(self, point: Point, responses: Any, design: Any, weights: Any) -> Any:
        """What each record adds, shape (..., n)."""
        xp, logsumexp = self.arrays.xp, self.arrays.special.logsumexp
        stddevs = self.prior.noise_floor + xp.exp(point["excess"])
        total = logsumexp(point["shares"], axis=-1, keepdims=True)
        offsets = point["shares"] - total - xp.log(stddevs) - 0.5 * math.log(2.0 * math.pi)
        means = xp.swapaxes(design @ xp.swapaxes(point["coefficients"], -1, -2), -1, -2)
        distances = (responses - means) / stddevs[..., np.newaxis]
        logs = offsets[..., np.newaxis] - 0.5 * distances * distances
        if self.power == "labels":
            return logsumexp(weights * logs, axis=-2)
        return weights * logsumexp(logs, axis=-2)

    def _log_concentration(self, point: Point) -> Any:
        shape, rate = self.prior.concentration_shape, self.prior.concentration_rate
        log_a = point["concentration"]
        constant = shape * math.log(rate) - float(gammaln(shape))
        return shape * log_a - rate * self.arrays.xp.exp(log_a) + constant

    def _log_shares(self, point: Point) -> Any:
        """π given a by its density in log π, and L."""
        log_gamma = self.arrays.special.gammaln
        a = self.arrays.xp.exp(point["concentration"])
        t, components = point["shares"], self.prior.components
        total = self.arrays.special.logsumexp(t, axis=-1)
        logs = (t - total[..., np.newaxis]).sum(axis=-1)
        shares = log_gamma(a) - components * log_gamma(a / components) + a / components * logs
        spread = math.log(TOTAL) + 0.5 * math.log(2.0 * math.pi)
        return shares - 0.5 * (total / TOTAL) ** 2 - spread

    def _log_coefficients(self, point: Point) -> Any:
        """1/s, and β given s by (1)."""
        xp, prior = self.arrays.xp, self.prior
        beta, rates = point["coefficients"], point["rates"]
        components, p = beta.shape[-2:]
        df, scale = prior.coefficient_df + p - 1.0, prior.coefficient_scale
        scaled = beta * xp.exp(-0.5 * rates)[..., np.newaxis, :]
        scaled = scaled / math.sqrt(2.0 * prior.coefficient_df)
        inner = xp.eye(components) + scaled @ xp.swapaxes(scaled, -1, -2)
        log_inner = xp.linalg.slogdet(inner)[1]
        log_s = rates.sum(axis=-1) + p * math.log(2.0 * prior.coefficient_df)
        constant = float(multigammaln((df + components) / 2.0, p) - multigammaln(df / 2.0, p))
        constant -= components * p / 2.0 * math.log(math.pi)
        column_model = constant - components / 2.0 * log_s - (df + components) / 2.0 * log_inner
        gamma = 0.5 * rates - xp.exp(rates) / scale**2 - math.log(scale * math.sqrt(math.pi))
        return column_model + gamma.sum(axis=-1)

    def _log_noise(self, point: Point) -> Any:
        """σ, of the half-t distribution above the floor."""
        df, scale, floor = self.prior.noise_df, self.prior.noise_scale, self.prior.noise_floor
        xp, excess = self.arrays.xp, point["excess"]
        squares = ((floor + xp.exp(excess)) / scale) ** 2
        constant = float(gammaln((df + 1.0) / 2.0) - gammaln(df / 2.0))
        constant -= 0.5 * math.log(df * math.pi) + math.log(scale)
        constant -= math.log(float(stdtr(df, -floor / scale)))
        return (constant + excess - (df + 1.0) / 2.0 * xp.log1p(squares / df)).sum(axis=-1)
