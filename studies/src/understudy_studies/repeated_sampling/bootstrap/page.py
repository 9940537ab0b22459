"""What the page of the study of bootstrap intervals tells."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

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
    return PageText(
        lead=(
            "Do intervals from a parametric bootstrap of the whole release, and from posterior "
            "sets, hold the truth as often as they say? Each release is made from "
            f"{N_ROWS:,} people drawn from a population whose true values are known."
        ),
        done=_done(),
        parameters=_parameters(run_record),
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


def _done() -> tuple[str, ...]:
    names = [f"{one.name} ({one.kind} “{one.formula}”)" for one in population.estimands()]
    return (
        f"Population. {population.DESCRIPTION}",
        f"In every repetition {N_ROWS:,} people are drawn and released twice by the code that "
        f"makes every release (with seeded noise): as one set, and as {simulation.SETS} posterior "
        f"sets. Both are asked for: {'; '.join(names)}.",
        f"Basic, percentile, studentised: us.analyze with uncertainty = bootstrap and {REFITS} "
        "replicates, on the release of one set. Posterior sets: us.analyze by its rule for these "
        "(Rubin 1987). Naive: the one set taken for real rows. A question that us.analyze refuses "
        "gives no interval; what is refused depends on which tables were measured.",
    )


def _parameters(run_record: RunRecord) -> dict[str, str]:
    truths = "; ".join(f"{one.name} {one.truth:.4g}" for one in population.estimands())
    one = 100 * math.sqrt(0.95 * 0.05 / run_record.repetitions[0])
    return {
        "Rows": f"{N_ROWS:,}, public",
        "Budget": f"ε = {', '.join(f'{e:g}' for e in EPSILONS)}; δ = {simulation.DELTA}",
        "Methods": ", ".join(simulation.METHODS),
        "Replicates of a bootstrap": f"{REFITS}",
        "True values": truths,
        "Repetitions": run_record.repetitions_words,
        "Monte Carlo error": f"{one:.2g} points for a coverage of 95 %",
    }


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
