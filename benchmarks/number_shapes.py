"""How numbers keep their shape: means, deviations and deciles of synthetic columns.

    python benchmarks/number_shapes.py [--releases 5] [--rows 5000 20000] [--epsilon 1]
        [--tables heaped wide …] [--method auto] [--real FOLDER]

Each table is made from a seed, or is one of the known tables in FOLDER, the survey of the demo
among them. Bins are the default ones, rows private, δ = 10⁻⁶. A column of a release keeps its shape
if its mean is within 5 % or two standard errors of the rows', whichever is more, its standard
deviation within 15 %, and the share of rows below each decile of it within .03 of its rank, halves
of ties counted. The last line of a table says for how many of them that holds.

Beside the errors of means stands the least that one noisy sum would have: numbers cut off where
that is best, if somebody knew, at the noise that the release has in its own sums. It is the root of
the mean square of what is cut off and of noise, and below it lies only what more budget buys.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import understudy as us
from made_population import CODEBOOK, levels
from understudy.demo import demo_data, demo_schema
from understudy.methods.measured_sums import number_sums
from understudy.schema import NUMERIC, Schema
from understudy.workflow.analyze import _beside

MEAN, DEVIATION, RANK = 0.05, 0.15, 0.03
DECILES = np.arange(1, 10) / 10
REAL = ("ce_hornby_hu", "ce_diary_2017", "adult_mixed", "gss_cat")
Columns = dict[str, tuple[np.ndarray, dict[str, object]]]


@dataclass(frozen=True)
class Shape:
    """How far a synthetic column is from the rows.

    Attributes:
        mean: its error, in parts of the mean's size.
        error: of the rows' own mean: two standard errors, in the same parts.
        deviation: ratio of the standard deviations.
        rank: largest distance of a decile's rank.
        least: error of the mean by one noisy sum, at the best limits; NaN where none was bought.
    """

    mean: float
    error: float
    deviation: float
    rank: float
    least: float

    @property
    def kept(self) -> tuple[bool, bool, bool]:
        """Mean, deviation and deciles."""
        return (
            abs(self.mean) <= max(MEAN, self.error),
            abs(self.deviation - 1) <= DEVIATION,
            self.rank <= RANK,
        )

    @classmethod
    def of(cls, rows: np.ndarray, made: np.ndarray, noise: float) -> Shape:
        """Compare the values of a column, absent ones left out.

        Args:
            rows: values.
            made: synthetic values.
            noise: deviation in a sum of numbers from 0 to 1, NaN if none was bought.
        """
        size = abs(rows.mean()) or 1.0
        return cls(
            (made.mean() - rows.mean()) / size,
            2 * rows.std() / np.sqrt(len(rows)) / size,
            made.std() / (rows.std() or 1.0),
            _rank_distance(rows, made),
            _least_error(rows, noise) / size,
        )


def _rank_distance(rows: np.ndarray, made: np.ndarray) -> float:
    """Largest distance of .1, …, .9 from the ranks that the rows give to the deciles.

    Where many rows share a value, each rank between those below it and those up to it is its own.
    """
    deciles, ordered = np.quantile(made, DECILES), np.sort(rows)
    below = np.searchsorted(ordered, deciles, side="left") / len(rows)
    upto = np.searchsorted(ordered, deciles, side="right") / len(rows)
    return float(np.maximum(np.maximum(below - DECILES, DECILES - upto), 0).max())


def _least_error(rows: np.ndarray, noise: float) -> float:
    """Least error of a mean by one noisy sum of numbers cut off between two quantiles."""
    ends = np.quantile(rows, [*np.arange(0.8, 0.99, 0.01), *(1 - np.geomspace(0.01, 1e-4, 40)), 1])
    lower = [rows.min()] if rows.min() >= 0 else np.quantile(rows, [0, 1e-3, 0.003, 0.01, 0.03])
    return float(
        min(
            np.hypot(
                np.clip(rows, low, high).mean() - rows.mean(), noise * (high - low) / len(rows)
            )
            for low in lower
            for high in ends[ends > low]
        )
    )


def whole(values: np.ndarray, low: int, high: int, **more: object) -> tuple[np.ndarray, dict]:
    """A column of whole numbers, and what is declared of it."""
    rounded = np.clip(np.rint(values), low, high).astype(np.int64)
    return rounded, {"kind": "integer", "lower": low, "upper": high, **more}


def real(values: np.ndarray, low: float, high: float, **more: object) -> tuple[np.ndarray, dict]:
    """A column of real numbers with two decimals."""
    rounded = np.round(np.clip(values, low, high), 2)
    return rounded, {"kind": "continuous", "lower": low, "upper": high, "decimals": 2, **more}


def wide(rng: np.random.Generator, n: int) -> Columns:
    """Bounds 10 to 1000 times wider than the data."""
    trait = rng.normal(size=n)
    return {
        "income": whole(np.exp(7 + 0.8 * trait + 0.3 * rng.normal(size=n)), 0, 1_000_000),
        "friends": whole(rng.negative_binomial(2, 0.15, size=n), 0, 5_000),
        "days": whole(rng.negative_binomial(0.6, 0.06, size=n), 0, 366),
        "mass": real(25 + 4 * trait + 2 * rng.gamma(2, 1.5, size=n) - 5, 0, 2_000),
        "weight": real(np.exp(4.3 + 0.2 * rng.normal(size=n)), 0, 10_000),
        "balance": whole(300 * rng.standard_t(5, size=n) + 200 * trait, -200_000, 200_000),
    }


def heaped(rng: np.random.Generator, n: int) -> Columns:
    """Numbers that people round, caps and zeros."""
    trait = rng.normal(size=n)
    pay = np.exp(7.4 + 0.6 * trait + 0.2 * rng.normal(size=n))
    step = rng.choice([1, 10, 100, 500], p=[0.2, 0.2, 0.3, 0.3], size=n)
    worked = np.clip(40 + 8 * rng.standard_t(3, size=n), 0, 90)
    spent = np.where(rng.random(n) < 0.6, 0, np.exp(5 + rng.normal(size=n) + 0.3 * trait))
    return {
        "pay": whole(np.rint(pay / step) * step, 0, 100_000),
        "hours": whole(np.where(rng.random(n) < 0.4, 40, worked), 0, 168),
        "capped": whole(np.minimum(pay, 4_000), 0, 4_000),
        "capped_wide": whole(np.minimum(pay, 5_000), 0, 50_000),
        "spent": whole(spent, 0, 20_000, spikes=[0]),
        "zeros": whole(np.where(rng.random(n) < 0.85, 0, rng.gamma(2, 40, size=n)), 0, 10_000),
    }


def tailed(rng: np.random.Generator, n: int) -> Columns:
    """Lognormal and Pareto tails, losses, and absent values."""
    trait = rng.normal(size=n)
    wealth = 1_000 * ((1 - rng.random(n)) ** (-1 / 3) - 0.9)
    losses = np.exp(7 + rng.normal(size=n)) - np.exp(6 + rng.normal(size=n) - 0.2 * trait)
    absent = np.where(rng.random(n) < 0.3, -9, np.exp(4 + 0.7 * trait))
    return {
        "wealth": whole(wealth, 0, 200_000),
        "price": real(np.exp(3 + 0.5 * trait), 0, 1_000),
        "cost": real(np.exp(4 + 1.0 * rng.normal(size=n)), 0, 50_000),
        "profit": whole(losses, -50_000, 100_000),
        "score": real(50 + 10 * trait, 0, 100),
        "asked": (
            np.rint(absent).astype(np.int64),
            {"kind": "integer", "lower": 0, "upper": 100_000, "missing": [-9]},
        ),
    }


def few(rng: np.random.Generator, n: int) -> Columns:
    """Numbers that few records have, heavy tails, and rounded sums."""
    ill, gains, long = (rng.random(n) < share for share in (0.12, 0.05, 0.04))
    days = np.where(ill, np.exp(2 + 1.2 * rng.normal(size=n)), 0)
    weeks = np.clip(np.rint(rng.exponential(16, size=n) * np.exp(0.5 * rng.normal(size=n))), 1, 119)
    billed = np.where(rng.random(n) < 0.25, 0, np.exp(6.5 + 1.4 * rng.normal(size=n)))
    amount = np.exp(7 + rng.normal(size=n))
    step = rng.choice([1, 10, 100, 1000], p=[0.1, 0.2, 0.4, 0.3], size=n)
    return {
        "weeks": (
            np.where(long, weeks, -1).astype(int),
            {"kind": "integer", "lower": 0, "upper": 119, "missing": [-1]},
        ),
        "days": whole(days, 0, 366),
        "days_beside": whole(days, 0, 366, spikes=[0]),
        "claims": whole(200 * ((1 - rng.random(n)) ** (-1 / 2.2) - 0.8), 0, 1_000_000),
        "charges": real(np.exp(7 + 1.5 * rng.normal(size=n)), 0, 2_000_000),
        "billed": real(billed, 0, 500_000, spikes=[0.0]),
        "rounded": whole(np.rint(amount / step) * step, 0, 200_000),
        "gains": whole(np.where(gains, np.exp(8 + 1.1 * rng.normal(size=n)), 0), 0, 99_999),
    }


MADE: dict[str, Callable[[np.random.Generator, int], Columns]] = {
    "wide": wide,
    "heaped": heaped,
    "tailed": tailed,
    "few": few,
}


def made(name: str, n: int, seed: int) -> tuple[pl.DataFrame, dict[str, object]]:
    """Rows, and the declared columns: numbers, and two columns of levels."""
    rng = np.random.default_rng(seed)
    columns = MADE[name](rng, n)
    rows = {column: values for column, (values, _) in columns.items()}
    declared = {column: {**told} | CODEBOOK for column, (_, told) in columns.items()}
    order = np.argsort(np.argsort(next(iter(rows.values())) + 0.01 * rng.normal(size=n))) / n
    rows["sex"] = np.where(rng.random(n) < 0.3 + 0.4 * order, "f", "m")
    rows["region"] = np.array(["n", "e", "s", "w"])[rng.choice(4, p=[0.6, 0.3, 0.09, 0.01], size=n)]
    declared |= {"sex": levels("f", "m"), "region": levels("n", "e", "s", "w")}
    return pl.DataFrame(rows), {"columns": declared}


def known(name: str, folder: Path) -> tuple[pl.DataFrame, dict[str, object]]:
    """A known table, or the survey of the demo."""
    if name == "demo":
        declared = demo_schema().model_dump(exclude_none=True, exclude={"rows", "row_limit"})
        return pl.from_pandas(demo_data()), declared
    place = folder / name
    domain = json.loads((place / "domain.json").read_text(encoding="utf-8"))
    file = next(f for f in place.iterdir() if ".csv" in f.name)
    texts = {c: pl.String for c, told in domain.items() if told["type"] == "categorical"}
    rows = pl.read_csv(file, schema_overrides=texts, infer_schema_length=None).select(*domain)
    return rows, {"columns": {c: _told(rows[c], domain[c]) for c in domain}}


def _told(values: pl.Series, told: dict[str, object]) -> dict[str, object]:
    """A column of a domain in the words of a schema."""
    if told["type"] == "categorical":
        named = [level for level in told["levels"] if level]  # type: ignore[attr-defined]
        return levels(*named, **({"missing": [""]} if len(named) < len(told["levels"]) else {}))  # type: ignore[arg-type]
    kind = "integer" if values.dtype.is_integer() else "continuous"
    absent = {"missing": [""]} if told.get("nullable") else {}
    bounds = {"lower": told["lower"], "upper": told["upper"]}
    if kind == "integer":
        bounds = {key: int(value) for key, value in bounds.items()}
    return {"kind": kind, **bounds, **absent} | CODEBOOK


def shapes_of(
    rows: pl.DataFrame, declared: dict[str, object], seed: int, **asked: object
) -> tuple[dict[str, Shape], float]:
    """One release: how each numeric column kept its shape, and the processor seconds it took."""
    schema = Schema.model_validate({"rows": "private", "row_limit": 10**6, **declared})
    start = time.process_time()
    release = us.synthesize(
        rows, schema, insecure_noise_seed=seed, frame="polars", delta="1e-6", **asked
    )
    taken = time.process_time() - start
    (table,), shapes = release.tables, {}
    sums = number_sums(_beside(release, 0, 1), release.schema)
    for name, column in schema.columns.items():
        if isinstance(column, NUMERIC):
            pair = [_numbers(one[name], column.codes) for one in (rows, table)]
            shapes[name] = Shape.of(*pair, sums[name].stddev / 2 if name in sums else np.nan)
    return shapes, taken


def _numbers(values: pl.Series, codes: tuple[object, ...]) -> np.ndarray:
    known = values.drop_nulls()
    numbers = known.cast(pl.Float64, strict=False).drop_nulls().to_numpy()
    coded = [float(code) for code in codes if code != ""]  # type: ignore[arg-type]
    return numbers[~np.isin(numbers, coded)]


def tell(title: str, found: list[dict[str, Shape]], seconds: float) -> list[Shape]:
    """Print a table of one population, and give back what was found."""
    print(f"\n{title}: {len(found)} releases, {seconds:.1f} processor seconds each")
    heads = f"{'mean %':>14} {'r.m.s.':>7} {'least':>6} {'2 s.e.':>7} {'sd ratio':>16} {'rank':>6}"
    print(f"{'column':>16} {heads}  kept")
    for name in found[0]:
        own = [one[name] for one in found]
        means, sds = [100 * s.mean for s in own], [s.deviation for s in own]
        kept = np.mean([s.kept for s in own], axis=0)
        print(
            f"{name:>16} {np.median(means):>+6.1f} ({max(map(abs, means)):>5.1f}) "
            f"{np.hypot.reduce(means) / len(means) ** 0.5:>7.1f} {100 * own[0].least:>6.1f} "
            f"{100 * own[0].error:>7.1f} {min(sds):>7.2f} to {max(sds):>5.2f} "
            f"{np.median([s.rank for s in own]):>6.3f}  " + " ".join(f"{x:.1f}" for x in kept)
        )
    every = [one for each in found for one in each.values()]
    print(f"{'all three':>16} {np.mean([all(one.kept) for one in every]):.0%}")
    return every


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="*", default=[5_000, 20_000])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--real", type=Path)
    args = parser.parse_args()
    cases = [(f"{t}, n = {n}", made(t, n, 7)) for t in MADE for n in args.rows]
    if args.real:
        cases += [(t, known(t, args.real)) for t in ("demo", *REAL)]
    every: list[Shape] = []
    for title, (rows, declared) in cases:
        if args.tables and title.split(",")[0] not in args.tables:
            continue
        done = [
            shapes_of(rows, declared, 100 + seed, epsilon=args.epsilon, method=args.method)
            for seed in range(args.releases)
        ]
        every += tell(title, [shapes for shapes, _ in done], float(np.mean([s for _, s in done])))
    kept = np.array([shape.kept for shape in every])
    each = ", ".join(f"{x:.0%}" for x in kept.mean(axis=0))
    print(f"\nkept: {kept.all(axis=1).mean():.0%} of {len(kept)} (mean, sd, deciles: {each})")


if __name__ == "__main__":
    main()
