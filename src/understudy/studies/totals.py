"""Sums over the repetitions of a chunk, and what a study reports of them.

A chunk holds hundreds of repetitions of many methods at many budgets; sums are all that bias,
error, coverage and width need. They are taken of distances from the truth, so that little is lost
to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from understudy.studies.intervals import Intervals
from understudy.studies.montecarlo import share_and_error, share_interval
from understudy.studies.study import Row

KEY = ("estimand", "method", "log_epsilon")
_SUMS = ("n", "usable", "error", "error_squared", "hits", "width", "width_squared")


def totals(
    estimand: str, method: str, log_epsilon: float | None, found: Intervals, truth: float
) -> Row:
    """Sums over repetitions.

    Args:
        estimand: what is estimated.
        method: how the data were released.
        log_epsilon: logarithm of the budget; None for what has no budget.
        found: intervals, one for each repetition, shape (repetitions,).
        truth: the true value.
    """
    head = {"estimand": estimand, "method": method, "log_epsilon": log_epsilon}
    return head | sums(found, truth)


def sums(found: Intervals, truth: float) -> Row:
    """The sums alone.

    Args:
        found: intervals, one for each repetition, shape (repetitions,).
        truth: the true value.
    """
    error = found.estimate[found.usable] - truth
    reach = found.reach[found.usable]
    return {
        "truth": float(truth),
        "n": int(found.usable.size),
        "usable": int(found.usable.sum()),
        "error": float(error.sum()),
        "error_squared": float((error**2).sum()),
        "hits": int((np.abs(error) <= reach).sum()),
        "width": float(2 * reach.sum()),
        "width_squared": float(4 * (reach**2).sum()),
    }


def summarise(_scenario: Any, rows: Iterable[Row], key: Sequence[str] = KEY) -> list[Row]:
    """Rows of `results.csv`: the sums of all chunks put together, in the order of the first.

    Sums go together where all values of the key are the same.

    `coverage_low` and `coverage_high` are Wilson's 95 % interval; `…_error` are Monte Carlo
    standard errors. All are of the usable repetitions, and absent where there is none.
    """
    merged: dict[tuple[object, ...], Row] = {}
    for row in rows:
        before = merged.setdefault(
            tuple(row[name] for name in key),
            {name: row[name] for name in (*key, "truth")} | dict.fromkeys(_SUMS, 0),
        )
        for name in _SUMS:
            before[name] += row[name]
    return [_summary(row, key) for row in merged.values()]


def _summary(row: Row, key: Sequence[str]) -> Row:
    n, usable = row["n"], row["usable"]
    head = {name: row[name] for name in (*key, "truth")}
    head |= {"usable": usable, "usable_share": usable / n}
    if usable == 0:
        return head
    bias, bias_error = _mean(row["error"], row["error_squared"], usable)
    width, width_error = _mean(row["width"], row["width_squared"], usable)
    coverage, coverage_error = share_and_error(row["hits"], usable)
    low, high = share_interval(row["hits"], usable)
    return head | {
        "bias": bias,
        "bias_error": bias_error,
        "rmse": math.sqrt(row["error_squared"] / usable),
        "coverage": coverage,
        "coverage_error": coverage_error,
        "coverage_low": low,
        "coverage_high": high,
        "width": width,
        "width_error": width_error,
    }


def _mean(total: float, squares: float, n: int) -> tuple[float, float]:
    """Mean and its standard error, from sums."""
    mean = total / n
    if n == 1:
        return mean, math.nan
    return mean, math.sqrt(max(squares / n - mean**2, 0.0) / (n - 1))
