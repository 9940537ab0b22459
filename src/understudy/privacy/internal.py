"""The colour of figures that were computed from the rows without noise."""

from __future__ import annotations

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
