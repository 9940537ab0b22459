"""Releases of a table by many lines, and how useful each is.

Every repetition makes a release of five split sets, by the code that makes every release, and
measures it (`voter_utilities`). Everything is seeded; the rows are the same each time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import understudy as us
from understudy._parallel import single_threaded
from understudy.methods.base import CostClass
from understudy_studies.bowen_liu_su_2021.young_voters import standin, voter_case
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import LOG_EPSILONS
from understudy_studies.bowen_liu_su_2021.young_voters.release_lines import (
    LINES,
    PUBLISHED,
    STATED,
)
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import (
    CLASSES,
    MEASURES,
    measured,
)
from understudy_studies.framework.monte_carlo_error import mean_and_error
from understudy_studies.framework.study import Row
from understudy_studies.measures.pairwise_logistic import Memory

SETS = 5


@dataclass(frozen=True)
class Scenario:
    """One way to make a release of one table, at one budget.

    Attributes:
        table: name of the case.
        method: one of `LINES`.
        log_epsilon: logarithm of the budget of all five sets together.
    """

    table: str
    method: str
    log_epsilon: int

    @property
    def epsilon(self) -> float:
        """The budget, rounded to six digits."""
        return round(math.exp(self.log_epsilon), 6)


def simulated() -> tuple[Scenario, ...]:
    """All scenarios on the simulated voters."""
    return _scenarios(voter_case.SIMULATED, tuple(LINES))


def real() -> tuple[Scenario, ...]:
    """All scenarios on the sample of the survey: the paper's lines, and its other PrivBayes.

    Raises:
        StudyError: its file is not at hand.
    """
    standin.require()
    return _scenarios(voter_case.STAND_IN, (*PUBLISHED, STATED))


def _scenarios(table: str, lines: tuple[str, ...]) -> tuple[Scenario, ...]:
    return tuple(
        Scenario(table, name, budget)
        for budget in LOG_EPSILONS
        for name in lines
        if budget in LINES[name].log_epsilons
    )


def repetitions(scenario: Scenario) -> int:
    """How many releases of a scenario are made, unless told otherwise."""
    return LINES[scenario.method].repetitions


def cost_class(_scenario: Scenario) -> CostClass:
    """Of the study: seconds for each repetition."""
    return "slow"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Repetitions of: release the table, measure the release."""
    table, line = voter_case.find(scenario.table), LINES[scenario.method]
    found, memory = [], Memory()
    for child in np.random.SeedSequence(seed).spawn(repetitions):
        with single_threaded():
            release = us.synthesize(
                table.rows(),
                line.schema_for(table),
                epsilon=spent(scenario),
                method=line.method,
                sets=SETS,
                options=line.options_for(table),
                insecure_noise_seed=int(np.random.default_rng(child).integers(2**63)),
            )
            found.append(measured(table, release.tables, memory))
    return found


def spent(scenario: Scenario) -> str:
    """What a release spends, in decimals; it is what the release guarantees."""
    line, table = LINES[scenario.method], voter_case.find(scenario.table)
    return f"{float(Fraction(scenario.epsilon) * line.spends_on(table)):.9g}"


def summarise(_scenario: Scenario, rows: list[Row]) -> list[Row]:
    """One row for each scenario: means, standard deviations, classes of the first repetition."""
    summary: Row = {}
    for measure in MEASURES:
        known = [row[measure.name] for row in rows if row[measure.name] is not None]
        summary[measure.name], _ = mean_and_error(known)
        summary[f"{measure.name}_sd"] = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
    return [{**summary, CLASSES: rows[0][CLASSES]}]
