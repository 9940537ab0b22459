"""What counts at every level of a tree cost, for the table of STEPS' case study and larger ones.

    python benchmarks/hierarchy.py

Releases five sets of 44,821 rows by steps with three layers, each case in a fresh process, and
prints seconds (a warm run) and peak memory of the process; then the seconds of the kernels on one
table of 1,290,240 leaves, and of tables in 10,000 and in a million places with all their variances.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from understudy.models.spine import Hierarchy, gls
from understudy.models.tables import project
from understudy.papers.hierarchical_tree import downward

VOTERS = "2,2,2,2,2,2,2,2,2,2,2,2,5,14,6"
CASES = (
    (VOTERS, "consistency=gls sets=free"),
    (VOTERS, "consistency=gls sets=split"),
    (VOTERS, "consistency=gls_inner sets=split"),
    (",".join(["2"] * 30), "sets=free"),
    (",".join(["10"] * 15), "sets=free"),
)

_PROCESS = """
import resource, sys, time
import numpy as np, polars as pl
import understudy as us
sizes = [int(size) for size in sys.argv[1].split(",")]
options = dict(part.split("=") for part in sys.argv[2].split()) | {"layers": 3}
entry = '[columns.c{}]\\nkind = "integer"\\nlower = 0\\nupper = {}\\nreviewed = true\\n'
text = "".join(entry.format(k, size - 1) for k, size in enumerate(sizes))
if len(sizes) == 15 and sizes[0] == 2:  # the rule of the case study: 3/4 of the cells remain
    text += "[[forbidden]]\\nwhere = { c0 = 1, c1 = 0 }\\nreviewed = true\\n"
rng = np.random.default_rng(1)
rows = {f"c{k}": rng.choice(s, 44_821, p=rng.dirichlet(np.ones(s))) for k, s in enumerate(sizes)}
rows, schema = pl.DataFrame(rows), us.Schema.loads(f'rows = "public"\\nn_rows = 44821\\n{text}')
run = lambda: us.synthesize(rows, schema, epsilon=1, method="steps", sets=5, options=options)
run()
start = time.perf_counter()
run()
seconds = time.perf_counter() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, schema.domain.n_allowed)
"""


def releases() -> Table:
    """A release of each case."""
    table = Table("cells", "options", "seconds", "peak MB", title="STEPS-3, five sets")
    for sizes, options in CASES:
        arguments = [sys.executable, "-c", _PROCESS, sizes, options]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        seconds, megabytes, cells = done.stdout.split()
        table.add_row(
            f"{int(cells):,}", options, f"{float(seconds):.2f}", f"{float(megabytes):.0f}"
        )
    return table


def kernels() -> Table:
    """Consistency and allocation of one table."""
    rng = np.random.default_rng(1)
    nodes = [np.zeros(1, np.int64), np.zeros(5, np.int64), np.arange(70) // 14]
    tree = Hierarchy((*nodes, rng.integers(0, 70, 1_290_240)))
    counts = [rng.normal(1, 10, len(places)) for places in tree.parents]
    actions: dict[str, Callable[[], object]] = {
        "generalised least squares": lambda: gls(tree, counts, [0, 1, 1, 1]),
        "shares downward": lambda: downward(tree, counts),
        "projection": lambda: project(counts[-1], 44_821),
    }
    table = Table("kernel", "seconds", title="1,290,240 leaves")
    for name, action in actions.items():
        action()
        start = time.perf_counter()
        action()
        table.add_row(name, f"{time.perf_counter() - start:.3f}")
    return table


_PLACES = """
import resource, sys, time
import numpy as np
from understudy.models.spine import Hierarchy, LevelTable, SpineFit
rng = np.random.default_rng(1)
widths = [1, *map(int, sys.argv[1].split(","))]
parents = [np.zeros(1, np.int64)]
parents += [rng.integers(0, above, width) for above, width in zip(widths, widths[1:])]
tables = [
    LevelTable(level, axes, rng.standard_normal((len(nodes), *[10] * len(axes)), np.float32), 4.0)
    for level, nodes in enumerate(parents)
    for axes in ((0, 1), (0,), (1,), ())
]
start = time.process_time()
fit = SpineFit(Hierarchy(tuple(parents)), (10, 10), tables)
for level, width in enumerate(widths):
    fit.variances(level)
    for first in range(0, width, 50_000):
        fit.counts(level, places=range(first, min(first + 50_000, width)))
some = np.zeros(widths[-1])
some[:: 1000] = 1
fit.answer({len(widths) - 1: some})
seconds = time.process_time() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def places() -> Table:
    """Four tables of each place, made consistent, with all variances and a sum off the spine."""
    table = Table("areas", "CPU seconds", "peak MB", title="areas of 100 cells on a spine")
    for widths in ("16,320,10000", "50,3000,80000,1000000"):
        command = [sys.executable, "-c", _PLACES, widths]
        done = subprocess.run(command, check=True, capture_output=True)
        seconds, megabytes = done.stdout.split()
        areas = int(widths.rpartition(",")[2])
        table.add_row(f"{areas:,}", f"{float(seconds):.2f}", f"{float(megabytes):.0f}")
    return table


def main() -> None:
    """Measure and print."""
    console = Console()
    console.print(kernels())
    console.print(places())
    console.print(releases())


if __name__ == "__main__":
    main()
