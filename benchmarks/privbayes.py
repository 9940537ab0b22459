"""PrivBayes on a table as large as coded Adult, and the kernels behind it.

    python benchmarks/privbayes.py [--rows 48842] [--degree 2]

Prints the seconds of a release at ε = 1 with each score (reading and coding the rows included; the
first line compiles, where no cache is there yet), the memory at its peak, the mean distance of all
two-way tables by θ, and records drawn per second from the network. The rows are made up: 14 columns
of 2 to 100 states, each tied to one before it.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import understudy as us
from made_up import made_up
from understudy.models.bayesian_network import BayesianNetwork, Conditional
from understudy.schema import Domain

THETAS = (2, 4, 8, 16)
SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)


def releases(n_rows: int, degree: int) -> Table:
    """A release with each score."""
    frame, schema = made_up(n_rows, SIZES)
    table = Table("options", "seconds", "peak memory, MB")
    for options in ({"degree": degree}, {"degree": degree, "score": "mi"}, {}):
        start = time.perf_counter()
        us.synthesize(frame, schema, epsilon=1, method="privbayes", options=options)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        table.add_row(str(options or "defaults"), f"{seconds:.2f}", f"{peak:.0f}")
    return table


def errors(n_rows: int) -> Table:
    """Mean total variation distance of all two-way tables, over three releases each, by θ."""
    frame, schema = made_up(n_rows, SIZES)
    table = Table("ε", *(f"θ = {theta}" for theta in THETAS), "independent")
    for epsilon in (0.3, 1, 3):
        ways = [("privbayes", {"theta": theta}) for theta in THETAS]
        found = [
            np.mean([distance(frame, released(frame, schema, epsilon, *way)) for _ in range(3)])
            for way in (*ways, ("independent", {}))
        ]
        table.add_row(str(epsilon), *(f"{one:.3f}" for one in found))
    return table


def released(
    frame: pl.DataFrame, schema: us.Schema, epsilon: float, method: str, options: dict[str, int]
) -> pl.DataFrame:
    """One synthetic table."""
    release = us.synthesize(frame, schema, epsilon=epsilon, method=method, options=options)
    return release.tables[0]


def distance(one: pl.DataFrame, other: pl.DataFrame) -> float:
    """Mean over all pairs of columns of half the L1 distance of their shares."""
    found = []
    for j in range(len(SIZES)):
        for k in range(j):
            shares = [
                np.bincount(
                    table[f"x{j}"].to_numpy() * SIZES[k] + table[f"x{k}"].to_numpy(),
                    minlength=SIZES[j] * SIZES[k],
                )
                / table.height
                for table in (one, other)
            ]
            found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def records_per_second(n_rows: int) -> float:
    """Of a network in which each column has two parents."""
    rng = np.random.default_rng(1)
    found = []
    for j, size in enumerate(SIZES):
        parents = tuple(sorted(rng.permutation(j)[:2].tolist()))
        rows = int(np.prod([SIZES[k] for k in parents], dtype=np.int64))
        found.append(Conditional(j, parents, rng.dirichlet(np.full(size, 0.1), size=rows)))
    network = BayesianNetwork(Domain(SIZES), tuple(found))
    network.sample(1_000, rng)
    start = time.perf_counter()
    network.sample(n_rows, rng)
    return n_rows / (time.perf_counter() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=48_842)
    parser.add_argument("--degree", type=int, default=2)
    arguments = parser.parse_args()
    console = Console()
    console.print(releases(arguments.rows, arguments.degree))
    console.print(errors(arguments.rows))
    console.print(f"{records_per_second(10**6):,.0f} records of {len(SIZES)} columns a second")


if __name__ == "__main__":
    main()
