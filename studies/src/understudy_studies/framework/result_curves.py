"""Results as curves over the budget, and how a point of a paper reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy_studies.framework.study import Row

FEWEST = 30
"""Of fewer usable repetitions than this nothing is drawn and nothing is said."""

Point = tuple[Any, ...]
"""Values of the parameters that tell the panels of a figure apart."""


class Curves:
    """Rows of `results.csv` by scenario, estimand, method and budget.

    Args:
        results: the rows.
        parameters: names of the parameters that make a point.
        budget: name of the column that holds the budget.
    """

    def __init__(
        self, results: Iterable[Row], parameters: Sequence[str], budget: str = "log_epsilon"
    ) -> None:
        self.parameters = tuple(parameters)
        self._rows: dict[tuple[Any, ...], Row] = {}
        for row in results:
            point = tuple(row[name] for name in self.parameters)
            self._rows[point, row["estimand"], row["method"], row[budget]] = row
        self._trial = not any(row.get("usable", 0) >= FEWEST for row in self._rows.values())

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All points, in their order."""
        return tuple(dict.fromkeys(key[0] for key in self._rows))

    @cached_property
    def estimands(self) -> tuple[str, ...]:
        """All estimands, in their order."""
        return tuple(dict.fromkeys(key[1] for key in self._rows))

    @cached_property
    def budgets(self) -> NDArray[np.float64]:
        """Budgets (log ε, unless said otherwise), ascending, shape (budgets,)."""
        return np.array(sorted({key[3] for key in self._rows if key[3] is not None}), dtype=float)

    def along(self, value: str, point: Point, estimand: str, method: str) -> NDArray[np.float64]:
        """A value at every budget, shape (budgets,); NaN where there is none.

        What has no budget is the same at all of them.
        """
        constant = self._rows.get((point, estimand, method, None))
        rows = [
            constant or self._rows.get((point, estimand, method, budget), {})
            for budget in self.budgets
        ]
        found = [row.get(value) for row in rows]
        return np.array([np.nan if one is None else one for one in found], dtype=np.float64)

    def trusted(self, value: str, point: Point, estimand: str, method: str) -> NDArray[np.float64]:
        """The same, and NaN where it rests on too few repetitions.

        A trial run, with too few of them throughout, is taken as it is.
        """
        values = self.along(value, point, estimand, method)
        usable = self.along("usable", point, estimand, method)
        if self._trial:
            return values
        return np.where(usable >= FEWEST, values, np.nan)

    def at(self, value: str, point: Point, estimand: str, method: str, log_epsilon: float) -> float:
        """A value at one budget; NaN where there is none."""
        place = np.flatnonzero(self.budgets == log_epsilon)
        return float(self.along(value, point, estimand, method)[place[0]])


Values = NDArray[np.float64]


class Reading:
    """Curves of one estimand, without shaky places.

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
    return [bool(holds) for holds in first[known] < second[known]]


def plain(number: float) -> str:
    """A number in words.

    Example:
        >>> plain(-4.0), plain(0.5)
        ('−4', '0.5')
    """
    return f"{number:g}".replace("-", "−")


def by_budget(budgets: Iterable[float]) -> tuple[str, ...]:
    """Headings of columns by log ε.

    Example:
        >>> by_budget([-4.0, 0.5])
        ('log ε = −4', 'log ε = 0.5')
    """
    return tuple(f"log ε = {plain(budget)}" for budget in budgets)


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
