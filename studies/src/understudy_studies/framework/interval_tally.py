"""Intervals of a study: an estimand and its truth, pooled intervals, and sums over repetitions.

The rule of Bowen, Liu and Su for the 95 % intervals of all of their methods: T = ū + b/m with a t
reference (Reiter 2003; Bowen & Liu 2016, eqs. 8-10). For one set T = u with a normal reference,
which leaves the noise out.

A chunk holds hundreds of repetitions of many methods at many budgets; sums are all that bias,
error, coverage and width need. They are taken of distances from the truth, so that little is lost
to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import stdtrit

from understudy.inference.combining import single_variance
from understudy_studies.framework.monte_carlo_error import (
    mean_and_error,
    share_and_error,
    share_interval,
)
from understudy_studies.framework.study import Row


@dataclass(frozen=True)
class Estimand:
    """A quantity of the population, and how an analyst asks a release for it.

    Attributes:
        name: short name.
        kind: kind of analysis.
        formula: what is asked.
        term: name of the quantity among the terms of the answer.
        truth: its true value.
        deviation: √n times its standard error with n real rows.
    """

    name: str
    kind: str
    formula: str
    term: str
    truth: float = math.nan
    deviation: float = math.nan

    def stderr(self, n: int) -> float:
        """Its standard error with n real rows."""
        return self.deviation / float(np.sqrt(n))

    def judged(self, rows: Sequence[Row], n: int, level: float) -> Row:
        """Coverage, width and bias of intervals, with Monte Carlo errors.

        `coverage_low` and `coverage_high` are Wilson's 95 % interval of the coverage; `width_ratio`
        compares the mean width with that of an interval from real rows, `bias_ratio` the bias with
        their standard error.

        Args:
            rows: of repetitions, with `estimate`, `low` and `high`.
            n: number of real rows.
            level: of the intervals.
        """
        estimate, low, high = (
            np.array([row[name] for row in rows], dtype=np.float64)
            for name in ("estimate", "low", "high")
        )
        hits = int(((low <= self.truth) & (self.truth <= high)).sum())
        coverage, coverage_error = share_and_error(hits, len(rows))
        coverage_low, coverage_high = share_interval(hits, len(rows))
        width, width_error = mean_and_error(high - low)
        bias, bias_error = mean_and_error(estimate - self.truth)
        stderr = self.stderr(n)
        return {
            "coverage": coverage,
            "coverage_error": coverage_error,
            "coverage_low": coverage_low,
            "coverage_high": coverage_high,
            "width": width,
            "width_error": width_error,
            "width_ratio": width / (2 * float(stats.norm.ppf((1 + level) / 2)) * stderr),
            "bias": bias,
            "bias_error": bias_error,
            "bias_ratio": bias / stderr,
            "bias_ratio_error": bias_error / stderr,
            "rmse": float(np.sqrt(np.mean((estimate - self.truth) ** 2))),
        }


LEVEL = 0.95

Values = NDArray[np.float64]


class Intervals(NamedTuple):
    """Intervals of all repetitions.

    Attributes:
        estimate: their middles, shape (...,).
        reach: half of their widths, shape (...,).
        usable: where there is one; elsewhere the numbers mean nothing. Shape (...,).
    """

    estimate: Values
    reach: Values
    usable: NDArray[np.bool_]


def pooled(q: Values, u: Values) -> Intervals:
    """Pool the m sets of every repetition; usable where the total variance is positive.

    Args:
        q: estimates, shape (..., m).
        u: variances that the analyst's software prints, shape (..., m).

    Example:
        >>> found = pooled(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5]))
        >>> float(found.estimate), round(float(found.reach), 4)
        (2.0, 1.9802)
    """
    # Without noise of its own this rule is the partial one, and it is defined for one set too.
    totals = single_variance(q[..., None], u[..., None], 0.0)
    variance, df = totals.variance[..., 0], totals.df[..., 0]
    usable = np.isfinite(variance) & (variance > 0)
    normal = ~np.isfinite(df)
    quantile = np.where(
        normal,
        stats.norm.ppf((1 + LEVEL) / 2),
        stdtrit(np.where(normal, 1.0, df), (1 + LEVEL) / 2),
    )
    reach = quantile * np.sqrt(np.where(usable, variance, 0.0))
    return Intervals(totals.estimate[..., 0], reach, usable)


def pooled_where(present: NDArray[np.bool_], q: Values, u: Values) -> Intervals:
    """Pool those sets of every repetition that have an estimate; usable from two such sets on.

    Args:
        present: which sets have one, shape (..., m).
        q: estimates, shape (..., m); of any value where there is none.
        u: variances, shape (..., m).
    """
    shape, m = present.shape[:-1], present.shape[-1]
    order = np.argsort(~present, axis=-1, kind="stable")
    q = np.take_along_axis(q, order, axis=-1).reshape(-1, m)
    u = np.take_along_axis(u, order, axis=-1).reshape(-1, m)
    number = present.sum(axis=-1).reshape(-1)
    estimate, reach = np.zeros(number.size), np.zeros(number.size)
    usable = np.zeros(number.size, dtype=np.bool_)
    for sets in range(min(2, m), m + 1):
        here = np.flatnonzero(number == sets)
        found = pooled(q[here, :sets], u[here, :sets])
        estimate[here], reach[here], usable[here] = found
    return Intervals(estimate.reshape(shape), reach.reshape(shape), usable.reshape(shape))


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
