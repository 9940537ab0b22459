"""Figures of methods over budgets, both on logarithmic scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from understudy._arrays import Floats
from understudy_studies.bowen_liu_2020.panels import DASHED, DOTTED, WHOLE, Dash
from understudy_studies.framework.chart_marks import MOST_LINES, intervals, name_lines
from understudy_studies.framework.charts import INK, KINDS, MUTED, ORDERED, RULE, style
from understudy_studies.snoke_slavkovic_2018 import methods

_NAMED = 0.18  # part of the width that names beside lines take
_UNKNOWN = np.full(len(methods.EPSILONS), np.nan)


@dataclass(frozen=True)
class Look:
    """How a method is drawn.

    Attributes:
        colour: one of those of `understudy_studies.framework.charts`.
        dash: pattern of its line.
    """

    colour: str
    dash: Dash = WHOLE


LOOKS = {
    methods.NON_PRIVATE: Look(INK, DOTTED),
    methods.GRID_1: Look(ORDERED[0], DOTTED),
    methods.GRID_2: Look(ORDERED[0], DASHED),
    methods.GRID_FIXED: Look(ORDERED[0]),
    methods.ROUNDS: Look(ORDERED[1]),
    methods.COLUMNS: Look(ORDERED[3]),
    methods.LIMIT: Look(MUTED),
    methods.published(1, methods.SETS): Look(KINDS[5], DOTTED),
    methods.published(2, methods.SETS): Look(KINDS[5], DASHED),
    methods.published(5, methods.SETS): Look(KINDS[5], (0, (6, 1.5, 1, 1.5))),
    methods.published(None, methods.SETS): Look(KINDS[5]),
    methods.published(None, 1): Look(KINDS[3]),
    methods.PAPER: Look(KINDS[0]),
    methods.BAYES: Look(KINDS[1]),
    methods.SMOOTHED: Look(KINDS[2], DOTTED),
    methods.AS_PRINTED: Look(KINDS[2]),
    methods.PER_RECORD: Look(KINDS[2], DASHED),
    methods.FUNCTIONAL: Look(KINDS[4]),
    methods.FUNCTIONAL_8: Look(KINDS[4], DOTTED),
    methods.KNORM: Look(KINDS[4], DASHED),
    **{f"{reach} sd": Look(colour) for reach, colour in zip((2, 4, 5, 10), ORDERED, strict=True)},
}
"""By name without bounds, or by bounds alone."""


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        title: what stands above it.
        curves: method → values at each budget.
        errors: method → their Monte Carlo standard errors, where they are known.
    """

    title: str
    curves: Mapping[str, Floats]
    errors: Mapping[str, Floats] = field(default_factory=dict)


def look_of(method: str) -> Look:
    """How a method is drawn, whatever its bounds."""
    return LOOKS[next(name for name in sorted(LOOKS, key=len)[::-1] if method.startswith(name))]


def drawn(panels: Sequence[Sequence[Panel]], unit: str) -> Figure:
    """Panels in rows, each with a scale of its own, and the names of all methods above.

    Args:
        panels: rows of panels, all of one length.
        unit: what the vertical scale shows.
    """
    names = list(dict.fromkeys(name for row in panels for one in row for name in one.curves))
    down, across = len(panels), len(panels[0])
    beside = 4 if len(names) <= 4 else 3
    above = 0.22 * -(-len(names) // beside) + 0.15
    with style():
        figure = Figure(figsize=(11, 3.1 * down + above))
        grid = figure.subplots(down, across, sharex=True, sharey="row", squeeze=False)
        for axes_row, row in zip(grid, panels, strict=True):
            for axes, panel in zip(axes_row, row, strict=True):
                _draw(axes, panel)
            axes_row[0].set_ylabel(unit)
        for axes in grid[-1]:
            axes.set_xlabel("ε")
        handles = [_handle(name) for name in names]
        figure.legend(handles, names, loc="upper left", ncols=beside)
        named = [row for row in grid if any(_colours(one) > MOST_LINES for one in row)]
        right = 1 - _NAMED * bool(named)
        figure.tight_layout(rect=(0, 0, right, 1 - above / figure.get_figheight()))
        for axes_row in named:
            name_lines(axes_row[-1])
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    budgets = np.array(methods.EPSILONS)
    for name, values in panel.curves.items():
        look = look_of(name)
        axes.plot(
            budgets, values, color=look.colour, linestyle=look.dash, linewidth=1.4, label=name
        )
        intervals(axes, budgets, values, panel.errors.get(name, _UNKNOWN), look.colour)
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda tick, _place: f"{tick:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(color=RULE, linewidth=0.4)
    axes.tick_params(length=0, which="both")
    axes.set_title(panel.title)


def _colours(axes: Axes) -> int:
    return len({line.get_color() for line in axes.get_lines()})


def _handle(name: str) -> Line2D:
    look = look_of(name)
    return Line2D([], [], color=look.colour, linestyle=look.dash, linewidth=1.6)
