"""A linear regression as a question to the gate: what is asked, with which noise, and the answer.

The statistics and their sensitivity, and the noise of both mechanisms, follow below. Only records
count that have a number in each of the columns. Coefficients follow from the noisy statistics
alone (`understudy.inference.private_regression`).

Example:
    >>> noise = plan(NormalEquations(1, counted=False), "replace", "functional", Fraction(1))
    >>> noise.words, round(noise.stddev, 3)
    ('Laplace, scale 5242883/1048576, on the lattice of step 1/1048576', 7.071)

**What a linear regression is made of, exactly, and how much one record can change it.**

**The statistics.** Each number of d predictors and of the response is put on a public lattice in
[−1, 1] by its public bounds: z/H, H = 2¹⁵, z whole (`understudy.data.sums`). With p = d +
1 columns, the response y last, the normal equations need

* n, the number of records that count (if it is not public),
* the p sums Σx₁, …, Σx_d, Σy,
* the products Σx_j·x_k for j ≤ k and Σx_j·y; not Σy², which moves no coefficient.

These are m = (d + 1)(d + 4)/2 numbers with n, one less without, and the coefficients of the
polynomial that least squares minimises. In units of H⁻² they are whole, and so exact: n·H², H·Σz
and Σz·z'. No overflow below 2³³ records.

**What one record can change**, M = (d + 1)(d + 4)/2:

* *added or removed*: each of the m terms is at most 1 in size, and all are 1 for the record
  (1, …, 1). So the L1 sensitivity is **M**, the L∞ sensitivity **1**; without n it would be M − 1.
* *replaced*, both records count: L1 **M** as well, L∞ **2**. For records u and v let
  s = (u + v)/2, t = (u − v)/2 and τ = |t|, coordinate by coordinate, so that |s| ≤ 1 − τ. Then

      |u_j − v_j| = 2τ_j,      |u_j² − v_j²| = 4|s_j·t_j| ≤ 4τ_j(1 − τ_j),
      |u_j·u_k − v_j·v_k| = 2|s_j·t_k + t_j·s_k| ≤ 2(τ_j + τ_k − 2τ_j·τ_k).

  With X = Στ_j over the predictors, η = τ of the response and Στ_j² ≥ X²/d these add up to at most
  2d·c(d + 3) − 2d(d + 1)c² + η(2(d + 1) − 4dc), c = X/d. That is linear in η. At η = 1 it is
  2(d + 1)(1 + dc(1 − c)) ≤ (d + 1)(d + 4)/2 = M; at η = 0 at most d(d + 3)²/(2(d + 1)), which is
  below M since (d + 1)²(d + 4) = d(d + 3)² + 4. The records (1, …, 1; 1) and (0, …, 0; −1) attain
  M, the records (1; 1) and (−1; 1) a change of 2 in one number.
* *replaced*, one of the two does not count: an addition or a removal, M and 1.

So M holds for both relations, and n is free of charge in the L1 norm. For d = 1 it is 5, where the
published bound of the functional mechanism (Zhang et al. 2012), 2(d + 1)², is 8; for many
predictors it is a quarter of it.

**Records that lack a number** (a code of absence, a value out of domain) do not count. Their number
is then private even if that of all records is public, and n is one of the noisy statistics. Only
where records are replaced and no column has a code, n stays the public number of records: what fits
no state counts as a record in the middle of all bounds, (0, …, 0), which adds nothing to the other
statistics and is one of the records that the proof covers.

`tests/mechanisms/sums/test_normal_equations.py` enumerates the neighbours.

**The ℓ∞ K-norm mechanism for linear regression: one noise vector for all statistics together.**

Awan & Slavković (2018), "Structure and Sensitivity in Differential Privacy: Comparing K-Norm
Mechanisms", after Hardt & Talwar (2010): noise of density ∝ exp(−ε‖v‖∞/Δ∞) on the m sums and
products of `NormalEquations`. In ℓ∞ one record changes them by
1 (added or removed) or 2 (replaced), however many predictors there are.

**Guarantee.** The statistics are whole numbers, rounded to a public lattice that is g = 2^k times
as coarse. Neighbours differ by at most Δ = Δ∞·2³⁰ in each number; g divides Δ, and a change of at
most Δ moves a rounded number by at most Δ/g: rounding costs nothing. The noise V lives on the same
lattice, P(V = v) ∝ q^‖v‖∞ on ℤ^m, q = exp(−ε·g/Δ). For an outcome w the likelihoods under
neighbours t, t' have the ratio q^(‖w − t‖∞ − ‖w − t'‖∞) ≤ q^(−‖t − t'‖∞) ≤ e^ε by the triangle
inequality, and the constant in front is the same for both: **pure ε**, for add/remove and for
replace.

**An exact draw.** Continuous noise would be a radius r ~ Gamma(m + 1) times a point uniform on the
cube [−1, 1]^m, in floating point. The lattice has the same form without rounding. Since
q^‖v‖∞ = (1 − q)·Σ_{R ≥ ‖v‖∞} q^R, the distribution of V is: draw R with P(R = r) ∝ (2r + 1)^m·q^r,
then V uniform among the (2R + 1)^m points of {−R, …, R}^m. For R:

1. propose the sum of m + 1 geometric numbers, P(r) ∝ (r + 1)(r + 2)…(r + m)·q^r;
2. accept with probability Π_{i=1..m} (2r + 1)/(2r + 2i), a product of fractions below 1, and begin
   again if not.

Geometric numbers, acceptance and the point are drawn with whole numbers only
(`understudy.dp.sampling`). The acceptance rate is about exp(−m/(2·scale)), so the scale is
kept at m lattice steps or more; at budgets above a hundred thousand that is more noise than was
paid for, of a scale below 2⁻¹⁷ of a record.

**When.** Each number has the standard deviation Δ∞·√((m + 1)(m + 2)/3)/ε, against √2·M/ε of
`functional_noise`: 0.53 times as much for d = 1 where a
record is added or removed, 0.89 times where one is replaced and n is public, and less the more
predictors there are (0.41 and 0.82 in the limit). For d = 1, a replaced record and n counted it is
1.06 times as much. So it is the better one where records are added or removed. Where they are
replaced, coefficients are hardly nearer: Laplace noise of the same standard deviation is small more
often.

**The functional mechanism for linear regression: Laplace noise in what least squares minimises.**

Zhang, Zhang, Xiao, Yang & Winslett (2012), "Functional Mechanism: Regression Analysis under
Differential Privacy", perturb the objective rather than its minimum: a polynomial of degree 2 in
the regression's coefficients, whose own coefficients are the sums and products of
`NormalEquations`. Whatever minimises the noisy polynomial is
post-processing.

**Guarantee.** Let t and t' be the statistics of two neighbouring tables in whole numbers,
‖t − t'‖₁ ≤ Δ = M·2³⁰ (M and its proof: there). Rounded to a public lattice g times as coarse, they
differ by at most Δ_g = m + ⌊(Δ − m)/g⌋ in all (`understudy.mechanisms.sums`). Discrete Laplace
noise of scale Δ_g/ε in each of the m numbers has P(noise = v) ∝ exp(−ε‖v‖₁/Δ_g), so any outcome is
at most e^ε times as likely with t as with t': **pure ε**, for add/remove and for replace. The draw
is exact (`understudy.dp.distributions`).

**The published bound.** The paper counts each of the (d + 1)² products of a record once, in two
triangles, and doubles that for a replaced record: Δ = 2(d + 1)², 8 for a single predictor. Ours is
the exact M = (d + 1)(d + 4)/2, 5 for a single predictor. Since 4(d + 1) ≥ d + 4, the published
bound is never below M, and Δ_g grows with Δ: with it the proof above holds as it stands, and **pure
ε** with it. It only buys less, with 1.6 times the noise for d = 1 and up to 4 times for many
predictors. It is here (`functional-published`) because published comparisons rest on it.

**Against the paper.** Each product of two predictors gets one noise, not one in each of two
triangles, and the intercept is part of the model.

**When.** It is the better known comparator. Where records are added or removed, the K-norm
mechanism has about half the noise at the same ε; where they are
replaced, the two are much alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import compiled
from understudy.dp import perturbation
from understudy.dp.budget import Neighbours
from understudy.dp.calibration import representable
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.mechanism import Charge, Mechanism, Outcome, answer
from understudy.dp.randomness import Randomness
from understudy.dp.released import Noise, Released
from understudy.dp.sampling import LAPLACE_TERMS, exponential, fill, word_below
from understudy.errors import MethodError, suggestion
from understudy.features.grids import HALF, holds_numbers, on_bounds
from understudy.mechanisms.sparse_tables import below_each
from understudy.mechanisms.sums import MOST_NUMBERS, coarseness, pairs, rounded_sensitivity
from understudy.schema import NUMERIC, Column, Schema

if TYPE_CHECKING:
    from understudy.data.sums import ExactSums

ONE: Final = HALF**2
"""Whole numbers per record."""


@dataclass(frozen=True)
class NormalEquations:
    """Which statistics a regression asks for, and their order.

    Attributes:
        predictors: d, at least 1.
        counted: whether the number of records is one of them, in front.
    """

    predictors: int
    counted: bool

    @property
    def size(self) -> int:
        """Count of the numbers: (n if it counts,) p sums, p(p + 1)/2 − 1 products."""
        return self.l1_sensitivity - (not self.counted)

    @property
    def l1_sensitivity(self) -> int:
        """Largest change in the L1 norm, for records in [−1, 1]^p; the same in both relations."""
        return (self.predictors + 1) * (self.predictors + 4) // 2

    @property
    def published_l1_bound(self) -> int:
        """The bound of Zhang et al. (2012) on it, never below it."""
        return 2 * (self.predictors + 1) ** 2

    def max_sensitivity(self, neighbours: Neighbours) -> int:
        """Largest change of one number."""
        return 1 if neighbours == "add_remove" else 2

    def statistics(self, z: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exact statistics of records that all count.

        Args:
            z: whole numbers of `on_lattice`, shape (..., n, p), the response last.

        Returns:
            Shape (..., size), in units of 1/`ONE`.
        """
        counts = np.full(z.shape[:-2], z.shape[-2], dtype=np.int64)
        columns = [z[..., j] for j in range(z.shape[-1])]
        products = [
            np.einsum("...i,...i->...", columns[j], columns[k]) for j, k in pairs(len(columns))
        ]
        return self.arrange(counts, z.sum(axis=-2), np.stack(products, axis=-1))

    def arrange(
        self, counts: NDArray[np.int64], sums: NDArray[np.int64], products: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The statistics in their order, in units of 1/`ONE`.

        Args:
            counts: n, shape (...).
            sums: Σz, shape (..., p).
            products: Σz·z' of the pairs (0, 0), (0, 1), …, shape (..., p(p + 1)/2).

        Returns:
            Shape (..., size).
        """
        parts = [sums * HALF, products[..., :-1]]
        front = [counts[..., np.newaxis] * ONE] if self.counted else []
        return np.concatenate([*front, *parts], axis=-1)


def on_lattice(values: ArrayLike, bounds: Sequence[tuple[float, float]]) -> NDArray[np.int64]:
    """The whole number of each value, as the engine lays it down for a column in these bounds.

    Args:
        values: finite numbers, shape (..., p).
        bounds: lower and upper bound of each column, p pairs.

    Returns:
        Between −`HALF` and `HALF`, shape (..., p).
    """
    columns = np.asarray(values, dtype=np.float64)
    laid = [on_bounds(columns[..., j], low, high) for j, (low, high) in enumerate(bounds)]
    return np.stack(laid, axis=-1)


def asks_count(schema: Schema, columns: Sequence[str]) -> bool:
    """Return whether the number of records that count is private: a public fact."""
    coded = any(has_codes(schema.columns[name]) for name in columns)
    return schema.neighbours == "add_remove" or coded


def has_codes(column: Column) -> bool:
    """Return whether a column declares states that are no number."""
    return isinstance(column, NUMERIC) and column.size > column.n_ordinary


def exact_statistics(
    equations: NormalEquations, sums: ExactSums, columns: Sequence[Column]
) -> NDArray[np.int64]:
    """The statistics of the records in the cells in which every column is a number.

    In a cell where a column is a spike, the engine's z of it is 0. Its whole number ζ is public, so
    that what is missing follows from the other sums: Σ(z + ζ)(z' + ζ') = Σzz' + ζΣz' + ζ'Σz + nζζ'.

    Args:
        equations: which statistics.
        sums: sums by the cells of the table of these columns.
        columns: predictors and response, in the order of the sums; a single bin each.

    Returns:
        Shape (size,), in units of 1/`ONE`.
    """
    sizes = [column.size for column in columns]
    states = np.unravel_index(np.arange(len(sums.counts)), sizes)
    numbers = [_numbers(column) for column in columns]
    inside = np.ones(len(sums.counts), dtype=np.bool_)
    for state, (is_number, _) in zip(states, numbers, strict=True):
        inside &= is_number[state]
    n = sums.counts[inside]
    zeta = [spikes[state][inside] for state, (_, spikes) in zip(states, numbers, strict=True)]
    s = [z[inside] for z in sums.sums]
    products = [
        (q[inside] + zeta[j] * s[k] + zeta[k] * s[j] + zeta[j] * zeta[k] * n).sum()
        for q, (j, k) in zip(sums.products, pairs(len(columns)), strict=True)
    ]
    totals = [(z + spike * n).sum() for z, spike in zip(s, zeta, strict=True)]
    return equations.arrange(n.sum(), np.array(totals), np.array(products))


def _numbers(column: Column) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Find states of a column that are numbers, and the numbers of spikes; each shape (size,)."""
    assert isinstance(column, NUMERIC)
    is_number = np.arange(column.size) < column.n_ordinary
    values = np.array([interval.low for interval in column.intervals])
    spikes = np.zeros(column.size, dtype=np.int64)
    low, high = column.bounds
    spikes[: column.n_ordinary] = on_bounds(values, low, high)
    return is_number, np.where(holds_numbers(column), 0, spikes)


@dataclass(frozen=True, slots=True)
class CubeLaplace:
    """P(v) ∝ exp(−‖v‖∞/scale) on ℤ^m.

    Attributes:
        scale: exact; at least the dimension, and terms at most 2⁴⁰.
        dimension: m, at least 1.

    Raises:
        ValueError: a scale out of range.
    """

    scale: Fraction
    dimension: int
    name: ClassVar[str] = "discrete_cube_laplace"

    def __post_init__(self) -> None:
        if max(self.scale.numerator, self.scale.denominator) > LAPLACE_TERMS:
            raise ValueError("CubeLaplace: terms of the scale exceed 2**40; use representable")
        if not 1 <= self.dimension <= self.scale:
            raise ValueError("CubeLaplace: expected a dimension from 1 to the scale")

    @property
    def stddev(self) -> float:
        """Standard deviation of one coordinate.

        Given R it has the variance R(R + 1)/3; R + ½ has the first two moments of a Gamma(m + 1)
        distribution of this scale, but for the error of the midpoint rule.
        """
        squared = (self.dimension + 1) * (self.dimension + 2) * float(self.scale) ** 2
        return math.sqrt((squared - 0.25) / 3)

    def radii(self, size: int, source: Randomness) -> NDArray[np.int64]:
        """Exact draws of R, shape (size,)."""
        return fill(_fill_radii, (self.scale.as_integer_ratio(), self.dimension), size, source)

    def sample(self, size: int, source: Randomness) -> NDArray[np.int64]:
        """Independent exact draws, shape (size, dimension)."""
        radii = np.repeat(self.radii(size, source), self.dimension)
        return (below_each(2 * radii + 1, source) - radii).reshape(size, self.dimension)


@compiled
def _radius(
    words: NDArray[np.uint64], cursor: NDArray[np.int64], scale: tuple[int, int], dimension: int
) -> int:
    """P(r) ∝ (2r + 1)^m·exp(−r/scale); above 2⁶¹ with a probability below exp(−2²⁰) for m < 2¹⁴."""
    t, s = scale
    while cursor[0] <= words.size:
        radius = 0
        for _ in range(dimension + 1):
            u, v = exponential(words, cursor, t)
            radius += (u + t * v) // s
        accepted = True
        for i in range(1, dimension + 1):
            if word_below(words, cursor, 2 * (radius + i)) > 2 * radius:
                accepted = False
                break
        if accepted:
            return radius
    return 0


@compiled
def _fill_radii(
    words: NDArray[np.uint64],
    cursor: NDArray[np.int64],
    out: NDArray[np.int64],
    scale: tuple[int, int],
    dimension: int,
) -> None:
    for index in range(cursor[1], out.size):
        start = cursor[0]
        value = _radius(words, cursor, scale, dimension)
        if cursor[0] > words.size:
            cursor[0] = start
            return
        out[index] = value
        cursor[1] = index + 1


def k_norm_noise(
    equations: NormalEquations, neighbours: Neighbours, epsilon: Fraction
) -> tuple[CubeLaplace, int, int]:
    """The noise of all statistics together, from public facts alone.

    Args:
        equations: which statistics.
        neighbours: which tables count as neighbours.
        epsilon: cost.

    Returns:
        The distribution in lattice steps; whole numbers per step; L∞ sensitivity in steps.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    whole = equations.max_sensitivity(neighbours) * ONE
    step = coarseness(whole, equations.size, epsilon)
    rounded = whole // step  # without remainder: both are powers of two
    scale = max(representable(rounded / epsilon), Fraction(equations.size))
    return CubeLaplace(scale, equations.size), step, rounded


def functional_noise(
    equations: NormalEquations, epsilon: Fraction, *, published: bool = False
) -> tuple[DiscreteLaplace, int, int]:
    """The noise of each statistic, from public facts alone.

    Args:
        equations: which statistics.
        epsilon: cost of all of them together.
        published: take the published bound of the L1 sensitivity, which is larger than the exact.

    Returns:
        The distribution in lattice steps; whole numbers per step; L1 sensitivity in steps.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    bound = equations.published_l1_bound if published else equations.l1_sensitivity
    whole = bound * ONE
    step = coarseness(whole, equations.size, epsilon)
    rounded = rounded_sensitivity(whole, equations.size, step)
    return perturbation.additive(rounded / epsilon), step, rounded


RegressionMechanism = Literal["functional", "functional-published", "k-norm"]
MECHANISMS: dict[str, str] = {
    "functional": "functional mechanism",
    "functional-published": "functional mechanism, published bound",
    "k-norm": "K-norm mechanism",
}
"""How the ledger calls them."""
MOST_COLUMNS = 101


@dataclass(frozen=True)
class RegressionNoise:
    """The statistics of a regression, and their noise: all public.

    Attributes:
        equations: which statistics.
        share: ε of all of them together, exact.
        distribution: the noise, in lattice steps: of each statistic, or of all together.
        coarseness: whole numbers per lattice step.
        rounded_sensitivity: in lattice steps; in the L1 norm, or of the cube in L∞.
    """

    equations: NormalEquations
    share: Fraction
    distribution: DiscreteLaplace | CubeLaplace
    coarseness: int
    rounded_sensitivity: int

    @property
    def step(self) -> Fraction:
        """One lattice step, in records."""
        return Fraction(self.coarseness, ONE)

    @property
    def sensitivity(self) -> str:
        """In words, for columns scaled to [−1, 1]."""
        norm = "L∞" if isinstance(self.distribution, CubeLaplace) else "L1"
        return f"{norm} = {self.rounded_sensitivity * self.step}"

    @property
    def words(self) -> str:
        """The distribution of the noise."""
        if isinstance(self.distribution, DiscreteLaplace):
            return perturbation.words(self.distribution, self.step)
        return (
            f"density ∝ exp(−‖v‖∞/s), s = {self.distribution.scale * self.step}, in "
            f"{self.equations.size} dimensions, on the lattice of step {self.step}"
        )

    @property
    def recorded(self) -> Noise:
        """Description of the noise in each number."""
        if isinstance(self.distribution, DiscreteLaplace):
            return perturbation.describe_noise(self.distribution, self.step)
        scale = str(self.distribution.scale * self.step)
        return Noise(self.distribution.name, scale, self.distribution.stddev * float(self.step))

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise in each statistic, in records."""
        return self.recorded.stddev


@dataclass(frozen=True)
class NoisyRegression:
    """Noisy normal equations of columns that are scaled to [−1, 1] by their bounds.

    Attributes:
        columns: predictors, then the response.
        bounds: lower and upper bound of each (dates: days since 1970-01-01).
        equations: which statistics, in which order.
        statistics: shape (size,), in records.
        n_rows: public number of records, where it is not one of the statistics.
    """

    columns: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    equations: NormalEquations
    statistics: NDArray[np.float64]
    n_rows: int | None


@dataclass(frozen=True, kw_only=True)
class Regression(Mechanism[Released[NoisyRegression], RegressionNoise]):
    """Noisy normal equations of a linear regression with an intercept.

    The answer is none of the measurements that a release publishes, since no synthesis rests on it.

    Attributes:
        response: name of a numeric column.
        predictors: names of other numeric columns, at least one.
        mechanism: "k-norm", "functional", or "functional-published" with the published bound.
    """

    name: ClassVar[str] = "linear regression"

    response: str
    predictors: tuple[str, ...]
    mechanism: RegressionMechanism = "k-norm"

    @property
    def columns(self) -> tuple[str, ...]:
        """Predictors, then the response."""
        return (*self.predictors, self.response)

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[RegressionNoise], ...]:
        """One step, in ε, under the name of the mechanism.

        Raises:
            MethodError: columns or a mechanism that do not fit, or another accounting than pure ε.
            BudgetError: more than is left, or too little to draw the noise exactly.
        """
        perturbation.require_pure(terms.accounting)
        terms.require(spend)
        _require(terms.schema, self)
        counted = asks_count(terms.schema, self.columns)
        equations = NormalEquations(len(self.predictors), counted)
        noise = plan(equations, terms.neighbours, self.mechanism, spend)
        charge = Charge(
            spent=spend,
            mechanism=MECHANISMS[self.mechanism],
            query=f"normal equations of {self.response} on {', '.join(self.predictors)}",
            sensitivity=noise.sensitivity,
            noise=noise.words,
            cells=equations.size,
            parameter=noise,
            recorded=noise.recorded,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[RegressionNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyRegression]]:
        """Sum by the codes of the columns, each in a single bin, and add noise."""
        noise, schema = charges[0].parameter, rows.view.schema
        bins = {name: 1 for name in self.columns if _n_bins(schema, name) != 1}
        seen = rows.rebin(bins) if bins else rows
        columns = [seen.view.schema.columns[name] for name in self.columns]
        exact = exact_statistics(noise.equations, seen.sums(self.columns, self.columns), columns)
        value = NoisyRegression(
            columns=self.columns,
            bounds=tuple(column.bounds for column in columns),  # type: ignore[union-attr]
            equations=noise.equations,
            statistics=sanitise(exact, noise, source),
            n_rows=None if noise.equations.counted else schema.n_rows,
        )
        return answer(value)


def plan(
    equations: NormalEquations,
    neighbours: Neighbours,
    mechanism: RegressionMechanism,
    epsilon: Fraction,
) -> RegressionNoise:
    """The noise of all statistics together.

    Args:
        equations: which statistics.
        neighbours: which tables count as neighbours.
        mechanism: "k-norm", "functional", or "functional-published" with the published bound.
        epsilon: cost.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    distribution: DiscreteLaplace | CubeLaplace
    if mechanism == "k-norm":
        distribution, step, rounded = k_norm_noise(equations, neighbours, epsilon)
    else:
        published = mechanism == "functional-published"
        distribution, step, rounded = functional_noise(equations, epsilon, published=published)
    return RegressionNoise(equations, epsilon, distribution, step, rounded)


def sanitise(
    statistics: NDArray[np.int64], noise: RegressionNoise, source: Randomness
) -> NDArray[np.float64]:
    """Round exact statistics to the lattice and add the noise.

    Args:
        statistics: whole numbers of `NormalEquations`, shape (..., size); leading axes are
            repetitions with independent noise.
        noise: which one.
        source: where it comes from.

    Returns:
        Shape (..., size), in records.
    """
    rounded = (statistics + noise.coarseness // 2) // noise.coarseness
    if isinstance(noise.distribution, CubeLaplace):
        drawn = noise.distribution.sample(math.prod(rounded.shape[:-1]), source)
    else:
        drawn = noise.distribution.sample(rounded.size, source)
    noisy = rounded + drawn.reshape(rounded.shape)
    return np.asarray(noisy.astype(np.float64) * float(noise.step))


def _n_bins(schema: Schema, name: str) -> int:
    column = schema.columns[name]
    intervals = column.intervals if isinstance(column, NUMERIC) else ()
    return sum(not interval.spike for interval in intervals)


def _require(schema: Schema, asked: Regression) -> None:
    """Refuse what no regression can be made of; a public check."""
    if asked.mechanism not in MECHANISMS:
        raise MethodError(
            f"There is no mechanism {asked.mechanism!r} for regressions"
            f"{suggestion(asked.mechanism, MECHANISMS)}; take one of {', '.join(MECHANISMS)}."
        )
    for name in asked.columns:
        if name not in schema.columns:
            near = suggestion(name, schema.names)
            raise MethodError(f"There is no column {name!r} in the schema{near}.")
        column = schema.columns[name]
        if not isinstance(column, NUMERIC):
            raise MethodError(f"The column {name!r} is not numeric, so it has no regression.")
        if column.bounds[0] == column.bounds[1]:
            raise MethodError(f"The column {name!r} has a single possible value; leave it out.")
    if not asked.predictors or len(set(asked.columns)) < len(asked.columns):
        raise MethodError("A regression needs a predictor, and each column once.")
    _require_size(schema, asked.columns)


def _require_size(schema: Schema, columns: Sequence[str]) -> None:
    if len(columns) > MOST_COLUMNS:
        raise MethodError(f"A regression can have at most {MOST_COLUMNS - 1} predictors.")
    sizes = [schema.columns[name].size - _n_bins(schema, name) + 1 for name in columns]
    numbers = math.prod(sizes) * (1 + len(columns) + len(columns) * (len(columns) + 1) // 2)
    if numbers > MOST_NUMBERS:
        raise MethodError(
            f"With {len(columns)} columns and their codes there are {numbers:,} sums, too many to "
            f"hold (at most {MOST_NUMBERS:,}); take fewer predictors, or some without codes."
        )
