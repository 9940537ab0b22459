"""SIMULATED consumer units. No household is behind them.

The sample of the paper (Consumer Expenditure Survey, interviews of the first quarter of 2017, with
family income and ten categorical predictors) cannot be had here. Its table 1 gives the columns, how
many levels each has, and the range of income; these are the same here. Everything else is *made
up*: shares of the levels, how the columns hang together, and the distribution of income. So nothing
here says anything about households; it says how mechanisms cope with a table like this one.

Columns are drawn one after the other, each given some of those before it: region → size of the
place, metropolitan, urban → age → sex → marital status → education → family size → earner. Income
then is one of three kinds:

* most units: log-normal around a level that all predictors shift, a little skew to the left;
* some (more without an earner): far lower, a twentieth and less of the usual, down to nothing;
* a few: far higher, a Pareto tail.

A few units have lost money: a negative income. All are rounded to dollars.

Source: Savitsky, Williams & Hu (2020), table 1, for names and numbers of levels.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats
from understudy.schema import Schema

States = NDArray[np.int64]

N_ROWS = 6_208
SEED = 2_017_1
LOWER, UPPER = -10_000, 2_000_000
"""Public bounds of income, as the schema has them."""

WORDS = (
    "Simulated rows, no real ones: 6,208 consumer units with the ten categorical predictors, "
    "numbers of levels and the range of income of the paper’s own table, which cannot be had. "
    "Shares, dependences and the law of income are made up."
)

_REGION = (0.18, 0.21, 0.37, 0.24)
_PLACE = ((0.35, 0.55, 0.10), (0.27, 0.55, 0.18), (0.26, 0.54, 0.20), (0.40, 0.48, 0.12))
"""Urban type by region: centre of a city, other urban, rural."""
_AGE = (0.06, 0.16, 0.25, 0.28, 0.25)
_SCHOOL = (0.003, 0.03, 0.07, 0.24, 0.21, 0.105, 0.215, 0.127)
_WED = (
    (0.16, 0.00, 0.02, 0.01, 0.81),
    (0.45, 0.005, 0.06, 0.02, 0.465),
    (0.58, 0.01, 0.15, 0.03, 0.23),
    (0.57, 0.05, 0.21, 0.03, 0.14),
    (0.46, 0.30, 0.17, 0.02, 0.05),
)
"""Marital status by age: married, widowed, divorced, separated, never married."""
_OTHERS = (1.0, 1.35, 1.9, 0.75, 0.2)
"""Mean number of further members of a married unit, by age; a third of it for others."""
_EARNS = (2.2, 2.9, 2.7, 1.6, -0.8)
"""Log odds of an earner by age."""

_LEVEL = 10.5
_BY_AGE = (-0.55, 0.0, 0.2, 0.22, 0.05)
_BY_SCHOOL = (-0.6, -0.5, -0.32, 0.0, 0.12, 0.2, 0.5, 0.75)
_BY_WED = (0.42, -0.12, 0.0, -0.2, 0.0)
_BY_REGION = (0.1, 0.0, -0.04, 0.08)
_BY_PLACE = (0.0, 0.05, -0.12)


@cache
def schema() -> Schema:
    """The public schema: ten predictors, and income in dollars."""
    return Schema.loads((files(__package__) / "consumers.toml").read_text(encoding="utf-8"))


@cache
def consumers() -> dict[str, NDArray[np.int64]]:
    """The simulated table, always the same: states of the predictors, and income in dollars."""
    found = drawn(N_ROWS, np.random.default_rng(SEED))
    for values in found.values():
        values.flags.writeable = False
    return found


def drawn(n: int, rng: np.random.Generator) -> dict[str, States]:
    """Consumer units of this population, each column of shape (n,)."""
    states: dict[str, States] = {}
    _add_place(states, n, rng)
    _add_people(states, n, rng)
    states["income"] = _incomes(states, n, rng)
    return {name: states[name] for name in schema().names}


def _add_place(states: dict[str, States], n: int, rng: np.random.Generator) -> None:
    """Region, then the type of place, the metropolitan area and whether it is urban."""
    states["region"] = _chosen(np.array(_REGION), n, rng)
    states["urban_type"] = place = _chosen(np.array(_PLACE)[states["region"]], n, rng)
    area = np.array([(0.93, 0.06, 0.01), (0.82, 0.14, 0.04), (0.45, 0.27, 0.28)])
    states["cbsa"] = _chosen(area[place], n, rng)
    states["urban"] = (rng.random(n) < np.array([0.0, 0.01, 0.48])[place]).astype(np.int64)


def _add_people(states: dict[str, States], n: int, rng: np.random.Generator) -> None:
    """Age, sex, marital status, education, family size and earner of a unit."""
    states["age"] = age = _chosen(np.array(_AGE), n, rng)
    states["gender"] = (rng.random(n) < 0.53).astype(np.int64)
    states["marital"] = wed = _chosen(np.array(_WED)[age], n, rng)
    school = np.tile(_SCHOOL, (n, 1))
    school[age == 0] *= (1, 1, 1, 1.2, 2.2, 0.7, 0.5, 0.1)
    school[age == 4] *= (2, 2.5, 1.6, 1.3, 0.8, 0.7, 0.7, 0.8)
    school[states["urban_type"] == 2] *= (1, 1.2, 1.3, 1.3, 1.0, 1.1, 0.7, 0.6)
    states["education"] = _chosen(school, n, rng)
    others = np.array(_OTHERS)[age] * np.where(wed == 0, 1.0, 1 / 3)
    alone = np.where(wed == 0, 1, 0)
    states["family_size"] = np.minimum(alone + rng.poisson(rng.gamma(2.5, others / 2.5)), 10)
    odds = np.array(_EARNS)[age] + 0.5 * (wed == 0) + 0.12 * (states["education"] - 3)
    states["earner"] = (rng.random(n) > 1 / (1 + np.exp(-odds))).astype(np.int64)


def _incomes(states: dict[str, States], n: int, rng: np.random.Generator) -> States:
    """Income in dollars, within the public bounds."""
    idle = states["earner"] == 1
    level = _LEVEL + _effects(states) - 0.75 * idle
    usual = (
        level + np.where(idle, 0.5, 0.58) * rng.standard_normal(n) - 0.22 * rng.exponential(1.0, n)
    )
    low = level - 1.6 - rng.exponential(1.4, n)
    high = level + 0.9 + rng.exponential(0.37, n)
    kind = rng.random(n)
    poor = kind < np.where(idle, 0.04, 0.02)
    logs = np.where(poor, low, np.where(kind > np.where(idle, 0.995, 0.965), high, usual))
    lost = rng.random(n) < 0.0012
    money = np.where(lost, -np.exp(8.45 + 0.5 * rng.standard_normal(n)), np.exp(logs))
    return np.asarray(np.clip(np.rint(money), LOWER, UPPER), dtype=np.int64)


def _effects(states: dict[str, States]) -> Floats:
    """What the predictors add to the level of log income."""
    size = np.minimum(states["family_size"], 5)
    return np.asarray(
        np.array(_BY_AGE)[states["age"]]
        + np.array(_BY_SCHOOL)[states["education"]]
        + np.array(_BY_WED)[states["marital"]]
        + np.array(_BY_REGION)[states["region"]]
        + np.array(_BY_PLACE)[states["urban_type"]]
        + np.array((0.1, 0.0, -0.08))[states["cbsa"]]
        - 0.06 * states["gender"]
        + 0.11 * size
        - 0.02 * states["urban"],
        dtype=np.float64,
    )


def _chosen(shares: ArrayLike, n: int, rng: np.random.Generator) -> States:
    """A level for each record, with probabilities ∝ shares of shape (levels,) or (n, levels)."""
    heights = np.cumsum(np.asarray(shares, dtype=np.float64), axis=-1)
    places = rng.random(n) * heights[..., -1]
    return np.asarray((heights <= places[:, None]).sum(axis=-1), dtype=np.int64)
