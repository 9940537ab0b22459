"""What the paper says of study 2: coverage of the mean within asymmetric bounds.

The points are those of Bowen & Liu (2016), §4.2, in our words, each beside our results.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.bowen_liu_2020.continuous.mean_error_claims import (
    HISTOGRAMS,
    MIDDLE,
    MODELS,
    SMALL,
    points,
    size,
)
from understudy_studies.bowen_liu_2020.continuous.simulation import (
    ASYMMETRIC,
    N_ROWS,
    NONSPLIT,
    PERTURBED,
    PRIVATE,
    SMOOTHED,
    SPLIT,
    VARIANCES,
)
from understudy_studies.bowen_liu_2020.panels import BIAS, COVERAGE, WIDTH
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import Point, Reading, Values, plain, span

LARGEST = N_ROWS[-1]


def about_coverage(reading: Reading) -> Iterator[Verdict]:
    """All points about coverage."""
    here = points(reading, ASYMMETRIC)
    for method in HISTOGRAMS:
        found = np.concatenate(
            [
                reading.between(COVERAGE, (ASYMMETRIC, v, LARGEST), method, high=MIDDLE)
                for v in VARIANCES
            ]
        )
        yield judged(
            f"With small budgets and large n, {method} undercovers μ.",
            f"For n = {LARGEST:,} at ε ≤ 1 it covers {span(100 * found, '.0f')} %, below 93 %",
            [bool(holds) for holds in found < 0.93],
        )
    for method in MODELS:
        found = np.concatenate([reading.between(COVERAGE, p, method) for p in here])
        yield judged(
            f"{method} covers μ about as often as it should.",
            f"Over all budgets, n and σ² it covers {span(100 * found, '.0f')} %, within 5 points "
            "of 95 %",
            [bool(holds) for holds in size(found - 0.95) < 0.05],
        )
    yield _shrinking(reading)
    far = {m: [_distance(reading, p, m) for p in here] for m in PRIVATE}
    means = {m: 100 * float(np.mean(values)) for m, values in far.items()}
    yield judged(
        "For μ the two budgets of MODIPS do best of all private methods.",
        "In every scenario their mean distance of coverage from 95 % is below that of both "
        "histograms; on average "
        + ", ".join(f"{m} {mean:.1f}" for m, mean in means.items())
        + " points",
        [
            max(far[SPLIT][k], far[NONSPLIT][k]) < min(far[PERTURBED][k], far[SMOOTHED][k])
            for k in range(len(here))
        ],
    )


def _shrinking(reading: Reading) -> Verdict:
    """The symbol of what grows is lost; with ε instead of n the point would hardly ever hold."""

    def with_size(value: str, method: str) -> Values:
        found = [
            [reading.between(value, (ASYMMETRIC, v, n), method, high=SMALL) for n in N_ROWS]
            for v in VARIANCES
        ]
        return np.concatenate(
            [np.diff(np.log(size(np.array(one))), axis=0).ravel() for one in found]
        )

    def with_budget(value: str, method: str) -> Values:
        found = [
            reading.between(value, (ASYMMETRIC, v, LARGEST), method, high=SMALL) for v in VARIANCES
        ]
        return np.concatenate([np.diff(np.log(size(one))) for one in found])

    cases = {
        along: np.concatenate([along(WIDTH, m) < along(BIAS, m) for m in HISTOGRAMS])
        for along in (with_size, with_budget)
    }
    return judged(
        "Histograms undercover with small budgets because there intervals shrink, with growing n, "
        "and the bias hardly does. (What grows is not in the text that we have; n is our reading.)",
        f"At log ε ≤ {plain(SMALL)}, from one n to the next intervals shrink by a larger factor "
        f"than the bias. Read with growing ε it would hold in {int(cases[with_budget].sum())} of "
        f"{cases[with_budget].size}",
        [bool(holds) for holds in cases[with_size]],
    )


def _distance(reading: Reading, point: Point, method: str) -> float:
    return float(np.mean(size(reading.between(COVERAGE, point, method) - 0.95)))
