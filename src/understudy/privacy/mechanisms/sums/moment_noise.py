"""How much noise sums and scatters get, from public facts alone, and why that is enough.

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
    >>> for noise in moment_noises(schema, ["x"], [], spend=Fraction(1), mode="paper"):
    ...     print(noise.query, noise.noise)
    sum of x Laplace in floating point, scale 10
    scatter of x Laplace in floating point, scale 37.5

The scale of the mean is 10/4 = 2.5, that of the variance with divisor n − 1 is 37.5/3 = 12.5.

**What one record can change**, of a sum by cell or of a scatter pooled within cells. In
the notation of `scatter.py` each z is a whole number between −R/2 and R/2, a statistic is one too.

**Sum of a column by cell.** A record adds z to one cell, |z| ≤ R/2. Added or removed, it changes
the vector by at most **R/2** in the L1 norm. Replaced, it changes two cells by at most R/2 each, or
one by |z − z'| ≤ R: **R** in all.

**Scatter.** Let E = Q − S·T/n be the exact term of a cell with n records, W = ⌊E⌋. A record (y, z)
that joins m others with means (ȳ, z̄) changes E by m/(m+1)·(y − ȳ)(z − z̄), which is below R² in
size, hence W by at most R² (a change below a whole number M moves a rounded-down number by at most
M). So:

* add/remove: **R²**;
* replace, one column with itself: the change above is never negative. Leaving lowers a cell's W by
  at most R², entering raises one by at most R², so the sum over cells changes by at most **R²**;
* replace, two columns: **2R²**. Two cells can both add: a record (R/2, R/2) leaves a cell of
  records at (−R/2, −R/2), and (R/2, −R/2) enters one of records at (−R/2, R/2); cells of m other
  records reach 2R²·m/(m+1);
* replace, and at most **one cell** that can hold both columns: with m others in it, the change is
  m/(m+1)·[f(y', z') − f(y, z)], f(y, z) = (y − ȳ)(z − z̄). On a square that contains (ȳ, z̄), f has
  a range of at most R·max(R/2 ± ȳ, R/2 ± z̄) ≤ R². If one of the two records lies outside the cell,
  it is a removal. As m + 1 ≤ n, both are at most **(n−1)/n·R²**, rounded up; n is public here.

These are the classical R²/n of a variance and R₁R₂/n of a covariance with divisor n − 1.

**A coarser lattice.** The noise of a statistic of sensitivity 2³² would soon be too wide to be
drawn exactly, so statistics are first divided by a public power of two g and rounded. A change of c
moves the rounded number by at most ⌈|c|/g⌉; if d numbers change by Δ ≥ d in all, that is together
at most d + ⌊(Δ − d)/g⌋. g is so small that this costs below one millionth of noise (1/128 at tiny
budgets).

`tests/privacy/mechanisms/sums/test_moments.py` enumerates the neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

from understudy.engine.bounded_sums import HALF, STEPS
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Neighbours, split
from understudy.privacy.mechanisms.sums.scatter import Moment, moments_of
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.lattice_rounding import public_step
from understudy.privacy.noise.perturbation import Bounds, Mode, NoiseDistribution, too_little
from understudy.privacy.noise.truncated_laplace import TruncatedLaplace
from understudy.privacy.released import Noise
from understudy.schema import Schema

_WIDEST: Final = 2**39  # of a scale in lattice steps; truncation may double it
_FINEST, _COARSEST = 20, 8


def whole_sensitivity(moment: Moment, neighbours: Neighbours, n_rows: int | None) -> int:
    """L1 sensitivity of the whole numbers.

    Args:
        moment: the statistic.
        neighbours: which tables count as neighbours.
        n_rows: number of records; public where a record is replaced, else None.
    """
    if moment.statistic == "mean":
        return STEPS  # as published, times n_k: of a record that keeps its cell
    if moment.statistic == "sum":
        return HALF if neighbours == "add_remove" else STEPS
    full = STEPS**2
    if neighbours == "add_remove":
        return full
    if moment.cells <= 1:
        return max(1, full - full // max(n_rows or 0, 1))
    return full if moment.is_variance else 2 * full


def coordinates(moment: Moment, neighbours: Neighbours) -> int:
    """How many numbers of the statistic one record can change."""
    return 2 if moment.statistic == "sum" and neighbours == "replace" and moment.cells > 1 else 1


def rounded_sensitivity(sensitivity: int, numbers: int, coarseness: int) -> int:
    """L1 sensitivity, in lattice steps, of statistics divided by `coarseness` and rounded."""
    return numbers + (sensitivity - numbers) // coarseness


def coarseness(sensitivity: int, numbers: int, epsilon: Fraction) -> int:
    """The finest lattice, a power of two, on which noise for this ε can be drawn exactly.

    Args:
        sensitivity: L1 sensitivity of the whole numbers.
        numbers: how many of them one record can change.
        epsilon: cost.

    Raises:
        BudgetError: there is none.
    """
    for bits in range(_FINEST, _COARSEST - 1, -1):
        step = max(1, int(public_step(Fraction(sensitivity), numbers, bits)))
        if rounded_sensitivity(sensitivity, numbers, step) / epsilon <= _WIDEST:
            return step
    raise too_little()


def admissible(moment: Moment, limit: int) -> tuple[int, int]:
    """Between which whole numbers the statistic of at most `limit` records lies.

    |Σ z| ≤ N·R/2, and a mean lies within ±R/2; 0 ≤ Σ (z − z̄)² ≤ N·R²/4 (Popoviciu 1935), and by
    Cauchy & Schwarz the size of a scatter of two columns has the same limit.
    """
    if moment.statistic == "mean":
        return -HALF, HALF
    if moment.statistic == "sum":
        return -limit * HALF, limit * HALF
    return (0 if moment.is_variance else -limit * HALF**2), limit * HALF**2


Calibration = Literal["split", "nonsplit"]


@dataclass(frozen=True)
class MomentNoise:
    """The noise of one statistic: all public.

    Attributes:
        moment: which statistic.
        share: of the budget, exact.
        distribution: its noise: in lattice steps, or for a distribution in floating point in the
            columns' units; of a mean that of a cell with one record, divided by n_k in the others.
        coarseness: whole numbers of the statistic per lattice step.
        sensitivity: L1 sensitivity after rounding to the lattice, in the columns' units.
    """

    moment: Moment
    share: Fraction
    distribution: NoiseDistribution
    coarseness: int
    sensitivity: Fraction

    @property
    def query(self) -> str:
        """What is asked, in words."""
        return self.moment.query

    @property
    def noise(self) -> str:
        """The distribution of its noise, in words."""
        found = perturbation.words(self.distribution, self._noise_unit)
        return f"{found}; scale divided by the private n_k of a cell" if self.is_mean else found

    @property
    def bound(self) -> str:
        """Its sensitivity, in words; of a mean as published."""
        return f"L1 = {self.sensitivity}" + "/n_k, as published" * self.is_mean

    @property
    def is_mean(self) -> bool:
        """Whether its scale in a cell is divided by the cell's private number of records."""
        return self.moment.statistic == "mean"

    @property
    def recorded(self) -> Noise:
        """What the released value says about its noise."""
        return perturbation.recorded(self.distribution, self._noise_unit)

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise in one number, in the columns' units."""
        return self.recorded.stddev

    @property
    def n_cells(self) -> int:
        """Numbers that get noise."""
        return self.moment.cells if self.moment.is_by_cell else 1

    @property
    def step(self) -> Fraction:
        """One lattice step in the columns' units."""
        return self.moment.unit * self.coarseness

    @property
    def _noise_unit(self) -> Fraction:
        floating = isinstance(self.distribution, ContinuousLaplace | TruncatedLaplace)
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
        mode: "paper" for continuous Laplace noise, truncated without calibration; with several
            cells it is in their means and not in their sums.

    Returns:
        The sums (or means) in the order of `of`, then the scatters (0, 0), (0, 1), …, (1, 1), ….

    Raises:
        MethodError: columns, weights or options that do not fit.
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    moments = moments_of(schema, of, by)
    if mode == "paper":
        moments = tuple(_published(moment) for moment in moments)
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


def _published(moment: Moment) -> Moment:
    """Of several cells the paper sanitises means, and not sums."""
    several = moment.statistic == "sum" and moment.cells > 1
    return replace(moment, statistic="mean") if several else moment


def _strict(moment: Moment, share: Fraction, schema: Schema, limit: int | None) -> MomentNoise:
    sensitivity = whole_sensitivity(moment, schema.neighbours, schema.n_rows)
    numbers = coordinates(moment, schema.neighbours)
    coarse = coarseness(sensitivity, numbers, share)
    rounded = rounded_sensitivity(sensitivity, numbers, coarse)
    if limit is None:
        distribution: NoiseDistribution = perturbation.additive(rounded / share)
    else:
        low, high = admissible(moment, limit)
        interval = (low // coarse, -(-high // coarse))
        distribution = perturbation.truncated(share, rounded, interval, coordinates=numbers)
    return MomentNoise(moment, share, distribution, coarse, rounded * coarse * moment.unit)


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
