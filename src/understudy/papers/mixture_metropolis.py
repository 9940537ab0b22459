"""A mixture of regressions whose density is raised to record weights. CONFIDENTIAL throughout.

**Target.** With weights α_i in [0, 1] and the prior p(θ) of `papers.mixture_gibbs`,

    p(θ) · ∏_i f(y_i | θ)^α_i,    f(y_i | θ) = Σ_k π_k · N(y_i | x_i'β_k, σ_k²):               (1)

eq. 2 of the paper as it stands, the power "marginal". No label z_i goes with a record here, as
it does in `mixture_gibbs`, where each component is raised to α_i by itself; so (1) has no
conditional distribution to draw β, σ or π from. Each sweep moves them block by block, by proposals
that are corrected so that (1) is left as it is:

* *a* given π: `TRIES` random-walk steps of log a for p(a)·Dirichlet(π; a/K, …, a/K);
* *π_k* of each k, the others keeping their proportions: once from its prior given a, Beta(a/K,
  a - a/K), which suits a component that is nearly empty; and once in the log odds, as β_k below;
* *β_k*, then *log σ_k²*, of each k: normal, with the information that the data have about them at
  the state (below), r_ik = π_k N_ik/f_i being the responsibilities;
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

**Cost.** A sweep takes O(n·K) operations and few per predictor (`papers.sampling_base`):
some milliseconds for 6,000 records, ten components and 36 predictors.

As of any chain, nobody knows how near (1) it is after finitely many sweeps; the benchmark
`papers.mixture_gibbs` measures it from different starts, and tests compare it with integrals and
with the No-U-Turn sampler. A guarantee that rests on it is conditional, at best.

Sources: Savitsky, Williams & Hu (2020), eq. 2; Metropolis, Rosenbluth, Rosenbluth, Teller & Teller
(1953) and Hastings (1970) for the correction; Ishwaran & Zarepour (2000) for the prior of π.

**What a component of a mixture is proposed to become: normal approximations at a state.**

Let r_i be the responsibility of a component for record i, α_i the record's weight, and
d_i = y_i - x_i'β. The gradient of Σ α_i log f_i is the one that the component would have if record
i were in it with weight α_i·r_i (Fisher's identity). The information is less, as nobody knows who
is in it (Louis's identity):

    in β:       Σ α_i r_i·[1 - (1 - r_i)·d_i²/σ²]·x_i x_i'/σ²,
    in log σ²:  Σ α_i·[r_i·d_i²/(2σ²) - r_i(1 - r_i)·((d_i²/σ² - 1)/2)²],
    in log π/(1 - π):  Σ α_i·[π(1 - π) - r_i(1 - r_i)].

Terms may be negative. In the first two none counts less here than the part `KNOWN`·r_i of what it
would if labels were known and d_i² = σ², in the third the sum no less than `KNOWN` of the first
part: so all are positive, near the true ones also where components overlap, and functions of the
state alone, which is all that a correction by the way back needs.

From a centre c = θ + h·(Newton's step) a proposal is N(c, h(2 - h)/information): for a normal
target with that information it keeps the target for every h in (0, 1], and is a fresh draw at
h = 1.

Sources: Louis (1982), JRSS B 44; Girolami & Calderhead (2011), JRSS B 73, for proposals that follow
the information at the state.

**Where a Metropolis chain of a mixture of regressions stands. CONFIDENTIAL throughout.**

Of each record log N_ik = log N(y_i | x_i'β_k, σ_k²) is kept for all k, and log f_i,
f_i = Σ_k π_k N_ik. With the responsibility r_ik = π_k N_ik/f_i, another density N'_ik of one
component changes f_i by the factor

    1 - r_ik + π_k N'_ik/f_i.

Where 1 - r_ik would lose its digits, or a factor leave the range of numbers, the other components
are added up anew, in logarithms; so every factor is right to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import scipy

from understudy._arrays import Floats
from understudy.dp.randomness import Randomness
from understudy.papers.mixture_gibbs import (
    MixtureGibbs,
    MixturePrior,
    Mixtures,
    MixtureState,
    kept_draws,
    require_sweeps,
)
from understudy.papers.sampling_base import GroupedDesign, log_gammas, normals

KNOWN: Final = 0.2
"""A record's least information, as a part of r times what known labels would give."""
LEAST: Final = 0.1
"""The least information in log odds: that of a nearly empty component is next to nothing."""
FEW: Final = 0.5
"""Where less than so many records are in a component, it is proposed to as by the prior alone."""


@dataclass(frozen=True, eq=False)
class CoefficientProposal:
    """The approximation in β.

    Attributes:
        root: lower Cholesky root L of the information, shape (p, p).
        step: Newton's step, shape (p,).
    """

    root: Floats
    step: Floats

    def propose(self, h: float, z: Floats) -> Floats:
        """From β to a proposal, by p standard normal numbers; shape (p,)."""
        return np.asarray(
            h * self.step
            + _spread(h) * scipy.linalg.lapack.dtrtrs(self.root, z, lower=1, trans=1)[0]
        )

    def log_density(self, h: float, move: Floats) -> float:
        """Of a move from β, up to a constant."""
        z = (move - h * self.step) @ self.root / _spread(h)
        return float(np.log(np.diag(self.root)).sum() - 0.5 * (z @ z))


@dataclass(frozen=True)
class ScalarProposal:
    """The approximation in log σ², or in the log odds of π.

    Attributes:
        information: above 0.
        step: Newton's step.
    """

    information: float
    step: float

    def propose(self, h: float, z: float) -> float:
        """From here to a proposal, by a standard normal number."""
        return h * self.step + _spread(h) * z / math.sqrt(self.information)

    def log_density(self, h: float, move: float) -> float:
        """Of a move from here, up to a constant."""
        z = (move - h * self.step) / _spread(h)
        return 0.5 * (math.log(self.information) - self.information * z * z)


def _spread(h: float) -> float:
    return math.sqrt(h * (2.0 - h))


def line_at(
    design: GroupedDesign,
    component: tuple[Floats, float],
    precision: Floats,
    records: tuple[Floats, Floats, Floats],
) -> CoefficientProposal | None:
    """The approximation in β at a state; None where rounding leaves no positive information.

    Args:
        design: x.
        component: β, shape (p,), and σ².
        precision: Q of the prior N(0, Q⁻¹), shape (p, p).
        records: α, r and d, each of shape (n,).
    """
    beta, variance = component
    weights, shares, distances = records
    matrix, gradient = precision, -(precision @ beta)
    pull = weights * shares
    if pull.sum() >= FEW:
        pull /= variance
        known = distances * distances
        known *= shares - 1.0
        known /= variance
        known += 1.0
        np.maximum(known, KNOWN * shares, out=known)
        known *= pull
        pull *= distances
        squares, products = design.sums(known, pull)
        matrix, gradient = matrix + squares, gradient + products
    root, failed = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    if failed:
        return None
    return CoefficientProposal(root, scipy.linalg.lapack.dpotrs(root, gradient, lower=1)[0])


def scale_at(
    prior: tuple[float, float], variance: float, records: tuple[Floats, Floats, Floats]
) -> ScalarProposal:
    """The approximation in log σ² at a state.

    The step is that of the inverse gamma distribution with known labels, to its mode in log σ²,
    longer by what labels hide: far from a mode Newton's own would lead astray.

    Args:
        prior: ν' and 1/b, of InverseGamma(ν'/2, ν'/b).
        variance: σ².
        records: α, r and d², each of shape (n,).
    """
    df, rate = prior
    weights, shares, squares = records
    pull = weights * shares
    records_in = float(pull.sum())
    if records_in < FEW:
        return ScalarProposal(0.5 * df, math.log(2.0 * rate / variance))
    ratios, shape = squares / variance, 0.5 * (df + records_in)
    height = df * rate / variance + 0.5 * float(pull @ ratios)
    turned = 0.5 * ratios - 0.5
    known = 0.5 * ratios - (1.0 - shares) * turned * turned
    np.maximum(known, 0.5 * KNOWN * shares, out=known)
    information = min(0.5 * df + float(pull @ known), shape)
    return ScalarProposal(information, shape / information * math.log(height / shape))


def odds_at(
    prior: tuple[float, float], log_odds: float, records: tuple[Floats, Floats]
) -> ScalarProposal:
    """The approximation in the log odds λ of π at a state.

    Args:
        prior: of Beta(b, a - b): b and a.
        log_odds: λ.
        records: α and r, each of shape (n,).
    """
    weights, shares = records
    share = 1.0 / (1.0 + math.exp(min(-log_odds, 700.0)))
    whole = float(weights.sum())
    pull = float(weights @ shares)
    hidden = pull - float(weights @ (shares * shares))
    even = share * (1.0 - share)
    information = even * prior[1] + max(whole * even - hidden, KNOWN * whole * even)
    information = max(information, LEAST)
    return ScalarProposal(information, (prior[0] + pull - share * (prior[1] + whole)) / information)


_CERTAIN: Final = 0.999
"""Responsibility above which the other components are added up anew."""
HIGH: Final = 600.0
"""Logarithm above which a factor is not formed."""
_LOW: Final = 1e-200
"""Factor below which it is formed in logarithms."""


@dataclass(frozen=True, eq=False)
class MixtureRows:
    """Records.

    Attributes:
        responses: y, shape (n,).
        design: x, grouped.
        weights: α, shape (n,).
    """

    responses: Floats
    design: GroupedDesign
    weights: Floats

    def misses(self, beta: Floats) -> Floats:
        """Compute the residuals of the responses, y - x'β; shape (n,)."""
        return np.asarray(self.responses - self.design.predict(beta))


class Walk:
    """Where a chain stands, with what is kept of each record; its arrays are written into.

    Args:
        rows: the records.
        state: where it begins.

    Attributes:
        rows: the records.
        state: all unknowns, of one chain; its β, σ² and π are those at the end of the last sweep.
        log_shares: log π, shape (K,).
        coefficients: β, shape (K, p).
        variances: σ², shape (K,).
        concentration: a.
        distances: y - x'β_k, shape (K, n).
        log_normals: log N_ik, shape (K, n).
        log_sums: log f_i, shape (n,).
        taken: proposals of β, log σ² and π that were taken, shape (3,).
    """

    def __init__(self, rows: MixtureRows, state: MixtureState) -> None:
        """Stand at a state, of one chain."""
        self.rows, self.state = rows, state
        drawn = state.mixtures
        self.concentration = float(state.concentration[0])
        self.log_shares = drawn.log_shares[0].copy()
        self.coefficients = drawn.coefficients[0].copy()
        self.variances = drawn.variances[0].copy()
        self.distances = np.stack([rows.misses(beta) for beta in self.coefficients])
        self.log_normals = np.stack(
            [log_normals(*pair) for pair in zip(self.distances, self.variances, strict=True)]
        )
        self.log_sums = self.sums()
        self.taken = np.zeros(3)

    def sums(self) -> Floats:
        """Log f_i afresh, shape (n,)."""
        return _log_sums(self.log_normals + self.log_shares[:, np.newaxis])

    def shares_of(self, k: int) -> Floats:
        """r_ik of a component, shape (n,)."""
        logs = self.log_normals[k] + (self.log_shares[k] - self.log_sums)
        return np.asarray(np.exp(logs, out=logs))

    def after(
        self, k: int, own: Floats, log_normals: Floats, shares: tuple[float, float] = (0.0, 0.0)
    ) -> tuple[Floats, Floats]:
        """By what f_i changes, as a logarithm, and r_ik then, where a component becomes another.

        Args:
            k: component.
            own: r_ik, shape (n,).
            log_normals: log N'_ik, shape (n,).
            shares: by what log π_k changes, and the log π of all others.

        Returns:
            Both of shape (n,).
        """
        heights = log_normals + (self.log_shares[k] + shares[0] - self.log_sums)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            new = np.exp(heights)
            total = (1.0 - own) * math.exp(min(shares[1], HIGH)) + new
            factors, new = np.log(total), new / total
        lost = (own > _CERTAIN) | (heights > HIGH) | (total < _LOW)
        at = np.arange(len(own)) if shares[1] > HIGH else np.flatnonzero(lost)
        if at.size:
            others = self.log_normals[:, at] + self.log_shares[:, np.newaxis]
            others[k] = -np.inf
            rest = _log_sums(others) + shares[1] - self.log_sums[at]
            factors[at] = np.logaddexp(rest, heights[at])
            new[at] = np.exp(heights[at] - factors[at])
        return factors, new

    def log_odds(self, k: int) -> float:
        """Log of π_k by the sum of all others."""
        others = self.log_shares.copy()
        others[k] = -np.inf
        largest = float(others.max())
        return float(self.log_shares[k]) - largest - math.log(np.exp(others - largest).sum())

    def take_shares(self, k: int, shares: tuple[float, float], factors: Floats) -> None:
        """Change log π_k and all others'."""
        own = self.log_shares[k] + shares[0]
        self.log_shares = self.log_shares + shares[1]
        self.log_shares[k] = own
        self.log_sums += factors

    def take(self, k: int, log_normals: Floats, factors: Floats) -> None:
        """Put a component's new densities in place."""
        self.log_normals[k] = log_normals
        self.log_sums += factors


def log_normals(distances: Floats, variance: float) -> Floats:
    """Log N, shape (n,)."""
    logs = distances * distances
    logs *= -0.5 / variance
    logs -= 0.5 * math.log(2.0 * math.pi * variance)
    return logs


def moved_shares(here: float, there: float) -> tuple[float, float]:
    """By what log π_k and log(1 - π_k) change where the log odds of π_k do."""
    return _softplus(-here) - _softplus(-there), _softplus(here) - _softplus(there)


def _softplus(number: float) -> float:
    """Log(1 + exp(number))."""
    return max(number, 0.0) + math.log1p(math.exp(-abs(number)))


def _log_sums(parts: Floats) -> Floats:
    """Log Σ_k exp of parts of shape (K, n), which are written into; minus infinity of none."""
    largest = parts.max(axis=0, initial=-np.inf)
    parts -= np.where(largest == -np.inf, 0.0, largest)
    np.exp(parts, out=parts)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(largest == -np.inf, 0.0, largest) + np.log(parts.sum(axis=0)))


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
        move = odds.propose(h, z)
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
        move = line.propose(h, z)
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
        move = scale.propose(h, z)
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
