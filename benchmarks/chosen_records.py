"""What it gives to choose records among many: ``python benchmarks/chosen_records.py --data DIR``.

Releases of known tables by `marginals`, (ε, 10⁻⁹), private rows. From the model of each, records
are drawn once as they come, and once chosen among two to eight times as many
(`graphical.sampling`). Means of total variation distances of tables of one, two and
three columns and within small groups, and processor seconds of a draw; ± is the standard error of
the difference in the second, pair by pair.

    --runs K              releases of each case, 5 if it is not said
    --case TABLE:N:ε ...  other cases; N is the number of rows that are kept, 0 for all
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

import understudy as us
import yardstick
from known_tables import KnownTable, load
from understudy.evaluate.comparison import Comparison
from understudy.graphical import compression
from understudy.release.decoding import decode
from understudy.workflow.analyze import model_of

CASES = (
    *("adult_coded:0:1", "adult_coded:5000:1", "adult_coded:0:10", "nist_acs_national2019:0:1"),
    *("nist_acs_national2019:5000:1", "hospital_diabetes130:5000:1", "loans_coded:5000:1"),
)
SCORES = ("tv1", "tv2", "three_way", "group_distance")


def scores(table: KnownTable, release: us.Release, seed: int) -> list[float]:
    """Of records drawn from the model of a release, and what drawing them cost."""
    model = model_of(release, 1)
    assert model is not None
    rng, before = np.random.default_rng(seed), time.process_time()
    drawn = model.sample(release.manifest.n_rows, rng)
    cost = time.process_time() - before
    made = decode(drawn.states, release.schema, rng, drawn.values)
    comparison = Comparison.of(table.schema("public"), table.frame, [made])
    found = yardstick.distances(comparison, most_cells=table.design.most_cells)
    found |= yardstick.kept(comparison, table.frame, made)
    return [*(found[name] for name in SCORES), cost]


def case(table: KnownTable, epsilon: str, runs: int) -> np.ndarray:
    """Scores of records as they come, and of chosen ones; shape (runs, 2, 5)."""
    found = []
    asked = {"epsilon": epsilon, "delta": "1e-9", "method": "marginals"}
    for seed in range(runs):
        release = us.synthesize(table.frame, table.schema("private"), **asked)
        with patch.object(compression, "times_drawn", lambda n_rows, columns: 1):
            once = scores(table, release, seed)
        found.append([once, scores(table, release, seed)])
    return np.array(found)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--case", nargs="+", default=CASES)
    asked = parser.parse_args()
    for text in asked.case:
        name, rows, epsilon = text.split(":")
        table = load(asked.data, name).part(int(rows))
        found = case(table, epsilon, asked.runs)
        error = np.std(found[:, 0, 1] - found[:, 1, 1], ddof=1) / np.sqrt(asked.runs)
        print(f"{text}: ± {error:.4f}")
        for way, row in zip(("as they come", "chosen"), found.mean(axis=0), strict=True):
            told = "  ".join(f"{n} {x:.4f}" for n, x in zip((*SCORES, "cpu"), row, strict=True))
            print(f"  {way:13} {told}", flush=True)


if __name__ == "__main__":
    main()
