"""Unbiased noisy tables: released counts, marginals of them and averages, with known noise.

A full table has noise of known variance in every allowed cell, independent between cells, and none
in structural zeros. So has every marginal of it, with as many variances in a cell as there are
allowed cells behind it. No library of statistics is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats
from understudy.release import Measurement
from understudy.schema import Schema


@dataclass(frozen=True)
class Sources:
    """Numbers with independent noise that counts are weighted sums of.

    Attributes:
        mix: weight of each number in each cell, shape (cells, numbers).
        variances: of the numbers, shape (numbers,).
    """

    mix: Floats
    variances: Floats

    def covariance(self, one: Floats, other: Floats) -> Floats:
        """Covariance of weighted sums of cells; weights of shape (..., cells) → (...,)."""
        return np.asarray(((one @ self.mix) * (other @ self.mix)) @ self.variances)


@dataclass(frozen=True)
class Table:
    """Unbiased counts with known noise.

    Attributes:
        counts: shape (..., cells).
        variances: variance of the noise in each cell, shape (cells,), or that of the counts; 0 for
            structural zeros.
        sources: where the noise of different cells goes together; None where it is independent.
    """

    counts: Floats
    variances: Floats
    sources: Sources | None = None


def marginal(
    measurement: Measurement,
    columns: Sequence[str],
    schema: Schema,
    *,
    counts: Floats | None = None,
) -> Table:
    """A measured table, summed over the columns that are not asked for.

    Args:
        measurement: a full table that covers the columns.
        columns: of the marginal, in the order of its cells (the last one runs fastest).
        schema: the public schema.
        counts: other counts of the same table, shape (..., cells of the table), for simulations.
    """
    domain = measurement.domain(schema)
    axes = [measurement.columns.index(name) for name in columns]
    if counts is None:
        counts = np.zeros(domain.n_cells)
        counts[measurement.codes] = measurement.counts
    lead = counts.shape[:-1]
    shaped = counts.reshape(-1, *domain.sizes)
    allowed = domain.allowed_mask().astype(np.float64)
    return Table(
        counts=_sum_to(shaped, axes).reshape(*lead, -1),
        variances=measurement.stddev**2 * _sum_to(allowed[None], axes).reshape(-1),
    )


def _sum_to(stacked: Floats, axes: list[int]) -> Floats:
    """Sum over all but some axes, and put these in order; the leading axis stays."""
    others = tuple(1 + j for j in range(stacked.ndim - 1) if j not in axes)
    kept = sorted(axes)
    summed = stacked.sum(axis=others)
    return np.asarray(summed.transpose(0, *(1 + kept.index(axis) for axis in axes)))


def pooled_table(tables: Sequence[Table]) -> Table:
    """Average tables over the same cells, weighted by inverse variance.

    Where a count is free of noise in some tables, these alone are averaged.
    """
    variances = np.stack([table.variances for table in tables])
    exact = variances == 0
    with np.errstate(divide="ignore"):
        precise = np.where(exact.any(axis=0), exact, 1 / variances)
    weights = precise / precise.sum(axis=0)
    counts = sum(w * table.counts for w, table in zip(weights, tables, strict=True))
    return Table(np.asarray(counts), (weights**2 * variances).sum(axis=0))
