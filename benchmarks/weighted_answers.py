"""Coverage and width of weighted answers, over samples drawn anew from a made population.

Records have weights from .5 to 8, which go with region and outcome. They are drawn from clusters of
ten whose members are alike, so that the variance is that of the public design effect. 21 answers:
shares, means and totals, by region, of two yes/no outcomes and two numbers, and a linear model. The
budget is that of a usual release: a third of what is left after the number of rows buys weighted
moments, a tenth number lines (`workflow.budget_shares`). Beside it stand intervals of the rows, by
clusters.

    python benchmarks/weighted_answers.py [repetitions]
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import polars as pl

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.inference.declared import SQUARES_SHARE
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.weighted import WeightedMatrices, answer_for_population
from understudy.mechanisms.second_moments import WeightedMoments
from understudy.mechanisms.tables import NumberLines
from understudy.release.measurement import Measurement
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

REGIONS = ("north", "east", "south", "west")
COLUMNS = ("region", "works", "owns", "income", "hours")
LEVELS = "kind = 'categorical'\nlevels = {}\nreviewed = true\n"
NUMBER = "kind = 'continuous'\nlower = 0.0\nupper = {}\nreviewed = true\n"
SCHEMA = """
[design]
weight = "w"
{contribution}
deff = {{ default = {deff}, source = "made population" }}
"""
QUESTIONS = (
    ("mean", "income"),
    ("mean", "hours"),
    ("proportion", "works == 'yes'"),
    ("proportion", "owns == 'yes'"),
    *(("mean", f"{name} ~ region") for name in ("income", "hours")),
    ("proportion", "works == 'yes' ~ region"),
    ("total", "income"),
    ("total", "works == 'yes'"),
    ("total", "works == 'yes' where region == 'north'"),
    ("ols", "income ~ works"),
)
DEFF = 1.4
CASES = (  # records, ε, B
    (6_000, 1, 8.0),
    (6_000, 1, 6.0),
    (40_000, 1, 8.0),
    (40_000, 1, 6.0),
    (40_000, 1, 4.0),
    (40_000, 4, 8.0),
)


def schema_of(bound: float) -> Schema:
    """The schema, with a bound of weights."""
    cut = f"contribution = {bound}" if bound < 8 else ""
    columns = {
        "w": NUMBER.format(8.0),
        "region": LEVELS.format([*REGIONS]),
        "works": LEVELS.format(["no", "yes"]),
        "owns": LEVELS.format(["no", "yes"]),
        "income": NUMBER.format(100.0),
        "hours": NUMBER.format(60.0),
    }
    parts = "".join(f"[columns.{name}]\n{text}" for name, text in columns.items())
    return Schema.loads(SCHEMA.format(contribution=cut, deff=DEFF) + parts)


def sample(rng: np.random.Generator, n: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Records with weights, and the cluster of each."""
    cluster = np.repeat(np.arange(n // 10), 10)
    region = rng.integers(0, 4, n // 10)[cluster]
    weight = np.array([1.0, 2.0, 3.0, 4.0])[region] * np.clip(rng.lognormal(0, 0.25, n), 0.5, 2)

    def latent() -> np.ndarray:
        shared = np.sqrt(0.045) * rng.normal(size=n // 10)[cluster]
        return 0.3 * (region - 1.5) + shared + np.sqrt(0.955) * rng.normal(size=n)

    frame = pl.DataFrame(
        {
            "w": weight,
            "region": np.array(REGIONS)[region],
            "works": np.where(latent() > 0.3, "yes", "no"),
            "owns": np.where(latent() > 0.9, "yes", "no"),
            "income": np.clip(40 + 12 * latent(), 0, 100),
            "hours": np.clip(30 + 8 * latent(), 0, 60),
        }
    )
    return frame, cluster


def measured(frame: pl.DataFrame, schema: Schema, epsilon: int, seed: int) -> list[Measurement]:
    """What a release measures for weighted answers."""
    budget = Budget.of(epsilon, "1e-6", "gdp")
    gate = open_gate(Table(frame, schema), budget, SeededRandomness(seed))
    rest = budget.amount * Fraction(19, 20)
    bound = schema.design.bound(schema.columns)
    released = [
        gate.ask(WeightedMoments(COLUMNS, "w", bound, power), spend=rest / 3 * share)
        for power, share in ((1, 1 - SQUARES_SHARE), (2, SQUARES_SHARE))
    ]
    lines = NumberLines(("w", "income", "hours"), (4, 4, 4))
    released += gate.ask(lines, spend=rest / 10)
    return [Measurement.from_released(one, f"m{k}", schema) for k, one in enumerate(released)]


def clustered_halves(kind: str, formula: str, frame: pl.DataFrame, cluster: np.ndarray) -> list:
    """Estimates of the rows, and half-widths with the variance between clusters."""
    expression, _, where = formula.partition(" where ")
    left, _, right = expression.partition(" ~ ")
    weight = frame["w"].to_numpy()
    name = left.split(" ")[0]
    value = frame[name].to_numpy() if "==" not in left else (frame[name] == "yes").to_numpy()
    value = value * 1.0
    among = np.ones(len(frame), dtype=bool)
    if where:
        among = (frame["region"] == "north").to_numpy()
    if kind == "ols":
        x = np.column_stack([np.ones(len(frame)), (frame["works"] == "yes").to_numpy()])
        inverse = np.linalg.inv((x.T * weight) @ x)
        estimate = inverse @ (x.T * weight) @ value
        influence = x * (weight * (value - x @ estimate))[:, None] @ inverse
        return [(one, _half(z, cluster)) for one, z in zip(estimate, influence.T, strict=True)]
    if kind == "total":
        z = weight * among * value
        return [(z.sum(), _half(z, cluster))]
    groups = [among] if not right else [(frame["region"] == one).to_numpy() for one in REGIONS]
    found = []
    for own in groups:
        size = (weight * own).sum()
        mean = (weight * own * value).sum() / size
        found.append((mean, _half(weight * own * (value - mean) / size, cluster)))
    return found


def _half(z: np.ndarray, cluster: np.ndarray) -> float:
    sums = np.bincount(cluster, z)
    k = len(sums)
    return float(1.96 * np.sqrt(k / (k - 1) * ((sums - sums.mean()) ** 2).sum()))


def truths(rng: np.random.Generator) -> list[np.ndarray]:
    """Of the population, totals per record of a sample."""
    frame, cluster = sample(rng, 2_000_000)
    found = []
    for kind, formula in QUESTIONS:
        values = np.array([one for one, _ in clustered_halves(kind, formula, frame, cluster)])
        found.append(values / len(frame) if kind == "total" else values)
    return found


def main(repetitions: int) -> None:
    """Print a table of all cases."""
    rng = np.random.default_rng(7)
    true = truths(rng)
    print("| records, ε, B | coverage, % (lowest) | of the rows, % | width / rows | bias bound |")
    print("|---|---|---|---|---|")
    for n, epsilon, bound in CASES:
        schema = schema_of(bound)
        hits, own_hits, ratios, biased = [], [], [], []
        for k in range(repetitions):
            frame, cluster = sample(rng, n)
            measurements = measured(frame, schema, epsilon, k)
            shown = frame.sample(min(n, 6_000), seed=k)
            row: list[list[float]] = [[], [], [], []]
            for (kind, formula), aim in zip(QUESTIONS, true, strict=True):
                truth = aim * n if kind == "total" else aim
                estimand = parse(kind, formula, schema)
                matrices = WeightedMatrices.of(measurements, schema, estimand.columns, float(n))
                assert matrices is not None
                records = [Records.complete_of(shown, schema, estimand.columns)]
                cut = kind == "ols" and matrices.excess > 0  # refused: what is cut has no bound
                answer = None if cut else answer_for_population(estimand, matrices, schema, records)
                plain = clustered_halves(kind, formula, frame, cluster)
                if answer is None:  # a model, where weights are cut off
                    low = high = np.full(len(truth), np.nan)
                    share = low
                else:
                    low, high = answer.pooled.interval()
                    share = 2 * answer.pooled.bias / (high - low)
                row[0] += np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high)).tolist()
                row[1] += [
                    float(abs(one - own) <= half)
                    for (one, half), own in zip(plain, truth, strict=True)
                ]
                halves = np.array([half for _, half in plain])
                row[2] += ((high - low) / 2 / halves).tolist()
                row[3] += share.tolist()
            for whole, part in zip((hits, own_hits, ratios, biased), row, strict=True):
                whole.append(part)
        given = np.array(hits)[:, ~np.isnan(hits).all(axis=0)]
        cover = 100 * np.nanmean(given, axis=0)
        print(
            f"| {n:,}, {epsilon}, {bound:g} | {cover.mean():.1f} ({cover.min():.1f}) "
            f"| {100 * np.mean(own_hits):.1f} | {np.nanmedian(ratios):.1f} "
            f"| {100 * np.nanmean(biased):.0f} % of the width |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
