"""What the page of study 1 tells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from understudy.dp.truncated_laplace import realised_epsilon
from understudy_studies.bowen_liu_2020 import panels
from understudy_studies.bowen_liu_2020.binary import usable
from understudy_studies.bowen_liu_2020.binary.claims import about_coverage, about_usable
from understudy_studies.bowen_liu_2020.binary.share_error_claims import about_errors
from understudy_studies.bowen_liu_2020.binary.share_readings import sensitivity_tables
from understudy_studies.bowen_liu_2020.binary.simulation import (
    DP_PRIOR,
    DRAWN,
    LAPLACE,
    LOG_EPSILONS,
    MD,
    MS,
    N_ROWS,
    ORIGINAL,
    PIS,
    SETS,
    SHARE,
    THRESHOLD,
    TRUNCATION,
)
from understudy_studies.bowen_liu_2020.bowen_liu_paper import PAPER_MODE
from understudy_studies.bowen_liu_2020.panels import MEASURES, Panel
from understudy_studies.framework.claim_verdicts import Verdict, told
from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.result_curves import FEWEST, Curves, Reading, by_budget, plain
from understudy_studies.framework.study import Chart, PageText, Row, RunRecord, TextTable

_TRUNCATION = (
    "MODIPS with truncation as published costs more than its ε: noise that is drawn again until it "
    "falls inside [0, n] is not post-processing. The table below says how much."
)
LINES = panels.lines((ORIGINAL, MS), (THRESHOLD, TRUNCATION, LAPLACE, MD, DP_PRIOR, DRAWN))


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    curves = Curves(results, ("pi", "n_rows"))
    findings, comparison = told(lambda: verdicts(curves, run_record.repetitions[0]), run_record)
    prose = prose_of(
        __package__,
        fewest=FEWEST,
        sets=SETS,
        paper_mode=PAPER_MODE,
        shares=PIS,
        n_rows=N_ROWS,
        log_epsilons=LOG_EPSILONS,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=(*findings, _TRUNCATION),
        comparison=comparison,
        tables=(
            _usable(curves, run_record),
            *sensitivity_tables(Reading(curves, SHARE), run_record.repetitions[0]),
            _truncation(),
            _reconstructed(),
        ),
        charts=tuple(_charts(curves)),
    )


def verdicts(curves: Curves, repetitions: int) -> tuple[Verdict, ...]:
    """All points that the paper makes.

    Args:
        curves: results, by π and n.
        repetitions: number of repetitions of a scenario.
    """
    reading = Reading(curves, SHARE)
    return (
        *about_errors(reading, repetitions),
        *about_coverage(reading),
        *about_usable(reading, repetitions),
    )


def _usable(curves: Curves, run_record: RunRecord) -> TextTable:
    """The 54 printed shares beside ours."""
    entries = usable.compared(curves, run_record.repetitions[0])
    rows, doubtful = [], set()
    across = len(usable.BUDGETS)
    for i, point in enumerate(usable.PRINTED):
        here = entries[across * i : across * (i + 1)]
        texts = [f"{entry.printed:.4f} / {entry.measured:.4f}" for entry in here]
        rows.append((f"π = {point[0]:g}, n = {point[1]:,}", *texts))
        doubtful |= {(i, 1 + k) for k, entry in enumerate(here) if abs(entry.z) > usable.FAR}
    return TextTable(
        caption=(
            "Share of usable repetitions of the Laplace sanitizer: the paper's (supplement, table "
            f"1) / ours; marked where they differ by more than {usable.FAR:g} standard errors"
        ),
        headings=("scenario", *by_budget(usable.BUDGETS)),
        rows=tuple(rows),
        doubtful=frozenset(doubtful),
    )


def _truncation() -> TextTable:
    """What the published truncation costs."""
    rows = []
    for log_epsilon in (-4, -2, 0, 1, 2, 3, 4, 6):
        nominal = math.exp(log_epsilon)
        costs = [SETS * realised_epsilon(SETS / nominal, 1, n) for n in N_ROWS]
        rows.append(
            (
                plain(log_epsilon),
                f"{nominal:.3g}",
                *(f"{cost:.3g} (×{cost / nominal:.2f})" for cost in costs),
            )
        )
    return TextTable(
        caption=(
            f"ε that MODIPS with truncation realises as published ({SETS} sets, noise of scale "
            f"{SETS}/ε drawn again until inside [0, n]); with calibrated noise, as in a release, "
            "it is the nominal one"
        ),
        headings=("log ε", "nominal ε", *(f"n = {n:,}" for n in N_ROWS)),
        rows=tuple(rows),
    )


def _reconstructed() -> TextTable:
    return reconstructed(
        ("n = 40, 100, 1,000", "fitted", "lost in the text; fit the printed table of shares"),
        ("π = 0.15, 0.25, 0.5", "fitted", "the same"),
        ("noise of scale 1/ε on the number of ones alone", "fitted", "the same"),
        ("log ε from −10", "printed", "in the table of shares"),
        ("log ε up to 10, in steps of 1", "guessed", "the end is lost"),
        ("variance of a share q(1 − q)/n", "reconstructed", "formula lost"),
        ("one set for Laplace, with the noisy share", "reconstructed", "no draw is spoken of"),
        ("5,000 repetitions, 10 sets, Beta(1/3, 1/3)", "printed", "or from the cited source"),
    )


def _charts(curves: Curves) -> Iterator[Chart]:
    for value, words in MEASURES.items():
        grid = [
            [Panel(f"π = {pi:g}, n = {n:,}", (pi, n), (SHARE,), value) for pi in PIS]
            for n in N_ROWS
        ]
        yield Chart(
            f"study-1-{value}",
            panels.drawn(curves, grid, LINES),
            f"{words.capitalize()}, for an estimate of π from synthetic data, by budget.",
        )
