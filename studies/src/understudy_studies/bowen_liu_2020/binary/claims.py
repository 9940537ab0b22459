"""What the paper says of intervals in study 1: how often there is one, and how often it holds π.

The points are those of Bowen & Liu (2016), §4.1, in our words, each beside our results.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.bowen_liu_2020.binary import share_causes
from understudy_studies.bowen_liu_2020.binary.share_error_claims import SMALL, shares, sizes, skewed
from understudy_studies.bowen_liu_2020.binary.simulation import (
    DP_PRIOR,
    DRAWN,
    LAPLACE,
    MD,
    MS,
    ORIGINAL,
    PRIVATE,
    THRESHOLD,
    TRUNCATION,
)
from understudy_studies.bowen_liu_2020.binary.usable import compared, tables_agree
from understudy_studies.bowen_liu_2020.panels import COVERAGE
from understudy_studies.framework.claim_verdicts import Verdict, judged
from understudy_studies.framework.result_curves import Reading, Values, below, plain, span


def about_coverage(reading: Reading) -> Iterator[Verdict]:
    """All points about coverage."""
    yield _nearest(reading)
    yield _undercoverage(reading)
    yield from _nominal(reading)
    yield _small_samples(reading)


def about_usable(reading: Reading, repetitions: int) -> Iterator[Verdict]:
    """The printed tables of usable repetitions."""
    entries = compared(reading.curves, repetitions)
    far = np.abs([entry.z for entry in entries])
    other = np.abs([entry.z for entry in compared(reading.curves, repetitions, DRAWN)])
    yield judged(
        "Usable repetitions of the Laplace sanitizer: a printed table of 54 shares. (It is also "
        "what n, π and the scale of the noise were found from.)",
        f"The largest |z| is {far.max():.2f}; {int((far > 3).sum())} of 54 are above 3 (tables "
        "agree if none is above 4, and at most three are above 3). The sum of z² is "
        f"{(far**2).sum():.0f}, and with a set drawn {(other**2).sum():.0f}; of equal laws 54 "
        "would be expected",
        [tables_agree(entries)],
    )
    found = np.concatenate(
        [
            reading.curves.along("usable_share", point, reading.estimand, method)[:2]
            for point in reading.curves.points
            for method in PRIVATE
            if method != LAPLACE
        ]
    )
    yield judged(
        "Of the other methods nearly all repetitions are usable, even with the smallest budgets "
        "(printed shares from 0.9994 to 1).",
        f"With the two smallest budgets {span(found, '.4f')} of them are, above 0.998",
        [bool(holds) for holds in found > 0.998],
    )


def _nearest(reading: Reading) -> Verdict:
    points = reading.curves.points
    far = {
        method: np.abs(
            np.concatenate([reading.between(COVERAGE, p, method) for p in points]) - 0.95
        )
        for method in PRIVATE
    }
    means = {method: 100 * float(np.nanmean(far[method])) for method in PRIVATE}
    others = {method: mean for method, mean in means.items() if method != THRESHOLD}
    second = min(others, key=lambda one: others[one])
    return judged(
        "MODIPS with thresholding has the coverage nearest to 95 %, whatever π, n and ε.",
        f"No method is nearer by more than 2 points; it is {means[THRESHOLD]:.1f} points off on "
        f"average, the next best ({second}) {means[second]:.1f}",
        [bool(holds) for holds in far[THRESHOLD] <= np.nanmin(list(far.values()), axis=0) + 0.02],
    )


def _undercoverage(reading: Reading) -> Verdict:
    found = np.array(
        [
            [reading.at(COVERAGE, (pi, n), THRESHOLD, SMALL) for n in sizes(reading)]
            for pi in shares(list(reading.curves.points))
        ]
    )
    steps = np.concatenate([np.diff(found, axis=0).ravel(), np.diff(found, axis=1).ravel()])
    return judged(
        "MODIPS undercovers with small budgets, less so as π comes to ½ and n grows.",
        f"With thresholding, coverage at log ε = {plain(SMALL)} is {span(100 * found, '.0f')} %, "
        "and higher for the next π and the next n, or as high",
        [bool(holds) for holds in steps > -0.01],
    )


def _nominal(reading: Reading) -> Iterator[Verdict]:
    points = reading.curves.points

    def covers(method: str) -> Values:
        return np.array([reading.last(COVERAGE, point, method) for point in points])

    data, sets = covers(ORIGINAL), covers(MS)
    yield judged(
        "As the budget grows, the coverage of MODIPS, MD and the Laplace sanitizer comes to 95 %.",
        "With the largest budget it is within 2 points of that without noise: of multiple "
        f"synthesis, {span(100 * sets, '.0f')} %, or for Laplace of the data, "
        f"{span(100 * data, '.0f')} %, which is less than 95 % at n = 40 where so few shares are "
        "possible. Of a set drawn with the noisy share of Laplace it would be "
        f"{span(100 * covers(DRAWN), '.0f')} %",
        [
            bool(holds)
            for method in (THRESHOLD, TRUNCATION, MD, LAPLACE)
            for holds in np.abs(covers(method) - (data if method == LAPLACE else sets)) <= 0.02
        ],
    )
    yield judged(
        "The coverage of the DP-prior does not come to 95 %.",
        f"With the largest budget it is {span(100 * covers(DP_PRIOR), '.0f')} %, more than 3 "
        "points below that of the data",
        [bool(holds) for holds in covers(DP_PRIOR) < data - 0.03],
    )


def _small_samples(reading: Reading) -> Verdict:
    least, most = sizes(reading)[0], sizes(reading)[-1]
    return judged(
        "With small budgets (π ≠ ½) all methods but MODIPS with thresholding cover better for "
        "small n, since intervals shrink with n and the bias does not.",
        f"At log ε ≤ {plain(SMALL)}, coverage for n = {least} is at least that for n = {most:,}",
        [
            holds
            for pi in shares(skewed(reading))
            for method in PRIVATE
            if method != THRESHOLD
            for holds in below(
                reading.between(COVERAGE, (pi, most), method, high=SMALL),
                reading.between(COVERAGE, (pi, least), method, high=SMALL) + 1e-9,
            )
        ],
        why=share_causes.NARROW_SAMPLES,
    )
