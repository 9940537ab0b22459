"""What second moments are worth to records: ``python benchmarks/moments_in_fits.py --data DIR``.

Automatic releases of known tables, (ε, 10⁻⁹), private rows: a quarter of the budget buys second
moments to answer questions. Records are drawn from the model of each release; from the same model
without what moments tell of pairs that no table holds (`graphical.pairs_beyond`); and from the one
that the same tables would give without the moments. Means of total variation distances of tables of
one, two and three columns, and processor seconds of a draw; ± are the standard errors of the first
difference and of the second, in tables of two, pair by pair.

    --runs K              releases of each case, 3 if it is not said
    --case TABLE:N:ε ...  other cases; N is the number of rows that are kept, 0 for all
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import understudy as us
import yardstick
from known_tables import KnownTable, load
from understudy.evaluate.comparison import Comparison
from understudy.graphical.compression import MarginalModel
from understudy.release.decoding import decode
from understudy.release.shape import Kind
from understudy.workflow.analyze import model_of

CASES = (
    "hospital_diabetes130:0:1",
    "adult_coded:0:1",
    "nist_acs_national2019:0:1",
    "nist_acs_national2019:5000:1",
    "loans_coded:0:1",
)
SCORES = ("tv1", "tv2", "three_way")
WAYS = ("with", "in tables alone", "without")


def distances(
    table: KnownTable, release: us.Release, seed: int, *, beyond: bool = True
) -> list[float]:
    """Of records drawn from the model of a release, and what drawing them cost."""
    model = model_of(release, 1)
    assert isinstance(model, MarginalModel)
    rng, before = np.random.default_rng(seed), time.process_time()
    drawn = (model if beyond else replace(model, beyond=None)).sample(release.manifest.n_rows, rng)
    cost = time.process_time() - before
    made = decode(drawn.states, release.schema, rng, drawn.values)
    comparison = Comparison.of(table.schema("public"), table.frame, [made])
    found = yardstick.distances(comparison, most_cells=table.design.most_cells)
    return [*(found[name] for name in SCORES), cost]


def case(table: KnownTable, epsilon: str, runs: int) -> np.ndarray:
    """Distances and cost of each way, shape (runs, 3, 4)."""
    found = []
    for seed in range(runs):
        release = us.synthesize(table.frame, table.schema("private"), epsilon=epsilon, delta="1e-9")
        kept = tuple(one for one in release.measurements if one.kind is not Kind.PRODUCTS)
        without = replace(release, measurements=kept)
        alone = distances(table, release, seed, beyond=False)
        found.append([distances(table, release, seed), alone, distances(table, without, seed)])
    return np.array(found)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", action="append")
    asked = parser.parse_args()
    for text in asked.case or CASES:
        name, rows, epsilon = text.split(":")
        table = load(Path(asked.data), name).part(int(rows))
        found = case(table, epsilon, asked.runs)
        steps = np.diff(found[:, :, 1], axis=1)
        errors = np.std(steps, axis=0, ddof=1) / np.sqrt(asked.runs)
        print(f"{text}: " + ", ".join(f"± {error:.4f}" for error in errors))
        for way, row in zip(WAYS, found.mean(axis=0), strict=True):
            told = "  ".join(f"{n} {x:.4f}" for n, x in zip((*SCORES, "cpu"), row, strict=True))
            print(f"  {way:15} {told}", flush=True)


if __name__ == "__main__":
    main()
