"""Where a Metropolis chain of a mixture of regressions stands. CONFIDENTIAL throughout.

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
from typing import Final

import numpy as np

from understudy.privacy.samplers.column_model import Floats
from understudy.privacy.samplers.grouped_design import GroupedDesign
from understudy.privacy.samplers.mixture_prior import MixtureState

__all__ = ["HIGH", "MixtureRows", "Walk", "log_normals", "moved_shares"]

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
        """What is left of the responses, y - x'β; shape (n,)."""
        return np.asarray(self.responses - self.design.fitted(beta))


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
