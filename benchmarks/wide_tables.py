"""Very many columns, and columns of very many levels: ``python benchmarks/wide_tables.py``.

Two made-up tables from fixed seeds: 5,000 rows of 500 columns with four levels each, which share 25
factors; and 50,000 rows of six columns with 100,000 levels each, a few of which are frequent. Each
is planned, released by the method that is chosen for it, and saved with its pages, in a process of
its own. Shown are processor seconds of each step, what the plan had foretold for the fit, and the
largest resident memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table as Page

import understudy as us
from understudy.schema import Schema


def declared(columns: int, levels: int) -> Schema:
    """A schema of categorical columns."""
    named = json.dumps([str(level) for level in range(levels)])
    kind = f'kind = "categorical"\nlevels = {named}\nsource = "made up"\nreviewed = true\n'
    return Schema.loads("".join(f"[columns.c{j}]\n{kind}" for j in range(columns)))


def many_columns() -> tuple[pl.DataFrame, Schema]:
    """500 columns of four levels."""
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 4, (5_000, 25))
    columns = {
        f"c{j}": np.where(rng.random(5_000) < 0.5, factors[:, j % 25], rng.integers(0, 4, 5_000))
        for j in range(500)
    }
    return pl.DataFrame(columns).cast(pl.String), declared(500, 4)


def many_levels() -> tuple[pl.DataFrame, Schema]:
    """Six columns of 100,000 levels."""
    rng = np.random.default_rng(1)
    base = rng.zipf(1.5, 50_000)
    columns = {f"c{j}": (base * 7 + rng.integers(0, 50, 50_000)) % 100_000 for j in range(6)}
    return pl.DataFrame(columns).cast(pl.String), declared(6, 100_000)


TABLES = {"500 columns of 4 levels": many_columns, "6 columns of 100,000 levels": many_levels}


def taken(name: str, folder: Path) -> dict[str, object]:
    """Plan, release and save; processor seconds of each."""
    rows, schema = TABLES[name]()
    budget = {"epsilon": 1, "delta": "1e-6"}
    marks = [time.process_time()]
    plan = us.plan(schema, **budget, assume_rows=len(rows))
    marks.append(time.process_time())
    release = us.synthesize(rows, schema, **budget)
    marks.append(time.process_time())
    release.save(folder / "release")
    marks.append(time.process_time())
    seconds = [later - earlier for earlier, later in pairwise(marks)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"method": plan.method, "seconds": seconds, "foretold": plan.seconds, "peak": peak}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", help="used by the benchmark itself")
    options = parser.parse_args()
    if options.job:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(taken(options.job, Path(folder))))
        return
    page = Page(title="CPU seconds", title_justify="left", box=None)
    for heading in ("", "method", "plan", "release", "foretold", "save", "peak MB"):
        page.add_column(heading, justify="right" if heading not in {"", "method"} else "left")
    for name in TABLES:
        command = [sys.executable, __file__, "--job", name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        planned, released, saved = (f"{second:.1f}" for second in found["seconds"])
        foretold, peak = f"{found['foretold']:.1f}", f"{found['peak']:.0f}"
        page.add_row(name, found["method"], planned, released, foretold, saved, peak)
    Console().print(page)


if __name__ == "__main__":
    main()
