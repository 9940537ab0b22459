"""Processor time and memory of passes over large tables: read, coded, counted, with a spill or not.

    python benchmarks/large_tables.py [--rows 1000000 10000000] [--repeats 1]
        [--folder DIR] [--spill DIR] [--only JOB ...]

Made-up rows of 16 columns (five of text, two truth values, four of whole numbers, four of real
numbers, days; some with empty cells) are written as a folder of Parquet files, a million rows each,
from fixed seeds. Each line of the table is a process of its own: processor seconds, of user and
system, and wall time, less those of a process that only imports the package; and the largest
resident memory, imports included: the least of the repeats. A count is of all 120 pairs.
"Kept" codes are in memory up to a gibibyte, beyond which rows are read again for each count, as
they always are in the lines that say so.

DuckDB and Polars count every tenth pair from the same files, one query a pair, with numbers cut
into bins of equal width within it; processor and wall time are scaled to all pairs. One of them
that is not installed is left out with a sentence.

Files are made where `--folder` says, and kept there for the next run; else in a temporary folder.
Spills go to `--spill`, by default the same folder.
"""

import argparse
import importlib.util
import itertools
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as Page

from understudy.data.table import Table
from understudy.schema import NUMERIC, Schema

PART_ROWS = 1_000_000
LEVELS = {"sex": 2, "region": 16, "job": 40, "district": 200, "school": 6}
SCHEMA = Schema.loads(
    "row_limit = 10000000000\n"
    + "".join(
        f'[columns.{name}]\nkind = "categorical"\nreviewed = true\n'
        f"levels = {[f'{name} {k}' for k in range(n)]}\n"
        for name, n in LEVELS.items()
    )
    + """
[columns.member]
kind = "boolean"
reviewed = true
[columns.moved]
kind = "boolean"
missing = [""]
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 110
bins = 22
reviewed = true
[columns.children]
kind = "integer"
lower = 0
upper = 15
missing = [-1]
reviewed = true
[columns.hours]
kind = "integer"
lower = 0
upper = 80
spikes = [0, 40]
missing = [""]
reviewed = true
[columns.debt]
kind = "integer"
lower = 0
upper = 1000000
bins = 20
spikes = [0]
reviewed = true
[columns.income]
kind = "continuous"
lower = 0
upper = 200000
bins = 32
spikes = [0]
missing = [-9]
reviewed = true
[columns.weight]
kind = "continuous"
lower = 30
upper = 200
bins = 20
reviewed = true
[columns.height]
kind = "continuous"
lower = 1.2
upper = 2.2
bins = 20
reviewed = true
[columns.score]
kind = "continuous"
lower = -4
upper = 4
bins = 16
reviewed = true
[columns.born]
kind = "date"
lower = 1900-01-01
upper = 2020-12-31
bins = 12
reviewed = true
"""
)


def part(k: int, n: int) -> pl.DataFrame:
    """The k-th part of the rows."""
    rng = np.random.default_rng([20260101, k])
    factor = rng.standard_normal(n, dtype=np.float32)

    def shaped(size: int) -> np.ndarray:
        latent = 0.6 * factor + 0.8 * rng.standard_normal(n, dtype=np.float32)
        return (size * (1 / (1 + np.exp(-latent))) ** 2).astype(np.int64)

    frame: dict[str, object] = {}
    for name, size in LEVELS.items():
        names = pl.Series([f"{name} {level}" for level in range(size)], dtype=pl.String)
        frame[name] = names.gather(shaped(size))
    frame["member"] = rng.random(n) < 0.3
    frame["moved"] = pl.Series(rng.random(n) < 0.1).set(pl.Series(rng.random(n) < 0.02), None)
    frame["age"] = shaped(111)
    frame["children"] = shaped(8).astype(np.int32) - (rng.random(n) < 0.01).astype(np.int32)
    hours = pl.Series(np.where(rng.random(n) < 0.4, 40, shaped(81)))
    frame["hours"] = hours.set(pl.Series(rng.random(n) < 0.05), None)
    frame["debt"] = np.where(rng.random(n) < 0.5, 0, rng.integers(0, 1_200_000, n))
    income = np.round(np.exp(10 + 0.8 * factor), 2)
    frame["income"] = np.where(rng.random(n) < 0.1, 0, income)
    frame["weight"] = pl.Series(np.round(75 + 15 * rng.standard_normal(n), 1))
    frame["height"] = (1.7 + 0.1 * rng.standard_normal(n)).astype(np.float32)
    frame["score"] = factor.astype(np.float64)
    frame["born"] = pl.Series((shaped(111) * -365 + 18_000).astype(np.int32)).cast(pl.Date)
    return pl.DataFrame(frame)


def write(folder: Path, rows: int) -> Path:
    """A folder of parts; what is there already is kept."""
    place = folder / f"rows-{rows}"
    place.mkdir(parents=True, exist_ok=True)
    for k, start in enumerate(range(0, rows, PART_ROWS)):
        file = place / f"part-{k:05d}.parquet"
        if not file.exists():
            unfinished = file.with_suffix(".unfinished")
            part(k, min(PART_ROWS, rows - start)).write_parquet(unfinished, compression="snappy")
            unfinished.rename(file)
    return place


# --- what is measured, each in a process of its own -----------------------------------------------

PAIRS = list(itertools.combinations(range(len(SCHEMA.names)), 2))
SOME = PAIRS[::10]


def nothing(_rows: Path, _spill: Path) -> None:
    """Only what is imported."""


def arrow(rows: Path, _spill: Path) -> None:
    """All columns read by Arrow, a batch at a time."""
    for file in sorted(rows.glob("*.parquet")):
        with pq.ParquetFile(file) as source:
            for batch in source.iter_batches(2**16):
                assert batch.num_columns == len(SCHEMA.names)


def coded(rows: Path, _spill: Path) -> None:
    """Read and coded; nothing kept."""
    Table(rows, SCHEMA, keep_bytes=0)


def kept(rows: Path, _spill: Path) -> None:
    """Read, coded, kept in memory as far as it goes, and counted."""
    Table(rows, SCHEMA).count(PAIRS)


def again(rows: Path, _spill: Path) -> None:
    """Read, coded, and read again for each of three counts."""
    counted(Table(rows, SCHEMA, keep_bytes=0), 3)


def spilled(rows: Path, spill: Path) -> None:
    """Read, coded, and counted from a spill."""
    counted(Table(rows, SCHEMA, spill=spill), 1)


def spilled_thrice(rows: Path, spill: Path) -> None:
    """Read, coded, and counted three times from a spill."""
    counted(Table(rows, SCHEMA, spill=spill), 3)


def counted(table: Table, times: int) -> None:
    """Count all pairs several times."""
    for _ in range(times):
        table.count(PAIRS)


def in_polars(rows: Path, _spill: Path) -> None:
    """Some pairs, counted by Polars, streaming."""
    lazy = pl.scan_parquet(rows / "*.parquet")
    for pair in SOME:
        names = [SCHEMA.names[j] for j in pair]
        cut = lazy.select(_binned(name) for name in names)
        cut.group_by(names).len().collect(engine="streaming")


def _binned(name: str) -> pl.Expr:
    bounds = _bounds(name)
    if bounds is None:
        return pl.col(name)
    low, high, n = bounds
    place = ((pl.col(name).cast(pl.Float64) - low) / (high - low) * n).floor()
    return place.clip(0, n - 1).alias(name)


def in_duckdb(rows: Path, _spill: Path) -> None:
    """Some pairs, counted by DuckDB."""
    import duckdb

    for pair in SOME:
        columns = ", ".join(_sql(SCHEMA.names[j]) for j in pair)
        asked = f"SELECT {columns}, count(*) FROM read_parquet('{rows}/*.parquet') GROUP BY ALL"
        duckdb.sql(asked).fetchall()


def _sql(name: str) -> str:
    bounds = _bounds(name)
    if bounds is None:
        return name
    low, high, n = bounds
    value = "(born - DATE '1970-01-01')::DOUBLE" if name == "born" else f"{name}::DOUBLE"
    return f"least(greatest(floor(({value} - {low}) / {high - low} * {n}), 0), {n - 1})"


def _bounds(name: str) -> tuple[float, float, int] | None:
    """Bounds and number of bins, if it has any."""
    column = SCHEMA.columns[name]
    return (*column.bounds, column.n_ordinary) if isinstance(column, NUMERIC) else None


JOBS = {
    "nothing": nothing,
    "Arrow reads all columns": arrow,
    "read and coded": coded,
    "coded, kept, 1 count": kept,
    "coded, 3 counts, each reads again": again,
    "coded, spilled, 1 count": spilled,
    "coded, spilled, 3 counts": spilled_thrice,
    "Polars, 1 count": in_polars,
    "DuckDB, 1 count": in_duckdb,
}
SCALED = {"Polars, 1 count", "DuckDB, 1 count"}


@dataclass(frozen=True)
class Cost:
    """What a process took.

    Attributes:
        cpu: processor seconds.
        wall: seconds.
        megabytes: largest resident memory.
    """

    cpu: float
    wall: float
    megabytes: float


def cost(job: str, rows: Path, spill: Path, repeats: int) -> Cost:
    """Run one job several times, in processes of its own; the least of each figure."""
    runs = [_run(job, rows, spill) for _ in range(repeats)]
    return Cost(
        cpu=min(run.cpu for run in runs),
        wall=min(run.wall for run in runs),
        megabytes=min(run.megabytes for run in runs),
    )


def _run(job: str, rows: Path, spill: Path) -> Cost:
    command = [sys.executable, __file__, "--job", job, "--folder", str(rows), "--spill", str(spill)]
    start = time.perf_counter()
    child = os.posix_spawn(sys.executable, command, os.environ)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{job}: failed")
    wall = time.perf_counter() - start
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024 / 1e6)


def measured(rows: int, folder: Path, spill: Path, jobs: list[str], repeats: int) -> Page:
    """The table for one number of rows."""
    place = write(folder, rows)
    _run("coded, kept, 1 count", write(folder, 1000), spill)  # compiles
    base = cost("nothing", place, spill, 5)
    page = Page(title=f"{rows:,} rows", title_justify="left", box=None)
    for heading in ("", "CPU s", "wall s", "MB"):
        page.add_column(heading, justify="right" if heading else "left")
    for job in jobs:
        found = cost(job, place, spill, repeats)
        scale = len(PAIRS) / len(SOME) if job in SCALED else 1.0
        cpu, wall = (found.cpu - base.cpu) * scale, (found.wall - base.wall) * scale
        page.add_row(job, f"{cpu:.1f}", f"{wall:.1f}", f"{found.megabytes:.0f}")
    return page


def main() -> None:
    """Print one table for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--spill", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=JOBS, help="of the jobs")
    parser.add_argument("--job", choices=JOBS, help="used by the benchmark itself")
    options = parser.parse_args()
    if options.job:
        JOBS[options.job](options.folder, options.spill)
        return
    console, jobs = Console(), options.only or list(JOBS)[1:]
    if importlib.util.find_spec("duckdb") is None and "DuckDB, 1 count" in jobs:
        console.print("DuckDB is not installed, so it is left out.")
        jobs = [job for job in jobs if job != "DuckDB, 1 count"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for rows in options.rows:
            spill = options.spill or folder
            console.print(measured(rows, folder, spill, jobs, options.repeats))


if __name__ == "__main__":
    main()
