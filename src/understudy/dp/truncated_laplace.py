"""Truncated noise: redrawn until it falls into a public interval, and calibrated for that.

To clip a noisy number to an interval is post-processing and free. To redraw until it lies inside
is not, since the chance of lying inside depends on the exact statistic: given the statistic s in
[0, w], the outcome y has the distribution exp(−|y − s|/b) / Z(s). Bowen & Liu (2020, §3.2) truncate
with b = Δ/ε; that realises up to twice its ε.

**What is realised.** Let one coordinate change from s to s + d. The log ratio of the two
distributions is at most |d|/b + |log Z(s + d) − log Z(s)|, with equality at an end of the interval.
Up to a factor that does not depend on s,

* on the line:      Z(s) = 1 − ½e^(−s/b) − ½e^(−(w−s)/b),
* on the integers:  Z(s) = 1 + q − q^(s+1) − q^(w−s+1),  q = e^(−1/b).

Both are concave in s and symmetric about w/2, hence so is log Z: it changes most at an end of the
interval, by F(d) = |log Z(d) − log Z(0)|. There a change of d realises d/b + F(d), increasing in d
since the slope of F lies between −1/b and 1/b (e^(−|y−s|/b) changes by a factor of at most e^(d/b)
everywhere, so Z does). If the L1 sensitivity Δ is spread over c coordinates, Σ F(dᵢ) ≤ c·F(Σ dᵢ/c)
by the concavity of F. So, with w for Δ/c if that is the smaller of the two,

    realised ε = Δ/b + c·F(Δ/c) ≤ 2Δ/b,

attained for c = 1. On the line, nominal ε = 1 (b = Δ) realises 1.490, and as ε falls to 0 twice the
nominal one. `calibrated_scale` solves realised ε ≤ ε.

**Several numbers** are truncated independently of each other, each in its own interval.

A statistic outside its interval (a public limit that the rows break) is clipped first, which brings
neighbours closer together, never further apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.dp import sampling
from understudy.dp.calibration import representable
from understudy.dp.distributions import DiscreteLaplace, require_scale
from understudy.dp.randomness import Randomness
from understudy.dp.sampling import exp_trial, word_below

_FARTHEST: Final = 2**61
_MARGIN: Final = 1e-12  # far above the rounding errors of `realised_epsilon`, about 10⁻¹⁵


def realised_epsilon(
    scale: float | Fraction,
    sensitivity: float | Fraction,
    width: float | Fraction,
    *,
    coordinates: int = 1,
    discrete: bool = False,
) -> float:
    """ε that truncated noise of this scale realises.

    Args:
        scale: of the Laplace distribution, b.
        sensitivity: L1 sensitivity Δ of the statistics.
        width: of the interval; the same unit.
        coordinates: how many statistics one record can change at once, c.
        discrete: whether statistics and noise are integers.

    Example:
        >>> round(realised_epsilon(1, 1, 1000), 3), round(realised_epsilon(10, 1, 1000), 3)
        (1.49, 0.191)
    """
    b, span = float(scale), float(width)
    change = min(float(sensitivity) / coordinates, span)
    if change <= 0:
        return 0.0
    near, far = -math.expm1(-change / b), -math.expm1(-(span - change) / b)
    # (Z(d) − Z(0)) / Z(0), written so that nothing cancels.
    if discrete:
        q = math.exp(-1 / b)
        gain = q * near * far / -math.expm1(-(span + 1) / b)
    else:
        gain = near * far / -math.expm1(-span / b)
    return coordinates * (change / b + math.log1p(gain))


def calibrated_scale(
    epsilon: Fraction,
    sensitivity: int | Fraction,
    width: int | Fraction,
    *,
    coordinates: int = 1,
    discrete: bool = False,
) -> Fraction:
    """A scale at which truncated noise realises at most `epsilon`, and hardly less.

    Found by bisection between Δ/ε and 2Δ/ε, rounded up to one that can be drawn exactly, and
    checked again there with room for rounding errors; 2Δ/ε, which always suffices, is the resort.

    Args:
        epsilon: what may be spent.
        sensitivity: L1 sensitivity, above 0.
        width: of the interval; the same unit.
        coordinates: how many statistics one record can change at once.
        discrete: whether statistics and noise are integers.

    Example:
        >>> round(float(calibrated_scale(Fraction(1), 1, 1000)), 4)
        1.6126
    """

    def within(scale: float | Fraction) -> bool:
        realised = realised_epsilon(
            scale, sensitivity, width, coordinates=coordinates, discrete=discrete
        )
        return realised <= float(epsilon) * (1 - _MARGIN)

    nominal = float(min(sensitivity, coordinates * width) or sensitivity) / float(epsilon)
    low, high = nominal, 2 * nominal
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if within(middle) else (middle, high)
    scale = representable(Fraction(high))
    return scale if within(scale) else representable(2 * sensitivity / epsilon)


@dataclass(frozen=True, slots=True)
class TruncatedDiscreteLaplace:
    """P(y) ∝ exp(−|y − s|/scale) on the integers low … high, given the statistic s.

    Attributes:
        scale: exact scale; terms at most 2⁴⁰, see `calibration.representable`.
        low: smallest outcome.
        high: largest outcome.

    Raises:
        ValueError: a scale that cannot be drawn, or an interval that is empty or beyond ±2⁶¹.
    """

    scale: Fraction
    low: int
    high: int
    name: ClassVar[str] = "truncated_discrete_laplace"

    def __post_init__(self) -> None:
        DiscreteLaplace(self.scale)
        if not -_FARTHEST <= self.low <= self.high <= _FARTHEST:
            raise ValueError("TruncatedDiscreteLaplace: expected low <= high within ±2**61")

    @property
    def stddev(self) -> float:
        """Of the noise before truncation: a bound on the root mean square of outcome − statistic.

        Given that it lies inside, |y − s| is stochastically smaller than before.
        """
        return DiscreteLaplace(self.scale).stddev

    def sample(self, statistics: NDArray[Any], source: Randomness) -> Integers:
        """Return one exact draw for each statistic.

        Args:
            statistics: whole numbers, any shape; those outside the interval are clipped to it.
            source: where the words come from.

        Returns:
            Integers from `low` to `high`, of the same shape.
        """
        centres = np.clip(np.asarray(statistics, dtype=np.int64), self.low, self.high)
        draw = self._near if self.high - self.low <= self.scale else self._redrawn
        return draw(centres.ravel(), source).reshape(centres.shape)

    def log_pmf(self, outcome: ArrayLike, statistic: ArrayLike) -> Floats:
        """Return log P(outcome | statistic) at integers, elementwise; −inf outside the interval."""
        y = np.asarray(outcome, dtype=np.float64)
        s = np.clip(np.asarray(statistic, dtype=np.float64), self.low, self.high)
        rate = 1 / float(self.scale)
        # Geometric sums on either side of s, over (1 − q).
        below = -np.expm1(-rate * (s - self.low + 1))
        above = -math.exp(-rate) * np.expm1(-rate * (self.high - s))
        mass = np.log((below + above) / -math.expm1(-rate))
        inside = (y >= self.low) & (y <= self.high)
        return np.where(inside, -rate * np.abs(y - s) - mass, -np.inf)

    def _redrawn(self, centres: Integers, source: Randomness) -> Integers:
        """Redraw those outside; at least 0.3 of the draws lie inside a width above the scale."""
        distribution, out = DiscreteLaplace(self.scale), centres.copy()
        open_places = np.arange(centres.size)
        while open_places.size:
            drawn = centres[open_places] + distribution.sample(open_places.size, source)
            inside = (drawn >= self.low) & (drawn <= self.high)
            out[open_places[inside]] = drawn[inside]
            open_places = open_places[~inside]
        return out

    def _near(self, centres: Integers, source: Randomness) -> Integers:
        """Propose uniformly, accept with exp(−|y − s|/scale) ≥ 1/e: for narrow intervals."""
        terms = (self.low, self.high - self.low + 1, *self.scale.as_integer_ratio())
        return sampling.fill(_fill_near, (centres, terms), centres.size, source)


@compiled
def _near(
    words: NDArray[np.uint64],
    cursor: Integers,
    centre: int,
    terms: tuple[int, int, int, int],
) -> int:
    """One draw. terms: low, number of outcomes, t, u; the scale t/u bounds distance·u by t."""
    low, size, t, u = terms
    while cursor[0] <= words.size:
        outcome: int = low + word_below(words, cursor, size)
        if exp_trial(words, cursor, (abs(outcome - centre) * u, t)):
            return outcome
    return low


@compiled
def _fill_near(
    words: NDArray[np.uint64],
    cursor: Integers,
    out: Integers,
    centres: Integers,
    terms: tuple[int, int, int, int],
) -> None:
    for index in range(cursor[1], out.size):
        start = cursor[0]
        value = _near(words, cursor, centres[index], terms)
        if cursor[0] > words.size:
            cursor[0] = start
            return
        out[index] = value
        cursor[1] = index + 1


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """Density ∝ exp(−|y − s|/scale) on [low, high]: floating point, for paper mode and studies.

    Attributes:
        scale: positive and finite.
        low: smallest outcome.
        high: largest outcome.

    Raises:
        ValueError: the scale is not positive and finite, or the interval is empty.
    """

    scale: float
    low: float
    high: float
    name: ClassVar[str] = "truncated_laplace"

    def __post_init__(self) -> None:
        require_scale("TruncatedLaplace", self.scale)
        if not self.low <= self.high:
            raise ValueError("TruncatedLaplace: expected low <= high")

    @property
    def stddev(self) -> float:
        """√2 · scale, of the noise before truncation: a bound, as for discrete noise."""
        return math.sqrt(2.0) * self.scale

    def sample(self, statistics: NDArray[Any], source: Randomness) -> Floats:
        """Return one draw for each statistic, by inverting the cdf.

        Args:
            statistics: any shape; those outside the interval are clipped to it.
            source: where the uniform numbers come from.

        Returns:
            Numbers from `low` to `high`, of the same shape.
        """
        centres = np.clip(np.asarray(statistics, dtype=np.float64), self.low, self.high)
        left = -np.expm1((self.low - centres) / self.scale)  # twice the mass on either side of s
        right = -np.expm1((centres - self.high) / self.scale)
        place = source.uniforms(centres.size).reshape(centres.shape) * (left + right) - left
        limit = np.where(place < 0, left, right)
        # Below 1 also where a scale far below the width rounds a mass to 1.
        share = np.minimum(np.abs(place), np.minimum(limit, 1 - 2.0**-53))
        reach = -self.scale * np.log1p(-share)
        outcome: Floats = np.clip(centres + np.copysign(reach, place), self.low, self.high)
        return outcome
