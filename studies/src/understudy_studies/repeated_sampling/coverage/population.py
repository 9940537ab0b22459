"""A population whose every mean, share and slope is known.

`DESCRIPTION` says what it is. True values are sums over the 18 cells of (a, rare, x), in each of
which the moments of y are those of a truncated normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from understudy._arrays import Floats
from understudy.schema import Schema
from understudy_studies.framework.interval_tally import Estimand

A_LEVELS = ("p", "q", "r")
P_A = np.array([0.5, 0.3, 0.2])
P_RARE_GIVEN_A = np.array([0.01, 0.02, 0.04])
TRIALS, P_TRIAL_GIVEN_A = 2, np.array([0.3, 0.5, 0.6])
INTERCEPT, SLOPE, SHIFT_A = 1.0, 0.5, np.array([0.0, 0.5, -0.5])
LOWER, UPPER = -2.5, 5.0

DESCRIPTION = (
    "Four variables, each conditional on those before it: a is p, q or r with probability 0.5, "
    "0.3, 0.2; rare is true with probability 0.01, 0.02, 0.04 for a = p, q, r, which is 1.9 % of "
    "all; x is binomial of 2 trials with probability 0.3, 0.5, 0.6 for a = p, q, r; y is normal "
    "with standard deviation 1 around 1 + 0.5·x + 0, 0.5, −0.5 for a = p, q, r, truncated to "
    "−2.5 … 5. The schema puts y into five bins, so the study includes what binning costs; x has a "
    "state for each value. That makes 90 cells in all. True values are exact, by enumeration."
)

_COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["p", "q", "r"]
reviewed = true
source = "the simulation's design"
[columns.rare]
kind = "boolean"
reviewed = true
source = "the simulation's design"
[columns.x]
kind = "integer"
lower = 0
upper = 2
reviewed = true
source = "the simulation's design"
[columns.y]
kind = "continuous"
lower = -2.5
upper = 5
bins = 5
reviewed = true
source = "the simulation's design"
"""


@cache
def schema(rows: Literal["private", "public"], n: int) -> Schema:
    """The public schema; 90 cells in all."""
    declared = f"n_rows = {n}\n" if rows == "public" else ""
    return Schema.loads(f'rows = "{rows}"\n{declared}{_COLUMNS}')


def sample(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Independent people, as many as n."""
    a = rng.choice(3, size=n, p=P_A)
    rare = rng.random(n) < P_RARE_GIVEN_A[a]
    x = rng.binomial(TRIALS, P_TRIAL_GIVEN_A[a])
    centre = _centre(a, x)
    low, high = stats.norm.cdf(LOWER - centre), stats.norm.cdf(UPPER - centre)
    y = centre + stats.norm.ppf(low + rng.random(n) * (high - low))
    return pl.DataFrame(
        {
            "a": np.array(A_LEVELS)[a],
            "rare": rare,
            "x": x,
            "y": np.clip(y, LOWER, UPPER),
        }
    )


def _centre(a: NDArray[np.int64], x: NDArray[np.int64]) -> Floats:
    return np.asarray(INTERCEPT + SLOPE * x + SHIFT_A[a])


@dataclass(frozen=True)
class _Cells:
    """The cells of (a, rare, x), their probabilities, and the moments of y in each."""

    a: NDArray[np.int64]
    rare: NDArray[np.int64]
    x: NDArray[np.int64]

    @cached_property
    def probability(self) -> Floats:
        p_rare = P_RARE_GIVEN_A[self.a]
        p_this = np.where(self.rare == 1, p_rare, 1 - p_rare)
        p_x = stats.binom.pmf(self.x, TRIALS, P_TRIAL_GIVEN_A[self.a])
        return np.asarray(P_A[self.a] * p_this * p_x)

    @cached_property
    def y_moments(self) -> tuple[Floats, Floats]:
        """Mean and mean square of y."""
        centre = _centre(self.a, self.x)
        distribution = stats.truncnorm(LOWER - centre, UPPER - centre, loc=centre)
        return distribution.mean(), distribution.var() + distribution.mean() ** 2

    def expected(self, values: Floats) -> Floats:
        """Mean of values given cell by cell, shape (cells, ...) → (...)."""
        return np.asarray(np.tensordot(self.probability, values, axes=1))


@cache
def estimands() -> tuple[Estimand, ...]:
    """What the study asks for, with true values by enumeration of the cells."""
    grid = np.array(list(product(range(3), range(2), range(TRIALS + 1)))).T
    cells = _Cells(*grid)
    mean_y, square_y = cells.y_moments
    x = cells.x.astype(float)
    in_cell = (cells.a == 1) & (cells.x == 1)
    rare, table = "rare[true]", "a[q]:x[1]"
    return (
        _mean(cells, mean_y, square_y, name="mean of y", term="y"),
        _mean(cells, x, x**2, name="mean of x", term="x"),
        _share(cells, cells.a == 0, name="common share", formula="a", term="a[p]"),
        _share(cells, cells.rare == 1, name="rare share", formula="rare", term=rare),
        _share(cells, in_cell, name="cell", kind="table", formula="a + x", term=table),
        _slope(cells, name="slope", formula="y ~ x + a", term="x"),
    )


def _mean(cells: _Cells, value: Floats, square: Floats, *, name: str, term: str) -> Estimand:
    mean = float(cells.expected(value))
    deviation = float(np.sqrt(cells.expected(square) - mean**2))
    return Estimand(name, "mean", term, term, mean, deviation)


def _share(
    cells: _Cells,
    has: NDArray[np.bool_],
    *,
    name: str,
    formula: str,
    term: str,
    kind: str = "proportion",
) -> Estimand:
    share = float(cells.expected(has.astype(float)))
    return Estimand(name, kind, formula, term, share, float(np.sqrt(share * (1 - share))))


def _slope(cells: _Cells, *, name: str, formula: str, term: str) -> Estimand:
    """Coefficient of x in the least squares of y on 1, x, [a = q], [a = r] over the population.

    Its error is the one that holds even where means do not lie on the line, and variances differ
    (White 1980), for the truncation of y makes them so.
    """
    ones = np.ones(len(cells.x))
    z = np.stack([ones, cells.x, cells.a == 1, cells.a == 2], axis=1).astype(float)
    mean_y, square_y = cells.y_moments
    inverse = np.linalg.inv(cells.expected(z[:, :, None] * z[:, None, :]))
    beta = inverse @ cells.expected(z * mean_y[:, None])
    fitted = z @ beta
    squared_residual = square_y - 2 * fitted * mean_y + fitted**2
    meat = cells.expected(z[:, :, None] * z[:, None, :] * squared_residual[:, None, None])
    deviation = float(np.sqrt((inverse @ meat @ inverse)[1, 1]))
    return Estimand(name, "ols", formula, term, float(beta[1]), deviation)
