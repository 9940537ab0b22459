"""What the page of study 2 tells."""

from __future__ import annotations

from collections.abc import Iterator

from understudy_studies.bowen_liu_2020 import panels
from understudy_studies.bowen_liu_2020.bowen_liu_paper import PAPER_MODE
from understudy_studies.bowen_liu_2020.continuous.claims import MEDIANS, about_study
from understudy_studies.bowen_liu_2020.continuous.mean_readings import sensitivity_tables
from understudy_studies.bowen_liu_2020.continuous.simulation import (
    ASYMMETRIC,
    BINS,
    ENDS,
    LOG_EPSILONS,
    MEAN,
    MS,
    N_ROWS,
    NONSPLIT,
    ORIGINAL,
    PERTURBED,
    SETS,
    SMOOTHED,
    SPLIT,
    SYMMETRIC,
    VARIANCE,
    VARIANCES,
)
from understudy_studies.bowen_liu_2020.panels import MEASURES, SHORT, Panel
from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable

LINES = panels.lines((ORIGINAL, MS), (SPLIT, NONSPLIT, PERTURBED, SMOOTHED))
NAMES = {MEAN: "mean", VARIANCE: "variance"}


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, ("shape", "variance", "n_rows"))
    findings, comparison = told(lambda: about_study(curves, run_record.repetitions[0]), run_record)
    prose = prose_of(
        __package__,
        sets=SETS,
        paper_mode=PAPER_MODE,
        variances=VARIANCES,
        n_rows=N_ROWS,
        ends=ENDS,
        log_epsilons=LOG_EPSILONS,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=findings,
        comparison=comparison,
        tables=(_bins(curves), *sensitivity_tables(curves), _reconstructed()),
        charts=tuple(_charts(curves)),
    )


def _bins(curves: Curves) -> TextTable:
    rows = []
    for point in curves.points:
        shape, variance, n = point
        low, middle, high = (
            curves.along(name, point, BINS, PERTURBED)[0]
            for name in ("bins_low", "bins_median", "bins_high")
        )
        printed = f"{MEDIANS[n]}" if shape == ASYMMETRIC else "–"
        rows.append(
            (f"{shape}, σ² = {variance:g}, n = {n:,}", printed, f"{middle:g}", f"{low:g}–{high:g}")
        )
    return TextTable(
        caption="Number of bins by Scott's rule",
        headings=("scenario", "paper's median", "our median", "our quartiles"),
        rows=tuple(rows),
        fold=True,
    )


def _reconstructed() -> TextTable:
    return reconstructed(
        ("width of the bounds, 7σ", "fitted", "to the printed medians of the number of bins"),
        ("bounds −3σ and 4σ", "guessed", "only the width shows; the left one is closer to μ"),
        ("symmetric bounds −4σ and 4σ", "guessed", "lost"),
        ("σ² = 0.25, 1, 4", "guessed", "lost; only non-split budgets depend on it"),
        ("n = 40, 100, 1,000", "fitted", "the last is printed; study 1 has the same"),
        ("data beyond the bounds are clipped", "guessed", "or drawn again; 0.14 % of them"),
        ("log ε from −5 to 10", "guessed", "lost"),
        ("u = 2s⁴/(n − 1) for the variance", "reconstructed", "formula lost"),
        ("Laplace noise of scale m/ε in every bin", "reconstructed", "Δ = 1, as in the text"),
        ("5,000 repetitions, 10 sets, μ = 0, prior 1/σ²", "printed", ""),
    )


def _charts(curves: Curves) -> Iterator[Chart]:
    for estimand, name in NAMES.items():
        for value, words in MEASURES.items():
            grid = [
                [
                    Panel(f"σ² = {v:g}, n = {n:,}", (ASYMMETRIC, v, n), (estimand,), value)
                    for v in VARIANCES
                ]
                for n in N_ROWS
            ]
            yield Chart(
                f"study-2-{name}-{value}",
                panels.drawn(curves, grid, LINES),
                f"{words.capitalize()}, for an estimate of the {name} {estimand} within asymmetric "
                "bounds, by budget.",
            )
    for estimand, name in NAMES.items():
        grid = [
            [
                Panel(f"{SHORT[value]}, n = {n:,}", (SYMMETRIC, 1.0, n), (estimand,), value)
                for n in N_ROWS
            ]
            for value in MEASURES
        ]
        yield Chart(
            f"study-2-{name}-symmetric",
            panels.drawn(curves, grid, LINES),
            f"The same for the {name} {estimand} within symmetric bounds, with σ² = 1: bias, root "
            "mean squared error, coverage in per cent, and mean width of the interval.",
        )
