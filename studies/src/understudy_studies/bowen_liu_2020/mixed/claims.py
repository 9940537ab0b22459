"""What the paper says of study 3, each point beside our results.

The points are those of Bowen & Liu (2016), §4.3, in our words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.bowen_liu_2020.mixed import mixed_causes
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
from understudy_studies.bowen_liu_2020.rmse_errors import margins_below
from understudy_studies.framework.claim_verdicts import Verdict, judged, judged_by_margins
from understudy_studies.framework.result_curves import Curves, Point, Reading, Values, plain, span
from understudy_studies.framework.verdict_causes import Cause

FEWEST_BINS, MOST_BINS = 16, 49
"""Range of the cells' median numbers of bins, as printed."""
SMALL, FAIR = 1.0, 4.0
"""Budgets (log ε) up to which, or from which on, a point is looked at."""
COMPONENTS = (FIRST, SECOND, PRODUCT)


PARAMETERS = ("n_rows", "correlation", "centre", "spread")
"""What tells populations apart; the paper is judged by the first."""


class Mixed:
    """Curves of groups of estimands in one population.

    Args:
        curves: results, by `PARAMETERS`.
        point: which population; None for the one that the paper is judged by.
    """

    def __init__(self, curves: Curves, point: Point | None = None) -> None:
        self.curves = curves
        self.point: Point = curves.points[0] if point is None else point

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


def about_study(curves: Curves, repetitions: int) -> tuple[Verdict, ...]:
    """All points that the paper makes.

    Args:
        curves: results, by `PARAMETERS`.
        repetitions: number of repetitions of a population.
    """
    mixed = Mixed(curves)
    return (
        _bins(curves),
        *_means(mixed, repetitions),
        *_shares(mixed, repetitions),
        *_covariance(mixed, repetitions),
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


def _smaller(mixed: Mixed, value: str, group: str, high: float, why: Cause) -> Verdict:
    """Whether MODIPS has smaller values than the histogram, by the median over a group."""
    ours, theirs = (mixed.median(value, group, m, high=high) for m in (MODIPS, PERTURBED))
    words = {BIAS: "bias", RMSE: "RMSE"}[value]
    return judged(
        f"{group}: MODIPS has a much smaller {words} than the perturbed histogram.",
        f"At log ε ≤ {plain(high)} its {words} is {span(ours / theirs)} times that of the "
        "histogram; a budget counts if it is smaller by a tenth",
        [bool(holds) for holds in ours < 0.9 * theirs],
        why=why,
    )


def _means(mixed: Mixed, repetitions: int) -> Iterator[Verdict]:
    for value in (BIAS, RMSE):
        # With larger budgets both come to the same.
        why = mixed_causes.MEANS_BIASED if value == BIAS else mixed_causes.MEANS_APART
        yield _smaller(mixed, value, MEANS, FAIR, why)
    covers = mixed.between(COVERAGE, MEANS, MODIPS)
    high = mixed.between("coverage_high", MEANS, MODIPS)
    yield judged(
        "cell means: MODIPS covers 95 % or more.",
        f"Over all budgets and cells it covers {span(100 * covers, '.0f')} %; a case counts if 95 %"
        " is not above its Monte Carlo interval",
        [bool(holds) for holds in high[~np.isnan(high)] >= 0.95],
        why=mixed_causes.MEANS_COVERED,
    )
    low = mixed.median(COVERAGE, MEANS, PERTURBED, high=SMALL)
    yield judged(
        "cell means: the perturbed histogram undercovers with small budgets.",
        f"At log ε ≤ {plain(SMALL)} it covers {span(100 * low, '.0f')} % in the median cell, below "
        "93 %",
        [bool(holds) for holds in low < 0.93],
        why=mixed_causes.MEANS_UNDERCOVERED,
    )
    for method, goal in ((MODIPS, MS), (PERTURBED, ORIGINAL)):
        ends = mixed.between(RMSE, MEANS, method)[:, -1]
        ratios = {m: ends / mixed.between(RMSE, MEANS, m)[:, -1] for m in (MS, ORIGINAL)}
        claim = (
            f"cell means: with a growing budget {method} comes to "
            f"{'multiple synthesis' if goal == MS else 'the results of the data'}."
        )
        found = (
            f"At the largest budget RMSE is {span(ratios[MS])} times that of multiple synthesis "
            f"and {span(ratios[ORIGINAL])} times that of the data; a mean counts if it is within "
            "10 %"
        )
        gaps = 0.1 - np.abs(ratios[goal] - 1)
        if goal == ORIGINAL:
            cases = [bool(gap > 0) for gap in gaps]
            yield judged(claim, found, cases, why=mixed_causes.MEANS_END)
        else:
            margins = zip(gaps, _added(ratios[ORIGINAL], repetitions), strict=True)
            yield judged_by_margins(claim, found, list(margins), repetitions=repetitions)


def _added(ratios: Values, repetitions: int) -> Values:
    """Standard errors of ratios of RMSE of two ways to draw sets from the same data.

    Both have the error of the data, 1, and one of their own, √(r² − 1); only these differ.

    Args:
        ratios: r, of RMSE to that of the data.
        repetitions: R.
    """
    own = np.sqrt(np.maximum(ratios**2 - 1, 0)) / ratios**2
    return np.asarray(np.sqrt(2 / repetitions) * own)


def _errors(mixed: Mixed, value: str, group: str, repetitions: int) -> Values:
    """Standard errors of a difference of medians over a group at log ε ≤ 4.

    A median of several alike, taken for as uncertain as one of them; RMSE has the relative error
    1/√(2R).
    """
    found = [
        mixed.median("bias_error", group, m, high=FAIR)
        if value == BIAS
        else mixed.median(RMSE, group, m, high=FAIR) / np.sqrt(2 * repetitions)
        for m in (MODIPS, PERTURBED)
    ]
    return np.asarray(np.hypot(*found))


def _shares(mixed: Mixed, repetitions: int) -> Iterator[Verdict]:
    for group in (MARGINALS, CELL_SHARES):
        for value, words in ((BIAS, "bias"), (RMSE, "RMSE")):
            ours, theirs = (mixed.median(value, group, m, high=FAIR) for m in (MODIPS, PERTURBED))
            yield judged_by_margins(
                f"{group}: the perturbed histogram has a smaller {words} than MODIPS.",
                f"At log ε ≤ {plain(FAIR)} its {words} is {span(theirs / ours)} times that of "
                "MODIPS; a budget counts if it is smaller",
                list(zip(ours - theirs, _errors(mixed, value, group, repetitions), strict=True)),
                repetitions=repetitions,
                why=mixed_causes.SHARES_APART,
            )
        for method in (MODIPS, PERTURBED):
            covers = mixed.between(COVERAGE, group, method)
            high = mixed.between("coverage_high", group, method)
            yield judged(
                f"{group}: {method} covers about 95 % or more.",
                f"Over all budgets it covers {span(100 * covers, '.0f')} %; a case counts if 93 % "
                "is not above its Monte Carlo interval",
                [bool(holds) for holds in high[~np.isnan(high)] >= 0.93],
                why=mixed_causes.SMALL_CELLS if group == CELL_SHARES else None,
            )


def _much_smaller(mixed: Mixed, value: str, group: str, repetitions: int) -> Verdict:
    """Whether MODIPS has smaller values than the histogram, of a single estimand."""
    reading = Reading(mixed.curves, group)
    ours, theirs = (np.abs(mixed.between(value, group, m)[0]) for m in (MODIPS, PERTURBED))
    if value == BIAS:
        errors = [mixed.between("bias_error", group, m)[0] for m in (MODIPS, PERTURBED)]
        gaps = zip(0.9 * theirs - ours, np.hypot(errors[0], 0.9 * errors[1]), strict=True)
        margins = [(float(gap), float(error)) for gap, error in gaps]
    else:
        sides = (mixed.point, MODIPS), (mixed.point, PERTURBED)
        margins = margins_below(reading, *sides, room=float(np.log(0.9)))
    words = {BIAS: "bias", RMSE: "RMSE"}[value]
    return judged_by_margins(
        f"{group}: MODIPS has a much smaller {words} than the perturbed histogram.",
        f"Over all budgets its {words} is {span(ours / theirs)} times that of the histogram; a "
        "budget counts if it is smaller by a tenth",
        margins,
        repetitions=repetitions,
        why=mixed_causes.OF_COVARIANCE.get(group),
    )


def _covariance(mixed: Mixed, repetitions: int) -> Iterator[Verdict]:
    for group in (*COMPONENTS, CORRELATION):
        for value in (BIAS, RMSE):
            yield _much_smaller(mixed, value, group, repetitions)
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
            why=mixed_causes.PRODUCT_COVERED if group == PRODUCT else None,
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
