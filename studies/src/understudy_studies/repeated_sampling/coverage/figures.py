"""Figures of the coverage study: a panel for each estimand, a line for each way to release."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from understudy_studies.framework.charts import INK, MUTED, ORDERED, RULE, style
from understudy_studies.framework.study import Chart, Row
from understudy_studies.repeated_sampling.coverage import population
from understudy_studies.repeated_sampling.coverage.claims import is_judged
from understudy_studies.repeated_sampling.coverage.simulation import (
    EPSILONS,
    NAIVE,
    REAL_ROWS,
    VALID,
)

_ACROSS = 3
_ROW = 0.27  # inches for each line of a panel
_APART = 0.18  # between the marks of neighbouring budgets, in lines

Naming = Callable[[Row], object]
"""Gives what a line of a panel stands for; its text is the label."""


def charts(results: Sequence[Row], naming: Naming) -> tuple[Chart, ...]:
    """Both figures.

    Args:
        results: rows of `results.csv`.
        naming: names the line of a row.
    """
    with style():
        coverage = _panels(results, naming, "coverage", roles=(NAIVE, VALID))
        width = _panels(results, naming, "width_ratio", roles=(VALID,))
    return (
        Chart(
            "coverage",
            coverage,
            "Measured coverage of intervals of nominally 95 %, in per cent, for each budget ε. "
            "Filled: the interval of us.analyze, with its 95 % Monte Carlo interval; open: the "
            "first synthetic set taken for real rows. Without a filled mark, us.analyze refuses "
            "always, or nearly so.",
        ),
        Chart(
            "width",
            width,
            "Mean width of the valid intervals, relative to those from the real rows: the price of "
            "privacy.",
        ),
    )


def _panels(
    results: Sequence[Row], naming: Naming, value: str, *, roles: tuple[str, ...]
) -> Figure:
    shown = [row for row in results if value in row and row["role"] in roles]
    shown = [row for row in shown if is_judged(row)] or shown
    if value == "width_ratio":
        shown = [row for row in shown if row["method"] != REAL_ROWS]
    lines = list(dict.fromkeys(naming(row) for row in shown))
    names = [estimand.name for estimand in population.estimands()]
    down = -(-len(names) // _ACROSS)
    figure = Figure(figsize=(11, down * (_ROW * max(len(lines), 4) + 0.75) + 0.4))
    grid = figure.subplots(down, _ACROSS, sharex=True, sharey=True, squeeze=False)
    for axes, name in zip(grid.flat, names, strict=False):
        rows = [row for row in shown if row["estimand"] == name]
        _draw_panel(axes, rows, [lines.index(naming(row)) for row in rows], value)
        axes.set_title(name.capitalize())
    for axes in grid[:, 0]:
        axes.set_yticks(range(len(lines)), [str(line) for line in lines])
        axes.set_ylim(len(lines) - 0.4, -0.6)
    for axes in grid[-1]:
        _label(axes, value)
    for axes in grid[:, 0]:
        axes.set_ylabel("way to release")
    _legend(figure, both=len(roles) > 1)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / figure.get_figheight()))
    return figure


def _draw_panel(axes: Axes, rows: Sequence[Row], places: Sequence[int], value: str) -> None:
    scale = 100 if value == "coverage" else 1
    axes.axvline(95 if value == "coverage" else 1, color=MUTED, linewidth=0.8, zorder=1)
    axes.grid(axis="y", color=RULE, linewidth=0.5)
    axes.tick_params(length=0)
    for row, place in zip(rows, places, strict=True):
        y, colour = place + _offset(row["epsilon"]), _colour(row["epsilon"])
        naive = row["role"] == NAIVE
        if value == "coverage" and not naive:
            ends = [100 * row["coverage_low"], 100 * row["coverage_high"]]
            axes.plot(ends, [y, y], color=colour, linewidth=1.0, zorder=2)
        face = "none" if naive else colour
        size = 3.0 if naive else 3.8
        axes.plot(
            scale * row[value],
            y,
            "o",
            color=colour,
            markerfacecolor=face,
            markersize=size,
            zorder=3,
        )


def _offset(epsilon: float) -> float:
    middle = (len(EPSILONS) - 1) / 2
    return 0.0 if epsilon not in EPSILONS else _APART * (EPSILONS.index(epsilon) - middle)


def _colour(epsilon: float) -> str:
    return INK if epsilon not in EPSILONS else ORDERED[EPSILONS.index(epsilon)]


def _label(axes: Axes, value: str) -> None:
    if value == "coverage":
        axes.set_xlim(-3, 103)
        axes.set_xlabel("coverage, %")
        return
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    wanted = (1, 2, 5, 10, 20, 50) if high <= 60 else (1, 10, 100, 1_000, 10_000)
    ticks = [tick for tick in wanted if tick <= high * 1.2]
    axes.set_xlim(min(low, 0.9), high * 1.1)
    axes.set_xticks(ticks, [f"×{tick:,}" for tick in ticks], minor=False)
    axes.minorticks_off()
    axes.set_xlabel("width relative to real rows")


def _legend(figure: Figure, *, both: bool) -> None:
    marks = [_mark(colour, colour) for colour in ORDERED]
    labels = [f"ε = {epsilon:g}" for epsilon in EPSILONS]
    if both:
        marks += [_mark(MUTED, MUTED), _mark(MUTED, "none")]
        labels += ["us.analyze", "synthetic rows taken for real ones"]
    figure.legend(marks, labels, loc="upper left", ncols=len(labels), handletextpad=0.2)


def _mark(edge: str, face: str) -> Line2D:
    style = {"marker": "o", "linestyle": "none", "markersize": 4.5}
    return Line2D([], [], color=edge, markerfacecolor=face, **style)  # type: ignore[arg-type]
