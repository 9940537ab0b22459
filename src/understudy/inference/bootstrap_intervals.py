"""Intervals from a parametric bootstrap of the whole release.

The world of a replicate b has the released model as its population, in which the quantity has the
value θ_M. A table is drawn from it, the whole method is run again on that table, with its choices,
noise, fit and sampling, and gives θ*_b as the release gave θ̂. So θ*_b - θ_M shows by how much
everything together moves an estimate, and stands for θ̂ - θ. With q_p its p-quantile among the
replicates, and α = 1 - level:

=============== ================================================================================
``basic``       [θ̂ - q_{1-α/2}, θ̂ - q_{α/2}]: takes the bias off, since θ̂ - θ is what is imitated
``percentile``  [θ̂ + q_{α/2}, θ̂ + q_{1-α/2}]: the quantiles of θ*, moved by θ̂ - θ_M, so that they
                are those of Efron's percentile method where the model has just the value θ̂. Keeps
                the skewness of θ̂ and **adds** its bias once more instead of taking it off
``studentised`` as basic, with (θ*_b - θ_M)/s*_b for θ*_b - θ_M and the ends times s, where s and
                s*_b are the errors that a set shows as if it were real (the root of the mean over
                sets); an error that goes with the estimate is followed
=============== ================================================================================

Quantiles are those of order statistics, p·(B + 1), so that with exchangeable replicates an interval
holds just its level. Standard errors are the deviation of θ*, the bias is its mean less θ_M.

Kernels take leading axes of repetitions.

Sources: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 12-14; Davison & Hinkley
(1997), Bootstrap Methods and their Application, ch. 2 and 5; for differentially private estimates
Ferrando, Wang & Sheldon (2022), "Parametric bootstrap for differentially private confidence
intervals", AISTATS, whose bootstrap reruns a mechanism on data from its own released estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.set_estimates import Pooled, check_rule, require_level

INTERVALS: Final = ("basic", "percentile", "studentised")


@dataclass(frozen=True)
class Replicates:
    """What the world of the model shows about k estimates.

    Attributes:
        estimates: θ*, shape (..., B, k).
        stderrs: the errors s*, shape (..., B, k).
        truth: θ_M, shape (..., k).
        stderr: the error s of the released sets, shape (..., k).
    """

    estimates: Floats
    stderrs: Floats
    truth: Floats
    stderr: Floats

    @property
    def spread(self) -> Floats:
        """Standard errors, shape (..., k)."""
        return np.asarray(self.estimates.std(axis=-2, ddof=1))

    @property
    def bias(self) -> Floats:
        """How far estimates lie from the truth on average, shape (..., k)."""
        return np.asarray(self.estimates.mean(axis=-2) - self.truth)

    def moved(self, interval: str) -> Floats:
        """θ* - θ_M, for "studentised" in units of s*; shape (..., B, k)."""
        moved = self.estimates - self.truth[..., None, :]
        if interval != "studentised":
            return np.asarray(moved)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(moved / self.stderrs)


def ends(
    estimate: Floats, replicates: Replicates, interval: str, level: float
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the intervals, each of shape (..., k).

    Args:
        estimate: θ̂, shape (..., k).
        replicates: see there.
        interval: one of `INTERVALS`.
        level: confidence level in (0, 1).
    """
    moved = replicates.moved(interval)
    probabilities = ((1 - level) / 2, (1 + level) / 2)
    low, high = np.quantile(moved, probabilities, axis=-2, method="weibull")
    if interval == "percentile":
        return estimate + low, estimate + high
    unit = replicates.stderr if interval == "studentised" else np.ones_like(estimate)
    return np.asarray(estimate - high * unit), np.asarray(estimate - low * unit)


def pvalues(
    estimate: Floats, replicates: Replicates, interval: str, bias: Floats | float = 0.0
) -> Floats:
    """Two-sided p-values of the value 0: least α whose interval leaves 0 out, shape (..., k).

    Twice the smaller share of replicates beyond 0, at least 2/(B + 1), at most 1; NaN where no
    replicate moves. A bias of up to `bias`, shape (..., k), may be in the estimate.
    """
    moved = replicates.moved(interval)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = replicates.stderr if interval == "studentised" else np.ones_like(estimate)
        place = -estimate if interval == "percentile" else estimate / unit
        slack = bias / unit
    n = moved.shape[-2]
    below = (moved <= (place + slack)[..., None, :]).sum(axis=-2)
    above = (moved >= (place - slack)[..., None, :]).sum(axis=-2)
    levels = np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (n + 1))
    return np.where(np.isnan(moved).any(axis=-2), np.nan, levels)


@dataclass(frozen=True, kw_only=True)
class Bootstrapped(Pooled):
    """Estimates whose errors come from a bootstrap.

    Attributes:
        replicates: see there.
        kind_of_interval: one of `INTERVALS`.
        failed: replicates that could not be estimated and are left out.
    """

    replicates: Replicates
    kind_of_interval: str
    failed: int = 0

    @property
    def repeats(self) -> int:
        """How many replicates there are."""
        return int(self.replicates.estimates.shape[-2])

    @property
    def estimated_bias(self) -> Floats:
        """What replicates show of the bias, shape (k,); `estimate` still has it."""
        return self.replicates.bias

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals, each of shape (k,).

        Raises:
            InferenceError: the level is not in (0, 1), or there are too few replicates for it.
        """
        require_repeats(self.repeats, level)
        low, high = ends(self.estimate, self.replicates, self.kind_of_interval, level)
        return low - self.bias, high + self.bias

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is 0, shape (k,)."""
        return pvalues(self.estimate, self.replicates, self.kind_of_interval, self.bias)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Plain data, with the bias of each quantity."""
        content = super().to_json(level)
        for term, bias in zip(content["terms"], self.estimated_bias.tolist(), strict=True):
            term["bias"] = bias if math.isfinite(bias) else None
        return content | {
            "repeats": self.repeats,
            "failed": self.failed,
            "interval": self.kind_of_interval,
        }


def bootstrapped(
    names: tuple[str, ...],
    estimate: Floats,
    replicates: Replicates,
    *,
    interval: str,
    sets: int,
    failed: int = 0,
    bias: Floats | float = 0.0,
) -> Bootstrapped:
    """Estimates with their bootstrap errors.

    The share of synthesis and noise is what the variance of θ* has beyond the mean of s*².

    Args:
        names: k names.
        estimate: θ̂, shape (k,).
        replicates: see there.
        interval: one of `INTERVALS`.
        sets: sets of the release.
        failed: replicates left out.
        bias: bound on what bins hide, shape (k,).

    Raises:
        InferenceError: errors of 0 by which a studentised interval would have to divide.
    """
    if interval == "studentised" and not (
        (replicates.stderrs > 0).all() and (replicates.stderr > 0).all()
    ):
        raise InferenceError(
            "A studentised interval divides by the error within a set, which is 0 for some "
            "quantity in some replicate; take interval='basic'."
        )
    deviations = replicates.spread
    sampling = (replicates.stderrs**2).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(deviations > 0, 1 - sampling / deviations**2, 0.0).clip(0, 1)
    return Bootstrapped(
        names=names,
        estimate=estimate,
        covariance=np.atleast_2d(np.cov(replicates.estimates, rowvar=False)),
        df=np.full(len(names), np.inf),
        synthesis_share=share,
        rule=f"bootstrap ({interval})",
        sets=sets,
        replicates=replicates,
        kind_of_interval=interval,
        failed=failed,
        bias=np.asarray(bias, dtype=np.float64),
    )


def require_repeats(repeats: int, level: float) -> None:
    """Refuse a level whose quantiles lie outside so few replicates.

    Raises:
        InferenceError: B + 1 < 2/α, or a level outside (0, 1).
    """
    require_level(level)
    least = math.ceil(round(2 / (1 - level) - 1, 9))
    if repeats < least:
        raise InferenceError(
            f"An interval of {100 * level:g} % needs at least {least} replicates, got {repeats}."
        )


def require_options(uncertainty: str, interval: str, *, workers: int, repeats: int) -> None:
    """Refuse what is no option of a bootstrap.

    Raises:
        InferenceError: says what would be one.
    """
    if uncertainty != "bootstrap":
        raise InferenceError(
            f"Expected uncertainty to be 'rules' or 'bootstrap', got {uncertainty!r}."
        )
    check_rule(interval, INTERVALS, "an interval")
    for name, value in (("workers", workers), ("repeats", repeats)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InferenceError(f"{name} must be a whole number, at least 1.")
