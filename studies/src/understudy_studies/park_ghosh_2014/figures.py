"""Figures of the study, in the manner of the paper's figures 4 to 9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from understudy_studies.framework.chart_marks import name_lines
from understudy_studies.framework.charts import INK, KINDS, MUTED, RULE, style
from understudy_studies.framework.study import Chart
from understudy_studies.park_ghosh_2014.intruder import ATTACKS, UNIQUE
from understudy_studies.park_ghosh_2014.patient_case import Case, find
from understudy_studies.park_ghosh_2014.pegs_papers import (
    EPSILONS,
    N_RECORDS,
    PAPERS,
    PEGS,
    PMI,
    RESET,
)
from understudy_studies.park_ghosh_2014.record_lines import (
    BY_MARGINALS_READ,
    FULL,
    LINES,
    LONG_BLOCK,
    LONG_READ,
    MARGINALS,
    PEGS_READ,
    PMI_READ,
    RESET_READ,
    ROWS,
    TABLES,
    TABLES_TOTAL,
    UNIFORM,
)
from understudy_studies.park_ghosh_2014.table_distances import (
    COEFFICIENTS,
    DISTANCES,
    HISTOGRAMS,
    LINEAR_ERRORS,
    LOGISTIC_ERRORS,
    Measure,
)
from understudy_studies.park_ghosh_2014.way_results import Results

SHOWN = (1.0, 100.0)
"""ε for each record at which coefficients are drawn."""
HISTOGRAM_EPSILON = 30.0
"""ε at which histograms are drawn."""

_LABELS = 40
"""Letters that the levels below a histogram may have together."""

PUBLISHED_WAYS = (PEGS_READ, RESET_READ, PMI_READ)
BY_RECORD = (*PUBLISHED_WAYS, BY_MARGINALS_READ, *PAPERS)
BY_TOTAL = (*PAPERS, TABLES_TOTAL, TABLES, LONG_BLOCK, MARGINALS)

_LONG = 4
"""Letters of a level beyond which labels are tilted."""

_Stroke = Literal["-", "--", ":", "-.", ""]

_LOOKS: dict[str, tuple[str, str, _Stroke]] = {
    PEGS: (KINDS[0], "o", "--"),
    RESET: (KINDS[1], "s", "--"),
    PMI: (KINDS[2], "^", "--"),
    PEGS_READ: (KINDS[0], "o", "-"),
    RESET_READ: (KINDS[1], "s", "-"),
    PMI_READ: (KINDS[2], "^", "-"),
    LONG_READ: (KINDS[5], "v", "-"),
    BY_MARGINALS_READ: (KINDS[4], "P", "-"),
    TABLES_TOTAL: (KINDS[3], "D", "-"),
    TABLES: (KINDS[3], "D", "--"),
    LONG_BLOCK: (KINDS[5], "v", "-"),
    MARGINALS: (INK, "*", "-"),
    FULL: (MUTED, "", ":"),
    UNIFORM: (MUTED, "", "-."),
    ROWS: (MUTED, "", "--"),
}
"""Colour, marker and line of each way."""

WORDS = {
    RESET: "PeGS with reset",
    RESET_READ: "PeGS with reset, as published",
    LONG_BLOCK: "PeGS with reset, one block",
    LONG_READ: "PeGS with reset, one block, as published",
    PMI: "perturbed imputation",
    PMI_READ: "perturbed imputation, as published",
    BY_MARGINALS_READ: "PeGS, weights by marginals",
    FULL: "as many real records",
    UNIFORM: "uniform records",
}
"""Names of ways in the results that a reader of a figure would not know → words."""

_ACROSS = 4  # names in a row of a legend

_COST = (
    f"ε is for each record, as the paper counts: the {N_RECORDS:,} records of a table cost "
    f"{N_RECORDS:,}·ε in all, from 100 to 100,000."
)
_WHISKERS = "Whiskers: 95 % Monte Carlo intervals."


def charts(table: str, results: Results, repetitions: int) -> tuple[Chart, ...]:
    """All figures.

    Args:
        table: name of the case.
        results: the results.
        repetitions: how many there were, for the whiskers.
    """
    case = find(table)
    with style():
        return (
            _map("distances", case, results, repetitions, DISTANCES),
            _totals(case, results, repetitions),
            _map("coefficients", case, results, repetitions,
                 (*COEFFICIENTS, LOGISTIC_ERRORS, LINEAR_ERRORS)),
            _deviations(case, results),
            _histograms(case, results),
            _map("intruder", case, results, repetitions, (*ATTACKS, UNIQUE)),
        )  # fmt: skip


_CAPTIONS = {
    "distances": (
        "R–U maps: risk across, as ε, and distance from the original up, so that lower left is "
        "better (the paper’s figures 5 and 6). Dotted: as many real records; dash-dotted: uniform "
        "ones."
    ),
    "coefficients": (
        "R–U maps of the regressions (figure 7): ‖β − β̃‖₂ above; below, mean |β − β̃| in standard "
        "errors of as many real records."
    ),
    "intruder": (
        "The simulated intruder (figure 9): wrong guesses and errors about people in the table, "
        "high is safe; and records that occur once by {unique}. Dotted: from as many real records."
    ),
}


def _map(
    name: str, case: Case, results: Results, repetitions: int, measures: Sequence[Measure]
) -> Chart:
    """Panels over ε for each record."""
    down = 2 if len(measures) == 4 else 1
    figure = Figure(figsize=(9.5, 3.4 * down + 0.5))
    grid = figure.subplots(down, -(-len(measures) // down), squeeze=False)
    for axes, measure in zip(grid.flat, measures, strict=True):
        axes.set_title(measure.heading(case))
        for method in BY_RECORD:
            _line(axes, results, measure, method, repetitions, total=False)
        for mark in (FULL, UNIFORM):
            _level(axes, results.mark(measure, mark), mark)
        label, free = "ε for each record (total: × 1,000)", measure in ATTACKS
        _finish(axes, label, _scale_words(measure), from_zero=not free)
    _legend(figure, (*BY_RECORD, FULL, UNIFORM))
    caption = _CAPTIONS[name].format(unique=_listed(case.intruder.unique))
    return Chart(name, figure, f"{caption} {_COST} {_WHISKERS}")


def _totals(case: Case, results: Results, repetitions: int) -> Chart:
    """The distances over what a table really costs."""
    figure = Figure(figsize=(9.5, 4.1))
    for axes, measure in zip(figure.subplots(1, 3), DISTANCES, strict=True):
        axes.set_title(measure.heading(case))
        for method in BY_TOTAL:
            _line(axes, results, measure, method, repetitions, total=True)
        for mark in (FULL, UNIFORM):
            _level(axes, results.mark(measure, mark), mark)
        _finish(axes, "ε of the whole table", _scale_words(measure), from_zero=True)
    _legend(figure, (*BY_TOTAL, FULL, UNIFORM), beside=0.17)
    name_lines(figure.axes[-1])
    caption = (
        "The same distances over the ε that all 1,000 records cost together, with ways of our own "
        "beside the paper’s three. A reader of the paper’s figures who takes ε for that of the "
        f"release sees the three a thousandfold too far left. Dotted: as many real records, at "
        "random; marginals may be below, as its records are spread evenly. Dash-dotted: uniform "
        f"ones. {_WHISKERS}"
    )
    return Chart("totals", figure, caption)


def _deviations(case: Case, results: Results) -> Chart:
    """Coefficients of the linear regression at two ε."""
    names = case.linear.names
    figure = Figure(figsize=(9.5, 3.9))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, epsilon in zip(panels, SHOWN, strict=True):
        axes.set_title(f"ε = {epsilon:g} for each record, {epsilon * N_RECORDS:,.0f} in all")
        truth = results.numbers("linear_coefficients", ROWS, epsilon)
        axes.plot(range(len(names)), truth, "_", color=INK, markersize=16)
        for k, method in enumerate(PUBLISHED_WAYS):
            colour, marker, _ = _LOOKS[method]
            found = results.numbers("linear_coefficients", method, epsilon)
            places = np.arange(len(names)) + 0.16 * (k - 1)
            axes.plot(places, found, marker, color=colour, markersize=5)
        axes.axhline(0, color=RULE, linewidth=0.8)
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes.set_xlabel("term")
    panels[0].set_ylabel("coefficient")
    marks = [Line2D([], [], color=INK, marker="_", linestyle="", markersize=12)]
    marks += [_sign(one, line=False) for one in PUBLISHED_WAYS]
    names = ("the table", *(WORDS.get(one, one) for one in PUBLISHED_WAYS))
    figure.legend(marks, names, loc="upper left", ncols=4)
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    caption = (
        f"Coefficients of the linear regression of {case.linear.outcome.words}, means over the "
        f"repetitions (figure 8). {_COST}"
    )
    return Chart("deviations", figure, caption)


def _histograms(case: Case, results: Results) -> Chart:
    """Two columns, from PeGS and from one long block."""
    figure = Figure(figsize=(9.5, 3.6))
    panels = zip(figure.subplots(1, 2), HISTOGRAMS, case.histograms, strict=True)
    for axes, text, column in panels:
        axes.set_title(column)
        shares = results.numbers(text, ROWS, HISTOGRAM_EPSILON)
        places = np.arange(len(shares))
        axes.bar(places, shares, color=RULE, width=0.9)
        for method in (PEGS_READ, LONG_READ):
            colour, marker, _ = _LOOKS[method]
            found = results.numbers(text, method, HISTOGRAM_EPSILON)
            axes.plot(places, found, marker=marker, color=colour, markersize=3.5, linewidth=1.2)
        axes.axhline(1 / len(shares), color=MUTED, linestyle="-.", linewidth=1.0)
        levels = [str(level) for level in getattr(case.schema.columns[column], "levels", ())]
        step = -(-sum(map(len, levels)) // _LABELS)  # so that labels do not touch
        tilt = {"rotation": 45, "ha": "right"} if max(map(len, levels)) > _LONG else {}
        axes.set_xticks(places[::step], levels[::step], **tilt)
        axes.set_xlabel("level")
        axes.set_ylabel("share")
    marks = [Line2D([], [], color=RULE, linewidth=6)]
    drawn = (PEGS_READ, LONG_READ, UNIFORM)
    marks += [_sign(one) for one in drawn]
    names = ("the table", *(WORDS.get(one, one) for one in drawn))
    figure.legend(marks, names, loc="upper left", ncols=4)
    figure.tight_layout(rect=(0, 0, 1, 0.91))
    caption = (
        f"Shares of levels at ε = {HISTOGRAM_EPSILON:g} (figure 4): PeGS spends that for each "
        f"record, {HISTOGRAM_EPSILON * N_RECORDS:,.0f} in all; the one block of 1,000 records with "
        f"reset spends {HISTOGRAM_EPSILON:g} in all."
    )
    return Chart("histograms", figure, caption)


def _line(
    axes: Axes, results: Results, measure: Measure, method: str, repetitions: int, *, total: bool
) -> None:
    colour, marker, line = _LOOKS[method]
    values = results.along(measure, method)
    across = [LINES[method].total(epsilon) if total else epsilon for epsilon in EPSILONS]
    reach = results.reach(measure, method, repetitions)
    drawn = axes.errorbar(
        across, values, reach, color=colour, marker=marker, markersize=4, linestyle=line,
        linewidth=1.3, elinewidth=0.8,
    )  # fmt: skip
    drawn.lines[0].set_label(WORDS.get(method, method))


def _level(axes: Axes, value: float, mark: str) -> None:
    colour, _, line = _LOOKS[mark]
    axes.axhline(value, color=colour, linestyle=line, linewidth=1.0, label=WORDS.get(mark, mark))


def _finish(axes: Axes, label: str, title: str, *, from_zero: bool) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel(title)
    axes.xaxis.set_major_formatter(
        lambda value, _place: f"{value:,g}" if value < 1 else f"{value:,.0f}"
    )
    if from_zero:
        axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=RULE, linewidth=0.5)


def _scale_words(measure: Measure) -> str:
    """What the upward axis of a measure shows."""
    if measure in DISTANCES:
        return "distance from the original"
    if measure in COEFFICIENTS:
        return "‖β − β̃‖₂"
    if measure in (LOGISTIC_ERRORS, LINEAR_ERRORS):
        return "standard errors"
    return "records" if measure == UNIQUE else "error of the intruder"


def _legend(figure: Figure, methods: Sequence[str], *, beside: float = 0.0) -> None:
    """A legend above; at the right room for names beside lines, as a part of the width."""
    names = [WORDS.get(method, method) for method in methods]
    figure.legend([_sign(method) for method in methods], names, loc="upper left", ncols=_ACROSS)
    height = float(figure.get_size_inches()[1])
    above = 0.15 + 0.22 * -(-len(methods) // _ACROSS)
    figure.tight_layout(rect=(0, 0, 1 - beside, 1 - above / height))


def _sign(method: str, *, line: bool = True) -> Line2D:
    """What stands for a way in a legend."""
    colour, marker, stroke = _LOOKS[method]
    return Line2D(
        [], [], color=colour, marker=marker, linestyle=stroke if line else "", markersize=4,
        linewidth=1.3,
    )  # fmt: skip


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns[:-1]) + f" and {columns[-1]}"
