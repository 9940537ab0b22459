"""Time the reading of a column: from a data frame to states, by the type of the column.

    python benchmarks/reading.py [--rows 1000000] [--repeats 3]

Each column is made from a fixed seed and coded against a schema of one column: text against text
levels, numbers against bins. The time is the best of the repeats, after one small table that warms
up what is compiled or loaded on first use. "object" columns hold Python objects, as pandas keeps
them when one value differs from the others.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
from rich.console import Console
from rich.table import Table as Page

from understudy.data.table import Table
from understudy.schema import Schema

LEVELS = tuple("abcdefghij")
SCHEMAS = {
    "levels": Schema.loads(
        f'row_limit = 100000000\n[columns.c]\nkind = "categorical"\nlevels = {list(LEVELS)}\n'
        "reviewed = true"
    ),
    "truth": Schema.loads(
        'row_limit = 100000000\n[columns.c]\nkind = "boolean"\nreviewed = true',
    ),
    "bins": Schema.loads(
        'row_limit = 100000000\n[columns.c]\nkind = "continuous"\nlower = 0\nupper = 1000\n'
        "bins = 20\nspikes = [0]\nreviewed = true"
    ),
    "days": Schema.loads(
        'row_limit = 100000000\n[columns.c]\nkind = "date"\nlower = 1990-01-01\n'
        "upper = 2019-12-31\nreviewed = true"
    ),
}


def columns(n: int) -> dict[str, tuple[str, Callable[[], object]]]:
    """Name → schema and a data frame of one column of n values."""
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 1000, n)
    real = np.round(rng.random(n) * 1000, 2)
    words = np.array(LEVELS, dtype=object)[rng.integers(0, len(LEVELS), n)]
    truth = rng.random(n) < 0.5
    days = np.datetime64("1990-01-01", "s") + rng.integers(0, 10_000, n) * 86_400

    def mixed() -> list[object]:
        values: list[object] = whole.tolist()
        values[::3] = real.tolist()[::3]
        values[1::3] = [str(value) for value in whole.tolist()[1::3]]
        return values

    frames: dict[str, tuple[str, object]] = {
        "int64": ("bins", whole),
        "float64": ("bins", real),
        "float32": ("bins", real.astype("float32")),
        "bool": ("truth", truth),
        "datetime64": ("days", days),
        "str": ("levels", pd.Series(words, dtype="str")),
        "category": ("levels", pd.Categorical(words)),
        "object of texts": ("levels", words),
        "object of bools": ("truth", truth.astype(object)),
        "object of mixed numbers": ("bins", np.array(mixed(), dtype=object)),
        "object of Timestamps": ("days", pd.Series(days).astype(object)),
        "text of numbers": ("bins", pd.Series(real).astype("str")),
    }
    found: dict[str, tuple[str, Callable[[], object]]] = {}
    for name, (schema, values) in frames.items():
        frame = pd.DataFrame({"c": values})
        found[f"pandas {name}"] = schema, lambda frame=frame: frame
    for name in ("int64", "float64", "bool", "str"):
        schema, values = frames[name]
        table = pl.from_pandas(pd.DataFrame({"c": values}))
        found[f"Polars {name}"] = schema, lambda table=table: table
    return found


def seconds(schema: Schema, frame: object, repeats: int) -> float:
    """Best wall time to read and code a data frame."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        Table(frame, schema)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print one line per column."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for schema, frame in columns(100).values():
        Table(frame(), SCHEMAS[schema])
    page = Page(title=f"Reading {options.rows:,} rows of one column")
    page.add_column("column")
    page.add_column("seconds", justify="right")
    for name, (schema, frame) in columns(options.rows).items():
        page.add_row(name, f"{seconds(SCHEMAS[schema], frame(), options.repeats):.3f}")
    Console().print(page)


if __name__ == "__main__":
    main()
