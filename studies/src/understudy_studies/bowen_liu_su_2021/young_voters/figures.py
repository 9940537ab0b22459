"""Figures of the voter study: each measure over ε, the paper's own numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LOG_EPSILONS,
    PRINTED,
    STEPS3,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import PAPERS as SIX
from understudy_studies.bowen_liu_su_2021.young_voters.release_lines import DOWNWARD, STATED
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import Results
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import (
    AGREEMENTS,
    DETERMINED,
    EXPOSURE,
    GROUP,
    OVERLAP,
    PAPERS,
    PRODUCT,
    SPECKS,
    WITHIN,
    Measure,
)
from understudy_studies.framework.chart_marks import intervals, name_lines
from understudy_studies.framework.charts import INK, KINDS, MUTED, RULE, style
from understudy_studies.framework.study import Chart

COLOURS = {
    **dict(zip(SIX, KINDS, strict=True)),
    DOWNWARD[STEPS3]: INK,
    STATED: MUTED,
}


def charts(results: Results, *, beside_paper: bool) -> tuple[Chart, ...]:
    """Both figures.

    Args:
        results: the results.
        beside_paper: whether the paper's numbers are drawn too.
    """
    dotted = " Dotted: what the paper prints of its own data." if beside_paper else ""
    with style():
        first = _panels(results, (SPECKS, *AGREEMENTS), beside_paper)
        second = _panels(
            results, (OVERLAP, EXPOSURE, GROUP, PRODUCT, WITHIN, DETERMINED), beside_paper
        )
    return (
        Chart(
            "general",
            first,
            "SPECKS (low is good), and shares of χ² decisions that agree with those on the "
            f"original (high is good), over log ε; means over the repetitions with "
            f"95 % Monte Carlo intervals.{dotted}",
        ),
        Chart(
            "overlaps",
            second,
            "Overlap of the regression’s 95 % intervals with those of the original, over log ε; "
            f"means over the repetitions with 95 % Monte Carlo intervals.{dotted}",
        ),
    )


def _panels(results: Results, measures: Sequence[Measure], beside_paper: bool) -> Figure:
    across = 2 if len(measures) == 4 else 3
    figure = Figure(figsize=(9.5, 6.2))
    grid = figure.subplots(2, across, squeeze=False)
    for axes, measure in zip(grid.flat, measures, strict=True):
        _draw(axes, results, measure, beside_paper)
    drawn = [name for name in COLOURS if results.has(name)]
    marks = [Line2D([], [], color=COLOURS[name], linewidth=1.6) for name in drawn]
    figure.legend(marks, drawn, loc="upper left", ncols=4)
    figure.tight_layout(rect=(0, 0, 0.88, 0.9))
    for row in grid:
        name_lines(row[-1])
    return figure


def _scale_words(measure: Measure) -> str:
    """What the upward axis of a measure shows."""
    if measure == SPECKS:
        return "SPECKS, low is good"
    return "share of decisions" if measure in AGREEMENTS else "overlap of intervals"


def _draw(axes: Axes, results: Results, measure: Measure, beside_paper: bool) -> None:
    axes.set_title(measure.words)
    axes.set_xlabel("log ε")
    axes.set_ylabel(_scale_words(measure))
    axes.set_xticks(LOG_EPSILONS, [str(one).replace("-", "−") for one in LOG_EPSILONS])
    axes.set_ylim(-0.02, 1.02)
    axes.grid(axis="y", color=RULE, linewidth=0.5)
    for method, colour in COLOURS.items():
        if not results.has(method):
            continue
        values = results.along(measure, method)
        axes.plot(LOG_EPSILONS, values, color=colour, linewidth=1.6, label=method)
        intervals(axes, LOG_EPSILONS, values, results.errors(measure, method), colour)
        if beside_paper and measure in PAPERS and method in SIX:
            place = PAPERS.index(measure)
            printed = np.array([PRINTED[budget][method][place] for budget in LOG_EPSILONS])
            axes.plot(LOG_EPSILONS, printed, color=colour, linewidth=1.0, linestyle=":")
