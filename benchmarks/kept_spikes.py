"""How columns keep values that many rows share, and their shape beside them.

    python benchmarks/kept_spikes.py [--releases 5] [--rows 500 5000 17000 50000]
        [--epsilon 0.3 1 3] [--delta 0 1e-6] [--method auto] [--shapes zeros pay ...] [--beside 5]

Each shape is one column beside some of levels, made from a seed; nothing is declared but bounds
far from tight, and decimals. A shape has values that many rows share (zeros, a minimum wage, a
price, the bound onto which larger numbers are cut, a default date) or none at all. Shown are
medians over releases: the share of rows and of records on these values, the largest share of any
other value of a release, mean and standard deviation over those of the rows, and the largest
difference of the ranks of a decile. What is no spike and is told as one is seen in "other".
"""

from __future__ import annotations

import argparse
import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

import understudy as us
from understudy.schema import Schema

Rng = np.random.Generator
SOURCE = {"source": "made", "reviewed": True}
EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class Shape:
    """One column.

    Attributes:
        made: its values, from randomness and a number of rows.
        told: what is declared of it.
        spikes: values that many rows share.
    """

    made: Callable[[Rng, int], np.ndarray]
    told: dict[str, object]
    spikes: tuple[float, ...] = ()


def money(high: float, low: float = 0, decimals: int | None = 2) -> dict[str, object]:
    """What is declared of a real column."""
    told = {"kind": "continuous", "lower": low, "upper": high}
    return told if decimals is None else told | {"decimals": decimals}


def mixed(rng: Rng, values: np.ndarray, *spikes: tuple[float, float]) -> np.ndarray:
    """Values, with some replaced by spikes: each with its share."""
    chance, start = rng.random(len(values)), 0.0
    for value, share in spikes:
        values = np.where((chance >= start) & (chance < start + share), value, values)
        start += share
    return values


def rounded(values: np.ndarray, high: float, low: float = 0.0) -> np.ndarray:
    """In cents, within bounds."""
    return np.clip(np.round(values, 2), low, high)


def heaped(rng: Rng, n: int) -> np.ndarray:
    """Whole numbers of which many are told in fives, hundreds and thousands."""
    step = rng.choice([1, 5, 100, 1000], p=[0.3, 0.2, 0.3, 0.2], size=n)
    return np.rint(np.exp(8 + 0.6 * rng.normal(size=n)) / step) * step


def days(rng: Rng, n: int, share: float) -> np.ndarray:
    """Days since 1970: some are the first of January 1900, many the first of a month."""
    spread = np.clip(rng.normal(2_000, 3_000, n), -20_000, 18_000).round()
    first = np.array(
        [datetime.date(y, m, 1).toordinal() for y in range(1900, 2020) for m in range(1, 13)]
    )
    first -= EPOCH.toordinal()
    near = first[np.searchsorted(first, spread, "right") - 1]
    spread = np.where(rng.random(n) < 0.3, near, spread)
    return mixed(
        rng, spread, (float(datetime.date(1900, 1, 1).toordinal() - EPOCH.toordinal()), share)
    )


SHAPES: dict[str, Shape] = {
    "zeros": Shape(
        lambda rng, n: rounded(mixed(rng, np.exp(6 + 1.2 * rng.normal(size=n)), (0, 0.91)), 50_000),
        money(50_000),
        (0,),
    ),
    "zeros_real": Shape(
        lambda rng, n: np.clip(mixed(rng, np.exp(6 + rng.normal(size=n)), (0, 0.7)), 0, 50_000),
        money(50_000, decimals=None),
        (0,),
    ),
    "zeros_signed": Shape(
        lambda rng, n: rounded(mixed(rng, 300 * rng.standard_t(4, n), (0, 0.5)), 20_000, -20_000),
        money(20_000, -20_000),
        (0,),
    ),
    "pay": Shape(
        lambda rng, n: rounded(mixed(rng, 12.41 + rng.gamma(2, 5, n), (12.41, 0.25)), 200),
        money(200),
        (12.41,),
    ),
    "prices": Shape(
        lambda rng, n: rounded(
            mixed(rng, np.exp(3.5 + 0.8 * rng.normal(size=n)), (99.99, 0.2), (19.99, 0.2)), 5_000
        ),
        money(5_000),
        (99.99, 19.99),
    ),
    "capped": Shape(
        lambda rng, n: rounded(np.exp(8 + 0.8 * rng.normal(size=n)), 5_000), money(5_000), (5_000,)
    ),
    "capped_whole": Shape(
        lambda rng, n: np.clip(np.exp(10 + 0.8 * rng.normal(size=n)).round(), 0, 50_000),
        {"kind": "integer", "lower": 0, "upper": 50_000},
        (50_000,),
    ),
    "whole": Shape(
        lambda rng, n: mixed(rng, np.exp(8 + rng.normal(size=n)).round(), (1_850, 0.3)).clip(
            0, 10**6
        ),
        {"kind": "integer", "lower": 0, "upper": 10**6},
        (1_850,),
    ),
    "real_spike": Shape(
        lambda rng, n: np.clip(mixed(rng, 50 + 20 * rng.normal(size=n), (37.5, 0.3)), 0, 1_000),
        money(1_000, decimals=None),
        (37.5,),
    ),
    "day": Shape(
        lambda rng, n: days(rng, n, 0.2),
        {"kind": "date", "lower": datetime.date(1890, 1, 1), "upper": datetime.date(2030, 12, 31)},
        (float(datetime.date(1900, 1, 1).toordinal() - EPOCH.toordinal()),),
    ),
    # Without spikes: dense, or rounded, but no value holds its neighbourhood.
    "exponential": Shape(lambda rng, n: rounded(rng.exponential(5, n), 50_000), money(50_000)),
    "tiny": Shape(lambda rng, n: rounded(np.exp(-1 + rng.normal(size=n)), 50_000), money(50_000)),
    "lognormal": Shape(
        lambda rng, n: np.exp(7 + 0.9 * rng.normal(size=n)).round().clip(0, 10**6),
        {"kind": "integer", "lower": 0, "upper": 10**6},
    ),
    "narrow": Shape(
        lambda rng, n: rounded(500_000 + 100 * rng.normal(size=n), 10**6), money(10**6)
    ),
    "bimodal": Shape(
        lambda rng, n: rounded(
            np.where(rng.random(n) < 0.5, 200, 1_400) + 30 * rng.normal(size=n), 2_000
        ),
        money(2_000),
    ),
    "heaped": Shape(
        lambda rng, n: heaped(rng, n).clip(0, 10**5),
        {"kind": "integer", "lower": 0, "upper": 10**5},
    ),
}


def table(shape: Shape, n: int, seed: int, beside: int) -> tuple[pl.DataFrame, Schema]:
    """Rows, and what is declared of them."""
    rng = np.random.default_rng(seed)
    x = shape.made(rng, n)
    order = np.argsort(np.argsort(x + 1e-6 * rng.normal(size=n))) / n
    rows: dict[str, object] = {"x": x}
    if shape.told["kind"] == "integer":
        rows["x"] = x.astype(np.int64)
    if shape.told["kind"] == "date":
        rows["x"] = pl.Series(x.astype(np.int32)).cast(pl.Date)
    declared: dict[str, object] = {"x": shape.told | SOURCE}
    for k in range(beside):
        tilt = np.where(rng.random(n) < 0.3 * (k < 2), order, rng.random(n))
        rows[f"c{k}"] = np.array(list("abcd"))[np.minimum((4 * tilt**1.5).astype(int), 3)]
        declared[f"c{k}"] = {"kind": "categorical", "levels": list("abcd")} | SOURCE
    return pl.DataFrame(rows), Schema.model_validate(
        {"rows": "private", "row_limit": 10**7, "columns": declared}
    )


def numbers(values: pl.Series) -> np.ndarray:
    """Values as numbers; days since 1970."""
    if values.dtype == pl.Date:
        return values.cast(pl.Int32).to_numpy().astype(float)
    return values.to_numpy().astype(float)


def told(shape: Shape, rows: np.ndarray, made: np.ndarray) -> list[float]:
    """What the docstring names, of one release; shares of spikes last."""
    values, counts = np.unique(made[~np.isin(made, shape.spikes)], return_counts=True)
    other = counts.max() / len(made) if len(values) else 0.0
    deciles, ordered = np.quantile(made, np.arange(1, 10) / 10), np.sort(rows)
    below, upto = (
        np.searchsorted(ordered, deciles, side) / len(rows) for side in ("left", "right")
    )
    aims = np.arange(1, 10) / 10
    rank = np.maximum(np.maximum(below - aims, aims - upto), 0).max()
    own = [float((made == spike).mean()) for spike in shape.spikes]
    return [other, made.mean() / rows.mean(), made.std() / rows.std(), float(rank), *own]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 5_000, 17_000, 50_000])
    parser.add_argument("--epsilon", nargs="*", default=["0.3", "1", "3"])
    parser.add_argument("--delta", nargs="*", default=["0", "1e-6"])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--beside", type=int, default=5)
    args = parser.parse_args()
    print(f"{'shape':>13} {'n':>6} {'eps':>4} {'delta':>5}  spikes: rows > records (least to most)")
    for name in args.shapes:
        for n in args.rows:
            rows, schema = table(SHAPES[name], n, 7, args.beside)
            x = numbers(rows["x"])
            at = [float((x == spike).mean()) for spike in SHAPES[name].spikes]
            own = np.unique(x[~np.isin(x, SHAPES[name].spikes)], return_counts=True)[1].max() / n
            for epsilon in args.epsilon:
                for delta in args.delta:
                    start, found = time.process_time(), []
                    for seed in range(args.releases):
                        release = us.synthesize(
                            rows, schema, epsilon=epsilon, delta=delta, method=args.method,
                            insecure_noise_seed=100 + seed, frame="polars",
                        )  # fmt: skip
                        (drawn,) = release.tables
                        found.append(told(SHAPES[name], x, numbers(drawn["x"])))
                    taken = (time.process_time() - start) / args.releases
                    every = np.array(found)
                    middle = np.median(every, axis=0)
                    spikes = "; ".join(
                        f"{share:.3f} > {middle[4 + k]:.3f} ({every[:, 4 + k].min():.3f} to "
                        f"{every[:, 4 + k].max():.3f})"
                        for k, share in enumerate(at)
                    )
                    print(
                        f"{name:>13} {n:>6} {epsilon:>4} {delta:>5}  {spikes or 'none':<34} other "
                        f"{own:.3f} > {middle[0]:.3f} ({every[:, 0].max():.3f}) mean "
                        f"{middle[1]:.2f} sd {middle[2]:.2f} rank {middle[3]:.3f} "
                        f"[{taken:.1f} s]",
                        flush=True,
                    )  # fmt: skip


if __name__ == "__main__":
    main()
