"""How often a verdict on a claim is right, undecided or wrong, by how far the border is away.

    python benchmarks/verdicts_of_claims.py [--n 10000] [--epsilon 0.1] [--repetitions 100]

Rows are drawn anew in each repetition: incomes are lognormal (σ = 1, skewness 4 within bounds), 2 %
have a rare trait, work follows a logistic model and income a linear one. A claim says that an
estimate lies above a border; the border is put some standard errors of all rows below it (claims
that are true) or above it (claims that are false), half of each. Undecided does not count as right.
At 0 the estimate lies at the border itself, and either verdict counts as wrong.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import polars as pl
import statsmodels.api as sm
from rich.console import Console
from rich.table import Table

import understudy as us
from understudy.workflow.verdict import plan_verdict, verdict

SCHEMA = """
[columns.income]
kind = "continuous"
lower = 0
upper = 600000
source = "codebook"
reviewed = true
[columns.age]
kind = "integer"
lower = 18
upper = 95
source = "codebook"
reviewed = true
[columns.region]
kind = "categorical"
levels = ["north", "south", "island"]
source = "codebook"
reviewed = true
[columns.works]
kind = "boolean"
source = "codebook"
reviewed = true
[columns.rare]
kind = "boolean"
source = "codebook"
reviewed = true
"""
DISTANCES = (0, 1, 2, 3, 4, 6, 8)
Found = tuple[float, float]
"""An estimate of all rows, and its standard error."""


def drawn(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Rows of the made population."""
    age = rng.integers(18, 96, n)
    region = rng.choice(3, n, p=[0.6, 0.38, 0.02])
    income = np.clip(np.exp(9.5 + 0.004 * age + 0.05 * region + rng.normal(0, 1, n)), 0, 600_000)
    works = rng.random(n) < 1 / (1 + np.exp(-1 + 0.01 * age))
    return pl.DataFrame(
        {
            "income": income,
            "age": age,
            "region": np.array(["north", "south", "island"])[region],
            "works": works,
            "rare": rng.random(n) < 0.02,
        }
    )


def design(rows: pl.DataFrame) -> np.ndarray:
    """Intercept, two regions, and age last."""
    region = rows["region"].to_numpy()
    columns = [np.ones(rows.height), region == "south", region == "island", rows["age"].to_numpy()]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def mean(rows: pl.DataFrame) -> Found:
    """Of incomes."""
    income = rows["income"].to_numpy()
    return float(income.mean()), float(income.std() / math.sqrt(len(income)))


def share(rows: pl.DataFrame) -> Found:
    """Of the rare trait."""
    p = float(rows["rare"].to_numpy().mean())
    return p, math.sqrt(p * (1 - p) / rows.height)


def median(rows: pl.DataFrame) -> Found:
    """Of incomes; the standard error by the order statistics one standard error away."""
    income = np.sort(rows["income"].to_numpy())
    place, step = len(income) / 2, math.sqrt(len(income)) / 2
    return float(np.median(income)), float(
        income[int(place + step)] - income[int(place - step)]
    ) / 2


def correlation(rows: pl.DataFrame) -> Found:
    """Of age and income, with the standard error under normality of both."""
    r = float(np.corrcoef(rows["age"].to_numpy(), rows["income"].to_numpy())[0, 1])
    return r, (1 - r * r) / math.sqrt(rows.height)


def least_squares(rows: pl.DataFrame) -> Found:
    """Coefficient of age for income."""
    fitted = sm.OLS(rows["income"].to_numpy(), design(rows)).fit(cov_type="HC1")
    return float(fitted.params[-1]), float(fitted.bse[-1])


def logistic(rows: pl.DataFrame) -> Found:
    """Coefficient of age for work."""
    fitted = sm.Logit(rows["works"].to_numpy().astype(float), design(rows)).fit(disp=0)
    return float(fitted.params[-1]), float(fitted.bse[-1])


CLAIMS: dict[str, Callable[[pl.DataFrame], Found]] = {
    "mean income": mean,
    "share rare": share,
    "median income": median,
    "correlation age + income": correlation,
    "ols income ~ C(region) + age: age": least_squares,
    "logit works ~ C(region) + age: age": logistic,
}


def tallied(claim: str, given: argparse.Namespace) -> tuple[dict[int, Counter[str]], int]:
    """Right, undecided and wrong by distance, and the number of subsets."""
    schema = us.Schema.loads(SCHEMA)
    rng = np.random.default_rng(1)
    found = {distance: Counter[str]() for distance in DISTANCES}
    for repetition in range(given.repetitions):
        rows = drawn(given.n, rng)
        estimate, error = CLAIMS[claim](rows)
        for distance in DISTANCES:
            true = bool(repetition % 2)
            border = estimate - (distance if true else -distance) * error
            said = verdict(
                rows,
                schema,
                f"{claim} > {border:.15g}",
                epsilon=given.epsilon,
                assume_rows=given.n,
                insecure_noise_seed=1_000 * repetition + distance,
            )
            deserved = "neither" if distance == 0 else "yes" if true else "no"
            word = {deserved: "right", "undecided": "undecided"}.get(said.verdict, "wrong")
            found[distance][word] += 1
    return found, said.subsets


def main() -> None:
    """Print a table of shares, and what normal theory expects."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--repetitions", type=int, default=100)
    given = parser.parse_args()
    table = Table(title=f"Right / undecided / wrong, %: n = {given.n:,}, ε = {given.epsilon}")
    table.add_column("claim", overflow="fold")
    table.add_column("subsets", justify="right")
    for distance in DISTANCES:
        table.add_column(f"{distance} SE", justify="right")
    for claim in CLAIMS:
        found, k = tallied(claim, given)
        shares = [
            " / ".join(
                f"{100 * counts[word] / given.repetitions:.0f}"
                for word in ("right", "undecided", "wrong")
            )
            for counts in found.values()
        ]
        table.add_row(claim, f"{k}", *shares)
    plan = plan_verdict(
        us.Schema.loads(SCHEMA), "mean income > 1", epsilon=given.epsilon, assume_rows=given.n
    )
    expected = [
        f"{100 * odds.right:.0f} / {100 * odds.undecided:.0f} / {100 * odds.wrong:.0f}"
        for odds in plan.by_distance.values()
    ]
    # At the border either side is wrong.
    zero = plan.by_distance[0]
    expected[0] = f"0 / {100 * zero.undecided:.0f} / {100 * (zero.right + zero.wrong):.0f}"
    table.add_row("stated by the plan", f"{plan.subsets}", *expected)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
