"""Rows of `results.csv` as numbers by way and ε."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from understudy_studies.framework.csv_numbers import parted
from understudy_studies.framework.study import Row
from understudy_studies.park_ghosh_2014.pegs_papers import EPSILONS
from understudy_studies.park_ghosh_2014.table_distances import Measure

Values = NDArray[np.float64]

Margins = list[tuple[float, float]]
"""By how much each case of a point holds, and the standard error of that."""

CLEARLY = 2.0
"""A difference is clear if it exceeds so many of its Monte Carlo standard errors."""


class Results:
    """Means over the repetitions, and their Monte Carlo errors.

    Args:
        rows: the rows, one for each way and ε, or one for a way without ε.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {(row["method"], row["epsilon"]): row for row in rows}

    def along(self, measure: Measure | str, method: str) -> Values:
        """A mean at every ε, shape (7,); NaN where it is not known, constant where ε is no matter.

        Args:
            measure: the measure, or its column.
            method: the way.
        """
        name = measure if isinstance(measure, str) else measure.name
        found = [self.row(method, epsilon).get(name) for epsilon in EPSILONS]
        return np.array([np.nan if one is None else one for one in found], dtype=np.float64)

    def error(self, measure: Measure | str, method: str) -> Values:
        """Monte Carlo standard errors of these means, shape (7,)."""
        name = measure if isinstance(measure, str) else measure.name
        return self.along(f"{name}_se", method)

    def at(self, measure: Measure | str, method: str, epsilon: float) -> float:
        """A mean at one ε."""
        return float(self.along(measure, method)[EPSILONS.index(epsilon)])

    def mark(self, measure: Measure | str, method: str) -> float:
        """A mean of a way without ε."""
        return float(self.along(measure, method)[0])

    def row(self, method: str, epsilon: float) -> Row:
        """A row, that of no ε if the way has none; empty if it was not made at this ε."""
        return self._rows.get((method, None)) or self._rows.get((method, epsilon), {})

    def numbers(self, text: str, method: str, epsilon: float) -> Values:
        """Mean coefficients, or mean shares."""
        return parted(self.row(method, epsilon)[text])

    def gaps(self, measure: Measure | str, one: str, other: str) -> Margins:
        """By how much one way is above another at each ε, and the standard error of that."""
        gap = self.along(measure, one) - self.along(measure, other)
        chance = np.hypot(self._error(measure, one), self._error(measure, other))
        return _margins(gap, chance)

    def nearness(self, measure: Measure | str, one: str, other: str, within: float) -> Margins:
        """By how much one way is less than a share of the other away from it, at each ε."""
        mean, beside = self.along(measure, one), self.along(measure, other)
        error = np.hypot(self._error(measure, one), self._error(measure, other))
        return _margins(within * beside - np.abs(mean - beside), error)

    def fall(
        self, measure: Measure | str, method: str, first: int = 0, last: int = -1
    ) -> tuple[float, float]:
        """By how much a mean is smaller at one ε than at another, and the standard error."""
        values, errors = self.along(measure, method), self._error(measure, method)
        return float(values[first] - values[last]), float(np.hypot(errors[first], errors[last]))

    def reach(self, measure: Measure | str, method: str, repetitions: int) -> Values:
        """Half the width of the means' 95 % Monte Carlo intervals, shape (7,)."""
        if repetitions < 2:
            return np.zeros(len(EPSILONS))
        return np.asarray(
            stats.t.ppf(0.975, repetitions - 1) * self._error(measure, method), dtype=np.float64
        )

    def _error(self, measure: Measure | str, method: str) -> Values:
        return np.nan_to_num(self.error(measure, method))


def _margins(gaps: Values, errors: Values) -> Margins:
    return [(float(gap), float(error)) for gap, error in zip(gaps, errors, strict=True)]
