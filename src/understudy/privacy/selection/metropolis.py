"""A Metropolis walk over parameters: the exponential mechanism over a continuous space, in the end.

The target has density ∝ π(θ)·exp(r·q(θ)), π a proper public prior and q a bounded score, so it is a
distribution. Each step proposes θ + w·z, z standard normal and w public widths, and goes there with
probability min(1, ratio of the densities). The score is deterministic (its simulated sets rest on
fixed numbers ω); with fresh sets at each step, as published, the walk would approach another
distribution.

**Guarantee**: only of the distribution that the walk approaches. After finitely many steps the
distribution of θ is another one, and nobody can measure by how much its ratio for neighbours
exceeds e^ε; so the promise is *conditional* on convergence. Start, widths and number of steps are
public; nothing is tuned to the rows. How often it moved says something of the rows, and is never
released.

Sources: Metropolis, Rosenbluth, Rosenbluth, Teller & Teller (1953), Journal of Chemical Physics 21;
McSherry & Talwar (2007) for the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.errors import MethodError
from understudy.functions.parameter_prior import Prior
from understudy.privacy.internal import Diagnostic
from understudy.privacy.noise.randomness import Randomness

Floats = NDArray[np.float64]

CONVERGENCE = (
    "The parameters were drawn by a Metropolis walk of finitely many steps; ε holds for the "
    "distribution that the walk approaches, as far as it has come near it."
)
"""The condition of the guarantee."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk, described by public numbers.

    Attributes:
        prior: of the parameters; proper.
        start: where it begins, shape (p,).
        widths: standard deviation of a proposed step by parameter, shape (p,).
        steps: how many.

    Raises:
        MethodError: no step, or widths that are not positive.
    """

    prior: Prior
    start: Floats
    widths: Floats
    steps: int

    def __post_init__(self) -> None:
        """Check what is public."""
        if self.steps < 1 or self.widths.shape != self.start.shape:
            raise MethodError("A walk needs a step at least, and a width for each parameter.")
        if not np.all(self.widths > 0):
            raise MethodError("The widths of a walk's steps must be positive.")


@dataclass(frozen=True, eq=False)
class Travelled(Diagnostic):
    """How a walk went. CONFIDENTIAL but for where it ended.

    Attributes:
        end: where it stands, shape (p,).
        accepted: share of proposed steps that were taken.
        path: log density at each step, up to a constant, shape (steps + 1,).
    """

    end: Floats
    accepted: float
    path: Floats


def walk(how: Walk, log_weight: Callable[[Floats], float], source: Randomness) -> Travelled:
    """Walk, and stand where the last step led.

    Args:
        how: prior, start, widths, steps.
        log_weight: r·q(θ), finite.
        source: where the randomness comes from.
    """

    def height(theta: Floats) -> float:
        return float(how.prior.log_density(theta)) + log_weight(theta)

    p = len(how.start)
    theta, here, moved = how.start.copy(), height(how.start), 0
    path = np.empty(how.steps + 1)
    path[0] = here
    for step in range(how.steps):
        uniforms = source.uniforms(p + 1)
        proposed = theta + how.widths * ndtri(uniforms[:p])
        there = height(proposed)
        if np.log(uniforms[p]) < there - here:
            theta, here, moved = proposed, there, moved + 1
        path[step + 1] = here
    return Travelled(theta, moved / how.steps, path)
