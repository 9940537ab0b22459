"""Monte Carlo errors of root mean squared errors, and of their ratios.

Results hold the RMSE of a method over R repetitions, but no error of it. With estimates that are
normal about their mean, of bias b and standard deviation s, a squared error e² has the variance
4b²s² + 2s⁴, and RMSE = √(mean of e²) by the delta method the standard error √(variance/R)/(2·RMSE).
The estimates here are means of ten sets, or clipped to [0, 1] at small budgets, where s is smaller
than that of a normal law with the same ends; the error is then not too small.
"""

from __future__ import annotations

import numpy as np

from understudy_studies.bowen_liu_2020.panels import BIAS, RMSE
from understudy_studies.framework.result_curves import Point, Reading, Values


def relative_errors(
    reading: Reading, point: Point, method: str, low: float = -np.inf, high: float = np.inf
) -> Values:
    """Standard errors of log RMSE between two budgets (log ε); NaN where RMSE is unknown.

    Args:
        reading: results of one estimand.
        point: scenario.
        method: its name in the results.
        low: first budget.
        high: last budget.
    """
    rmse, bias, error, usable = (
        reading.between(value, point, method, low, high)
        for value in (RMSE, BIAS, "bias_error", "usable")
    )
    return log_error(rmse, bias, error**2 * usable, usable)


def log_error(rmse: Values, bias: Values, variance: Values, repetitions: Values) -> Values:
    """Standard error of log RMSE, of estimates that are normal about their mean.

    Args:
        rmse: root mean squared error, any shape; all arguments are broadcast.
        bias: of the estimates.
        variance: of the estimates.
        repetitions: how many there were.

    Example:
        >>> float(log_error(*map(np.array, (2.0, 0.0, 4.0, 5000.0))).round(4))
        0.01
    """
    of_square = np.sqrt((4 * bias**2 * variance + 2 * variance**2) / repetitions)
    return np.asarray(of_square / (2 * rmse**2))


def margins_below(
    reading: Reading,
    better: tuple[Point, str],
    worse: tuple[Point, str],
    low: float = -np.inf,
    high: float = np.inf,
    *,
    room: float = 0.0,
) -> list[tuple[float, float]]:
    """By how much log RMSE of one is below that of another, with its error, at each budget.

    Args:
        reading: results of one estimand.
        better: scenario and method that should have the smaller RMSE.
        worse: those with the larger one.
        low: first budget (log ε).
        high: last budget.
        room: added to the margin: 0.02 lets the better one be 2 % worse.

    Returns:
        Margins and standard errors, at budgets where both are known.
    """
    values = [reading.between(RMSE, *one, low, high) for one in (worse, better)]
    errors = [relative_errors(reading, *one, low, high) for one in (worse, better)]
    gaps, widths = np.log(values[0] / values[1]) + room, np.hypot(*errors)
    known = ~np.isnan(gaps)
    return [
        (float(gap), float(width)) for gap, width in zip(gaps[known], widths[known], strict=True)
    ]
