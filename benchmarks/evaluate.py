"""What an evaluation costs, part by part.

    python benchmarks/evaluate.py [--rows 50000] [--sets 5]

Evaluates a release of independent columns over 14 columns with 2 to 100 states, correlated by a
common factor and made from a fixed seed, with all metrics and the groups of one column. Prints wall
and processor seconds of each part. The kernels are compiled by an evaluation of a small table
first. The exit code is 1 if the whole took more than 60 seconds.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from scipy.stats import norm

import understudy as us

SIZES = (9, 16, 7, 15, 6, 5, 2, 42, 85, 74, 20, 100, 12, 3)
NUMBERS = 15  # columns with so many states or more are whole numbers, smaller ones have levels
LIMIT = 60.0


def schema() -> us.Schema:
    """Levels for small columns, whole numbers with a bin each for large ones."""
    entries = []
    for k, size in enumerate(SIZES):
        kind = (
            f'kind = "integer"\nlower = 0\nupper = {size - 1}\nbins = {size}'
            if size >= NUMBERS
            else f'kind = "categorical"\nlevels = {list(range(size))}'
        )
        entries.append(f"[columns.c{k}]\n{kind}\nreviewed = true\n")
    return us.Schema.loads("\n".join(entries))


def rows(n: int) -> pl.DataFrame:
    """Skewed columns that share a factor."""
    rng = np.random.default_rng(1)
    factor = rng.normal(size=n)
    columns = {}
    for k, size in enumerate(SIZES):
        place = norm.cdf(0.6 * factor + 0.8 * rng.normal(size=n)) ** 2
        columns[f"c{k}"] = np.minimum((place * size).astype(int), size - 1)
    return pl.DataFrame(columns)


class Clock:
    """Wall and processor seconds of each stage, from the calls of a progress bar."""

    def __init__(self):
        self.seconds: dict[str, list[float]] = {}
        self._mark()

    def _mark(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def __call__(self, stage, done, _total):
        """Count what a stage took since the last call."""
        if done:
            spent = self.seconds.setdefault(stage, [0.0, 0.0])
            spent[0] += time.perf_counter() - self._wall
            spent[1] += time.process_time() - self._cpu
        self._mark()


def release(n: int, sets: int) -> tuple[pl.DataFrame, us.Release]:
    data = rows(n)
    made = us.synthesize(
        data, schema(), epsilon=1, method="independent", sets=sets, insecure_noise_seed=1
    )
    return data, made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--sets", type=int, default=5)
    asked = parser.parse_args()
    us.evaluate(*release(500, 1))
    data, made = release(asked.rows, asked.sets)
    clock, start, cpu = Clock(), time.perf_counter(), time.process_time()
    us.evaluate(data, made, by="c6", progress=clock)
    whole = time.perf_counter() - start
    table = Table(title=f"Evaluation of {asked.rows:,} × {len(SIZES)}, {asked.sets} sets")
    for heading in ("part", "seconds", "processor seconds"):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    for stage, (wall, processor) in clock.seconds.items():
        table.add_row(stage, f"{wall:.1f}", f"{processor:.1f}")
    table.add_row("all", f"{whole:.1f}", f"{time.process_time() - cpu:.1f}")
    Console().print(table)
    return int(whole > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
