"""A mixture of regressions under record weights by the No-U-Turn sampler. CONFIDENTIAL throughout.

A second way to the posterior of `mixture_gibbs`, and to that of `mixture_metropolis`, where α_i is
a power of the density of the mixture and not of each component (below). It walks by
gradients, which JAX takes, by the sampler of NumPyro: the optional extra "numpyro", some hundred
megabytes. Choose it to check a chain by another.

**Steps.** `MixtureGibbs.start` gives the first state; `warm_up` transitions, left out, adapt the
step and a diagonal metric; then each `thin`-th is kept. The first call for a number of records
compiles for some seconds. A transition takes 2^k - 1 gradients, ten to hundreds, each of O(n·K·p)
operations; most where components stay empty, as their parameters have wide distributions.

**What it misses.** Names of components are exchangeable, and a walk stays with those that it has or
swaps them, as it happens: only what does not depend on names should be read from draws. But it
may also stay on one side of a valley of the density that is no matter of names, such as which of
two lines a third component shares; under power "labels" there are more of these. As with any
chain, nobody knows how near it came after finitely many steps, and a guarantee that rests on it is
conditional, at best.

**Randomness.** Each transition has a key of its own, 64 bits of the boundary's source, which JAX
expands (Threefry); none is made from another's, so that guessing one tells of one transition alone.
JAX promises no cryptographic strength. Draws are rounded real numbers.

**What stays inside.** Rows go to the compiled program as arguments, never as constants, which JAX
could write to a cache on the disk; of them the program has the shape alone. It runs on the CPU, in
double precision, whatever the settings of the process, which it leaves as they are. It stops for no
number that is not finite: a transition to one is refused.

Sources: Hoffman & Gelman (2014), JMLR 15; Phan, Pradhan & Jankowiak (2019), arXiv 1912.11554, for
the sampler used; Betancourt (2017), arXiv 1701.02434, for transitions that diverge.

**The density of a mixture of regressions on unbounded coordinates, for samplers by gradients.**

**Coordinates** of a point, with the prior of `papers.mixture_gibbs` (K components, p predictors):

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from understudy._arrays import Floats
from understudy._validation import require_extra
from understudy.dp.randomness import Randomness
from understudy.errors import MethodError
from understudy.papers.mixture_gibbs import MixtureGibbs, MixturePrior, Mixtures, MixtureState

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
        scipy: with those of `scipy.special`.
    """

    xp: Any
    scipy: Any


NUMPY: Final = Arrays(np, scipy)


def coordinates(state: MixtureState, prior: MixturePrior) -> dict[str, Floats]:
    """Return where states of chains stand, with L = 0; leading axis (C,)."""
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
    log_shares = points["shares"] - scipy.special.logsumexp(
        points["shares"], axis=-1, keepdims=True
    )
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
        """Compute what each record adds, shape (..., n)."""
        xp, logsumexp = self.arrays.xp, self.arrays.scipy.special.logsumexp
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
        constant = shape * math.log(rate) - float(scipy.special.gammaln(shape))
        return shape * log_a - rate * self.arrays.xp.exp(log_a) + constant

    def _log_shares(self, point: Point) -> Any:
        """π given a by its density in log π, and L."""
        log_gamma = self.arrays.scipy.special.gammaln
        a = self.arrays.xp.exp(point["concentration"])
        t, components = point["shares"], self.prior.components
        total = self.arrays.scipy.special.logsumexp(t, axis=-1)
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
        constant = float(
            scipy.special.multigammaln((df + components) / 2.0, p)
            - scipy.special.multigammaln(df / 2.0, p)
        )
        constant -= components * p / 2.0 * math.log(math.pi)
        column_model = constant - components / 2.0 * log_s - (df + components) / 2.0 * log_inner
        gamma = 0.5 * rates - xp.exp(rates) / scale**2 - math.log(scale * math.sqrt(math.pi))
        return column_model + gamma.sum(axis=-1)

    def _log_noise(self, point: Point) -> Any:
        """σ, of the half-t distribution above the floor."""
        df, scale, floor = self.prior.noise_df, self.prior.noise_scale, self.prior.noise_floor
        xp, excess = self.arrays.xp, point["excess"]
        squares = ((floor + xp.exp(excess)) / scale) ** 2
        constant = float(scipy.special.gammaln((df + 1.0) / 2.0) - scipy.special.gammaln(df / 2.0))
        constant -= 0.5 * math.log(df * math.pi) + math.log(scale)
        constant -= math.log(float(scipy.special.stdtr(df, -floor / scale)))
        return (constant + excess - (df + 1.0) / 2.0 * xp.log1p(squares / df)).sum(axis=-1)


ACCEPTED: Final = 0.9
"""Mean acceptance that the step is adapted to: above the usual .8, for narrow corners of shares."""
DEPTH: Final = 10
"""A transition takes 2^DEPTH - 1 steps at most."""


def check_numpyro() -> None:
    """Check that the extra is installed.

    Raises:
        MethodError: it is not; says how to install it.
    """
    require_extra("numpyro", "The sampler 'nuts'", ", or take 'gibbs'")


@dataclass(frozen=True, eq=False)
class MixtureNuts:
    """A posterior that a chain walks on.

    Attributes:
        prior: public.
        responses: y, shape (n,).
        design: x, the first column 1, shape (n, p).
        weights: α, shape (n,).
        power: which form of the target, see `papers.mixture_gibbs`.

    Raises:
        MethodError: an unknown form.
        ValueError: shapes that do not fit, weights outside [0, 1], or values that are not finite.
    """

    prior: MixturePrior
    responses: Floats
    design: Floats
    weights: Floats
    power: Power = "marginal"

    def __post_init__(self) -> None:
        """Check shapes and weights, as the Gibbs sampler does."""
        if self.power not in POWERS:
            raise MethodError(f"The power of a mixture is one of {', '.join(POWERS)}.")
        self.gibbs()

    def gibbs(self) -> MixtureGibbs:
        """The other sampler on the same records."""
        rows = self.responses[np.newaxis], self.design, self.weights[np.newaxis]
        return MixtureGibbs(self.prior, *rows)


@dataclass(frozen=True, eq=False)
class NutsDraws:
    """The draws that a chain kept.

    Attributes:
        mixtures: θ, leading axis (S,).
        divergent: transitions after the warm-up whose energy ran away; many of them say that the
            step is too long for the target, and the draws are not to be trusted.
        steps: gradients taken after the warm-up.
    """

    mixtures: Mixtures
    divergent: int
    steps: int


def nuts_draws(
    target: MixtureNuts,
    source: Randomness,
    *,
    draws: int,
    warm_up: int,
    thin: int = 1,
    start: MixtureState | None = None,
) -> NutsDraws:
    """Draws of θ from one chain.

    Args:
        target: prior and weighted likelihood.
        source: where the randomness comes from.
        draws: S, how many to keep.
        warm_up: transitions left out at the beginning, that adapt step and metric.
        thin: transitions from one kept draw to the next.
        start: where the chain stands at first, one state; `MixtureGibbs.start` if None.

    Raises:
        MethodError: NumPyro is not installed.
        ValueError: no draw, or a number of transitions out of range.
    """
    if draws < 1 or warm_up < 0 or thin < 1:
        raise ValueError("nuts_draws: at least one draw, and transitions that can be counted")
    check_numpyro()
    state = target.gibbs().start(source) if start is None else start
    first = {name: array[0] for name, array in coordinates(state, target.prior).items()}
    rows = target.responses, target.design, target.weights
    plan = _Plan(target.prior, target.power, warm_up)
    points, divergent, steps = _run(plan, _keys(1 + warm_up + draws * thin, source), first, rows)
    kept = {name: array[warm_up + thin - 1 :: thin] for name, array in points.items()}
    after = int(divergent[warm_up:].sum()), int(steps[warm_up:].sum())
    return NutsDraws(mixtures(kept, target.prior), *after)


@dataclass(frozen=True)
class _Plan:
    """Public numbers that the program is compiled for, besides the shapes of arrays."""

    prior: MixturePrior
    power: Power
    warm_up: int


def _keys(count: int, source: Randomness) -> NDArray[np.uint32]:
    """Keys of JAX in their plain form, 64 bits each, shape (count, 2)."""
    return source.words(count).view(np.uint32).reshape(count, 2)


def _run(
    plan: _Plan, keys: NDArray[np.uint32], first: Point, rows: tuple[Floats, ...]
) -> tuple[dict[str, Floats], NDArray[np.bool_], NDArray[np.int64]]:
    """Run the program for one transition a key, but for the first key, which it begins with."""
    import jax

    with (
        jax.enable_x64(True),
        jax.default_device(jax.devices("cpu")[0]),
        jax.default_prng_impl("threefry2x32"),
        jax.legacy_prng_key("allow"),
        jax.debug_nans(False),
        jax.debug_infs(False),
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
    ):
        output = _program()(plan, keys, dict(first), rows)
        points, divergent, steps = jax.device_get(output)
    return {name: np.asarray(array) for name, array in points.items()}, divergent, steps


@cache
def _program() -> Callable[..., Any]:
    """The chain, compiled once for each plan and shape."""
    import jax

    return jax.jit(_chain, static_argnums=0)  # type: ignore[no-any-return, unused-ignore]


def _chain(plan: _Plan, keys: Any, first: Any, rows: Any) -> Any:
    """All states after the first, whether they diverged, and their steps; traced by JAX."""
    import jax
    from numpyro.infer import NUTS

    arrays = Arrays(jax.numpy, jax.scipy)
    target = MixtureTarget(plan.prior, plan.power, arrays)
    kernel = NUTS(
        potential_fn=lambda z: -target.log_density(z, *rows),
        target_accept_prob=ACCEPTED,
        max_tree_depth=DEPTH,
    )

    def move(state: Any, key: Any) -> Any:
        after = kernel.sample(state._replace(rng_key=key), (), {})
        output = after.z, after.diverging, after.num_steps
        return after, output

    state = kernel.init(keys[0], plan.warm_up, init_params=first, model_args=(), model_kwargs={})
    return jax.lax.scan(move, state, keys[1:])[1]
