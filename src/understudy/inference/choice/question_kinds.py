"""Kinds of questions, which of them a release answers, and how wide the intervals will be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Answerable:
    """Questions of one kind about single columns, or pairs of them.

    Attributes:
        widths: half-width of the 95 % interval of each that is answered, by columns.
        lost: those that second moments were measured of, but whose groups or predictors would be
            lost in the noise.
    """

    widths: dict[tuple[str, ...], float]
    lost: tuple[tuple[str, ...], ...] = ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the greatest known width; None if there is none."""
        known = [width for width in self.widths.values() if math.isfinite(width)]
        return (min(known), max(known)) if known else None


@dataclass(frozen=True)
class QuestionKind:
    """Questions of a kind, and how many of them a release answers.

    Attributes:
        question: in words.
        kind: as `analyze` takes it.
        between: what stands between two columns in its formula.
        what: it is about, "columns" or "pairs".
        possible: how many there are.
        found: those that are answered.
        unit: of the widths: "%", "% of the range", or words after a number.
    """

    question: str
    kind: str
    between: str
    what: str
    possible: int
    found: Answerable
    unit: str

    @property
    def width(self) -> str:
        """Least and greatest expected half-width; "" where none is known."""
        if self.found.ends is None:
            return ""
        scale = 100 if self.unit.startswith("%") else 1
        low, high = (_shown(scale * end) for end in self.found.ends)
        return f"± {low if low == high else f'{low} to {high}'} {self.unit}".rstrip()


def _shown(width: float) -> str:
    """To two digits, and never as a power of ten where it is large."""
    return f"{width:.2g}" if width < 99.5 else f"{width:,.0f}"


def answerable(
    found: dict[tuple[str, ...], float | None], lost: Iterable[tuple[str, ...]] = ()
) -> Answerable:
    """Questions with a width, and those that are lost; None stands for no answer."""
    return Answerable({key: x for key, x in found.items() if x is not None}, tuple(lost))
