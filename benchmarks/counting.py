"""Time the marginal counter against numpy and Polars, in one run.

    python benchmarks/counting.py [--rows 1000000 10000000] [--every 10] [--repeats 3]

All 91 pairs and 50 triples of 14 columns with 2 to 100 values are counted. The columns are skewed,
correlated by a common factor, and made from a fixed seed. The counter counts everything; numpy
(``bincount`` on mixed-radix codes) and Polars (``group_by(...).len()``, eager, marginal by
marginal) count every tenth marginal, and their time is scaled to all of them. Each time is the best
of three, after all engines have counted a table of one row, which compiles. Peak memory is the
resident set during the timed calls, sampled each millisecond from /proc/self/statm, less the
resident set before them, when the data were already there; it is NaN where there is no /proc.
Memory that the allocator kept from an earlier step (up to some tens of megabytes) is not seen. The
counts are compared with numpy's, and the exit code is 1 if any differ.
"""

import argparse
import gc
import itertools
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from understudy.data.marginals import count_marginals, cover

SIZES = (9, 16, 7, 15, 6, 5, 2, 42, 85, 74, 20, 100, 12, 3)
STATM = Path("/proc/self/statm")

Columns = list[NDArray[np.uint8]]
Marginals = list[tuple[int, ...]]


@dataclass(frozen=True)
class Timing:
    """One engine's result.

    Attributes:
        seconds: Best wall time for all marginals, scaled where only some were counted.
        peak_mb: Peak resident memory above the data, 1e6 bytes; NaN where it cannot be read.
    """

    seconds: float
    peak_mb: float


class PeakMemory:
    """Context manager that samples the resident set in a thread; ``peak_mb`` is its growth."""

    peak_mb = math.nan

    def __enter__(self):
        gc.collect()
        self._before = self._peak = self._resident()
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._sampler.join()
        self.peak_mb = (max(self._peak, self._resident()) - self._before) / 1e6

    def _sample(self):
        while not self._done.wait(0.001):
            self._peak = max(self._peak, self._resident())

    @staticmethod
    def _resident() -> float:
        if not STATM.exists():
            return math.nan
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def make_columns(n_rows: int) -> Columns:
    """Skewed columns that share a factor, shape ``(n_rows,)`` each."""
    rng = np.random.default_rng(20240601)
    factor = rng.standard_normal(n_rows, dtype=np.float32)
    columns = []
    for size in SIZES:
        latent = 0.6 * factor + 0.8 * rng.standard_normal(n_rows, dtype=np.float32)
        columns.append((size * (1 / (1 + np.exp(-latent))) ** 2).astype(np.uint8))
    return columns


def make_marginals() -> Marginals:
    """All pairs and 50 triples drawn once from a fixed seed."""
    triples = list(itertools.combinations(range(len(SIZES)), 3))
    drawn = np.random.default_rng(20240602).choice(len(triples), 50, replace=False)
    pairs = list(itertools.combinations(range(len(SIZES)), 2))
    return [*pairs, *(triples[i] for i in drawn)]


def count_numpy(columns: Columns, marginals: Marginals) -> list[NDArray[np.int64]]:
    """Count each marginal by ``bincount`` on mixed-radix codes."""
    tables = []
    for marginal in marginals:
        shape = [SIZES[j] for j in marginal]
        codes = columns[marginal[0]].astype(np.intp)
        for j in marginal[1:]:
            codes *= SIZES[j]
            codes += columns[j]
        tables.append(np.bincount(codes, minlength=math.prod(shape)).reshape(shape))
    return tables


def count_polars(frame: pl.DataFrame, marginals: Marginals) -> list[pl.DataFrame]:
    """Count each marginal by an eager ``group_by``."""
    return [frame.group_by([f"c{j}" for j in marginal]).len() for marginal in marginals]


def measure(count: Callable[[], object], repeats: int, scale: float = 1.0) -> Timing:
    """Best time and peak memory of several calls of ``count()``."""
    seconds = []
    with PeakMemory() as memory:
        for _ in range(repeats):
            start = time.perf_counter()
            count()
            seconds.append(time.perf_counter() - start)
    return Timing(min(seconds) * scale, memory.peak_mb)


def compare(columns: Columns, every: int, repeats: int) -> tuple[dict[str, Timing], bool]:
    """Time all engines on one table; also whether the counts that numpy made too are equal."""
    marginals = make_marginals()
    some = marginals[::every]
    scale = len(marginals) / len(some)
    frame = pl.DataFrame({f"c{j}": column for j, column in enumerate(columns)})
    timings = {
        "understudy": measure(lambda: count_marginals(columns, SIZES, marginals), repeats),
        "numpy bincount": measure(lambda: count_numpy(columns, some), repeats, scale),
        "polars group_by": measure(lambda: count_polars(frame, some), repeats, scale),
    }
    counted = count_marginals(columns, SIZES, marginals)[::every]
    pairs = zip(counted, count_numpy(columns, some), strict=True)
    return timings, all(np.array_equal(ours, theirs) for ours, theirs in pairs)


def as_table(timings: dict[str, Timing], n_rows: int) -> Table:
    """The figures of one table of rows, for printing."""
    own = timings["understudy"].seconds
    table = Table(title=f"{n_rows:,} rows, data {n_rows * len(SIZES) / 1e6:.0f} MB")
    for heading in ("engine", "seconds", "ratio", "rows/s", "peak MB above data"):
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for name, timing in timings.items():
        ratio = f"{timing.seconds / own:.1f}"
        rate = f"{n_rows / timing.seconds:,.0f}"
        table.add_row(name, f"{timing.seconds:.3f}", ratio, rate, f"{timing.peak_mb:.0f}")
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--every", type=int, default=10, help="numpy and Polars count each n-th")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    console = Console()
    marginals = make_marginals()
    n_some = len(marginals[:: options.every])
    n_tables = len(cover(SIZES, marginals).tables)
    console.print(f"{len(marginals)} marginals of columns with sizes {SIZES}")
    console.print(f"understudy: {n_tables} covering tables, 1 thread")
    console.print(f"numpy: 1 thread; polars: {pl.thread_pool_size()} threads")
    console.print(f"numpy and polars: timed on {n_some} marginals, scaled to {len(marginals)}")
    compare(make_columns(1), options.every, repeats=1)
    all_equal = True
    for n_rows in options.rows:
        timings, equal = compare(make_columns(n_rows), options.every, options.repeats)
        console.print(as_table(timings, n_rows))
        console.print(f"counts equal to numpy's on {n_some} marginals: {equal}")
        all_equal = all_equal and equal
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
