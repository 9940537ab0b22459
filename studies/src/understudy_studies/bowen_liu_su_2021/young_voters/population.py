"""SIMULATED young voters. No row of any survey is behind them.

The file of the paper (Current Population Survey 2000-2012, n = 44,821) cannot be had. What the
paper prints of it are the shares of table 1; these hold here to ±0.3 points. How the attributes
hang together is *made up*: a sequence of logistic models with the plausible coefficients below.
So nothing here says anything about young voters; it says how methods cope with a table like theirs.

Where a row of table 1 does not add up to 100 %, its first number is taken and the other is the
rest: voted 34.7 (printed with 63.3), female 50.7 (with 40.3), white 69.3 (with 31.7), registered
52.4 (with 47.8, both called "yes"), business or farm 12.6 (with 12.62). Of the 14 shares of family
income the paper prints smallest, median and largest; the others are made up around them.

Attributes are drawn one after the other, each given those before it. The intercepts are solved for
so that probabilities average to the printed shares, and states are then drawn systematically (Madow
1949): in random order, a record has the event when the running sum of probabilities passes a whole
number. Each record keeps its probability, and shares deviate by rounding only.

Source: Bowen, Liu & Su (2021), "Differentially private data release via statistical election to
partition sequentially", METRON 79, table 1.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, softmax

from understudy.release.decoding import decode
from understudy.schema import Schema

Values = NDArray[np.float64]
States = NDArray[np.int64]

N_ROWS = 44_821
SEED = 20_022_012
_MOST_STEPS, _EXACT = 200, 1e-9

WORDS = (
    "Simulated rows, no real ones: 44,821 young voters with the marginal shares that the paper "
    "prints of its own file, which cannot be had. How the 15 columns hang together is made up. "
    "Nobody votes unregistered, so 1,290,240 cells can occur."
)

SHARES: dict[str, tuple[float, ...]] = {
    "voted": (65.3, 34.7),
    "preregistration": (89.5, 10.5),
    "age": (20.5, 19.7, 20.0, 20.0, 19.8),
    "married": (92.5, 7.5),
    "female": (49.3, 50.7),
    "income": (5.2, 3.1, 3.6, 4.6, 3.9, 5.4, 6.0, 6.6, 6.8, 5.8, 8.0, 7.2, 7.3, 26.5),
    "college": (96.9, 3.1),
    "white": (30.7, 69.3),
    "hispanic": (85.4, 14.6),
    "registered": (47.6, 52.4),
    "metropolitan": (22.1, 77.9),
    "residence": (2.7, 20.0, 6.9, 15.0, 9.8, 45.6),
    "business": (87.4, 12.6),
    "in_person": (63.3, 36.7),
    "dmv": (87.3, 12.7),
}
"""Per cent of each level, in the order of the schema's levels."""

EFFECTS: dict[str, dict[str, float]] = {
    "age": {},
    "female": {},
    "white": {},
    "hispanic": {"white": -2.2},
    "metropolitan": {"white": -1.1, "hispanic": 0.7},
    "preregistration": {"hispanic": 0.9, "metropolitan": 0.5, "white": -0.2},
    "income": {"white": 0.75, "hispanic": -0.5, "metropolitan": 0.3},
    "college": {"age": 1.9, "income": 0.6, "female": 0.5, "white": 0.4},
    "married": {"age": 0.5, "female": 0.6, "college": 0.2, "income": -0.8, "metropolitan": -0.4,
                "hispanic": 0.4},
    "residence": {"income": 0.9, "age": -0.3, "married": -1.3, "college": -0.6, "white": -0.2},
    "business": {"income": 0.6, "metropolitan": -0.6, "white": 0.8},
    "in_person": {"residence": -0.5, "income": -0.3, "metropolitan": -0.3, "hispanic": 0.2},
    "registered": {"age": 0.2, "college": 0.8, "income": 0.35, "residence": 0.3, "hispanic": -0.6,
                   "female": 0.25, "preregistration": 0.2, "white": 0.3, "in_person": -0.2},
    "dmv": {"registered": 1.4, "preregistration": -0.5, "metropolitan": -0.2, "age": -0.1},
    "voted": {"age": 0.1, "college": 0.7, "income": 0.3, "residence": 0.25, "female": 0.2,
              "married": -0.4, "preregistration": 0.25, "hispanic": -0.2, "dmv": -0.3},
}  # fmt: skip
"""Attribute → its predictors with their coefficients, in the order in which they are drawn.

Predictors of two levels are 0 and 1; age, income and residence are scaled to mean 0 and standard
deviation 1. A coefficient is of the log odds of "yes", and for income and residence of the log odds
of each level against the others per standard deviation of the level. Only the registered can vote.
"""


@cache
def schema() -> Schema:
    """The public schema: 15 columns, 1,290,240 cells that can occur."""
    return Schema.loads((files(__package__) / "voters.toml").read_text(encoding="utf-8"))


@cache
def voters() -> pl.DataFrame:
    """The simulated rows, n = 44,821; always the same."""
    states = drawn(N_ROWS, np.random.default_rng(SEED))
    return decode([states[name] for name in schema().names], schema(), np.random.default_rng(SEED))


def drawn(n: int, rng: np.random.Generator) -> dict[str, States]:
    """States of each attribute, shape (n,)."""
    states: dict[str, States] = {}
    for name, effects in EFFECTS.items():
        target = np.array(SHARES[name]) / 100
        used = states["registered"] == 1 if name == "voted" else np.ones(n, dtype=np.bool_)
        score = sum((b * _scaled(other, states[other][used]) for other, b in effects.items()), 0.0)
        score = np.broadcast_to(score, (int(used.sum()),))
        target[1:] *= n / len(score)
        target[0] = 1 - target[1:].sum()
        states[name] = np.zeros(n, dtype=np.int64)
        states[name][used] = systematic(_probabilities(score, target), rng)
    return states


def _scaled(name: str, states: States) -> Values:
    """A predictor: 0 and 1, or levels of mean 0 and standard deviation 1 by the printed shares."""
    share = np.array(SHARES[name]) / 100
    if len(share) == 2:
        return states.astype(np.float64)
    levels = np.arange(len(share))
    mean = share @ levels
    return np.asarray((states - mean) / np.sqrt(share @ (levels - mean) ** 2))


def _probabilities(score: Values, target: Values) -> Values:
    """Probability of each level, shape (n, levels), with the target as mean over the records."""
    if len(target) == 2:
        found = brentq(lambda c: expit(score + c).mean() - target[1], -30, 30, xtol=1e-12)
        yes = expit(score + found)
        return np.stack([1 - yes, yes], axis=1)
    levels = np.arange(len(target))
    mean = target @ levels
    slopes = (levels - mean) / np.sqrt(target @ (levels - mean) ** 2)
    constant = np.log(target)
    for _ in range(_MOST_STEPS):
        found = softmax(constant + score[:, None] * slopes, axis=1)
        correction = np.log(target / found.mean(axis=0))
        constant += correction
        if np.abs(correction).max() < _EXACT:
            break
    return np.asarray(found)


def systematic(probability: Values, rng: np.random.Generator) -> States:
    """A level for each record, with its probability; levels are drawn one after the other.

    Args:
        probability: shape (n, levels), rows sum to 1.
        rng: order of the records and starting points.
    """
    n, levels = probability.shape
    states = np.full(n, levels - 1)
    left = rng.permutation(n)
    for level in range(levels - 1):
        rest = probability[left, level:].sum(axis=1)
        running = np.cumsum(np.minimum(probability[left, level] / rest, 1.0)) + rng.random()
        hit = np.floor(running) > np.floor(np.concatenate([running[:1] * 0, running[:-1]]))
        states[left[hit]] = level
        left = left[~hit]
    return states
