"""Which coefficients of a regression a table determines, and why it does not determine the others.

A coefficient of a table has no interval to compare with in three cases:

* **collinear**: some combination of terms is 0 for every record and the coefficient has a part in
  it, so that it can be moved without moving any prediction. That is so of *every* term of the
  combination, not only of the last one, which a fit leaves out: where c = a + b in one table and
  not in another, "a given b" is another quantity in each. A term that does not vary, or that no
  record has, is of this kind.
* **separated**: the likelihood of a logistic model rises without end along a direction that moves
  the coefficient. Records whose outcome the direction predicts for certain say nothing more; the
  coefficient is determined if the records that are left determine it (Geyer 2009).
* **exact**: least squares fit without error what bears on the coefficient, say where the outcome is
  0 for everybody in the group of reference. Its interval has no width but that of rounding, about
  10⁻¹⁶, and a ratio of widths to it says nothing.

Sources: Albert & Anderson (1984), Biometrika 71, 1-10; Geyer (2009), "Likelihood inference in
exponential families and directions of recession", Electronic Journal of Statistics 3, 259-289.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.utility.robust_regression import Fit, independent
from understudy.inference.estimates.regression_models import separating

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

COLLINEAR, SEPARATED, EXACT, UNFITTED = "collinear", "separated", "exact", "not fitted"
REASONS = {
    COLLINEAR: "follows from other terms, or does not vary",
    SEPARATED: "predicts the outcome of some records for certain, so no estimate is finite",
    EXACT: "is fitted without any error",
    UNFITTED: "too few records, or an outcome that does not vary",
}
"""Reason → what it means."""

_NULL = 1e-9
_PART = 1e-6
_LARGE_PREDICTOR = 10.0  # beyond e^±10 look whether the likelihood has a maximum
_ROUNDING = 1e-5


def diagnosed(found: Fit, y: Vector, x: Vector, *, binary: bool) -> Fit:
    """A fit that says of each coefficient why it is not determined, or "".

    Args:
        found: the fit of the regression.
        y: outcome, shape (n,).
        x: design, shape (n, p).
        binary: whether it is a logistic regression.
    """
    if np.isnan(found.estimate).all():
        return replace(found, reasons=(UNFITTED,) * x.shape[1])
    reasons = np.full(x.shape[1], "", dtype=object)
    if binary:
        reasons[separated(y, x, found)] = SEPARATED
    else:
        reasons[_without_error(found, y, x)] = EXACT
    reasons[undetermined(x)] = COLLINEAR
    return replace(found, reasons=tuple(reasons.tolist()))


def undetermined(x: Vector) -> Mask:
    """Columns with a part in a combination of columns that is 0 in every row, shape (p,).

    Args:
        x: design, shape (n, p); without rows nothing is determined.

    >>> a, b = np.array([0.0, 1, 0, 1]), np.array([0.0, 0, 1, 1])
    >>> undetermined(np.stack([np.ones(4), a, b, a + b], axis=1)).tolist()
    [False, True, True, True]
    """
    length = np.linalg.norm(x, axis=0)
    scaled = x / np.where(length > 0, length, 1.0)
    sizes, directions = np.linalg.eigh(scaled.T @ scaled)
    return np.asarray(np.abs(directions[:, sizes < _NULL]).max(axis=1, initial=0.0) > _PART)


def separated(y: Vector, x: Vector, found: Fit) -> Mask:
    """Coefficients of a logistic regression that separation leaves without an estimate, shape (p,).

    Args:
        y: outcome, 0 or 1, shape (n,).
        x: design, shape (n, p).
        found: its fit; where no prediction is near 0 or 1 there is nothing to look for.
    """
    predictor = x @ np.nan_to_num(found.estimate)
    if not found.shrunk and np.abs(predictor).max() < _LARGE_PREDICTOR:
        return np.zeros(x.shape[1], dtype=np.bool_)
    rows = np.unique(np.column_stack([y, x]), axis=0)
    outcome, left = rows[:, 0], rows[:, 1:]
    while len(left):
        used = independent(left)
        direction = separating("logit", outcome, left[:, used])
        if direction is None:
            break
        scale = np.abs(left[:, used]).max(axis=0)
        certain = np.abs(left[:, used] / scale @ direction) > _PART
        if not certain.any():
            break
        outcome, left = outcome[~certain], left[~certain]
    return undetermined(left) & ~undetermined(x)


def _without_error(found: Fit, y: Vector, x: Vector) -> Mask:
    """Coefficients whose standard error is rounding, beside that of an outcome without relation."""
    spread = x.std(axis=0)
    unit = y.std() / (np.where(spread > 0, spread, 1.0) * np.sqrt(len(y)))
    with np.errstate(invalid="ignore"):
        return np.asarray(found.stderr < _ROUNDING * unit)
