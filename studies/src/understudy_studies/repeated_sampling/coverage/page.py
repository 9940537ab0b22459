"""What the page of the coverage study tells: what was done, parameters, tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from understudy_studies.framework.page_template import prose_of
from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.repeated_sampling.coverage import figures, population, simulation
from understudy_studies.repeated_sampling.coverage.claims import findings, is_poor
from understudy_studies.repeated_sampling.coverage.coverage_rows import Layout
from understudy_studies.repeated_sampling.coverage.simulation import EPSILONS, N_ROWS, NAIVE, VALID


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    prose = prose_of(
        __package__,
        n_rows=N_ROWS,
        population=population.DESCRIPTION,
        estimands=population.estimands(),
        epsilons=EPSILONS,
        sets=simulation.SETS,
        left_out=simulation.left_out(),
        run_record=run_record,
    )
    return PageText(
        lead=prose.lead,
        done=prose.done,
        parameters=prose.parameters,
        findings=tuple(findings(results)),
        tables=(*_tables(results, _coverage_text), *_tables(results, _bias_text, fold=True)),
        charts=figures.charts(results, Layout.of),
    )


def _coverage_text(row: Row) -> str:
    return f"{100 * row['coverage']:.1f} (×{row['width_ratio']:.3g})"


def _bias_text(row: Row) -> str:
    error = row["bias_ratio_error"]
    reach = "" if math.isnan(error) else f" ± {error:.2g}"
    return f"{row['bias_ratio']:.2f}{reach}".replace("-", "−")


def _tables(
    results: Sequence[Row], text: Callable[[Row], str], *, fold: bool = False
) -> Iterable[TextTable]:
    """One table for each estimand: layouts and roles down, budgets across."""
    what = (
        "bias in standard errors of the real rows, ± its Monte Carlo error"
        if fold
        else "coverage of nominal 95 % in per cent (× mean width relative to real rows)"
    )
    for estimand in population.estimands():
        rows = [row for row in results if row["estimand"] == estimand.name]
        lines: list[tuple[str, ...]] = []
        doubtful: set[tuple[int, int]] = set()
        for layout in dict.fromkeys(map(Layout.of, rows)):
            for role in (VALID, NAIVE):
                cases = [r for r in rows if Layout.of(r) == layout and r["role"] == role]
                if not cases:
                    continue
                cells, marks = _cells(cases, text)
                doubtful |= {(len(lines), 3 + k) for k in marks} if not fold else set()
                lines.append((layout.method, layout.sets, _rule_words(cases), *cells))
        yield TextTable(
            caption=f"{estimand.name.capitalize()}: {what}",
            headings=("method", "sets", "rule", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)),
            rows=tuple(lines),
            words=3,
            doubtful=frozenset(doubtful),
            fold=fold,
        )


def _cells(cases: Sequence[Row], text: Callable[[Row], str]) -> tuple[list[str], set[int]]:
    """Texts for each ε, and which claim to be valid and are poor. Real rows are alike for all."""
    texts, poor = [], set()
    for k, epsilon in enumerate(EPSILONS):
        here = [row for row in cases if row["epsilon"] in {epsilon, 0}]
        shown = [row for row in here if "coverage" in row]
        whole = sum(row["n"] for row in here)
        parts = [text(row) + (f", n = {row['n']:,}" if row["n"] < whole else "") for row in shown]
        texts.append("; ".join(parts) or "–")
        if any(row["role"] == VALID and is_poor(row) for row in shown):
            poor.add(k)
    return texts, poor


def _rule_words(cases: Sequence[Row]) -> str:
    rules = dict.fromkeys(row["rule"] for row in cases if not row["why"])
    reasons = dict.fromkeys(row["why"] for row in cases if row["why"])
    words = ["; ".join(rules)] if rules else []
    if reasons:
        words.append(("else " if rules else "") + "refused: " + "; ".join(reasons))
    return ", ".join(words)
