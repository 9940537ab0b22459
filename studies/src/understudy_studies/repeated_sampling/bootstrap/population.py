"""A population of five columns whose every mean, share and coefficient is known.

`DESCRIPTION` says what it is. It has 960 cells, and true values are sums over them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from understudy._arrays import Floats
from understudy.schema import Schema
from understudy_studies.framework.interval_tally import Estimand

N_X, N_Y = 4, 7
LEVELS = {"a": ("p", "q", "r"), "c": ("k", "l", "m", "n")}
P_A = np.array([0.5, 0.3, 0.2])
P_C_GIVEN_A = np.array([[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]])
P_X_GIVEN_A = np.array([0.35, 0.5, 0.6])

DESCRIPTION = (
    "Five variables, each conditional on those before it: a is p, q or r with probability 0.5, "
    "0.3, 0.2; c has four levels, with probabilities 0.4, 0.3, 0.2, 0.1 for a = p, equal ones for "
    "q, and 0.1, 0.2, 0.3, 0.4 for r; x is binomial of 4 trials with probability 0.35, 0.5, 0.6 "
    "for a = p, q, r; y is binomial of 7 trials with log-odds −1 + 0.4·x + 0.3·[a = q]; b is true "
    "with log-odds −1 + 0.5·x − 0.5·[c = k]. The schema has a state for each value, 960 cells in "
    "all. True values are exact, by enumeration."
)

_WHOLE = """
[columns.{name}]
kind = "integer"
lower = 0
upper = {upper}
bins = {bins}
reviewed = true
source = "the simulation's design"
"""
_NAMED = """
[columns.{name}]
kind = "categorical"
levels = {levels}
reviewed = true
source = "the simulation's design"
"""


@cache
def schema(n: int) -> Schema:
    """The public schema, the number of rows included."""
    named = "".join(
        _NAMED.format(name=name, levels=json.dumps(levels)) for name, levels in LEVELS.items()
    )
    whole = "".join(
        _WHOLE.format(name=name, upper=upper, bins=upper + 1)
        for name, upper in (("x", N_X), ("y", N_Y))
    )
    boolean = (
        '[columns.b]\nkind = "boolean"\nreviewed = true\nsource = "the simulation\'s design"\n'
    )
    return Schema.loads(f'rows = "public"\nn_rows = {n}\n{named}{whole}{boolean}')


@cache
def cells() -> tuple[dict[str, NDArray[np.int64]], Floats]:
    """State of each column in every cell, and the cells' probabilities."""
    a, c, x, y, b = (grid.reshape(-1) for grid in np.indices((3, 4, N_X + 1, N_Y + 1, 2)))
    odds_y = -1 + 0.4 * x + 0.3 * (a == 1)
    p_b = 1 / (1 + np.exp(1 - 0.5 * x + 0.5 * (c == 0)))
    probability = (
        P_A[a]
        * P_C_GIVEN_A[a, c]
        * stats.binom.pmf(x, N_X, P_X_GIVEN_A[a])
        * stats.binom.pmf(y, N_Y, 1 / (1 + np.exp(-odds_y)))
        * np.where(b == 1, p_b, 1 - p_b)
    )
    return {"a": a, "c": c, "x": x, "y": y, "b": b}, probability / probability.sum()


def sample(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Independent people, as many as n."""
    states, probability = cells()
    drawn = rng.choice(len(probability), size=n, p=probability)
    columns = {name: codes[drawn] for name, codes in states.items()}
    return pl.DataFrame(
        {
            "a": np.array(LEVELS["a"])[columns["a"]],
            "c": np.array(LEVELS["c"])[columns["c"]],
            "x": columns["x"],
            "y": columns["y"],
            "b": columns["b"] == 1,
        }
    )


@cache
def estimands() -> tuple[Estimand, ...]:
    """What the study asks for, with true values."""
    states, p = cells()
    x, y, b = (states[name].astype(np.float64) for name in "xyb")
    both = ((states["a"] == 1) & (states["b"] == 1)).astype(np.float64)
    ones = np.ones_like(x)
    line, plane = np.stack([ones, x], axis=1), np.stack([ones, x, b], axis=1)
    return (
        _mean(Estimand("mean of y", "mean", "y", "y"), y, p),
        _mean(Estimand("cell", "table", "a + b", "a[q]:b[true]"), both, p),
        _slope(Estimand("slope", "ols", "y ~ x", "x"), line, y, p),
        _slope(Estimand("slope, three columns", "ols", "y ~ x + b", "x"), plane, y, p),
        _log_odds(Estimand("log-odds", "logit", "b ~ x", "x"), line, b, p),
    )


def _mean(asked: Estimand, value: Floats, p: Floats) -> Estimand:
    mean = float(p @ value)
    return replace(asked, truth=mean, deviation=float(np.sqrt(p @ value**2 - mean**2)))


def _slope(asked: Estimand, z: Floats, y: Floats, p: Floats) -> Estimand:
    """Least squares over the population, with the error that holds under any variances (White)."""
    inverse = np.asarray(np.linalg.inv(z.T @ (p[:, None] * z)), dtype=np.float64)
    beta = inverse @ (z.T @ (p * y))
    deviation = _deviation(inverse, z * (y - z @ beta)[:, None], p)
    return replace(asked, truth=float(beta[1]), deviation=deviation)


def _log_odds(asked: Estimand, z: Floats, y: Floats, p: Floats) -> Estimand:
    """The logistic regression that is nearest to the population, by Newton's method."""
    beta = np.zeros(z.shape[1])
    for _ in range(50):
        share = 1 / (1 + np.exp(-(z @ beta)))
        hessian = z.T @ ((p * share * (1 - share))[:, None] * z)
        inverse = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
        beta = beta + inverse @ (z.T @ (p * (y - share)))
    deviation = _deviation(inverse, z * (y - share)[:, None], p)
    return replace(asked, truth=float(beta[1]), deviation=deviation)


def _deviation(inverse: Floats, scores: Floats, p: Floats) -> float:
    """Of the second coefficient, by the sandwich of scores."""
    covariance = inverse @ (scores.T @ (p[:, None] * scores)) @ inverse
    return float(np.sqrt(covariance[1, 1]))
