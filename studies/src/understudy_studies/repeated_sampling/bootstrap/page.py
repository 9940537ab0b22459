"""What the page of the study of bootstrap intervals tells."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.repeated_sampling.bootstrap import population, simulation
from understudy_studies.repeated_sampling.bootstrap.simulation import (
    EPSILONS,
    N_ROWS,
    NAIVE,
    REFITS,
    WAYS,
)

POOR = 0.93
"""Coverage is called poor if even the upper end of its Monte Carlo interval is below this."""
FEWEST = 20
"""Of fewer intervals than this nothing is said but their number."""


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    prose = prose_of(
        __package__,
        n_rows=N_ROWS,
        population=population.DESCRIPTION,
        estimands=population.estimands(),
        sets=simulation.SETS,
        refits=REFITS,
        epsilons=EPSILONS,
        delta=simulation.DELTA,
        methods=simulation.METHODS,
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=tuple(findings(results)),
        tables=(
            *_tables(results, "coverage", _coverage_text),
            *_tables(results, "bias", _bias_text, fold=True),
        ),
    )


def findings(results: Sequence[Row]) -> Iterator[str]:
    """Sentences about each way to an interval."""
    for way in WAYS:
        rows = [row for row in results if row["way"] == way]
        judged = [row for row in rows if row["n"] >= FEWEST]
        asked, given = (sum(row[name] for row in rows) for name in ("asked", "n"))
        refused = f"{100 * (1 - given / asked):.0f} % of questions are refused" if asked else ""
        if not judged:
            yield f"{way.capitalize()}: {refused}; too few intervals to judge."
            continue
        values = [100 * row["coverage"] for row in judged]
        widths = [row["width_ratio"] for row in judged]
        poor = [row for row in judged if row["coverage_high"] < POOR]
        yield (
            f"{way.capitalize()}: coverage {min(values):.0f} to {max(values):.0f} %, "
            f"{statistics.median(values):.1f} % in the median of {len(judged)} cases; below "
            f"{100 * POOR:.0f} % beyond Monte Carlo error in {len(poor)}; widths are "
            f"{min(widths):.2f} to {max(widths):.2f} times those from the real rows; {refused}."
        )
        if poor and way != NAIVE:
            yield f"{way.capitalize()} is poor for {'; '.join(map(_where, poor))}."


def _where(row: Row) -> str:
    return (
        f"{row['estimand']} by {row['method']}, ε = {row['epsilon']:g} "
        f"({100 * row['coverage']:.0f} %)"
    )


def _coverage_text(row: Row) -> str:
    refused = row["asked"] - row["n"]
    said = f", {100 * refused / row['asked']:.0f} % refused" if refused else ""
    if not row["n"]:
        return f"refused: {row['why']}"
    return f"{100 * row['coverage']:.1f} (×{row['width_ratio']:.2f}){said}"


def _bias_text(row: Row) -> str:
    if not row["n"]:
        return "–"
    reach = "" if math.isnan(row["bias_ratio_error"]) else f" ± {row['bias_ratio_error']:.2g}"
    return f"{row['bias_ratio']:.2f}{reach}".replace("-", "−")


def _tables(
    results: Sequence[Row], what: str, text: Callable[[Row], str], *, fold: bool = False
) -> Iterator[TextTable]:
    """One table for each estimand: methods and ways down, budgets across."""
    captions = {
        "coverage": "coverage of nominal 95 % in per cent (× mean width relative to real rows)",
        "bias": "bias of the estimate in standard errors of the real rows, ± Monte Carlo error",
    }
    for estimand in population.estimands():
        lines: list[tuple[str, ...]] = []
        doubtful: set[tuple[int, int]] = set()
        for method in simulation.METHODS:
            for way in WAYS:
                cells = [_cell(results, estimand.name, method, way, e) for e in EPSILONS]
                if not any(cells):
                    continue
                for k, row in enumerate(cells):
                    if row and not fold and way != NAIVE and _is_poor(row):
                        doubtful.add((len(lines), 2 + k))
                lines.append((method, way, *(text(row) if row else "–" for row in cells)))
        yield TextTable(
            caption=f"{estimand.name.capitalize()}: {captions[what]}",
            headings=("method", "interval", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)),
            rows=tuple(lines),
            words=2,
            doubtful=frozenset(doubtful),
            fold=fold,
        )


def _is_poor(row: Row) -> bool:
    return bool(row["n"] >= FEWEST and row["coverage_high"] < POOR)


def _cell(
    results: Sequence[Row], estimand: str, method: str, way: str, epsilon: float
) -> Row | None:
    wanted = (estimand, method, way, epsilon)
    return next(
        (r for r in results if (r["estimand"], r["method"], r["way"], r["epsilon"]) == wanted), None
    )
