"""Noisy sums of numbers by cell, and scatters within cells: their sensitivity and noise.

**How much noise they get, from public facts alone, and why that is enough.**

Shares of ε, lattices, truncation and the published form: see below.

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
the notation of `pooled_scatter` each z is a whole number between −R/2 and R/2, and so is a
statistic.

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

`tests/mechanisms/sums/test_sums.py` enumerates the neighbours.

**Noisy sums of bounded numbers by cell, and noisy scatters pooled within cells.**

The sufficient statistics of normal models, in a form whose sensitivity is finite, public and proven
for both relations of neighbours (proved above). Bowen & Liu (2020, §3.2), after Liu
(2016), add noise to cell means and covariances instead, with sensitivities that rest on private
counts.

Which distribution in which units `moment_noises` works out:

* **Split.** Each statistic gets a share of ε, equal or by weights, and discrete Laplace noise of
  scale Δ/share on a public lattice; shares add up.
* **Non-split** (BL §3.2) gives all statistics noise of one scale, ΣΔ/ε in their own units. That is
  nothing but shares in proportion to Δ, for then Δ/share = ΣΔ/ε. The units are those of means and
  (co)variances if the number of rows n is public (a sum divided by n, a scatter by n − 1), and
  those of sums and scatters if not. It makes sense where all units are alike.
* **Truncation**, if wanted, is calibrated (`dp/truncated_laplace.py`): sums of at
  most N records lie within ±N·R/2, scatters within ±N·R²/4, those of a column with itself from 0
  on.
* **Paper mode** draws continuous noise, truncates without calibration, and takes scatters of two
  columns to change by R₁R₂ only. With several cells it adds the noise to their **means**, with the
  published sensitivity R/n_k of a mean of n_k records (BL §4.3). That is no valid bound: n_k is not
  public, so the scale of the noise tells it, and a record that changes its cell moves two means, an
  emptied cell by as much as R. The mean of an empty cell, which does not exist, is the middle of
  the bounds, without noise. `unpaid_leak` says all of this.

**Sums of bounded numbers by cell, and scatters pooled within cells, as exact whole numbers.**

A column j of numbers is summed as whole numbers z_j between −R/2 and R/2, R = `STEPS` (see
`understudy.data.sums`). In cell k of a table, with n_k records, S_kj = Σ z_j, Q_kjl = Σ
z_j·z_l;

* the **sum** of column j is the vector (S_kj) over the cells that can hold a number of it;
* the **scatter** of columns j and l is W_jl = Σ_k ⌊Q_kjl − S_kj·S_kl / n_k⌋, the sum of
  (z_j − z̄_j)(z_l − z̄_l) with the means taken within each cell, rounded down in each.

In a cell where a column is absent (its state there is a code or a spike) all its z are 0, so that
the cell adds nothing: a scatter uses the records in which both columns are present.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.dp import perturbation
from understudy.dp.budget import Neighbours, exact, split
from understudy.dp.calibration import public_step
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answers
from understudy.dp.perturbation import Bounds, Mode, NoiseDistribution, require_pure, too_little
from understudy.dp.randomness import Randomness
from understudy.dp.released import Noise, NoisyMoment, Released
from understudy.dp.truncated_laplace import TruncatedLaplace
from understudy.errors import MethodError
from understudy.features.grids import HALF, STEPS, holds_numbers
from understudy.schema import NUMERIC, Schema

if TYPE_CHECKING:
    from understudy.data.sums import ExactSums

MOST_NUMBERS = 2**26
_WIDE = 2**31


@dataclass(frozen=True)
class Moment:
    """One statistic.

    Attributes:
        statistic: "sum" or "scatter"; "mean" is a sum over the number of records of its cell, as
            published, whose noise rests on a private count.
        of: the column summed, or the two of a scatter (equal ones for a variance).
        by: columns of the table of cells.
        summed: all the columns that are summed in one request.
        rank: its place among the sums, or among the pairs (0, 0), (0, 1), …, (1, 1), ….
        cells: in how many cells of the table the statistic can have a contribution.
        unit: what one step of the whole numbers is in the columns' own units; exact.
    """

    statistic: Literal["sum", "mean", "scatter"]
    of: tuple[str, ...]
    by: tuple[str, ...]
    summed: tuple[str, ...]
    rank: int
    cells: int
    unit: Fraction

    @property
    def query(self) -> str:
        """Question that is asked, in words."""
        of = " and ".join(dict.fromkeys(self.of))
        rest = " × ".join(name for name in self.by if name not in self.summed)
        link = " by " if self.is_by_cell else " within "
        return f"{self.statistic} of {of}{link * bool(rest)}{rest}"

    @property
    def is_by_cell(self) -> bool:
        """True if there is a number for each cell."""
        return self.statistic != "scatter"

    @property
    def is_variance(self) -> bool:
        """True if it is the scatter of one column."""
        return self.statistic == "scatter" and self.of[0] == self.of[1]


def table_columns(of: Sequence[str], by: Sequence[str]) -> tuple[str, ...]:
    """Columns of the table of cells: those of `by`, and what it lacks of the summed ones."""
    return (*by, *(name for name in of if name not in by))


def moments_of(schema: Schema, of: Sequence[str], by: Sequence[str]) -> tuple[Moment, ...]:
    """All sums, then all scatters, of some columns.

    Args:
        schema: each column of `of` is numeric and has a single bin there.
        of: p columns.
        by: columns of the table of cells.

    Raises:
        MethodError: columns that do not fit, or more numbers than can be held.
    """
    summed, columns = tuple(of), table_columns(of, by)
    _require(schema, summed, columns)
    holds = [holding_cells(schema, columns, name) for name in summed]
    steps = [_step(schema, name) for name in summed]
    moments = []
    for j, name in enumerate(summed):
        cells = int(holds[j].sum())
        moments.append(Moment("sum", (name,), columns, summed, j, cells, steps[j]))
    for rank, (j, k) in enumerate(pairs(len(summed))):
        cells, unit = int((holds[j] & holds[k]).sum()), steps[j] * steps[k]
        both = (summed[j], summed[k])
        moments.append(Moment("scatter", both, columns, summed, rank, cells, unit))
    return tuple(moments)


def pairs(p: int) -> Iterator[tuple[int, int]]:
    """(0, 0), (0, 1), …, (1, 1), …: the p(p+1)/2 pairs, in the order of the scatters."""
    return ((j, k) for j in range(p) for k in range(j, p))


def holding_cells(schema: Schema, columns: Sequence[str], name: str) -> NDArray[np.bool_]:
    """Find the cells of a table that can hold a number of one of its columns: a public fact.

    Returns:
        Shape (cells,), C order.
    """
    mask = schema.table(columns).allowed_mask()
    shape = [1] * len(columns)
    shape[columns.index(name)] = -1
    here: NDArray[np.bool_] = mask & holds_numbers(schema.columns[name]).reshape(shape)
    return here.reshape(-1)


def exact_statistic(moment: Moment, sums: ExactSums) -> NDArray[np.int64]:
    """A statistic from exact sums: shape (cells,) of the table for a sum, (1,) for a scatter.

    Of a mean it is the sum.
    """
    if moment.is_by_cell:
        total: NDArray[np.int64] = sums.sums[moment.rank]
        return total
    j, k = (moment.summed.index(name) for name in moment.of)
    products = sums.products[moment.rank]
    return pooled_scatter(sums.counts, sums.sums[j], sums.sums[k], products)[np.newaxis]


def pooled_scatter(
    counts: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    products: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Σ_k ⌊Q_k − S_k·T_k / n_k⌋, exactly.

    With S = a·n + r and T = b·n + s, 0 ≤ r, s < n, the term is Q − a·T − r·b + ⌊−r·s/n⌋. For z
    within ±2¹⁵ and n below 2³¹ each part stays below 2⁶²; beyond, Python's integers take over.

    Args:
        counts: n_k, shape (..., cells).
        first: S_k, the same shape.
        second: T_k, the same shape.
        products: Q_k, the same shape.

    Returns:
        Shape (...).
    """
    wide = counts.size > 0 and int(counts.max()) >= _WIDE
    n, s, t, q = (
        array.astype(object) if wide else array
        for array in (np.maximum(counts, 1), first, second, products)
    )
    a, r, b = s // n, s % n, t // n
    within = q - a * t - r * b + (-(r * (t % n))) // n
    pooled: NDArray[Any] = np.asarray(within.sum(axis=-1))
    return pooled.astype(np.int64)


def _step(schema: Schema, name: str) -> Fraction:
    low, high = schema.columns[name].bounds  # type: ignore[union-attr]
    return (exact(high) - exact(low)) / STEPS


def _require(schema: Schema, of: Sequence[str], columns: Sequence[str]) -> None:
    for name in columns:
        if name not in schema.columns:
            raise MethodError(f"There is no column {name!r} in the schema.")
    for name in of:
        _require_single_bin(schema, name)
    if not of or len(set(columns)) < len(columns) or len(set(of)) < len(of):
        raise MethodError("Moments need at least one column, and each column once.")
    cells = schema.table(columns).n_cells
    numbers = 1 + len(of) + len(of) * (len(of) + 1) // 2
    if cells * numbers > MOST_NUMBERS:
        raise MethodError(
            f"The sums by {' × '.join(columns)} are {cells * numbers:,} numbers, too many to hold "
            f"(at most {MOST_NUMBERS:,}); take fewer or coarser columns."
        )


def _require_single_bin(schema: Schema, name: str) -> None:
    column = schema.columns[name]
    if not isinstance(column, NUMERIC):
        raise MethodError(f"The column {name!r} is not numeric, so it has no sums.")
    if holds_numbers(column).sum() != 1:
        raise MethodError(
            f"The column {name!r} has several bins; ask for its sums through "
            f"gate.rebin({{{name!r}: 1}})."
        )
    if column.bounds[0] == column.bounds[1]:
        raise MethodError(f"The column {name!r} has a single possible value, so it has no sums.")


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
    """Count the numbers of the statistic that one record can change."""
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
        """Question that is asked, in words."""
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
        """True if its scale in a cell is divided by the cell's private number of records."""
        return self.moment.statistic == "mean"

    @property
    def recorded(self) -> Noise:
        """Description of the noise in the released value."""
        return perturbation.describe_noise(self.distribution, self._noise_unit)

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
        moments = tuple(_use_means(moment) for moment in moments)
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


def _use_means(moment: Moment) -> Moment:
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
        distribution = perturbation.calibrate_truncated(
            share, rounded, interval, coordinates=numbers
        )
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


ONE_CELL = (
    "The noise of a scatter of two columns does not allow for a record that changes its cell "
    "(L1 = R₁R₂ instead of 2R₁R₂)."
)
BY_COUNT = (
    "The noise of a cell's mean has the scale R/n_k with the private number n_k of its records, "
    "does not allow for a record that changes its cell, and is absent from an empty cell."
)


@dataclass(frozen=True)
class Moments(Mechanism[tuple[Released[NoisyMoment], ...], MomentNoise]):
    """Noisy sums of bounded numbers by cell, and their scatters pooled within cells.

    The p sums (means, in paper mode with several cells) come in the order of `of`, then the
    p(p+1)/2 scatters (0, 0), (0, 1), ….

    Attributes:
        of: numeric columns, each with a single bin in the gate's schema (`Gate.rebin`).
        by: columns of the table of cells; those of `of` that it lacks are appended.
        weights: how ε is divided, one weight per statistic; evenly if None.
        calibration: "split", or "nonsplit" for noise of one scale in all statistics.
        bounds: "truncate" draws numbers inside their admissible intervals, calibrated for that.
        mode: "paper" for the noise of Bowen & Liu (2020); the guarantee then says what that leaves
            in.
    """

    name: ClassVar[str] = "noisy moment"
    form: ClassVar[Form] = Form.MOMENTS

    of: Sequence[str]
    by: Sequence[str] = ()
    weights: Sequence[int | Fraction] | None = None
    calibration: Calibration = "split"
    bounds: Bounds = "threshold"
    mode: Mode = "strict"

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[MomentNoise], ...]:
        """One step for each statistic.

        Raises:
            MethodError: columns or options that do not fit, or another accounting than pure ε.
            BudgetError: more than is left, or too little to draw the noise exactly.
        """
        require_pure(terms.accounting)
        terms.require(spend)
        noises = moment_noises(
            terms.schema,
            self.of,
            self.by,
            spend=spend,
            weights=self.weights,
            calibration=self.calibration,
            bounds=self.bounds,
            mode=self.mode,
        )
        return tuple(
            Charge(
                spent=noise.share,
                mechanism=self.name,
                query=noise.query,
                sensitivity=noise.bound,
                noise=noise.noise,
                cells=noise.n_cells,
                parameter=noise,
                recorded=noise.recorded,
                columns=table_columns(self.of, self.by),
            )
            for noise in noises
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[MomentNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyMoment], ...]]:
        """Sum in one pass, and add noise to each statistic."""
        noises, view = [charge.parameter for charge in charges], rows.view
        columns = noises[0].moment.by
        sums, bins = rows.sums(columns, tuple(self.of)), view.bins_of(columns)
        moments = [
            replace(noisy_moment(noise, sums, view.schema, source), bins=bins) for noise in noises
        ]
        return answers(moments, leaks=unpaid_leak(noises, view.schema))


def sanitise(
    statistics: NDArray[np.int64], noise: MomentNoise, source: Randomness
) -> NDArray[np.float64]:
    """Add the noise of one statistic.

    Args:
        statistics: exact whole numbers, shape (..., k); leading axes are repetitions.
        noise: which one; independent in each number.
        source: where it comes from.

    Returns:
        Shape (..., k), in the columns' units.
    """
    if isinstance(noise.distribution, ContinuousLaplace | TruncatedLaplace):
        return perturbation.perturb(
            statistics * float(noise.moment.unit), noise.distribution, source
        )
    rounded = (statistics + noise.coarseness // 2) // noise.coarseness
    noisy: NDArray[Any] = perturbation.perturb(rounded, noise.distribution, source)
    return noisy.astype(np.float64) * float(noise.step)


def noisy_moment(
    noise: MomentNoise, sums: ExactSums, schema: Schema, source: Randomness
) -> NoisyMoment:
    """One statistic with its noise; cells that cannot hold a number are 0 and get none.

    Args:
        noise: the statistic and its noise.
        sums: exact sums by the cells of its table.
        schema: the schema that it was worked out for.
        source: where the noise comes from.
    """
    moment, exact = noise.moment, exact_statistic(noise.moment, sums)
    if moment.statistic == "scatter":
        values = sanitise(exact, noise, source)
    elif moment.statistic == "mean":
        values = np.zeros(exact.shape)
        holds = holding_cells(schema, moment.by, moment.of[0]) & (sums.counts > 0)
        values[holds] = noisy_means(exact[holds], sums.counts[holds], noise, source)
    else:
        holds = holding_cells(schema, moment.by, moment.of[0])
        values = np.zeros(exact.shape)
        values[holds] = sanitise(exact[holds], noise, source)
    return NoisyMoment(moment.statistic, moment.of, moment.by, values)


def noisy_means(
    totals: NDArray[np.int64],
    counts: NDArray[np.int64],
    noise: MomentNoise,
    source: Randomness,
) -> NDArray[np.float64]:
    """Means of cells with noise of scale R/(n_k·share), as published: **not** a valid guarantee.

    Args:
        totals: exact sums as whole numbers, shape (k,).
        counts: n_k ≥ 1, shape (k,).
        noise: of a cell with one record.
        source: where it comes from.

    Returns:
        Means less the middle of the bounds, in the columns' units, shape (k,).
    """
    exact, distribution = totals * float(noise.moment.unit) / counts, noise.distribution
    if isinstance(distribution, TruncatedLaplace):
        drawn = [
            perturbation.perturb(mean, replace(distribution, scale=distribution.scale / n), source)
            for mean, n in zip(exact[:, None], counts, strict=True)
        ]
        return np.concatenate([np.zeros(0), *drawn])
    assert isinstance(distribution, ContinuousLaplace)
    return exact + distribution.sample(exact.size, source) / counts


def exact_moment(moment: Moment, sums: ExactSums) -> NoisyMoment:
    """One statistic without noise, for classical baselines."""
    values = exact_statistic(moment, sums).astype(np.float64) * float(moment.unit)
    return NoisyMoment(moment.statistic, moment.of, moment.by, values)


def unpaid_leak(noises: Sequence[MomentNoise], schema: Schema) -> tuple[str, ...]:
    """The unpaid leaks of the noise of a request."""
    if not any(
        isinstance(noise.distribution, ContinuousLaplace | TruncatedLaplace) for noise in noises
    ):
        return ()
    truncated = any(isinstance(noise.distribution, TruncatedLaplace) for noise in noises)
    strict = [sensitivity_in(noise.moment, schema, "strict") for noise in noises]
    short = any(noise.sensitivity < bound for noise, bound in zip(noises, strict, strict=True))
    return (
        perturbation.FLOATING,
        *((perturbation.UNCALIBRATED,) if truncated else ()),
        *((ONE_CELL,) if short else ()),
        *((BY_COUNT,) if any(noise.is_mean for noise in noises) else ()),
    )
