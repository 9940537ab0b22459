"""What other readings of study 1 give: the tables that the causes of its verdicts name."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from understudy_studies.bowen_liu_2020.binary import usable
from understudy_studies.bowen_liu_2020.binary.share_causes import of_dp_prior, of_drawn_sets
from understudy_studies.bowen_liu_2020.binary.share_error_claims import (
    MIDDLE,
    shares,
    sizes,
    skewed,
)
from understudy_studies.bowen_liu_2020.binary.simulation import (
    DP_PRIOR,
    DP_PRIOR_SETS,
    DRAWN,
    LAPLACE,
    LAPLACE_SETS,
    MD,
    MS,
    ORIGINAL,
    PRIVATE,
    ROUNDED,
    SETS,
    THRESHOLD,
    TRUNCATION,
)
from understudy_studies.bowen_liu_2020.panels import COVERAGE, RMSE
from understudy_studies.framework.result_curves import (
    Reading,
    Values,
    below,
    by_budget,
    plain,
    span,
)
from understudy_studies.framework.study import TextTable

_ONE_SET = (LAPLACE, ROUNDED, DRAWN)
_LIMITS = {
    LAPLACE: 1.0,
    ROUNDED: 1.0,
    DRAWN: math.sqrt(2),
    LAPLACE_SETS: math.sqrt(1 + 1 / SETS),
    MD: of_drawn_sets(),
    MS: of_drawn_sets(),
}


def sensitivity_tables(reading: Reading, repetitions: int) -> tuple[TextTable, ...]:
    """All of them.

    Args:
        reading: results for π.
        repetitions: number of repetitions of a scenario.
    """
    return (
        _laplace(reading, repetitions),
        _dp_prior(reading),
        _at_half(reading),
        _two_modips(reading),
        _small_and_large(reading),
    )


def _over_data(reading: Reading, method: str) -> Values:
    points = reading.curves.points
    return np.array(
        [reading.last(RMSE, p, method) / reading.last(RMSE, p, ORIGINAL) for p in points]
    )


def _laplace(reading: Reading, repetitions: int) -> TextTable:
    rows = []
    for method in (LAPLACE, ROUNDED, DRAWN, LAPLACE_SETS, MD, MS):
        covers = [100 * reading.last(COVERAGE, p, method) for p in reading.curves.points]
        squares = "–"
        if method in _ONE_SET:
            entries = usable.compared(reading.curves, repetitions, method)
            squares = f"{sum(entry.z**2 for entry in entries):.0f}"
        rows.append(
            (
                method,
                f"{_LIMITS[method]:.3f}",
                span(_over_data(reading, method)),
                span(covers, ".0f"),
                _smallest(reading, method) if method not in (MD, MS) else "–",
                squares,
            )
        )
    return TextTable(
        caption=(
            "Readings of the Laplace sanitizer: RMSE at the largest budget over that of the data "
            "(by the design, and measured), coverage there, in how many scenarios with π ≠ ½ it "
            "has the smallest RMSE at ε = 1 (within 2 %), and how far the 54 printed shares of "
            "usable repetitions are (Σ z², 54 of equal laws). The first is the one that the paper "
            "is judged by: §3.1.1 and §4.1 speak of no draw"
        ),
        headings=("reading", "by the design", "measured", "coverage, %", "smallest", "Σ z²"),
        rows=tuple(rows),
    )


def _smallest(reading: Reading, method: str) -> str:
    """In how many scenarios a reading of the Laplace sanitizer has the smallest RMSE at ε = 1."""
    others = [one for one in PRIVATE if one != LAPLACE]
    holds = [
        reading.at(RMSE, point, method, MIDDLE)
        <= 1.02 * min(reading.at(RMSE, point, one, MIDDLE) for one in others)
        for point in skewed(reading)
    ]
    return f"{sum(holds)} of {len(holds)}"


_SHOWN = (-8, -6, -4, -2, 0, 1, 2, 4, 6)


def _ratios(reading: Reading, n: int, method: str) -> list[str]:
    data = reading.last(RMSE, (0.5, n), ORIGINAL)
    found = [reading.at(RMSE, (0.5, n), method, budget) / data for budget in _budgets(reading)]
    return [f"{one:.3f}" for one in found]


def _budgets(reading: Reading) -> list[float]:
    return [budget for budget in _SHOWN if budget in reading.curves.budgets]


def _dp_prior(reading: Reading) -> TextTable:
    rows, budgets = [], _budgets(reading)
    for n in sizes(reading):
        exact = [f"{of_dp_prior(math.exp(budget), n):.3f}" for budget in budgets]
        rows.append((f"one set, n = {n:,}, by the formula", *exact))
        rows.append((f"one set, n = {n:,}, measured", *_ratios(reading, n, DP_PRIOR)))
        rows.append((f"ten sets, n = {n:,}, measured", *_ratios(reading, n, DP_PRIOR_SETS)))
    return TextTable(
        caption=(
            "RMSE of DP-prior at π = ½ over that of the data: √(1 + s²(1 − 1/n)), s = n/(n + 2a), "
            "a = 1/(exp(ε/n) − 1); one set as published, and ten sets at ε/10 each"
        ),
        headings=("", *by_budget(budgets)),
        rows=tuple(rows),
    )


def _at_half(reading: Reading) -> TextTable:
    rows = []
    for method in PRIVATE:
        plainly, inside = [], []
        for point in skewed(reading):
            half = 0.5, point[1]
            there, here = (reading.between(RMSE, p, method, high=MIDDLE) for p in (half, point))
            units = [reading.last(RMSE, p, ORIGINAL) for p in (half, point)]
            plainly += below(there, here)
            inside += below(there / units[0], here / units[1])
        texts = [f"{sum(one)} of {len(one)}" for one in (plainly, inside)]
        rows.append((method, *texts))
    return TextTable(
        caption=(
            "RMSE at π = ½ against the other π at ε ≤ 1: in how many cases it is smaller, as it "
            "is, and in units of the RMSE of the data with the same π and n"
        ),
        headings=("method", "as it is", "in units of the data’s"),
        rows=tuple(rows),
    )


def _two_modips(reading: Reading) -> TextTable:
    rows, budgets = [], _budgets(reading)
    for point in skewed(reading):
        ratios = [
            reading.at(RMSE, point, TRUNCATION, b) / reading.at(RMSE, point, THRESHOLD, b)
            for b in budgets
        ]
        label = f"π = {point[0]:g}, n = {point[1]:,}"
        rows.append((label, *(f"{ratio:.2f}" for ratio in ratios)))
    return TextTable(
        caption=(
            "RMSE of the two kinds of MODIPS: that with truncation over that with thresholding, "
            "which the paper finds slightly above 1"
        ),
        headings=("scenario", *by_budget(budgets)),
        rows=tuple(rows),
    )


def _small_and_large(reading: Reading) -> TextTable:
    least, most = sizes(reading)[0], sizes(reading)[-1]
    ends = [budget for budget in (-7.0, -6.0, -5.0, -4.0, -3.0) if budget in reading.curves.budgets]
    rows = []
    for method in (TRUNCATION, LAPLACE, MD, DP_PRIOR):
        texts = []
        for end in ends:
            holds = list(_not_worse(reading, method, least, most, end))
            texts.append(f"{sum(holds)} of {len(holds)}")
        rows.append((method, *texts))
    return TextTable(
        caption=(
            f"Coverage for small and large n (π ≠ ½): in how many cases that for n = {least} is at "
            f"least that for n = {most:,}, by how far “small” budgets reach"
        ),
        headings=("method", *(f"log ε ≤ {plain(end)}" for end in ends)),
        rows=tuple(rows),
    )


def _not_worse(reading: Reading, method: str, least: int, most: int, end: float) -> Iterator[bool]:
    for pi in shares(skewed(reading)):
        small, large = (reading.between(COVERAGE, (pi, n), method, high=end) for n in (least, most))
        yield from below(large, small + 1e-9)
