r"""Draws from the posterior of a weighted multinomial logit: Hamiltonian steps around its mode.

1. The mode by Newton's method; the height is strictly concave, and steps that would not rise are
   halved. With A the second derivatives there, A = GG', points are B = mode + G⁻ᵀz.
2. Chains begin at z ~ N(0, I), the normal approximation of Laplace, each on its own.
3. A transition draws a velocity v ~ N(0, I) and follows, for a few steps of length t,

       v += (t/2)·(∇h(z) + z);   (z, v) turned by the angle t;   v += (t/2)·(∇h(z) + z),

   and the end is taken with probability min(1, exp[h(z') - ½v'v' - h(z) + ½vv]).
4. Where many ends are refused while chains burn in, steps become shorter and more: as far in all.
   After that they stay as they are.

**The target is left exactly as it is.** The pushes change v by a function of z alone, and turning
is a rotation: both preserve volume. Run backwards from the end with velocity reversed the same
steps lead to the beginning, and t is drawn before and apart from z. So the proposal is symmetric on
(z, v), and accepting it by the ratio of exp(h(z) - ½v'v) satisfies detailed balance for that
distribution, whose margin in z is the target. Errors of the mode and of A cost acceptance, never
exactness; nor does it matter how the steps were chosen before, as each choice leaves the target as
it is.

Where the target is normal, h + ½z'z is constant, nothing pushes and all is accepted: without
records draws are exact and independent. Elsewhere only what is not normal is approximated, so that
few steps reach far, in hundreds of dimensions too.

Sources: Shahbaba, Lan, Johnson & Neal (2014), "Split Hamiltonian Monte Carlo", Statistics and
Computing 24, §3.1; Beskos, Pinski, Sanz-Serna & Stuart (2011), Stochastic Processes and their
Applications 121; Newton with halved steps: Boyd & Vandenberghe (2004), Convex Optimization, §9.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.column_model import Floats
from understudy.privacy.samplers.conjugate_draws import normals
from understudy.privacy.samplers.logit_density import WeightedLogit

__all__ = ["Chains", "LogitDraws", "logit_draws"]

NEWTON: Final = 60
"""Newton steps at most."""
CLOSE: Final = 1e-10
"""Newton's method ends where a step would raise the height by less."""


@dataclass(frozen=True, kw_only=True)
class Chains:
    """How chains run; all public.

    Attributes:
        chains: side by side; no more than there are draws.
        burn_in: transitions of each that are left out.
        thin: transitions from one draw to the next.
        steps: of a transition, at first.
        shortest: t is uniform between this and `longest`, at first.
        longest: the other end.
        wanted: share of chains in a transition of the burn-in that must accept it, or steps become
            shorter.
        most_steps: of a transition.
    """

    chains: int = 8
    burn_in: int = 20
    thin: int = 1
    steps: int = 3
    shortest: float = 0.3
    longest: float = 0.7
    wanted: float = 0.6
    most_steps: int = 16

    def slower(self) -> Chains:
        """With a step more, and shorter ones."""
        if self.steps >= self.most_steps:
            return self
        part = self.steps / (self.steps + 1)
        shortest, longest = self.shortest * part, self.longest * part
        return replace(self, steps=self.steps + 1, shortest=shortest, longest=longest)

    def transitions(self, draws: int) -> int:
        """Of each chain, for so many draws of all."""
        return self.burn_in + self.thin * (-(-draws // self.side_by_side(draws)) - 1) + 1

    def evaluations(self, draws: int) -> int:
        """Of the target at one point, in all chains, if steps stay as they are."""
        return self.steps * self.side_by_side(draws) * self.transitions(draws)

    def side_by_side(self, draws: int) -> int:
        """How many chains there are for so many draws."""
        return min(self.chains, draws)


class LogitDraws(NamedTuple):
    """What came of chains. CONFIDENTIAL.

    Attributes:
        points: B, shape (S, m, p); draws of one chain stand a number of chains apart.
        acceptance: share of transitions after the burn-in that were accepted, in all chains.
        steps: of a transition, in the end.
    """

    points: Floats
    acceptance: float
    steps: int


def logit_draws(
    target: WeightedLogit, source: Randomness, *, draws: int, how: Chains | None = None
) -> LogitDraws:
    """Draws from a target.

    Args:
        target: the posterior.
        source: where the randomness comes from.
        draws: S ≥ 1.
        how: chains run.
    """
    how = Chains() if how is None else how
    space = _Space.around(target)
    count, length = how.side_by_side(draws), how.transitions(draws)
    rounds = -(-draws // count)
    state = space.evaluated(normals((count, target.size * target.design.shape[1]), source))
    kept = np.empty((rounds, *state.places.shape))
    for _ in range(how.burn_in):
        state, share = _moved(space, state, how, source)
        how = how if share >= how.wanted else how.slower()
    shares = np.empty(length - how.burn_in)
    for turn in range(len(shares)):
        state, shares[turn] = _moved(space, state, how, source)
        if turn % how.thin == 0:
            kept[turn // how.thin] = state.places
    points = space.points(kept.reshape(rounds * count, -1)[:draws])
    return LogitDraws(points, float(shares.mean()), how.steps)


class _State(NamedTuple):
    """Where chains are: z, h(z), and ∇h(z) + z, shapes (C, d), (C,) and (C, d)."""

    places: Floats
    heights: Floats
    pushes: Floats


@dataclass(frozen=True, eq=False)
class _Space:
    """Coordinates in which a target is nearly standard normal.

    Attributes:
        target: the posterior.
        mode: laid flat, shape (d,).
        root: G⁻ᵀ, shape (d, d).
    """

    target: WeightedLogit
    mode: Floats
    root: Floats

    @classmethod
    def around(cls, target: WeightedLogit) -> _Space:
        """Around the mode of a target."""
        mode = mode_of(target)
        factor = np.linalg.cholesky(target.curvature(mode))
        return cls(target, mode.ravel(), np.linalg.inv(factor).T)

    def points(self, places: Floats) -> Floats:
        """B of places z, shape (C, m, p)."""
        return (self.mode + places @ self.root.T).reshape(len(places), *self.target.shape)

    def evaluated(self, places: Floats) -> _State:
        """Heights and pushes."""
        heights, gradients = self.target.evaluated(self.points(places))
        return _State(places, heights, gradients.reshape(places.shape) @ self.root + places)


def mode_of(target: WeightedLogit) -> Floats:
    """Where a target is highest, shape (m, p), by Newton's method."""
    point = np.zeros(target.shape)
    (height,), (gradient,) = target.evaluated(point[np.newaxis])
    for _ in range(NEWTON):
        step = np.linalg.solve(target.curvature(point), gradient.ravel()).reshape(point.shape)
        rise = float(np.sum(step * gradient))
        size = 1.0
        while rise > CLOSE and size > CLOSE:
            (new,), (slope,) = target.evaluated((point + size * step)[np.newaxis])
            if new > height + 0.1 * size * rise:
                point, height, gradient = point + size * step, new, slope
                break
            size /= 2.0
        else:
            break
    return point


def _moved(space: _Space, state: _State, how: Chains, source: Randomness) -> tuple[_State, float]:
    """A transition of all chains, and the share that accepted it."""
    chains = len(state.places)
    v = normals(state.places.shape, source)
    uniforms = source.uniforms(2 * chains).reshape(2, chains)
    times = (how.shortest + (how.longest - how.shortest) * uniforms[0])[:, np.newaxis]
    before = state.heights - 0.5 * np.sum(v * v, axis=1)
    new = state
    for _ in range(how.steps):
        v = v + 0.5 * times * new.pushes
        places = np.cos(times) * new.places + np.sin(times) * v
        v = np.cos(times) * v - np.sin(times) * new.places
        new = space.evaluated(places)
        v = v + 0.5 * times * new.pushes
    after = new.heights - 0.5 * np.sum(v * v, axis=1)
    taken = np.log(uniforms[1]) < after - before
    accepted = taken[:, np.newaxis]
    chosen = _State(
        np.where(accepted, new.places, state.places),
        np.where(taken, new.heights, state.heights),
        np.where(accepted, new.pushes, state.pushes),
    )
    return chosen, float(np.mean(taken))
