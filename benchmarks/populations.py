"""Made-up populations with known truth.

Each is drawn once, so that its values are the truth, and rows are drawn from it with replacement.
One has the table, schema and numbers of `docs/how-to/steward.md`; the others have one difficulty
each, said in their first line. Two are in `wider_populations.py`: the survey of `make demo`, whose
rows are the population, and 35 columns. What is asked stands in `natural_questions.py`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from made_population import CODEBOOK, Population, absent, levels, number, truth_value
from wider_populations import demo, wide

GUIDE = Path(__file__).parents[1] / "docs" / "how-to" / "steward.md"
SIZE = 200_000


@cache
def population(name: str) -> Population:
    """One of `POPULATIONS`, always the same."""
    return POPULATIONS[name](np.random.default_rng(1))


def _readme(rng: np.random.Generator) -> Population:
    """The table of the steward's guide: 5 % of incomes absent, and a structural zero."""
    age = rng.integers(18, 90, SIZE)
    works = np.where(age < 67, rng.random(SIZE) < 0.7, False)
    income = np.where(works, rng.lognormal(10, 0.6, SIZE), 0).round()
    people = pl.DataFrame({"age": age, "sex": rng.choice(["f", "m"], SIZE), "works": works})
    people = people.with_columns(income=absent(income, rng.random(SIZE) < 0.05))
    text = re.search(r"```toml\n(title.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    declared = tomllib.loads(text[1])
    return Population(people, declared)


def _skewed(rng: np.random.Generator) -> Population:
    """Lognormal income and wealth, bounds at 20 and more times their medians."""
    age, region = rng.integers(18, 91, SIZE), rng.choice(5, SIZE, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    employed = rng.random(SIZE) < 1 / (1 + np.exp((age - 60) / 8))
    log_income = 9.8 + 0.4 * employed + 0.1 * region + rng.normal(0, 0.9, SIZE)
    log_wealth = 9 + 0.6 * (log_income - 10) + 0.02 * (age - 50) + rng.normal(0, 1.1, SIZE)
    people = pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], SIZE),
            "region": np.array(list("abcde"))[region],
            "employed": employed,
            "income": np.minimum(np.exp(log_income), 500_000).round(),
            "wealth": np.minimum(np.exp(log_wealth), 1_000_000).round(),
        }
    )
    edges = (0, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000)
    columns = {
        "age": number(18, 90, 18, 30, 45, 60, 75, 90),
        "sex": levels("f", "m"),
        "region": levels(*"abcde"),
        "employed": truth_value(),
        "income": number(0, 500_000, *edges, 500_000),
        "wealth": number(0, 1_000_000, *edges, 320_000, 1_000_000),
    }
    return Population(people, {"columns": columns})


def _heaped(rng: np.random.Generator) -> Population:
    """Hours heaped at 40, 20 and 35, where no spike is declared but at 0."""
    contract = rng.choice(["full", "part", "none"], SIZE, p=[0.55, 0.25, 0.2])
    usual = np.select([contract == "full", contract == "part"], [40.0, 20.0], 0.0)
    heap = rng.random(SIZE) < 0.65
    free = np.clip(np.rint(usual + rng.normal(0, 7, SIZE)), 1, 80)
    hours = np.where(usual == 0, 0, np.where(heap, usual, free))
    hours = np.where((contract == "full") & (rng.random(SIZE) < 0.15), 35, hours).astype(int)
    age, sex = rng.integers(18, 71, SIZE), rng.choice(["f", "m"], SIZE)
    pay = 4 + 0.12 * age + 3 * (sex == "m") + 0.1 * hours
    content = np.clip(np.rint(3 + 0.02 * (hours - 25) + rng.normal(0, 1, SIZE)), 1, 5)
    people = pl.DataFrame(
        {
            "age": age,
            "sex": sex,
            "contract": contract,
            "hours": hours,
            "pay": np.clip(pay + rng.gamma(2, 3, SIZE), 0, 80).round(1),
            "content": content.astype(int),
        }
    )
    columns = {
        "age": number(18, 70, 18, 30, 40, 50, 60, 70),
        "sex": levels("f", "m"),
        "contract": levels("full", "part", "none"),
        "hours": number(0, 80, 0, 15, 30, 45, 60, 80, spikes=[0]),
        "pay": number(0, 80, 0, 10, 15, 20, 30, 50, 80, kind="continuous", decimals=1),
        "content": levels(1, 2, 3, 4, 5, kind="ordinal"),
    }
    return Population(people, {"columns": columns})


def _top_coded(rng: np.random.Generator) -> Population:
    """A fifth of incomes lie on the upper bound in the rows; a sixth of assets lie beyond it."""
    age, sex = rng.integers(18, 81, SIZE), rng.choice(["f", "m"], SIZE)
    school = np.clip(np.rint(rng.normal(12, 2.5, SIZE)), 6, 18).astype(int)
    log_income = 8.9 + 0.12 * school + 0.15 * (sex == "m") + rng.normal(0, 0.5, SIZE)
    assets = np.exp(9 + 0.02 * (age - 50) + rng.normal(0, 0.9, SIZE))
    people = pl.DataFrame(
        {
            "age": age,
            "sex": sex,
            "school": school,
            "owner": rng.random(SIZE) < 0.3 + 0.005 * (age - 18),
            "income": np.minimum(np.exp(log_income), 55_000).round(),
            "assets": assets.round(),
        }
    )
    columns = {
        "age": number(18, 80, 18, 30, 45, 60, 80),
        "sex": levels("f", "m"),
        "school": number(6, 18, 6, 10, 12, 14, 16, 18),
        "owner": truth_value(),
        "income": number(0, 55_000, 0, 10_000, 20_000, 30_000, 40_000, 55_000),
        "assets": number(0, 20_000, 0, 5_000, 10_000, 15_000, 20_000),
    }
    return Population(people, {"columns": columns}, beyond=("assets",))


def _rare(rng: np.random.Generator) -> Population:
    """A group of 1 %, a predictor of 5 %, an outcome of 3 %."""
    age, member = rng.integers(18, 81, SIZE), rng.random(SIZE) < 0.01
    disabled = rng.random(SIZE) < 0.05
    sex = rng.choice(["f", "m"], SIZE)
    poor = rng.random(SIZE) < 0.03 + 0.12 * disabled + 0.1 * member
    origin = rng.choice(["north", "south", "abroad"], SIZE, p=[0.59, 0.4, 0.01])
    score = np.clip(rng.normal(50, 10, SIZE) - 6 * disabled - 8 * member, 0, 100).round(1)
    people = pl.DataFrame(
        {
            "age": age,
            "sex": sex,
            "member": member,
            "disabled": disabled,
            "poor": poor,
            "origin": origin,
            "score": score,
        }
    )
    columns = {
        "age": number(18, 80, 18, 30, 45, 60, 80),
        "sex": levels("f", "m"),
        "member": truth_value(),
        "disabled": truth_value(),
        "poor": truth_value(),
        "origin": levels("north", "south", "abroad"),
        "score": number(0, 100, 0, 30, 40, 50, 60, 70, 100, kind="continuous", decimals=1),
    }
    return Population(people, {"columns": columns})


def _default_bins(rng: np.random.Generator) -> Population:
    """Numbers without declared bins, and an outcome whose variance grows with its predictor."""
    income = np.clip(rng.gamma(2.5, 12_000, SIZE), 0, 200_000).round()
    size = 1 + rng.binomial(4, 0.35, SIZE)
    food = 0.12 * income + 700 * size + income * 0.07 * rng.normal(0, 1, SIZE)
    urban = rng.random(SIZE) < 0.6
    rent = 3_000 + 0.15 * income + 2_000 * urban + rng.gamma(2, 1_500, SIZE)
    people = pl.DataFrame(
        {
            "income": income,
            "food": np.clip(food, 0, 40_000).round(),
            "rent": np.clip(rent, 0, 60_000).round(),
            "size": size,
            "urban": urban,
            "tenure": rng.choice(["own", "rent", "free"], SIZE, p=[0.5, 0.42, 0.08]),
        }
    )
    columns = {
        "income": number(0, 200_000, kind="continuous", decimals=0),
        "food": number(0, 40_000, kind="continuous", decimals=0),
        "rent": number(0, 60_000, kind="continuous", decimals=0),
        "size": number(1, 5),
        "urban": truth_value(),
        "tenure": levels("own", "rent", "free"),
    }
    return Population(people, {"columns": columns})


def _survey(rng: np.random.Generator) -> Population:
    """Fourteen columns, coded absences in four of them, and a structural zero."""
    age, sex = rng.integers(16, 86, SIZE), rng.choice(["f", "m"], SIZE)
    adult, school = age >= 25, np.clip(np.rint(rng.normal(11, 3, SIZE)), 0, 20).astype(int)
    married = (age >= 18) & (rng.random(SIZE) < np.where(adult, 0.6, 0.1))
    works = rng.random(SIZE) < np.where(age < 65, 0.35 + 0.03 * school, 0.05)
    hours = np.where(works, np.clip(rng.normal(37, 9, SIZE).round(), 1, 80), 0).astype(int)
    pay = np.where(works, np.exp(6.6 + 0.07 * school + rng.normal(0, 0.5, SIZE)), 0)
    health = np.clip(np.rint(4.4 - 0.02 * age + rng.normal(0, 0.9, SIZE)), 1, 5).astype(int)
    trust = np.clip(np.rint(2 + 0.2 * school + rng.normal(0, 2, SIZE)), 0, 10).astype(int)
    votes = rng.random(SIZE) < np.clip(0.3 + 0.004 * age + 0.01 * school, 0, 1)
    people = pl.DataFrame(
        {
            "age": age,
            "sex": sex,
            "region": rng.choice(list("abcdef"), SIZE),
            "married": married,
            "school": np.where(rng.random(SIZE) < 0.04, -9, school),
            "works": works,
            "hours": hours,
            "pay": np.where(works & (rng.random(SIZE) < 0.15), -9, np.minimum(pay, 20_000).round()),
            "health": np.where(rng.random(SIZE) < 0.02, -9, health),
            "trust": np.where(rng.random(SIZE) < 0.03, -9, trust),
            "votes": votes,
            "online": rng.random(SIZE) < 1 / (1 + np.exp((age - 65) / 10)),
            "house": rng.choice(["flat", "house", "other"], SIZE, p=[0.45, 0.5, 0.05]),
            "children": np.where(adult, rng.binomial(4, 0.4, SIZE), 0),
        }
    )
    columns = {
        "age": number(16, 85, 16, 18, 25, 35, 45, 55, 65, 75, 85),
        "sex": levels("f", "m"),
        "region": levels(*"abcdef"),
        "married": truth_value(),
        "school": number(0, 20, 0, 8, 10, 12, 14, 16, 20, missing=[-9]),
        "works": truth_value(),
        "hours": number(0, 80, 0, 20, 35, 45, 80, spikes=[0]),
        "pay": number(0, 20_000, 0, 1_000, 2_000, 4_000, 8_000, 20_000, spikes=[0], missing=[-9]),
        "health": levels(1, 2, 3, 4, 5, kind="ordinal", missing=[-9]),
        "trust": number(0, 10, missing=[-9]),
        "votes": truth_value(),
        "online": truth_value(),
        "house": levels("flat", "house", "other"),
        "children": number(0, 4),
    }
    rule = {"where": {"married": True, "age": {"lower": 16, "upper": 17}}, **CODEBOOK}
    declared = {"columns": columns, "forbidden": [rule]}
    return Population(people, declared)


POPULATIONS: dict[str, Callable[[np.random.Generator], Population]] = {
    "readme": _readme,
    "skewed": _skewed,
    "heaped": _heaped,
    "top-coded": _top_coded,
    "rare": _rare,
    "default bins": _default_bins,
    "survey": _survey,
    "demo": demo,
    "wide": wide,
}
