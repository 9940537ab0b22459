"""Rows of `results.csv` as numbers by budget, method and measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import LOG_EPSILONS
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import (
    CLASSES,
    PAPERS,
    Measure,
)
from understudy_studies.framework.study import Row
from understudy_studies.measures.rank_sums import rank_sums, ranks

Values = NDArray[np.float64]

DECIMALS = 3
"""Scores that agree to this many digits are tied, as in the paper's table."""


class Results:
    """Means over the repetitions.

    Args:
        rows: the rows, one for each method and budget.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {(row["log_epsilon"], row["method"]): row for row in rows}

    def has(self, method: str) -> bool:
        """Whether a line was looked at, at any budget."""
        return any((budget, method) in self._rows for budget in LOG_EPSILONS)

    def budgets(self, method: str) -> tuple[int, ...]:
        """Budgets (log ε) at which a line was looked at."""
        return tuple(budget for budget in LOG_EPSILONS if (budget, method) in self._rows)

    def repetitions(self, methods: Sequence[str]) -> int:
        """The fewest repetitions of any of these lines at any budget."""
        found = [
            int(row["repetitions"]) for (_, name), row in self._rows.items() if name in methods
        ]
        return min(found, default=0)

    def read_as(self, others: Mapping[str, str]) -> Results:
        """The same with some lines in the place of others, for another reading.

        Args:
            others: name of a line → the line whose numbers it gets.
        """
        rows = []
        for (budget, name), row in self._rows.items():
            other = self._rows.get((budget, others.get(name, name)))
            rows.append({**(row if other is None else other), "method": name})
        return Results(rows)

    def along(self, measure: Measure | str, method: str) -> Values:
        """A measure at every budget, shape (budgets,); NaN where it is not known."""
        name = measure if isinstance(measure, str) else measure.name
        found = [self._rows.get((budget, method), {}).get(name) for budget in LOG_EPSILONS]
        return np.array([np.nan if one is None else one for one in found], dtype=np.float64)

    def errors(self, measure: Measure, method: str) -> Values:
        """Monte Carlo standard errors of a measure, shape (budgets,); NaN where not known."""
        spread = self.along(f"{measure.name}_sd", method)
        n = self.along("repetitions", method)
        return np.where(n > 1, spread / np.sqrt(np.maximum(n, 1)), np.nan)

    def scores(self, methods: Sequence[str], measures: Sequence[Measure] = PAPERS) -> Values:
        """Shape (budgets, methods, measures)."""
        found = [[self.along(measure, method) for method in methods] for measure in measures]
        return np.moveaxis(np.array(found), (0, 1, 2), (2, 1, 0))

    def ranks(self, methods: Sequence[str]) -> NDArray[np.int64]:
        """Ranks among some methods by the paper's measures, shape (budgets, methods, measures)."""
        return ranks(
            self.scores(methods), [measure.better for measure in PAPERS], decimals=DECIMALS
        )

    def sums(self, methods: Sequence[str]) -> NDArray[np.int64]:
        """Their sums, shape (budgets, methods)."""
        return rank_sums(
            self.scores(methods), [measure.better for measure in PAPERS], decimals=DECIMALS
        )

    def classes(self, method: str, log_epsilon: int) -> NDArray[np.int64]:
        """Pairs of columns by class of p-value at one repetition, shape (4, 4)."""
        text: str = self._rows[log_epsilon, method][CLASSES]
        return np.array([int(word) for word in text.split()]).reshape(4, 4)
