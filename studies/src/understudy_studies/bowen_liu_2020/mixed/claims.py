"""What the paper says of study 3, each point beside our results.

The points are those of Bowen & Liu (2016), §4.3, in our words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.bowen_liu_2020.mixed.cellwise import BINS, SIDES
from understudy_studies.bowen_liu_2020.mixed.description import (
    CELL_SHARES,
    CORRELATION,
    FIRST,
    MARGINALS,
    MEANS,
    PRODUCT,
    SECOND,
)
from understudy_studies.bowen_liu_2020.mixed.simulation import MODIPS, MS, ORIGINAL, PERTURBED
from understudy_studies.bowen_liu_2020.panels import BIAS, COVERAGE, RMSE
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import Curves, Point, Reading, Values, plain, span

FEWEST_BINS, MOST_BINS = 16, 49
"""Range of the cells' median numbers of bins, as printed."""
SMALL, FAIR = 1.0, 4.0
"""Budgets (log ε) up to which, or from which on, a point is looked at."""
COMPONENTS = (FIRST, SECOND, PRODUCT)


class Mixed:
    """Curves of groups of estimands.

    Args:
        curves: results, by n; of one population.
    """

    def __init__(self, curves: Curves) -> None:
        self.curves = curves
        self.point: Point = curves.points[0]

    def members(self, group: str) -> tuple[str, ...]:
        """The estimands of a group."""
        return tuple(
            name for name in self.curves.estimands if name == group or name.startswith(f"{group} ")
        )

    def between(
        self, value: str, group: str, method: str, low: float = -np.inf, high: float = np.inf
    ) -> Values:
        """Curves between two budgets (log ε), shape (estimands, budgets)."""
        return np.array(
            [
                Reading(self.curves, name).between(value, self.point, method, low, high)
                for name in self.members(group)
            ]
        )

    def median(
        self, value: str, group: str, method: str, low: float = -np.inf, high: float = np.inf
    ) -> Values:
        """Medians over a group, of absolute values for bias, shape (budgets,)."""
        found = self.between(value, group, method, low, high)
        return medians(np.abs(found) if value == BIAS else found)


def medians(values: Values) -> Values:
    """Medians over the first axis of what is known; NaN where nothing is."""
    known = ~np.isnan(values).all(axis=0)
    found = np.full(values.shape[1], np.nan)
    if known.any():
        found[known] = np.nanmedian(values[:, known], axis=0)
    return found


def about_study(curves: Curves) -> tuple[Verdict, ...]:
    """All points that the paper makes."""
    mixed = Mixed(curves)
    return (
        _bins(curves),
        *_means(mixed),
        *_shares(mixed),
        *_covariance(mixed),
        *_coverage_of_covariance(mixed),
    )


def _bins(curves: Curves) -> Verdict:
    def of(kind: str) -> Values:
        names = [name for name in curves.estimands if name.startswith(f"{kind} ")]
        point = curves.points[0]
        return np.array([curves.along("bins_median", point, one, PERTURBED)[0] for one in names])

    sides, wholes = of(SIDES), of(BINS)
    return judged(
        "Medians of the number of bins go from 16 to 49 in the 24 cells. (That is also what the "
        "bounds were found from, read as squares of the bins of one number.)",
        f"Medians of the bins of one number go from {span(sides, 'g')}, squares of "
        f"{span(sides**2, 'g')}; medians of their products from {span(wholes, 'g')}. Both ends of "
        "the squares count",
        [bool(sides.min() ** 2 == FEWEST_BINS), bool(sides.max() ** 2 == MOST_BINS)],
    )


def _smaller(mixed: Mixed, value: str, group: str, high: float) -> Verdict:
    """Whether MODIPS has smaller values than the histogram, by the median over a group."""
    ours, theirs = (mixed.median(value, group, m, high=high) for m in (MODIPS, PERTURBED))
    words = {BIAS: "bias", RMSE: "RMSE"}[value]
    budgets = "Over all budgets" if np.isinf(high) else f"At log ε ≤ {plain(high)}"
    return judged(
        f"{group}: MODIPS has a much smaller {words} than the perturbed histogram.",
        f"{budgets} its {words} is {span(ours / theirs)} times that of the histogram; a budget "
        "counts if it is smaller by a tenth",
        [bool(holds) for holds in ours < 0.9 * theirs],
    )


def _means(mixed: Mixed) -> Iterator[Verdict]:
    for value in (BIAS, RMSE):
        # With larger budgets both come to the same.
        yield _smaller(mixed, value, MEANS, FAIR)
    covers = mixed.between(COVERAGE, MEANS, MODIPS)
    high = mixed.between("coverage_high", MEANS, MODIPS)
    yield judged(
        "cell means: MODIPS covers 95 % or more.",
        f"Over all budgets and cells it covers {span(100 * covers, '.0f')} %; a case counts if 95 %"
        " is not above its Monte Carlo interval",
        [bool(holds) for holds in high[~np.isnan(high)] >= 0.95],
    )
    low = mixed.median(COVERAGE, MEANS, PERTURBED, high=SMALL)
    yield judged(
        "cell means: the perturbed histogram undercovers with small budgets.",
        f"At log ε ≤ {plain(SMALL)} it covers {span(100 * low, '.0f')} % in the median cell, below "
        "93 %",
        [bool(holds) for holds in low < 0.93],
    )
    for method, goal in ((MODIPS, MS), (PERTURBED, ORIGINAL)):
        ends = mixed.between(RMSE, MEANS, method)[:, -1]
        ratios = {m: ends / mixed.between(RMSE, MEANS, m)[:, -1] for m in (MS, ORIGINAL)}
        yield judged(
            f"cell means: with a growing budget {method} comes to "
            f"{'multiple synthesis' if goal == MS else 'the results of the data'}.",
            "At the largest budget RMSE is "
            f"{span(ratios[MS])} times that of multiple synthesis and {span(ratios[ORIGINAL])} "
            "times that of the data; a mean counts if it is within 10 %",
            [bool(holds) for holds in np.abs(ratios[goal] - 1) < 0.1],
        )


def _shares(mixed: Mixed) -> Iterator[Verdict]:
    for group in (MARGINALS, CELL_SHARES):
        for value, words in ((BIAS, "bias"), (RMSE, "RMSE")):
            ours, theirs = (mixed.median(value, group, m, high=FAIR) for m in (MODIPS, PERTURBED))
            yield judged(
                f"{group}: the perturbed histogram has a smaller {words} than MODIPS.",
                f"At log ε ≤ {plain(FAIR)} its {words} is {span(theirs / ours)} times that of "
                "MODIPS; a budget counts if it is smaller",
                [bool(holds) for holds in theirs < ours],
            )
        for method in (MODIPS, PERTURBED):
            covers = mixed.between(COVERAGE, group, method)
            high = mixed.between("coverage_high", group, method)
            yield judged(
                f"{group}: {method} covers about 95 % or more.",
                f"Over all budgets it covers {span(100 * covers, '.0f')} %; a case counts if 93 % "
                "is not above its Monte Carlo interval",
                [bool(holds) for holds in high[~np.isnan(high)] >= 0.93],
            )


def _covariance(mixed: Mixed) -> Iterator[Verdict]:
    for group in (*COMPONENTS, CORRELATION):
        for value in (BIAS, RMSE):
            yield _smaller(mixed, value, group, np.inf)
    biases = [float(mixed.between(BIAS, group, PERTURBED)[0, -1]) for group in (FIRST, SECOND)]
    errors = [
        float(mixed.between("bias_error", group, PERTURBED)[0, -1]) for group in (FIRST, SECOND)
    ]
    yield judged(
        "Even without noise the histogram makes variances too large: numbers are spread over their "
        "bins.",
        f"At the largest budget its bias for both variances is {span(biases)}, more than four "
        "Monte Carlo errors above 0",
        [bias > 4 * error for bias, error in zip(biases, errors, strict=True)],
    )


def _coverage_of_covariance(mixed: Mixed) -> Iterator[Verdict]:
    for group in COMPONENTS:
        covers = mixed.between(COVERAGE, group, PERTURBED)[0]
        high = mixed.between("coverage_high", group, PERTURBED)[0]
        yield judged(
            f"{group}: the perturbed histogram undercovers severely at all budgets, and never "
            "comes to 95 %.",
            f"It covers {span(100 * covers, '.0f')} %; a budget counts if 95 % is above its Monte "
            "Carlo interval",
            [bool(holds) for holds in high < 0.95],
        )
    for group in COMPONENTS:
        covers = mixed.between(COVERAGE, group, MODIPS, low=FAIR)[0]
        smaller = mixed.between(COVERAGE, group, MODIPS, high=FAIR)[0]
        yield judged(
            f"{group}: MODIPS has nominal coverage, at least from some budget on.",
            f"At log ε ≥ {plain(FAIR)} it covers {span(100 * covers, '.0f')} %, within 4 points of "
            f"95 %; with smaller budgets {span(100 * smaller, '.0f')} %",
            [bool(holds) for holds in np.abs(covers - 0.95) < 0.04],
        )
