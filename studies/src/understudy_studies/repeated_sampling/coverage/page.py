"""What the page of the coverage study tells: what was done, parameters, tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from understudy_studies.framework.study import PageText, Row, RunRecord, TextTable
from understudy_studies.repeated_sampling.coverage import figures, population, simulation
from understudy_studies.repeated_sampling.coverage.claims import findings, is_poor
from understudy_studies.repeated_sampling.coverage.coverage_rows import Layout
from understudy_studies.repeated_sampling.coverage.simulation import EPSILONS, N_ROWS, NAIVE, VALID


def page_text(results: list[Row], run_record: RunRecord) -> PageText:
    """The page of the study."""
    return PageText(
        lead=(
            "Do intervals computed from a release alone hold the truth as often as they say? Each "
            f"release is made from {N_ROWS:,} people drawn from a population whose true values are "
            "known; intervals of nominally 95 % are asked of it, and counted when they hold the "
            "true value."
        ),
        done=_done(),
        parameters=_parameters(run_record),
        findings=tuple(findings(results)),
        tables=(*_tables(results, _coverage_text), *_tables(results, _bias_text, fold=True)),
        charts=figures.charts(results, Layout.of),
    )


def _done() -> tuple[str, ...]:
    names = [f"{one.name} ({one.kind} “{one.formula}”)" for one in population.estimands()]
    return (
        f"Population. {population.DESCRIPTION}",
        f"In every repetition {N_ROWS:,} people are drawn, a release is made with the code that "
        f"makes every release (with seeded noise), and it is asked for: {'; '.join(names)}.",
        "The valid interval is the one that us.analyze gives, by the rule that it picks, or its "
        "refusal. The naive interval takes the first synthetic set for real rows. The line “real "
        "rows” is the textbook interval from the sample itself: what the best release could reach.",
        "The number of rows is private and bought from the budget, except where a method needs a "
        "public one. Whether a rule applies may depend on the noise: “n = …” says in how many "
        "repetitions it gave an interval, where these are not all.",
    )


def _parameters(run_record: RunRecord) -> dict[str, str]:
    truths = "; ".join(f"{one.name} {one.truth:.4g}" for one in population.estimands())
    one = 100 * math.sqrt(0.95 * 0.05 / run_record.repetitions[0])
    found = {
        "Rows": f"{N_ROWS:,}",
        "ε of a release": ", ".join(f"{epsilon:g}" for epsilon in EPSILONS),
        "Sets": ", ".join(map(str, simulation.SETS)) + "; free and split",
        "True values": truths,
        "Repetitions": run_record.repetitions_words,
        "Monte Carlo error": f"{one:.2g} points for a coverage of 95 %, with "
        f"{run_record.repetitions[0]:,} repetitions",
    }
    excluded = "; ".join(f"{name}: {why}" for name, why in simulation.left_out().items())
    return found | ({"Left out": excluded} if excluded else {})


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
