"""What the paper says of study 2: all points, and those about bins, symmetric bounds, variances.

The points are those of Bowen & Liu (2016), §4.2, in our words, each beside our results.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import Curves, Reading, below, plain, span

MEDIANS = {40: 7, 100: 10, 1000: 21}
"""Median numbers of bins that the paper gives, by n."""


def about_study(curves: Curves) -> tuple[Verdict, ...]:
    """All points that the paper makes.

    Args:
        curves: results, by shape of the bounds, variance and n.
    """
    mean, variance = Reading(curves, MEAN), Reading(curves, VARIANCE)
    return (
        _bins(curves),
        *about_errors(mean),
        *about_coverage(mean),
        *_symmetric(mean, variance),
        *_variance(variance),
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


def _symmetric(mean: Reading, variance: Reading) -> Iterator[Verdict]:
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
    yield from _worse_than_models(variance, SYMMETRIC)


def _worse_than_models(reading: Reading, shape: str) -> Iterator[Verdict]:
    """Histograms against models, for the variance with small budgets."""
    here = points(reading, shape)
    for value, words in ((BIAS, "bias"), (RMSE, "RMSE")):
        yield judged(
            f"For σ², within {shape} bounds, both histograms have a larger {words} than MODIPS.",
            f"At log ε from {plain(SMALL)} to {plain(FAIR)}, so it is against both budgets of "
            "MODIPS",
            [
                holds
                for p in here
                for histogram in HISTOGRAMS
                for model in MODELS
                for holds in below(
                    size(reading.between(value, p, model, SMALL, FAIR)),
                    size(reading.between(value, p, histogram, SMALL, FAIR)),
                )
            ],
        )
    found = np.concatenate(
        [reading.between(COVERAGE, p, m, high=MIDDLE) for p in here for m in HISTOGRAMS]
    )
    others = np.concatenate(
        [reading.between(COVERAGE, p, m, high=MIDDLE) for p in here for m in MODELS]
    )
    yield judged(
        f"For σ², within {shape} bounds, the histograms undercover severely with small budgets, "
        "unlike MODIPS.",
        f"At ε ≤ 1 they cover {span(100 * found, '.0f')} %, less than 75 %, and MODIPS "
        f"{span(100 * others, '.0f')} %",
        [bool(holds) for holds in found < 0.75],
    )


def _variance(reading: Reading) -> Iterator[Verdict]:
    yield from _worse_than_models(reading, ASYMMETRIC)
    here = points(reading, ASYMMETRIC)
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
