"""Twenty sets of each mechanism at each setting, what they risk, and what they are worth.

The rows are the same in every repetition, as in the paper: what varies are the chains, the draws
released, the sets and the resamples. Everything is seeded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy._parallel import single_threaded
from understudy.methods.base import CostClass
from understudy.papers.column_models import ScaleForm
from understudy.papers.mixture_nuts import Power
from understudy_studies.framework.csv_numbers import joined, parted
from understudy_studies.framework.monte_carlo_error import mean_and_error
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row
from understudy_studies.savitsky_williams_hu_2020 import (
    consumer_case,
    consumer_files,
    risk_and_utility,
)
from understudy_studies.savitsky_williams_hu_2020.mechanisms import Model, fits, synthetic_sets
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COMPONENTS,
    MAIN,
    MORE_COMPONENTS,
    READINGS,
    REPORTED,
    SETTINGS,
)
from understudy_studies.savitsky_williams_hu_2020.resampling import resampled_counts

REPETITIONS, READING_REPETITIONS = 30, 6
"""Of the model on which points are judged, and of other readings."""

LOGARITHM = 1_000.0
"""Dollars of a unit of asinh with which it is a logarithm, but for incomes of a few thousand."""


@dataclass(frozen=True)
class Scenario:
    """A model of income.

    Attributes:
        table: name of the case.
        form: of the scale of income.
        unit: dollars of a unit of asinh.
        components: K.
        power: what weights are powers of.
        whole: whether all settings and readings are compared, or the first setting alone.
    """

    table: str
    form: ScaleForm
    unit: float
    components: int
    power: Power
    whole: bool

    @property
    def model(self) -> Model:
        """The model of income."""
        return Model(self.form, self.unit, self.components, self.power)


def repetitions(scenario: Scenario) -> int:
    """Fewer for other readings than for the model that is judged."""
    return REPETITIONS if scenario.whole else READING_REPETITIONS


def simulated() -> tuple[Scenario, ...]:
    """All scenarios on the simulated consumer units."""
    return _scenarios(consumer_case.SIMULATED)


def diary() -> tuple[Scenario, ...]:
    """All scenarios on the diary sample.

    Raises:
        StudyError: its file is not at hand.
    """
    consumer_files.require(consumer_files.DIARY)
    return _scenarios(consumer_case.DIARY)


def hornby() -> tuple[Scenario, ...]:
    """All scenarios on the packaged sample.

    Raises:
        StudyError: its file is not at hand.
    """
    consumer_files.require(consumer_files.HORNBY)
    return _scenarios(consumer_case.HORNBY)


def _scenarios(table: str) -> tuple[Scenario, ...]:
    """The model that is reported, and others at the first setting, to see what hangs on them."""
    unit = consumer_case.find(table).own_unit
    kinds: tuple[tuple[ScaleForm, float, int, Power], ...] = (
        ("asinh", LOGARITHM, COMPONENTS, REPORTED),
        ("asinh", unit, COMPONENTS, REPORTED),
        ("asinh", LOGARITHM, MORE_COMPONENTS, REPORTED),
        ("asinh", LOGARITHM, MORE_COMPONENTS, "labels"),
        ("identity", 1.0, COMPONENTS, REPORTED),
        ("asinh", LOGARITHM, 1, REPORTED),
    )
    return tuple(Scenario(table, *kind, whole=not place) for place, kind in enumerate(kinds))


def cost_class(_scenario: Scenario) -> CostClass:
    """Of the study: several chains for each repetition."""
    return "mcmc"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Repetitions of: fit all mechanisms, make the sets of each, measure them."""
    table = consumer_case.find(scenario.table)
    found: list[Row] = []
    with single_threaded():
        for own in Streams(seed).repetitions(repetitions):
            found += _repetition(table, scenario, own)
    return found


def _repetition(table: consumer_case.Case, scenario: Scenario, streams: Streams) -> list[Row]:
    counts = resampled_counts(len(table.values), streams.generator("resamples"))
    rows = [risk_and_utility.of_data(table, counts)]
    found = fits(
        table,
        scenario.model,
        streams,
        settings=SETTINGS if scenario.whole else (MAIN,),
        readings=READINGS if scenario.whole else (),
    )
    for fit in found:
        sets = synthetic_sets(table, fit, streams.randomness("sets", fit.mechanism, *fit.setting))
        rows.append(risk_and_utility.of_fit(table, fit, sets, counts))
    return rows


def summarise(_scenario: Scenario, rows: list[Row]) -> list[Row]:
    """One row for each mechanism at each of its settings, and one for the data.

    Numbers have their mean over the repetitions, its Monte Carlo error, and the values themselves
    as a text; quantile functions have their mean, which is the barycentre.
    """
    keys = dict.fromkeys((row["mechanism"], row["scale"], row["shift"]) for row in rows)
    return [_summary(key, [row for row in rows if _key(row) == key]) for key in keys]


def _key(row: Row) -> tuple[str, float, float]:
    return row["mechanism"], row["scale"], row["shift"]


def _summary(key: tuple[str, float, float], rows: list[Row]) -> Row:
    summary: Row = dict(zip(("mechanism", "scale", "shift"), key, strict=True))
    for name in risk_and_utility.NUMBERS:
        if rows[0].get(name) is not None:
            values = [float(row[name]) for row in rows]
            summary[name], summary[f"{name}_se"] = mean_and_error(values)
            summary[f"{name}_each"] = joined(values)
    for name in risk_and_utility.TEXTS:
        if rows[0].get(name) is not None:
            summary[name] = joined(np.mean([parted(row[name]) for row in rows], axis=0))
    return summary
