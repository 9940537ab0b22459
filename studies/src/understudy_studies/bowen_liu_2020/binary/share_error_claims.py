"""What the paper says of errors in study 1: where bias and RMSE are large, and of which method.

The points are those of Bowen & Liu (2016), §4.1, in our words, each beside our results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from understudy_studies.bowen_liu_2020.binary import share_causes
from understudy_studies.bowen_liu_2020.binary.simulation import (
    DP_PRIOR,
    LAPLACE,
    MD,
    MS,
    ORIGINAL,
    PRIVATE,
    THRESHOLD,
    TRUNCATION,
)
from understudy_studies.bowen_liu_2020.panels import BIAS, COVERAGE, RMSE
from understudy_studies.bowen_liu_2020.rmse_errors import margins_below
from understudy_studies.framework.claim_verdicts import Verdict, judged, judged_by_margins
from understudy_studies.framework.result_curves import Point, Reading, Values, below, plain, span

SMALL, MIDDLE, FAIR = -4.0, 0.0, 1.0
"""Budgets (log ε): a small one, ε = 1, and the end of the range in which methods differ."""
_WORDS = {MS: "multiple synthesis without noise", ORIGINAL: "the data"}


def about_errors(reading: Reading, repetitions: int) -> Iterator[Verdict]:
    """All points about bias and RMSE."""
    yield _small_budgets(reading)
    for method, goal in ((THRESHOLD, MS), (TRUNCATION, MS), (LAPLACE, MS), (MD, ORIGINAL)):
        yield _the_end(reading, method, goal)
    yield _larger_samples(reading)
    yield from _lasting_bias(reading)
    yield from _precise_at_half(reading)
    yield _best_at_half(reading, repetitions)
    yield from _order_of_bias(reading)
    yield _no_bias_at_half(reading)
    yield from _order_of_rmse(reading)
    yield from _between(reading, repetitions)


def skewed(reading: Reading) -> list[Point]:
    """Scenarios with π ≠ ½."""
    return [point for point in reading.curves.points if point[0] != 0.5]


def shares(points: list[Point]) -> list[float]:
    """Their values of π, ascending."""
    return sorted({point[0] for point in points})


def sizes(reading: Reading) -> list[int]:
    """Numbers of records, ascending."""
    return sorted({point[1] for point in reading.curves.points})


def _at_half(reading: Reading) -> list[Point]:
    return [point for point in reading.curves.points if point[0] == 0.5]


def _small_budgets(reading: Reading) -> Verdict:
    return judged(
        "With a small budget every private method is biased, has a large error, and undercovers "
        "(π ≠ ½).",
        "At the smallest budget with intervals, bias exceeds the standard error of the data, and "
        "coverage is below 95 %",
        [
            abs(reading.first(BIAS, point, method)) > reading.last(RMSE, point, ORIGINAL)
            and reading.first(COVERAGE, point, method) < 0.95
            for point in skewed(reading)
            for method in PRIVATE
        ],
    )


def _ratios(reading: Reading, method: str, other: str) -> Values:
    """RMSE relative to that of another method at the largest budget, in every scenario."""
    points = reading.curves.points
    return np.array([reading.last(RMSE, p, method) / reading.last(RMSE, p, other) for p in points])


def _the_end(reading: Reading, method: str, goal: str) -> Verdict:
    ratios, gaps = _ratios(reading, method, goal), _gaps(reading, method, goal)
    other = ORIGINAL if goal == MS else MS
    near = [bool(holds) for holds in np.abs(ratios - 1) < 0.05]
    alike = [bool(holds) for holds in gaps < 4]
    return judged(
        f"With a growing budget, {method} comes to the results of {_WORDS[goal]}.",
        f"At the largest budget bias is within four Monte Carlo errors of theirs in {sum(alike)} "
        f"of {len(alike)} scenarios, and RMSE within 5 % in {sum(near)}: it is {span(ratios)} "
        f"times theirs, and {span(_ratios(reading, method, other))} times that of "
        f"{_WORDS[other]}",
        near + alike,
        why=share_causes.GROWING.get(method),
    )


def _gaps(reading: Reading, method: str, other: str) -> Values:
    """Difference of bias from that of another method at the largest budget, in standard errors."""
    found = []
    for point in reading.curves.points:
        biases = [reading.last(BIAS, point, name) for name in (method, other)]
        errors = [reading.last("bias_error", point, name) for name in (method, other)]
        found.append(abs(biases[0] - biases[1]) / math.hypot(*errors))
    return np.array(found)


def _larger_samples(reading: Reading) -> Verdict:
    steps = sizes(reading)
    return judged(
        "At the same budget, MODIPS and the Laplace sanitizer improve with n.",
        f"RMSE is smaller for the next larger n, at log ε ≥ {plain(SMALL)}",
        [
            holds
            for pi in shares(list(reading.curves.points))
            for method in (THRESHOLD, TRUNCATION, LAPLACE)
            for small, large in pairwise(steps)
            for holds in below(
                reading.between(RMSE, (pi, large), method, SMALL),
                reading.between(RMSE, (pi, small), method, SMALL),
            )
        ],
    )


def _lasting_bias(reading: Reading) -> Iterator[Verdict]:
    least, most = sizes(reading)[0], sizes(reading)[-1]
    for method in (MD, DP_PRIOR):
        ratios = [
            reading.at(BIAS, (pi, most), method, MIDDLE)
            / reading.at(BIAS, (pi, least), method, MIDDLE)
            for pi in shares(skewed(reading))
        ]
        yield judged(
            f"The bias of {method} stays, whatever n is (π ≠ ½), as its prior grows with n.",
            f"At ε = 1 it is for n = {most:,} within 10 % of that for n = {least}: {span(ratios)} "
            "times it",
            [0.9 < ratio < 1.1 for ratio in ratios],
        )


def _precise_at_half(reading: Reading) -> Iterator[Verdict]:
    for method in (MD, DP_PRIOR):
        ratios = np.concatenate(
            [
                reading.between(RMSE, p, method, high=MIDDLE) / reading.last(RMSE, p, ORIGINAL)
                for p in _at_half(reading)
            ]
        )
        coverage = np.concatenate(
            [reading.between(COVERAGE, p, method, high=MIDDLE) for p in _at_half(reading)]
        )
        yield judged(
            f"At π = ½, {method} has a smaller RMSE than the data themselves, and overcovers.",
            f"At ε ≤ 1, RMSE is {span(ratios)} times that of the data, coverage "
            f"{span(100 * coverage, '.1f')} %",
            [bool(holds) for holds in (ratios < 1) & (coverage > 0.95)],
            why=share_causes.DP_PRIOR_AT_HALF if method == DP_PRIOR else None,
        )


def _best_at_half(reading: Reading, repetitions: int) -> Verdict:
    return judged_by_margins(
        "All private methods do best at π = ½.",
        "At ε ≤ 1, RMSE at π = ½ is below that at the other π",
        [
            margin
            for point in skewed(reading)
            for method in PRIVATE
            for margin in margins_below(
                reading, ((0.5, point[1]), method), (point, method), high=MIDDLE
            )
        ],
        repetitions=repetitions,
        why=share_causes.BEST_AT_HALF,
    )


def _order_of_bias(reading: Reading) -> Iterator[Verdict]:
    points, place = skewed(reading), f"at log ε from {plain(SMALL)} to {plain(FAIR)}"

    def along(value: str, method: str) -> Values:
        return np.concatenate([reading.between(value, p, method, SMALL, FAIR) for p in points])

    biases = {method: np.abs(along(BIAS, method)) for method in PRIVATE}
    room = 4 * np.max([along("bias_error", method) for method in PRIVATE], axis=0)
    everyone = list(biases.values())
    yield judged(
        "For π ≠ ½, MD has the largest bias.",
        f"No bias exceeds that of MD by more than Monte Carlo error, {place}",
        [bool(holds) for holds in biases[MD] >= np.max(everyone, axis=0) - room],
    )
    yield judged(
        "For π ≠ ½, the Laplace sanitizer has the smallest bias.",
        f"No bias is below that of the Laplace sanitizer by more than Monte Carlo error, {place}",
        [bool(holds) for holds in biases[LAPLACE] <= np.min(everyone, axis=0) + room],
    )
    for better, worse in ((THRESHOLD, TRUNCATION), (THRESHOLD, DP_PRIOR), (TRUNCATION, DP_PRIOR)):
        yield judged(
            f"For π ≠ ½, the bias of {better} is smaller than that of {worse}.",
            f"So it is within Monte Carlo error, {place}",
            [bool(holds) for holds in biases[better] <= biases[worse] + room],
        )


def _no_bias_at_half(reading: Reading) -> Verdict:
    ratios = np.concatenate(
        [
            np.abs(reading.between(BIAS, p, m)) / reading.between("bias_error", p, m)
            for p in _at_half(reading)
            for m in PRIVATE
        ]
    )
    return judged(
        "At π = ½ the methods hardly differ in bias, but for swings of the Laplace sanitizer at "
        "small budgets.",
        "There bias is within four Monte Carlo errors of 0",
        [bool(holds) for holds in ratios[~np.isnan(ratios)] < 4],
    )


def _order_of_rmse(reading: Reading) -> Iterator[Verdict]:
    points = skewed(reading)
    yield judged(
        "At small budgets (π ≠ ½) the Laplace sanitizer has the largest RMSE, and MD the smallest.",
        "So it is at the smallest budget at which all methods give intervals enough",
        [
            _is_extreme(reading, point, method, _first_budget(reading, point), sign)
            for point in points
            for method, sign in ((LAPLACE, 1), (MD, -1))
        ],
    )
    yield judged(
        "Beyond some budget they change places: Laplace has the smallest RMSE, MD the largest.",
        "So it is at ε = 1, within 2 %",
        [
            _is_extreme(reading, point, method, MIDDLE, sign)
            for point in points
            for method, sign in ((LAPLACE, -1), (MD, 1))
        ],
    )


def _between(reading: Reading, repetitions: int) -> Iterator[Verdict]:
    """The order of the methods between these two."""
    for better, worse in ((THRESHOLD, TRUNCATION), (TRUNCATION, DP_PRIOR)):
        yield judged_by_margins(
            f"Between them (π ≠ ½), {better} has a smaller RMSE than {worse}.",
            f"So it is within 2 %, at log ε from {plain(SMALL)} to {plain(FAIR)}",
            [
                margin
                for point in skewed(reading)
                for margin in margins_below(
                    reading, (point, better), (point, worse), SMALL, FAIR, room=0.02
                )
            ],
            repetitions=repetitions,
            why=share_causes.THRESHOLD_RMSE if better == THRESHOLD else None,
        )


def _first_budget(reading: Reading, point: Point) -> float:
    """The smallest budget at which every private method gives intervals enough."""
    known = [~np.isnan(reading.between(RMSE, point, method)) for method in PRIVATE]
    places = np.flatnonzero(np.all(known, axis=0))
    return float(reading.curves.budgets[places[0]]) if places.size else np.nan


def _is_extreme(reading: Reading, point: Point, method: str, budget: float, sign: int) -> bool:
    """Whether a method has the largest RMSE (sign 1) or the smallest (-1), within 2 %."""
    if np.isnan(budget):
        return False
    values = {one: sign * np.log(reading.at(RMSE, point, one, budget)) for one in PRIVATE}
    return bool(values[method] >= max(values.values()) - 0.02)
