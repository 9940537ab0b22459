"""Synthetic tables of 1,000 records, made in every way at every ε, and what they are worth.

The rows are the same in every repetition: what varies is the randomness of the ways, and whom the
intruder looks at. Everything is seeded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy._parallel import single_threaded
from understudy.methods.base import CostClass
from understudy_studies.framework.csv_numbers import joined, parted
from understudy_studies.framework.monte_carlo_error import mean_and_error
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import Row
from understudy_studies.park_ghosh_2014 import hospital, patient_case
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, CONTROL, NAMES, attacked
from understudy_studies.park_ghosh_2014.pegs_papers import EPSILONS
from understudy_studies.park_ghosh_2014.record_lines import EVERY, MARKS
from understudy_studies.park_ghosh_2014.record_ways import records_of
from understudy_studies.park_ghosh_2014.table_distances import APART, TEXTS, UTILITIES, measured

REPETITIONS, CHUNK = 30, 5

NUMBERS = (
    *(measure.name for measure in UTILITIES),
    *(measure.name for pair in APART for measure in pair),
    *NAMES,
)
"""Columns of the rows with a number in them."""


@dataclass(frozen=True)
class Scenario:
    """One way to make records of one table.

    Attributes:
        table: name of the case.
        method: one of `record_lines.EVERY`.
        epsilon: for each record, or for the table, as the line has it; None if there is none.
        total: ε of the whole synthetic table; None if there is none.
    """

    table: str
    method: str
    epsilon: float | None
    total: float | None


def simulated() -> tuple[Scenario, ...]:
    """All scenarios on the simulated discharges."""
    return _scenarios(patient_case.DISCHARGES)


def real() -> tuple[Scenario, ...]:
    """All scenarios on the inpatients.

    Raises:
        StudyError: their file is not at hand.
    """
    hospital.require()
    return _scenarios(patient_case.INPATIENTS)


def _scenarios(table: str) -> tuple[Scenario, ...]:
    paid = (
        Scenario(table, name, epsilon, line.total(epsilon))
        for name, line in EVERY.items()
        for epsilon in EPSILONS
        if line.made_at(epsilon)
    )
    return (*paid, *(Scenario(table, name, None, None) for name in MARKS))


def cost_class(_scenario: Scenario) -> CostClass:
    """Of the study: up to some seconds for each repetition."""
    return "slow"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Repetitions of: make 1,000 records, measure them, attack them."""
    table = patient_case.find(scenario.table)
    found: list[Row] = []
    with single_threaded():
        for own in Streams(seed).repetitions(repetitions):
            states = records_of(table, scenario.method, scenario.epsilon, own)
            intruder = attacked(table, states, own.generator("targets"))
            found.append({**measured(table, states), **intruder})
    return found


def summarise(_scenario: Scenario, rows: list[Row]) -> list[Row]:
    """One row for each scenario: means, their Monte Carlo errors, mean coefficients and shares.

    `…_gap` is the mean difference between what the intruder gets wrong about others and about
    people of the table: positive where he knows more about those.
    """
    summary: Row = {}
    values = {name: [row[name] for row in rows] for name in NUMBERS}
    for attack in ATTACKS:
        own, others = (np.array(values[f"{attack.name}{suffix}"]) for suffix in ("", CONTROL))
        values[f"{attack.name}_gap"] = list(others - own)
    for name, numbers in values.items():
        known = [number for number in numbers if not math.isnan(number)]
        summary[name], summary[f"{name}_se"] = mean_and_error(known)
    for name in TEXTS:
        means, errors = _known_means([parted(row[name]) for row in rows])
        summary[name], summary[f"{name}_se"] = joined(means), joined(errors)
    return [summary]


def _known_means(
    numbers: list[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means over the repetitions of what is known, and their errors; NaN where nothing is."""
    every = np.array(numbers)
    known = ~np.isnan(every)
    total, n = np.where(known, every, 0.0).sum(axis=0), known.sum(axis=0)
    means = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    squares = np.where(known, (every - np.nan_to_num(means)) ** 2, 0.0).sum(axis=0)
    errors = np.where(n > 1, np.sqrt(squares / np.maximum(n * (n - 1), 1)), np.nan)
    return means, errors
