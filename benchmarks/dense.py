"""What the dense Laplace sanitizer costs per cell: the figures behind `understudy plan`.

    python benchmarks/dense.py

Releases 10,000 rows over 10⁵ to 10⁷ cells, each in a fresh process, and prints seconds and peak
memory beyond a release of 10 cells, per cell.
"""

from __future__ import annotations

import subprocess
import sys

from rich.console import Console
from rich.table import Table

SIDES = (46, 100, 215)  # three columns each: about 10⁵, 10⁶ and 10⁷ cells

_PROCESS = """
import resource, sys, time
import numpy as np, polars as pl
import understudy as us
side = int(sys.argv[1])
entry = 'kind = "integer"\\nlower = 0\\nupper = {}\\nbins = {}\\nreviewed = true\\n'
entry = "[columns.c{}]\\n" + entry
schema = us.Schema.loads("".join(entry.format(k, side - 1, side) for k in range(3)))
rng = np.random.default_rng(1)
rows = pl.DataFrame({f"c{k}": rng.integers(0, side, 10_000) for k in range(3)})
run = lambda: us.synthesize(rows, schema, epsilon=1, method="laplace", options={"form": "dense"})
run()
start = time.perf_counter()
run()
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(side: int) -> tuple[float, float]:
    """Seconds of a warm run and peak megabytes of the process."""
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, str(side)], check=True, capture_output=True, text=True
    )
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


def main() -> None:
    """Run all sizes and print the table."""
    table = Table(title="Dense Laplace sanitizer")
    for heading in ("cells", "seconds", "cells/s", "peak MB", "bytes per cell"):
        table.add_column(heading, justify="right")
    base_seconds, base_megabytes = run(2)
    for side in SIDES:
        seconds, megabytes = run(side)
        cells = side**3
        per_cell = (megabytes - base_megabytes) * 2**20 / cells
        rate = cells / max(seconds - base_seconds, 1e-9)
        table.add_row(
            f"{cells:,}", f"{seconds:.3f}", f"{rate:,.0f}", f"{megabytes:.0f}", f"{per_cell:.0f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
