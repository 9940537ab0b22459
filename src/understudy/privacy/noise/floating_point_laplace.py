"""Laplace noise as the papers write it: floating-point numbers, for paper mode and studies.

Which numbers ``statistic + noise`` can come out depends on the statistic when both are rounded real
numbers, so this distribution gives rows away in its last digits (Mironov 2012, "On Significance of
the Least Significant Bits for Differential Privacy"). A mechanism that draws from it says so in the
guarantee; the strict distributions are those of `understudy.privacy.noise.distributions`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.privacy.noise.randomness import Randomness

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ContinuousLaplace:
    """Density exp(-|x|/scale)/(2·scale), drawn in double precision: not exactly private.

    Attributes:
        scale: positive and finite.

    Raises:
        ValueError: the scale is not positive and finite.

    Example:
        >>> from understudy.privacy.noise.randomness import SeededRandomness
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

    def sample(self, size: int, source: Randomness) -> _Floats:
        """Return ``size`` independent draws, shape ``(size,)``, by inverting the cdf."""
        # u - ½ is exact and symmetric about 0; it never reaches ±½, so the logarithm is finite.
        centred = source.uniforms(size)
        centred -= 0.5
        magnitude = np.abs(centred)
        magnitude *= -2.0
        np.log1p(magnitude, out=magnitude)
        magnitude *= -self.scale
        return np.copysign(magnitude, centred, out=magnitude)

    def log_pdf(self, x: ArrayLike) -> _Floats:
        """Return the log density at ``x``, elementwise."""
        distance = np.abs(np.asarray(x, dtype=np.float64))
        return np.asarray(-math.log(2 * self.scale) - distance / self.scale)

    def cdf(self, x: ArrayLike) -> _Floats:
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
