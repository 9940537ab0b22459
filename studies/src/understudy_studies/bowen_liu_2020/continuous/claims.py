"""What the paper says of study 2: all points, and those about bins, symmetric bounds, variances.

The points are those of Bowen & Liu (2016), §4.2, in our words, each beside our results.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.bowen_liu_2020.continuous.mean_causes import SMALL_VARIANCE
from understudy_studies.bowen_liu_2020.continuous.mean_coverage_claims import about_coverage
from understudy_studies.bowen_liu_2020.continuous.mean_error_claims import (
    FAIR,
    HISTOGRAMS,
    MIDDLE,
    MODELS,
    SMALL,
    about_errors,
    points,
    size,
)
from understudy_studies.bowen_liu_2020.continuous.simulation import (
    ASYMMETRIC,
    BINS,
    MEAN,
    N_ROWS,
    NONSPLIT,
    PERTURBED,
    PRIVATE,
    SMOOTHED,
    SPLIT,
    SYMMETRIC,
    VARIANCE,
)
from understudy_studies.bowen_liu_2020.panels import BIAS, COVERAGE, RMSE
from understudy_studies.bowen_liu_2020.rmse_errors import margins_below
from understudy_studies.framework.claim_verdicts import Verdict, judged, judged_by_margins
from understudy_studies.framework.result_curves import (
    Curves,
    Point,
    Reading,
    Values,
    below,
    plain,
    span,
)

MEDIANS = {40: 7, 100: 10, 1000: 21}
"""Median numbers of bins that the paper gives, by n."""


def about_study(curves: Curves, repetitions: int) -> tuple[Verdict, ...]:
    """All points that the paper makes.

    Args:
        curves: results, by shape of the bounds, variance and n.
        repetitions: number of repetitions of a scenario.
    """
    mean, variance = Reading(curves, MEAN), Reading(curves, VARIANCE)
    return (
        _bins(curves),
        *about_errors(mean),
        *about_coverage(mean),
        *_symmetric(mean, variance, repetitions),
        *_variance(variance, repetitions),
    )


def _bins(curves: Curves) -> Verdict:
    found = {
        point: curves.along("bins_median", point, BINS, PERTURBED)[0]
        for point in curves.points
        if point[0] == ASYMMETRIC
    }
    texts = [
        f"{span([value for point, value in found.items() if point[2] == n], 'g')} for n = {n:,}"
        for n in N_ROWS
    ]
    return judged(
        "Scott's rule gives 7, 10 and 21 bins in the median. (That is also what the width of the "
        "bounds, seven standard deviations, was found from.)",
        f"Medians are {', '.join(texts)}",
        [value == MEDIANS[point[2]] for point, value in found.items()],
    )


def _symmetric(mean: Reading, variance: Reading, repetitions: int) -> Iterator[Verdict]:
    here = points(mean, SYMMETRIC)
    ratios = np.concatenate(
        [
            size(mean.between(BIAS, p, m)) / mean.between("bias_error", p, m)
            for p in here
            for m in PRIVATE
        ]
    )
    yield judged(
        "Within symmetric bounds the bias for μ is minimal.",
        f"It is within four Monte Carlo errors of 0; the largest is {ratios.max():.1f} errors",
        [bool(holds) for holds in ratios < 4],
    )
    for method in HISTOGRAMS:
        yield judged(
            f"There {method} has a smaller RMSE for μ than MODIPS, with nominal coverage or more.",
            "At ε ≤ 1, RMSE is below that of both budgets of MODIPS, and coverage above 93 %",
            [
                rmse and covers
                for p in here
                for model in MODELS
                for rmse, covers in zip(
                    mean.between(RMSE, p, method, high=MIDDLE)
                    < mean.between(RMSE, p, model, high=MIDDLE),
                    mean.between(COVERAGE, p, method, high=MIDDLE) > 0.93,
                    strict=True,
                )
            ],
        )
    yield from _worse_than_models(variance, SYMMETRIC, repetitions)
    yield _severely(variance)


def _worse_than_models(reading: Reading, shape: str, repetitions: int) -> Iterator[Verdict]:
    """Histograms against models, for the variance with small budgets."""
    here = points(reading, shape)
    for value, words in ((BIAS, "bias"), (RMSE, "RMSE")):
        yield judged_by_margins(
            f"For σ², within {shape} bounds, both histograms have a larger {words} than MODIPS.",
            f"At log ε from {plain(SMALL)} to {plain(FAIR)}, so it is against both budgets of "
            "MODIPS",
            [
                margin
                for p in here
                for histogram in HISTOGRAMS
                for model in MODELS
                for margin in _margins(reading, value, (p, model), (p, histogram))
            ],
            repetitions=repetitions,
            why=SMALL_VARIANCE,
        )


def _margins(
    reading: Reading, value: str, better: tuple[Point, str], worse: tuple[Point, str]
) -> list[tuple[float, float]]:
    """By how much |bias| or log RMSE of one is below that of another, with its error."""
    if value == RMSE:
        return margins_below(reading, better, worse, SMALL, FAIR)
    gaps = np.subtract(*(size(reading.between(BIAS, *one, SMALL, FAIR)) for one in (worse, better)))
    errors = np.hypot(
        *(reading.between("bias_error", *one, SMALL, FAIR) for one in (worse, better))
    )
    return [(float(gap), float(error)) for gap, error in zip(gaps, errors, strict=True)]


def _severely(reading: Reading) -> Verdict:
    """Coverage for the variance within symmetric bounds."""
    here = points(reading, SYMMETRIC)
    found = np.concatenate(
        [reading.between(COVERAGE, p, m, high=MIDDLE) for p in here for m in HISTOGRAMS]
    )
    others = np.concatenate(
        [reading.between(COVERAGE, p, m, high=MIDDLE) for p in here for m in MODELS]
    )
    return judged(
        "For σ², within symmetric bounds, the histograms undercover severely with small budgets, "
        "unlike MODIPS.",
        f"At ε ≤ 1 they cover {span(100 * found, '.0f')} %, less than 75 %, and MODIPS "
        f"{span(100 * others, '.0f')} %",
        [bool(holds) for holds in found < 0.75],
    )


def _far(reading: Reading, point: Point, method: str) -> Values:
    """Distance of coverage from 95 % at ε ≤ 1."""
    return size(reading.between(COVERAGE, point, method, high=MIDDLE) - 0.95)


def _variance(reading: Reading, repetitions: int) -> Iterator[Verdict]:
    yield from _worse_than_models(reading, ASYMMETRIC, repetitions)
    here = points(reading, ASYMMETRIC)
    yield judged(
        "For σ², within asymmetric bounds, MODIPS covers much better than the histograms.",
        "At ε ≤ 1 the coverage of both budgets of MODIPS is nearer to 95 % than that of the "
        "histograms, by 5 points or more",
        [
            bool(holds)
            for p in here
            for histogram in HISTOGRAMS
            for model in MODELS
            for holds in _far(reading, p, model) + 0.05 <= _far(reading, p, histogram)
        ],
    )
    ratios = np.concatenate(
        [
            reading.between(RMSE, p, NONSPLIT, SMALL, FAIR)
            / reading.between(RMSE, p, SPLIT, SMALL, FAIR)
            for p in here
        ]
    )
    yield judged(
        "For σ², the non-split budget of MODIPS does slightly better than the split one.",
        f"RMSE of the non-split one is {span(ratios)} times that of the other, at log ε from "
        f"{plain(SMALL)} to {plain(FAIR)}; not more than 2 % above it",
        [bool(holds) for holds in ratios < 1.02],
    )
    yield judged(
        "For σ², the perturbed histogram is noticeably better than the smoothed one.",
        f"Its RMSE is smaller by a tenth or more, at log ε from {plain(SMALL)} to {plain(FAIR)}",
        [
            holds
            for p in here
            for holds in below(
                reading.between(RMSE, p, PERTURBED, SMALL, FAIR),
                0.9 * reading.between(RMSE, p, SMOOTHED, SMALL, FAIR),
            )
        ],
    )
