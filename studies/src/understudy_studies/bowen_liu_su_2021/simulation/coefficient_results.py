"""Results by scenario, way and budget: of each coefficient, and in one number for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from understudy_studies.bowen_liu_su_2021.simulation.population import (
    MAIN,
    SATURATED,
    Levels,
    Model,
    labels,
)
from understudy_studies.bowen_liu_su_2021.simulation.simulation import CHOSEN, JUDGED, PREDICTION
from understudy_studies.framework.interval_tally import LEVEL, Values
from understudy_studies.framework.result_curves import Curves, Point
from understudy_studies.framework.study import Row

BIAS, RMSE, COVERAGE = "bias", "rmse", "coverage"
MISS = "miss"
MEASURES: Final = {
    BIAS: "bias (median over coefficients of its size)",
    RMSE: "RMSE (median over coefficients)",
    MISS: "coverage (mean distance from 95 % over coefficients, in points)",
    PREDICTION: "RMSE of predictions",
}
"""What ways are compared by; small is good."""
SHORT: Final = {BIAS: "bias", RMSE: "RMSE", MISS: "coverage", PREDICTION: "prediction RMSE"}


class Results:
    """Rows of `results.csv` under one law of the levels.

    Args:
        rows: the rows.
        levels: the law.
        others: name of a way → the way whose numbers it gets, for another reading.
    """

    def __init__(
        self, rows: Iterable[Row], levels: Levels = JUDGED, others: Mapping[str, str] | None = None
    ) -> None:
        self.levels = levels
        self._rows = [row for row in rows if row["levels"] == levels]
        self._read = dict(others or {})
        self._each: dict[tuple[str, Point, str], Values] = {}
        self.curves = Curves(self._rows, ("model", "n_rows"), budget="epsilon")

    @property
    def repetitions(self) -> int:
        """The fewest repetitions of any scenario."""
        return min((int(row["repetitions"]) for row in self._rows), default=0)

    @property
    def epsilons(self) -> Values:
        """Budgets, ascending, shape (budgets,)."""
        return self.curves.budgets

    def points(self, model: Model) -> tuple[Point, ...]:
        """Scenarios of a model, by their size."""
        return tuple(sorted(point for point in self.curves.points if point[0] == model))

    @property
    def all_points(self) -> tuple[Point, ...]:
        """All scenarios."""
        return (*self.points(MAIN), *self.points(SATURATED))

    def each(self, value: str, point: Point, way: str) -> Values:
        """A value of each coefficient at each budget, shape (coefficients, budgets)."""
        key = value, point, way
        if key not in self._each:
            read = self._read_as(point, way)
            names = labels(point[0])
            self._each[key] = np.array(
                [self.curves.trusted(value, point, name, read) for name in names]
            )
        return self._each[key]

    def _read_as(self, point: Point, way: str) -> str:
        """The way whose numbers stand for this one; itself where the other was not looked at."""
        other = self._read.get(way, way)
        known = any(
            row["method"] == other and (row["model"], row["n_rows"]) == point for row in self._rows
        )
        return other if known else way

    def along(self, measure: str, point: Point, way: str) -> Values:
        """One of `MEASURES` at each budget, shape (budgets,); NaN where it is not known."""
        if measure == PREDICTION:
            return self.curves.trusted(RMSE, point, PREDICTION, self._read_as(point, way))
        if measure == MISS:
            gaps = 100 * np.abs(self.each(COVERAGE, point, way) - LEVEL)
            return np.asarray(gaps.mean(axis=0))
        return np.asarray(np.median(np.abs(self.each(measure, point, way)), axis=0))

    def prediction_errors(self, point: Point, way: str) -> Values:
        """Monte Carlo standard errors of the RMSE of predictions, shape (budgets,)."""
        return self.curves.trusted(f"{RMSE}_error", point, PREDICTION, way)

    def mean_coverage(self, point: Point, way: str) -> Values:
        """Mean coverage over the coefficients in per cent, shape (budgets,)."""
        return np.asarray(100 * self.each(COVERAGE, point, way).mean(axis=0))

    def groups(self, point: Point, epsilon: float) -> dict[str, float]:
        """How often each group was chosen privately, as a share, the commonest first."""
        found = {
            row["estimand"].removeprefix(CHOSEN): row["usable"]
            for row in self._rows
            if (row["model"], row["n_rows"]) == point
            and row["epsilon"] == epsilon
            and row["estimand"].startswith(CHOSEN)
        }
        total = max(sum(found.values()), 1)
        ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        return {name: n / total for name, n in ordered}
