"""What a map found: risk and utility at each point, with their Monte Carlo intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

LEVEL = 0.95

STAMP = "internal: compares with confidential data, not for release"
LEAK = (
    "Choosing ε, or a method, by looking at this map is itself a leak outside ε: the choice would "
    "follow from the confidential rows, and no budget pays for it. Choose on public or simulated "
    "rows of the same schema, such as a release of last year."
)
PUBLIC = (
    "Made from rows that were declared public, so it may guide the choice of ε and of a method; "
    "that they are public, or simulated, is the word of whoever drew it."
)
_INTERNAL = {"internal": STAMP.removeprefix("internal: "), "warning": LEAK}


@dataclass(frozen=True)
class Interval:
    """A mean over repetitions, and how exactly it is known.

    Attributes:
        mean: of the repetitions.
        half: half the width of its interval, t · s/√R; None for fewer than two repetitions.
    """

    mean: float
    half: float | None = None

    @classmethod
    def over(cls, values: Sequence[float], level: float = LEVEL) -> Interval:
        """The mean of R repetitions with its t interval, which takes the mean for normal.

        Args:
            values: one per repetition, at least one.
            level: confidence level in (0, 1).

        Example:
            >>> found = Interval.over([1.0, 3.0])
            >>> found.mean, round(found.half, 2)
            (2.0, 12.71)
        """
        n, mean = len(values), float(np.mean(values))
        if n < 2 or not math.isfinite(mean):
            return cls(mean)
        reach = float(stats.t.ppf((1 + level) / 2, n - 1))
        return cls(mean, reach * float(np.std(values, ddof=1)) / math.sqrt(n))

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end; both the mean where there is no interval."""
        half = self.half or 0.0
        return self.mean - half, self.mean + half

    def to_json(self) -> dict[str, float | None]:
        """Plain data; None where something is not known."""
        low, high = self.ends
        known = self.half is not None
        return {
            "mean": self.mean if math.isfinite(self.mean) else None,
            "low": low if known else None,
            "high": high if known else None,
        }


@dataclass(frozen=True)
class Point:
    """One method at one budget.

    Attributes:
        method: its name.
        epsilon: the budget as text; "" of a method without a guarantee.
        risk: the measured risk; None where risk is ε itself, or if it was refused.
        utility: loss → its value, lower is better; empty if it was refused.
        refused: why the method could not be run so; "" if it could.
    """

    method: str
    epsilon: str
    risk: Interval | None
    utility: dict[str, Interval]
    refused: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "epsilon": self.epsilon or None,
            "risk": self.risk.to_json() if self.risk else None,
            "utility": {name: loss.to_json() for name, loss in self.utility.items()},
            "refused": self.refused or None,
        }


@dataclass(frozen=True)
class Tradeoff:
    """An R-U map.

    Attributes:
        title: title of the table.
        public: whether the rows are public, in the word of whoever asked.
        n_rows: rows that each release was made from.
        n_control: rows that were held out.
        methods: names, in order.
        options: method → its options, where some were given.
        delta: δ of every release, as text.
        repetitions: releases at each point.
        risk: a name of `RISKS`.
        utility: names of losses.
        keys: columns that the intruder knows.
        secrets: columns that the intruder wants to know.
        seed: everything random follows from it.
        points: method by method, budgets ascending.
    """

    title: str
    public: bool
    n_rows: int
    n_control: int
    methods: tuple[str, ...]
    options: dict[str, dict[str, Any]]
    delta: str
    repetitions: int
    risk: str
    utility: tuple[str, ...]
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    seed: int
    points: tuple[Point, ...]

    def __repr__(self) -> str:
        """What it is, without a figure."""
        stamp = "public rows" if self.public else "INTERNAL"
        return f"Tradeoff({stamp}, {len(self.points)} points of {', '.join(self.methods)})"

    def of(self, method: str) -> tuple[Point, ...]:
        """Points of one method that could be run."""
        return tuple(point for point in self.points if point.method == method and not point.refused)

    @property
    def refused(self) -> tuple[Point, ...]:
        """Points that could not be run."""
        return tuple(point for point in self.points if point.refused)

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines; stamped internal unless the rows are public."""
        stamp = {"public": PUBLIC} if self.public else _INTERNAL
        named = ("title", "n_rows", "n_control", "delta", "repetitions", "risk", "seed")
        listed = ("methods", "utility", "keys", "secrets")
        return {
            **stamp,
            **{name: getattr(self, name) for name in named},
            **{name: list(getattr(self, name)) for name in listed},
            "options": {name: _plain(given) for name, given in self.options.items()},
            "points": [point.to_json() for point in self.points],
        }


def _plain(options: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}
