"""What the paper says of its table 2, each point beside our results, in our words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.framework.claim_verdicts import Verdict
from understudy_studies.framework.result_curves import Curves, Reading, span
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.conditions import PAPER
from understudy_studies.snoke_slavkovic_2018.readings import (
    OTHERS,
    PUBLISHED,
    STRICT,
    Measured,
    Read,
    of_margins,
)
from understudy_studies.snoke_slavkovic_2018.table_2 import paper
from understudy_studies.snoke_slavkovic_2018.table_2 import why_tables_differ as causes
from understudy_studies.snoke_slavkovic_2018.table_2.simulation import EFFECTIVE, GREEDY

MECHANISMS = {PUBLISHED: methods.published(None, methods.SETS), STRICT: methods.COLUMNS}
"""Reading → method."""
HISTOGRAM = methods.AS_PRINTED
"""The paper's smoothed histogram, as its printed values tell it."""
POINT = (PAPER,)
CLOSE = 1.15
"""Among the best: at most so many times the best (in the paper's table: 1.13)."""
FAR = 2.0
"""Far worse: at least so many times as large (in the paper's table: 2.2)."""
ALIKE = 1.25
"""Comparable: within this factor (in the paper's table: 0.88 and 0.97)."""
THREE, TWO = 3.5, 2.3
"""Roughly three and two times: at most this (in the paper's table: 3.2 and 1.8)."""
NEAR, NEAR_VARIANCE = 1.25, 2.0
"""As printed: within these factors, means and variances."""
COLUMNS = {
    methods.NON_PRIVATE: methods.NON_PRIVATE,
    methods.PAPER: MECHANISMS[PUBLISHED],
    methods.BAYES: methods.BAYES,
    methods.SMOOTHED: HISTOGRAM,
}
"""Column of the paper's table → our method."""


class Table:
    """Means and variances of the pMSE by greedy trees under the paper's condition.

    Args:
        curves: the results.
    """

    def __init__(self, curves: Curves) -> None:
        self._curves = curves
        self._greedy = Reading(curves, GREEDY)
        self.budgets = curves.budgets

    def of(self, method: str, value: str = "mean") -> Measured:
        """Means or variances at all budgets."""
        values, errors = (
            self._greedy.between(name, POINT, method) for name in (value, f"{value}_error")
        )
        usable = float(np.nan_to_num(self._curves.along("usable", POINT, GREEDY, method)).min())
        effective = self._curves.along("mean", POINT, EFFECTIVE, method)
        least = float(np.inf if np.isnan(effective).all() else np.nanmin(effective))
        return Measured(values, errors, usable, least)


def about_table(curves: Curves) -> tuple[Read, ...]:
    """All points, by reading."""
    table = Table(curves)
    reads = [
        Read(reading, tuple(_about(table, reading, method)))
        for reading, method in MECHANISMS.items()
    ]
    others = (
        _rising(table, methods.BAYES, "of noisy Bayes grows"),
        _rising(table, HISTOGRAM, "of the smoothed histogram falls", falls=True),
        *(_as_printed(table, column) for column in COLUMNS if column != methods.PAPER),
        *(_variance_as_printed(table, column) for column in COLUMNS if column != methods.PAPER),
    )
    return (*reads, Read(OTHERS, others))


def _about(table: Table, reading: str, mechanism: str) -> Iterator[Verdict]:
    """What the paper says of its mechanism."""
    yield _among_the_best(table, reading, mechanism)
    yield _far_worse(table, mechanism)
    yield _comparable(table, reading, mechanism)
    yield _fair_price(table, mechanism)
    yield _rising(table, mechanism, "of the mechanism falls", falls=True)
    if reading == PUBLISHED:
        yield _as_printed(table, methods.PAPER)
        yield _variance_as_printed(table, methods.PAPER)


def _among_the_best(table: Table, reading: str, mechanism: str) -> Verdict:
    bayes, histogram = table.of(methods.BAYES), table.of(HISTOGRAM)
    best = np.where(bayes.values < histogram.values, bayes.values, histogram.values)
    errors = np.where(bayes.values < histogram.values, bayes.errors, histogram.errors)
    rival = Measured(best, errors, min(bayes.usable, histogram.usable))
    ratios = table.of(mechanism).over(rival)
    return of_margins(
        "The mechanism is best or among the best.",
        f"Its mean pMSE is {span(ratios.values)} times that of the better of noisy Bayes and the "
        f"smoothed histogram; a budget counts if that is at most {CLOSE:g}",
        ratios.at_most(CLOSE),
        why=causes.AMONG_THE_BEST.get(reading),
    )


def _far_worse(table: Table, mechanism: str) -> Verdict:
    ratios = table.of(methods.BAYES).over(table.of(mechanism))
    return of_margins(
        "Noisy Bayes is far worse at all budgets.",
        f"Its mean pMSE is {span(ratios.values, '.1f')} times that of the mechanism; a budget "
        f"counts if that is at least {FAR:g}",
        ratios.at_least(FAR),
    )


def _comparable(table: Table, reading: str, mechanism: str) -> Verdict:
    ends = np.isin(table.budgets, (0.25, 4.0))
    ratios = table.of(HISTOGRAM).over(table.of(mechanism)).at(ends)
    return of_margins(
        "The smoothed histogram is comparable at two budgets (by the table: ε = 0.25 and 4; the "
        "numbers are lost from the text).",
        f"There its mean pMSE is {span(ratios.values)} times that of the mechanism; a budget "
        f"counts if that is within a factor of {ALIKE:g}",
        ratios.within(ALIKE),
        why=causes.COMPARABLE.get(reading),
    )


def _fair_price(table: Table, mechanism: str) -> Verdict:
    ratios = table.of(mechanism).over(table.of(methods.NON_PRIVATE))
    one, best = table.budgets == 1, [int(np.nanargmin(ratios.values))]
    at_one, at_best = ratios.at(one), ratios.at(best)
    return of_margins(
        "The mean pMSE is roughly three times that without privacy at ε = 1, and at best twice.",
        f"It is {span(at_one.values, '.1f')} times that at ε = 1, and at best "
        f"{span(at_best.values, '.1f')} times; these count if at most {THREE:g} and {TWO:g}",
        at_one.at_most(THREE).beside(at_best.at_most(TWO)),
        why=causes.FAIR_PRICE,
    )


def _rising(table: Table, method: str, words: str, *, falls: bool = False) -> Verdict:
    found = table.of(method, "variance")
    steps = found.at(slice(1, None)).minus(found.at(slice(None, -1)))
    if falls:
        steps = Measured(-steps.values, steps.errors, steps.usable, steps.effective)
    text = " (so its table; its text says that it is higher at both ends)" if falls else ""
    return of_margins(
        f"The variance of the pMSE {words} with ε{text}.",
        f"It is {small(found.values[0])} at ε = 0.25 and {small(found.values[-1])} at ε = 4; it "
        "counts from one budget to the next",
        steps,
        why=causes.VARIANCE.get(method),
    )


def _as_printed(table: Table, column: str) -> Verdict:
    printed = paper.means(column)
    theirs = Measured(printed, np.zeros_like(printed), np.inf)
    ratios = table.of(COLUMNS[column]).over(theirs)
    return of_margins(
        f"Table 2, mean of {column}: {_listed(printed)}.",
        f"{_listed(ratios.values * printed)}, which is {span(ratios.values)} times as much; a "
        f"budget counts within a factor of {NEAR:g}",
        ratios.within(NEAR),
        why=causes.PRINTED_MEAN.get(column),
    )


def _variance_as_printed(table: Table, column: str) -> Verdict:
    printed = np.array(paper.VARIANCES[column])
    known = ~np.isnan(printed)
    theirs = Measured(printed[known], np.zeros(known.sum()), np.inf)
    ratios = table.of(COLUMNS[column], "variance").at(known).over(theirs)
    return of_margins(
        f"Table 2, variance of {column}: {', '.join(small(one) for one in printed[known])} (that "
        "of ε = 2 is a misprint).",
        f"It is {span(ratios.values, '.2g')} times as much; a budget counts within a factor of "
        f"{NEAR_VARIANCE:g}",
        ratios.within(NEAR_VARIANCE),
        why=causes.PRINTED_VARIANCE.get(column),
    )


def _listed(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    return " / ".join(f"{one:.3f}".lstrip("0") for one in values)


def small(number: float) -> str:
    """A small number.

    Example:
        >>> small(0.00012)
        '1.2e−04'
    """
    return f"{number:.1e}".replace("-", "−")
