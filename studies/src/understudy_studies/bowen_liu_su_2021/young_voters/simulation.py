"""Releases of a table by eleven ways, and how useful each is.

Every repetition makes a release of five split sets, by the code that makes every release, and
measures it (`voter_utilities`). Everything is seeded; the rows are the same each time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from understudy import pipeline
from understudy.families.method import CostClass
from understudy.parallel import single_threaded
from understudy_studies.bowen_liu_su_2021.young_voters import standin, voter_case
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LAPLACE,
    LOG_EPSILONS,
    PRIVBAYES,
    STEPS2,
    STEPS3,
    UH2,
    UH3,
)
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import (
    CLASSES,
    MEASURES,
    measured,
)
from understudy_studies.framework.monte_carlo_error import mean_and_error
from understudy_studies.framework.study import Row

SETS = 5
REPETITIONS = 10

SCORE_R = "PrivBayes, score R"
DOWNWARD = {name: f"{name}, downward" for name in (UH2, UH3, STEPS2, STEPS3)}
"""A tree as published, and the same with shares handed down from the root."""


@dataclass(frozen=True)
class Line:
    """A way to make a release.

    Attributes:
        method: name in the table of methods.
        options: its options.
        ordered: how many of the case's important columns are declared as the order of the tree.
    """

    method: str
    options: Mapping[str, str] = field(default_factory=dict)
    ordered: int = 0

    def options_for(self, table: voter_case.Case) -> dict[str, str]:
        """All options, on one table."""
        order = {"order": ",".join(table.order[: self.ordered])} if self.ordered else {}
        return {**self.options, **order, "sets": "split"}


_TREES = {
    UH2: Line("universal-histogram", {"layers": "2"}),
    UH3: Line("universal-histogram", {"layers": "3"}),
    STEPS2: Line("steps", {"layers": "2"}, ordered=2),
    STEPS3: Line("steps", {"layers": "3"}, ordered=3),
}


def _allocated(line: Line, allocation: str) -> Line:
    return replace(line, options={**line.options, "allocation": allocation})


LINES: dict[str, Line] = {
    LAPLACE: Line("laplace", {"form": "dense"}),
    PRIVBAYES: Line("privbayes", {"degree": "2", "score": "mi", "network_share": "0.5"}),
    **{name: _allocated(line, "leaves") for name, line in _TREES.items()},
    **{DOWNWARD[name]: _allocated(line, "downward") for name, line in _TREES.items()},
    SCORE_R: Line("privbayes", {"degree": "2", "score": "r"}),
}
"""The paper's six methods, and five of our own."""


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
    return _scenarios(voter_case.SIMULATED)


def real() -> tuple[Scenario, ...]:
    """All scenarios on the sample of the survey.

    Raises:
        StudyError: its file is not at hand.
    """
    standin.require()
    return _scenarios(voter_case.STAND_IN)


def _scenarios(table: str) -> tuple[Scenario, ...]:
    return tuple(Scenario(table, name, budget) for budget in LOG_EPSILONS for name in LINES)


def cost_class(_scenario: Scenario) -> CostClass:
    """Of the study: seconds for each repetition."""
    return "slow"


def run(scenario: Scenario, repetitions: int, seed: int) -> list[Row]:
    """Repetitions of: release the table, measure the release."""
    table, line = voter_case.find(scenario.table), LINES[scenario.method]
    found = []
    for child in np.random.SeedSequence(seed).spawn(repetitions):
        with single_threaded():
            release = pipeline.synthesize(
                table.rows(),
                table.schema,
                epsilon=scenario.epsilon,
                method=line.method,
                sets=SETS,
                options=line.options_for(table),
                insecure_noise_seed=int(np.random.default_rng(child).integers(2**63)),
            )
            found.append(measured(table, release.tables))
    return found


def summarise(_scenario: Scenario, rows: list[Row]) -> list[Row]:
    """One row for each scenario: means, standard deviations, classes of the first repetition."""
    summary: Row = {}
    for measure in MEASURES:
        known = [row[measure.name] for row in rows if row[measure.name] is not None]
        summary[measure.name], _ = mean_and_error(known)
        summary[f"{measure.name}_sd"] = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
    return [{**summary, CLASSES: rows[0][CLASSES]}]
