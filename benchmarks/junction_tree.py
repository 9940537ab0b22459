"""What the junction tree behind the marginal methods costs: calibration, fit, draws, sizing.

    python benchmarks/junction_tree.py

Prints CPU nanoseconds per cell of the tree and calibration, for trees of several kinds; CPU seconds
of a whole fit, a draw, and of sizing candidates; and seconds that compiling costs a process without
a cache of compiled code.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from understudy.graphical.estimation import MaxEntropy, Observation, fit_max_entropy
from understudy.graphical.factors import TreeLayout, calibrate
from understudy.graphical.junction_tree import Columns, Growth, JunctionTree

CENSUS = (16, 9, 16, 16, 7, 15, 6, 5, 2, 8, 6, 16, 10, 2)
N_ROWS, SIGMA = 48_842, 60.0

_COLD = """
import time
import numpy as np
from understudy.graphical.estimation import fit_max_entropy
from understudy.graphical.estimation import Observation
start = time.process_time()
model = fit_max_entropy((3, 4), [Observation((0, 1), np.ones((3, 4)), 1.0)], 12, regularisation=1.0)
model.draw(9, np.random.default_rng(1))
print(time.process_time() - start)
"""


def seconds(action: Callable[[], object], repeats: int = 3) -> float:
    """Least CPU seconds of a few runs after a first one."""
    action()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return min(found)


def tables(sizes: Columns, most_cells: float, n: int, width: int) -> list[Columns]:
    """Random marginals whose tree has at most so many cells, and all single columns."""
    rng, d = np.random.default_rng(1), len(sizes)
    found: list[Columns] = [(j,) for j in range(d)]
    growth = Growth(sizes, found)
    for _ in range(n):
        drawn = rng.choice(d, rng.integers(2, width + 1), replace=False)
        one = tuple(sorted(drawn.tolist()))
        if one not in found and growth.cells_with(one) <= most_cells:
            growth.add(one)
            found.append(one)
    return found


CASES = {
    "14 columns, up to 3-way, 100k": (CENSUS, 1e5, 60, 3),
    "14 columns, up to 3-way, 300k": (CENSUS, 3e5, 60, 3),
    "14 columns, up to 3-way, 1M": (CENSUS, 1e6, 60, 3),
    "40 binary columns": ((2,) * 40, 3e5, 100, 3),
    "20 columns of 4, pairs": ((4,) * 20, 3e5, 60, 2),
    "12 columns of 300, pairs": ((300,) * 12, 1e6, 60, 2),
}


def calibrations() -> Table:
    """One calibration of each tree."""
    table = Table("tree", "cells", "measured cells", "ns per cell", title="Calibration")
    for name, case in CASES.items():
        sizes, *options = case
        chosen = tables(sizes, *options)
        layout = TreeLayout(JunctionTree.of(sizes, chosen), chosen)
        start, cells = np.zeros(layout.node_starts[-1]), layout.cells()
        measured = start[layout.measured]
        measured[:] = np.random.default_rng(0).normal(0, 1, len(measured))
        forbidden = np.zeros(0, dtype=np.int64)

        def run(layout=layout, start=start, cells=cells, forbidden=forbidden):
            cells.nodes[:] = start
            calibrate(layout.calibration, forbidden, cells)

        nanoseconds = seconds(run, 5) / layout.tree.cells * 1e9
        table.add_row(name, f"{layout.tree.cells:,}", f"{len(measured):,}", f"{nanoseconds:.1f}")
    return table


def skewed(sizes: Columns) -> np.ndarray:
    """Records of dependent, skewed columns."""
    rng = np.random.default_rng(2)
    states = np.zeros((len(sizes), N_ROWS), dtype=np.int64)
    for j, size in enumerate(sizes):
        fresh = np.minimum(rng.geometric(3 / (size + 3), N_ROWS) - 1, size - 1)
        old = states[rng.integers(0, max(j, 1))] % size
        states[j] = np.where(rng.random(N_ROWS) < 0.5, old, fresh)
    return states


def fit(most_cells: float) -> Callable[[], MaxEntropy]:
    """A fit of noisy marginals of such records from a cold start."""
    states, rng, observations = skewed(CENSUS), np.random.default_rng(3), []
    for one in tables(CENSUS, most_cells, 60, 3):
        shape = tuple(CENSUS[j] for j in one)
        cells = np.ravel_multi_index([states[j] for j in one], shape)
        exact = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
        observations.append(Observation(one, exact + rng.normal(0, SIGMA, shape), SIGMA**2))
    return lambda: fit_max_entropy(CENSUS, observations, N_ROWS, regularisation=0.3 / SIGMA)


def fits() -> Table:
    """A whole fit, and draws from it."""
    columns = ("cells", "steps", "calibrations", "residual", "fit s", "ns per cell and calibration")
    table = Table(*columns, "draw of 48,842 s", title="Fit to noisy marginals, 14 columns")
    for most_cells in (1e5, 3e5, 1e6):
        action = fit(most_cells)
        model = action()
        spent = seconds(action, 1)
        draw = seconds(lambda model=model: model.draw(N_ROWS, np.random.default_rng(0)))
        each = spent / model.evaluations / model.tree.cells * 1e9
        table.add_row(
            f"{model.tree.cells:,}",
            str(model.steps),
            str(model.evaluations),
            f"{model.residual:.3f}",
            f"{spent:.2f}",
            f"{each:.1f}",
            f"{draw:.3f}",
        )
    return table


def sizing() -> Table:
    """How large the tree would be with each pair of columns."""
    table = Table("columns", "candidates", "µs each", title="Sizing a tree with one more marginal")
    for d in (14, 48, 150, 500):
        growth = Growth((10,) * d, [(j, (j * 7 + 1) % d) for j in range(d)])
        pairs = [*itertools.combinations(range(d), 2)][:100]
        spent = seconds(lambda growth=growth, pairs=pairs: [growth.cells_with(p) for p in pairs])
        table.add_row(str(d), str(len(pairs)), f"{spent / len(pairs) * 1e6:.0f}")
    return table


def compiling() -> float:
    """CPU seconds of a first small fit and draw in a process without compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _COLD],
            check=True,
            capture_output=True,
            text=True,
            env={"NUMBA_CACHE_DIR": folder, "PATH": ""},
        )
    return float(done.stdout)


def main() -> None:
    """Measure and print."""
    console = Console()
    console.print(calibrations())
    console.print(fits())
    console.print(sizing())
    console.print(f"compiling without a cache: {compiling():.1f} CPU s")


if __name__ == "__main__":
    main()
