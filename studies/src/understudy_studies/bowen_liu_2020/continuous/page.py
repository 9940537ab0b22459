"""What the page of study 2 tells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from understudy_studies.bowen_liu_2020 import panels
from understudy_studies.bowen_liu_2020.bowen_liu_paper import PAPER_MODE
from understudy_studies.bowen_liu_2020.continuous.claims import MEDIANS, about_study
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
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import Curves, plain
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable

LINES = panels.lines((ORIGINAL, MS), (SPLIT, NONSPLIT, PERTURBED, SMOOTHED))
NAMES = {MEAN: "mean", VARIANCE: "variance"}


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, ("shape", "variance", "n_rows"))
    findings, comparison = told(lambda: about_study(curves), run_record)
    return PageText(
        lead=(
            "A number from a normal law, clipped to public bounds, is released by Bayesian models "
            "with noisy mean and variance, and by noisy histograms. How well do synthetic sets "
            "give its mean and variance back?"
        ),
        done=_done(),
        parameters=_parameters(run_record),
        findings=findings,
        comparison=comparison,
        tables=(_bins(curves), _reconstructed()),
        charts=tuple(_charts(curves)),
    )


def _done() -> tuple[str, ...]:
    return (
        "In every repetition n numbers are drawn from N(0, σ²) and clipped to the bounds. Of each "
        "synthetic set mean and variance are taken, with u = s²/n and u = 2s⁴/(n − 1), and pooled "
        "by T = ū + b/m with its t reference (Reiter 2003).",
        f"MODIPS: {SETS} sets at ε/{SETS}; mean and variance get Laplace noise for the "
        "sensitivities R/n and R²/n (R: width of the bounds), with half of the budget each (split),"
        " or of one scale for the sum of both sensitivities (non-split); they are clipped to what "
        "is possible, then σ² and μ are drawn from their posterior, then records, clipped to the "
        "bounds.",
        f"Perturbed histogram: {SETS} sets at ε/{SETS}; Laplace noise in every bin, negative counts"
        " set to 0, records uniform in their bins. Smoothed histogram: one set, drawn from bins "
        "mixed with the uniform law as much as ε demands. Both have the bins of Scott's rule with "
        "the standard deviation of the confidential data, which is a leak: a release takes public "
        "bins unless the paper's mode is asked for.",
        PAPER_MODE,
    )


def _parameters(run_record: RunRecord) -> dict[str, str]:
    bounds = "; ".join(
        f"[{plain(low)}σ, {plain(high)}σ] ({shape})" for shape, (low, high) in ENDS.items()
    )
    error = 100 * math.sqrt(0.95 * 0.05 / run_record.repetitions[0])
    return {
        "μ": "0",
        "σ²": ", ".join(f"{one:g}" for one in VARIANCES),
        "n": ", ".join(f"{n:,}" for n in N_ROWS),
        "Bounds": bounds,
        "log ε": f"{plain(LOG_EPSILONS[0])} to {LOG_EPSILONS[-1]} in steps of 1",
        "Sets": f"{SETS}; 1 for the smoothed histogram",
        "Repetitions": run_record.repetitions_words,
        "Monte Carlo error": f"{error:.2g} points for a coverage of 95 %",
    }


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
