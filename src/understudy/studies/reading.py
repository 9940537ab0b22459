"""How a point of the paper reads the results: curves of one estimand, without shaky places."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.studies.curves import Curves, Point

Values = NDArray[np.float64]


class Reading:
    """Curves of one estimand.

    Single values are NumPy's, so that a division by an error of 0 gives infinity and no exception.

    Args:
        curves: the results.
        estimand: what is estimated.
    """

    def __init__(self, curves: Curves, estimand: str) -> None:
        self.curves = curves
        self.estimand = estimand

    def between(
        self, value: str, point: Point, method: str, low: float = -np.inf, high: float = np.inf
    ) -> Values:
        """A curve between two budgets (log ε), NaN where it rests on too few repetitions."""
        budgets = self.curves.budgets
        trusted = self.curves.trusted(value, point, self.estimand, method)
        return np.asarray(trusted[(budgets >= low) & (budgets <= high)])

    def at(self, value: str, point: Point, method: str, budget: float) -> float:
        """A value at one budget."""
        return np.float64(self.between(value, point, method, budget, budget)[0])

    def first(self, value: str, point: Point, method: str) -> float:
        """A value at the smallest budget that gives intervals enough."""
        values = self.between(value, point, method)
        known = values[~np.isnan(values)]
        return np.float64(known[0] if known.size else np.nan)

    def last(self, value: str, point: Point, method: str) -> float:
        """A value at the largest budget."""
        return np.float64(self.between(value, point, method)[-1])


def below(first: Values, second: Values) -> list[bool]:
    """Whether the first is below the second, at each place where both are known."""
    known = ~np.isnan(first) & ~np.isnan(second)
    return [bool(one) for one in first[known] < second[known]]


def plain(number: float) -> str:
    """A number in words.

    Example:
        >>> plain(-4.0), plain(0.5)
        ('−4', '0.5')
    """
    return f"{number:g}".replace("-", "−")


def span(values: ArrayLike, form: str = ".2f") -> str:
    """The range of numbers, in words.

    Example:
        >>> span([0.1, 0.234, np.nan]), span([3.0, 3.001], ".1f")
        ('0.10 to 0.23', '3.0')
    """
    numbers = np.asarray(values, dtype=float)
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return "unknown"
    low, high = (format(one, form).replace("-", "−") for one in (known.min(), known.max()))
    return low if low == high else f"{low} to {high}"
