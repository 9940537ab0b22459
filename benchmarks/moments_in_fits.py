"""What second moments are worth to records: ``python benchmarks/moments_in_fits.py --data DIR``.

Automatic releases of known tables, (ε, 10⁻⁹), private rows: a quarter of the budget buys second
moments to answer questions. Records are drawn from the model of each release, and from the one that
the same tables would give without the moments. Means of total variation distances of tables of one,
two and three columns; ± is the standard error of the difference in the second, pair by pair.

    --runs K              releases of each case, 5 if it is not said
    --case TABLE:N:ε ...  other cases; N is the number of rows that are kept, 0 for all
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

import understudy as us
import yardstick
from known_tables import KnownTable, load
from understudy.evaluate.comparison import Comparison
from understudy.release.decoding import decode
from understudy.release.shape import Kind
from understudy.workflow.analyze import model_of

CASES = (
    "adult_coded:0:1",
    "nist_acs_national2019:0:1",
    "nist_acs_national2019:5000:1",
    "loans_coded:0:1",
)
SCORES = ("tv1", "tv2", "three_way")


def distances(table: KnownTable, release: us.Release, seed: int) -> list[float]:
    """Of records drawn from the model of a release."""
    model = model_of(release, 1)
    assert model is not None
    rng = np.random.default_rng(seed)
    drawn = model.sample(release.manifest.n_rows, rng)
    made = decode(drawn.states, release.schema, rng, drawn.values)
    comparison = Comparison.of(table.schema("public"), table.frame, [made])
    found = yardstick.distances(comparison, most_cells=table.design.most_cells)
    return [found[name] for name in SCORES]


def case(table: KnownTable, epsilon: str, runs: int) -> np.ndarray:
    """Distances with and without moments, shape (runs, 2, 3)."""
    found = []
    for seed in range(runs):
        release = us.synthesize(table.frame, table.schema("private"), epsilon=epsilon, delta="1e-9")
        kept = tuple(one for one in release.measurements if one.kind is not Kind.PRODUCTS)
        without = replace(release, measurements=kept)
        found.append([distances(table, one, seed) for one in (release, without)])
    return np.array(found)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--case", action="append")
    asked = parser.parse_args()
    for text in asked.case or CASES:
        name, rows, epsilon = text.split(":")
        table = load(Path(asked.data), name).part(int(rows))
        found = case(table, epsilon, asked.runs)
        error = np.std(found[:, 0, 1] - found[:, 1, 1], ddof=1) / np.sqrt(asked.runs)
        means = found.mean(axis=0)
        print(f"{text}: ± {error:.4f}")
        for way, row in zip(("with", "without"), means, strict=True):
            print(
                f"  {way:8} " + "  ".join(f"{n} {x:.4f}" for n, x in zip(SCORES, row, strict=True))
            )


if __name__ == "__main__":
    main()
