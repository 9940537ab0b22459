"""A column of 2,000 codes, with and without its public hierarchy: how far releases are off.

    python benchmarks/level_branches.py

Codes are made up: 20 chapters of 10 groups of 10 codes each, their shares drawn from Dirichlet
distributions, so that most codes are rare. Of three other columns one depends on the chapter, one
on the group, and one on nothing. Each number is a distance in total variation between the rows and
a release of ε = 1, δ = 10⁻⁶, mean of three.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import understudy as us

ROWS = (5_000, 50_000)
METHODS = ("auto", "mst")
MEASURES = {
    "codes": (3, None),
    "groups": (2, None),
    "chapters": (1, None),
    "chapter × y": (1, "y"),
    "group × z": (2, "z"),
    "group × y": (2, "y"),
}
COLUMNS = """
row_limit = 1_000_000
[columns.code]
kind = "categorical"
levels = [{levels}]
{hierarchy}
reviewed = true
[columns.y]
kind = "categorical"
levels = [0, 1, 2, 3]
reviewed = true
[columns.z]
kind = "boolean"
reviewed = true
[columns.w]
kind = "categorical"
levels = [0, 1, 2]
reviewed = true
"""
CHAPTER, GROUP = np.repeat(np.arange(20), 100), np.repeat(np.arange(200), 10)
CODES = [f"{chr(65 + k // 100)}{k // 10 % 10}{k % 10}" for k in range(2_000)]


def made_rows(n_rows: int) -> pl.DataFrame:
    """The rows."""
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(20, 1.0))[CHAPTER]
    shares = shares * np.concatenate([rng.dirichlet(np.full(10, 0.5)) for _ in range(20)])[GROUP]
    shares *= np.concatenate([rng.dirichlet(np.full(10, 0.3)) for _ in range(200)])
    code = rng.choice(2_000, n_rows, p=shares / shares.sum())
    of_chapter = rng.dirichlet(np.full(4, 0.5), 20).cumsum(axis=1)
    y = (rng.random(n_rows)[:, None] > of_chapter[CHAPTER[code]]).sum(axis=1).clip(max=3)
    z = rng.random(n_rows) < rng.beta(0.5, 0.5, 200)[GROUP[code]]
    w = rng.integers(0, 3, n_rows)
    return pl.DataFrame({"code": np.array(CODES)[code], "y": y, "z": z, "w": w})


def distance(rows: pl.DataFrame, table: pl.DataFrame, length: int, other: str | None) -> float:
    """Total variation between two tables in the beginnings of codes, or these and a column."""
    key = pl.col("code").cast(pl.String).str.head(length)
    if other:
        key += pl.lit("/") + pl.col(other).cast(pl.String).str.head(1)
    shares = [
        one.select(key=key).group_by("key").agg(pl.len() / one.height) for one in (rows, table)
    ]
    both = shares[0].join(shares[1], on="key", how="full", coalesce=True).fill_null(0.0)
    return float((both["len"] - both["len_right"]).abs().sum() / 2)


def measured(n_rows: int, method: str, hierarchy: str) -> list[float]:
    """All distances, mean of three releases."""
    levels = ", ".join(f'"{code}"' for code in CODES)
    schema = us.Schema.loads(COLUMNS.format(levels=levels, hierarchy=hierarchy))
    rows, found = made_rows(n_rows), []
    for seed in (1, 2, 3):
        told = {"epsilon": 1, "delta": 1e-6, "method": method, "insecure_noise_seed": seed}
        table = us.synthesize(rows, schema, **told).tables[0]
        found.append([distance(rows, table, *how) for how in MEASURES.values()])
    return [float(mean) for mean in np.mean(found, axis=0)]


def main() -> None:
    """Measure and print."""
    table = Table("method", "rows", "hierarchy", *MEASURES)
    for method in METHODS:
        for n_rows in ROWS:
            for hierarchy in ("", "hierarchy = { prefix = [1, 2] }"):
                numbers = measured(n_rows, method, hierarchy)
                shown = (f"{number:.3f}" for number in numbers)
                table.add_row(method, f"{n_rows:,}", "yes" if hierarchy else "no", *shown)
    Console().print(table)


if __name__ == "__main__":
    main()
