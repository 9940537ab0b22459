"""Quantiles from the released noisy counts themselves, by inverting tests.

How: `understudy.inference.estimates.quantiles`; of which counts: `count_estimates`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.inference.estimates.analysis_records import ABSENT
from understudy.inference.estimates.estimands import Estimand
from understudy.inference.estimates.quantiles import (
    Curve,
    counted_curve,
    counted_estimate,
    quantiles,
)
from understudy.inference.estimates.value_ranges import value_ranges
from understudy.inference.noise_aware.count_estimates import FEWEST, Counted
from understudy.inference.noise_aware.full_tables import covering
from understudy.inference.noise_aware.noisy_tables import Table, marginal, pooled_table
from understudy.release import Measurement
from understudy.schema import Schema


def count_quantiles(
    estimand: Estimand, measurements: Sequence[Measurement], schema: Schema
) -> Counted:
    """Quantiles from full noisy tables.

    Args:
        estimand: a quantile.
        measurements: at least one full table that covers its columns; others are passed over.
        schema: the public schema.

    Raises:
        InferenceError: no group has records, or the expression cannot be told from bins.
    """
    used = covering(measurements, estimand.columns)
    table = pooled_table([marginal(measurement, estimand.columns, schema) for measurement in used])
    heavy = not all(measurement.family.is_gaussian for measurement in used)
    return table_quantiles(estimand, table, schema, len(used), heavy=heavy)


def table_quantiles(
    estimand: Estimand, table: Table, schema: Schema, tables: int, *, heavy: bool
) -> Counted:
    """The same from unbiased counts.

    Args:
        estimand: a quantile.
        table: over its columns.
        schema: in the bins of the table.
        tables: how many measurements it rests on.
        heavy: whether the noise has Laplace tails.

    Raises:
        InferenceError: as above.
    """
    ranges = value_ranges(estimand, schema)
    estimates: list[float] = []
    curves: list[Curve | None] = []
    for j in range(len(ranges.names)):
        cells = np.flatnonzero(ranges.quantity == j)
        empty = table.counts[cells].sum() < FEWEST
        p = estimand.probability
        curves.append(None if empty else counted_curve(table, cells, ranges, p, heavy=heavy))
        estimates.append(np.nan if empty else counted_estimate(table.counts, cells, ranges, p))
    absent = ranges.quantity == ABSENT
    return Counted(
        pooled=quantiles(ranges.names, estimates, curves, rule="noise-aware", sets=tables),
        dropped=float(table.counts[absent].sum()),
        dropped_noise=float(np.sqrt(table.variances[absent].sum())),
        varied=not ranges.exact,
    )
