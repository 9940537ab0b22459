"""How much noise sums and scatters get, from public facts alone.

Shares of ε, lattices, truncation and the published form: see the head of `moments.py`.

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
    >>> for one in moment_noises(schema, ["x"], [], spend=Fraction(1), mode="paper"):
    ...     print(one.query, one.noise)
    sum of x Laplace in floating point, scale 10
    scatter of x Laplace in floating point, scale 37.5

The scale of the mean is 10/4 = 2.5, that of the variance with divisor n − 1 is 37.5/3 = 12.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from understudy.errors import MethodError
from understudy.privacy.accounting.budget import split
from understudy.privacy.mechanisms.sums.moment_sensitivity import (
    admissible,
    coarseness,
    coordinates,
    rounded_sensitivity,
    whole_sensitivity,
)
from understudy.privacy.mechanisms.sums.scatter import Moment, moments_of
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.perturbation import Bounds, Law, Mode
from understudy.privacy.noise.truncated_laplace import TruncatedLaplace
from understudy.privacy.released import Noise
from understudy.schema import Schema

Calibration = Literal["split", "nonsplit"]


@dataclass(frozen=True)
class MomentNoise:
    """The noise of one statistic: all public.

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


def moment_noises(
    schema: Schema,
    of: Sequence[str],
    by: Sequence[str],
    *,
    spend: Fraction,
    weights: Sequence[int | Fraction] | None = None,
    calibration: Calibration = "split",
    bounds: Bounds = "threshold",
    mode: Mode = "strict",
) -> tuple[MomentNoise, ...]:
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
        weights = [sensitivity_in(m, schema, mode) * _per_record(m, schema) for m in moments]
    shares = split(spend, weights or [1] * len(moments))
    limit = perturbation.row_bound(schema) if bounds == "truncate" else None
    plan = _as_published if mode == "paper" else _strict
    return tuple(plan(m, share, schema, limit) for m, share in zip(moments, shares, strict=True))


def _strict(moment: Moment, share: Fraction, schema: Schema, limit: int | None) -> MomentNoise:
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
    return MomentNoise(moment, share, law, coarse, rounded * coarse * moment.unit)


def _as_published(
    moment: Moment, share: Fraction, schema: Schema, limit: int | None
) -> MomentNoise:
    sensitivity = sensitivity_in(moment, schema, "paper")
    scale = float(sensitivity / share)
    if limit is None:
        return MomentNoise(moment, share, ContinuousLaplace(scale), 1, sensitivity)
    low, high = (float(end * moment.unit) for end in admissible(moment, limit))
    return MomentNoise(moment, share, TruncatedLaplace(scale, low, high), 1, sensitivity)


def sensitivity_in(moment: Moment, schema: Schema, mode: Mode) -> Fraction:
    """L1 sensitivity in the columns' units; as published, a record never changes its cell."""
    if mode == "paper" and moment.statistic == "scatter":
        moment = replace(moment, cells=1)
    return whole_sensitivity(moment, schema.neighbours, schema.n_rows) * moment.unit


def _per_record(moment: Moment, schema: Schema) -> Fraction:
    """1/n for sums and 1/(n − 1) for scatters if n is public: units of means and covariances."""
    if schema.n_rows is None:
        return Fraction(1)
    return Fraction(1, max(1, schema.n_rows - (moment.statistic == "scatter")))
