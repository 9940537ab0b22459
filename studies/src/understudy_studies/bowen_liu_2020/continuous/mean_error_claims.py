"""What the paper says of study 2: errors of the mean within asymmetric bounds.

The points are those of Bowen & Liu (2016), §4.2, in our words, each beside our results.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from understudy_studies.bowen_liu_2020.continuous.mean_causes import SMOOTHED_END
from understudy_studies.bowen_liu_2020.continuous.simulation import (
    ASYMMETRIC,
    MS,
    N_ROWS,
    NONSPLIT,
    ORIGINAL,
    PERTURBED,
    PRIVATE,
    SMOOTHED,
    SPLIT,
    VARIANCES,
)
from understudy_studies.bowen_liu_2020.panels import BIAS, RMSE
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import Point, Reading, Values, below, plain, span

SMALL, MIDDLE, FAIR = -2.0, 0.0, 4.0
"""Budgets (log ε) up to which, or from which on, a point is looked at."""
MODELS, HISTOGRAMS = (SPLIT, NONSPLIT), (PERTURBED, SMOOTHED)


def points(reading: Reading, shape: str) -> list[Point]:
    """Scenarios within bounds of a shape."""
    return [point for point in reading.curves.points if point[0] == shape]


def size(values: Values) -> Values:
    """Absolute values."""
    return np.asarray(np.abs(values))


def about_errors(reading: Reading) -> Iterator[Verdict]:
    """All points about bias and RMSE."""
    here = points(reading, ASYMMETRIC)
    yield judged(
        "With small budgets all private methods have a bias and a large RMSE.",
        f"At log ε = {plain(SMALL)} the bias for μ exceeds four Monte Carlo errors, and RMSE is "
        "more than twice that of the data",
        [
            reading.at(BIAS, p, m, SMALL) > 4 * reading.at("bias_error", p, m, SMALL)
            and reading.at(RMSE, p, m, SMALL) > 2 * reading.last(RMSE, p, ORIGINAL)
            for p in here
            for m in PRIVATE
        ],
    )
    for method in PRIVATE:
        yield _end(reading, method)
    for method in (SPLIT, NONSPLIT, PERTURBED):
        yield judged(
            f"For larger n, {method} comes to the right values at smaller budgets.",
            f"RMSE for μ is smaller for the next larger n, at log ε ≥ {plain(SMALL)}",
            [
                holds
                for variance in VARIANCES
                for small, large in pairwise(N_ROWS)
                for holds in below(
                    reading.between(RMSE, (ASYMMETRIC, variance, large), method, SMALL),
                    reading.between(RMSE, (ASYMMETRIC, variance, small), method, SMALL),
                )
            ],
        )
    yield _worse_with_size(reading)
    yield _overestimated(reading)
    yield from _models_apart(reading)
    yield from _histograms_apart(reading)


def _end(reading: Reading, method: str) -> Verdict:
    goals = [
        max(reading.last(RMSE, p, ORIGINAL), reading.last(RMSE, p, MS))
        for p in points(reading, ASYMMETRIC)
    ]
    ratios = [
        reading.last(RMSE, p, method) / goal
        for p, goal in zip(points(reading, ASYMMETRIC), goals, strict=True)
    ]
    return judged(
        f"With a growing budget {method} comes to the results of the data or of multiple "
        "synthesis.",
        f"At the largest budget its RMSE for μ is {span(ratios)} times the larger of theirs, at "
        "most 1.1 times",
        [ratio < 1.1 for ratio in ratios],
        why=SMOOTHED_END if method == SMOOTHED else None,
    )


def _worse_with_size(reading: Reading) -> Verdict:
    biases = [reading.at(BIAS, (ASYMMETRIC, 1.0, n), SMOOTHED, MIDDLE) for n in N_ROWS]
    listed = ", ".join(f"{bias:.3f} (n = {n:,})" for bias, n in zip(biases, N_ROWS, strict=True))
    return judged(
        "The smoothed histogram gets worse as n grows.",
        f"Its bias for μ grows with n, at log ε from {plain(MIDDLE)} to {plain(FAIR)}; at ε = 1 "
        f"and σ² = 1 it is {listed}",
        [
            holds
            for variance in VARIANCES
            for small, large in pairwise(N_ROWS)
            for holds in below(
                reading.between(BIAS, (ASYMMETRIC, variance, small), SMOOTHED, MIDDLE, FAIR),
                reading.between(BIAS, (ASYMMETRIC, variance, large), SMOOTHED, MIDDLE, FAIR),
            )
        ],
    )


def _overestimated(reading: Reading) -> Verdict:
    signs = []
    for p in points(reading, ASYMMETRIC):
        for m in PRIVATE:
            bias, error = reading.between(BIAS, p, m), reading.between("bias_error", p, m)
            signs += [bool(holds) for holds in (bias > 0)[size(bias) > 4 * error]]
    return judged(
        "Within asymmetric bounds μ is overestimated, in all cases.",
        "Wherever the bias exceeds four Monte Carlo errors it is positive",
        signs,
    )


def _models_apart(reading: Reading) -> Iterator[Verdict]:
    here = points(reading, ASYMMETRIC)
    yield judged(
        "For μ, the split budget of MODIPS does slightly better than the non-split one.",
        "RMSE of the split one is not more than 2 % above the other, at log ε from "
        f"{plain(SMALL)} to {plain(FAIR)}",
        [
            holds
            for p in here
            for holds in below(
                reading.between(RMSE, p, SPLIT, SMALL, FAIR),
                1.02 * reading.between(RMSE, p, NONSPLIT, SMALL, FAIR),
            )
        ],
    )

    def apart(variance: float, n: int) -> float:
        ratios = [reading.at(RMSE, (ASYMMETRIC, variance, n), m, MIDDLE) for m in (NONSPLIT, SPLIT)]
        return ratios[0] / ratios[1]

    ratios = [apart(variance, n) for variance in VARIANCES for n in N_ROWS]
    yield judged(
        "The two budgets of MODIPS differ more as n and σ grow.",
        f"At ε = 1, RMSE for μ of the non-split one is {span(ratios)} times that of the split one; "
        "the ratio grows with the next σ² and the next n",
        [
            *(
                apart(large, n) > apart(small, n)
                for small, large in pairwise(VARIANCES)
                for n in N_ROWS
            ),
            *(
                apart(v, large) > apart(v, small)
                for v in VARIANCES
                for small, large in pairwise(N_ROWS)
            ),
        ],
    )


def _histograms_apart(reading: Reading) -> Iterator[Verdict]:
    here = points(reading, ASYMMETRIC)
    least = reading.curves.budgets[0]
    gaps = [
        reading.at(BIAS, p, PERTURBED, least) / reading.at(BIAS, p, SMOOTHED, least) for p in here
    ]
    yield judged(
        "With small budgets both histograms have a similar bias.",
        f"At log ε = {plain(least)} the bias of the perturbed histogram is {span(gaps)} times that "
        "of the smoothed one, within 10 %",
        [0.9 < gap < 1.1 for gap in gaps],
    )
    yield judged(
        "The bias of the perturbed histogram goes sooner than that of the smoothed one.",
        f"It is smaller, at log ε from {plain(SMALL)} to {plain(FAIR)}",
        [
            holds
            for p in here
            for holds in below(
                size(reading.between(BIAS, p, PERTURBED, SMALL, FAIR)),
                size(reading.between(BIAS, p, SMOOTHED, SMALL, FAIR)),
            )
        ],
    )
    yield judged(
        "With small budgets the histograms have a smaller RMSE for μ than MODIPS.",
        f"So it is for both, against both budgets of MODIPS, at log ε ≤ {plain(SMALL)}",
        [
            holds
            for p in here
            for histogram in HISTOGRAMS
            for model in MODELS
            for holds in below(
                reading.between(RMSE, p, histogram, high=SMALL),
                reading.between(RMSE, p, model, high=SMALL),
            )
        ],
    )
