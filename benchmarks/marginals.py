"""MST, AIM and adaptive marginals: CPU seconds and memory on tables of growing rows and columns.

    python benchmarks/marginals.py [--rows 10000 50000 200000] [--columns 8 16 32] [--epsilon 1]

Each release is made in a process of its own, after a small one that loads what is compiled, and
prints CPU seconds, the memory of the whole process at its peak, rounds, and what the plan had
said of time and memory. The rows are made up: columns of 2 to 100 states, each tied to one before
it. Rows grow at the first number of columns but one, columns at the first number of rows but one.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import cycle, islice

from rich.console import Console
from rich.table import Table

import understudy as us
from made_up import made_up

METHODS = ("mst", "aim", "marginals")
SIZES = (2, 9, 16, 7, 42, 15, 6, 5, 100, 2, 3, 12, 90, 4, 8, 2)


def one(method: str, n_rows: int, n_columns: int, epsilon: str) -> dict[str, float]:
    """CPU seconds, peak memory and rounds of one release in this process."""
    small, schema = made_up(200, SIZES[:4])
    asked = {"method": method, "epsilon": epsilon, "delta": "1e-9"}
    us.synthesize(small, schema, **asked)
    frame, schema = made_up(n_rows, list(islice(cycle(SIZES), n_columns)))
    plan = us.plan(schema, **asked)
    start = time.process_time()
    release = us.synthesize(frame, schema, **asked)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    choices = sum(one.kind == "choice" for one in release.measurements)
    planned = {"planned_s": plan.seconds, "planned_mb": plan.memory_mb}
    return {"seconds": seconds, "peak_mb": peak, "rounds": choices} | planned


def measured(method: str, n_rows: int, n_columns: int, epsilon: str) -> dict[str, float]:
    """The same in a process of its own, as peaks of memory do not go down."""
    asked = [method, str(n_rows), str(n_columns), epsilon]
    command = [sys.executable, __file__, "--one", *asked]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 50_000, 200_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        method, n_rows, n_columns, epsilon = arguments.one
        print(json.dumps(one(method, int(n_rows), int(n_columns), epsilon)))
        return
    middle_rows, middle = arguments.rows[:2][-1], arguments.columns[:2][-1]
    shapes = [(n, middle) for n in arguments.rows] + [(middle_rows, d) for d in arguments.columns]
    heads = (
        "method",
        "rows",
        "columns",
        "CPU s",
        "planned",
        "peak, MB",
        "planned beyond",
        "rounds",
    )
    table = Table(*heads)
    for method in METHODS:
        for n_rows, d in dict.fromkeys(shapes):
            found = measured(method, n_rows, d, arguments.epsilon)
            seconds, peak = f"{found['seconds']:.1f}", f"{found['peak_mb']:.0f}"
            said = f"{found['planned_s']:.1f}", f"{found['planned_mb']:.0f}"
            numbers = (seconds, said[0], peak, said[1], f"{found['rounds']:.0f}")
            table.add_row(method, f"{n_rows:,}", str(d), *numbers)
    Console().print(table)


if __name__ == "__main__":
    main()
