"""What an analyst finds who takes a table for real rows: textbook intervals, nothing added."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from scipy import stats

from understudy_studies.framework.interval_tally import Estimand
from understudy_studies.repeated_sampling.coverage.population import A_LEVELS

LEVEL = 0.95
Interval = tuple[float, float, float]
"""Estimate, lower and upper end."""


def interval(table: pl.DataFrame, estimand: Estimand) -> Interval | None:
    """Estimate with its textbook interval; None where the table cannot give one.

    Args:
        table: columns of the population, by its names.
        estimand: one of the population's.
    """
    if estimand.kind == "ols":
        return _slope(table)
    if estimand.kind == "mean":
        values = table.get_column(estimand.term).to_numpy().astype(float)
        return _mean(values) if len(values) > 1 else None
    return _share(_has(table, estimand.term)) if table.height else None


def _has(table: pl.DataFrame, term: str) -> pl.Series:
    """Which rows are in a level, or in a cell of levels, as in "a[q]:x[1]"."""
    found = pl.Series([True] * table.height, dtype=pl.Boolean)
    for part in term.split(":"):
        name, level = part.rstrip("]").split("[")
        column = table.get_column(name)
        found &= column if level == "true" else column.cast(pl.String) == level
    return found


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Interval:
    n, mean = len(values), float(values.mean())
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * float(values.std(ddof=1)) / math.sqrt(n)
    return mean, mean - reach, mean + reach


def _share(has: pl.Series) -> Interval:
    share = float(has.sum()) / len(has)
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    reach = z * math.sqrt(share * (1 - share) / len(has))
    return share, share - reach, share + reach


def _slope(table: pl.DataFrame) -> Interval | None:
    """Least squares of y on x and a, with the error that assumes equal variances."""
    a = table.get_column("a").cast(pl.String)
    dummies = [(a == level).to_numpy() for level in A_LEVELS[1:]]
    z = np.stack([np.ones(table.height), table.get_column("x").to_numpy(), *dummies], axis=1)
    y = table.get_column("y").to_numpy()
    n, k = z.shape
    gram = z.T @ z
    if n <= k or np.linalg.matrix_rank(gram) < k:
        return None
    inverse = np.linalg.inv(gram)
    beta = inverse @ (z.T @ y)
    variance = float(((y - z @ beta) ** 2).sum()) / (n - k)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - k)) * math.sqrt(variance * inverse[1, 1])
    slope = float(beta[1])
    return slope, slope - reach, slope + reach
