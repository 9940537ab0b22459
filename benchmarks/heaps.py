"""Heaped numbers, with and without declared heaps: ``python benchmarks/heaps.py``.

Made tables from fixed seeds: incomes of which 64 % are told in thousands and more in hundreds, ages
in tens and fives, hours of work with heaps at tens and fives, prices that end in .00 or .99, and a
column without any heap. Each is released beside one trait, with heaps declared and without.

Shown are means over releases: the share of numbers on the first heap in rows and release; the error
of mean and standard deviation, in parts of the standard deviation of the rows; the largest error of
a decile, as a difference of ranks in the rows; the total variation distance of the trait crossed
with the declared bins; and how much of the numbers' distribution function differs (Kolmogorov).
"""

import argparse

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import understudy as us
from understudy.schema import Schema

COLUMNS = {
    "income": (
        "kind='integer'\nlower=0\nupper=500000\n"
        "bins=[0,10000,20000,30000,50000,75000,100000,200000,500000]",
        "[1000, 500, 100]",
    ),
    "age": ("kind='integer'\nlower=0\nupper=110\nbins=11", "[10, 5]"),
    "hours": ("kind='integer'\nlower=0\nupper=100\nbins=10", "[10, 5]"),
    "price": (
        "kind='continuous'\nlower=0\nupper=500\ndecimals=2\nbins=[0,5,10,20,50,100,500]",
        "[1, { every = 1, at = 0.99 }]",
    ),
    "smooth": ("kind='integer'\nlower=0\nupper=99999\nbins=10", "[1000, 100]"),
}


def rounded(latent, rng, ways):
    """Numbers of which parts are rounded to multiples; the rest to whole ones."""
    way, found = rng.random(len(latent)), np.round(latent)
    start = 0.0
    for share, step in ways:
        own = (way >= start) & (way < start + share)
        found[own] = np.round(latent[own] / step) * step
        start += share
    return found


def rows(name, n, seed):
    """One made table."""
    rng = np.random.default_rng(seed)
    trait = rng.random(n) < 0.4
    if name == "income":
        latent = np.clip(rng.lognormal(10 + 0.4 * trait, 0.7, n), 0, 499_000)
        numbers = rounded(latent, rng, [(0.64, 1000), (0.08, 500), (0.12, 100)])
    elif name == "age":
        numbers = rounded(rng.uniform(1, 95, n) - 5 * trait, rng, [(0.2, 10), (0.15, 5)])
    elif name == "hours":
        hours = np.where(rng.random(n) < 0.4, 40, rng.normal(33, 12, n) - 4 * trait)
        numbers = rounded(np.clip(hours, 0, 100), rng, [(0.3, 5), (0.2, 10)])
    elif name == "price":
        latent, way = rng.lognormal(2.5 + 0.3 * trait, 0.8, n), rng.random(n)
        numbers = np.where(way < 0.35, np.floor(latent) + 0.99, latent.round(2))
        numbers = np.where(way > 0.7, np.ceil(latent), numbers)
    else:
        numbers = np.clip(rng.normal(40_000 + 8_000 * trait, 15_000, n), 0, 99_999).round()
    kind = float if name == "price" else int
    low, high = (0, 500) if name == "price" else (0, 10**6)
    return pl.DataFrame({"x": np.clip(numbers, low, high).astype(kind), "trait": trait})


def schema_of(name, heaps):
    """What is public about it."""
    text, declared = COLUMNS[name]
    return Schema.loads(
        f"[columns.x]\n{text}\n{f'heaps = {declared}' * heaps}\nsource='made'\nreviewed=true\n"
        "[columns.trait]\nkind='boolean'\nsource='made'\nreviewed=true\n"
    )


def measures(theirs, mine, column):
    """What the docstring names, of one release."""
    truth, found = (np.asarray(one["x"], dtype=float) for one in (theirs, mine))
    on = [np.mean(column.roundings.classes(one) == 0) for one in (truth, found)]
    sd = truth.std()
    deciles = np.quantile(found, np.arange(1, 10) / 10)
    below, upto = (
        (np.searchsorted(np.sort(truth), deciles, side) / len(truth)) for side in ("left", "right")
    )
    aims = np.arange(1, 10) / 10
    ranks = np.maximum(np.maximum(below - aims, aims - upto), 0).max()
    edges = np.array([one.low for one in column.intervals])
    cells = [
        np.bincount(
            (np.searchsorted(edges, x, "right") - 1) * 2 + np.asarray(one["trait"], dtype=int),
            minlength=2 * len(edges),
        )
        / len(x)
        for one, x in ((theirs, truth), (mine, found))
    ]
    grid = np.unique(np.concatenate([truth, found]))
    steps = [np.searchsorted(np.sort(x), grid, "right") / len(x) for x in (truth, found)]
    return [
        *on, abs(found.mean() - truth.mean()) / sd, abs(found.std() - sd) / sd, ranks,
        np.abs(cells[0] - cells[1]).sum() / 2, np.abs(steps[0] - steps[1]).max(),
    ]  # fmt: skip


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=5_000)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=["marginals", "mst"])
    asked = parser.parse_args()
    heads = [
        "method",
        "column",
        "heaps",
        "rows on heap",
        "released",
        "mean",
        "sd",
        "decile",
        "tv",
        "KS",
    ]
    table = Table(title=f"{asked.n} rows, (1, 10⁻⁶), means over {asked.releases} releases")
    for head in heads:
        table.add_column(head)
    for method in asked.methods:
        for name in COLUMNS:
            for heaps in (False, True):
                found = []
                for seed in range(asked.releases):
                    table_of_rows = rows(name, asked.n, seed)
                    made = us.synthesize(
                        table_of_rows, schema_of(name, heaps), method=method, epsilon=1,
                        delta="1e-6",
                    )  # fmt: skip
                    column = schema_of(name, heaps=True).columns["x"]
                    found.append(measures(table_of_rows, made.tables[0], column))
                values = [f"{value:.3f}" for value in np.mean(found, axis=0)]
                table.add_row(method, name, "declared" if heaps else "", *values)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
