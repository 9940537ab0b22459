"""The population of study 3: 24 cells of three columns, and two numbers with a common covariance.

Only the numbers of levels, the range of the shares and the number of records are the paper's; the
rest is a guess (its table of values is not in the text that we have).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy_studies.framework.interval_tally import Values

LEVELS = (2, 3, 4)
CELLS = 24
NUMBERS = 2
SMALLEST, LARGEST = 0.007, 0.076
BOUNDS = (-3.75, 3.75)
WIDTH = BOUNDS[1] - BOUNDS[0]
VARIANCE = 1.0
CORRELATION = 0.5


@dataclass(frozen=True)
class Scenario:
    """A population.

    Attributes:
        n_rows: number of records, public.
        correlation: of the two numbers within every cell.
        centre: middle of the cells' means, where the bounds have theirs at 0.
        spread: half of the width of the grid of these means.
    """

    n_rows: int
    correlation: float = CORRELATION
    centre: float = 0.0
    spread: float = 1.0


def shares() -> Values:
    """Probabilities of the cells, shape (24,): from 0.007 to 0.076 in nearly equal steps.

    They are spread over the table, so that no level of a column is rare.

    Example:
        >>> found = shares()
        >>> found.min(), found.max(), round(float(found.sum()), 12)
        (np.float64(0.007), np.float64(0.076), 1.0)
    """
    steps = np.linspace(SMALLEST, LARGEST, CELLS)
    steps[1:-1] += (1 - steps.sum()) / (CELLS - 2)
    return steps[np.arange(CELLS) * 7 % CELLS]


def means(centre: float = 0.0, spread: float = 1.0) -> Values:
    """Means of the numbers in every cell, shape (24, 2): a grid of 6 × 4 points about a centre."""
    first, second = np.divmod(np.arange(CELLS), 4)
    grid = np.stack([np.linspace(-1, 1, 6)[first], np.linspace(-1, 1, 4)[second]], axis=1)
    return centre + spread * grid


def covariance(correlation: float) -> Values:
    """Covariance of the numbers within every cell, shape (2, 2)."""
    return VARIANCE * np.array([[1.0, correlation], [correlation, 1.0]])


def marginals(cells: Values) -> Values:
    """Shares of the 2 + 3 + 4 levels, shape (..., 24) → (..., 9)."""
    table = cells.reshape(*cells.shape[:-1], *LEVELS)
    return np.concatenate(
        [table.sum(axis=(-2, -1)), table.sum(axis=(-3, -1)), table.sum(axis=(-3, -2))], axis=-1
    )


@dataclass(frozen=True)
class Data:
    """Records of several sets.

    Attributes:
        cells: cell of each record, shape (sets, n).
        values: numbers within the bounds, shape (sets, n, 2).
    """

    cells: NDArray[np.int64]
    values: Values

    @property
    def places(self) -> NDArray[np.int64]:
        """24 · set + cell of every record, shape (sets · n,)."""
        return np.asarray((self.cells + CELLS * np.arange(len(self.cells))[:, None]).ravel())


def drawn(scenario: Scenario, repetitions: int, rng: np.random.Generator) -> Data:
    """Confidential data; numbers are clipped to the bounds."""
    shape = (repetitions, scenario.n_rows)
    cells = rng.choice(CELLS, size=shape, p=shares())
    root = np.linalg.cholesky(covariance(scenario.correlation))
    values = rng.standard_normal((*shape, NUMBERS)) @ root.T
    values += means(scenario.centre, scenario.spread)[cells]
    return Data(cells.astype(np.int64), np.clip(values, *BOUNDS))
