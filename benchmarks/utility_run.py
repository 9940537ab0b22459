"""One measured run: a table is synthesized, and scored, in a process of its own.

    python benchmarks/utility_run.py CASE

CASE is JSON, the fields of a `Case` and the folder of the tables; the record is printed as JSON.
Processor seconds are those of `us.synthesize` alone, with its children: imports, reading the file
and scoring are not in them.
Memory is the peak of the process up to the end of the synthesis, so the libraries are in it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numba.core import event

import understudy as us
import yardstick
from known_tables import KnownTable, load
from understudy.evaluate.comparison import Comparison
from utility_cases import COPY, REFERENCES, Case


def run(case: Case, folder: Path) -> dict[str, Any]:
    """Synthesize and score; a refusal is a record, too."""
    table = load(folder, case.table)
    if case.method in REFERENCES:
        return scores(table, reference(case.method, table), case.method)
    try:
        made, cost = synthesized(case, table)
    except us.UnderstudyError as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"refused": "It needs more memory than there is."}
    return cost | scores(table, made, case.method)


def synthesized(case: Case, table: KnownTable) -> tuple[pl.DataFrame, dict[str, float]]:
    """A synthetic table, and what it cost."""
    schema = table.schema(case.rows)
    with event.install_recorder("numba:compile") as compiled:
        start, cpu = time.perf_counter(), cpu_seconds()
        release = us.synthesize(
            table.frame,
            schema,
            epsilon=case.epsilon,
            delta=case.delta,
            method=case.method,
            options=case.options,
        )
        cost = {"cpu_s": cpu_seconds() - cpu, "wall_s": time.perf_counter() - start}
    kernels = sum(one.is_start for _, one in compiled.buffer)
    whole = {"process_cpu_s": cpu_seconds(), "peak_mb": peak_megabytes(), "compiled": kernels}
    return release.tables[0], cost | whole


def reference(name: str, table: KnownTable) -> pl.DataFrame:
    """Rows without privacy, to compare with: drawn with replacement, or each column shuffled."""
    rng, n = np.random.default_rng(), table.frame.height
    if name == COPY:
        return table.frame[rng.integers(n, size=n)]
    return table.frame.select(column.gather(rng.permutation(n)) for column in table.frame)


def scores(table: KnownTable, made: pl.DataFrame, method: str) -> dict[str, float]:
    """The yardstick; a copy of the rows is not asked to predict rows that it holds itself."""
    start, design = time.perf_counter(), table.design
    comparison = Comparison.of(table.schema("public"), table.frame, [made])
    found = yardstick.distances(comparison, most_cells=design.most_cells)
    found |= yardstick.kept(comparison, table.frame, made)
    if table.target is not None:
        found |= yardstick.discrimination(comparison)
        found |= yardstick.prediction(comparison, table.target, real_rows=method == COPY)
    return found | {"n_rows": made.height, "scoring_s": time.perf_counter() - start}


def cpu_seconds() -> float:
    """Of this process so far, and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_megabytes() -> float:
    """Of this process; if possible not `ru_maxrss`, which a child takes over from its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> None:
    """Run the case of the command line."""
    asked = json.loads(sys.argv[1])
    folder = Path(asked.pop("folder"))
    case = Case(**asked)
    print(json.dumps(asdict(case) | {"label": case.label} | run(case, folder)))


if __name__ == "__main__":
    main()
