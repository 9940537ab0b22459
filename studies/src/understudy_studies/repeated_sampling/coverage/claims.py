"""What the numbers of the coverage study say, good or bad, in sentences."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import groupby

from understudy_studies.framework.study import Row
from understudy_studies.repeated_sampling.coverage.coverage_rows import Layout
from understudy_studies.repeated_sampling.coverage.simulation import NAIVE, REAL_ROWS, VALID

POOR, WIDE = 0.93, 0.97
"""Coverage is called poor if even the upper end of its Monte Carlo interval is below the first,
and conservative if even the lower end is above the second."""
FEWEST = 20
"""Of fewer intervals than this nothing is said but their number."""


def findings(results: Sequence[Row]) -> Iterator[str]:
    """Sentences about all cases; a case is a scenario, an estimand and a rule."""
    judged = [row for row in results if is_judged(row)]
    real = [row for row in judged if row["method"] == REAL_ROWS]
    released = [row for row in results if row["method"] != REAL_ROWS]
    valid = [row for row in released if row["role"] == VALID and is_judged(row)]
    naive = [row for row in released if row["role"] == NAIVE and is_judged(row)]
    if real:
        yield f"Intervals from the real rows cover {_range(real)} of the time."
    for rule in sorted({row["rule"] for row in valid}):
        yield _about_rule(rule, [row for row in valid if row["rule"] == rule])
    if valid:
        yield _about_poor(valid)
    yield from _about_wide(valid)
    if naive:
        yield _about_naive(naive)
    yield from _about_refusals([row for row in released if row["role"] == VALID])
    few = sum("coverage" in row for row in results) - len(judged)
    if few:
        cases = "case" if few == 1 else "cases"
        yield f"Not judged: {few} {cases} with fewer than {FEWEST} intervals."


def is_judged(row: Row) -> bool:
    """Whether there are intervals enough to say something."""
    return "coverage" in row and bool(row["n"] >= FEWEST)


def is_poor(row: Row) -> bool:
    """Whether coverage falls short, beyond Monte Carlo error."""
    return is_judged(row) and bool(row["coverage_high"] < POOR)


def _about_rule(rule: str, rows: Sequence[Row]) -> str:
    inside = sum(row["coverage_low"] <= 0.95 <= row["coverage_high"] for row in rows)
    ratios = [row["width_ratio"] for row in rows]
    return (
        f"The rule “{rule}” covers {_range(rows)} ({_median(rows):.1f} % in the median of "
        f"{len(rows)} cases); in {inside} of them 95 % lies within Monte Carlo error. Its "
        f"intervals are {min(ratios):.2f} to {max(ratios):.3g} times as wide as from the real rows."
    )


def _about_poor(valid: Sequence[Row]) -> str:
    poor = [row for row in valid if is_poor(row)]
    below = f"below {100 * POOR:.0f} %, beyond Monte Carlo error"
    if not poor:
        return f"In none of {len(valid)} valid cases is coverage {below}."
    where = "; ".join(_where(poor))
    return f"Coverage is poor ({below}) in {len(poor)} of {len(valid)} valid cases: {where}."


def _about_wide(valid: Sequence[Row]) -> Iterator[str]:
    wide = [row for row in valid if row["coverage_low"] > WIDE]
    if wide:
        yield (
            f"Intervals are conservative (above {100 * WIDE:.0f} %) in {len(wide)} of {len(valid)} "
            f"valid cases: {'; '.join(_where(wide))}."
        )


def _about_naive(naive: Sequence[Row]) -> str:
    bad = sum(map(is_poor, naive))
    return (
        f"Taking a synthetic set for real rows fails in {bad} of {len(naive)} cases: coverage is "
        f"{_range(naive)}, {_median(naive):.0f} % in the median case."
    )


def _about_refusals(asked: Sequence[Row]) -> Iterator[str]:
    whole = sum(row["n"] for row in asked)
    refused: dict[str, int] = {}
    for row in asked:
        if row["why"]:
            refused[row["why"]] = refused.get(row["why"], 0) + row["n"]
    if refused:
        most = sorted(refused.items(), key=lambda one: -one[1])
        reasons = "; ".join(f"{why} ({100 * n / whole:.0f} %)" for why, n in most)
        total = 100 * sum(refused.values()) / whole
        yield f"Of all questions, {total:.0f} % are refused: {reasons}."


def _where(rows: Sequence[Row]) -> list[str]:
    """Cases put together by estimand, layout and rule, the worst first."""

    def place(row: Row) -> tuple[str, str, str]:
        return row["estimand"], str(Layout.of(row)), row["rule"]

    found = []
    for (estimand, layout, rule), group in groupby(sorted(rows, key=place), key=place):
        cases = list(group)
        budgets = ", ".join(f"{row['epsilon']:g}" for row in cases)
        text = f"{estimand} by {layout} ({rule}, ε = {budgets}: {_range(cases)})"
        found.append((min(row["coverage"] for row in cases), text))
    return [text for _, text in sorted(found)]


def _range(rows: Sequence[Row]) -> str:
    values = [100 * row["coverage"] for row in rows]
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _median(rows: Sequence[Row]) -> float:
    return statistics.median(100 * float(row["coverage"]) for row in rows)
