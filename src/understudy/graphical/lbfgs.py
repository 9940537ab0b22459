"""Minimising a smooth convex function of many variables: preconditioned L-BFGS.

The inverse Hessian is approximated from the last steps and the change of the gradient along each
(Nocedal & Wright 2006, algorithm 7.4), starting from a preconditioner that is renewed at every
step. A step is taken if it lowers the function enough (Armijo), or, where rounding hides what it
lowers, if the slope along it has become flatter (in the manner of Hager & Zhang 2005). Step lengths
are found by the secant of the slope. A search that fails starts again from the preconditioner
alone; a second failure ends it.

The pairs of steps are kept in single precision: they shape the direction, whose slope is checked,
and never enter the solution.

SciPy's L-BFGS-B has no preconditioner to renew. With variables rescaled once it asks 2 to 6 times
as often for the function and takes twice the time and more (`python benchmarks/lbfgs.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, compiled

_ARMIJO = 1e-4
_ROUNDING = 1e-13
"""Relative error of the function's value that is put down to rounding."""
_TRIES = 30
_TINY = 1e-30
"""Smaller numbers are 0 in single precision, where they would become slow denormal ones."""
_MEMORY = 8

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Minimum:
    """Where the search ended.

    Attributes:
        x: the place.
        size: of the gradient there, in the norm of the problem.
        converged: whether that is within the tolerance.
        steps: taken.
        evaluations: of the function and its gradient.
    """

    x: Floats
    size: float
    converged: bool
    steps: int
    evaluations: int


@dataclass(frozen=True, eq=False)
class Problem:
    """A function to be minimised.

    Attributes:
        value: gives the function and its gradient at x.
        diagonal: gives the inverse of the Hessian's diagonal, about, from x and the gradient.
        precondition: takes a vector, the diagonal and its scale; gives the approximate inverse
            Hessian times the vector. Symmetric and positive definite.
        size: the norm of a gradient in which convergence is meant.
    """

    value: Callable[[Floats], tuple[float, Floats]]
    diagonal: Callable[[Floats, Floats], Floats]
    precondition: Callable[[Floats, Floats, float], Floats]
    size: Callable[[Floats], float]


class _Memory:
    """The last steps, in a ring."""

    def __init__(self, n: int) -> None:
        self._steps = np.zeros((_MEMORY, n), dtype=np.float32)
        self._changes = np.zeros((_MEMORY, n), dtype=np.float32)
        self._curvatures = np.zeros(_MEMORY)
        self._places: list[int] = []

    def clear(self) -> None:
        """Forget all steps."""
        self._places.clear()

    def add(self, step: Floats, change: Floats) -> None:
        """Remember a step and the change of the gradient, if the curvature along it is positive."""
        place = (self._places[-1] + 1) % _MEMORY if self._places else 0
        curvature = _remember(step, change, self._steps[place], self._changes[place])
        if curvature <= 0:
            self._places = [k for k in self._places if k != place]
            return
        self._curvatures[place] = curvature
        self._places = [k for k in self._places if k != place] + [place]

    def direction(self, problem: Problem, gradient: Floats, diagonal: Floats) -> Floats:
        """Minus the approximate inverse Hessian times the gradient."""
        q, places = gradient.copy(), np.array(self._places, dtype=np.int64)
        shares = np.zeros(_MEMORY)
        _halve(q, places[::-1].copy(), (self._steps, self._changes), self._curvatures, shares)
        scale = 0.5
        if self._places:
            last = self._places[-1]
            change = self._changes[last].astype(np.float64)
            scale = float(self._curvatures[last] / dot(change * diagonal, change))
        q = problem.precondition(q, diagonal, min(scale, 1.0))
        np.negative(shares, out=shares)
        _halve(q, places, (self._changes, self._steps), self._curvatures, shares)
        return np.negative(q, out=q)


def minimise(problem: Problem, start: Floats, *, tolerance: float, steps: int) -> Minimum:
    """Search from a starting point.

    Args:
        problem: the function.
        start: shape (n,).
        tolerance: size of the gradient at which the search ends.
        steps: most steps.
    """
    x, memory = start.copy(), _Memory(len(start))
    f, g = problem.value(x)
    evaluations, step, fresh = 1, 0, True
    size = problem.size(g)
    while size > tolerance and step < steps:
        direction = memory.direction(problem, g, problem.diagonal(x, g))
        point, tries = _search_line(problem, x, (f, g), direction)
        evaluations += tries
        if point is None:
            if fresh:
                break
            memory.clear()
            fresh = True
            continue
        length, f, new = point
        direction *= length
        x += direction
        memory.add(direction, new - g)
        g, step, fresh, size = new, step + 1, False, problem.size(new)
    return Minimum(x, size, size <= tolerance, step, evaluations)


def _search_line(
    problem: Problem, x: Floats, here: tuple[float, Floats], direction: Floats
) -> tuple[tuple[float, float, Floats] | None, int]:
    """Length of the step, the function and the gradient there, or None; and how many were tried."""
    f, slope, length = here[0], dot(here[1], direction), 1.0
    if not slope < 0:
        return None, 0
    for tries in range(1, _TRIES + 1):
        value, gradient = problem.value(x + length * direction)
        there = dot(gradient, direction)
        flatter = abs(there) <= 0.9 * abs(slope) and value <= f + _ROUNDING * abs(f)
        if value <= f + _ARMIJO * length * slope or flatter:
            return (length, value, gradient), tries
        share = slope / (slope - there) if there > 0 else 0.5
        length *= min(max(share, 0.05), 0.5)
    return None, _TRIES


@compiled(fastmath={"reassoc", "contract"})
def dot(a: Floats, b: Floats) -> float:
    """Σ a·b. Not the library's, which waits for all cores even where the vectors are short."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def _remember(step: Floats, change: Floats, s: Singles, y: Singles) -> float:
    """Copy both; their product, or 0 if it is not clearly positive."""
    s[:] = np.where(np.abs(step) > _TINY, step, 0.0)
    y[:] = np.where(np.abs(change) > _TINY, change, 0.0)
    curvature, squares, others = dot(step, change), dot(step, step), dot(change, change)
    return curvature if curvature > 1e-12 * math.sqrt(squares) * math.sqrt(others) else 0.0


@compiled(fastmath={"reassoc", "contract"})
def _halve(
    q: Floats,
    places: NDArray[np.int64],
    pairs: tuple[Singles, Singles],
    curvatures: Floats,
    shares: Floats,
) -> None:
    """One of the two loops of the recursion: each share less its part of q, and q moved by that.

    Args:
        q: shape (n,), moved.
        places: of the steps, from the last one back at first, from the first one on then.
        pairs: what parts are taken along, and what q moves along, shape (places, n) each: steps and
            changes at first, changes and steps then.
        curvatures: of each place.
        shares: of each place: 0 at first, then minus what was left of them.
    """
    along, across = pairs
    for place in places:
        a, b, product = along[place], across[place], 0.0
        for i in range(len(q)):
            product += a[i] * q[i]
        share = shares[place] - product / curvatures[place]
        shares[place] = share
        for i in range(len(q)):
            q[i] += share * b[i]
