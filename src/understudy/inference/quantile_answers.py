"""Quantiles of a release: from its noisy counts, or from sets whose differences show the noise.

What an interval says, and why, stands in `understudy.inference.estimates.quantiles`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from understudy.errors import InferenceError
from understudy.inference.combining.combining_rules import (
    Totals,
    mi_variance,
    partial_variance,
    single_variance,
)
from understudy.inference.combining.pooled import Vector
from understudy.inference.estimates.analysis_records import ABSENT, Ints, Records
from understudy.inference.estimates.estimands import Estimand
from understudy.inference.estimates.quantiles import (
    Curve,
    Quantiles,
    Steps,
    counted_curve,
    counted_estimate,
    quantiles,
)
from understudy.inference.estimates.value_ranges import record_ranges, value_ranges
from understudy.inference.noise_aware.count_estimates import FEWEST, Counted
from understudy.inference.noise_aware.unbiased_tables import covers, marginal, pooled_table
from understudy.methods import modelled
from understudy.release import Measurement, Release
from understudy.schema import Schema

_ROUNDING = 1e-12
_POOLED = {"partial": partial_variance, "mi": mi_variance}


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
    used = [one for one in measurements if covers(one, estimand.columns)]
    table = pooled_table([marginal(one, estimand.columns, schema) for one in used])
    ranges = value_ranges(estimand, schema)
    heavy = not all("gaussian" in one.law.lower() for one in used)
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
        pooled=_together(ranges.names, estimates, curves, rule="noise-aware", sets=len(used)),
        dropped=float(table.counts[absent].sum()),
        dropped_noise=float(np.sqrt(table.variances[absent].sum())),
        varied=not ranges.exact,
    )


def set_quantiles(
    estimand: Estimand, release: Release, rule: str
) -> tuple[Quantiles, tuple[int, ...]]:
    """Quantiles from synthetic sets, and how many records of each set were left out.

    Args:
        estimand: a quantile.
        release: with its sets.
        rule: "partial", "mi", or "single", which counts neither noise nor synthesis.

    Raises:
        InferenceError: a set has too few records in every group, or the expression cannot be told
            from bins.
    """
    sets = [_values(estimand, table, release) for table in release.tables]
    names = estimand.names(release.schema)
    estimates: list[float] = []
    curves: list[Curve | None] = []
    for j in range(len(names)):
        parts = [[one[quantity == j] for one in values] for quantity, *values in sets]
        if min(len(low) for low, _, _ in parts) < FEWEST:
            estimates.append(np.nan)
            curves.append(None)
            continue
        low, high, middle = (list(columns) for columns in zip(*parts, strict=True))
        p = estimand.probability
        curves.append(Curve(set_steps(low, p, rule), set_steps(high, p, rule)))
        estimates.append(_crossing(set_steps(middle, p, rule)))
    dropped = tuple(int((quantity == ABSENT).sum()) for quantity, *_ in sets)
    return _together(names, estimates, curves, rule=rule, sets=len(sets)), dropped


def _together(
    names: Sequence[str],
    estimates: Sequence[float],
    curves: Sequence[Curve | None],
    *,
    rule: str,
    sets: int,
) -> Quantiles:
    empty = [name for name, curve in zip(names, curves, strict=True) if curve is None]
    if len(empty) == len(names):
        raise InferenceError(f"There are too few records for {', '.join(empty[:3])}.")
    note = (
        f"There are too few records for {', '.join(empty[:3])}, so there is no estimate."
        if empty
        else ""
    )
    notes = (note,) if note else ()
    return quantiles(names, estimates, curves, rule=rule, sets=sets, notes=notes)


def _values(
    estimand: Estimand, table: pl.DataFrame, release: Release
) -> tuple[Ints, Vector, Vector, Vector]:
    """Quantity, least, largest and released value of each record; each of shape (n,)."""
    manifest, schema = release.manifest, release.schema
    drawn = modelled(manifest.method, manifest.options, schema)
    records = Records.of(table, schema, estimand.columns)
    scores = estimand.scores(records)
    spread = [n for n in records.numbers if n not in drawn and n not in estimand.groups]
    low, high = record_ranges(estimand, records, spread)
    return scores.quantity, low, high, scores.value


def set_steps(sets: Sequence[Vector], p: float, rule: str) -> Steps:
    """The mean distribution function of some sets, with its error by a combining rule.

    Args:
        sets: the values in each.
        p: probability of the quantile.
        rule: "partial", "mi" or "single".
    """
    values = np.unique(np.concatenate(sets))
    below = np.stack([np.searchsorted(np.sort(one), values, side="right") for one in sets])
    sizes = np.array([[float(len(one))] for one in sets])
    shares = below / sizes
    within = np.broadcast_to(p * (1 - p) / sizes, shares.shape)
    totals = _totals(shares, within, rule)
    return Steps(
        values=values,
        excess=totals.estimate - p,
        stderr=np.sqrt(totals.variance),
        df=totals.df,
        kurtosis=np.array(0.0),
        half=0.5 / sizes.mean(axis=0),
        share=totals.share,
    )


def _totals(q: Vector, u: Vector, rule: str) -> Totals:
    if rule == "single":
        return single_variance(q, u, 0.0)
    return _POOLED[rule](q, u)


def _crossing(steps: Steps) -> float:
    """The least number that the mean distribution function takes to p."""
    return float(steps.values[(steps.excess >= -_ROUNDING).argmax()])
