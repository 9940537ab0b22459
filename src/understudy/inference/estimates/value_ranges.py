"""Between which numbers the value of an expression lies in each cell of a table.

Of a record in a bin it is known that its number lies in the bin, and nothing else. What is said of
quantiles must hold wherever it lies, so each cell has a least and a largest value: of an expression
that rises or falls in each number, the values at the corners of the cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.errors import InferenceError
from understudy.inference.estimates.analysis_records import (
    ABSENT,
    Records,
    cell_corners,
    cell_points,
    state_ends,
)
from understudy.inference.estimates.estimands import Estimand
from understudy.inference.noise_aware.cell_scores import require_recordwise
from understudy.schema import Schema

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Ranges:
    """Values of an expression in the cells of the table over an estimand's columns.

    Attributes:
        names: of the k quantities, one for each group.
        quantity: quantity of each cell, `ABSENT` where a value is absent, shape (cells,).
        low: least value in each cell, shape (cells,).
        high: largest value in each cell, shape (cells,).
        points: values that stand for the cells, numbers even within bins, shape (points,).
        cell_of: cell of each point, shape (points,).
    """

    names: tuple[str, ...]
    quantity: Integers
    low: Floats
    high: Floats
    points: Floats
    cell_of: Integers

    @property
    def exact(self) -> bool:
        """Whether every cell has one value."""
        used = self.quantity != ABSENT
        return bool((self.low == self.high)[used].all())


def value_ranges(estimand: Estimand, schema: Schema) -> Ranges:
    """The values of an estimand's expression, cell by cell.

    Args:
        estimand: with an expression.
        schema: the public schema.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record, or it neither
            rises nor falls throughout a bin, so that its values there are not known.
    """
    points, cell_of = cell_points(schema, estimand.columns, estimand.columns)
    inner = estimand.scores(points)
    require_recordwise(estimand, inner, points.take(np.arange(len(cell_of))[::-2]))
    corners, corner_of = cell_corners(schema, estimand.columns, estimand.columns)
    outer = estimand.scores(corners)
    n_cells = int(cell_of.max()) + 1
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(low, corner_of, outer.value)
    np.maximum.at(high, corner_of, outer.value)
    _require_within(estimand, inner.value, low[cell_of], high[cell_of])
    quantity = np.full(n_cells, ABSENT)
    quantity[cell_of] = inner.quantity
    return Ranges(inner.names, quantity, low, high, inner.value, cell_of)


def record_ranges(
    estimand: Estimand, records: Records, spread: Sequence[str]
) -> tuple[Floats, Floats]:
    """The least and the largest value of each record, were its numbers anywhere in their bins.

    Args:
        estimand: with an expression.
        records: of a synthetic set, with the columns of the estimand.
        spread: numeric columns that are known by bins only.

    Returns:
        Both of shape (n,); meaningless for a record with an absent value.

    Raises:
        InferenceError: as for `value_ranges`.
    """
    value = estimand.scores(records).value
    if not spread:
        return value, value
    low, high = np.full(len(value), np.inf), np.full(len(value), -np.inf)
    choices = [_ends_of(records, name) for name in spread]
    for numbers in itertools.product(*choices):
        replaced = dict(zip(spread, numbers, strict=True))
        corner = Records(records.schema, records.states, records.numbers | replaced)
        at_ends = estimand.scores(corner).value
        np.minimum(low, at_ends, out=low)
        np.maximum(high, at_ends, out=high)
    _require_within(estimand, value, low, high)
    return low, high


def _ends_of(records: Records, name: str) -> tuple[Floats, Floats]:
    """Low and high end of the state of each record in one column, each of shape (n,)."""
    column, states = records.schema.columns[name], records.states[name]
    ends = np.stack([state_ends(column, state) for state in range(column.n_ordinary)])
    bounds = np.where((states == ABSENT)[:, None], np.nan, ends[np.maximum(states, 0)])
    return bounds[:, 0], bounds[:, 1]


def _require_within(estimand: Estimand, inner: Floats, low: Floats, high: Floats) -> None:
    """Refuse an expression with values between the corners that lie beyond those at the corners."""
    slack = _ROUNDING * max(1.0, float(np.abs(inner).max(initial=0.0)))
    if ((inner < low - slack) | (inner > high + slack)).any():
        raise InferenceError(
            f"The expression {estimand.expression!r} turns round within a bin, so that quantiles "
            "of it cannot be told from bins; ask for the quantile of one that only rises or falls, "
            "such as the column itself."
        )
