"""Tables of columns in place of more pairs: ``python benchmarks/columns_or_pairs.py``.

Coded populations of `d` columns with 2 to 12 states, some in order. Their ties are

* `weak`: one trait that all columns follow a little;
* `class`: three hidden classes;
* `few`: strong among six columns, the others are independent;
* `blocks`: strong within blocks of five columns;
* `strong`: one trait that all follow closely.

With `--data DIR` also known tables (`known_tables.py`), all of their rows. A sample of each is
released by `marginals`, once with rounds that give way to tables of all columns where these save
more (`methods/two_way_risk.py`) and once with rounds to the end; paired samples and seeds. Shown
are means, beside those of the sample with each column shuffled, which are exact columns without
any tie, and differences of the two with standard errors, of

* the two-way distance and the three-way distance;
* the share of rank correlations beyond ± .2 that are kept within .1;
* the mean area under the curve with which a linear model of the records foretells halves of every
  fifth column, of other people.

    --cases KIND:D:N …   other ones
    --runs K             samples of each, 3 if it is not said
    --usual              an automatic release, which buys answers too
"""

from __future__ import annotations

import argparse
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

import understudy as us
from known_tables import load
from made_population import levels
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.marginals import marginal_distances
from understudy.methods import two_way_risk
from understudy.schema import Schema, is_ordered

PEOPLE, OTHERS = 60_000, 5_000
SIZES = (2, 2, 2, 3, 3, 4, 5, 5, 6, 8, 10, 12)
CASES = tuple(f"{kind}:35:5000" for kind in ("weak", "class", "few", "blocks", "strong"))
STRONG, WITHIN = 0.2, 0.1
Figures = NDArray[np.floating]


def population(kind: str, d: int) -> tuple[pl.DataFrame, Schema]:
    """All people of a kind, and their schema; the number of rows is private."""
    rng = np.random.default_rng(d)
    sizes, own = rng.choice(SIZES, size=d), rng.normal(size=(PEOPLE, d))
    if kind == "weak":
        own += rng.normal(size=(PEOPLE, 1)) * rng.uniform(0.2, 0.5, size=d)
    elif kind == "class":
        classes = rng.choice(3, p=[0.5, 0.3, 0.2], size=PEOPLE)
        own += (rng.normal(size=(3, d)) / 2)[classes]
    elif kind == "few":
        own[:, :6] += 1.5 * rng.normal(size=(PEOPLE, 1))
    elif kind == "blocks":
        blocks = max(2, d // 5)
        own += 1.2 * rng.normal(size=(PEOPLE, blocks))[:, np.arange(d) % blocks]
    else:
        signs = rng.choice([-1, 1], size=d)
        own += rng.normal(size=(PEOPLE, 1)) * rng.uniform(0.8, 2, size=d) * signs
    columns, declared = {}, {}
    for j, size in enumerate(sizes):
        ends = np.cumsum(rng.dirichlet(np.full(size, 3.0)))[:-1]
        states = np.searchsorted(np.quantile(own[:, j], ends), own[:, j])
        columns[f"c{j}"] = states if j % 3 else rng.permutation(size)[states]
        declared[f"c{j}"] = levels(*range(size), **({"kind": "ordinal"} if j % 3 else {}))
    schema = Schema.model_validate({"rows": "private", "columns": declared})
    return pl.DataFrame(columns), schema


def kept(schema: Schema, rows: pl.DataFrame, made: pl.DataFrame) -> float:
    """Part of the strong rank correlations of ordered columns that the records keep."""
    names = [name for name, column in schema.columns.items() if is_ordered(column)]
    with np.errstate(invalid="ignore", divide="ignore"):
        one, other = (
            np.nan_to_num(np.corrcoef([rankdata(t[name].cast(pl.Float64)) for name in names]))
            for t in (rows, made)
        )
    pairs = [pair for pair in combinations(range(len(names)), 2) if abs(one[pair]) > STRONG]
    return float(np.mean([abs(one[p] - other[p]) <= WITHIN for p in pairs])) if pairs else math.nan


def foretold(rows: pl.DataFrame, made: pl.DataFrame, others: pl.DataFrame) -> float:
    """Mean area under the curve of linear models of the records, for other people."""
    known = {name: rows[name].cast(pl.String).unique().sort().to_list() for name in rows.columns}
    hot = [
        {
            name: np.stack([(t[name].cast(pl.String) == one).to_numpy() for one in states], 1)
            for name, states in known.items()
        }
        for t in (made, others)
    ]
    areas = []
    for name in rows.columns[::5]:
        half = 1 + len(known[name]) // 2
        event, truth = (one[name][:, half - 1 :].any(axis=1) for one in hot)
        if len({*event}) < 2 or len({*truth}) < 2:
            areas.append(0.5)
            continue
        told, asked = (
            np.hstack([states for other, states in one.items() if other != name]).astype(float)
            for one in hot
        )
        mean = told.mean(axis=0)
        told -= mean
        ridge = len(told) / 100 * np.eye(told.shape[1])
        slopes = np.linalg.solve(told.T @ told + ridge, told.T @ (event - event.mean()))
        areas.append(roc_auc_score(truth, (asked - mean) @ slopes))
    return float(np.mean(areas))


def measure(
    rows: pl.DataFrame,
    others: pl.DataFrame,
    schema: Schema,
    seed: int,
    *,
    gives_way: bool,
    usual: bool,
) -> Figures:
    """Two-way and three-way distance, correlations kept, area."""
    two_way_risk.PAIR_WORTH = 2.0 if gives_way else math.inf
    how = {} if usual else {"method": "marginals", "budget": {"answers": 0, "lines": 0}}
    release = us.synthesize(
        rows,
        schema,
        epsilon=1,
        delta=1e-9,
        sets=1,
        frame="polars",
        insecure_noise_seed=seed,
        **how,
    )
    return figures(schema, rows, release.tables[0], others)


def shuffled_columns(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The same columns, none tied to another."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame([column.gather(rng.permutation(len(column))) for column in rows])


def figures(
    schema: Schema, rows: pl.DataFrame, made: pl.DataFrame, others: pl.DataFrame
) -> Figures:
    """Two-way and three-way distance, correlations kept, area."""
    comparison = Comparison.of(schema, rows, [made])
    far = [float(marginal_distances(comparison, k).values.mean()) for k in (2, 3)]
    return np.array([*far, kept(schema, rows, made), foretold(rows, made, others)])


def main() -> None:
    """Run the cases of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--tables", nargs="+", default=("adult_coded", "nist_acs_national2019"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--usual", action="store_true")
    asked = parser.parse_args()
    print(f"{'':32}  two-way  three-way  kept  area")
    for case in (*asked.cases, *(asked.tables if asked.data else ())):
        if ":" in case:
            kind, d, n = case.split(":")
            people, schema = population(kind, int(d))
        else:
            table = load(asked.data, case)
            people, schema, n = table.frame, table.schema("private"), str(table.frame.height)
        found = []
        for seed in range(asked.runs):
            shuffled = people.sample(fraction=1, shuffle=True, seed=seed)
            rows, others = shuffled[: int(n)], shuffled[-OTHERS:]
            found.append(
                [
                    *(
                        measure(rows, others, schema, seed, gives_way=way, usual=asked.usual)
                        for way in (False, True)
                    ),
                    figures(schema, rows, shuffled_columns(rows, seed), others),
                ]
            )
        each = np.array(found)
        gaps = each[:, 1] - each[:, 0]
        for name, line in zip(
            ("rounds to the end", "columns again", "exact, independent"),
            each.mean(axis=0),
            strict=True,
        ):
            print(f"{case:24} {name:18}", line.round(4))
        error = (
            gaps.std(axis=0, ddof=1) / math.sqrt(asked.runs)
            if asked.runs > 1
            else gaps[0] * math.nan
        )
        print(
            f"{case:24} {'difference':18}",
            gaps.mean(axis=0).round(4),
            "±",
            error.round(4),
            flush=True,
        )


if __name__ == "__main__":
    main()
