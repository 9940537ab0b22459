"""What the page of study 1 tells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from understudy.privacy.noise.truncated_laplace import realised_epsilon
from understudy.studies.bowen_liu import panels
from understudy.studies.bowen_liu.binary import usable
from understudy.studies.bowen_liu.binary.coverage import about_coverage, about_usable
from understudy.studies.bowen_liu.binary.errors import about_errors
from understudy.studies.bowen_liu.binary.simulation import (
    DP_PRIOR,
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
    UNDRAWN,
)
from understudy.studies.bowen_liu.panels import MEASURES, Panel
from understudy.studies.bowen_liu.source import PAPER_MODE
from understudy.studies.curves import FEWEST, Curves
from understudy.studies.reading import Reading, plain
from understudy.studies.reconstruction import reconstructed
from understudy.studies.study import Account, Conduct, Drawing, Grid, Row
from understudy.studies.verdicts import Verdict, told

_TRUNCATION = (
    "MODIPS with truncation as published costs more than its ε: noise that is drawn again until it "
    "falls inside [0, n] is not post-processing. The table below says how much."
)
LINES = panels.lines((ORIGINAL, MS), (THRESHOLD, TRUNCATION, LAPLACE, MD, DP_PRIOR, UNDRAWN))


def account(results: list[Row], conduct: Conduct) -> Account:
    """The page of the study."""
    curves = Curves(results, ("pi", "n_rows"))
    findings, comparison = told(lambda: verdicts(curves, conduct.repetitions[0]), conduct)
    return Account(
        lead=(
            "A binary column with a share π of ones is released by every method at budgets from "
            "ε = e⁻¹⁰ to e¹⁰, and π is estimated from the synthetic sets alone. How far off is the "
            "estimate, and how often does its 95 % interval hold π?"
        ),
        done=_done(),
        parameters=_parameters(conduct),
        findings=(*findings, _TRUNCATION),
        comparison=comparison,
        grids=(_usable(curves, conduct), _truncation(), _reconstructed()),
        drawings=tuple(_drawings(curves)),
    )


def verdicts(curves: Curves, repetitions: int) -> tuple[Verdict, ...]:
    """All points that the paper makes.

    Args:
        curves: results, by π and n.
        repetitions: number of repetitions of a scenario.
    """
    reading = Reading(curves, SHARE)
    return (
        *about_errors(reading),
        *about_coverage(reading),
        *about_usable(reading, repetitions),
    )


def _done() -> tuple[str, ...]:
    return (
        "In every repetition n records are drawn with probability π of a one. Every method makes "
        "synthetic sets of n records; of each set the share q and its variance q(1 − q)/n are "
        "taken, as by an analyst, and pooled by T = ū + b/m with its t reference (Reiter 2003). A "
        "repetition is usable if T > 0; all measures are of usable repetitions, and nothing is "
        f"drawn or said of fewer than {FEWEST}.",
        f"MODIPS: {SETS} sets at ε/{SETS}; the noisy number of ones is clipped to [0, n] "
        "(threshold) or drawn again until inside (truncation), then π from its Beta posterior, then"
        f" records. MD: {SETS} sets at ε/{SETS}, each drawn from a Dirichlet-multinomial urn whose "
        "prior is as strong as ε demands. DP-prior: one set of independent draws. Laplace: one set,"
        " drawn with the clipped noisy share. MS: multiple synthesis without noise. All go through "
        "the code that releases use.",
        "“Laplace, undrawn” is another reading of the paper: the clipped noisy number of ones is "
        "released as it is, without drawing records. The table of usable repetitions cannot tell "
        "the readings apart.",
        PAPER_MODE,
    )


def _parameters(conduct: Conduct) -> dict[str, str]:
    error = 100 * math.sqrt(0.95 * 0.05 / conduct.repetitions[0])
    return {
        "π": ", ".join(f"{pi:g}" for pi in PIS),
        "n": ", ".join(f"{n:,}" for n in N_ROWS),
        "log ε": f"{plain(LOG_EPSILONS[0])} to {LOG_EPSILONS[-1]} in steps of 1",
        "Sets": f"{SETS} for MODIPS, MD and MS; 1 for Laplace and DP-prior",
        "Prior of MODIPS and MS": "Beta(1/3, 1/3)",
        "Repetitions": conduct.repetitions_words,
        "Monte Carlo error": f"{error:.2g} points for a coverage of 95 %",
    }


def _usable(curves: Curves, conduct: Conduct) -> Grid:
    """The 54 printed shares beside ours."""
    entries = usable.compared(curves, conduct.repetitions[0])
    rows, doubtful = [], set()
    across = len(usable.BUDGETS)
    for i, point in enumerate(usable.PRINTED):
        here = entries[across * i : across * (i + 1)]
        texts = [f"{one.printed:.4f} / {one.measured:.4f}" for one in here]
        rows.append((f"π = {point[0]:g}, n = {point[1]:,}", *texts))
        doubtful |= {(i, 1 + k) for k, one in enumerate(here) if abs(one.z) > usable.FAR}
    return Grid(
        caption=(
            "Share of usable repetitions of the Laplace sanitizer: the paper's (supplement, table "
            f"1) / ours; marked where they differ by more than {usable.FAR:g} standard errors"
        ),
        headings=("scenario", *(f"log ε = {plain(budget)}" for budget in usable.BUDGETS)),
        rows=tuple(rows),
        doubtful=frozenset(doubtful),
    )


def _truncation() -> Grid:
    """What the published truncation costs."""
    rows = []
    for log_epsilon in (-4, -2, 0, 1, 2, 3, 4, 6):
        nominal = math.exp(log_epsilon)
        costs = [SETS * realised_epsilon(SETS / nominal, 1, n) for n in N_ROWS]
        rows.append(
            (
                plain(log_epsilon),
                f"{nominal:.3g}",
                *(f"{one:.3g} (×{one / nominal:.2f})" for one in costs),
            )
        )
    return Grid(
        caption=(
            f"ε that MODIPS with truncation realises as published ({SETS} sets, noise of scale "
            f"{SETS}/ε drawn again until inside [0, n]); with calibrated noise, as in a release, "
            "it is the nominal one"
        ),
        headings=("log ε", "nominal ε", *(f"n = {n:,}" for n in N_ROWS)),
        rows=tuple(rows),
    )


def _reconstructed() -> Grid:
    return reconstructed(
        ("n = 40, 100, 1,000", "fitted", "lost in the text; fit the printed table of shares"),
        ("π = 0.15, 0.25, 0.5", "fitted", "the same"),
        ("noise of scale 1/ε on the number of ones alone", "fitted", "the same"),
        ("log ε from −10", "printed", "in the table of shares"),
        ("log ε up to 10, in steps of 1", "guessed", "the end is lost"),
        ("variance of a share q(1 − q)/n", "reconstructed", "formula lost"),
        ("one drawn set for Laplace", "reconstructed", "the other reading is shown too"),
        ("5,000 repetitions, 10 sets, Beta(1/3, 1/3)", "printed", "or from the cited source"),
    )


def _drawings(curves: Curves) -> Iterator[Drawing]:
    for value, words in MEASURES.items():
        grid = [
            [Panel(f"π = {pi:g}, n = {n:,}", (pi, n), (SHARE,), value) for pi in PIS]
            for n in N_ROWS
        ]
        yield Drawing(
            f"study-1-{value}",
            panels.drawn(curves, grid, LINES),
            f"{words.capitalize()}, for an estimate of π from synthetic data, by budget.",
        )
