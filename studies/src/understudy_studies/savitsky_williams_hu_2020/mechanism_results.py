"""Rows of `results.csv` by scale of income, setting of the weights and mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc

from understudy._arrays import Floats
from understudy_studies.framework.csv_numbers import parted
from understudy_studies.framework.study import Row
from understudy_studies.savitsky_williams_hu_2020.mechanisms import Model
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COMPONENTS,
    DATA,
    MAIN,
    SETTINGS,
    VECTOR,
)

Setting = tuple[float, float]


@dataclass(frozen=True)
class View:
    """The results on one model of income.

    Attributes:
        model: the model.
        rows: by setting and mechanism.
    """

    model: Model
    rows: dict[tuple[Setting, str], Row]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Those with results, in the order of table 2."""
        return tuple(setting for setting in SETTINGS if (setting, VECTOR) in self.rows)

    @property
    def repetitions(self) -> int:
        """How many there were."""
        return len(self.each("bound", VECTOR))

    @property
    def words(self) -> str:
        """The model in words.

        Example:
            >>> View(Model("asinh", 20_000.0), {}).words
            'asinh(income/$20,000)'
            >>> View(Model("identity", 1.0, 1), {}).words
            'income in dollars, one regression'
            >>> View(Model("asinh", 1_000.0, power="labels"), {}).words
            'asinh(income/$1,000), powers of components'
            >>> View(Model("asinh", 1_000.0, 10), {}).words
            'asinh(income/$1,000), 10 regressions'
        """
        asinh = f"asinh(income/${self.model.unit:,.0f})"
        scale = asinh if self.model.form == "asinh" else "income in dollars"
        if self.model.components != COMPONENTS:
            count = "one regression" if self.model.components == 1 else "{} regressions"
            scale += ", " + count.format(self.model.components)
        return scale + (", powers of components" if self.model.power == "labels" else "")

    def number(self, name: str, mechanism: str, setting: Setting = MAIN) -> float:
        """A mean over the repetitions."""
        return float(self.rows[setting, mechanism][name])

    def error(self, name: str, mechanism: str, setting: Setting = MAIN) -> float:
        """Its Monte Carlo error, NaN of a single repetition."""
        found = self.rows[setting, mechanism][f"{name}_se"]
        return float("nan" if found is None else found)

    def each(self, name: str, mechanism: str, setting: Setting = MAIN) -> Floats:
        """Values of the repetitions, shape (repetitions,)."""
        return parted(str(self.rows[setting, mechanism][f"{name}_each"]))

    def every(self, name: str, mechanism: str) -> Floats:
        """Values of the repetitions at all settings, shape (settings, repetitions)."""
        return np.array([self.each(name, mechanism, setting) for setting in self.settings])

    def along(self, name: str, mechanism: str) -> Floats:
        """Means at all settings, shape (settings,)."""
        return np.array([self.number(name, mechanism, setting) for setting in self.settings])

    def distribution(self, name: str, mechanism: str, setting: Setting = MAIN) -> Floats:
        """A quantile function, or what else is told by many numbers."""
        return parted(self.rows[setting, mechanism][name])

    def centre(self, statistic: str) -> float:
        """Median of a statistic's distribution on the data, in dollars."""
        return float(np.median(self.distribution(statistic, DATA)))

    def spread(self, statistic: str) -> float:
        """Standard deviation of a statistic's distribution on the data, in dollars."""
        return float(np.std(self.distribution(statistic, DATA)))


class Results:
    """All results.

    Args:
        rows: one for each model, setting and mechanism.

    Attributes:
        reported: the model that points of the paper are judged on, at all settings.
        others: the first setting of other models, to see what hangs on the choice.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        found: dict[Model, dict[tuple[Setting, str], Row]] = {}
        for row in rows:
            model = Model(row["form"], float(row["unit"]), int(row["components"]), row["power"])
            setting = float(row["scale"]), float(row["shift"])
            found.setdefault(model, {})[setting, row["mechanism"]] = row
        self.reported, *others = [View(model, of) for model, of in found.items()]
        self.others = tuple(others)

    @property
    def views(self) -> tuple[View, ...]:
        """All of them, the reported one first."""
        return self.reported, *self.others

    @property
    def scales(self) -> tuple[View, ...]:
        """The reported model, and the same on the other scale of asinh."""
        ours = self.reported.model
        same = [
            view
            for view in self.others
            if view.model == replace(ours, unit=view.model.unit) and view.model != ours
        ]
        return self.reported, *same


def mean_and_error_of(values: Floats) -> tuple[float, float]:
    """Mean over repetitions and its Monte Carlo error; of a single one the error is infinite.

    Example:
        >>> mean_and_error_of(np.array([1.0, 3.0]))
        (2.0, 1.0)
    """
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.inf
    return float(values.mean()), float(error)


def quantile_and_error(values: Floats, level: float) -> tuple[float, float]:
    """A quantile over repetitions and its standard error; of a single one the error is infinite.

    The quantile is a mean of order statistics under a beta distribution, its error that of the
    jackknife.

    Source: Harrell & Davis (1982), Biometrika 69.

    Example:
        >>> middle, error = quantile_and_error(np.arange(101.0), 0.5)
        >>> round(middle, 6), round(error, 1)
        (50.0, 4.7)
    """
    n, ordered = len(values), np.sort(values)
    if n < 2:
        return float(ordered[0]), float("inf")
    without = np.array([_quantile(np.delete(ordered, k), level) for k in range(n)])
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return _quantile(ordered, level), float(error)


def _quantile(ordered: Floats, level: float) -> float:
    n = len(ordered)
    ends = betainc((n + 1) * level, (n + 1) * (1 - level), np.arange(n + 1) / n)
    return float(np.diff(ends) @ ordered)
