"""Noisy sums of bounded numbers by cell, and noisy scatters pooled within cells.

The sufficient statistics of normal models, in a form whose sensitivity is finite, public and proven
for both relations of neighbours (`moment_sensitivity.py`). Bowen & Liu (2020, §3.2), after Liu
(2016), add noise to cell means and covariances instead, with sensitivities that rest on private
counts.

* **Split.** Each statistic gets a share of ε, equal or by weights, and discrete Laplace noise of
  scale Δ/share on a public lattice; shares add up.
* **Non-split** (BL §3.2) gives all statistics noise of one scale, ΣΔ/ε in their own units. That is
  nothing but shares in proportion to Δ, for then Δ/share = ΣΔ/ε. The units are those of means and
  (co)variances if the number of rows n is public (a sum divided by n, a scatter by n − 1), and
  those of sums and scatters if not. It makes sense where all units are alike.
* **Truncation**, if wanted, is calibrated (`truncation.py`): sums of at most N records lie within
  ±N·R/2, scatters within ±N·R²/4, those of a column with itself from 0 on.
* **Paper mode** draws continuous noise, truncates without calibration, and takes scatters of two
  columns to change by R₁R₂ only; `conceded` says so.

Example:
    >>> from understudy.schema import Schema
    >>> schema = Schema.loads('''
    ... rows = "public"
    ... n_rows = 4
    ... [columns.x]
    ... kind = "continuous"
    ... lower = 0.0
    ... upper = 5.0
    ... bins = 1
    ... ''')
    >>> for one in planned_moments(schema, ["x"], [], spend=Fraction(1), mode="paper"):
    ...     print(one.query, one.noise)
    sum of x Laplace in floating point, scale 10
    scatter of x Laplace in floating point, scale 37.5

The scale of the mean is 10/4 = 2.5, that of the variance with divisor n − 1 is 37.5/3 = 12.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactSums
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import split
from understudy.privacy.mechanisms.sums.moment_sensitivity import (
    admissible,
    coarseness,
    coordinates,
    rounded_sensitivity,
    whole_sensitivity,
)
from understudy.privacy.mechanisms.sums.scatter import (
    Moment,
    exact_statistic,
    holding_cells,
    moments_of,
)
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.perturbation import Bounds, Law, Mode
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.truncated_laplace import TruncatedLaplace
from understudy.privacy.released import Noise, NoisyMoment
from understudy.schema import Schema

Calibration = Literal["split", "nonsplit"]

ONE_CELL = (
    "The noise of a scatter of two columns does not allow for a record that changes its cell "
    "(L1 = R₁R₂ instead of 2R₁R₂)."
)


@dataclass(frozen=True)
class PlannedMoment:
    """A statistic with the noise it will get: all public.

    Attributes:
        moment: which statistic.
        share: of the budget, exact.
        law: its noise: in lattice steps, or for a law in floating point in the columns' units.
        coarseness: whole numbers of the statistic per lattice step.
        sensitivity: L1 sensitivity after rounding to the lattice, in the columns' units.
    """

    moment: Moment
    share: Fraction
    law: Law
    coarseness: int
    sensitivity: Fraction

    @property
    def query(self) -> str:
        """What is asked, in words."""
        return self.moment.query

    @property
    def noise(self) -> str:
        """The law of its noise, in words."""
        return perturbation.words(self.law, self._law_unit)

    @property
    def recorded(self) -> Noise:
        """What the released value says about its noise."""
        return perturbation.recorded(self.law, self._law_unit)

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise in one number, in the columns' units."""
        return self.recorded.stddev

    @property
    def n_cells(self) -> int:
        """Numbers that get noise."""
        return self.moment.cells if self.moment.statistic == "sum" else 1

    @property
    def step(self) -> Fraction:
        """One lattice step in the columns' units."""
        return self.moment.unit * self.coarseness

    @property
    def _law_unit(self) -> Fraction:
        floating = isinstance(self.law, ContinuousLaplace | TruncatedLaplace)
        return Fraction(1) if floating else self.step


def planned_moments(
    schema: Schema,
    of: Sequence[str],
    by: Sequence[str],
    *,
    spend: Fraction,
    weights: Sequence[int | Fraction] | None = None,
    calibration: Calibration = "split",
    bounds: Bounds = "threshold",
    mode: Mode = "strict",
) -> tuple[PlannedMoment, ...]:
    """All statistics of a request with their noise, from public facts alone.

    Args:
        schema: in which each column of `of` has a single bin (`Schema.with_bins`).
        of: numeric columns, p of them.
        by: columns of the table of cells; those of `of` that it lacks are appended.
        spend: ε of all of them together.
        weights: how ε is divided, one weight for each of the p sums and p(p+1)/2 scatters; evenly
            if None. Not with "nonsplit".
        calibration: "split", or "nonsplit" for noise of one scale in all statistics.
        bounds: "truncate" redraws numbers outside their admissible intervals, calibrated for that.
        mode: "paper" for continuous Laplace noise, truncated without calibration.

    Returns:
        The sums in the order of `of`, then the scatters (0, 0), (0, 1), …, (1, 1), ….

    Raises:
        MethodError: columns, weights or options that do not fit.
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    moments = moments_of(schema, of, by)
    if calibration == "nonsplit" and weights is not None:
        raise MethodError('weights belong to calibration="split"; leave them out.')
    if weights is not None and (len(weights) != len(moments) or min(weights) <= 0):
        raise MethodError(f"There are {len(moments)} statistics; give each a weight above 0.")
    if calibration == "nonsplit":
        weights = [_sensitivity(m, schema, mode) * _per_record(m, schema) for m in moments]
    shares = split(spend, weights or [1] * len(moments))
    limit = perturbation.row_bound(schema) if bounds == "truncate" else None
    plan = _as_published if mode == "paper" else _strict
    return tuple(plan(m, share, schema, limit) for m, share in zip(moments, shares, strict=True))


def _strict(moment: Moment, share: Fraction, schema: Schema, limit: int | None) -> PlannedMoment:
    sensitivity = whole_sensitivity(moment, schema.neighbours, schema.n_rows)
    numbers = coordinates(moment, schema.neighbours)
    coarse = coarseness(sensitivity, numbers, share)
    rounded = rounded_sensitivity(sensitivity, numbers, coarse)
    if limit is None:
        law: Law = perturbation.additive(rounded / share)
    else:
        low, high = admissible(moment, limit)
        interval = (low // coarse, -(-high // coarse))
        law = perturbation.truncated(share, rounded, interval, coordinates=numbers)
    return PlannedMoment(moment, share, law, coarse, rounded * coarse * moment.unit)


def _as_published(
    moment: Moment, share: Fraction, schema: Schema, limit: int | None
) -> PlannedMoment:
    sensitivity = _sensitivity(moment, schema, "paper")
    scale = float(sensitivity / share)
    if limit is None:
        return PlannedMoment(moment, share, ContinuousLaplace(scale), 1, sensitivity)
    low, high = (float(end * moment.unit) for end in admissible(moment, limit))
    return PlannedMoment(moment, share, TruncatedLaplace(scale, low, high), 1, sensitivity)


def _sensitivity(moment: Moment, schema: Schema, mode: Mode) -> Fraction:
    """L1 sensitivity in the columns' units; as published, a record never changes its cell."""
    if mode == "paper" and moment.statistic == "scatter":
        moment = replace(moment, cells=1)
    return whole_sensitivity(moment, schema.neighbours, schema.n_rows) * moment.unit


def _per_record(moment: Moment, schema: Schema) -> Fraction:
    """1/n for sums and 1/(n − 1) for scatters if n is public: units of means and covariances."""
    if schema.n_rows is None:
        return Fraction(1)
    return Fraction(1, max(1, schema.n_rows - (moment.statistic == "scatter")))


def sanitise(
    statistics: NDArray[np.int64], planned: PlannedMoment, source: Randomness
) -> NDArray[np.float64]:
    """Add the noise of one planned statistic.

    Args:
        statistics: exact whole numbers, shape (..., k); leading axes are repetitions.
        planned: what noise; independent in each number.
        source: where it comes from.

    Returns:
        Shape (..., k), in the columns' units.
    """
    if isinstance(planned.law, ContinuousLaplace | TruncatedLaplace):
        return perturbation.perturb(statistics * float(planned.moment.unit), planned.law, source)
    rounded = (statistics + planned.coarseness // 2) // planned.coarseness
    noisy: NDArray[Any] = perturbation.perturb(rounded, planned.law, source)
    return noisy.astype(np.float64) * float(planned.step)


def noisy_moment(
    planned: PlannedMoment, sums: ExactSums, schema: Schema, source: Randomness
) -> NoisyMoment:
    """One statistic with its noise; cells that cannot hold a number are 0 and get none.

    Args:
        planned: the statistic and its noise.
        sums: exact sums by the cells of its table.
        schema: the schema that it was planned for.
        source: where the noise comes from.
    """
    moment, exact = planned.moment, exact_statistic(planned.moment, sums)
    if moment.statistic == "scatter":
        values = sanitise(exact, planned, source)
    else:
        holds = holding_cells(schema, moment.by, moment.of[0])
        values = np.zeros(exact.shape)
        values[holds] = sanitise(exact[holds], planned, source)
    return NoisyMoment(moment.statistic, moment.of, moment.by, values)


def exact_moment(moment: Moment, sums: ExactSums) -> NoisyMoment:
    """One statistic without noise, for classical baselines."""
    values = exact_statistic(moment, sums).astype(np.float64) * float(moment.unit)
    return NoisyMoment(moment.statistic, moment.of, moment.by, values)


def conceded(plan: Sequence[PlannedMoment], schema: Schema) -> tuple[str, ...]:
    """What the noise of a request leaves in, unpaid."""
    if not any(isinstance(one.law, ContinuousLaplace | TruncatedLaplace) for one in plan):
        return ()
    truncated = any(isinstance(one.law, TruncatedLaplace) for one in plan)
    short = any(one.sensitivity < _sensitivity(one.moment, schema, "strict") for one in plan)
    return (
        perturbation.FLOATING,
        *((perturbation.UNCALIBRATED,) if truncated else ()),
        *((ONE_CELL,) if short else ()),
    )
