"""Least squares on the indicators of cells, plain or ridge, for many sets at once.

Records of a cell have the same predictors, so the counts, sums and sums of squares of 120 cells
are all that a regression needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy_studies.bowen_liu_su_2021.simulation.population import CELLS, Data
from understudy_studies.framework.interval_tally import Values


class Sums(NamedTuple):
    """Of the records in each cell.

    Attributes:
        counts: records, shape (..., 120).
        values: sum of the number, shape (..., 120).
        squares: sum of its square, shape (..., 120).
    """

    counts: Values
    values: Values
    squares: Values


class Fit(NamedTuple):
    """A regression of each set.

    Attributes:
        estimate: coefficients, shape (..., k).
        variance: squares of their standard errors, shape (..., k).
        present: whether the set has an estimate, shape (...,); without one the numbers mean
            nothing.
    """

    estimate: Values
    variance: Values
    present: NDArray[np.bool_]


def sums(data: Data) -> Sums:
    """Sums of each set, from records of shape (..., n)."""
    lead = data.cells.shape[:-1]
    sets = math.prod(lead)
    places = data.cells.reshape(sets, -1) + CELLS * np.arange(sets)[:, None]
    flat, values = places.reshape(-1), data.values.reshape(-1)
    weights = (None, values, values**2)
    found = [np.bincount(flat, weights=weight, minlength=sets * CELLS) for weight in weights]
    return Sums(*(one.astype(np.float64).reshape(*lead, CELLS) for one in found))


def regress(found: Sums, design: Values, penalty: float = 0.0) -> Fit:
    """Least squares with a ridge penalty: (X'X + λI)⁻¹X'y.

    Standard errors are the roots of the diagonal of σ̂²(X'X + λI)⁻¹, with σ̂² the residual sum of
    squares over n less the trace of the hat matrix. Without a penalty these are the textbook's.
    With λ = σ²/τ² they are the posterior deviations of coefficients that are N(0, τ²) a priori, so
    shrinkage is counted in the intervals.

    A set has no estimate where X'X is singular and there is no penalty, or where no records are
    left to estimate σ².

    Args:
        found: sums of each set, shape (..., 120).
        design: predictors of each cell, shape (120, k).
        penalty: λ, in records.

    Source: Hoerl & Kennard (1970), "Ridge Regression", Technometrics 12, 55-67.
    """
    size = design.shape[1]
    gram = design.T @ (found.counts[..., None] * design)
    present = np.full(gram.shape[:-2], True)
    if penalty <= 0:
        present = np.linalg.matrix_rank(gram, hermitian=True) == size
    eye = np.eye(size)
    inverse = np.linalg.inv(np.where(present[..., None, None], gram + penalty * eye, eye))
    estimate = (inverse @ (found.values @ design)[..., None])[..., 0]
    fitted = estimate @ design.T
    squares = found.squares - 2 * fitted * found.values + found.counts * fitted**2
    left = found.counts.sum(axis=-1) - (inverse * gram).sum(axis=(-2, -1))
    present = present & (left > 0)
    residual = np.maximum(squares.sum(axis=-1), 0.0) / np.where(present, left, 1.0)
    variance = residual[..., None] * np.diagonal(inverse, axis1=-2, axis2=-1)
    return Fit(estimate, variance, present)
