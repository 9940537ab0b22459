"""What the page of study 3 tells."""

from __future__ import annotations

from collections.abc import Iterator

from understudy_studies.bowen_liu_2020 import panels
from understudy_studies.bowen_liu_2020.bowen_liu_paper import PAPER_MODE
from understudy_studies.bowen_liu_2020.mixed import population
from understudy_studies.bowen_liu_2020.mixed.claims import PARAMETERS, Mixed, about_study
from understudy_studies.bowen_liu_2020.mixed.description import (
    CELL_SHARES,
    CORRELATION,
    FIRST,
    MARGINALS,
    MEANS,
    PRODUCT,
    SECOND,
)
from understudy_studies.bowen_liu_2020.mixed.mixed_readings import sensitivity_tables
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
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves, by_budget
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable

UNITS = {FIRST: "variance", SECOND: "variance"} | {
    group: group for group in (MEANS, MARGINALS, CELL_SHARES, PRODUCT, CORRELATION)
}
"""What has the same scale in figures."""
_CAUTION = (
    "How far the methods are apart depends on means and bounds, which are guesses here: the noise "
    "of MODIPS grows with the width of the bounds, and the bias of the histogram with the distance "
    "of a mean from their middle. The table of other populations shows how much."
)
LINES = panels.lines((ORIGINAL, MS), (MODIPS, PERTURBED, STRICT))


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, PARAMETERS)
    findings, comparison = told(lambda: about_study(curves, run_record.repetitions[0]), run_record)
    prose = prose_of(
        __package__,
        sets=SETS,
        blocks=BLOCKS,
        paper_mode=PAPER_MODE,
        shares=population.shares(),
        means=population.means(),
        variance=population.VARIANCE,
        correlation=population.CORRELATION,
        bounds=population.BOUNDS,
        log_epsilons=LOG_EPSILONS,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=(*findings, _CAUTION),
        comparison=comparison,
        tables=(_empty(curves), *sensitivity_tables(curves), _reconstructed()),
        charts=tuple(_charts(Mixed(curves))),
    )


def _empty(curves: Curves) -> TextTable:
    shown = [k for k, budget in enumerate(curves.budgets) if budget % 2 == 0]
    rows = []
    for line in LINES:
        found = curves.along("empty_cells", curves.points[0], EMPTY, line.method)
        rows.append((line.method, *(f"{found[k]:.2f}" for k in shown)))
    return TextTable(
        caption="Empty cells of a set, of 24, on average",
        headings=("method", *by_budget(curves.budgets[k] for k in shown)),
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
        ("fewer repetitions", "ours", "the paper has 5,000; --reps 5000 does that"),
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
