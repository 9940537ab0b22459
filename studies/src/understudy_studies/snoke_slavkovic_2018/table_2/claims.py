"""What the paper says of its table 2, each point beside our results, in our words.

The paper's smoothed histogram is put beside both of ours: one that spends ε on all n records, and
one that spends it on each, as the paper's numbers suggest.
"""

from __future__ import annotations

import numpy as np

from understudy.arrays import Floats
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import Curves, Reading, span
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.readings import (
    OTHERS,
    PUBLISHED_ONE,
    PUBLISHED_TEN,
    STRICT,
    Read,
)
from understudy_studies.snoke_slavkovic_2018.table_2.simulation import GREEDY

MECHANISMS = {
    PUBLISHED_TEN: methods.published(None, methods.SETS),
    PUBLISHED_ONE: methods.published(None, 1),
    STRICT: methods.COLUMNS,
}
"""Reading → method."""
HISTOGRAMS = (methods.PER_RECORD, methods.SMOOTHED)
CLOSE = 1.15
"""Among the best: at most so many times the best (in the paper's table: 1.13)."""
FAR = 2.0
"""Far worse: at least so many times as large (in the paper's table: 2.2)."""
ALIKE = 1.5
"""Catching up: within this factor (in the paper's table: 1.3 and 0.97)."""


class Table:
    """Means and variances of the pMSE by greedy trees.

    Args:
        curves: the results.
    """

    def __init__(self, curves: Curves) -> None:
        self._reading = Reading(curves, GREEDY)
        self.budgets = curves.budgets

    def means(self, method: str) -> Floats:
        """At all budgets."""
        return self._reading.between("mean", (), method)

    def variances(self, method: str) -> Floats:
        """At all budgets."""
        return self._reading.between("variance", (), method)


def about_table(curves: Curves) -> tuple[Read, ...]:
    """All points, by reading."""
    table = Table(curves)
    reads = [
        Read(
            reading,
            (
                *(_among_the_best(table, method, histogram) for histogram in HISTOGRAMS),
                _far_worse(table, method),
                *(_catches_up(table, method, histogram) for histogram in HISTOGRAMS),
                _fair_price(table, method),
                _falling(table, method),
            ),
        )
        for reading, method in MECHANISMS.items()
    ]
    return (*reads, Read(OTHERS, (_growing(table),)))


def _among_the_best(table: Table, mechanism: str, histogram: str) -> Verdict:
    here = table.budgets <= 1
    rivals = np.minimum(table.means(methods.BAYES), table.means(histogram))
    ratios = (table.means(mechanism) / rivals)[here]
    return judged(
        f"The mechanism is best or among the best (asked for ε ≤ 1; rivals: {methods.BAYES}, "
        f"{histogram}).",
        f"Its mean pMSE is {span(ratios)} times that of the better rival; a budget counts if that "
        f"is at most {CLOSE:g}",
        [bool(holds) for holds in ratios <= CLOSE],
    )


def _far_worse(table: Table, mechanism: str) -> Verdict:
    ratios = table.means(methods.BAYES) / table.means(mechanism)
    return judged(
        "Noisy Bayes is far worse at all budgets.",
        f"Its mean pMSE is {span(ratios, '.1f')} times that of the mechanism; a budget counts if "
        f"that is at least {FAR:g}",
        [bool(holds) for holds in ratios >= FAR],
    )


def _catches_up(table: Table, mechanism: str, histogram: str) -> Verdict:
    large = table.budgets >= 2
    ratios = (table.means(histogram) / table.means(mechanism))[large]
    return judged(
        f"The smoothed histogram catches up at ε = 2 and 4 (ours: {histogram}).",
        f"There its mean pMSE is {span(ratios)} times that of the mechanism; a budget counts if "
        f"that is at most {ALIKE:g}",
        [bool(holds) for holds in ratios <= ALIKE],
    )


def _fair_price(table: Table, mechanism: str) -> Verdict:
    ratios = table.means(mechanism) / table.means(methods.NON_PRIVATE)
    at_one, best = float(ratios[table.budgets == 1][0]), float(np.min(ratios))
    return judged(
        "The mean pMSE is roughly three times that without privacy at ε = 1, and at best twice.",
        f"It is {at_one:.1f} times that at ε = 1, and at best {best:.1f} times; these count if at "
        "most 3.5 and 2.3",
        [at_one <= 3.5, best <= 2.3],
    )


def _falling(table: Table, mechanism: str) -> Verdict:
    found = table.variances(mechanism)
    return judged(
        "The variance of the pMSE falls as ε grows (so its table; its text says that it is higher "
        "at both ends).",
        f"It is {_small(found[0])} at ε = 0.25 and {_small(found[-1])} at ε = 4; it counts from "
        "one budget to the next",
        [bool(holds) for holds in np.diff(found) < 0],
    )


def _growing(table: Table) -> Verdict:
    found = table.variances(methods.BAYES)
    return judged(
        "The variance of the pMSE of noisy Bayes grows with ε.",
        f"It is {_small(found[0])} at ε = 0.25 and {_small(found[-1])} at ε = 4; it counts from "
        "one budget to the next",
        [bool(holds) for holds in np.diff(found) > 0],
    )


def _small(number: float) -> str:
    return f"{number:.1e}".replace("-", "−")
