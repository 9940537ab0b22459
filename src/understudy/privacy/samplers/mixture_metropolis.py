"""A mixture of regressions whose density is raised to record weights. CONFIDENTIAL throughout.

**Target.** With weights α_i in [0, 1] and the prior p(θ) of `mixture_prior`,

    p(θ) · ∏_i f(y_i | θ)^α_i,    f(y_i | θ) = Σ_k π_k · N(y_i | x_i'β_k, σ_k²):               (1)

eq. 2 of the paper as it stands, the power "marginal". No label z_i goes with a record here, as
it does in `mixture_gibbs`, where each component is raised to α_i by itself; so (1) has no
conditional distribution to draw β, σ or π from. Each sweep moves them block by block, by proposals
that are corrected so that (1) is left as it is:

* *a* given π: `TRIES` random-walk steps of log a for p(a)·Dirichlet(π; a/K, …, a/K);
* *π_k* of each k, the others keeping their proportions: once from its prior given a, Beta(a/K,
  a - a/K), which suits a component that is nearly empty; and once in the log odds, as β_k below;
* *β_k*, then *log σ_k²*, of each k: normal, with the information that the data have about them at
  the state (`mixture_proposals`), r_ik = π_k N_ik/f_i being the responsibilities;
* *Σ, s, b* given β and σ: drawn, as in `mixture_gibbs`; no data, no weights.

A move from θ to θ' with proposal density q is taken with probability
min{1, p(θ')·∏ f'^α·q(θ | θ')/[p(θ)·∏ f^α·q(θ' | θ)]}, which leaves (1) invariant for every q of
positive density. Step sizes alternate (`STEPS`) and do not adapt: draws are of one chain from the
first sweep to the last.

**Start.** Two components along the order of the responses, the others empty, then some sweeps of
the Gibbs sampler without weights, which moves components about more freely: from ten components a
chain took a thousand sweeps until those that are alike had merged.
Components still merge after it: on 6,208 records without weights some 200 sweeps are to be left
out, and fewer under small weights.

**Cost.** A sweep takes O(n·K) operations and few per predictor (`mixture_walk`, `grouped_design`):
some milliseconds for 6,000 records, ten components and 36 predictors.

As of any chain, nobody knows how near (1) it is after finitely many sweeps; the benchmark
`mixture_chains` measures it from different starts, and tests compare it with integrals and with the
No-U-Turn sampler. A guarantee that rests on it is conditional, at best.

Sources: Savitsky, Williams & Hu (2020), eq. 2; Metropolis, Rosenbluth, Rosenbluth, Teller & Teller
(1953) and Hastings (1970) for the correction; Ishwaran & Zarepour (2000) for the prior of π.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.column_model import Floats
from understudy.privacy.samplers.conjugate_draws import log_gammas, normals
from understudy.privacy.samplers.grouped_design import GroupedDesign
from understudy.privacy.samplers.mixture_gibbs import MixtureGibbs, kept_draws, require_sweeps
from understudy.privacy.samplers.mixture_prior import MixturePrior, Mixtures, MixtureState
from understudy.privacy.samplers.mixture_proposals import line_at, odds_at, scale_at
from understudy.privacy.samplers.mixture_walk import (
    HIGH,
    MixtureRows,
    Walk,
    log_normals,
    moved_shares,
)

__all__ = ["MixtureMetropolis", "metropolis_draws"]

TRIES: Final = 4
"""Metropolis steps of log a in a sweep, each normal with standard deviation 1."""
STEPS: Final = (1.0, 0.5)
"""h of the proposals, one sweep after the other."""
GROUPS: Final = 2
"""Components that a chain starts with."""
WARM: Final = 40
"""Sweeps of the Gibbs sampler, without weights, that it starts with."""
_Chance = tuple[float, float, float]
"""A standard normal number, the logarithm of a uniform one, and h."""


@dataclass(frozen=True, eq=False)
class MixtureMetropolis:
    """The target, and one chain's steps on it.

    Attributes:
        prior: public.
        responses: y, shape (n,).
        design: x, the first column 1, shape (n, p).
        weights: α, shape (n,).

    Raises:
        ValueError: shapes that do not fit, weights outside [0, 1], or values that are not finite.
    """

    prior: MixturePrior
    responses: Floats
    design: Floats
    weights: Floats

    def __post_init__(self) -> None:
        """Check shapes and weights, as the Gibbs sampler does."""
        self._gibbs  # noqa: B018

    @cached_property
    def _gibbs(self) -> MixtureGibbs:
        return MixtureGibbs(
            self.prior, self.responses[np.newaxis], self.design, self.weights[np.newaxis]
        )

    @cached_property
    def rows(self) -> MixtureRows:
        """The records, grouped."""
        return MixtureRows(self.responses, GroupedDesign.of(self.design), self.weights)

    def start(self, source: Randomness) -> MixtureState:
        """A state to begin with: `GROUPS` components along the responses, then `WARM` sweeps."""
        n, rows = len(self.responses), self.responses[np.newaxis]
        gibbs = MixtureGibbs(self.prior, rows, self.design, np.ones_like(rows))
        state = self.prior.draw(self.design.shape[1], 1, source)
        ranks = np.argsort(np.argsort(rows, axis=1), axis=1)
        groups = min(GROUPS, self.prior.components)
        state = gibbs.parameters(state, ranks * groups // max(n, 1), source)
        for _ in range(WARM):
            state = gibbs.sweep(state, source)
        return state

    def sweep(self, walk: Walk, source: Randomness, h: float) -> None:
        """One step of all blocks, which leaves the target invariant."""
        prior, state = self.prior, walk.state
        components, p = walk.coefficients.shape
        walk.log_sums = walk.sums()
        walk.concentration = self._concentration(walk, source)
        afresh = self._fresh_odds(walk.concentration, source)
        moves, turns = normals((components, p), source), normals((2, components), source)
        heights = np.log(source.uniforms(4 * components)).reshape(4, components)
        for k in range(components):
            own = self._redraw_share(walk, k, afresh[k], heights[0, k])
            own = self._move_share(walk, k, own, (turns[0, k], heights[1, k], h))
            own = self._move_line(walk, k, own, (moves[k], heights[2, k], h))
            self._move_scale(walk, k, own, (turns[1, k], heights[3, k], h))
        beta = walk.coefficients[np.newaxis].copy()
        variances = walk.variances[np.newaxis].copy()
        precision = prior.precisions(state.precision_rates, beta, source)
        walk.state = MixtureState(
            mixtures=Mixtures(walk.log_shares[np.newaxis].copy(), beta, variances),
            concentration=np.array([walk.concentration]),
            precision=precision,
            precision_rates=prior.precision_rates(precision, source),
            noise_rates=prior.noise_rates(variances, source),
        )

    def _concentration(self, walk: Walk, source: Randomness) -> float:
        """Metropolis steps of log a given π."""
        here = math.log(walk.state.concentration[0])
        moves = normals((TRIES,), source)
        for move, height in zip(moves, np.log(source.uniforms(TRIES)), strict=True):
            there = here + float(move)
            if height < self._log_shares(there, walk) - self._log_shares(here, walk):
                here = there
        return math.exp(here)

    def _log_shares(self, log_a: float, walk: Walk) -> float:
        """Log density of log a and π, up to a constant."""
        a, prior, components = math.exp(log_a), self.prior, self.prior.components
        shares = math.lgamma(a) - components * math.lgamma(a / components)
        shares += a / components * float(walk.log_shares.sum())
        return prior.concentration_shape * log_a - prior.concentration_rate * a + shares

    def _fresh_odds(self, a: float, source: Randomness) -> Floats:
        """Log odds of each π_k from Beta(a/K, a - a/K), shape (K,); of one component, zeros."""
        components = self.prior.components
        if components == 1:
            return np.zeros(1)
        each = a / components
        shapes = np.repeat([[each], [a - each]], components, axis=1)
        ours, theirs = log_gammas(shapes, source)
        return np.asarray(ours - theirs)

    def _redraw_share(self, walk: Walk, k: int, there: float, height: float) -> Floats:
        """A step of π_k from its prior; r_ik afterwards, shape (n,)."""
        own = walk.shares_of(k)
        if self.prior.components == 1:
            return own
        shares = moved_shares(walk.log_odds(k), there)
        factors, new = walk.after(k, own, walk.log_normals[k], shares)
        if not height < float(self.weights @ factors):
            return own
        walk.take_shares(k, shares, factors)
        return new

    def _move_share(self, walk: Walk, k: int, own: Floats, chance: _Chance) -> Floats:
        """A step of the log odds of π_k; r_ik afterwards, shape (n,)."""
        if self.prior.components == 1:
            return own
        a, here, (z, height, h) = walk.concentration, walk.log_odds(k), chance
        prior = a / self.prior.components, a
        odds = odds_at(prior, here, (self.weights, own))
        move = odds.moved(h, z)
        shares = moved_shares(here, here + move)
        factors, new = walk.after(k, own, walk.log_normals[k], shares)
        back = odds_at(prior, here + move, (self.weights, new))
        change = float(self.weights @ factors)
        change += prior[0] * shares[0] + (a - prior[0]) * shares[1]
        change += back.log_density(h, -move) - odds.log_density(h, move)
        if not height < change:
            return own
        walk.take_shares(k, shares, factors)
        walk.taken[2] += 1
        return new

    def _move_line(
        self, walk: Walk, k: int, own: Floats, chance: tuple[Floats, float, float]
    ) -> Floats:
        """A step of β_k; r_ik afterwards, shape (n,)."""
        precision, variance = walk.state.precision[0], float(walk.variances[k])
        here, (z, height, h) = walk.coefficients[k], chance
        records = self.weights, own, walk.distances[k]
        line = line_at(walk.rows.design, (here, variance), precision, records)
        if line is None:
            return own
        move = line.moved(h, z)
        there = here + move
        distances = walk.rows.misses(there)
        normals_there = log_normals(distances, variance)
        factors, new = walk.after(k, own, normals_there)
        records = self.weights, new, distances
        back = line_at(walk.rows.design, (there, variance), precision, records)
        if back is None:
            return own
        change = float(self.weights @ factors) - 0.5 * float((there + here) @ precision @ move)
        change += back.log_density(h, -move) - line.log_density(h, move)
        if not height < change:
            return own
        walk.coefficients[k], walk.distances[k] = there, distances
        walk.take(k, normals_there, factors)
        walk.taken[0] += 1
        return new

    def _move_scale(self, walk: Walk, k: int, own: Floats, chance: _Chance) -> None:
        """A step of log σ_k²."""
        variance, squares = float(walk.variances[k]), walk.distances[k] ** 2
        prior = self.prior.noise_df, float(walk.state.noise_rates[0, k])
        scale = scale_at(prior, variance, (self.weights, own, squares))
        z, height, h = chance
        move = scale.moved(h, z)
        there = variance * math.exp(min(move, HIGH))
        if not self.prior.noise_floor**2 <= there < math.inf or there == 0.0:
            return
        normals_there = log_normals(walk.distances[k], there)
        factors, new = walk.after(k, own, normals_there)
        back = scale_at(prior, there, (self.weights, new, squares))
        change = float(self.weights @ factors)
        change -= prior[0] * (0.5 * move + prior[1] * (1.0 / there - 1.0 / variance))
        change += back.log_density(h, -move) - scale.log_density(h, move)
        if height < change:
            walk.variances[k] = there
            walk.take(k, normals_there, factors)
            walk.taken[1] += 1


def metropolis_draws(
    target: MixtureMetropolis,
    source: Randomness,
    *,
    draws: int,
    burn_in: int,
    thin: int = 1,
    start: MixtureState | None = None,
) -> Mixtures:
    """Draws of θ from one chain, after the first sweeps are left out.

    Args:
        target: prior and weighted likelihood.
        source: where the randomness comes from.
        draws: S, how many to keep.
        burn_in: sweeps left out at the beginning.
        thin: sweeps from one kept draw to the next.
        start: where the chain stands at first, one state; `MixtureMetropolis.start` if None.

    Returns:
        Leading axis (S,).

    Raises:
        ValueError: no draw, or a number of sweeps out of range.
    """
    require_sweeps("metropolis_draws", draws, burn_in, thin)
    walk = Walk(target.rows, target.start(source) if start is None else start)

    def sweep(done: int) -> Mixtures:
        target.sweep(walk, source, STEPS[done % len(STEPS)])
        return walk.state.mixtures

    kept = kept_draws(sweep, draws=draws, burn_in=burn_in, thin=thin)
    return kept.of_chain(0)
