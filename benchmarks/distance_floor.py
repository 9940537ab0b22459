"""What keeps records from the rows: ``python benchmarks/distance_floor.py --data DIR``.

Automatic releases, (1, 10⁻⁹), private rows, of known tables in the folder of `--data` (Adult and
ACS), and of a made table of prices (`related_numbers.py`), its numbers cut into `PARTS` parts of
equal width. For each table, means over releases of the mean total variation distance from the rows
of all tables of two columns, in states, and in the groups of states that the release's model has:

* the release;
* records of a release of the same budget that buys no answers, lines or heaps;
* records of a model that knows the same tables and ranks exactly, and nothing else;
* every table of two columns exact in groups, and states within groups independent;
* a fresh bootstrap of the rows;
* independent columns, each with its exact table.

± is the largest standard error of a line.

    --runs K       releases of each table, 2 if it is not said
    --table NAME   other tables
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import understudy as us
from known_tables import Design, KnownTable, load
from related_numbers import UPPER, stones
from understudy.data.table import Table
from understudy.dp.released import Noise, NoisyRanks, NoisyTable
from understudy.features.scores import RANK_UNIT, RankScores, shorten_vectors
from understudy.graphical.compression import MarginalModel
from understudy.methods.registry import configure
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.workflow.analyze import _beside

PRICES = "prices"
TABLES = ("adult_coded", "nist_acs_national2019", PRICES)
PARTS = 40
ROWS = 53_940
ALONE = {"answers": 0, "lines": 0}
LEAST = 0.1
"""Deviation of the noise that a fit is told of exact counts."""

Codes = list[NDArray[np.integer]]
Groups = tuple[NDArray[np.integer], NDArray[np.integer]]
Distances = tuple[float, float]


def prices() -> KnownTable:
    """The made table, coded."""
    rows = stones(ROWS)
    parts = {}
    for name in UPPER:
        values = rows[name].to_numpy()
        low, high = np.quantile(values, [0.001, 0.995])
        parts[name] = np.clip((values - low) / (high - low) * PARTS, 0, PARTS - 1).astype(int)
    frame = rows.with_columns(pl.Series(name, values) for name, values in parts.items())
    levels = {
        name: [str(k) for k in range(PARTS if name in UPPER else frame[name].max() + 1)]
        for name in frame.columns
    }
    return KnownTable(Design(ordered=(*UPPER, "grade")), frame, levels)


def coded(table: KnownTable) -> Codes:
    """The rows as states of its schema."""
    return [
        np.asarray(one) for one in Table(table.frame, table.schema("private")).code_rows().expose()
    ]


def model_of(release: us.Release, rows: Codes | None = None) -> MarginalModel:
    """The model of a release; of exact counts and ranks, and nothing else, if rows are given."""
    schema, manifest = release.schema, release.manifest
    tables = [one.noisy(schema) for one in release.behind_sets if one.kind is Kind.TABLE]
    beside = _beside(release, 0, 1)
    if rows is not None:
        tables = [exact_table(schema, one, rows) for one in tables]
        beside = [exact_ranks(schema, one, rows) for one in beside if isinstance(one, NoisyRanks)]
    method = configure(manifest.method, manifest.options)
    model = method.rebuilt(schema, tables, manifest.n_rows, beside)
    assert isinstance(model, MarginalModel)
    return model


def exact_table(schema: Schema, table: NoisyTable, rows: Codes) -> NoisyTable:
    """The same table without noise."""
    places = [schema.names.index(name) for name in table.columns]
    groups = [table.groups.get(name, range(schema.columns[name].size)) for name in table.columns]
    states = [np.array(own)[rows[j]] for j, own in zip(places, groups, strict=True)]
    shape = table.counts.shape
    counts = np.bincount(np.ravel_multi_index(states, shape), minlength=int(np.prod(shape)))
    return replace(
        table, counts=counts.reshape(shape).astype(float), outside=0.0, noise=noise(table.noise)
    )


def exact_ranks(schema: Schema, ranks: NoisyRanks, rows: Codes) -> NoisyRanks:
    """The same sums of products without noise."""
    scores = []
    for name in ranks.columns:
        groups = np.array(ranks.groups.get(name, range(schema.columns[name].size)))
        scores.append(
            np.array(ranks.scores[name], dtype=float)[groups][rows[schema.names.index(name)]]
        )
    kept = shorten_vectors(np.column_stack(scores), RankScores(ranks.scores).most) / RANK_UNIT
    products = kept.T @ kept
    values = products[np.triu_indices(len(products), 1)]
    return replace(ranks, values=values, noise=noise(ranks.noise))


def noise(known: Noise) -> Noise:
    """Nearly none."""
    return Noise(known.distribution, str(LEAST**2), LEAST)


def table_of(states: Codes, sizes: list[int], pair: tuple[int, int]) -> NDArray[np.float64]:
    """Shares of cells."""
    a, b = pair
    shape = sizes[a], sizes[b]
    cells = np.ravel_multi_index((states[a], states[b]), shape)
    return (np.bincount(cells, minlength=shape[0] * shape[1]) / len(cells)).reshape(shape)


def groups_of(model: MarginalModel) -> list[NDArray[np.integer]]:
    """Group of each state of each column."""
    return [
        np.array(model.expansions[j].groups) if j in model.expansions else np.arange(size)
        for j, size in enumerate(model.domain.sizes)
    ]


def into(table: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """Sums over groups."""
    left, right = (np.eye(own.max() + 1)[own] for own in groups)
    return left.T @ table @ right


def distances(one: NDArray[np.float64], other: NDArray[np.float64], groups: Groups) -> Distances:
    """Total variation distances, in states and in groups."""
    apart = one - other
    return float(np.abs(apart).sum() / 2), float(np.abs(into(apart, groups)).sum() / 2)


def measure(table: KnownTable, seed: int) -> dict[str, Distances]:
    """Distances in states and in groups of one release."""
    rows, schema = coded(table), table.schema("private")
    asked = {"epsilon": 1, "delta": "1e-9", "insecure_noise_seed": seed, "sets": 1}
    release = us.synthesize(table.frame, schema, **asked)
    alone = us.synthesize(table.frame, schema, method="marginals", budget=ALONE, **asked)
    rng, n = np.random.default_rng(seed), len(rows[0])
    usual = model_of(release)
    groups, sizes = groups_of(usual), [*usual.domain.sizes]
    drawn = {
        "the release": coded(replace(table, frame=release.tables[0])),
        "no answers bought": coded(replace(table, frame=alone.tables[0])),
        "exact counts, the same structure": model_of(release, rows).sample(n, rng).states,
        "a fresh bootstrap": [
            states[order] for order in [rng.integers(0, n, n)] for states in rows
        ],
    }
    found: dict[str, list[Distances]] = {name: [] for name in drawn}
    spread: list[Distances] = []
    independent: list[Distances] = []
    for a, b in combinations(range(len(sizes)), 2):
        real, own = table_of(rows, sizes, (a, b)), (groups[a], groups[b])
        for name, states in drawn.items():
            found[name].append(distances(real, table_of(states, sizes, (a, b)), own))
        ones = real.sum(axis=1), real.sum(axis=0)
        independent.append(distances(real, np.outer(*ones), own))
        shares = [
            one / np.maximum(np.bincount(by, one), 1e-300)[by]
            for one, by in zip(ones, own, strict=True)
        ]
        within = into(real, own)[np.ix_(*own)] * np.outer(*shares)
        spread.append(distances(real, within, own))
    found["groups exact, independent within"] = spread
    found["independent columns"] = independent
    return {name: tuple(np.mean(each, axis=0)) for name, each in found.items()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--table", action="append")
    asked = parser.parse_args()
    for name in asked.table or TABLES:
        if name != PRICES and not asked.data:
            continue
        table = prices() if name == PRICES else load(Path(asked.data), name)
        runs = [measure(table, seed) for seed in range(asked.runs)]
        print(f"{name}: {table.frame.height:,} × {table.frame.width}")
        for line in runs[0]:
            each = np.array([one[line] for one in runs])
            error = (
                each.std(axis=0, ddof=1).max() / np.sqrt(asked.runs) if asked.runs > 1 else np.nan
            )
            print(
                f"  {line:36} {each[:, 0].mean():.4f}  {each[:, 1].mean():.4f}  ± {error:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
