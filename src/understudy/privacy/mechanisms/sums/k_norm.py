"""The ℓ∞ K-norm mechanism for linear regression: one noise vector for all statistics together.

Awan & Slavković (2018), "Structure and Sensitivity in Differential Privacy: Comparing K-Norm
Mechanisms", after Hardt & Talwar (2010): noise of density ∝ exp(−ε‖v‖∞/Δ∞) on the m sums and
products of `understudy.privacy.mechanisms.sums.normal_equations`. In ℓ∞ one record changes them by
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

Geometric numbers, acceptance and the point are drawn with whole numbers only (`rejection.py`). The
acceptance rate is about exp(−m/(2·scale)), so the scale is kept at m lattice steps or more; at
budgets above a hundred thousand that is more noise than was paid for, of a scale below 2⁻¹⁷ of a
record.

**When.** Each number has the standard deviation Δ∞·√((m + 1)(m + 2)/3)/ε, against √2·M/ε of
`understudy.privacy.mechanisms.sums.linear_regression`: 0.53 times as much for d = 1 where a
record is added or removed, 0.89 times where one is replaced and n is public, and less the more
predictors there are (0.41 and 0.82 in the limit). For d = 1, a replaced record and n counted it is
1.06 times as much. So it is the better one where records are added or removed. Where they are
replaced, coefficients are hardly nearer: Laplace noise of the same standard deviation is small more
often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.mechanisms.counts.lazy_table import below_each
from understudy.privacy.mechanisms.sums.moment_noise import coarseness
from understudy.privacy.mechanisms.sums.normal_equations import ONE, NormalEquations
from understudy.privacy.noise.calibration import representable
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import (
    LAPLACE_TERMS,
    compiled,
    exponential,
    fill,
    word_below,
)


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
