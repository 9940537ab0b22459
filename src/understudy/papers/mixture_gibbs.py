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

**A Gibbs sampler for the mixture of regressions under record weights. CONFIDENTIAL throughout.**

**Target.** With weights α_i in [0, 1] and the prior p(θ) of this file,

    p(θ) · ∏_i Σ_k (π_k · N(y_i | x_i'β_k, σ_k²))^α_i.                                           (1)

At α = 1 it is the posterior; at α = 0 the prior. For other weights it is *not* p(θ)·∏ f(y_i|θ)^α_i,
f the mixture density: components of .3 and .1 at α = ½ give .864 in (1) and .632 there.

What (1) likes: one component split into K equal ones leaves f as it is, and multiplies the factor
of a record in (1) by K^(1 - α). With many records of weight below 1 that outweighs the sparse prior
of π: shares come out near 1/K, several components alike, where the posterior leaves most empty.

**Why it is the target.** Let a label z_i go with each record, and

    g(θ, z) = p(θ) · ∏_i (π_{z_i} · N(y_i | x_i'β_{z_i}, σ_{z_i}²))^α_i.                         (2)

The sum of (2) over all z is (1), as each label occurs in one factor. Each step below leaves (2)
invariant: it draws a block of unknowns from its distribution given the others, or moves it by a
Metropolis step for that distribution. So a sweep leaves (2) invariant, and what it does to θ alone
leaves (1) invariant. With W_k = Σ α_i over the records of component k (a record counts as α_i of
one):

* *labels* given θ: independent, P(z_i = k) ∝ (π_k N_ik)^α_i; uniform at α_i = 0;
* *a, then π*, given z: p(π)·∏ π_k^W_k integrates over π to

      p(a) · Γ(a)/Γ(a + ΣW_k) · ∏_k Γ(a/K + W_k)/Γ(a/K),                                         (3)

  for which log a makes `TRIES` Metropolis steps (random walk, so that only the ratio of the
  densities of log a counts); then π ~ Dirichlet(a/K + W_k). As π is drawn at once, given the new a,
  the pair keeps its distribution given z;
* *β_k* given the rest: exponent -½[β'Σ⁻¹β + Σ α_i(y_i - x_i'β)²/σ_k²] over the records of k, thus
  normal with precision P = Σ⁻¹ + Σ α_i·x_i·x_i'/σ_k² and mean P⁻¹·Σ α_i·x_i·y_i/σ_k²: weighted
  least squares;
* *σ_k²* given the rest: N^α has (σ²)^(-α/2), so it is
  InverseGamma(ν'/2 + W_k/2, ν'/b_k + Σ α_i(y_i - x_i'β_k)²/2), above the floor;
* *b_k* given σ_k, *Σ* given β and s, *s* given Σ: no data, no weights (below).

A record of weight 0 adds 0 to each of these sums, whatever its label: θ moves as without it. The
sums do not depend on the order of the records, and each label only on its own record, so neither
does the distribution of θ. Components may swap their names from draw to draw; only what does not
depend on names should be read from draws.

The walk comes near (1) only in the limit; after finitely many sweeps from a start that depends on
the data nobody knows how near. A guarantee that rests on it is conditional, at best.

**Cost.** A sweep takes O(n·K·p) operations. Products of matrices use the BLAS library: who runs
several chains side by side limits its threads (`understudy._parallel`). Loops over the
records release the interpreter's lock.

Sources: Savitsky, Williams & Hu (2020) for weights in the likelihood; Ishwaran & Zarepour (2000)
for the finite Dirichlet prior; Frühwirth-Schnatter & Malsiner-Walli (2019) for (3); Huang & Wand
(2013) for Σ.

**The compiled loops over records of the mixture of regressions; distributions in `mixture_gibbs`.**

Every kernel takes C chains, along the first axis.

**Log-likelihoods** of each record under many draws are CONFIDENTIAL. They are two matrices, draws
by records, in chunks of draws, so that the memory is bounded:

* `log_likelihoods`: log f(y_i | θ), f = Σ_k π_k N_k, from which weights and sensitivities follow;
* `log_contributions`: log Σ_k (π_k N_k)^α_i, what a record of weight α_i adds to the logarithm of
  the target of `mixture_gibbs`. With u_k = π_k N_k, and as the power mean rises
  with its exponent,

      α·log f  ≤  log Σ_k u_k^α  ≤  α·log f + (1 - α)·log K.

  At α = 1 it is log f; at α = 0 it is log K, whatever θ. What does not depend on θ, like
  (1 - α)·log K, moves no posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import scipy

from understudy._arrays import Floats, Integers, compiled
from understudy.dp.randomness import Randomness
from understudy.errors import MethodError
from understudy.papers.sampling_base import gammas, gammas_below, log_gammas, normals, wisharts


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
        return np.asarray(logs - scipy.special.logsumexp(logs, axis=1, keepdims=True))

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
        above = scipy.special.stdtr(self.noise_df, -self.noise_floor / self.noise_scale)
        uniforms = source.uniforms(chains * self.components).reshape(chains, -1)
        t = scipy.special.stdtrit(self.noise_df, uniforms * above)
        return np.maximum((self.noise_scale * np.asarray(t)) ** 2, self.noise_floor**2)


@compiled
def _weighted_logs(
    fitted: Floats, record: tuple[float, float], offsets: Floats, halves: Floats, logs: Floats
) -> float:
    """Write α·log(π_k N_k) of one record for each k, and return the largest (kernel)."""
    response, weight = record
    largest = -np.inf
    for k in range(logs.size):
        distance = response - fitted[k]
        logs[k] = weight * (offsets[k] - halves[k] * distance * distance)
        largest = max(largest, logs[k])
    return largest


@compiled
def drawn_labels(
    fitted: Floats,
    records: tuple[Floats, Floats],
    density: tuple[Floats, Floats],
    uniforms: Floats,
) -> Integers:
    """A component for each record, with probability ∝ (π_k N_k)^α (kernel).

    Args:
        fitted: x'β_k, shape (C, n, K).
        records: y and α, both of shape (C, n).
        density: log π_k - log(2πσ_k²)/2 and 1/(2σ_k²), both of shape (C, K).
        uniforms: in (0, 1), shape (C, n).
    """
    responses, weights = records
    offsets, halves = density
    chains, n, components = fitted.shape
    labels = np.empty((chains, n), dtype=np.int64)
    parts = np.empty(components)
    for c in range(chains):
        for i in range(n):
            record = (responses[c, i], weights[c, i])
            largest = _weighted_logs(fitted[c, i], record, offsets[c], halves[c], parts)
            total = 0.0
            for k in range(components):
                total += math.exp(parts[k] - largest)
                parts[k] = total
            at, place = 0, uniforms[c, i] * total
            while at < components - 1 and parts[at] <= place:
                at += 1
            labels[c, i] = at
    return labels


@compiled
def cluster_sums(
    design: Floats, responses: Floats, weights: Floats, labels: Integers, components: int
) -> tuple[Floats, Floats, Floats]:
    """Weighted sums over the records of each component: Σα, Σα·xx' and Σα·xy (kernel).

    Args:
        design: x, shape (n, p).
        responses: y, shape (C, n).
        weights: α, shape (C, n).
        labels: shape (C, n).
        components: K.

    Returns:
        Shapes (C, K), (C, K, p, p) and (C, K, p).
    """
    chains, n = responses.shape
    p = design.shape[1]
    totals = np.zeros((chains, components))
    squares = np.zeros((chains, components, p, p))
    products = np.zeros((chains, components, p))
    for c in range(chains):
        for i in range(n):
            k, weight = labels[c, i], weights[c, i]
            totals[c, k] += weight
            for j in range(p):
                part = weight * design[i, j]
                products[c, k, j] += part * responses[c, i]
                for m in range(j + 1):
                    squares[c, k, j, m] += part * design[i, m]
        for k in range(components):
            for j in range(p):
                for m in range(j):
                    squares[c, k, m, j] = squares[c, k, j, m]
    return totals, squares, products


@compiled
def cluster_residuals(
    design: Floats,
    responses: Floats,
    weights: Floats,
    labels: Integers,
    coefficients: Floats,
) -> Floats:
    """Σα(y - x'β_k)² over the records of each component, shape (C, K) (kernel).

    Args as in `cluster_sums`, and β of shape (C, K, p).
    """
    chains, n = responses.shape
    sums = np.zeros(coefficients.shape[:2])
    for c in range(chains):
        for i in range(n):
            k, distance = labels[c, i], responses[c, i]
            for j in range(design.shape[1]):
                distance -= design[i, j] * coefficients[c, k, j]
            sums[c, k] += weights[c, i] * distance * distance
    return sums


@compiled
def log_power_sums(
    fitted: Floats,
    records: tuple[Floats, Floats],
    density: tuple[Floats, Floats],
    sums: Floats,
) -> None:
    """Write log Σ_k (π_k N_k)^α of each record into `sums`, shape (n,) (kernel).

    Args as in `drawn_labels`, of one chain: without the first axis.
    """
    responses, weights = records
    offsets, halves = density
    n, components = fitted.shape
    parts = np.empty(components)
    for i in range(n):
        largest = _weighted_logs(fitted[i], (responses[i], weights[i]), offsets, halves, parts)
        total = 0.0
        for k in range(components):
            total += math.exp(parts[k] - largest)
        sums[i] = largest + math.log(total)


CHUNK: Final = 1 << 21
"""Numbers in a chunk, at most (16 MiB); never less than one draw."""


def densities(mixtures: Mixtures) -> tuple[Floats, Floats]:
    """Compute the parts of log(π_k N_k) = offset - half·(y - x'β_k)², both of shape (..., K)."""
    variances = mixtures.variances
    offsets = mixtures.log_shares - 0.5 * np.log(2.0 * math.pi * variances)
    return np.asarray(offsets), 0.5 / variances


def log_likelihoods(
    draws: Mixtures, responses: Floats, design: Floats, *, chunk: int = CHUNK
) -> Iterator[Floats]:
    """Log f(y_i | θ_s), the density of the mixture.

    Args:
        draws: leading axis (S,).
        responses: y, shape (n,).
        design: x, shape (n, p).
        chunk: numbers in a chunk, at most; never less than one draw.

    Returns:
        Chunks of shape (draws in it, n), together (S, n).
    """
    return log_contributions(draws, responses, design, np.ones(len(responses)), chunk=chunk)


def log_contributions(
    draws: Mixtures, responses: Floats, design: Floats, weights: Floats, *, chunk: int = CHUNK
) -> Iterator[Floats]:
    """Log Σ_k (π_k N_k)^α_i, what each record adds to the log of the weighted target.

    Args:
        draws: leading axis (S,).
        responses: y, shape (n,).
        design: x, shape (n, p).
        weights: α, shape (n,).
        chunk: numbers in a chunk, at most; never less than one draw.

    Returns:
        Chunks of shape (draws in it, n), together (S, n).
    """
    offsets, halves = densities(draws)
    n_draws, n = len(offsets), len(responses)
    records = np.ascontiguousarray(responses), np.ascontiguousarray(weights)
    step = max(1, chunk // max(n, 1))
    for first in range(0, n_draws, step):
        last = min(first + step, n_draws)
        sums = np.empty((last - first, n))
        for s in range(first, last):
            fitted = design @ draws.coefficients[s].T
            density = offsets[s], halves[s]
            log_power_sums(fitted, records, density, sums[s - first])
        yield sums


TRIES: Final = 4
"""Metropolis steps of log a in a sweep, each normal with standard deviation 1."""


@dataclass(frozen=True, eq=False)
class MixtureGibbs:
    """The sampler for C chains at once, each with its own responses and weights.

    Attributes:
        prior: public.
        responses: y, shape (C, n).
        design: x, the first column 1, shape (n, p), the same in all chains.
        weights: α, shape (C, n).

    Raises:
        ValueError: shapes that do not fit, weights outside [0, 1], or values that are not finite.
    """

    prior: MixturePrior
    responses: Floats
    design: Floats
    weights: Floats

    def __post_init__(self) -> None:
        """Check shapes and weights; nothing that is shown depends on a value."""
        n = self.design.shape[0]
        if self.design.ndim != 2 or self.responses.ndim != 2 or self.responses.shape[1] != n:
            raise ValueError("MixtureGibbs: responses (C, n) and a design (n, p) are needed")
        if self.weights.shape != self.responses.shape:
            raise ValueError("MixtureGibbs: a weight is needed for each response")
        if not np.all((self.weights >= 0) & (self.weights <= 1)):
            raise ValueError("MixtureGibbs: weights must lie in [0, 1]")
        if not (np.isfinite(self.responses).all() and np.isfinite(self.design).all()):
            raise ValueError("MixtureGibbs: responses and design must be finite")
        for name in ("responses", "design", "weights"):  # kernels are compiled for one layout
            laid = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, laid)

    def sweep(self, state: MixtureState, source: Randomness) -> MixtureState:
        """One step of all blocks, which leaves the target invariant."""
        return self.parameters(state, self.labels(state.mixtures, source), source)

    def start(self, source: Randomness) -> MixtureState:
        """A state to begin with: components along the order of the responses, fitted once."""
        chains, n = self.responses.shape
        state = self.prior.draw(self.design.shape[1], chains, source)
        ranks = np.argsort(np.argsort(self.responses, axis=1), axis=1)
        return self.parameters(state, ranks * self.prior.components // max(n, 1), source)

    def labels(self, mixtures: Mixtures, source: Randomness) -> Integers:
        """Labels given θ, shape (C, n)."""
        fitted = self.design @ np.swapaxes(mixtures.coefficients, 1, 2)
        uniforms = source.uniforms(self.responses.size).reshape(self.responses.shape)
        records = self.responses, self.weights
        labels: Integers = drawn_labels(fitted, records, densities(mixtures), uniforms)
        return labels

    def parameters(self, state: MixtureState, labels: Integers, source: Randomness) -> MixtureState:
        """One step of all blocks of θ given the labels, shape (C, n)."""
        prior, sums = self.prior, self._sums(labels)
        concentration = self.concentration(state.concentration, sums[0], source)
        shares = prior.shares(concentration, sums[0], source)
        beta = self.coefficients(state, sums, source)
        variances = self.variances(state.noise_rates, sums[0], labels, beta, source)
        precision = prior.precisions(state.precision_rates, beta, source)
        return replace(
            state,
            mixtures=Mixtures(shares, beta, variances),
            concentration=concentration,
            precision=precision,
            precision_rates=prior.precision_rates(precision, source),
            noise_rates=prior.noise_rates(variances, source),
        )

    def concentration(self, a: Floats, weights: Floats, source: Randomness) -> Floats:
        """Metropolis steps of log a for (3).

        Args:
            a: where they begin, shape (C,).
            weights: W, shape (C, K).
            source: where the randomness comes from.
        """
        here, height = np.log(a), self._log_density(np.log(a), weights)
        moves = normals((TRIES, len(a)), source)
        uniforms = np.log(source.uniforms(moves.size).reshape(moves.shape))
        for move, uniform in zip(moves, uniforms, strict=True):
            there = here + move
            proposed = self._log_density(there, weights)
            taken = uniform < proposed - height
            here, height = np.where(taken, there, here), np.where(taken, proposed, height)
        return np.asarray(np.exp(here))

    def coefficients(
        self, state: MixtureState, sums: tuple[Floats, Floats, Floats], source: Randomness
    ) -> Floats:
        """β given the rest, with the sums of `cluster_sums`; shape (C, K, p)."""
        _, squares, products = sums
        by = 1.0 / state.mixtures.variances[..., np.newaxis]
        precision = state.precision[:, np.newaxis] + squares * by[..., np.newaxis]
        lower = np.linalg.cholesky(precision)
        half = np.linalg.solve(lower, (products * by)[..., np.newaxis])
        half += normals(half.shape, source)
        return np.asarray(np.linalg.solve(np.swapaxes(lower, -1, -2), half)[..., 0])

    def variances(
        self, rates: Floats, weights: Floats, labels: Integers, beta: Floats, source: Randomness
    ) -> Floats:
        """σ² given the rest.

        Args:
            rates: 1/b, shape (C, K).
            weights: W, shape (C, K).
            labels: shape (C, n).
            beta: β, shape (C, K, p).
            source: where the randomness comes from.
        """
        residuals = cluster_residuals(
            self.design, self.responses, self.weights, np.ascontiguousarray(labels), beta
        )
        rate = self.prior.noise_df * rates + residuals / 2.0
        floor = self.prior.noise_floor**2
        ceilings = rate / floor if floor > 0 else np.full_like(rate, np.inf)
        drawn = rate / gammas_below((self.prior.noise_df + weights) / 2.0, ceilings, source)
        return np.maximum(drawn, floor)

    def _sums(self, labels: Integers) -> tuple[Floats, Floats, Floats]:
        sums: tuple[Floats, Floats, Floats] = cluster_sums(
            self.design,
            self.responses,
            self.weights,
            np.ascontiguousarray(labels),
            self.prior.components,
        )
        return sums

    def _log_density(self, log_a: Floats, weights: Floats) -> Floats:
        """The logarithm of a times (3), the density of log a, up to a constant; shape (C,)."""
        a, prior = np.exp(log_a), self.prior
        each = (a / prior.components)[:, np.newaxis]
        ratios = (scipy.special.gammaln(each + weights) - scipy.special.gammaln(each)).sum(axis=1)
        whole = scipy.special.gammaln(a) - scipy.special.gammaln(a + weights.sum(axis=1))
        shape, rate = prior.concentration_shape, prior.concentration_rate
        return np.asarray(shape * log_a - rate * a + whole + ratios)


def mixture_draws(
    sampler: MixtureGibbs,
    source: Randomness,
    *,
    draws: int,
    burn_in: int,
    thin: int = 1,
    start: MixtureState | None = None,
) -> Mixtures:
    """Draws of θ from each chain, after the first sweeps are left out.

    Args:
        sampler: C chains.
        source: where the randomness comes from.
        draws: S, how many to keep of each chain.
        burn_in: sweeps left out at the beginning.
        thin: sweeps from one kept draw to the next.
        start: where the chains stand at first; `MixtureGibbs.start` if None.

    Returns:
        Leading axes (C, S).

    Raises:
        ValueError: no draw, or a number of sweeps out of range.
    """
    require_sweeps("mixture_draws", draws, burn_in, thin)
    state = sampler.start(source) if start is None else start

    def sweep(_: int) -> Mixtures:
        nonlocal state
        state = sampler.sweep(state, source)
        return state.mixtures

    return kept_draws(sweep, draws=draws, burn_in=burn_in, thin=thin)


def require_sweeps(who: str, draws: int, burn_in: int, thin: int) -> None:
    """Refuse what no chain can keep.

    Args:
        who: asks.
        draws: how many to keep.
        burn_in: sweeps left out at the beginning.
        thin: sweeps from one kept draw to the next.

    Raises:
        ValueError: no draw, or a number of sweeps out of range.
    """
    if draws < 1 or burn_in < 0 or thin < 1:
        raise ValueError(f"{who}: at least one draw, and sweeps that can be counted")


def kept_draws(
    sweep: Callable[[int], Mixtures], *, draws: int, burn_in: int, thin: int
) -> Mixtures:
    """Keep what some sweeps leave, after the first ones are left out.

    Args:
        sweep: makes the next one, told how many went before; θ of C chains after it.
        draws: S, how many to keep of each chain.
        burn_in: sweeps left out at the beginning.
        thin: sweeps from one kept draw to the next.

    Returns:
        Leading axes (C, S).
    """
    kept: list[Mixtures] = []
    for done in range(burn_in + draws * thin):
        mixtures = sweep(done)
        if done >= burn_in and (done - burn_in) % thin == thin - 1:
            kept.append(mixtures)
    return Mixtures(
        np.stack([mixture.log_shares for mixture in kept], axis=1),
        np.stack([mixture.coefficients for mixture in kept], axis=1),
        np.stack([mixture.variances for mixture in kept], axis=1),
    )
