"""What the page of study 3 tells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from understudy_studies.bowen_liu_2020 import panels
from understudy_studies.bowen_liu_2020.bowen_liu_paper import PAPER_MODE
from understudy_studies.bowen_liu_2020.mixed import population
from understudy_studies.bowen_liu_2020.mixed.claims import Mixed, about_study
from understudy_studies.bowen_liu_2020.mixed.description import (
    CELL_SHARES,
    CORRELATION,
    FIRST,
    MARGINALS,
    MEANS,
    PRODUCT,
    SECOND,
)
from understudy_studies.bowen_liu_2020.mixed.simulation import (
    BLOCKS,
    EMPTY,
    LOG_EPSILONS,
    MODIPS,
    MS,
    ORIGINAL,
    PERTURBED,
    SETS,
    STRICT,
)
from understudy_studies.bowen_liu_2020.panels import MEASURES, SHORT, Panel
from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves, plain
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable

UNITS = {FIRST: "variance", SECOND: "variance"} | {
    group: group for group in (MEANS, MARGINALS, CELL_SHARES, PRODUCT, CORRELATION)
}
"""What has the same scale in figures."""
_CAUTION = (
    "How far the methods are apart depends on means and bounds, which are guesses here: the noise "
    "of MODIPS grows with the width of the bounds, and the bias of the histogram with the distance "
    "of a mean from their middle. So points about the cells’ means that do not hold here may hold "
    "in the paper’s population."
)
LINES = panels.lines((ORIGINAL, MS), (MODIPS, PERTURBED, STRICT))


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, ("n_rows",))
    findings, comparison = told(lambda: about_study(curves), run_record)
    return PageText(
        lead=(
            "A table of three categorical columns and two numbers is released by a Bayesian model "
            "of cells and normal numbers, and by histograms within cells. How well do synthetic "
            "sets give shares, means, variances and the correlation back?"
        ),
        done=_done(),
        parameters=_parameters(run_record),
        findings=(*findings, _CAUTION),
        comparison=comparison,
        tables=(_empty(curves), _reconstructed()),
        charts=tuple(_charts(Mixed(curves))),
    )


def _done() -> tuple[str, ...]:
    return (
        "In every repetition records are drawn from 2 × 3 × 4 cells, with two normal numbers whose "
        "means differ between cells and whose covariance is the same, clipped to the bounds. Of "
        "each synthetic set are taken: means of the cells (u: pooled s²/n_k), shares of the levels "
        "and of the cells (u: p(1 − p)/n), variances (u: s⁴(2/(n − 1) + κ/n), κ the excess "
        "kurtosis), the covariance (u: (s₁²s₂² + s₁₂²)/(n − 1)) and the correlation (u: "
        "(1 − r²)²/(n − 1)), all pooled within cells. They are pooled by T = ū + b/m with its t "
        "reference (Reiter 2003). The mean of a cell is pooled over those sets that have records in"
        " it, and needs two.",
        f"MODIPS: {SETS} sets at ε/{SETS}; counts, means of both numbers in the cells, both "
        f"variances and the covariance are {BLOCKS} blocks with a sixth of that each. As "
        "published, a cell's mean gets noise of scale R/n_k with the private count n_k, and no "
        "record changes its cell: this is no valid guarantee. “MODIPS, strict sensitivities” has "
        "the noise that one needs: in the sums of the cells, for records that may change their "
        "cell.",
        f"Perturbed histogram: {SETS} sets at ε/{SETS}, half of it for the table of cells and half "
        "for histograms within cells, with bins by Scott's rule from the confidential deviations of"
        " each cell. MS: multiple synthesis without noise.",
        PAPER_MODE,
    )


def _parameters(run_record: RunRecord) -> dict[str, str]:
    shares, means = population.shares(), population.means()
    error = 100 * math.sqrt(0.95 * 0.05 / run_record.repetitions[0])
    return {
        "n": "1,000",
        "Shares of the cells": f"{shares.min():g} to {shares.max():g}",
        "Means of the cells": f"a grid of 6 × 4 points from {plain(means.min())} to "
        f"{plain(means.max())}",
        "σ₁², σ₂², ρ": f"{population.VARIANCE:g}, {population.VARIANCE:g}, "
        f"{population.CORRELATION:g}",
        "Bounds": f"{plain(population.BOUNDS[0])} to {plain(population.BOUNDS[1])}",
        "log ε": f"{plain(LOG_EPSILONS[0])} to {LOG_EPSILONS[-1]} in steps of 1",
        "Sets": f"{SETS}",
        "Repetitions": run_record.repetitions_words,
        "Monte Carlo error": f"{error:.2g} points for a coverage of 95 %",
    }


def _empty(curves: Curves) -> TextTable:
    shown = [k for k, budget in enumerate(curves.budgets) if budget % 2 == 0]
    rows = []
    for line in LINES:
        found = curves.along("empty_cells", curves.points[0], EMPTY, line.method)
        rows.append((line.method, *(f"{found[k]:.2f}" for k in shown)))
    return TextTable(
        caption="Empty cells of a set, of 24, on average",
        headings=("method", *(f"log ε = {plain(curves.budgets[k])}" for k in shown)),
        rows=tuple(rows),
    )


def _reconstructed() -> TextTable:
    return reconstructed(
        ("2, 3 and 4 levels; shares from 0.007 to 0.076", "printed", ""),
        ("shares in equal steps, spread over the table", "guessed", "only the range is known"),
        ("n = 1,000", "fitted", "with the bounds, to the printed numbers of bins"),
        (
            "bounds −3.75 and 3.75, exponent 1/4 in Scott's rule",
            "fitted",
            "the same, read as squares of 4 to 7 bins",
        ),
        ("means on a grid from −1 to 1, σ² = 1, ρ = 0.5", "guessed", "lost"),
        ("log ε from −5 to 10", "guessed", "lost"),
        ("Dirichlet prior of 1/3 in each cell", "guessed", "lost"),
        ("variances u of variances, covariance, correlation", "reconstructed", "formulas lost"),
        ("500 repetitions", "ours", "the paper has 5,000; --reps 5000 does that"),
        ("10 sets, 6 blocks, halves of the budget for the histogram", "printed", ""),
    )


def _charts(mixed: Mixed) -> Iterator[Chart]:
    figures = {
        "many": (
            (MEANS, MARGINALS, CELL_SHARES),
            "Means of the cells, shares of the levels and of the cells: medians over all of them, "
            "with bands from the lower to the upper quartile; for bias of its absolute value.",
        ),
        "covariance": (
            (FIRST, SECOND, PRODUCT, CORRELATION),
            "Variances, covariance and correlation within cells.",
        ),
    }
    for name, (groups, caption) in figures.items():
        grid = [
            [
                Panel(
                    f"{group}: {SHORT[value]}",
                    mixed.point,
                    mixed.members(group),
                    value,
                    UNITS[group],
                )
                for group in groups
            ]
            for value in MEASURES
        ]
        rows = "Rows: bias, root mean squared error, coverage in per cent, mean width."
        yield Chart(f"study-3-{name}", panels.drawn(mixed.curves, grid, LINES), f"{caption} {rows}")
