"""Exact trees beside greedy ones: seconds for one comparison, and how much impurity is left.

    python benchmarks/trees.py

Original points are standard normal; synthetic ones, as many, have the first two columns correlated
by .3 and are spread wider by a tenth. "SSE" is Σ ab/(a + b) over the leaves: the lower, the better
a tree tells the two apart. scikit-learn's tree is greedy and has the same depth. Then the same
score on public grids, from counts, and depth 3.

At last the grids' trees beside those of pystreed (van den Bos, van der Linden & Demirović 2024,
"Piecewise constant and linear regression trees", ICML), a library for optimal regression trees: the
squared error of the best tree for the label 0 or 1 is the same SSE. It is no dependency; where it
cannot be imported the table says "not installed".
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier

from understudy.papers.trees_exact import (
    DepthTwo,
    Grid,
    GridDepthThree,
    GridDepthTwo,
    Stumps,
    code_values,
)
from understudy.papers.trees_greedy import Greedy, random_partitions

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
POINTS = (200, 2_000, 10_000)
COLUMNS = (2, 5, 10)
BINS = 16
CUTS = np.linspace(-2.1, 2.1, BINS - 1)
OPTIMAL = "pystreed"


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
    for columns in (2, 9):
        original, synthetic = points(2_000, columns)
        codes = [code_values(rows, [CUTS] * columns) for rows in (original, synthetic)]
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


def by_solver(original: Codes, synthetic: Codes, depth: int) -> float:
    """SSE of the library's optimal tree: a binary column for each question, labels as numbers."""
    rows = np.concatenate([synthetic, original])
    label = np.repeat([1.0, 0.0], [len(synthetic), len(original)])
    answers = np.concatenate([rows <= code for code in range(BINS - 1)], axis=1).astype(np.int32)
    kind = importlib.import_module(OPTIMAL).STreeDRegressor
    fitted = kind(optimization_task="regression", max_depth=depth).fit(answers, label)
    return float(((fitted.predict(answers) - label) ** 2).sum())


def optimal(console: Console) -> None:
    """Depths 2 and 3 on public grids beside a library for optimal trees, from codes to SSE."""
    table = Table(
        title=f"Optimal trees on grids of {BINS} bins, 2,000 points: milliseconds and SSE"
    )
    for heading in ("columns", "depth", "ours ms", f"{OPTIMAL} ms", "our SSE", f"{OPTIMAL} SSE"):
        table.add_column(heading, justify="right")
    installed = importlib.util.find_spec(OPTIMAL) is not None
    for columns in (2, 5, 9):
        grid = Grid((BINS,) * columns)
        both = [code_values(rows, [CUTS] * columns) for rows in points(2_000, columns)]
        for depth, trees in ((2, GridDepthTwo(grid)), (3, GridDepthThree(grid))):
            ours, least = timed(lambda t=trees, b=both: t.prepare(b[0]).smallest_sse(b[1]))
            other = "not installed", "–"
            if installed:
                seconds, value = timed(lambda b=both, d=depth: by_solver(*b, d))
                other = milliseconds(seconds), f"{value:.6f}"
            times = milliseconds(ours), other[0]
            table.add_row(str(columns), str(depth), *times, f"{least:.6f}", other[1])
    console.print(table)


def main() -> None:
    """Print all tables."""
    console = Console(width=140)
    real_thresholds(console)
    grids(console)
    many_small(console)
    optimal(console)


if __name__ == "__main__":
    main()
