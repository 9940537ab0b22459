"""Processor time and memory of whole releases of large tables, from a folder of Parquet files.

    python benchmarks/large_releases.py [--rows 1000000 10000000] [--methods mst auto]
        [--folder DIR]

The rows are those of `large_tables.py`. Each line is a process of its own: processor seconds of
reading and coding; of measuring and fitting; of drawing all parts of one set, and the largest
resident memory until then, imports included; of drawing and writing them with the pages, and the
memory until then; wall time of all; and megabytes of the synthetic set. A set of up to 2²⁰ records
is drawn with the fit. ε = 1, δ = 10⁻⁶ (`laplace`, filtered: none), private rows, codes in a spill.
"""

import argparse
import json
import math
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
from understudy.release.sets import PartedSets

HEADINGS = {
    "coded": "CPU s, coded",
    "paid": "measured and fitted",
    "drawn": "drawn alone",
    "apart": "MB",
    "written": "drawn and written",
    "peak": "MB then",
    "wall": "wall s",
    "size": "set, MB",
}


def used() -> float:
    """Processor seconds of this process so far."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime


def released(rows: Path, method: str, folder: Path) -> dict[str, object]:
    """Make one release, and say what it took."""
    begun, start, coded = used(), time.perf_counter(), [0.0]

    def tell(stage: str, done: int, _total: int) -> None:
        if stage.startswith("Reading") and done:
            coded[0] = used()

    release = us.synthesize(
        rows,
        large_tables.SCHEMA,
        epsilon=1,
        delta=0 if method == "laplace" else "1e-6",
        method=method,
        options={"form": "filtered"} if method == "laplace" else {},
        spill=folder,
        progress=tell,
    )
    paid, drawn = used(), None
    if isinstance(release.tables, PartedSets):
        for _ in release.tables.parts(0):
            drawn = used()
    apart = peak()
    before = used()
    place = release.save(folder / "release")
    sizes = [file.stat().st_size for file in (place / "synthetic").rglob("*.parquet")]
    return {
        "method": release.manifest.method,
        "coded": coded[0] - begun,
        "paid": paid - coded[0],
        "drawn": math.nan if drawn is None else drawn - paid,
        "apart": apart,
        "written": used() - before,
        "peak": peak(),
        "wall": time.perf_counter() - start,
        "size": sum(sizes) / 1e6,
    }


def peak() -> float:
    """The largest resident memory so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measured(rows: int, methods: list[str], folder: Path) -> Page:
    """The table for one number of rows."""
    page = Page(title=f"{rows:,} rows", title_justify="left", box=None)
    for heading in ("", *HEADINGS.values()):
        page.add_column(heading, justify="right" if heading else "left")
    place = large_tables.write(folder, rows)
    for method in methods:
        with tempfile.TemporaryDirectory(dir=folder) as out:
            command = [sys.executable, __file__, "--job", method, "--folder", str(place)]
            environment = {**os.environ, "BENCHMARK_OUT": out}
            done = subprocess.run(command, env=environment, check=True, capture_output=True)
        found = json.loads(done.stdout)
        numbers = [f"{found[name]:.{0 if 'MB' in HEADINGS[name] else 1}f}" for name in HEADINGS]
        page.add_row(found["method"], *numbers)
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
