"""How far noisy counts can be relied on, computed from the release alone.

Everything here describes the noise that was added, never the people: sampling error and the error
of a model stand apart from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise_record import NoiseFamily
from understudy.release import Measurement
from understudy.release.measurement_kind import Kind
from understudy.schema import Schema

NORMAL_95 = 1.959963984540054
MANY = 200  # a sum of this many Laplace variables has its 95 % point within 0.1 % of the normal one


@cache
def laplace_sum_95(n: int) -> float:
    """The number of standard deviations that a sum of n Laplace variables exceeds 5 % of the time.

    The sum is a difference of two Erlang(n) variables. Count the arrivals of two equal Poisson
    processes until one has n of them: the arrivals that the other still lacks, j, follow a negative
    binomial, and given j the absolute sum is Erlang(j).

    Example:
        >>> round(laplace_sum_95(1) * math.sqrt(2) - math.log(20), 9)
        0.0
        >>> 1.96 < laplace_sum_95(50) < laplace_sum_95(2) < laplace_sum_95(1)
        True
    """
    if n > MANY:
        return NORMAL_95
    weights = [math.comb(2 * n - j - 1, n - 1) / 2.0 ** (2 * n - j - 1) for j in range(1, n + 1)]
    low, high = 0.0, 4.0 * math.sqrt(2 * n)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(weights, middle) > 0.05 else (low, middle)
    return high / math.sqrt(2 * n)


def _tail(weights: Sequence[float], x: float) -> float:
    """P(X > x) for a mixture of Erlang(1), Erlang(2), … of unit rate."""
    term, cumulative, total = math.exp(-x), 0.0, 0.0
    for j, weight in enumerate(weights, start=1):
        cumulative += term
        term *= x / j
        total += weight * cumulative
    return total


def factor_95(family: NoiseFamily, n_cells: int) -> float:
    """Half width of the central 95 % of the noise in a sum of cells, in standard deviations.

    Laplace noise has the exact quantile of its sum (2.12 for one cell, towards 1.96 for many);
    all others the normal one.
    """
    return laplace_sum_95(max(n_cells, 1)) if family.is_laplace else NORMAL_95


def half_width_95(measurement: Measurement) -> float:
    """Half width of the central 95 % of the noise in one count, in records."""
    width = factor_95(measurement.family, 1) * measurement.stddev
    # Whole-numbered noise exceeds the quantile of its continuous twin rounded up at most as often.
    discrete = measurement.family.is_whole
    return float(math.ceil(width)) if discrete else width


def false_positive_rate(family: NoiseFamily) -> float:
    """Probability that noise alone exceeds two standard deviations upwards."""
    return math.exp(-2 * math.sqrt(2)) / 2 if family.is_laplace else math.erfc(math.sqrt(2)) / 2


def allowed_cells(measurement: Measurement, schema: Schema) -> NDArray[np.bool_]:
    """Which cells of a table carry noise: all but structural zeros. Shape of the table."""
    return measurement.domain(schema).allowed_mask()


def n_measured(measurement: Measurement, schema: Schema) -> int:
    """Number of noisy counts, or of chosen parameters, that were released of a measurement."""
    if measurement.kind is Kind.PARAMETERS:
        return len(measurement.totals or ())
    if measurement.kind is not Kind.TABLE:
        return len(measurement.codes)
    return measurement.domain(schema).n_allowed


@dataclass(frozen=True)
class Marginal:
    """Noisy counts of the states (or groups of states) of one column.

    Attributes:
        counts: noisy counts, shape (n,).
        variance: variance of the noise in each, shape (n,).
        n_cells: how many noisy cells were summed into each, shape (n,).
        family: of the noise in one cell.
        n_tables: how many measured tables it rests on.
    """

    counts: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_cells: NDArray[np.int64]
    family: NoiseFamily
    n_tables: int

    def grouped(self, groups: Sequence[Sequence[int]]) -> Marginal:
        """Sums over groups of states, whose noises are independent."""

        def add(values: NDArray[Any]) -> NDArray[Any]:
            return np.array([values[list(group)].sum() for group in groups])

        return Marginal(
            add(self.counts),
            add(self.variance),
            add(self.n_cells),
            self.family,
            self.n_tables,
        )

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Noisy shares and the half width of the band that noise alone explains (95 %).

        A share is c / T with T the sum of all counts, so noise in the other counts enters too; to
        first order its variance is ((1−p)² v + p² (V−v)) / T², where v is the variance of c and
        V the sum of all variances.

        Returns:
            Two arrays of shape (n,); None if the noisy total does not exceed its own noise (then a
            share means nothing).
        """
        total, whole = float(self.counts.sum()), float(self.variance.sum())
        if total <= 3 * math.sqrt(whole) or total <= 0:
            return None
        share = self.counts / total
        spread = (1 - share) ** 2 * self.variance + share**2 * (whole - self.variance)
        factors = np.array([factor_95(self.family, int(n)) for n in self.n_cells])
        return share, factors * np.sqrt(np.maximum(spread, 0)) / total


def marginal(name: str, measurements: Sequence[Measurement], schema: Schema) -> Marginal | None:
    """The best noisy one-way counts of a column: all whole tables that contain it, pooled.

    Tables are summed over their other columns (the variance grows with the number of cells summed)
    and averaged with weights 1 / variance.

    Returns:
        None if no measured table with every cell contains the column.
    """
    marginals = [
        _summed(name, table, schema)
        for table in measurements
        if table.kind is Kind.TABLE
        and name in table.columns
        and name not in {*table.bins, *table.groups}
    ]
    if not marginals:
        return None
    exact = [table for table in marginals if not table.variance.any()]
    return exact[0] if exact else _pooled(marginals)


def _summed(name: str, measurement: Measurement, schema: Schema) -> Marginal:
    mask = allowed_cells(measurement, schema)
    axis = measurement.columns.index(name)
    others = tuple(k for k in range(mask.ndim) if k != axis)
    counts = np.asarray(measurement.counts, dtype=np.float64).reshape(mask.shape).sum(axis=others)
    n_cells = mask.sum(axis=others, dtype=np.int64)
    return Marginal(counts, n_cells * measurement.stddev**2, n_cells, measurement.family, 1)


def _pooled(marginals: Sequence[Marginal]) -> Marginal:
    if len(marginals) == 1:
        return marginals[0]
    variance = np.stack([table.variance for table in marginals])
    # A table whose rules make a state impossible knows its count, 0, without noise.
    certain = variance == 0
    weights = np.where(certain.any(0), certain, 1 / np.where(certain, 1, variance))
    counts = (weights * np.stack([table.counts for table in marginals])).sum(0) / weights.sum(0)
    pooled = np.where(certain.any(0), 0, 1 / weights.sum(0))
    # Averaging only brings noise closer to the normal; the fewest cells are the safe choice.
    n_cells = np.stack([table.n_cells for table in marginals]).min(0)
    families = [table.family for table in marginals]
    family = next((each for each in families if each.is_laplace), families[0])
    return Marginal(counts, pooled, n_cells, family, len(marginals))


def noisy_total(measurements: Sequence[Measurement], schema: Schema) -> float | None:
    """Number of records, from the sums of all measured tables with weights 1 / variance.

    Returns:
        None without a measured table, or if the total is not positive.
    """
    tables = [
        table for table in measurements if table.kind is Kind.TABLE and n_measured(table, schema)
    ]
    if not tables:
        return None
    variance = np.array([table.stddev**2 * n_measured(table, schema) for table in tables])
    weights = (variance == 0).astype(float) if (variance == 0).any() else 1 / variance
    sums = np.array([float(np.sum(table.counts)) for table in tables])
    total = float((weights * sums).sum() / weights.sum())
    return total if total > 0 else None
