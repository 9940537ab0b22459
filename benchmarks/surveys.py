"""How near records of surveys come, and what keeps them away: ``python benchmarks/surveys.py``.

Made surveys of 5,000 rows, (1, 1e-9), a private number of rows. The first three kinds and `blocks`
are those of `columns_or_pairs.py`; the last two were made to judge what was chosen by the others.

* `few`: strong ties among six columns; `class`: three hidden classes; `weak`: one trait;
  `blocks`: strong ties within blocks of five columns;
* `likert`: items of four to seven ordered answers, unevenly used, that follow five traits;
* `skewed`: 50 columns of up to 20 levels, the k-th as frequent as 1/k to 1/k², each tied to the
  one before it or to none.

Of each kind an automatic release, and one that buys records alone. Shown are mean distances of all
tables of one and two columns from the rows, rank correlations kept and areas (`kept` and `foretold`
of `columns_or_pairs.py`), and processor seconds, of

* the release;
* records of the same model, had tables of one column no noise, tables of pairs none, or neither;
* noise of the released tables of one column alone: what it puts into tables of columns without any
  tie, by a formula (`floor`), in an endless number of records;
* the rows with each column shuffled, which nobody can release, and the product of their columns.

Means over `--runs` samples with fresh noise; ± is the standard error of the distance of pairs, and
in the last column that of its difference from shuffled rows.

    --kinds KIND …   others
    --runs K         4 if it is not said
    --brief          without what tables without noise would give
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

import columns_or_pairs
import understudy as us
from columns_or_pairs import OTHERS, PEOPLE, foretold, kept, shuffled_columns
from distance_floor import ALONE, exact_table
from made_population import levels
from understudy.data.table import Table
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.marginals import marginal_distances
from understudy.methods.noisy_marginals import fine_tables
from understudy.methods.registry import configure
from understudy.models.model import Model
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.workflow.analyze import _beside

ROWS = 5_000
COLUMNS = {"few": 35, "class": 35, "weak": 35, "blocks": 35, "likert": 35, "skewed": 50}
WAYS = {"automatic": {}, "records alone": {"method": "marginals", "budget": ALONE}}
WITHOUT_NOISE = {"columns exact": {1}, "pairs exact": {2, 3}, "both exact": {1, 2, 3}}
"""Line → orders of tables without noise."""
TRAITS, LOOSE = 5, 5

Codes = list[NDArray[np.integer]]


def population(kind: str) -> tuple[pl.DataFrame, Schema]:
    """All people of a kind, and their schema; the number of rows is private."""
    if kind not in ("likert", "skewed"):
        return columns_or_pairs.population(kind, COLUMNS[kind])
    rng = np.random.default_rng(COLUMNS[kind])
    columns, declared = {}, {}
    traits, trait = rng.normal(size=(PEOPLE, TRAITS)), rng.normal(size=PEOPLE)
    for j in range(COLUMNS[kind]):
        if kind == "likert":
            own = rng.uniform(0.5, 1.2) * traits[:, j % TRAITS] + rng.normal(size=PEOPLE)
            ordered = j < COLUMNS[kind] - LOOSE
            size = rng.choice([4, 5, 7]) if ordered else rng.integers(2, 9)
            edges = np.sort(rng.normal(rng.normal() / 2, 1.2, size=size - 1))
        else:
            tie, ordered = rng.choice([0, 0, 0.2, 0.6]), j % 2 == 0
            trait = tie * trait + math.sqrt(1 - tie**2) * rng.normal(size=PEOPLE)
            own, size = trait, rng.choice([2, 2, 3, 4, 6, 9, 14, 20])
            shares = 1 / np.arange(1, size + 1) ** rng.uniform(1, 2)
            edges = np.quantile(own, np.cumsum(shares / shares.sum())[:-1])
        states = np.searchsorted(edges, own)
        columns[f"c{j}"] = states if ordered else rng.permutation(size)[states]
        declared[f"c{j}"] = levels(*range(size), **({"kind": "ordinal"} if ordered else {}))
    schema = Schema.model_validate({"rows": "private", "columns": declared})
    return pl.DataFrame(columns), schema


def coded(schema: Schema, rows: pl.DataFrame) -> Codes:
    """Rows as states."""
    return [np.asarray(one) for one in Table(rows, schema).code_rows().expose()]


def distances(schema: Schema, rows: Codes, made: Codes) -> list[float]:
    """Mean distances of tables of one and of two columns."""
    comparison = Comparison(schema, rows, (made,))
    return [float(marginal_distances(comparison, k).values.mean()) for k in (1, 2)]


def model_without_noise(release: us.Release, rows: Codes, orders: set[int]) -> Model:
    """The model of a release, had tables of so many columns no noise."""
    schema, manifest = release.schema, release.manifest
    tables = [one.noisy(schema) for one in release.behind_sets if one.kind is Kind.TABLE]
    tables = [
        exact_table(schema, one, rows) if len(one.columns) in orders else one for one in tables
    ]
    method = configure(manifest.method, manifest.options)
    model = method.rebuilt(schema, tables, manifest.n_rows, _beside(release, 0, 1))
    assert model is not None
    return model


def floor(release: us.Release, rows: Codes) -> list[float]:
    """Expected distances of tables of one and two columns by noise in tables of one column alone.

    A share has a normal error of variance s² = (1 − 1/k)·σ²/n², as the number of records is known
    of all k states. A cell of two independent columns with shares p and q has p²·s'² + q²·s², and
    its absolute error is √(2/π) of the deviation.
    """
    found = fine_tables(
        [one.noisy(release.schema) for one in release.behind_sets if one.kind is Kind.TABLE]
    )
    n, shares, errors = len(rows[0]), [], []
    for states, table in zip(rows, found.values(), strict=True):
        size = table.counts.size
        shares.append(np.bincount(states, minlength=size) / n)
        errors.append((1 - 1 / size) * (table.stddev / n) ** 2)
    half = math.sqrt(2 / math.pi) / 2
    one = [half * len(p) * math.sqrt(e) for p, e in zip(shares, errors, strict=True)]
    two = [
        half * np.sqrt(errors[i] * shares[j][None] ** 2 + errors[j] * shares[i][:, None] ** 2).sum()
        for i, j in combinations(range(len(shares)), 2)
    ]
    return [float(np.mean(one)), float(np.mean(two))]


def product_distance(rows: Codes, schema: Schema) -> float:
    """Mean distance of tables of two columns from the product of their columns."""
    sizes, found = schema.sizes, []
    for i, j in combinations(range(len(rows)), 2):
        cells = rows[i].astype(np.int64) * sizes[j] + rows[j]
        table = np.bincount(cells, minlength=sizes[i] * sizes[j]).reshape(sizes[i], sizes[j])
        table = table / table.sum()
        found.append(np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / 2)
    return float(np.mean(found))


def measure(
    people: pl.DataFrame, schema: Schema, seed: int, *, brief: bool
) -> dict[str, list[float]]:
    """Line → distances, correlations kept, area and seconds of one sample."""
    drawn = people.sample(fraction=1, shuffle=True, seed=seed)
    rows, others = drawn[:ROWS], drawn[-OTHERS:]
    real, found = coded(schema, rows), {}
    nan = math.nan
    for way, how in WAYS.items():
        before = time.process_time()
        release = us.synthesize(
            rows,
            schema,
            epsilon=1,
            delta="1e-9",
            sets=1,
            frame="polars",
            insecure_noise_seed=seed,
            **how,
        )
        cost = time.process_time() - before
        made = release.tables[0]
        found[way] = [
            *distances(schema, real, coded(schema, made)),
            *(kept(schema, rows, made), foretold(rows, made, others), cost),
        ]
        for line, orders in {} if brief else WITHOUT_NOISE.items():
            model = model_without_noise(release, real, orders)
            states = model.sample(ROWS, np.random.default_rng(seed)).states
            own = [one.astype(real[0].dtype) for one in states]
            found[f"{way}, {line}"] = [*distances(schema, real, own), nan, nan, nan]
        found[f"{way}, noise of columns"] = [*floor(release, real), nan, nan, nan]
    shuffled = shuffled_columns(rows, seed)
    found["columns shuffled"] = [
        *distances(schema, real, coded(schema, shuffled)),
        *(kept(schema, rows, shuffled), foretold(rows, shuffled, others), nan),
    ]
    found["product of columns"] = [0.0, product_distance(real, schema), nan, nan, nan]
    return found


def main() -> None:
    """Print the kinds of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=[*COLUMNS])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--brief", action="store_true")
    asked = parser.parse_args()
    print(f"{'':41} one-way  two-way      ±  kept  area  seconds  beyond shuffled")
    for kind in asked.kinds:
        people, schema = population(kind)
        runs = [measure(people, schema, seed, brief=asked.brief) for seed in range(asked.runs)]
        each = {line: np.array([one[line] for one in runs]) for line in runs[0]}
        for line, values in each.items():
            one, two, strong, area, cost = values.mean(axis=0)
            gaps = values[:, 1] - each["columns shuffled"][:, 1]
            errors = [
                x.std(ddof=1) / math.sqrt(len(x)) if len(x) > 1 else math.nan
                for x in (values[:, 1], gaps)
            ]
            print(
                f"{kind:7} {line:34}  {one:.4f}   {two:.4f}  {errors[0]:.4f}  {strong:4.2f}  "
                f"{area:.3f}  {cost:5.1f}    {gaps.mean():+.4f} ± {errors[1]:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
