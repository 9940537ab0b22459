"""Processor time and memory of whole releases of large tables, from a folder of Parquet files.

    python benchmarks/large_releases.py [--rows 1000000 10000000] [--methods mst auto]

The rows are those of `large_tables.py`. Each line is a process of its own: processor seconds until
everything is paid (reading, coding, counting, fitting), then those of drawing and writing one set,
with the pages; wall time of both; the largest resident memory, imports included; and megabytes of
the synthetic set. ε = 1, δ = 10⁻⁶, private rows, codes in a spill.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table as Page

import large_tables
import understudy as us


def used() -> float:
    """Processor seconds of this process so far."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime


def released(rows: Path, method: str, folder: Path) -> dict[str, object]:
    """Make one release, and say what it took."""
    begun, start = used(), time.perf_counter()
    release = us.synthesize(
        rows, large_tables.SCHEMA, epsilon=1, delta="1e-6", method=method, spill=folder
    )
    paid = used()
    place = release.save(folder / "release")
    sizes = [file.stat().st_size for file in (place / "synthetic").rglob("*.parquet")]
    return {
        "method": release.manifest.method,
        "paid": paid - begun,
        "written": used() - paid,
        "wall": time.perf_counter() - start,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        "size": sum(sizes) / 1e6,
    }


def measured(rows: int, methods: list[str], folder: Path) -> Page:
    """The table for one number of rows."""
    page = Page(title=f"{rows:,} rows", title_justify="left", box=None)
    for heading in ("", "CPU s, paid", "CPU s, drawn and written", "wall s", "peak MB", "set MB"):
        page.add_column(heading, justify="right" if heading else "left")
    place = large_tables.write(folder, rows)
    for method in methods:
        with tempfile.TemporaryDirectory(dir=folder) as out:
            command = [sys.executable, __file__, "--job", method, "--folder", str(place)]
            environment = {**os.environ, "BENCHMARK_OUT": out}
            done = subprocess.run(command, env=environment, check=True, capture_output=True)
        found = json.loads(done.stdout)
        numbers = [f"{found[name]:.1f}" for name in ("paid", "written", "wall")]
        page.add_row(found["method"], *numbers, f"{found['peak']:.0f}", f"{found['size']:.0f}")
    return page


def main() -> None:
    """Print one table for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--methods", nargs="+", default=["mst", "auto"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--job", help="used by the benchmark itself")
    options = parser.parse_args()
    if options.job:
        found = released(options.folder, options.job, Path(os.environ["BENCHMARK_OUT"]))
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for rows in options.rows:
            Console().print(measured(rows, options.methods, folder))


if __name__ == "__main__":
    main()
