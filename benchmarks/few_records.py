"""How close releases of few records come: ``python benchmarks/few_records.py --data DIR``.

A sample of each known table is released with (ε, 10⁻⁹) and private rows by `marginals` as it is, by
the same with tables of three columns and short first rounds (its way with many records), by `mst`
and by `independent`. Means over releases with fresh noise of the total variation distances of
tables of one, two and three columns; ± is the standard error of the second.

    --runs K              releases of each case, 10 if it is not said
    --case TABLE:N:ε ...  other cases
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
import yardstick
from known_tables import KnownTable, load
from understudy.evaluate.comparison import Comparison

CASES = (
    "nist_acs_national2019:500:1",
    "nist_acs_national2019:5000:0.1",
    "nist_acs_national2019:5000:1",
    "adult_coded:5000:1",
    "hospital_diabetes130:5000:1",
    "loans_coded:5000:1",
)
LONG: dict[str, Any] = {"degree": 3, "rounds_per_column": 4}
WAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("marginals", {}),
    ("marginals", LONG),
    ("mst", {}),
    ("independent", {}),
)
SCORES = ("tv1", "tv2", "three_way")


def scores(table: KnownTable, epsilon: str, method: str, options: dict[str, Any]) -> list[float]:
    """Distances of one release; 1 where it has no records at all."""
    release = us.synthesize(
        table.frame,
        table.schema("private"),
        epsilon=epsilon,
        delta="1e-9",
        method=method,
        options=options,
    )
    if release.tables[0].is_empty():
        return [1.0] * len(SCORES)
    comparison = Comparison.of(table.schema("public"), table.frame, [release.tables[0]])
    found = yardstick.distances(comparison, most_cells=table.design.most_cells)
    return [found[name] for name in SCORES]


def main() -> None:
    """Run the cases of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--case", nargs="+", default=CASES)
    asked = parser.parse_args()
    print(f"{'case':32} {'way':28} {'one':>7} {'two':>7} {'±':>7} {'three':>7}")
    for case in asked.case:
        name, n, epsilon = case.split(":")
        table = load(asked.data, name).part(int(n))
        for method, options in WAYS:
            runs = [scores(table, epsilon, method, options) for _ in range(asked.runs)]
            one, two, three = np.mean(runs, axis=0)
            error = np.std(runs, axis=0)[1] / np.sqrt(asked.runs)
            way = f"{method}{', triples' if options else ''}"
            print(f"{case:32} {way:28} {one:7.4f} {two:7.4f} {error:7.4f} {three:7.4f}", flush=True)


if __name__ == "__main__":
    main()
