"""Figures like the paper's: lines for main effects, boxes for the saturated model, and all ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from understudy_studies.bowen_liu_su_2021.simulation.coefficient_results import (
    BIAS,
    COVERAGE,
    RMSE,
    Results,
)
from understudy_studies.bowen_liu_su_2021.simulation.population import MAIN, SATURATED, labels
from understudy_studies.bowen_liu_su_2021.simulation.release_ways import (
    ORIGINAL,
    PAPERS,
    PRIVBAYES,
    STATED,
    STEPS,
    UH,
)
from understudy_studies.bowen_liu_su_2021.simulation.simulation import PREDICTION
from understudy_studies.framework.chart_marks import intervals, name_lines, spans
from understudy_studies.framework.charts import INK, KINDS, MUTED, RULE, style
from understudy_studies.framework.interval_tally import Values
from understudy_studies.framework.result_curves import Point
from understudy_studies.framework.study import Chart

Dash = Literal["-"] | tuple[float, tuple[float, ...]]
_ACROSS = 4  # names in a row of a legend
_WHOLE: Dash = "-"
_DASHED: Dash = (0, (4, 2))
_DOTTED: Dash = (0, (1, 1.5))
WORDS = {ORIGINAL: "the data themselves", UH: "universal histogram"}
"""Names of ways in the results that a reader of a figure would not know → words."""
_WORDS = {BIAS: "bias", RMSE: "RMSE", COVERAGE: "coverage, %", PREDICTION: "prediction RMSE"}


@dataclass(frozen=True)
class Look:
    """How a way is drawn: colour and pattern of its line."""

    colour: str
    dash: Dash = _WHOLE


LOOKS: dict[str, Look] = {
    ORIGINAL: Look(INK, _DOTTED),
    STEPS: Look(KINDS[0]),
    UH: Look(KINDS[1]),
    PRIVBAYES: Look(KINDS[2]),
    STATED: Look(KINDS[2], _DASHED),
}
"""Ways that are looked at at every budget."""


def charts(results: Results) -> tuple[Chart, ...]:
    """All three figures."""
    with style():
        figures = _main_effects(results), _saturated(results), _all_ways(results)
    rows = "Rows: bias, root mean squared error, coverage of nominal 95 %."
    captions = (
        f"Main effects: each line is a coefficient, over ε, with 95 % Monte Carlo intervals of "
        f"bias and coverage. UH: universal histogram. {rows}",
        f"Saturated model: quartiles over the 120 coefficients, whiskers to the 5 % and 95 % "
        f"points, over ε. {rows}",
        "All ways over ε: median RMSE of the coefficients, their mean coverage, and RMSE of "
        "predictions (1 at best). Whole lines have the paper's noise, dashed ones what the stated ε"
        " needs when a record is replaced.",
    )
    names = "main-effects", "saturated", "all-ways"
    return tuple(Chart(*one) for one in zip(names, figures, captions, strict=True))


def _main_effects(results: Results) -> Figure:
    points = results.points(MAIN)
    panels = [(point, way) for point in points for way in PAPERS]
    figure, grid = _table(3, len(panels))
    for axes_row, value in zip(grid, (BIAS, RMSE, COVERAGE), strict=True):
        for axes, (point, way) in zip(axes_row, panels, strict=True):
            each = _scaled(value, results.each(value, point, way))
            lows, highs = _monte_carlo(value, results, point, way)
            drawn: set[str] = set()
            for name, values, low, high in zip(labels(MAIN), each, lows, highs, strict=True):
                column, colour = name.partition(" ")[0], _of_column(name)
                label = "_" if column in drawn else column  # one name for the lines of a colour
                axes.plot(_places(results), values, color=colour, linewidth=1.1, label=label)
                spans(axes, _places(results), low, high, colour)
                drawn.add(column)
        _finish(axes_row, value, results)
    for axes, (point, way) in zip(grid[0], panels, strict=True):
        axes.set_title(f"{way}, n = {point[1]:,}", fontsize=8.5)
    marks = [Line2D([], [], color=_of_column(one)) for one in _columns()]
    _legend(figure, marks, _columns(), beside=0.06)
    for row in grid:
        name_lines(row[-1])
    return figure


def _monte_carlo(value: str, results: Results, point: Point, way: str) -> tuple[Values, Values]:
    """Ends of 95 % Monte Carlo intervals, (coefficients, budgets); NaN for the RMSE, without."""
    if value == COVERAGE:
        low, high = (100 * results.each(f"coverage_{end}", point, way) for end in ("low", "high"))
        return low, high
    middle = results.each(value, point, way)
    half = 1.96 * results.each(f"{value}_error", point, way)
    return middle - half, middle + half


def _of_column(name: str) -> str:
    """Colour of a coefficient: that of its column."""
    return (INK, *KINDS)[_columns().index(name.partition(" ")[0])]


def _columns() -> list[str]:
    """Columns that have coefficients, and the intercept first."""
    return list(dict.fromkeys(label.partition(" ")[0] for label in labels(MAIN)))


def _saturated(results: Results) -> Figure:
    points = results.points(SATURATED)
    figure, grid = _table(3, len(points))
    for axes_row, value in zip(grid, (BIAS, RMSE, COVERAGE), strict=True):
        for axes, point in zip(axes_row, points, strict=True):
            for k, way in enumerate(PAPERS):
                places = _places(results) + 0.25 * (k - 1)
                _boxes(axes, places, _scaled(value, results.each(value, point, way)), way)
        _finish(axes_row, value, results)
    for axes, point in zip(grid[0], points, strict=True):
        axes.set_title(f"n = {point[1]:,}")
    _legend(figure, [Patch(color=LOOKS[way].colour) for way in PAPERS], list(PAPERS))
    return figure


def _boxes(axes: Axes, places: Values, values: Values, way: str) -> None:
    """A box at each place, from values of shape (coefficients, budgets)."""
    colour = LOOKS[way].colour
    low, first, middle, third, high = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95), axis=0)
    axes.vlines(places, low, high, color=colour, linewidth=0.8)
    axes.bar(places, third - first, bottom=first, width=0.18, color=colour, alpha=0.55)
    axes.hlines(middle, places - 0.09, places + 0.09, color=INK, linewidth=1.2)


def _all_ways(results: Results) -> Figure:
    points = results.all_points
    figure, grid = _table(3, len(points))
    for axes_row, value in zip(grid, (RMSE, COVERAGE, PREDICTION), strict=True):
        for axes, point in zip(axes_row, points, strict=True):
            for way, look in LOOKS.items():
                values = _in_one(results, value, point, way)
                axes.plot(
                    _places(results),
                    values,
                    color=look.colour,
                    linestyle=look.dash,
                    linewidth=1.3,
                    label=WORDS.get(way, way),
                )
                if value == PREDICTION:
                    errors = results.prediction_errors(point, way)
                    intervals(axes, _places(results), values, errors, look.colour)
        _finish(axes_row, value, results)
    for axes, point in zip(grid[0], points, strict=True):
        axes.set_title(f"{point[0].capitalize()}, n = {point[1]:,}")
    marks = [Line2D([], [], color=one.colour, linestyle=one.dash) for one in LOOKS.values()]
    _legend(figure, marks, [WORDS.get(way, way) for way in LOOKS], beside=0.16)
    for row in grid:
        name_lines(row[-1])
    return figure


def _in_one(results: Results, value: str, point: Point, way: str) -> Values:
    if value == COVERAGE:
        return results.mean_coverage(point, way)
    return results.along(value, point, way)


def _table(down: int, across: int) -> tuple[Figure, list[list[Axes]]]:
    figure = Figure(figsize=(11, 2.1 * down + 0.8))
    grid = figure.subplots(down, across, sharex=True, sharey="row", squeeze=False)
    return figure, [list(row) for row in grid]


def _places(results: Results) -> Values:
    """Budgets stand at equal distances."""
    return np.arange(len(results.epsilons), dtype=np.float64)


def _scaled(value: str, values: Values) -> Values:
    return 100 * values if value == COVERAGE else values


def _finish(row: Sequence[Axes], value: str, results: Results) -> None:
    places = _places(results).tolist()
    for axes in row:
        if value in {BIAS, COVERAGE}:
            axes.axhline(95 if value == COVERAGE else 0, color=MUTED, linewidth=0.6, zorder=1)
        if value == COVERAGE:
            axes.set_ylim(-4, 104)
            axes.set_yticks([0, 25, 50, 75, 95])
        axes.set_xticks(places, [f"{epsilon:g}" for epsilon in results.epsilons])
        axes.grid(axis="y", color=RULE, linewidth=0.4)
        axes.tick_params(length=0)
    row[0].set_ylabel(_WORDS[value])


def _legend(
    figure: Figure,
    marks: Sequence[Line2D | Patch],
    names: Sequence[str],
    *,
    beside: float = 0.0,
) -> None:
    """A legend above; at the right room for names beside lines, as a part of the width."""
    for axes in figure.axes[-len(figure.axes) // 3 :]:
        axes.set_xlabel("ε")
    figure.legend(marks, names, loc="upper left", ncols=_ACROSS)
    lines = -(-len(names) // _ACROSS)
    top = 1 - (0.14 + 0.22 * lines) / figure.get_figheight()
    figure.tight_layout(rect=(0, 0, 1 - beside, top))
