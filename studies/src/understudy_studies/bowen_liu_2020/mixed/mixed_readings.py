"""What other readings of study 3 give: the tables that the causes of its verdicts name."""

from __future__ import annotations

import numpy as np

from understudy_studies.bowen_liu_2020.continuous.mean_causes import of_bins
from understudy_studies.bowen_liu_2020.mixed import population
from understudy_studies.bowen_liu_2020.mixed.cellwise import SIDES
from understudy_studies.bowen_liu_2020.mixed.claims import Mixed
from understudy_studies.bowen_liu_2020.mixed.description import (
    CELL_SHARES,
    CORRELATION,
    FIRST,
    MARGINALS,
    MEANS,
    PRODUCT,
)
from understudy_studies.bowen_liu_2020.mixed.simulation import (
    MODIPS,
    MS,
    ORIGINAL,
    OTHER_BUDGETS,
    PERTURBED,
    SETS,
    STRICT,
)
from understudy_studies.bowen_liu_2020.panels import BIAS, COVERAGE, RMSE
from understudy_studies.framework.result_curves import Curves, Point, Values, by_budget, plain
from understudy_studies.framework.study import TextTable

_SHOWN = (-5, -3, -1, 0, 1, 2, 3, 4, 6, 8, 10)
_SHORT = {BIAS: "bias, MODIPS / histogram", RMSE: "RMSE, MODIPS / histogram"}


def sensitivity_tables(curves: Curves) -> tuple[TextTable, ...]:
    """All of them.

    Args:
        curves: results, by the parameters of `claims.PARAMETERS`.
    """
    return (
        _populations(curves),
        _means_by_budget(Mixed(curves)),
        _means_from_bins(Mixed(curves)),
        _shares_by_budget(Mixed(curves)),
    )


def _at(mixed: Mixed, values: Values, budget: float) -> float:
    place = np.flatnonzero(mixed.curves.budgets == budget)
    return float(values[place[0]]) if place.size else np.nan


def _name(point: Point) -> str:
    _, correlation, centre, spread = point
    low, high = centre - spread, centre + spread
    means = f"{plain(low)} to {plain(high)}" if spread else f"all {plain(centre)}"
    return f"means {means}, ρ = {correlation:g}"


def _populations(curves: Curves) -> TextTable:
    budgets = [budget for budget in OTHER_BUDGETS if budget in curves.budgets]
    rows = []
    for point in curves.points:
        mixed = Mixed(curves, point)
        for group in (MEANS, FIRST, PRODUCT, CORRELATION):
            for value, words in _SHORT.items():
                ours, theirs = (mixed.median(value, group, m) for m in (MODIPS, PERTURBED))
                found = [f"{_at(mixed, ours / theirs, b):.2f}" for b in budgets]
                rows.append((f"{_name(point)}: {group}, {words}", *found))
            if group in (MEANS, PRODUCT):
                covers = 100 * mixed.median(COVERAGE, group, PERTURBED)
                found = [f"{_at(mixed, covers, b):.0f}" for b in budgets]
                rows.append((f"{_name(point)}: {group}, coverage of the histogram, %", *found))
    return TextTable(
        caption=(
            "Other populations, within the same bounds, −3.75 to 3.75; the first is the one that "
            "the paper is judged by. For means of cells, medians over all of them"
        ),
        headings=("", *by_budget(budgets)),
        rows=tuple(rows),
        fold=True,
    )


def _means_by_budget(mixed: Mixed) -> TextTable:
    budgets = [budget for budget in _SHOWN if budget in mixed.curves.budgets]
    rows = []
    for method in (MODIPS, STRICT, PERTURBED, MS, ORIGINAL):
        rmse, covers = (mixed.median(value, MEANS, method) for value in (RMSE, COVERAGE))
        texts = [f"{_at(mixed, rmse, b):.3f} / {100 * _at(mixed, covers, b):.0f}" for b in budgets]
        rows.append((method, *texts))
    return TextTable(
        caption=(
            "Means of cells by budget: RMSE / coverage in per cent, medians over the cells. MODIPS "
            "has noise of scale R/n_k in a mean, as published; “strict sensitivities” has it in "
            "the sums, for records that may change their cell"
        ),
        headings=("method", *by_budget(budgets)),
        rows=tuple(rows),
    )


def _means_from_bins(mixed: Mixed) -> TextTable:
    shares = population.shares()
    rows = []
    for cell in np.argsort(shares)[:: population.CELLS // 6]:
        names = [f"{MEANS} {j + 1}, {cell + 1}" for j in range(population.NUMBERS)]
        bins = [
            mixed.curves.along(
                "bins_median", mixed.point, f"{SIDES} {j + 1}, {cell + 1}", PERTURBED
            )
            for j in range(population.NUMBERS)
        ]
        widths = [population.WIDTH / one[0] for one in bins]
        exact = [of_bins(width / np.sqrt(population.VARIANCE), SETS) for width in widths]
        ratios = [
            mixed.curves.trusted(RMSE, mixed.point, name, PERTURBED)[-1]
            / mixed.curves.trusted(RMSE, mixed.point, name, ORIGINAL)[-1]
            for name in names
        ]
        rows.append(
            (
                f"{shares[cell] * mixed.point[0]:.0f} records",
                " × ".join(f"{one[0]:g}" for one in bins),
                " and ".join(f"{one:.2f}" for one in exact),
                " and ".join(f"{one:.2f}" for one in ratios),
            )
        )
    return TextTable(
        caption=(
            "Means from bins: RMSE of the perturbed histogram at the largest budget over that of "
            "the data, for the means of both numbers in six cells, by the formula and measured"
        ),
        headings=("cell of", "bins (medians)", "by the design", "measured"),
        rows=tuple(rows),
    )


def _shares_by_budget(mixed: Mixed) -> TextTable:
    budgets = [budget for budget in _SHOWN if budget in mixed.curves.budgets]
    rows = []
    for group in (MARGINALS, CELL_SHARES):
        for value in (BIAS, RMSE):
            ours, theirs = (mixed.median(value, group, m) for m in (MODIPS, PERTURBED))
            error = mixed.median("bias_error", group, PERTURBED)
            texts = [
                f"{1e3 * _at(mixed, ours, b):.1f} / {1e3 * _at(mixed, theirs, b):.1f}"
                for b in budgets
            ]
            if value == BIAS:
                texts = [
                    f"{text} (± {1e3 * _at(mixed, error, b):.1f})"
                    for text, b in zip(texts, budgets, strict=True)
                ]
            rows.append((f"{group}, {value}, thousandths", *texts))
        covers = [100 * mixed.median(COVERAGE, group, m) for m in (MODIPS, PERTURBED)]
        texts = [" / ".join(f"{_at(mixed, one, b):.0f}" for one in covers) for b in budgets]
        rows.append((f"{group}, coverage, %", *texts))
    return TextTable(
        caption=(
            "Shares by budget: MODIPS / perturbed histogram, medians over levels or cells; of bias "
            "the size, with its Monte Carlo error"
        ),
        headings=("", *by_budget(budgets)),
        rows=tuple(rows),
    )
