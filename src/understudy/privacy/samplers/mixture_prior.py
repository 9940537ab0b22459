"""Finite mixtures of linear regressions, more components than needed, and their prior.

**Model.** A record with predictors x (p numbers, the first 1) has a component k with probability
π_k and the response y ~ N(x'β_k, σ_k²), k = 1, …, K.

**Prior**, everything proper:

* a ~ Gamma(1, 1) and π ~ Dirichlet(a/K, …, a/K), which leaves most components empty;
* β_k ~ N(0, Σ), the K of them independent given Σ; Σ⁻¹ ~ Wishart(ν + p - 1, diag(s)/(2ν)) and
  1/s_j ~ Gamma(½, rate 1/A²) (Huang & Wand 2013). Each standard deviation √Σ_jj then is
  half-t with ν degrees of freedom and scale A, and with ν = 2 each correlation is uniform on
  (-1, 1). The published prior has LKJ(1) correlations, which no conjugate step can draw;
* σ_k half-t with ν' degrees of freedom and scale A', above a floor: σ_k² given b_k is
  InverseGamma(ν'/2, ν'/b_k) and 1/b_k ~ Gamma(½, rate 1/A'²), both together restricted to
  σ_k ≥ floor. So b_k given σ_k is as without the floor. ν' = 1 is the half-Cauchy distribution.

**Why the floor.** With tied responses (the same y at the same x) a component on these records has a
likelihood ∝ σ^(1 - ties) after β is integrated out. The half-t density is positive at 0, so that
the posterior would be no probability distribution at all. A public floor mends it, and bounds the
density of a response by 1/(floor·√(2π)).

Responses and predictors are meant to be on public scales of order one.

Sources: Savitsky, Williams & Hu (2020), equations (30)–(35) of their appendix; Huang &
Wand (2013), Bayesian Analysis 8; Wand, Ormerod, Padoan & Frühwirth (2011), Bayesian Analysis 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, stdtr, stdtrit

from understudy.errors import MethodError
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.conjugate_draws import gammas, log_gammas, normals, wisharts

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Mixtures of regressions, any number of them along leading axes.

    Attributes:
        log_shares: log π, shape (..., K).
        coefficients: β, shape (..., K, p).
        variances: σ², shape (..., K).
    """

    log_shares: Floats
    coefficients: Floats
    variances: Floats

    def of_chain(self, chain: int) -> Mixtures:
        """Those of one chain, where the chains are the leading axis."""
        return Mixtures(self.log_shares[chain], self.coefficients[chain], self.variances[chain])


@dataclass(frozen=True, eq=False)
class MixtureState:
    """All unknowns, of C independent chains: what a Gibbs step changes.

    Attributes:
        mixtures: leading axis (C,).
        concentration: a, shape (C,).
        precision: Σ⁻¹, shape (C, p, p).
        precision_rates: 1/s, shape (C, p).
        noise_rates: 1/b, shape (C, K).
    """

    mixtures: Mixtures
    concentration: Floats
    precision: Floats
    precision_rates: Floats
    noise_rates: Floats


@dataclass(frozen=True, kw_only=True)
class MixturePrior:
    """The public numbers of the prior.

    Attributes:
        components: K, more than needed.
        concentration_shape: of the gamma distribution of a.
        concentration_rate: of the same.
        coefficient_scale: A, of the half-t distribution of the standard deviations of coefficients.
        coefficient_df: ν; 2 makes each correlation uniform.
        noise_scale: A', of the half-t distribution of σ_k.
        noise_df: ν', at least 1.
        noise_floor: the smallest σ_k; 0 is none, and asks for responses without ties.

    Raises:
        MethodError: a number out of range.
    """

    components: int = 10
    concentration_shape: float = 1.0
    concentration_rate: float = 1.0
    coefficient_scale: float = 2.5
    coefficient_df: float = 2.0
    noise_scale: float = 1.0
    noise_df: float = 3.0
    noise_floor: float = 0.01

    def __post_init__(self) -> None:
        """Check what is public."""
        positive = (
            self.concentration_shape,
            self.concentration_rate,
            self.coefficient_scale,
            self.coefficient_df,
            self.noise_scale,
        )
        if self.components < 1:
            raise MethodError("A mixture needs at least one component.")
        if not all(0 < number < math.inf for number in positive):
            raise MethodError("The numbers of a mixture's prior must be positive and finite.")
        if not 1 <= self.noise_df < math.inf:
            raise MethodError("The scales of a mixture need at least one degree of freedom.")
        if not 0 <= self.noise_floor < math.inf:
            raise MethodError("The floor of a mixture's scales must not be negative.")

    def draw(self, predictors: int, chains: int, source: Randomness) -> MixtureState:
        """Independent draws of all unknowns.

        Args:
            predictors: p, at least 1.
            chains: C.
            source: where the randomness comes from.
        """
        shape = np.full(chains, self.concentration_shape)
        a = gammas(shape, source) / self.concentration_rate
        rates = gammas(np.full((chains, predictors), 0.5), source) * self.coefficient_scale**2
        precision = self.precisions(rates, np.zeros((chains, 0, predictors)), source)
        lower = np.linalg.cholesky(precision)[:, np.newaxis]
        z = normals((chains, self.components, predictors, 1), source)
        beta = np.asarray(np.linalg.solve(np.swapaxes(lower, -1, -2), z)[..., 0], dtype=np.float64)
        variances = self._variances(chains, source)
        log_shares = self.shares(a, np.zeros((chains, self.components)), source)
        mixtures = Mixtures(log_shares, beta, variances)
        return MixtureState(mixtures, a, precision, rates, self.noise_rates(variances, source))

    def shares(self, concentration: Floats, weights: Floats, source: Randomness) -> Floats:
        """Draws of log π given a and the records' weights: π ~ Dirichlet(a/K + W_k).

        Args:
            concentration: a, shape (C,).
            weights: W, total weight of the records by component, shape (C, K).
            source: where the randomness comes from.

        Returns:
            Shape (C, K).
        """
        logs = log_gammas(concentration[:, np.newaxis] / self.components + weights, source)
        return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))

    def precisions(self, rates: Floats, coefficients: Floats, source: Randomness) -> Floats:
        """Draws of Σ⁻¹ given 1/s, β: Wishart(ν + p - 1 + K, (2ν·diag(1/s) + Σ_k β_kβ_k')⁻¹).

        Args:
            rates: 1/s, shape (C, p).
            coefficients: β, shape (C, K, p); K = 0 gives the prior.
            source: where the randomness comes from.
        """
        p = rates.shape[1]
        inverse = np.swapaxes(coefficients, 1, 2) @ coefficients
        inverse[:, np.arange(p), np.arange(p)] += 2.0 * self.coefficient_df * rates
        return wisharts(self.coefficient_df + p - 1 + coefficients.shape[1], inverse, source)

    def precision_rates(self, precision: Floats, source: Randomness) -> Floats:
        """Draws of 1/s given Σ⁻¹, of gamma distributions of shape (ν + p)/2, shape (C, p)."""
        diagonal = np.diagonal(precision, axis1=1, axis2=2)
        shapes = np.full(diagonal.shape, (self.coefficient_df + diagonal.shape[1]) / 2.0)
        rates = self.coefficient_df * diagonal + self.coefficient_scale**-2
        return np.asarray(gammas(shapes, source) / rates)

    def noise_rates(self, variances: Floats, source: Randomness) -> Floats:
        """Draws of 1/b given σ², of gamma distributions of shape (ν' + 1)/2, shape (C, K)."""
        shapes = np.full(variances.shape, (self.noise_df + 1.0) / 2.0)
        return gammas(shapes, source) / (self.noise_df / variances + self.noise_scale**-2)

    def _variances(self, chains: int, source: Randomness) -> Floats:
        """σ², the half-t distribution above the floor inverted from its upper tail."""
        above = stdtr(self.noise_df, -self.noise_floor / self.noise_scale)
        uniforms = source.uniforms(chains * self.components).reshape(chains, -1)
        t = stdtrit(self.noise_df, uniforms * above)
        return np.maximum((self.noise_scale * np.asarray(t)) ** 2, self.noise_floor**2)
