"""What was found beyond the points of the paper, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from understudy_studies.framework.result_curves import span
from understudy_studies.framework.study import Row
from understudy_studies.snoke_slavkovic_2018.bound_violations.simulation import (
    MOVES,
    NOISE,
    OUTLIER,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations.trees import (
    COMPLEXITIES,
    DEPTHS,
    GREEDY,
    STOP,
    UNLIMITED,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations.violation_results import Results


def findings(results: Results) -> Iterator[str]:
    """Sentences, the most important first."""
    yield _exact(results)
    for n in results.sizes:
        yield _greedy(results, n)
    yield from _single(results)
    yield _scale(results)
    yield from _outlier(results)
    yield from _saturated(results)


def _exact(results: Results) -> str:
    rows = results.fixed
    total, over = (sum(row[name] for row in rows) for name in ("n", "over_true"))
    limits = [100 * row["true_high"] for row in rows]
    largest = max(rows, key=lambda one: one["largest"])
    n = largest["n_rows"]
    return (
        f"Exact trees and public partitions moved by more than 1/(2(n + 1)) in {over} of "
        f"{total:,} comparisons; the theorem says none of all. (The 95 % upper limits of the rate, "
        f"class by class, are {span(limits, '.2g')} %.) Their largest move was "
        f"{largest['largest']:.2f}/n, {100 * largest['largest'] * 2 * (n + 1) / n:.0f} % of that "
        f"bound (n = {n:,})."
    )


def _greedy(results: Results, n: int) -> str:
    rows = [
        results.greedy(n, NOISE.name, STOP, depth, complexity)
        for depth in DEPTHS
        for complexity in COMPLEXITIES[n]
    ]
    worst = max(rows, key=lambda one: one["largest"])
    often = max(rows, key=lambda one: one["rate_published"])
    return (
        f"Greedy trees, n = {n:,}, {NOISE.name}: 1/n is broken in up to "
        f"{100 * often['rate_published']:.2g} % of the comparisons ({_which(often)}), and "
        f"1/(2(n + 1)) in up to {100 * max(row['rate_true'] for row in rows):.2g} %. The largest "
        f"move was {worst['largest']:.3g}/n ({_which(worst)}): for a score that can move so far "
        "the usual proof gives the published mechanism, run at ε = 1, no smaller ε than "
        f"{worst['largest']:.3g}."
    )


def _single(results: Results) -> Iterator[str]:
    rows = [
        row
        for n in results.sizes
        for move in MOVES
        for complexity in COMPLEXITIES[n]
        for row in [results.greedy(n, move.name, STOP, "1", complexity)]
    ]
    over = [row for row in rows if row["over_true"]]
    if over:
        yield (
            "A complexity alone breaks the sensitivity, with a single split: a split that one "
            "record makes worth its while moves pMSE by more than c/4 at once, and by up to "
            "1/(2(n + 1)) more. That is beyond 1/(2(n + 1)) always for c ≥ 2/n, and beyond 1/n "
            "sometimes for c above about 2/n, always for c ≥ 4/n. In "
            f"{len(over)} of {len(rows)} settings of trees of depth 1 the bound 1/(2(n + 1)) is "
            f"broken, in up to {100 * max(row['rate_true'] for row in over):.2g} % of the "
            f"comparisons; 1/n is in {sum(row['over_published'] > 0 for row in rows)} of them."
        )


def _scale(results: Results) -> str:
    """Rates at the complexities near the paper, which have n·c in common."""
    listed = []
    for n in results.sizes:
        for share in (3.0, 2.5):
            complexity = round(share / n, 6)
            rows = results.by_depth(n, NOISE.name, STOP, complexity)
            rates = " / ".join(f"{100 * row['rate_published']:.2g}" for row in rows)
            listed.append(f"{rates} % (n = {n:,}, c = {complexity:g})")
    return (
        "Rates depend on n and c mostly through n·c, so that the paper's n cannot be read off its "
        "table 1 alone; it is read off its table 2 (`pmse-table2`), and with it the rates of table "
        f"1 come out too. At n·c = 3 and 2.5 they are {'; '.join(listed)}, by depth, with noise of "
        f"variance {NOISE.variance:g}."
    )


def _outlier(results: Results) -> Iterator[str]:
    ratios = [
        _ratio(
            results.greedy(n, OUTLIER.name, method, depth, complexity),
            results.greedy(n, NOISE.name, method, depth, complexity),
        )
        for n in results.sizes
        for method in GREEDY
        for depth in DEPTHS
        for complexity in COMPLEXITIES[n]
    ]
    known = [ratio for ratio in ratios if ratio is not None]
    if known:
        yield (
            "With a record that moves between the bulk and a place far out, greedy trees break 1/n "
            f"{span(known, '.2g')} times as often as with noise of variance {NOISE.variance:g}, "
            "where that happens in 1 % of the comparisons or more."
        )


def _ratio(first: Row, second: Row) -> float | None:
    common = second["rate_published"] >= 0.01
    return first["rate_published"] / second["rate_published"] if common else None


def _saturated(results: Results) -> Iterator[str]:
    """Trees that part all points, and trees that do not grow at all."""
    still = [
        row
        for row in results.rows
        if row["method"] == STOP and row["move"] == NOISE.name and row["largest"] == 0
    ]
    if still:
        listed = "; ".join(f"n = {row['n_rows']:,}, {_which(row)}" for row in still)
        yield (
            f"Where nothing ever moves ({listed}), the score is of no use: the tree has no split "
            "at all, or parts every point from every other."
        )


def _which(one: Row) -> str:
    depth = "no limit of depth" if one["depth"] == UNLIMITED else f"depth {one['depth']}"
    return f"{depth}, c = {one['complexity']:g}"
