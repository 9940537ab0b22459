"""Time the reader of delimited text files against Polars' own, in one run.

    python benchmarks/reading_text.py [--rows 1000000] [--repeats 3]

Tables of ten columns (five codes, three whole numbers, two real numbers), from a fixed seed, are
written plain, with every cell in quotes, in windows-1252, with a malformed line in every hundred,
and packed. Polars reads them with `infer_schema=False` in batches, where it can read them at all:
it stops at the malformed lines, and knows no windows-1252. What is timed is reading all cells as
text, by this package (`open_rows`) and by Polars. Each time is the best of the repeats, after a
short file has been read, which compiles; peak memory is the growth of the resident set meanwhile,
from /proc, NaN where there is none. The rows that both read are compared, and the exit code is 1 if
any differ.
"""

import argparse
import gzip
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from counting import PeakMemory
from understudy.data.rows import BATCH_ROWS
from understudy.data.sources import open_rows
from understudy.schema import Schema
from understudy.schema.file_format import FileFormat

FORMS = {
    "plain": FileFormat(),
    "quoted": FileFormat(),
    "windows-1252": FileFormat(encoding="windows-1252"),
    "1 % malformed": FileFormat(),
    "packed": FileFormat(),
}
ONLY_HERE = {"windows-1252", "1 % malformed"}


def made(n_rows: int) -> pl.DataFrame:
    """The table."""
    rng = np.random.default_rng(1)
    codes = {f"code_{k}": rng.choice(["a", "bb", "ccc"], n_rows) for k in range(4)}
    whole = {f"whole_{k}": rng.integers(0, 10**k, n_rows) for k in (2, 3, 5)}
    real = {f"real_{k}": rng.normal(size=n_rows).round(4) for k in range(2)}
    return pl.DataFrame(
        {**codes, "city": rng.choice(["Ulm", "K\u00f6ln"], n_rows), **whole, **real}
    )


def write(table: pl.DataFrame, form: str, path: Path) -> None:
    """One file."""
    text = table.write_csv(quote_style="always" if form == "quoted" else "necessary")
    if form == "1 % malformed":
        lines = text.split("\n")
        lines[50::100] = ['a,"b'] * len(lines[50::100])
        text = "\n".join(lines)
    content = text.encode(FORMS[form].encoding)
    path.write_bytes(gzip.compress(content, 1) if form == "packed" else content)


def here(path: Path, form: str) -> Iterator[pl.DataFrame]:
    """All cells, by this package."""
    schema = Schema.loads('[columns.code_0]\nkind = "boolean"')
    rows = open_rows(path, schema.model_copy(update={"file": FORMS[form]}))
    return rows.batches(rows.columns)


def polars(path: Path, _form: str) -> Iterator[pl.DataFrame]:
    """All cells, by Polars."""
    return pl.scan_csv(path, infer_schema=False).collect_batches(chunk_size=BATCH_ROWS)


def timed(read: Callable[[], Iterator[pl.DataFrame]], repeats: int) -> tuple[float, float]:
    """Best seconds, and peak memory in megabytes."""
    best, peak = float("inf"), float("nan")
    for _ in range(repeats):
        with PeakMemory() as memory:
            start = time.perf_counter()
            for batch in read():
                assert batch.width == 10
            best = min(best, time.perf_counter() - start)
        peak = memory.peak_mb
    return best, peak


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    shown = Table("form", "MB", "here (s)", "Polars (s)", "here (MB)", "Polars (MB)", box=None)
    table, same = made(options.rows), True
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            path = Path(folder) / f"{form[:3]}.csv{'.gz' if form == 'packed' else ''}"
            write(table.head(10), form, path)
            list(here(path, form))
            write(table, form, path)
            seconds, peak = timed(lambda p=path, f=form: here(p, f), options.repeats)
            cells = ["–", "–"]
            if form not in ONLY_HERE:
                found = timed(lambda p=path, f=form: polars(p, f), options.repeats)
                cells = [f"{found[0]:.2f}", f"{found[1]:.0f}"]
                same &= pl.concat(here(path, form)).equals(pl.concat(polars(path, form)))
            megabytes = path.stat().st_size / 1e6
            shown.add_row(
                form, f"{megabytes:.0f}", f"{seconds:.2f}", cells[0], f"{peak:.0f}", cells[1]
            )
    Console().print(shown)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
