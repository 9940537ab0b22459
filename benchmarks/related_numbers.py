"""Whether numbers that go together still do: ``python benchmarks/related_numbers.py``.

A made table like that of cut stones: weight, three lengths, price, a ratio of the lengths, which
follow from the weight up to a little noise, and two grades. For each number of rows and ε, means
over releases (δ = 10⁻⁹, private rows, fresh noise) of the total variation distance of all tables of
two and of three columns, numbers cut into 32 parts at quantiles of the rows, and of the largest
loss of a rank correlation among the numbers.

    --runs K        releases of each case, 3 if it is not said
    --bins B ...    runs of the method marginals beside its own choice
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import spearmanr

import understudy as us

UPPER = {"weight": 10, "x": 20, "y": 20, "z": 20, "price": 100_000, "depth": 100}
PARTS = 32
CASES = ((50_000, "1"), (50_000, "0.2"), (5_000, "1"))


def stones(n: int, seed: int = 5) -> pl.DataFrame:
    """The table."""
    rng = np.random.default_rng(seed)
    weight = np.exp(rng.normal(-0.4, 0.55, n)).round(2)
    x = (weight ** (1 / 3) * 6.4 * np.exp(rng.normal(0, 0.01, n))).round(2)
    y = (x * np.exp(rng.normal(0, 0.01, n))).round(2)
    z = (x * 0.62 * np.exp(rng.normal(0, 0.02, n))).round(2)
    price = np.exp(8.3 + 1.7 * np.log(np.maximum(weight, 0.01)) + rng.normal(0, 0.25, n)).round()
    depth = (z / ((x + y) / 2) * 100).round(1)
    numbers = {"weight": weight, "x": x, "y": y, "z": z, "price": price, "depth": depth}
    grade = rng.normal(3.5, 1.5, n) - 0.8 * np.log(np.maximum(weight, 0.01))
    return pl.DataFrame(
        {name: np.clip(values, 0, UPPER[name]) for name, values in numbers.items()}
        | {"cut": rng.integers(0, 5, n), "grade": np.clip(grade.round(), 0, 7).astype(int)}
    )


def schema() -> us.Schema:
    """Its public schema: wide bounds, default bins."""
    said = {"source": "made", "reviewed": True}
    columns = {
        name: {"kind": "continuous", "lower": 0, "upper": upper, "decimals": 2, **said}
        for name, upper in UPPER.items()
    }
    columns["cut"] = {"kind": "categorical", "levels": tuple(range(5)), **said}
    columns["grade"] = {"kind": "ordinal", "levels": tuple(range(8)), **said}
    return us.Schema.model_validate({"rows": "private", "columns": columns})


def codes(rows: pl.DataFrame, frame: pl.DataFrame) -> NDArray[np.integer]:
    """Numbers cut at quantiles of the rows."""
    cuts = {
        name: np.unique(np.quantile(rows[name].to_numpy(), np.linspace(0, 1, PARTS + 1)[1:-1]))
        for name in UPPER
    }
    coded = [
        np.searchsorted(cuts[name], column.to_numpy(), side="right")
        if name in cuts
        else column.to_numpy()
        for name, column in ((name, frame[name]) for name in frame.columns)
    ]
    return np.stack(coded, axis=1)


def distance(
    real: NDArray[np.integer], made: NDArray[np.integer], sizes: list[int], ways: int
) -> float:
    """Mean total variation distance of all tables of so many columns."""
    apart = []
    for columns in combinations(range(len(sizes)), ways):
        shape = [sizes[j] for j in columns]
        shares = [
            np.bincount(np.ravel_multi_index(rows[:, columns].T, shape), minlength=np.prod(shape))
            / len(rows)
            for rows in (real, made)
        ]
        apart.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(apart))


def lost(rows: pl.DataFrame, made: pl.DataFrame) -> float:
    """Largest difference of a rank correlation of two numbers."""
    pairs = combinations(UPPER, 2)
    return max(
        abs(spearmanr(rows[a], rows[b]).statistic - spearmanr(made[a], made[b]).statistic)
        for a, b in pairs
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bins", type=int, nargs="*", default=[])
    asked = parser.parse_args()
    sizes = [PARTS] * len(UPPER) + [5, 8]
    print("| rows | ε | bins | tv2 | tv3 | largest loss of a rank correlation | CPU s |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for n, epsilon in CASES:
        rows = stones(n)
        real = codes(rows, rows)
        for bins in (None, *asked.bins):
            found = []
            for _ in range(asked.runs):
                start = time.process_time()
                options = {} if bins is None else {"bins": bins}
                made = us.synthesize(
                    rows, schema(), epsilon=epsilon, delta="1e-9", method="marginals",
                    options=options, sets=1,
                ).tables[0]  # fmt: skip
                seconds = time.process_time() - start
                coded = codes(rows, made)
                tv2, tv3 = (distance(real, coded, sizes, ways) for ways in (2, 3))
                found.append([tv2, tv3, lost(rows, made), seconds])
            tv2, tv3, loss, seconds = np.mean(found, axis=0)
            print(
                f"| {n:,} | {epsilon} | {bins or 'own'} | {tv2:.3f} | {tv3:.3f} | {loss:.2f} | "
                f"{seconds:.1f} |"
            )


if __name__ == "__main__":
    main()
