"""What a component of a mixture is proposed to become: normal approximations at a state.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import lapack

from understudy.privacy.samplers.column_model import Floats
from understudy.privacy.samplers.grouped_design import GroupedDesign

__all__ = ["KNOWN", "Line", "Number", "line_at", "odds_at", "scale_at"]

KNOWN: Final = 0.2
"""A record's least information, as a part of r times what known labels would give."""
LEAST: Final = 0.1
"""The least information in log odds: that of a nearly empty component is next to nothing."""
FEW: Final = 0.5
"""Where less than so many records are in a component, it is proposed to as by the prior alone."""


@dataclass(frozen=True, eq=False)
class Line:
    """The approximation in β.

    Attributes:
        root: lower Cholesky root L of the information, shape (p, p).
        step: Newton's step, shape (p,).
    """

    root: Floats
    step: Floats

    def moved(self, h: float, z: Floats) -> Floats:
        """From β to a proposal, by p standard normal numbers; shape (p,)."""
        return np.asarray(
            h * self.step + _spread(h) * lapack.dtrtrs(self.root, z, lower=1, trans=1)[0]
        )

    def log_density(self, h: float, move: Floats) -> float:
        """Of a move from β, up to a constant."""
        z = (move - h * self.step) @ self.root / _spread(h)
        return float(np.log(np.diag(self.root)).sum() - 0.5 * (z @ z))


@dataclass(frozen=True)
class Number:
    """The approximation in log σ², or in the log odds of π.

    Attributes:
        information: above 0.
        step: Newton's step.
    """

    information: float
    step: float

    def moved(self, h: float, z: float) -> float:
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
) -> Line | None:
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
    root, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        return None
    return Line(root, lapack.dpotrs(root, gradient, lower=1)[0])


def scale_at(
    prior: tuple[float, float], variance: float, records: tuple[Floats, Floats, Floats]
) -> Number:
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
        return Number(0.5 * df, math.log(2.0 * rate / variance))
    ratios, shape = squares / variance, 0.5 * (df + records_in)
    height = df * rate / variance + 0.5 * float(pull @ ratios)
    turned = 0.5 * ratios - 0.5
    known = 0.5 * ratios - (1.0 - shares) * turned * turned
    np.maximum(known, 0.5 * KNOWN * shares, out=known)
    information = min(0.5 * df + float(pull @ known), shape)
    return Number(information, shape / information * math.log(height / shape))


def odds_at(prior: tuple[float, float], log_odds: float, records: tuple[Floats, Floats]) -> Number:
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
    return Number(information, (prior[0] + pull - share * (prior[1] + whole)) / information)
