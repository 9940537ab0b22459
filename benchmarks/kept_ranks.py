"""Whether ranks that go together still do: ``python benchmarks/kept_ranks.py [--data DIR]``.

Samples of a made survey of 35 columns (24 items of five levels that four traits lie behind, age,
skewed and rounded income, hours, a body-mass index, truth values, sex, region; 3 % absent), of
fifteen columns of which four pairs go together by themselves (correlations of .3 to .6), and of
known tables in the folder DIR. Releases by `marginals` with (ε, 10⁻⁶) and private rows, with
`ranks_share=0` and as it is. Means over releases with fresh noise: the share of rank correlations
beyond ± .2 that are kept within .1, the mean difference of rank correlations, total variation
distances of tables of two and three columns and within small groups, processor seconds; ± is the
standard error of the one before it.

    --runs K              releases of each case, 6 if it is not said
    --case TABLE:N:ε ...  other cases; `survey` and `pairs` are the made ones
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

import understudy as us
import yardstick
from known_tables import load
from made_population import Population, absent, levels, number, truth_value
from understudy.evaluate.comparison import Comparison

CASES = (
    *("survey:5000:1", "survey:5000:0.5", "survey:5000:0.2", "survey:50000:1"),
    "pairs:4000:0.7",
    *("nist_acs_national2019:5000:1", "adult_coded:5000:1", "hospital_diabetes130:5000:1"),
    *("loans_coded:5000:1", "adult_coded:48842:1"),
)
SCORES = (
    *("correlations_kept", "correlation_difference", "tv2", "three_way", "group_distance", "cpu"),
)
MOST_CELLS = 60_000


def survey(n: int, seed: int = 11) -> Population:
    """People of four traits, and what they answered."""
    rng = np.random.default_rng(seed)
    age = np.rint(18 + 72 * rng.beta(1.6, 2, n)).astype(int)
    traits = rng.normal(size=(n, 4))
    traits[:, 1] += 0.4 * traits[:, 0]
    traits[:, 3] -= 0.3 * traits[:, 0]
    traits[:, 0] += 0.02 * (age - 48)
    people: dict[str, Any] = {}
    columns: dict[str, Any] = {}

    def put(name: str, values: Any, column: Any, missing: float = 0.03) -> None:
        gone = rng.random(n) < missing
        people[name] = absent(np.asarray(values, dtype=float), gone) if missing else values
        columns[name] = column

    cuts = norm.ppf(np.cumsum([0.1, 0.2, 0.25, 0.28]))
    for j in range(24):
        loading = rng.uniform(0.4, 0.8) * (1 if rng.random() > 0.3 else -1)
        felt = loading * traits[:, j % 4] + np.sqrt(1 - loading**2) * rng.normal(size=n)
        said = np.searchsorted(cuts + 0.3 * rng.normal(), felt) + 1
        put(f"q{j}", said, levels(1, 2, 3, 4, 5, kind="ordinal", missing=[""]))
    earned = np.exp(7.6 + 0.35 * traits[:, 1] + 0.6 * rng.normal(size=n))
    rounded = np.where(rng.random(n) < 0.6, 500 * np.rint(earned / 500), np.rint(earned))
    works = rng.random(n) < norm.cdf(0.9 - 0.03 * np.abs(age - 42))
    usual = np.where(rng.random(n) < 0.5, 40, np.rint(34 + 10 * rng.normal(size=n)))
    mass = 26 + 4.5 * rng.normal(size=n) + 0.1 * (age - 48) - 1.5 * traits[:, 3]
    put("age", age, number(18, 90), 0)
    put("income", rounded.clip(0, 30_000), number(0, 30_000, missing=[""]))
    put("hours", np.where(works, usual.clip(1, 80), 0), number(0, 80, missing=[""]))
    put("bmi", mass.clip(14, 60).round(1), number(14, 60, kind="continuous", missing=[""]))
    for j in range(5):
        leaning = 0.4 * traits[:, j % 4] + rng.normal(size=n) > 0.5 * rng.normal()
        put(f"b{j}", leaning, truth_value(), 0)
    put("sex", rng.choice(["f", "m"], n), levels("f", "m"), 0)
    put("region", rng.choice(list("abcdefgh"), n), levels(*"abcdefgh"), 0)
    whole = pl.DataFrame(people).with_columns(pl.col("^q.*|income|hours$").cast(pl.Int64))
    return Population(whole, {"columns": columns})


def pairs(n: int, seed: int = 3) -> Population:
    """Answers and scores, of which few go together, each with one other."""
    rng = np.random.default_rng(seed)
    traits = rng.normal(size=(n, 15))
    for k, r in enumerate((0.3, 0.4, 0.5, 0.6)):
        traits[:, 2 * k + 1] = r * traits[:, 2 * k] + np.sqrt(1 - r * r) * traits[:, 2 * k + 1]
    people: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    cuts = norm.ppf([0.1, 0.3, 0.6, 0.85])
    for j, trait in enumerate(traits.T):
        score = np.clip(np.rint(50 + 15 * trait), 0, 100).astype(int)
        people[f"c{j}"] = score if j % 4 == 1 else np.searchsorted(cuts, trait) + 1
        likert = levels(1, 2, 3, 4, 5, kind="ordinal")
        columns[f"c{j}"] = number(0, 100) if j % 4 == 1 else likert
    return Population(pl.DataFrame(people), {"columns": columns})


MADE = {"survey": survey, "pairs": pairs}


def opened(name: str, n: int, folder: Path | None) -> tuple[pl.DataFrame, Any, int]:
    """Rows, what gives their schema, and the most cells of a table that is scored."""
    if name in MADE:
        people = MADE[name](n)
        return people.people, lambda rows: people.schema(rows, n), MOST_CELLS
    assert folder is not None
    table = load(folder, name).part(n)
    return table.frame, table.schema, table.design.most_cells


def scores(case: tuple[pl.DataFrame, Any, int], epsilon: str, options: dict[str, Any]) -> Any:
    """Of one release."""
    frame, schema, most = case
    before = time.process_time()
    release = us.synthesize(
        frame,
        schema("private"),
        epsilon=epsilon,
        delta="1e-6",
        method="marginals",
        options=options,
    )
    found = {"cpu": time.process_time() - before}
    (made,) = release.tables
    comparison = Comparison.of(schema("public"), frame, [made])
    found |= yardstick.distances(comparison, most_cells=most)
    found |= yardstick.kept(comparison, frame, made)
    return [found.get(name, np.nan) for name in SCORES]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--case", nargs="+", default=CASES)
    asked = parser.parse_args()
    for text in asked.case:
        name, n, epsilon = text.split(":")
        if name not in MADE and asked.data is None:
            continue
        case = opened(name, int(n), asked.data)
        for way in ({"ranks_share": 0}, {}):
            runs = np.array([scores(case, epsilon, way) for _ in range(asked.runs)])
            error = runs.std(axis=0, ddof=1) / np.sqrt(asked.runs)
            told = (
                f"{n} {x:.4f} ± {e:.4f}"
                for n, x, e in zip(SCORES, runs.mean(axis=0), error, strict=True)
            )
            print(f"{text:28} {'without' if way else 'with':8}", "  ".join(told), flush=True)


if __name__ == "__main__":
    main()
