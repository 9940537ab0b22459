"""What the page of the study tells."""

from __future__ import annotations

from collections.abc import Iterator

from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.reconstruction_notes import reconstructed
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.snoke_slavkovic_2018.bound_violations import figures
from understudy_studies.snoke_slavkovic_2018.bound_violations.claims import (
    NEAREST,
    TABLE_1,
    about_study,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations.simulation import (
    FAR,
    MOVES,
    NOISE,
    OUTLIER,
    SMALL_NOISE,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations.trees import (
    CELLS,
    COMPLEXITIES,
    DEPTH,
    DEPTHS,
    ENDS,
    N_TREES,
    PRUNE,
    STOP,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations.violation_findings import findings
from understudy_studies.snoke_slavkovic_2018.bound_violations.violation_results import Results
from understudy_studies.snoke_slavkovic_2018.population import Parameters


def page_text(rows: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    results = Results(rows)
    words, comparison = told(lambda: about_study(results), run_record)
    return PageText(
        lead=(
            "The pMSE mechanism is private if pMSE moves by at most 1/n when one record changes. "
            "That is proved for the best trees of a class, and the trees that were computed are "
            "greedy. They break the bound, and a limit of complexity does so by itself; exact "
            "trees and public partitions never move by more than about half of it."
        ),
        done=_done(),
        parameters=_parameters(run_record),
        findings=(*words, *findings(results)),
        comparison=comparison,
        tables=tuple(_tables(results)),
        charts=figures.charts(results),
    )


def _done() -> tuple[str, ...]:
    return (
        "In every repetition X has n records of two columns, x₁ normal and x₂ normal given x₁; Z "
        "has n records from the two regressions fitted to X. The first record of X then moves, "
        "which gives X′, and pMSE of X and of X′ against the same Z is computed with trees of "
        "every kind. Trees that are dear are asked in every 10th to 100th repetition.",
        f"The record moves by Gaussian noise on both values, of variance {NOISE.variance:g} or "
        f"{SMALL_NOISE.variance:g}, or to a place {FAR:g} standard deviations out in both columns "
        "(outlier; since neighbours are symmetric, that is an outlier moved onto the bulk).",
        "Two bounds: 1/n, as published, and 1/(2(n + 1)), which is proved for every class of trees "
        "that does not depend on the data, and attained. Intervals are those of Clopper & Pearson, "
        "95 %.",
        "Two readings of the complexity c. Stopped: a split must lessen the impurity by more than "
        "a share c of that of the root, at once. Pruned: the grown tree is cut back to the subtree "
        "with the smallest impurity plus c for each leaf. The first is the default of this study: "
        "it is what the paper describes (an improvement that is required for another split), and "
        "the only one of both that gives nearly the same rates at depth 5 and without limit, as in "
        "the paper's table.",
        "The published mechanism draws θ with density prior · exp(−ε·n·pMSE/2). With a score that "
        "moves by D, the proof of the exponential mechanism gives ε·n·D, and so much is lost when "
        "pMSE of some θ rises by D while that of all likely others falls by D. So the largest "
        "n·|ΔpMSE| that was seen is the least that ε = 1 can stand for in that proof. For exact "
        "trees ε = 1 stands for n/(2(n + 1)), a half: there the published exponent wastes budget.",
    )


def _parameters(run_record: RunRecord) -> dict[str, str]:
    law = Parameters()
    return {
        "x₁": f"N({law.mean:g}, {law.stddev**2:g})",
        "x₂ given x₁": f"N({law.intercept:g} + {law.slope:g}·x₁, {law.residual**2:g})",
        "n": ", ".join(f"{n:,}" for n in COMPLEXITIES),
        "c": "; ".join(
            f"{', '.join(f'{one:g}' for one in values)} (n = {n:,})"
            for n, values in COMPLEXITIES.items()
        ),
        "Depths": ", ".join(DEPTHS),
        "Leaves": "of any size",
        "Public grid": f"{CELLS} cells a column over ±{ENDS[1][0]:g} and ±{ENDS[1][1]:g}",
        "Public partitions": f"the best of {N_TREES} random trees of depth {DEPTH} over the same",
        "Repetitions": f"{run_record.repetitions_words}; a half of them with noise of variance "
        f"{SMALL_NOISE.variance:g} too, and one in {OUTLIER.every} with an outlier",
    }


def _tables(results: Results) -> Iterator[TextTable]:
    yield _beside(results)
    for n in results.sizes:
        yield _greedy(results, n, STOP, fold=False)
    yield _fixed(results)
    for n in results.sizes:
        yield _greedy(results, n, PRUNE, fold=True)
    yield reconstructed(
        ("n = 100 and 1,000", "guessed", "lost"),
        ("means, slope and variances of the columns", "guessed", "lost; trees see ranks only"),
        ("variance of the noise, 1 and 0.25", "guessed", "lost"),
        ("c = 0.01 and 0.001", "guessed", "lost; usual values"),
        ("c with n·c = 3 and 2.5", "fitted", "to the rates in the paper's table 1"),
        ("a split must gain a share c of the impurity", "reconstructed", "in words in the paper"),
        ("leaves of any size", "guessed", "lost"),
        ("depths 1, 2, 5 and unlimited, bound 1/n", "printed", ""),
    )


def _beside(results: Results) -> TextTable:
    n, move, method = NEAREST
    lines = []
    for k, depth in enumerate(DEPTHS):
        cells = []
        for complexity, paper in TABLE_1.items():
            row = results.greedy(n, move, method, depth, complexity)
            cells += [f"{paper[k]:.1f} %", rate(row, "published"), rate(row, "true")]
        lines.append((depth, *cells))
    first, second = (f"{one:g}" for one in TABLE_1)
    return TextTable(
        caption=f"The paper's table 1 beside the nearest setting here: n = {n:,}, {move}, {method}",
        headings=(
            "depth",
            "paper, higher c",
            f"c = {first}: > 1/n",
            "> 1/(2(n + 1))",
            "paper, lower c",
            f"c = {second}: > 1/n",
            "> 1/(2(n + 1))",
        ),
        rows=tuple(lines),
    )


def _greedy(results: Results, n: int, method: str, *, fold: bool) -> TextTable:
    lines = []
    for complexity in COMPLEXITIES[n]:
        for depth in DEPTHS:
            cells = []
            for move in MOVES:
                row = results.greedy(n, move.name, method, depth, complexity)
                cells += [rate(row, "published"), rate(row, "true"), f"{row['largest']:.2f}"]
            lines.append((f"{complexity:g}", depth, *cells))
    return TextTable(
        caption=f"Trees {method}, n = {n:,}: rates (95 % intervals) and the largest n·|ΔpMSE|, "
        "which is the ε that a nominal 1 stands for",
        headings=(
            "c",
            "depth",
            *(
                text
                for move in MOVES
                for text in (f"{move.name}: > 1/n", "> 1/(2(n + 1))", "largest")
            ),
        ),
        rows=tuple(lines),
        words=2,
        fold=fold,
    )


def _fixed(results: Results) -> TextTable:
    return TextTable(
        caption="Classes of trees that do not depend on the data",
        headings=(
            "trees",
            "depth",
            "record",
            "n",
            "comparisons",
            "beyond 1/(2(n + 1))",
            "upper limit of the rate",
            "largest n·|ΔpMSE|",
        ),
        rows=tuple(
            (
                row["method"],
                row["depth"],
                row["move"],
                f"{row['n_rows']:,}",
                f"{row['n']:,}",
                f"{row['over_true']}",
                f"{100 * row['true_high']:.2g} %",
                f"{row['largest']:.2f}",
            )
            for row in results.fixed
        ),
        words=3,
    )


def rate(row: Row, bound: str) -> str:
    """A rate with its interval, in per cent.

    Args:
        row: of the results.
        bound: "published" or "true".
    """
    value, low, high = (row[f"rate_{bound}"], row[f"{bound}_low"], row[f"{bound}_high"])
    return f"{100 * value:.2f} ({100 * low:.2f}–{100 * high:.2f})"
