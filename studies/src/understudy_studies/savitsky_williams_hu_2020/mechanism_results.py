"""Rows of `results.csv` by scale of income, setting of the weights and mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats
from understudy_studies.framework.csv_numbers import parted
from understudy_studies.framework.study import Row
from understudy_studies.savitsky_williams_hu_2020.mechanisms import Model
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    DATA,
    MAIN,
    SCALAR,
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
    def compared(self) -> bool:
        """Whether there are results of all mechanisms."""
        return (MAIN, SCALAR) in self.rows

    @property
    def words(self) -> str:
        """The model in words.

        Example:
            >>> View(Model("asinh", 20_000.0), {}).words
            'asinh(income/$20,000)'
            >>> View(Model("identity", 1.0, 1), {}).words
            'income in dollars, one regression'
        """
        asinh = f"asinh(income/${self.model.unit:,.0f})"
        scale = asinh if self.model.form == "asinh" else "income in dollars"
        return scale + ", one regression" * (self.model.components == 1)

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
        return np.array([self.each(name, mechanism, setting) for setting in SETTINGS])

    def along(self, name: str, mechanism: str) -> Floats:
        """Means at all settings, shape (settings,)."""
        return np.array([self.number(name, mechanism, setting) for setting in SETTINGS])

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
        views: models with all mechanisms.
        others: models with vector weights alone.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        found: dict[Model, dict[tuple[Setting, str], Row]] = {}
        for row in rows:
            model = Model(row["form"], float(row["unit"]), int(row["components"]))
            setting = float(row["scale"]), float(row["shift"])
            found.setdefault(model, {})[setting, row["mechanism"]] = row
        every = [View(model, of) for model, of in found.items()]
        self.views = tuple(one for one in every if one.compared)
        self.others = tuple(one for one in every if not one.compared)

    @property
    def logarithm(self) -> View:
        """On the scale nearest the paper's logarithm."""
        return self.views[0]

    @property
    def own(self) -> View:
        """On the scale that a release takes where it names none."""
        return self.views[-1]


def compared(view: View, name: str, mechanism: str = VECTOR) -> Floats:
    """A number at all settings and repetitions, flat: the cases of a point."""
    return view.every(name, mechanism).ravel()
