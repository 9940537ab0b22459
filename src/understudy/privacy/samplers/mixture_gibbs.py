"""A Gibbs sampler for the mixture of regressions under record weights. CONFIDENTIAL throughout.

**Target.** With weights α_i in [0, 1] and the prior p(θ) of `mixture_prior`,

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
* *b_k* given σ_k, *Σ* given β and s, *s* given Σ: no data, no weights (`mixture_prior`).

A record of weight 0 adds 0 to each of these sums, whatever its label: θ moves as without it. The
sums do not depend on the order of the records, and each label only on its own record, so neither
does the distribution of θ. Components may swap their names from draw to draw; only what does not
depend on names should be read from draws.

The walk comes near (1) only in the limit; after finitely many sweeps from a start that depends on
the data nobody knows how near. A guarantee that rests on it is conditional, at best.

**Cost.** A sweep takes O(n·K·p) operations. Products of matrices use the BLAS library: who runs
several chains side by side limits its threads (`understudy.parallel`). Loops over the
records release the interpreter's lock.

Sources: Savitsky, Williams & Hu (2020) for weights in the likelihood; Ishwaran & Zarepour (2000)
for the finite Dirichlet prior; Frühwirth-Schnatter & Malsiner-Walli (2019) for (3); Huang & Wand
(2013) for Σ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.conjugate_draws import gammas_below, normals
from understudy.privacy.samplers.mixture_kernels import (
    Floats,
    cluster_residuals,
    cluster_sums,
    densities,
    drawn_labels,
)
from understudy.privacy.samplers.mixture_prior import MixturePrior, Mixtures, MixtureState

__all__ = ["MixtureGibbs", "kept_draws", "mixture_draws", "require_sweeps"]

Integers = NDArray[np.int64]

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
        ratios = (gammaln(each + weights) - gammaln(each)).sum(axis=1)
        whole = gammaln(a) - gammaln(a + weights.sum(axis=1))
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
    """What some sweeps leave, after the first ones are left out.

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
