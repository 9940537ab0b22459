"""Lower bounds on what a release costs, from how often an event happens under two tables.

If a mechanism is (ε, δ)-private, an event of probability p under one table has at least
(p − δ) e^−ε under its neighbour; if it is μ-Gaussian private, at least Φ(Φ⁻¹(p) − μ). Turned round,
two frequencies bound ε and μ from below. Both probabilities are bounded exactly (Clopper & Pearson
1934), each at half of the error, so that a bound is above the truth with a probability of at most
that error.

Sources:
    Dong, Roth & Su (2022), "Gaussian Differential Privacy", Journal of the Royal Statistical
    Society B 84, definition 3; Jagielski, Ullman & Oprea (2020), "Auditing Differentially Private
    Machine Learning", section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

Unit = Literal["epsilon", "mu"]
BOUND, ALARM = 0.05, 1e-6
"""Error of a stated lower bound, and of an alarm."""


@dataclass(frozen=True)
class Stated:
    """What a release promises, as far as an audit asks.

    Attributes:
        unit: what is bounded.
        value: ε or μ.
        delta: δ, beside an ε; 0 beside a μ.
    """

    unit: Unit
    value: float
    delta: float = 0.0


def at_least(times: ArrayLike, n: int, error: float) -> NDArray[np.float64]:
    """Lower bound on a probability, at an error, by how often an event happened in n trials."""
    hits = np.asarray(times, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 1), n - hits + 1, error)
    return np.where(hits == 0, 0.0, found)


def at_most(times: ArrayLike, n: int, error: float) -> NDArray[np.float64]:
    """Upper bound on a probability, at an error, by how often an event happened in n trials."""
    hits = np.asarray(times, dtype=np.float64)
    found = betaincinv(hits + 1, np.maximum(n - hits, 1), 1 - error)
    return np.where(hits == n, 1.0, found)


def lower_bound(
    times: ArrayLike, others: ArrayLike, n: int, stated: Stated, error: float = BOUND
) -> NDArray[np.float64]:
    """What an event shows ε or μ to be at least; never below 0.

    Args:
        times: how often it happened under one table.
        others: how often it happened under the other.
        n: releases of each.
        stated: in which unit, and beside which δ.
        error: probability with which the bound may be too high.

    Example:
        >>> round(float(lower_bound(7311, 2689, 10_000, Stated("epsilon", 1.0))), 2)
        0.96
    """
    likely, rare = at_least(times, n, error / 2), at_most(others, n, error / 2)
    if stated.unit == "mu":
        return np.asarray(np.maximum(0.0, ndtri(likely) - ndtri(rare)))
    with np.errstate(divide="ignore"):
        shown = np.log(np.maximum(likely - stated.delta, 0.0)) - np.log(rare)
        return np.asarray(np.maximum(0.0, shown))


def reach(n: int, stated: Stated) -> float:
    """The lower bound that so many releases show of the hardest mechanism that keeps the promise.

    Under it the best event has the probabilities of randomised response (ε), or of two normal
    distributions at a distance of μ, cut in the middle.

    Args:
        n: releases of each table.
        stated: the promise.
    """
    if stated.unit == "mu":
        likely = 0.5 * math.erfc(-stated.value / 2 / math.sqrt(2))
    else:
        likely = 1 / (1 + math.exp(-stated.value))
    rare = 1 - likely
    return float(lower_bound(round(likely * n), round(rare * n), n, stated))
