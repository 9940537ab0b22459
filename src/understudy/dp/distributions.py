"""The distributions of the noise: frozen values with exact rational parameters.

A distribution says what noise *is* (its name, its standard deviation, its distribution function,
for reports and for inference that counts the noise) and draws it exactly, from a table
(`understudy.dp.sampling`) or by rejection
(`understudy.dp.sampling`). The two paths draw from the same distribution;
which one is taken depends on the distribution and on the number of draws only.

Floating-point numbers here describe a distribution. They never decide a draw.

Example:
    >>> from fractions import Fraction
    >>> from understudy.dp.randomness import SeededRandomness
    >>> noise = DiscreteLaplace(Fraction(2))
    >>> noise.sample(4, SeededRandomness(1)).shape
    (4,)
    >>> round(noise.stddev, 3)
    2.799

**Laplace noise as the papers write it: floating-point numbers, for paper mode and studies.**

Which numbers ``statistic + noise`` can come out depends on the statistic when both are rounded real
numbers, so this distribution gives rows away in its last digits (Mironov 2012, "On Significance of
the Least Significant Bits for Differential Privacy"). A mechanism that draws from it says so in the
guarantee; the strict distributions are those above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats
from understudy.dp import sampling
from understudy.dp.randomness import Randomness
from understudy.dp.sampling import GAUSSIAN_VARIANCE, LAPLACE_TERMS

_SMALL_TABLE: Final = 4096
_LARGEST_EXPONENT: Final = 500
# Below this stddev a discrete Gaussian is summed term by term; above, Poisson summation makes its
# total √(2π)·σ and its variance σ² to within exp(-2π²·200²), far beyond a float.
_SUMMED_STDDEV: Final = 200.0


def _check_fraction(owner: str, field: str, value: object) -> None:
    if not isinstance(value, Fraction) or value <= 0:
        raise ValueError(f"{owner}: expected {field} to be a positive Fraction")


def _sample(
    linear: Fraction,
    quadratic: Fraction,
    size: int,
    source: Randomness,
    reject: Callable[[], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Draw from a table if it is small, or pays for itself in this call; otherwise by rejection."""
    if size < 0:
        raise ValueError("sample: expected size >= 0")
    cells = sampling.table_cells(linear, quadratic)
    if cells <= _SMALL_TABLE or cells <= min(size, sampling.LARGEST_TABLE):
        return sampling.draw(sampling.build_table(linear, quadratic), size, source)
    return reject()


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P(x) = (1 - q)/(1 + q)·q^|x| on the integers, q = exp(-1/scale): "geometric" noise.

    With integer values of L1 sensitivity Δ and scale Δ/ε it is ε-differentially private.

    Attributes:
        scale: Exact scale; terms at most 2⁴⁰, see `calibration.representable`.

    Sources:
        Ghosh, Roughgarden & Sundararajan (2009), "Universally Utility-Maximizing Privacy
        Mechanisms"; Inusah & Kozubowski (2006) for its moments.

    Raises:
        ValueError: If the scale is not a positive representable `Fraction`.
    """

    scale: Fraction
    name: ClassVar[str] = "discrete_laplace"

    def __post_init__(self) -> None:
        _check_fraction("DiscreteLaplace", "scale", self.scale)
        if max(self.scale.numerator, self.scale.denominator) > LAPLACE_TERMS:
            raise ValueError("DiscreteLaplace: terms of the scale exceed 2**40; use representable")

    @property
    def stddev(self) -> float:
        """√(2q)/(1 - q), written so that no scale overflows or cancels."""
        half = float(1 / self.scale) / 2
        return math.sqrt(2.0) * math.exp(-half) / -math.expm1(-2.0 * half)

    def sample(self, size: int, source: Randomness) -> NDArray[np.int64]:
        """Return ``size`` independent exact draws, shape ``(size,)``."""
        return _sample(
            1 / self.scale,
            Fraction(0),
            size,
            source,
            lambda: sampling.discrete_laplace(self.scale, size, source),
        )

    def log_pmf(self, x: ArrayLike) -> Floats:
        """Return log P(X = x) at integers ``x``, elementwise."""
        rate = float(1 / self.scale)
        distance = np.abs(np.asarray(x, dtype=np.float64))
        return np.asarray(math.log(math.tanh(rate / 2)) - rate * distance)

    def pmf(self, x: ArrayLike) -> Floats:
        """Return P(X = x) at integers ``x``, elementwise."""
        return np.exp(self.log_pmf(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X ≤ x), elementwise: q^-x/(1 + q) below 0, 1 - q^(x+1)/(1 + q) from 0 on."""
        rate = float(1 / self.scale)
        at = np.floor(np.asarray(x, dtype=np.float64))
        tail = np.exp(-rate * np.where(at < 0, -at, at + 1)) / (1 + math.exp(-rate))
        return np.where(at < 0, tail, 1 - tail)

    def positive_probability(self) -> float:
        """Return P(X > 0) = q/(1 + q)."""
        q = math.exp(-float(1 / self.scale))
        return q / (1 + q)


@lru_cache(maxsize=32)
def _gaussian_weights(variance: Fraction) -> Floats:
    """Return P(X = k) for k = 0, 1, … until it underflows, for stddev up to `_SUMMED_STDDEV`."""
    squares = np.arange(int(40 * math.sqrt(float(variance))) + 3, dtype=np.float64) ** 2
    weights = np.exp(-squares / (2 * float(variance)))
    weights /= weights[0] + 2 * weights[1:].sum()
    weights.flags.writeable = False
    return weights


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(x) ∝ exp(-x²/(2·variance)) on the integers.

    With integer values of L2 sensitivity Δ it is ρ-zCDP, ρ = Δ²/(2·variance).

    Attributes:
        variance: Exact parameter σ²; numerator at most 2⁶⁰, denominator 2⁴⁰, see
            `calibration.representable`. For small σ the distribution's own variance is smaller;
            `stddev` says what it is.

    Sources:
        Canonne, Kamath & Steinke (2020), "The Discrete Gaussian for Differential Privacy".

    Raises:
        ValueError: If the variance is not a positive representable `Fraction`.
    """

    variance: Fraction
    name: ClassVar[str] = "discrete_gaussian"

    def __post_init__(self) -> None:
        _check_fraction("DiscreteGaussian", "variance", self.variance)
        top, bottom = self.variance.as_integer_ratio()
        if top > GAUSSIAN_VARIANCE or bottom > LAPLACE_TERMS:
            raise ValueError("DiscreteGaussian: variance exceeds its terms; use representable")

    @property
    def _sigma(self) -> float:
        return math.sqrt(float(self.variance))

    @property
    def stddev(self) -> float:
        """Standard deviation of the discrete distribution."""
        if self._sigma > _SUMMED_STDDEV:
            return self._sigma
        weights = _gaussian_weights(self.variance)
        return math.sqrt(2 * float(np.sum(np.arange(weights.size) ** 2 * weights)))

    def sample(self, size: int, source: Randomness) -> NDArray[np.int64]:
        """Return ``size`` independent exact draws, shape ``(size,)``."""
        return _sample(
            1 / (2 * self.variance),
            1 / self.variance,
            size,
            source,
            lambda: sampling.discrete_gaussian(self.variance, size, source),
        )

    def log_pmf(self, x: ArrayLike) -> Floats:
        """Return log P(X = x) at integers ``x``, elementwise."""
        if self._sigma > _SUMMED_STDDEV:
            peak = -math.log(self._sigma) - math.log(2 * math.pi) / 2
        else:
            peak = math.log(_gaussian_weights(self.variance)[0])
        return np.asarray(peak - (np.asarray(x, dtype=np.float64) / self._sigma) ** 2 / 2)

    def pmf(self, x: ArrayLike) -> Floats:
        """Return P(X = x) at integers ``x``, elementwise."""
        return np.exp(self.log_pmf(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X ≤ x), elementwise."""
        at = np.floor(np.asarray(x, dtype=np.float64))
        tail = self._tail(np.where(at < 0, -at, at + 1))
        return np.where(at < 0, tail, 1 - tail)

    def _tail(self, k: Floats) -> Floats:
        """Return P(X ≥ k) for k ≥ 1; for large σ by Euler and Maclaurin, error below σ⁻⁴/100."""
        if self._sigma > _SUMMED_STDDEV:
            from scipy.special import ndtr

            z = (0.5 - k) / self._sigma
            density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
            # Where the density underflows first, the correction alone would leave a tail below 0.
            return np.asarray(np.maximum(ndtr(z) + z * density / (24 * float(self.variance)), 0))
        weights = _gaussian_weights(self.variance)
        tails = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        return np.asarray(tails[np.minimum(k, weights.size).astype(np.int64)])

    def positive_probability(self) -> float:
        """Return P(X > 0)."""
        return float(self._tail(np.ones(())))


@dataclass(frozen=True, slots=True)
class LatticeLaplace:
    """Laplace noise on the public lattice step·Z: step times `DiscreteLaplace` of scale/step.

    What "Laplace noise" on a real statistic means here, since noise that is itself a rounded real
    number gives rows away (Mironov 2012). The statistic is rounded to the same lattice first; see
    `understudy.dp.calibration` for what that does to its sensitivity.

    Attributes:
        scale: Exact scale, in the unit of the statistic; scale/step has terms at most 2⁴⁰.
        step: Spacing of the lattice, a power of two between 2⁻⁵⁰⁰ and 2⁵⁰⁰, so that each multiple
            below 2⁵³ steps is a float64 without rounding (beyond lies the probability
            exp(-2¹³) or less).

    Raises:
        ValueError: If scale or step is out of range.
    """

    scale: Fraction
    step: Fraction
    name: ClassVar[str] = "lattice_laplace"

    def __post_init__(self) -> None:
        _check_fraction("LatticeLaplace", "scale", self.scale)
        _check_fraction("LatticeLaplace", "step", self.step)
        top, bottom = self.step.as_integer_ratio()
        if top & (top - 1) or bottom & (bottom - 1) or max(top, bottom) > 2**_LARGEST_EXPONENT:
            raise ValueError(
                "LatticeLaplace: expected step to be a power of two, 2**-500 to 2**500"
            )
        if max((self.scale / self.step).as_integer_ratio()) > LAPLACE_TERMS:
            raise ValueError("LatticeLaplace: terms of scale/step exceed 2**40; use representable")

    @property
    def _integer_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale / self.step)

    @property
    def stddev(self) -> float:
        """Standard deviation, in the unit of the statistic."""
        return float(self.step) * self._integer_noise.stddev

    def sample(self, size: int, source: Randomness) -> Floats:
        """Return ``size`` independent exact draws, multiples of ``step``, shape ``(size,)``."""
        return self._integer_noise.sample(size, source).astype(np.float64) * float(self.step)

    def log_pmf(self, x: ArrayLike) -> Floats:
        """Return log P(X = x), elementwise; -inf off the lattice."""
        steps = np.asarray(x, dtype=np.float64) / float(self.step)
        return np.where(steps == np.rint(steps), self._integer_noise.log_pmf(steps), -np.inf)

    def pmf(self, x: ArrayLike) -> Floats:
        """Return P(X = x), elementwise; 0 off the lattice."""
        return np.exp(self.log_pmf(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X ≤ x) at any real ``x``, elementwise."""
        return self._integer_noise.cdf(np.asarray(x, dtype=np.float64) / float(self.step))

    def positive_probability(self) -> float:
        """Return P(X > 0)."""
        return self._integer_noise.positive_probability()


PureNoise: TypeAlias = DiscreteLaplace | LatticeLaplace
"""Noise that suits every accounting."""
DiscreteNoise: TypeAlias = DiscreteLaplace | DiscreteGaussian | LatticeLaplace
"""Any distribution of noise; all are symmetric about 0."""


@dataclass(frozen=True, slots=True)
class ContinuousLaplace:
    """Density exp(-|x|/scale)/(2·scale), drawn in double precision: not exactly private.

    Attributes:
        scale: positive and finite.

    Raises:
        ValueError: the scale is not positive and finite.

    Example:
        >>> from understudy.dp.randomness import SeededRandomness
        >>> ContinuousLaplace(2.0).sample(3, SeededRandomness(1)).shape
        (3,)
    """

    scale: float
    name: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        require_scale("ContinuousLaplace", self.scale)

    @property
    def stddev(self) -> float:
        """√2 · scale."""
        return math.sqrt(2.0) * self.scale

    def sample(self, size: int, source: Randomness) -> Floats:
        """Return ``size`` independent draws, shape ``(size,)``, by inverting the cdf."""
        # u - ½ is exact and symmetric about 0; it never reaches ±½, so the logarithm is finite.
        centred = source.uniforms(size)
        centred -= 0.5
        magnitude = np.abs(centred)
        magnitude *= -2.0
        np.log1p(magnitude, out=magnitude)
        magnitude *= -self.scale
        return np.copysign(magnitude, centred, out=magnitude)

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X ≤ x), elementwise."""
        at = np.asarray(x, dtype=np.float64)
        tail = np.exp(-np.abs(at) / self.scale) / 2
        return np.where(at < 0, tail, 1 - tail)


def require_scale(owner: str, scale: float) -> None:
    """Refuse a scale that no distribution has.

    Raises:
        ValueError: not positive and finite.
    """
    if not (scale > 0 and math.isfinite(scale)):
        raise ValueError(f"{owner}: expected a positive, finite scale")
