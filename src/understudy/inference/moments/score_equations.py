"""Families of models with a canonical link, and the solution of their equations of the score.

Source: McCullagh & Nelder (1989), Generalized Linear Models, chapter 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from understudy.arrays import Floats
from understudy.inference.moments.firmness import FIRM_MODEL, LostInNoiseError, lost

_STEPS: Final = 50
_HALVINGS: Final = 30
_CLOSE: Final = 1e-12  # of the likelihood, what a last step gains


@dataclass(frozen=True)
class Family:
    """A mean as a function of x'β.

    Attributes:
        mean: μ, the inverse of the canonical link.
        slope: its derivative.
        potential: its integral.
    """

    mean: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    potential: Callable[[Floats], Floats]


FAMILIES: Final = {
    "logit": Family(
        mean=expit,
        slope=lambda eta: np.asarray(expit(eta) * expit(-eta)),
        potential=lambda eta: np.logaddexp(0.0, eta),
    ),
    "poisson": Family(mean=np.exp, slope=np.exp, potential=np.exp),
}


def solution(
    family: Family,
    x: Floats,
    weights: Floats,
    crossed: Floats,
    *,
    fixed: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Solution of Σ x y = Σ w x μ(x'β) by Newton's method.

    Args:
        family: with μ.
        x: terms, shape (N, p).
        weights: w, shape (N,).
        crossed: Σ x y, shape (p,).
        fixed: added to x'β, shape (N,); 0 by default.
        start: first β, shape (p,); 0 by default.

    Returns:
        Shape (p,).

    Raises:
        LostInNoiseError: there is none, or H on the way is not positive definite.
    """
    beta = np.zeros(x.shape[1]) if start is None else start
    added = np.zeros(len(x)) if fixed is None else fixed

    def likelihood(at: Floats) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(crossed @ at - weights @ family.potential(added + x @ at))

    value = likelihood(beta)
    for taken in range(_STEPS):
        with np.errstate(over="ignore", invalid="ignore"):
            eta = added + x @ beta
            score = crossed - x.T @ (weights * family.mean(eta))
            information = weighted(x, weights * family.slope(eta))
            step = _newton(information, score)
        if step is None:
            raise _endless() if taken else not_apart(0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            gain = float(score @ step)  # of a coefficient far off it may have no end
        if gain <= _CLOSE * (len(x) + abs(value)):
            return beta + step
        for _ in range(_HALVINGS):
            after = likelihood(beta + step)
            if np.isfinite(after) and after >= value:
                break
            step = step / 2
        else:
            raise _endless()
        beta, value = beta + step, after
    raise _endless()


def _newton(information: Floats, score: Floats) -> Floats | None:
    """H⁻¹ U; None where H is not positive definite, or has no end."""
    diagonal = np.diag(information)  # one that is not positive stays, and has no step
    size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = information / np.outer(size, size)
    if not (np.isfinite(scaled).all() and np.isfinite(score).all()):
        return None
    try:
        np.linalg.cholesky(scaled)
        return np.asarray(np.linalg.solve(scaled, score / size) / size)
    except np.linalg.LinAlgError:  # of either: rounding may leave what is singular a root
        return None


def weighted(x: Floats, weights: Floats) -> Floats:
    """Σ w x x', shape (p, p)."""
    return np.asarray((x.T * weights) @ x)


def not_apart(firmness: float) -> LostInNoiseError:
    """The refusal of predictors that are lost in the noise, with how far they stand out of it."""
    what = "The predictors are not told apart clearly enough under the privacy noise"
    return lost(what, firmness, FIRM_MODEL)


def _endless() -> LostInNoiseError:
    return LostInNoiseError(
        "The model has no finite estimate under the privacy noise: the measured moments say that "
        "the outcome is always, or never, there for some of the predictors: fewer predictors, "
        "coarser levels, more ε or more records would do."
    )
