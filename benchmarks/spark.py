"""The CPU time of counting in Spark, of all its processes, beside that of this process alone.

    python benchmarks/spark.py [--rows 10000000] [--repeats 2]

A folder of Parquet of 16 columns is made from a fixed seed, in parts. Each engine reads it, counts
every column by itself (which is what comes before anything is paid) and then all 120 pairs. In
Spark each of the two is a pass that reads and codes anew; this process keeps what it has coded.
Both are warm: a run over the first part comes before. Counted are user and system time of this
process and of those that it has started: the virtual machine and its Python workers. The table is
the best of the repeats, and the counts of both must be equal.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table as Page

from understudy.data.base import Engine
from understudy.data.table import Table
from understudy.schema import Schema
from understudy.spark.rows import CLOSED, SparkRows

PART = 625_000
WORDS = tuple("abcdefghij")
TICKS = os.sysconf("SC_CLK_TCK")
_TEXTS, _WHOLE, _REAL, _TRUTH = 5, 5, 4, 2


def schema() -> Schema:
    """Texts, whole and real numbers, and truth values."""
    text = "row_limit = 100000000\n"
    for k in range(_TEXTS):
        text += f'[columns.t{k}]\nkind = "categorical"\nlevels = {list(WORDS)}\nreviewed = true\n'
    for kind, letter, n in (("integer", "i", _WHOLE), ("continuous", "r", _REAL)):
        for k in range(n):
            text += f'[columns.{letter}{k}]\nkind = "{kind}"\nlower = 0\nupper = 1000\n'
            text += "bins = 20\nreviewed = true\n"
    for k in range(_TRUTH):
        text += f'[columns.b{k}]\nkind = "boolean"\nreviewed = true\n'
    return Schema.loads(text)


def write(place: Path, rows: int) -> None:
    """The folder, part by part."""
    rng, words = np.random.default_rng(1), np.array(WORDS)
    for k, start in enumerate(range(0, rows, PART)):
        n = min(PART, rows - start)
        frame = {f"t{j}": words[rng.integers(0, len(WORDS), n)] for j in range(_TEXTS)}
        frame |= {f"i{j}": rng.integers(0, 1001, n) for j in range(_WHOLE)}
        frame |= {f"r{j}": np.round(rng.random(n) * 1000, 2) for j in range(_REAL)}
        frame |= {f"b{j}": rng.random(n) < 0.5 for j in range(_TRUTH)}
        pl.DataFrame(frame).write_parquet(place / f"{k:04}.parquet")


def cpu() -> float:
    """Seconds of this process and all that descend from it, those that ended included."""
    parents, spent = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(after[1])
            spent[int(entry.name)] = sum(map(int, after[11:15])) / TICKS
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent[pid] for pid in ours)


def measured(made: Callable[[], Engine]) -> tuple[list[tuple[float, float]], list[np.ndarray]]:
    """CPU and wall seconds of the first pass and of the pairs; and the pairs."""
    marks = [(cpu(), time.perf_counter())]
    engine = made()
    marks.append((cpu(), time.perf_counter()))
    pairs = list(itertools.combinations(range(len(engine.schema.names)), 2))
    tables = engine.count(pairs).expose()
    marks.append((cpu(), time.perf_counter()))
    spent = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(marks)]
    return spent, [table.inside for table in tables]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=2)
    asked = parser.parse_args()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]")
    for name, value in CLOSED.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    own = schema()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write(place, asked.rows)
        first = str(place / "0000.parquet")
        engines: dict[str, Callable[[str], Engine]] = {
            "this process": lambda path: Table(path, own),
            "Spark, local[2]": lambda path: SparkRows(spark.read.parquet(path), own),
        }
        found, counts = {}, {}
        for name, engine in engines.items():
            measured(lambda engine=engine: engine(first))
            runs = [measured(lambda engine=engine: engine(folder)) for _ in range(asked.repeats)]
            found[name], counts[name] = min(runs, key=lambda run: sum(cpu for cpu, _ in run[0]))
        spark.stop()
    equal = all(map(np.array_equal, *counts.values()))
    page = Page(title=f"{asked.rows:,} rows of 16 columns; equal counts: {equal}")
    for title in ("engine", "first pass, CPU s", "wall s", "120 pairs, CPU s", "wall s", "CPU s"):
        page.add_column(title, justify="left" if title == "engine" else "right")
    for name, steps in found.items():
        cells = [f"{second:.1f}" for step in steps for second in step]
        page.add_row(name, *cells, f"{sum(cpu for cpu, _ in steps):.1f}")
    Console().print(page)


if __name__ == "__main__":
    main()
