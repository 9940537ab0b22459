"""Whether the default is ever worse than simpler methods: ``python benchmarks/random_tables.py``.

Each seed makes a table of its own: 3 to 35 columns, 300 to 40,000 rows, a budget of ε = .1 to 8 at
δ = 10⁻⁹, private rows; columns that follow hidden traits, each other, clusters or combinations of
two, or nothing; levels, grades, skewed amounts with bounds 1 to 100 times too wide, ages, absent
values. Means of the total variation distances of all pairs of columns over a few releases with
fresh noise, of numbers in their default bins and, as "fine", in 32 parts of equal mass; the
largest distance between distribution functions of numbers ("ks"). The first is also given over the
smaller one of `mst` and `independent`.

    --seeds A B    tables from seed A to before B, 0 60 if it is not said
    --runs K       releases of each table and method, 2 if it is not said
    --methods M …  auto, marginals, mst and independent if it is not said
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import understudy as us
import yardstick
from made_population import CODEBOOK, levels
from understudy.evaluate.comparison import Comparison
from understudy.schema import Schema

METHODS = ("auto", "marginals", "mst", "independent")
DELTA, MOST_CELLS, PARTS = "1e-9", 100_000, 32
Trait = NDArray[np.float64]
Kind = Callable[[np.random.Generator, list[Trait], int], Trait]


def hidden(rng: np.random.Generator, others: list[Trait], n: int) -> Trait:
    """After the first two columns, which stand for hidden traits."""
    own = rng.normal(size=n)
    return own + sum((rng.normal() * rng.uniform(0, 1.5) * one for one in others[:2]), np.zeros(n))


def chain(rng: np.random.Generator, others: list[Trait], n: int) -> Trait:
    """After the column before it."""
    own = rng.normal(size=n) * rng.uniform(0.2, 1)
    return own + 0.8 * others[-1] if others else own


def clusters(rng: np.random.Generator, others: list[Trait], n: int) -> Trait:
    """By which of eight groups a record is in, told by the first column."""
    if not others:
        return rng.integers(0, 8, n).astype(np.float64)
    group = np.argsort(np.argsort(others[0])) * 8 // n
    return 2 * rng.normal(size=8)[group] + 0.7 * rng.normal(size=n)


def combined(rng: np.random.Generator, others: list[Trait], n: int) -> Trait:
    """After two columns together, and neither by itself."""
    own = 0.6 * rng.normal(size=n)
    if len(others) < 2:
        return own
    a, b = (others[k] > np.median(others[k]) for k in rng.choice(len(others), 2, replace=False))
    return own + np.where(a ^ b, 1.2, -1.2)


def alone(rng: np.random.Generator, _others: list[Trait], n: int) -> Trait:
    """After nothing."""
    return rng.normal(size=n)


KINDS: tuple[Kind, ...] = (hidden, chain, clusters, combined, alone)


@dataclass(frozen=True)
class Case:
    """A made table and its budget."""

    rows: pl.DataFrame
    declared: dict[str, Any]
    epsilon: str
    kind: str

    def schema(self, rows: str) -> Schema:
        """With a private or a public number of rows."""
        known = {"n_rows": self.rows.height} if rows == "public" else {}
        return Schema.model_validate({"rows": rows, **known, "columns": self.declared})

    @classmethod
    def of(cls, seed: int) -> Case:
        """The table of a seed."""
        rng = np.random.default_rng(seed)
        n, d = int(np.exp(rng.uniform(np.log(300), np.log(40_000)))), int(rng.integers(3, 36))
        epsilon = f"{np.exp(rng.uniform(np.log(0.1), np.log(8))):.3g}"
        mixed = rng.random() < 1 / (1 + len(KINDS))
        kind = KINDS[rng.integers(len(KINDS))]
        traits: list[Trait] = []
        rows, declared = {}, {}
        for j in range(d):
            make = KINDS[rng.integers(len(KINDS))] if mixed else kind
            traits.append(make(rng, traits, n))
            rows[f"c{j}"], declared[f"c{j}"] = column(rng, traits[-1])
        return cls(pl.DataFrame(rows), declared, epsilon, "mixed" if mixed else kind.__name__)


def column(rng: np.random.Generator, trait: Trait) -> tuple[pl.Series, dict[str, Any]]:
    """Values that follow a trait, and what is declared of them; some are absent in every fifth."""
    form, size = rng.random(), int(np.exp(rng.uniform(np.log(2), np.log(60))))
    if form < 0.6:  # levels in random order and of any size, or grades
        shares = rng.dirichlet(np.full(size, 0.7)) if form < 0.45 else np.full(size, 1 / size)
        codes = np.searchsorted(np.quantile(trait, shares.cumsum()[:-1]), trait)
        names = np.array([f"l{k}" for k in range(size)])
        values: Any = names[rng.permutation(size) if form < 0.45 else np.arange(size)][codes]
        told: dict[str, Any] = levels(*names)
        told |= {} if form < 0.45 else {"kind": "ordinal"}
    elif form < 0.8:
        values = np.round(np.minimum(10 * np.exp(1 + trait * rng.uniform(0.3, 1.2)), 1e5), 2)
        most = min(1e5, float(np.ceil(values.max())) * 10.0 ** rng.integers(0, 3))
        told = {"kind": "continuous", "lower": 0.0, "upper": most} | CODEBOOK
    else:
        values = np.clip(np.round(40 + 12 * trait), 0, 99).astype(np.int64)
        told = {"kind": "integer", "lower": 0, "upper": int(rng.choice([99, 120, 999]))} | CODEBOOK
    found = pl.Series(values.tolist())
    if rng.random() < 0.2:
        absent = rng.random(len(trait)) < rng.uniform(0.02, 0.5)
        found, told = found.set(pl.Series(absent), None), told | {"missing": [""]}
    return found, told


def parts(rows: pl.Series, made: pl.Series) -> tuple[list[NDArray[np.int64]], int]:
    """Numbers in parts of equal mass of the rows', levels as they are, absent ones apart."""
    if rows.dtype.is_numeric():
        both = [one.cast(pl.Float64, strict=False) for one in (rows, made)]
        edges = np.unique(np.quantile(both[0].drop_nulls(), np.arange(1, PARTS) / PARTS))
        found = [np.searchsorted(edges, one.fill_null(np.inf), side="right") for one in both]
        none = [one.is_null().to_numpy() for one in both]
        return [
            np.where(gone, PARTS, one) for gone, one in zip(none, found, strict=True)
        ], PARTS + 1
    names = {name: k for k, name in enumerate([*sorted({*rows.drop_nulls()}), None])}
    last = len(names) - 1
    return [np.array([names.get(v or None, last) for v in one]) for one in (rows, made)], last + 1


def fine_distance(rows: pl.DataFrame, made: pl.DataFrame) -> float:
    """Mean total variation distance of pairs of columns in `parts`."""
    coded = [parts(rows[name], made[name]) for name in rows.columns]
    found = []
    for (one, m), (other, k) in combinations(coded, 2):
        tables = [np.bincount(a * k + b, minlength=m * k) for a, b in zip(one, other, strict=True)]
        first, second = (table / max(table.sum(), 1) for table in tables)
        found.append(float(np.abs(first - second).sum() / 2))
    return float(np.mean(found))


def largest_gap(rows: pl.DataFrame, made: pl.DataFrame) -> float:
    """Mean over columns of numbers of the largest distance of their distribution functions."""
    found = []
    for name in rows.columns:
        if rows[name].dtype.is_numeric():
            a, b = (
                np.sort(t[name].cast(pl.Float64, strict=False).drop_nulls()) for t in (rows, made)
            )
            every = np.concatenate([a, b])
            ranks = [np.searchsorted(one, every, side="right") / max(len(one), 1) for one in (a, b)]
            found.append(float(np.abs(ranks[0] - ranks[1]).max()))
    return float(np.mean(found)) if found else 0.0


def scores(case: Case, method: str) -> list[float]:
    """Two-way distance, the same in finer parts, and the largest gap, of one release."""
    made = us.synthesize(
        case.rows, case.schema("private"), epsilon=case.epsilon, delta=DELTA, method=method
    ).tables[0]
    if made.is_empty():
        return [1.0] * 3
    comparison = Comparison.of(case.schema("public"), case.rows, [made])
    two = yardstick.distances(comparison, most_cells=MOST_CELLS)["tv2"]
    return [two, fine_distance(case.rows, made), largest_gap(case.rows, made)]


def main() -> None:
    """Make the tables of some seeds, release them, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 60))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    asked = parser.parse_args()
    ratios: dict[str, list[float]] = {method: [] for method in asked.methods}
    for seed in range(*asked.seeds):
        case = Case.of(seed)
        n, d = case.rows.shape
        both = n * float(case.epsilon)
        print(f"\n{seed}: {case.kind}, {n} x {d}, ε = {case.epsilon}, nε = {both:.0f}")
        found = {
            method: np.mean([scores(case, method) for _ in range(asked.runs)], axis=0)
            for method in asked.methods
        }
        simple = min((found[one][0] for one in ("mst", "independent") if one in found), default=1.0)
        for method, (two, fine, gap) in found.items():
            ratios[method].append(two / simple)
            print(
                f"{method:>14} {two:.4f} ({two / simple:.3f})  fine {fine:.4f}  ks {gap:.3f}",
                flush=True,
            )
    print("\nover the better of mst and independent: median, and largest")
    for method, some in ratios.items():
        print(f"{method:>14} {np.median(some):.3f} {max(some):.3f}")


if __name__ == "__main__":
    main()
