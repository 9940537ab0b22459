"""Figures like the paper's: a panel for each scenario, a line for each method, over log ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from understudy_studies.framework.chart_marks import MOST_LINES, name_lines, spans
from understudy_studies.framework.charts import INK, KINDS, MUTED, RULE, style
from understudy_studies.framework.result_curves import Curves, Point

BIAS, RMSE, COVERAGE, WIDTH = "bias", "rmse", "coverage", "width"
MEASURES = {
    BIAS: "bias",
    RMSE: "root mean squared error",
    COVERAGE: "coverage of nominal 95 %, in per cent",
    WIDTH: "mean width of the 95 % interval",
}
"""Column of `results.csv` → its words."""

SHORT = {BIAS: "bias", RMSE: "RMSE", COVERAGE: "coverage", WIDTH: "width"}

TITLES = {
    BIAS: "bias",
    RMSE: "root mean squared error",
    COVERAGE: "coverage, %",
    WIDTH: "mean width",
}
"""What stands beside the axis of a panel."""

WORDS = {
    "original": "the data themselves",
    "MS": "synthesis without privacy",
    "MD": "multinomial–Dirichlet",
    "Laplace, drawn": "Laplace, records drawn anew",
    "DP-prior": "Dirichlet prior from ε",
}
"""Names of methods in the results that a reader of a figure would not know → words."""

_BESIDE = 4  # names in a row of the legend
_NAMED = 0.16  # part of the width that names beside lines take

Dash = Literal["-"] | tuple[float, tuple[float, ...]]
WHOLE: Dash = "-"
DASHED: Dash = (0, (4, 2))
DOTTED: Dash = (0, (1, 1.5))


@dataclass(frozen=True)
class Line:
    """How a method is drawn.

    Attributes:
        method: its name in the results.
        colour: one of those of `understudy_studies.framework.charts`.
        dash: pattern of its line; "-" for a whole one.
    """

    method: str
    colour: str
    dash: Dash = WHOLE

    @property
    def words(self) -> str:
        """Its name for readers."""
        return WORDS.get(self.method, self.method)


def lines(baselines: Sequence[str], methods: Sequence[str]) -> tuple[Line, ...]:
    """The data themselves in ink, synthesis without privacy in grey, the others in colours."""
    found = [
        Line(name, colour, dash)
        for name, (colour, dash) in zip(baselines, ((INK, DASHED), (MUTED, DOTTED)), strict=False)
    ]
    found += [Line(name, colour) for name, colour in zip(methods, KINDS, strict=False)]
    return tuple(found)


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        title: what stands above it.
        point: parameters of its scenario.
        estimands: what is estimated; of several, the median over them is drawn, and for bias the
            median of absolute values, within a band from the lower to the upper quartile.
        value: column of the results.
        unit: panels of a row that show the same value in the same unit have one scale.
    """

    title: str
    point: Point
    estimands: tuple[str, ...]
    value: str
    unit: str = ""


def drawn(curves: Curves, panels: Sequence[Sequence[Panel]], shown: Sequence[Line]) -> Figure:
    """Panels in rows; the scale of the values is that of the row.

    Args:
        curves: the results.
        panels: rows of panels, all of one length.
        shown: the methods.
    """
    down, across = len(panels), len(panels[0])
    with style():
        figure = Figure(figsize=(11, 2.15 * down + 1.0))
        grid = figure.subplots(down, across, sharex=True, squeeze=False)
        for axes, panel in zip(grid.flat, (one for row in panels for one in row), strict=True):
            _draw(axes, curves, panel, shown)
        for axes_row, row in zip(grid, panels, strict=True):
            _share_scale(list(axes_row), row)
        for axes in grid[-1]:
            axes.set_xlabel("log ε")
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        handles = [_handle(line) for line in shown]
        names = [line.words for line in shown]
        beside = min(len(shown), _BESIDE)
        above = 0.14 + 0.22 * -(-len(shown) // beside)
        figure.legend(handles, names, loc="upper left", ncols=beside)
        named = len({line.colour for line in shown}) > MOST_LINES
        right = 1 - _NAMED * named
        figure.tight_layout(rect=(0, 0, right, 1 - above / figure.get_figheight()))
        for axes_row in grid if named else ():
            name_lines(axes_row[-1])
    return figure


def spread(curves: Curves, panel: Panel, method: str) -> NDArray[np.float64]:
    """What a panel draws of a method: lower quartile, median and upper quartile, (3, budgets)."""
    values = np.array(
        [curves.trusted(panel.value, panel.point, estimand, method) for estimand in panel.estimands]
    )
    if len(values) > 1 and panel.value == BIAS:
        values = np.abs(values)
    found = np.full((3, values.shape[1]), np.nan)
    known = ~np.isnan(values).all(axis=0)
    if known.any():
        found[:, known] = np.nanquantile(values[:, known], [0.25, 0.5, 0.75], axis=0)
    return found


def _draw(axes: Axes, curves: Curves, panel: Panel, shown: Sequence[Line]) -> None:
    scale = 100 if panel.value == COVERAGE else 1
    several = len(panel.estimands) > 1
    for line in shown:
        low, middle, high = scale * spread(curves, panel, line.method)
        if several:
            axes.fill_between(curves.budgets, low, high, color=line.colour, alpha=0.14, linewidth=0)
        else:
            spans(axes, curves.budgets, *_monte_carlo(curves, panel, line.method), line.colour)
        axes.plot(
            curves.budgets,
            middle,
            color=line.colour,
            linestyle=line.dash,
            linewidth=1.3,
            label=line.words,
            zorder=3,
        )
    if panel.value in {BIAS, COVERAGE}:
        axes.axhline(95 if panel.value == COVERAGE else 0, color=MUTED, linewidth=0.6, zorder=1)
    axes.grid(color=RULE, linewidth=0.4)
    axes.tick_params(length=0)
    axes.set_title(panel.title)


def _monte_carlo(
    curves: Curves, panel: Panel, method: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95 % Monte Carlo intervals of a single estimand; NaN where none is known."""
    where = (panel.point, panel.estimands[0], method)
    if panel.value == COVERAGE:
        low, high = (100 * curves.trusted(f"coverage_{end}", *where) for end in ("low", "high"))
        return low, high
    middle = curves.trusted(panel.value, *where)
    half = 1.96 * curves.trusted(f"{panel.value}_error", *where)
    return middle - half, middle + half


def _share_scale(row: list[Axes], panels: Sequence[Panel]) -> None:
    """The panels of a row that show the same have one scale; coverage has it always."""
    kinds = [(panel.value, panel.unit if panel.value != COVERAGE else "") for panel in panels]
    for kind in dict.fromkeys(kinds):
        value = kind[0]
        same = [axes for axes, other in zip(row, kinds, strict=True) if other == kind]
        _LIMITS.get(value, _linear)(same)
        same[0].set_ylabel(TITLES[value])
        for axes in same[1:]:
            axes.tick_params(labelleft=False)


def _linear(row: list[Axes]) -> None:
    ends = [axes.get_ylim() for axes in row]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    for axes in row:
        axes.set_ylim(low, high)


def _logarithmic(row: list[Axes]) -> None:
    drawn_values = np.concatenate(
        [np.asarray(line.get_ydata(), dtype=float) for axes in row for line in axes.get_lines()]
        + [np.ones(0)]
    )
    positive = drawn_values[drawn_values > 0]
    low, high = (positive.min(), positive.max()) if positive.size else (0.1, 1.0)
    for axes in row:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.3, high * 1.3)
        ticks = _round_numbers(low / 1.3, high * 1.3)
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())


def _round_numbers(low: float, high: float) -> list[float]:
    """Three to eight ticks of a logarithmic scale."""
    found: list[float] = []
    for steps in ((1,), (1, 3), (1, 2, 5)):
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        found = [step * 10.0**power for power in powers for step in steps]
        found = [tick for tick in found if low <= tick <= high]
        if len(found) >= 3:
            break
    return found[:: max(1, len(found) // 6)]


def _per_cent(row: list[Axes]) -> None:
    for axes in row:
        axes.set_ylim(-4, 104)
        axes.set_yticks([0, 25, 50, 75, 95])


_LIMITS: dict[str, Callable[[list[Axes]], None]] = {
    RMSE: _logarithmic,
    WIDTH: _logarithmic,
    COVERAGE: _per_cent,
}


def _handle(line: Line) -> Line2D:
    return Line2D([], [], color=line.colour, linestyle=line.dash, linewidth=1.6)
