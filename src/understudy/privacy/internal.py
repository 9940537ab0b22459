"""The colour of figures that were computed from the rows without noise: for the steward alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Internal(Generic[T_co]):
    """A figure that compares with confidential rows: for the steward, never for a release.

    A release refuses to hold one.

    Attributes:
        value: the figure.
    """

    value: T_co

    def __repr__(self) -> str:
        """What it is, without the figure: notebooks and logs keep what is shown in passing."""
        kind = type(self.value).__name__
        return f"Internal({kind}: compares with confidential rows, not for release; see .value)"


class Diagnostic:
    """How a walk went, how records were weighted, what hardly fits: each mechanism has its own."""


Confide = Callable[[Internal[Diagnostic]], None]
"""Takes what a mechanism tells the steward, and nobody else."""
