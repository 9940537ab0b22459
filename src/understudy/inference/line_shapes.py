"""Sums over the rows of functions of single numbers, as number lines tell them.

A number line counts the rows in each cell of a column, so it tells Σ f(x) for every function f that
is constant in cells, with noise of variance σ²·Σ f² over them. A model of one outcome on several
predictors is calibrated to such sums (`understudy.inference.glm`): of functions that are straight
between `KNOTS` quantiles of the synthetic records, from 0 to 1 each, so that noise in far and empty
cells counts no more than in full ones.

Columns with codes of absence have none of it, since only complete rows count in a model; nor has
one some of whose rows are in no cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.linalg import block_diag

from understudy._arrays import Floats, Integers
from understudy.features.grids import TOLD, LineCells, Numeric
from understudy.features.scores import Limits
from understudy.inference.glm import Shapes
from understudy.inference.noisy_tables import line_of, line_schema
from understudy.inference.question import Estimand
from understudy.inference.records import Records
from understudy.release.measurement import Measurement
from understudy.schema import NUMERIC, Schema

KNOTS: Final = 8


def shapes_of(
    estimand: Estimand,
    measurements: Sequence[Measurement],
    schema: Schema,
    sets: Sequence[Records],
    limits: Limits,
    *,
    n: float,
) -> Shapes | None:
    """Return what number lines tell of the predictors of a model; None if nothing.

    Args:
        estimand: the model.
        measurements: of a release.
        schema: of the release.
        sets: complete records of each synthetic set, with the estimand's columns.
        limits: at which numbers are cut off.
        n: number of rows.
    """
    if any(schema.columns[name].codes for name in estimand.columns):
        return None
    found = []
    for name in estimand.columns:
        line = line_of(measurements, name)
        if line is None or not isinstance(schema.columns[name], NUMERIC):
            continue
        counts = np.asarray(line.counts, dtype=np.float64)
        if abs(counts.sum() - n) > TOLD * line.stddev * np.sqrt(len(counts)):
            continue
        cells = LineCells.of(line_schema(line, schema), name)
        numbers = np.concatenate([one.numbers[name] for one in sets])
        low, high = limits.get(name, cells.column.bounds)
        middles = np.clip(_middles(cells), low, high)
        records = middles[_cell_of(cells.column, numbers)]
        knots = np.unique(np.quantile(records, np.linspace(0, 1, KNOTS)))
        if len(knots) < 3:  # products tell all that two points do
            continue
        hats = np.stack([np.interp(middles, knots, one) for one in np.eye(len(knots))], axis=1)
        noise = line.stddev**2 * hats.T @ hats
        values = np.stack([np.interp(records, knots, one) for one in np.eye(len(knots))], axis=1)
        found.append((values, counts @ hats, noise))
    if not found:
        return None
    return Shapes(
        values=np.hstack([values for values, _, _ in found]),
        sums=np.concatenate([sums for _, sums, _ in found]),
        noise=block_diag(*(noise for _, _, noise in found)),
    )


def _middles(cells: LineCells) -> Floats:
    """The middle of each cell; of those beyond the bounds, these."""
    inside = [(one.low + one.high) / 2 for one in cells.column.intervals]
    return np.array([*inside, *cells.column.bounds], dtype=np.float64)


def _cell_of(column: Numeric, numbers: Floats) -> Integers:
    """The cell in which each number lies."""
    bins = [(one.low, k) for k, one in enumerate(column.intervals) if not one.spike]
    lows, states = np.array([low for low, _ in bins]), np.array([k for _, k in bins])
    found = states[np.clip(np.searchsorted(lows, numbers, side="right") - 1, 0, None)]
    for k, one in enumerate(column.intervals):
        if one.spike:
            found = np.where(numbers == one.low, k, found)
    return np.asarray(found, dtype=np.int64)
