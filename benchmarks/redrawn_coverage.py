"""Do models of sets from redrawn tables hold the truth? ``python benchmarks/redrawn_coverage.py``.

A made population of 400,000 people: two traits that go together; a group of four levels, two items
of five levels, age (heaped at both bounds), skewed income, a truth value, a region of three levels.
Each repetition draws a sample, releases eight posterior sets by `marginals` (δ = 10⁻⁶, private
rows) and buys no answers, so that models of two or three columns are answered from the sets, if
their columns were measured together. The truth is the coefficient in the population. Printed for
each question: how many releases answer it, the share of 95 % intervals that hold the truth (over
its coefficients but the constant), the mean error and its deviation in standard errors, and the
median part of variances that is noise and synthesis.

    --runs K      releases, 60 if it is not said
    --rows N      4000
    --epsilon E   1
    --lines PART  of the budget for number lines, which such records take in; 0
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pandas as pd
import polars as pl
import statsmodels.formula.api as smf

import understudy as us
from made_population import Population, levels, number, truth_value

PEOPLE, SETS = 400_000, 8
QUESTIONS = (
    *(("ols", "w ~ y"), ("ols", "age ~ y"), ("ols", "income ~ w"), ("ols", "income ~ age")),
    *(("ols", "y ~ t"), ("ols", "income ~ t"), ("logit", "t ~ w"), ("logit", "t ~ age")),
    *(("ols", "y ~ g"), ("ols", "age ~ g"), ("logit", "t ~ g"), ("logit", "t ~ v")),
    *(("ols", "y ~ w + t"), ("ols", "age ~ y + t")),
)


def people(rng: np.random.Generator) -> Population:
    """All of them."""
    first, noise = rng.normal(size=PEOPLE), rng.normal(size=(5, PEOPLE))
    second = 0.6 * first + 0.8 * rng.normal(size=PEOPLE)
    group = np.searchsorted([0.45, 0.75, 0.9], rng.random(PEOPLE))
    moved = np.array([0, 0.4, -0.5, 0.9])[group]
    region = np.searchsorted([0.5, 0.8], rng.random(PEOPLE) * 0.7 + 0.3 * (moved > 0))
    table = {
        "g": np.array(list("pqrs"))[group],
        "y": np.searchsorted([-1.1, -0.2, 0.6, 1.4], first + moved + 0.5 * noise[0]),
        "w": np.searchsorted([-1.4, -0.5, 0.3, 1.2], 0.8 * second + 0.5 * noise[1]),
        "age": np.rint(50 + 11.2 * (first + noise[2])).clip(18, 90).astype(int),
        "income": np.rint(np.exp(7.4 + 0.5 * second + 0.5 * noise[3])).clip(0, 20_000).astype(int),
        "t": noise[4] + 0.5 * second > 0.35,
        "v": np.array(list("klm"))[region],
    }
    columns = {
        "g": levels(*"pqrs"),
        "y": levels(*range(5), kind="ordinal"),
        "w": levels(*range(5), kind="ordinal"),
        "age": number(18, 90),
        "income": number(0, 20_000),
        "t": truth_value(),
        "v": levels(*"klm"),
    }
    return Population(pl.DataFrame(table), {"columns": columns})


def truth(kind: str, formula: str, everybody: pd.DataFrame) -> dict[str, float]:
    """Coefficients in the population, without the constant."""
    fit = {"ols": smf.ols, "logit": smf.logit}[kind](formula, everybody)
    values = (fit.fit() if kind == "ols" else fit.fit(disp=0)).params
    return {str(name): float(value) for name, value in values.items() if name != "Intercept"}


def answered(release: us.Release, kind: str, formula: str) -> pd.DataFrame | None:
    """Coefficients without the constant; None if the model is refused."""
    try:
        return us.analyze(release, kind, formula).to_frame().iloc[1:]
    except us.UnderstudyError:
        return None


def told(frame: pd.DataFrame, wanted: dict[str, float]) -> Iterator[tuple[bool, float, float]]:
    """Of each coefficient whether the truth lies inside, the error in errors, and the noise."""
    for true, (_, row) in zip(wanted.values(), frame.iterrows(), strict=True):
        inside = bool(row["lower"] <= true <= row["upper"])
        yield inside, (row["estimate"] - true) / row["stderr"], row["synthesis_share"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--lines", default="0")
    asked = parser.parse_args()
    population = people(np.random.default_rng(1))
    whole = population.people.to_pandas().astype({"t": float})
    wanted = {question: truth(*question, whole) for question in QUESTIONS}
    found, often = defaultdict(list), defaultdict(int)
    for run in range(asked.runs):
        release = us.synthesize(
            population.people.sample(asked.rows, seed=run),
            population.schema("private", asked.rows),
            epsilon=asked.epsilon,
            delta="1e-6",
            method="marginals",
            sets=SETS,
            budget={"answers": 0, "lines": asked.lines},
        )
        for question in QUESTIONS:
            frame = answered(release, *question)
            if frame is not None:
                often[question] += 1
                found[question] += told(frame, wanted[question])
    print(
        f"{'question':22} {'answered':>8} {'inside':>7} {'error':>7} {'deviation':>9} {'noise':>6}"
    )
    for question in QUESTIONS:
        if often[question]:
            inside, error, noise = np.array(found[question], dtype=float).T
            line = f"{inside.mean():7.3f} {error.mean():7.2f} {error.std():9.2f} "
            print(f"{' '.join(question):22} {often[question]:8} {line}{np.median(noise):6.2f}")
    everything = [inside for several in found.values() for inside, _, _ in several]
    print(f"{'all':22} {sum(often.values()):8} {np.mean(everything):7.3f}")


if __name__ == "__main__":
    main()
