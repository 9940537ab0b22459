"""The two populations: a number that depends on four columns, by main effects or by cell.

Records fall into the 2 × 3 × 4 × 5 cells of four independent columns; the number is normal with
variance 1 about the mean of its cell, and clipped to public bounds, which it reaches once in ten
thousand records.

How likely the levels of a column are is not printed, but it decides what the paper says of its
choice of groups: "the group of variables (X1, X2, X4) had much smaller AIC than the group (X3, Y)".
`level_aic` tells which laws of the levels bear that out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.schema import Schema
from understudy_studies.framework.interval_tally import Values

Model = Literal["main effects", "saturated"]
MAIN: Model = "main effects"
SATURATED: Model = "saturated"

SIZES = (2, 3, 4, 5)
CELLS = 120
NAMES = ("x1", "x2", "x3", "x4")
BINS = 15
BOUNDS: dict[Model, tuple[float, float]] = {MAIN: (-4.0, 6.0), SATURATED: (-6.0, 6.0)}
"""Public ends of the number; 15 bins of equal width lie between them."""

EFFECTS = ((0.5,), (0.5, -0.8), (1.0, 0.5, 0.5), (0.5, 0.7, 0.8, 0.5))
"""Of the second and further levels of each column; the first level is the reference."""
INTERCEPT = 0.0
SEED = 2021
"""Of the coefficients of the saturated model, drawn once from N(0, 1)."""


Levels = Literal["x4 rare", "alike", "x3 unequal"]
RARE: Levels = "x4 rare"
ALIKE: Levels = "alike"
UNEQUAL: Levels = "x3 unequal"
SHARES: dict[Levels, dict[str, tuple[float, ...]]] = {
    RARE: {"x4": (0.97, 0.0075, 0.0075, 0.0075, 0.0075)},
    ALIKE: {},
    UNEQUAL: {"x3": (0.1, 0.2, 0.3, 0.4)},
}
"""Probabilities of the levels of a column, where they are not all alike."""


@dataclass(frozen=True)
class Scenario:
    """A population and a size.

    Attributes:
        model: how the number depends on the columns.
        n_rows: number of records, public.
        levels: how likely the levels of the columns are.
    """

    model: Model
    n_rows: int
    levels: Levels = ALIKE


@dataclass(frozen=True)
class Data:
    """Records.

    Attributes:
        cells: cell of each record in C order, shape (..., n).
        values: the number of each record, shape (..., n).
    """

    cells: NDArray[np.int64]
    values: Values

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Data:
        """From a table of the schema's columns."""
        states = [frame[name].to_numpy() for name in NAMES]
        return cls(np.ravel_multi_index(states, SIZES), frame["y"].to_numpy())

    def frame(self) -> pl.DataFrame:
        """As a table of the schema's columns."""
        states = np.unravel_index(self.cells, SIZES)
        columns = dict(zip(NAMES, states, strict=True))
        return pl.DataFrame({**columns, "y": self.values})


def design(model: Model) -> Values:
    """What each coefficient contributes to the mean of each cell, shape (120, coefficients).

    Main effects: intercept and one column for each level but the first, 11 in all. Saturated: one
    for each cell.
    """
    if model == SATURATED:
        return np.eye(CELLS)
    states = np.unravel_index(np.arange(CELLS), SIZES)
    columns = [np.ones(CELLS)]
    for size, state in zip(SIZES, states, strict=True):
        columns += [(state == level).astype(np.float64) for level in range(1, size)]
    return np.stack(columns, axis=1)


def coefficients(model: Model) -> Values:
    """The true coefficients, shape (coefficients,)."""
    if model == SATURATED:
        return np.random.default_rng(SEED).standard_normal(CELLS)
    return np.array([INTERCEPT, *(effect for effects in EFFECTS for effect in effects)])


def labels(model: Model) -> tuple[str, ...]:
    """Names of the coefficients.

    Example:
        >>> labels("main effects")[:4], labels("saturated")[-1]
        (('intercept', 'x1 = 2', 'x2 = 2', 'x2 = 3'), 'cell 2·3·4·5')
    """
    if model == MAIN:
        levels = [
            (name, k + 1) for name, size in zip(NAMES, SIZES, strict=True) for k in range(size)
        ]
        return ("intercept", *(f"{name} = {level}" for name, level in levels if level > 1))
    cells = np.stack(np.unravel_index(np.arange(CELLS), SIZES), axis=1) + 1
    return tuple("cell " + "·".join(map(str, cell)) for cell in cells.tolist())


@cache
def cell_shares(levels: Levels) -> Values:
    """Probability of each cell, shape (120,)."""
    shares = np.ones(1)
    for name, size in zip(NAMES, SIZES, strict=True):
        shares = np.multiply.outer(shares, SHARES[levels].get(name, (1 / size,) * size))
    return shares.reshape(-1)


def drawn(scenario: Scenario, n: int, rng: np.random.Generator) -> Data:
    """Records of the population; numbers are clipped to the public bounds.

    Args:
        scenario: the population; its size does not matter here.
        n: number of records.
        rng: randomness.
    """
    cells = rng.choice(CELLS, size=n, p=cell_shares(scenario.levels))
    means = design(scenario.model) @ coefficients(scenario.model)
    values = means[cells] + rng.standard_normal(n)
    return Data(cells, np.clip(values, *BOUNDS[scenario.model]))


@cache
def schema(scenario: Scenario) -> Schema:
    """The public schema: four columns with declared levels, and a number with declared bins."""
    low, high = BOUNDS[scenario.model]
    columns = [
        f'[columns.{name}]\nkind = "categorical"\nlevels = {list(range(size))}\n{_REVIEWED}'
        for name, size in zip(NAMES, SIZES, strict=True)
    ]
    number = f'kind = "continuous"\nlower = {low}\nupper = {high}\nbins = {BINS}\n{_REVIEWED}'
    head = f'title = "simulated records"\nrows = "public"\nn_rows = {scenario.n_rows}\n'
    return Schema.loads("\n".join([head, *columns, "[columns.y]", number]))


_REVIEWED = 'source = "of the simulation"\nreviewed = true\n'
