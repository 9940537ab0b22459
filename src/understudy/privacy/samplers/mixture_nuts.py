"""A mixture of regressions under record weights by the No-U-Turn sampler. CONFIDENTIAL throughout.

A second way to the posterior of `mixture_gibbs`, and to that of `mixture_metropolis`, where α_i is
a power of the density of the mixture and not of each component (`mixture_density`). It walks by
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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.extras import require_extra
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.mixture_density import (
    POWERS,
    Arrays,
    MixtureTarget,
    Point,
    Power,
    coordinates,
    mixtures,
)
from understudy.privacy.samplers.mixture_gibbs import MixtureGibbs
from understudy.privacy.samplers.mixture_prior import MixturePrior, Mixtures, MixtureState

__all__ = ["MixtureNuts", "NutsDraws", "check_numpyro", "nuts_draws"]

Floats = NDArray[np.float64]

ACCEPTED: Final = 0.9
"""Mean acceptance that the step is adapted to: above the usual .8, for narrow corners of shares."""
DEPTH: Final = 10
"""A transition takes 2^DEPTH - 1 steps at most."""


def check_numpyro() -> None:
    """Whether the extra is installed.

    Raises:
        MethodError: it is not; says how to install it.
    """
    require_extra("numpyro", "The sampler 'nuts'", ", or take 'gibbs'")


@dataclass(frozen=True, eq=False)
class MixtureNuts:
    """What a chain walks on.

    Attributes:
        prior: public.
        responses: y, shape (n,).
        design: x, the first column 1, shape (n, p).
        weights: α, shape (n,).
        power: which form of the target, see `mixture_target`.

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
    """What a chain kept.

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
    """What the program is compiled for, besides the shapes of arrays: public numbers."""

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

    arrays = Arrays(jax.numpy, jax.scipy.special)
    target = MixtureTarget(plan.prior, plan.power, arrays)
    kernel = NUTS(
        potential_fn=lambda z: -target.log_density(z, *rows),
        target_accept_prob=ACCEPTED,
        max_tree_depth=DEPTH,
    )

    def moved(state: Any, key: Any) -> Any:
        after = kernel.sample(state._replace(rng_key=key), (), {})
        output = after.z, after.diverging, after.num_steps
        return after, output

    state = kernel.init(keys[0], plan.warm_up, init_params=first, model_args=(), model_kwargs={})
    return jax.lax.scan(moved, state, keys[1:])[1]
