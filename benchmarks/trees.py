"""Exact trees beside greedy ones: seconds for one comparison, and how much impurity is left.

    python benchmarks/trees.py

Original points are standard normal; synthetic ones, as many, have the first two columns correlated
by .3 and are spread wider by a tenth. "SSE" is Σ ab/(a + b) over the leaves: the lower, the better
a tree tells the two apart. scikit-learn's tree is greedy and has the same depth. Then the same
score on public grids, from counts, and depth 3. A library for optimal trees is timed too if one of
those that are named below can be imported.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier

from understudy.trees import (
    DepthTwo,
    Greedy,
    Grid,
    GridDepthThree,
    GridDepthTwo,
    Stumps,
    coded,
    random_partitions,
)

Floats = NDArray[np.float64]
POINTS = (200, 2_000, 10_000)
COLUMNS = (2, 5, 10)
BINS = 16
OPTIMAL = ("pystreed", "pydl85", "gosdt", "odtlearn")


def points(total: int, columns: int, seed: int = 1) -> tuple[Floats, Floats]:
    """Original and synthetic points, half of the total each."""
    rng = np.random.default_rng(seed)
    original, synthetic = rng.normal(size=(2, total // 2, columns))
    synthetic[:, 1] = 0.3 * synthetic[:, 0] + np.sqrt(1 - 0.3**2) * synthetic[:, 1]
    return original, synthetic * 1.1


def timed(function: Callable[[], object], longest: float = 1.0) -> tuple[float, object]:
    """The median of up to seven runs in seconds, after one to warm up, and the result."""
    value = function()
    seconds: list[float] = []
    while len(seconds) < 7 and sum(seconds) < longest:
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), value


def by_library(original: Floats, synthetic: Floats, depth: int) -> float:
    """SSE of scikit-learn's greedy tree."""
    x = np.concatenate([synthetic, original])
    label = np.repeat([1.0, 0.0], [len(synthetic), len(original)])
    fitted = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, label)
    return float(((fitted.predict_proba(x)[:, 1] - label) ** 2).sum())


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.3g}"


def compared(both: tuple[Floats, Floats], depth: int) -> list[str]:
    """One line: sizes, milliseconds of the three, their SSE."""
    original, synthetic = both
    total, columns = 2 * len(original), original.shape[1]
    exact = {1: Stumps(), 2: DepthTwo()}.get(depth)
    ours = "–", "–"
    if exact:
        prepared = exact.prepare(original)
        seconds, value = timed(lambda: prepared.smallest_sse(synthetic))
        ours = milliseconds(seconds), f"{value:.2f}"
    grown = Greedy(depth=depth).prepare(original)
    greedy, least = timed(lambda: grown.smallest_sse(synthetic))
    other, theirs = timed(lambda: by_library(original, synthetic, depth))
    sizes = [f"{total:,}", str(columns), str(depth)]
    times = [ours[0], milliseconds(greedy), milliseconds(other)]
    return [*sizes, *times, ours[1], f"{least:.2f}", f"{theirs:.2f}"]


def real_thresholds(console: Console) -> None:
    """Depths 1, 2 and 5 with real thresholds."""
    table = Table(title="Real thresholds: milliseconds and SSE")
    headings = ("points", "columns", "depth", "exact ms", "greedy ms", "scikit-learn ms")
    for heading in (*headings, "exact SSE", "greedy SSE", "scikit-learn SSE"):
        table.add_column(heading, justify="right")
    for total in POINTS:
        for columns in COLUMNS:
            for depth in (1, 2, 5):
                table.add_row(*compared(points(total, columns), depth))
    console.print(table)


def grids(console: Console) -> None:
    """Depths 2 and 3 on public grids, and public random trees."""
    table = Table(title=f"Public grids of {BINS} bins, 2,000 points; 64 public trees of depth 6")
    for heading in ("columns", "trees", "count µs", "compare µs", "counts", "SSE"):
        table.add_column(heading, justify="right")
    cuts = np.linspace(-2.1, 2.1, BINS - 1)
    for columns in (2, 9):
        original, synthetic = points(2_000, columns)
        codes = [coded(rows, [cuts] * columns) for rows in (original, synthetic)]
        grid = Grid((BINS,) * columns)
        for trees, x, z in (
            (GridDepthTwo(grid), *codes),
            (
                random_partitions((-3,) * columns, (3,) * columns, depth=6, trees=64, seed=1),
                original,
                synthetic,
            ),
        ):
            counting, _ = timed(lambda t=trees, rows=z: t.counts(rows))
            left, right = trees.counts(x), np.repeat(trees.counts(z)[None], 100, axis=0)
            seconds, found = timed(lambda t=trees, a=left, b=right: t.smallest_sses_of(a, b))
            each = f"{counting * 1e6:.0f}", f"{seconds * 1e4:.1f}", f"{trees.n_counts:,}"
            table.add_row(str(columns), type(trees).__name__, *each, f"{found[0]:.2f}")
        deep = GridDepthThree(grid).prepare(codes[0])
        seconds, value = timed(lambda one=deep, z=codes[1]: one.smallest_sse(z))
        row = "GridDepthThree", "–", f"{seconds * 1e6:,.0f}", "–", f"{value:.2f}"
        table.add_row(str(columns), *row)
    console.print(table)


def many_small(console: Console) -> None:
    """A thousand points of each kind in two columns, as simulation studies compare them."""
    table = Table(title="1,000 + 1,000 points, two columns: milliseconds for one comparison")
    for heading in ("synthetic points", "stumps", "depth 2", "greedy 2", "greedy 5", "greedy ∞"):
        table.add_column(heading, justify="right")
    classes = (Stumps(), DepthTwo(), Greedy(depth=2), Greedy(depth=5), Greedy())
    for name, shift in (("same law", 0.0), ("shifted .3 sd", 0.3), ("shifted 2 sd", 2.0)):
        rng = np.random.default_rng(3)
        original, many = rng.normal(size=(1000, 2)), rng.normal(shift, 1, size=(15, 1000, 2))
        row = []
        for trees in classes:
            prepared = trees.prepare(original)
            seconds, _ = timed(lambda one=prepared, z=many: one.smallest_sses(z))
            row.append(milliseconds(seconds / len(many)))
        table.add_row(name, *row)
    console.print(table)


def main() -> None:
    """Print all tables."""
    console = Console(width=140)
    real_thresholds(console)
    grids(console)
    many_small(console)
    found = [name for name in OPTIMAL if importlib.util.find_spec(name)]
    console.print(f"Libraries for optimal trees that can be imported here: {found or 'none'}.")


if __name__ == "__main__":
    main()
