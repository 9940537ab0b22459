"""Results as curves over the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.studies.study import Row

FEWEST = 20
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
