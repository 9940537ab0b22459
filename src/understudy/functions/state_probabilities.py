"""Probabilities of the states of a column, in logarithms: what the laws of columns draw from.

They are given the states of the parents alone, one combination at a time. A numeric parent stands
at the middle of its bin, a law that draws sees its number: within narrow bins it is the same. So
each probability is a function of a record's own states and of θ. Sums run in one fixed order, in
compiled loops over one number after the other, so that not even rounding depends on anything else.

Where numbers of a column fall into its bins (`cuts`) is found by bisection of the very function
that settles drawn numbers.
"""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

from understudy.arrays import Floats, Integers, compiled
from understudy.features.design import Features
from understudy.features.number_line import Drawn, Line, settled
from understudy.schema import NUMERIC, Column

_HALVINGS = 1100
"""Enough for any two float64 to become neighbours."""


def feature_row(features: Features, given: Integers) -> Floats:
    """An intercept and the features of one combination of the parents' states.

    Args:
        features: of the parents.
        given: their states, shape (parents,).

    Returns:
        Shape (1 + features,).
    """
    drawn = {
        name: Drawn(given[j : j + 1], _middle(column, int(given[j])))
        for j, (name, column) in enumerate(features.columns.items())
    }
    return np.asarray(features.matrix(drawn, 1)[0])


def _middle(column: Column, state: int) -> Floats | None:
    """The middle of a bin, NaN of another state; None of a column without numbers."""
    if not isinstance(column, NUMERIC):
        return None
    if state >= column.n_ordinary or column.intervals[state].spike:
        return np.array([np.nan])
    one = column.intervals[state]
    return np.array([one.low / 2 + one.high / 2])


@compiled(error_model="numpy")
def logit_shares(coefficients: Floats, row: Floats, outcomes: Integers) -> Floats:
    """Log probabilities of outcomes of a multinomial logit; outcome 0 is the reference.

    Args:
        coefficients: shape (G, m, 1 + features), of all outcomes but the reference.
        row: as `feature_row` gives it.
        outcomes: from 0 to m, shape (k,).

    Returns:
        Shape (k, G).
    """
    n, m, width = coefficients.shape
    found, etas = np.empty((len(outcomes), n)), np.zeros(m + 1)
    for g in range(n):
        top = 0.0
        for k in range(m):
            eta = 0.0
            for j in range(width):
                eta += coefficients[g, k, j] * row[j]
            etas[k + 1] = eta
            top = max(top, eta)
        total = 0.0
        for k in range(m + 1):
            total += np.exp(etas[k] - top)
        for i in range(len(outcomes)):
            found[i, g] = etas[outcomes[i]] - top - np.log(total)
    return found


@compiled(error_model="numpy")
def normal_shares(
    coefficients: Floats, stddevs: Floats, row: Floats, cuts: Floats, bins: Integers
) -> Floats:
    """Log probabilities that η + σ·ε lies between cuts, ε standard normal.

    Args:
        coefficients: of η, shape (G, 1 + features).
        stddevs: σ, shape (G,).
        row: as `feature_row` gives it.
        cuts: ascending, shape (bins - 1,), perhaps infinite; the first bin begins at -∞.
        bins: counted from 0, shape (k,).

    Returns:
        Shape (k, G); -∞ where float64 has no smaller number.
    """
    n, width = coefficients.shape
    found = np.empty((len(bins), n))
    for g in range(n):
        eta = 0.0
        for j in range(width):
            eta += coefficients[g, j] * row[j]
        for i in range(len(bins)):
            low = (cuts[bins[i] - 1] - eta) / stddevs[g] if bins[i] > 0 else -np.inf
            high = (cuts[bins[i]] - eta) / stddevs[g] if bins[i] < len(cuts) else np.inf
            found[i, g] = np.log(_between(low, high))
    return found


@compiled(error_model="numpy")
def _between(low: float, high: float) -> float:
    """Φ(high) - Φ(low), from the nearer tail."""
    if low > 0:
        return 0.5 * (erfc(low / sqrt(2.0)) - erfc(high / sqrt(2.0)))
    if high < 0:
        return 0.5 * (erfc(-high / sqrt(2.0)) - erfc(-low / sqrt(2.0)))
    return 1.0 - 0.5 * (erfc(-low / sqrt(2.0)) + erfc(high / sqrt(2.0)))


def cuts(line: Line) -> Floats:
    """Where drawn numbers pass from one bin of a numeric column to the next.

    Rounding, and the step off a spike, move these away from the public edges of the bins.

    Args:
        line: the column.

    Returns:
        Shape (bins - 1,), ascending; the upper bound where no number reaches a bin.
    """
    edges = line.lows[1:]
    low, high = np.full(len(edges), line.low), np.full(len(edges), line.high)
    for _ in range(_HALVINGS):
        middle = low / 2 + high / 2
        if np.all((middle <= low) | (middle >= high)):
            break
        above = settled(line, middle)[1] >= edges
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high


def shares_of_range(numbers: Floats, low: float, high: float) -> Floats:
    """How far numbers lie between bounds, from 0 to 1; nothing overflows."""
    return np.asarray((numbers / 2 - low / 2) / (high / 2 - low / 2 or 1.0))
