"""What the page of the study tells."""

from __future__ import annotations

from collections.abc import Iterator

from understudy_studies.framework.claim_verdicts import told
from understudy_studies.framework.page_template import prose_of
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
    GREEDY,
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
    distribution = Parameters()
    prose = prose_of(
        __package__,
        large_variance=NOISE.variance,
        small_variance=SMALL_NOISE.variance,
        far=FAR,
        mean=distribution.mean,
        variance_1=distribution.stddev**2,
        intercept=distribution.intercept,
        slope=distribution.slope,
        variance_2=distribution.residual**2,
        numbers_of_rows=", ".join(f"{n:,}" for n in COMPLEXITIES),
        complexities="; ".join(
            (
                f"{', '.join((f'{value:g}' for value in values))} (n = {n:,})"
                for n, values in COMPLEXITIES.items()
            )
        ),
        depths=", ".join(DEPTHS),
        cells=CELLS,
        end_1=ENDS[1][0],
        end_2=ENDS[1][1],
        n_trees=N_TREES,
        depth=DEPTH,
        run_record=run_record,
        every=OUTLIER.every,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=(*words, *findings(results)),
        comparison=comparison,
        tables=tuple(_tables(results)),
        charts=figures.charts(results),
    )


def _tables(results: Results) -> Iterator[TextTable]:
    yield _beside(results)
    yield _readings(results)
    for n in results.sizes:
        yield _greedy(results, n, STOP, fold=False)
    yield _fixed(results)
    for n in results.sizes:
        yield _greedy(results, n, PRUNE, fold=True)
    yield reconstructed(
        ("n = 5,000", "fitted", "to two columns of the paper's table 2: `pmse-table2`"),
        ("n = 100 and 1,000", "ours", "to show what hangs on n"),
        ("means, slope and variances of the columns", "guessed", "lost; trees see ranks only"),
        ("variance 1 of the noise", "guessed", "lost; 0.25 stands beside it"),
        ("c with n·c = 3 and 2.5", "fitted", "to the rates in the paper's table 1"),
        ("c = 0.00036", "fitted", "to the paper's table 2: `pmse-table2`"),
        ("c = 0.01 and 0.001", "ours", "usual values; 0.001 is that of the method `pmse`"),
        ("a split must gain a share c of the impurity", "printed", "in words; pruning beside it"),
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


def _readings(results: Results) -> TextTable:
    """The same two complexities, in units of 1/n, under other readings of what is lost."""
    rows = [("the paper", "", "", *_printed())]
    for n in results.sizes:
        for move in (NOISE, SMALL_NOISE):
            for method in GREEDY:
                cells = [
                    " / ".join(f"{100 * row['rate_published']:.2g}" for row in found)
                    for share in (3.0, 2.5)
                    for found in [results.by_depth(n, move.name, method, round(share / n, 6))]
                ]
                rows.append((f"{n:,}", move.name, method.removeprefix("greedy, "), *cells))
    return TextTable(
        caption="Sensitivity: rates in per cent beyond 1/n at depths 1 / 2 / 5 / unlimited, by "
        "what is lost from the text that we have",
        headings=("n", "record", "trees", "n·c = 3", "n·c = 2.5"),
        rows=tuple(rows),
        words=3,
    )


def _printed() -> tuple[str, ...]:
    return tuple(" / ".join(f"{rate:g}" for rate in rates) for rates in TABLE_1.values())


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
