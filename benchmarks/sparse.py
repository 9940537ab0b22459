"""A table of 10⁵ rows over a domain of more than 10¹² cells, through the command line.

    python benchmarks/sparse.py [--rows 100000]

Writes a skewed table of 13 columns as CSV, runs `understudy synthesize` with the filtered and the
lazy Laplace sanitizer in fresh processes, and prints wall time and peak memory of each (resident
set of the whole process, interpreter and libraries included). The first run compiles and caches the
kernels and is shown apart.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from understudy.schema import Schema

SIZES = (12, 9, 16, 7, 15, 6, 5, 2, 42, 20, 10, 8, 3)
RUNS = (("compile", "filtered"), ("", "filtered"), ("", "lazy"), ("", "filtered, 5 sets"))


def make_table(rows: int, folder: Path) -> Schema:
    """Skewed, dependent columns, seeded; and the schema that goes with them."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 40, rows)
    columns = {}
    for j, size in enumerate(SIZES):
        own = np.minimum(rng.geometric(0.35, rows) - 1, size - 1)
        columns[f"c{j}"] = np.where(rng.random(rows) < 0.9, (group * (j + 3)) % size, own)
    pl.DataFrame(columns).write_csv(folder / "table.csv")
    lines = [
        f'[columns.c{j}]\nkind = "integer"\nlower = 0\nupper = {size - 1}\nbins = {size}\n'
        'source = "codebook"\nreviewed = true\n'
        for j, size in enumerate(SIZES)
    ]
    schema = Schema.loads("\n".join(lines))
    schema.save(folder / "schema.toml")
    return schema


def run(folder: Path, form: str, number: int) -> tuple[float, float]:
    """Seconds and megabytes of one fresh process."""
    command = [
        sys.executable,
        "-c",
        _MEASURED,
        "synthesize",
        "table.csv",
        "--schema",
        "schema.toml",
        "--epsilon",
        "1",
        "--method",
        "laplace",
        "--option",
        f"form={form.split(',', maxsplit=1)[0]}",
        "--sets",
        "5" if "5 sets" in form else "1",
        "--out",
        f"release-{number}",
        "--quiet",
    ]
    start = time.perf_counter()
    cache = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        command, cwd=folder, env=cache, check=True, capture_output=True, text=True
    )
    return time.perf_counter() - start, float(done.stdout.strip()) / 1024


_MEASURED = """
import resource, sys
from understudy.cli import app
sys.argv[0] = "understudy"
app(standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main() -> None:
    """Run all forms and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    table = Table(title="Laplace sanitizer on a huge domain")
    for heading in ("form", "rows", "cells", "seconds", "peak MB"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory() as scratch:
        schema = make_table(rows, Path(scratch))
        for number, (note, form) in enumerate(RUNS):
            seconds, megabytes = run(Path(scratch), form, number)
            table.add_row(
                f"{form} ({note})" if note else form,
                f"{rows:,}",
                f"{schema.domain.n_allowed:.2g}",
                f"{seconds:.2f}",
                f"{megabytes:.0f}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
