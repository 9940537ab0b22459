"""Figures of the study: differences by depth, as in the paper's figure 1, and rates by depth."""

from __future__ import annotations

from math import log1p

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from understudy_studies.framework.charts import INK, KINDS, MUTED, ORDERED, RULE, style
from understudy_studies.framework.study import Chart, Row
from understudy_studies.snoke_slavkovic_2018.bound_violations.claims import NEAREST, TABLE_1
from understudy_studies.snoke_slavkovic_2018.bound_violations.simulation import NOISE, SMALL_NOISE
from understudy_studies.snoke_slavkovic_2018.bound_violations.tally import WIDTH, counts
from understudy_studies.snoke_slavkovic_2018.bound_violations.trees import (
    COMPLEXITIES,
    DEPTHS,
    EXACT,
    GREEDY,
    GRID,
    PARTITIONS,
    UNLIMITED,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations.violation_results import RATE, Results

_INSIDE, _BETWEEN, _BEYOND = ORDERED[0], ORDERED[1], ORDERED[3]
_SHORT = {EXACT: "exact,\n{}", GRID: "grid,\n{}", PARTITIONS: "public,\n{}"}
_DEPTH = {UNLIMITED: "∞"}
_COLOURS = dict(
    zip((10.0, 5.0, 3.0, 2.5, 1.8, 1.0, 0.1), (MUTED, KINDS[4], *ORDERED, KINDS[1]), strict=True)
)
"""n·c → colour."""


def charts(results: Results) -> tuple[Chart, ...]:
    """All figures."""
    with style():
        return (_differences(results), _rates(results))


def _differences(results: Results) -> Chart:
    n, move, method = NEAREST
    fixed = [one for one in results.fixed if (one["n_rows"], one["move"]) == (n, move)]
    figure = Figure(figsize=(9.5, 4.4))
    for axes, complexity in zip(figure.subplots(1, 2, sharey=True), TABLE_1, strict=True):
        rows = [*results.by_depth(n, move, method, complexity), *fixed]
        for x, row in enumerate(rows):
            _strip(axes, x, row)
        _bounds(axes)
        axes.set_title(f"c = {complexity:g}")
        axes.set_xticks(range(len(rows)), [_label(row) for row in rows])
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("trees, and their depth")
        axes.tick_params(length=0)
    figure.axes[0].set_ylabel("n · (pMSE with X′ − pMSE with X)")
    kinds = (
        (_INSIDE, "within 1/(2(n + 1))"),
        (_BETWEEN, "beyond it, within 1/n"),
        (_BEYOND, "beyond 1/n"),
    )
    figure.legend(
        [Patch(color=colour) for colour, _ in kinds],
        [words for _, words in kinds],
        loc="upper left",
        ncols=3,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    return Chart(
        "differences",
        figure,
        f"Differences of pMSE between neighbours (the paper's figure 1), n = {n:,}, {move}: greedy "
        "trees by depth, then exact trees of depths 1 and 2, exact ones on the public grid, and "
        "public partitions. Each bar counts the differences in a bin, its length on a logarithmic "
        "scale; those that are 0 are left out. Dashed: 1/n; dotted: 1/(2(n + 1)).",
    )


def _label(row: Row) -> str:
    depth = _DEPTH.get(row["depth"], row["depth"])
    return _SHORT.get(row["method"], "greedy,\n{}").format(depth)


def _strip(axes: Axes, x: int, row: Row) -> None:
    """A bar for each bin of differences."""
    found = {k: number for k, number in counts(row["spread"]).items() if k}
    longest = log1p(max(found.values(), default=1))
    for k, number in found.items():
        far = abs(k) * WIDTH  # the outer end of the bin
        colour = _INSIDE if far <= 0.5 else _BETWEEN if far <= 1 else _BEYOND
        half = 0.42 * log1p(number) / longest
        middle = (k - 0.5 if k > 0 else k + 0.5) * WIDTH
        axes.barh(middle, 2 * half, left=x - half, height=0.85 * WIDTH, color=colour, zorder=3)


def _bounds(axes: Axes) -> None:
    for place, dash in ((1.0, "--"), (0.5, ":")):
        for sign in (-1, 1):
            axes.axhline(sign * place, color=MUTED, linestyle=dash, linewidth=0.8, zorder=1)


def _rates(results: Results) -> Chart:
    figure = Figure(figsize=(11, 6.4))
    columns = [(n, NOISE.name) for n in results.sizes] + [(NEAREST[0], SMALL_NOISE.name)]
    grid = figure.subplots(len(GREEDY), len(columns), sharey=True, sharex=True)
    for method, line in zip(GREEDY, grid, strict=True):
        for axes, (n, move) in zip(line, columns, strict=True):
            _panel(axes, results, (n, move, method))
    for axes in grid[:, 0]:
        axes.set_ylabel("per cent of the comparisons")
    for axes in grid[-1]:
        axes.set_xlabel("depth")
    figure.legend(handles=_handles(), loc="upper left", ncols=5)
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    return Chart(
        "rates",
        figure,
        "How often greedy trees break the bounds, by depth. Whole lines: 1/n; dashed ones: "
        "1/(2(n + 1)); the darker, the smaller the complexity c; crosses: the paper. Bars: 95 % "
        f"intervals. The variance of the noise is 1, and {SMALL_NOISE.variance:g} on the right. "
        "Exact trees and public partitions are at 0 throughout.",
    )


def _panel(axes: Axes, results: Results, where: tuple[int, str, str]) -> None:
    n, move, method = where
    places = range(len(DEPTHS))
    for complexity in COMPLEXITIES[n]:
        colour = _COLOURS[_product(n, complexity)]
        rows = results.by_depth(n, move, method, complexity)
        for bound, dash in (("published", "-"), ("true", "--")):
            values = [100 * row[RATE[bound]] for row in rows]
            low = [100 * row[f"{bound}_low"] for row in rows]
            high = [100 * row[f"{bound}_high"] for row in rows]
            axes.plot(places, values, color=colour, linestyle=dash, linewidth=1.3, zorder=3)
            axes.vlines(places, low, high, color=colour, linewidth=0.8, zorder=2)
    if where == NEAREST:
        for paper in TABLE_1.values():
            axes.plot(places, paper, "x", color=INK, markersize=6, zorder=4)
    axes.set_yscale("symlog", linthresh=0.1, linscale=0.5)
    axes.set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    axes.set_yticks([], minor=True)
    axes.set_ylim(-0.02, 100)
    axes.set_xticks(places, [_DEPTH.get(depth, depth) for depth in DEPTHS])
    axes.grid(color=RULE, linewidth=0.4)
    axes.tick_params(length=0)
    small = f", variance {SMALL_NOISE.variance:g}" if move == SMALL_NOISE.name else ""
    axes.set_title(f"{method.removeprefix('greedy, ')}, n = {n:,}{small}")


def _product(n_rows: int, complexity: float) -> float:
    return round(n_rows * complexity, 6)


def _handles() -> list[Line2D]:
    colours = [
        Line2D([], [], color=colour, linewidth=1.6, label=f"n·c = {product:g}")
        for product, colour in _COLOURS.items()
    ]
    return [
        *colours,
        Line2D([], [], color=MUTED, linestyle="-", label="beyond 1/n"),
        Line2D([], [], color=MUTED, linestyle="--", label="beyond 1/(2(n + 1))"),
        Line2D([], [], color=INK, linestyle="", marker="x", label="the paper"),
    ]
