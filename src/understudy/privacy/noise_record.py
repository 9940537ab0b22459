"""What a released value says of its noise: which distribution, its parameter, its deviation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SMALLEST_STDDEV: Final = 2.0**-127
"""Stands for a smaller deviation, as noise at a huge ε has: its square can be divided by."""

LOST: Final = "none known: the run ended before it had a result"
"""Noise, in words, of a step that was charged and of which nothing came."""


class NoiseFamily(StrEnum):
    """Distributions of noise, by the names that stand in ledgers and manifests.

    What is no noise of a known distribution (a draw from rows and a prior, a choice) is `OTHER`.
    """

    NONE = "none"
    DISCRETE_LAPLACE = "discrete_laplace"
    LATTICE_LAPLACE = "lattice_laplace"
    DISCRETE_CUBE_LAPLACE = "discrete_cube_laplace"
    LAPLACE = "laplace"
    TRUNCATED_DISCRETE_LAPLACE = "truncated_discrete_laplace"
    TRUNCATED_LAPLACE = "truncated_laplace"
    DISCRETE_GAUSSIAN = "discrete_gaussian"
    OTHER = "other"

    @classmethod
    def of(cls, name: str) -> NoiseFamily:
        """The distribution of a name."""
        return cls(name) if name in cls.__members__.values() else cls.OTHER

    @property
    def is_none(self) -> bool:
        """Whether nothing was added."""
        return self is NoiseFamily.NONE

    @property
    def is_gaussian(self) -> bool:
        """Whether its tails are those of a normal distribution."""
        return self is NoiseFamily.DISCRETE_GAUSSIAN

    @property
    def is_laplace(self) -> bool:
        """Whether its tails are those of a Laplace distribution."""
        return self not in (NoiseFamily.NONE, NoiseFamily.DISCRETE_GAUSSIAN, NoiseFamily.OTHER)

    @property
    def is_truncated(self) -> bool:
        """Whether it was redrawn until it fell within limits, so that it is not centred."""
        return self in (NoiseFamily.TRUNCATED_DISCRETE_LAPLACE, NoiseFamily.TRUNCATED_LAPLACE)

    @property
    def is_whole(self) -> bool:
        """Whether noisy counts are whole numbers."""
        return self in (
            NoiseFamily.DISCRETE_LAPLACE,
            NoiseFamily.DISCRETE_CUBE_LAPLACE,
            NoiseFamily.TRUNCATED_DISCRETE_LAPLACE,
            NoiseFamily.DISCRETE_GAUSSIAN,
        )


@dataclass(frozen=True)
class Noise:
    """Noise added to each number of a released value.

    Attributes:
        distribution: name of the distribution ("none" where nothing was added).
        scale: its exact parameter as a fraction: the scale of a Laplace distribution, the variance
            of a Gaussian one.
        stddev: standard deviation of the noise in one number; of noise at least `SMALLEST_STDDEV`.
    """

    distribution: str
    scale: str
    stddev: float

    def __post_init__(self) -> None:
        if self.family not in (NoiseFamily.NONE, NoiseFamily.OTHER):
            object.__setattr__(self, "stddev", max(self.stddev, SMALLEST_STDDEV))

    @property
    def family(self) -> NoiseFamily:
        """Which distribution it is, as a kind."""
        return NoiseFamily.of(self.distribution)


NO_NOISE = Noise("none", "0", 0.0)
