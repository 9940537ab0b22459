"""Quantiles with intervals that hold for discrete columns and for bins, by inverting tests.

A number x is the p-quantile of V where P(V < x) ≤ p ≤ P(V ≤ x). With estimates of both
probabilities and critical values c for one-sided tests of level α/2 each, the interval has every x
that neither test rejects:

    F̂(x) − p ≥ −c(x)   and   F̂(x−) − p ≤ c(x−).

It misses the quantile only if one of two tests rejects what is true, so with probability at most α,
however few values there are: on one number that all records share it is that number, and on a
number that just half of them share its median has both neighbours. No density and no standard error
of the quantile is asked for, and none is given. A symmetric interval from a standard error, as that
of Woodruff (1952), has width 0 on a number that many records share, whether the quantile lies well
inside its share or at the edge.

* The test statistic is taken under its hypothesis, F(x) = p, so that its variance never vanishes:
  p(1 − p)/n by sampling, and Σ v·(w − p)²/n² by the noise of the cells, where w is 1 for a cell at
  or below x, else 0. It is linear in the counts: no ratio, no delta method.
* A count is whole, so half a record is added to c (continuity). Noise with Laplace
  tails has them in sums of few cells too: c has the next term of Cornish and Fisher (1938), which
  for one Laplace variable gives 2.17 standard deviations instead of 1.96 (exactly 2.12).
* Of a bin only its ends are known (`understudy.inference.bin_bias`). The lower end
  counts every cell that reaches down to x, the upper end only cells that lie below x as a whole:
  the interval covers whole bins, wherever in them the numbers lie.

The *estimate* is the p-quantile of the counts made monotone, with numbers even within bins.

Kernels take counts with leading axes of repetitions, so that a simulation calls this very code.

Sources: test inversion as in Thompson (1936), Annals of Mathematical Statistics 7, 122-128, and for
estimated distribution functions Francisco & Fuller (1991), Annals of Statistics 19, 454-469;
Cornish & Fisher (1938), Revue de l'Institut International de Statistique 5, 307-320.

**Quantiles from the released noisy counts themselves, by inverting tests.**

Of which counts: `inference.counts`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from understudy._arrays import Z_95, Floats, Integers
from understudy.errors import TooFewError
from understudy.inference.bin_bias import Ranges, value_ranges
from understudy.inference.combining import Pooled, require_level
from understudy.inference.conditions import require_told
from understudy.inference.counts import FEWEST, Counted
from understudy.inference.noisy_tables import (
    NoisyCounts,
    coarser_table,
    marginal,
    pooled_table,
    select_covering,
)
from understudy.inference.question import Estimand, Scores
from understudy.inference.records import cell_points
from understudy.release.measurement import Measurement
from understudy.schema import NUMERIC, Schema
from understudy.schema.coarsening import bin_starts
from understudy.schema.expressions import read_name

_LAPLACE_KURTOSIS = 3.0
_MOST_WEIGHTS = 2**20  # that are in memory at once


@dataclass(frozen=True)
class Steps:
    """An estimated distribution function less p, at the values where it steps.

    Attributes:
        values: K distinct values in order, shape (K,).
        excess: F̂ − p at each, shape (..., K).
        stderr: standard error of it if F = p there, shape (..., K).
        df: degrees of freedom of its t reference, shape (..., K) or less; infinite for the normal.
        kurtosis: excess kurtosis of its error, shape (..., K) or less.
        half: half a record, as a share, shape (..., 1).
        share: share of the variance that is synthesis and noise, shape (..., K) or less.
    """

    values: Floats
    excess: Floats
    stderr: Floats
    df: Floats
    kurtosis: Floats
    half: Floats
    share: Floats

    def critical(self, level: float) -> Floats:
        """Compute how far F̂ may be from p, one-sided, at (1 − level)/2; shape (..., K)."""
        normal = np.isinf(self.df)
        tail = (1 + level) / 2
        z = np.where(normal, ndtri(tail), stdtrit(np.where(normal, 1, self.df), tail))
        wide = z + self.kurtosis * np.maximum(z**3 - 3 * z, 0.0) / 24
        return np.asarray(wide * self.stderr + self.half)


@dataclass(frozen=True)
class Curve:
    """Bounds on the distribution of a value: of its least and of its largest possible one.

    Attributes:
        least: if every value lay at the low end of its cell, so that F̂ is as large as it can be.
        largest: if every value lay at the high end.
    """

    least: Steps
    largest: Steps

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the confidence intervals of the quantile, each of shape (...)."""
        kept = self.least.excess >= -self.least.critical(level)
        kept[..., -1] = True  # no value lies beyond the last one
        possible = self.largest.excess <= self.largest.critical(level)
        k = possible.shape[-1]
        last = np.where(possible.any(axis=-1), k - 1 - possible[..., ::-1].argmax(axis=-1), -1)
        upper = self.largest.values[np.minimum(last + 1, k - 1)]
        return self.least.values[kept.argmax(axis=-1)], upper

    @property
    def stderr(self) -> float:
        """Standard error of the distribution function where it is nearest to p."""
        return float(self.least.stderr[np.abs(self.least.excess).argmin()])

    @property
    def share(self) -> float:
        """Share of synthesis and noise in that variance."""
        spread = np.broadcast_to(self.least.share, self.least.excess.shape)
        return float(spread[np.abs(self.least.excess).argmin()])


@dataclass(frozen=True)
class Quantiles(Pooled):
    """Quantiles with intervals by inversion. No standard errors, and no p-values of the value 0.

    Attributes:
        curves: one for each quantity; None for a group without records.
    """

    curves: tuple[Curve | None, ...] = ()

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals, each of shape (k,).

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        ends = [(np.nan, np.nan) if c is None else c.interval(level) for c in self.curves]
        lower, upper = np.array(ends, dtype=np.float64).T
        return lower, upper

    @property
    def pvalue(self) -> Floats:
        """NaN: that a quantile is 0 is no hypothesis of interest, and none is tested."""
        return np.full(len(self.names), np.nan)

    @property
    def share_stderr(self) -> Floats:
        """Standard errors of the distribution functions at the quantiles, shape (k,)."""
        return np.array([np.nan if c is None else c.stderr for c in self.curves])


def quantiles(
    names: Sequence[str],
    estimates: Sequence[float],
    curves: Sequence[Curve | None],
    *,
    rule: str,
    sets: int,
) -> Quantiles:
    """Put together what is known of k quantiles.

    Args:
        names: k names.
        estimates: k estimates, NaN where there is none.
        curves: see `Quantiles`; None where there are too few records.
        rule: how the errors were counted.
        sets: tables or sets behind them.

    Raises:
        InferenceError: there is no estimate at all.
    """
    k = len(names)
    empty = [name for name, curve in zip(names, curves, strict=True) if curve is None]
    few = f"There are too few records for {', '.join(empty[:3])}"
    if len(empty) == k:
        raise TooFewError(f"{few}.")
    return Quantiles(
        names=tuple(names),
        estimate=np.array(estimates, dtype=np.float64),
        covariance=np.full((k, k), np.nan),
        df=np.full(k, np.nan),
        synthesis_share=np.array([np.nan if c is None else c.share for c in curves]),
        rule=rule,
        sets=sets,
        notes=(f"{few}, so there is no estimate.",) if empty else (),
        bias=np.full(k, np.nan),  # the interval covers whole bins
        curves=tuple(curves),
    )


def counted_curve(
    table: NoisyCounts,
    cells: Integers,
    ranges: Ranges,
    probability: float,
    *,
    heavy: bool,
    growth: float = 1.0,
) -> Curve:
    """The distribution of a value over some cells of a noisy table.

    Args:
        table: counts of shape (..., cells), variances of shape (cells,).
        cells: that count, shape (c,).
        ranges: values of all cells.
        probability: p.
        heavy: whether the noise has Laplace tails.
        growth: how many times the sampling variance is that of records drawn one by one.
    """
    sources = None if table.sources is None else table.sources.take(cells)
    kept = NoisyCounts(table.counts[..., cells], table.variances[cells], sources)

    def steps(values: Floats) -> Steps:
        return _counted_steps(kept, values[cells], probability, heavy=heavy, growth=growth)

    return Curve(steps(ranges.low), steps(ranges.high))


def _counted_steps(
    table: NoisyCounts, values: Floats, p: float, *, heavy: bool, growth: float
) -> Steps:
    counts = table.counts
    order = np.argsort(values, kind="stable")
    distinct, starts = np.unique(values[order], return_index=True)
    last = np.append(starts[1:], len(values)) - 1
    size = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    below = counts[..., order].cumsum(axis=-1)[..., last]
    noise, fourth = _step_noise(table, order, last, p, heavy=heavy)
    variance = noise + growth * size * p * (1 - p)
    return Steps(
        values=distinct,
        excess=(below - p * counts.sum(axis=-1, keepdims=True)) / size,
        stderr=np.sqrt(variance) / size,
        df=np.array(np.inf),
        kurtosis=_LAPLACE_KURTOSIS * fourth / variance**2 if heavy else np.array(0.0),
        half=0.5 / size,
        share=noise / variance,
    )


def _step_noise(
    table: NoisyCounts, order: Integers, last: Integers, p: float, *, heavy: bool
) -> tuple[Floats, Floats]:
    """Σ v·w² and Σ v²·w⁴ at each step, w the weights of independent noises, shape (K,) each.

    The second is asked of noise with Laplace tails.
    """
    if table.sources is not None:
        noise = np.maximum(table.sources.step_variances(order, last, p), 0.0)
        if not heavy:
            return noise, np.zeros_like(noise)
        variances, rank = table.sources.variances, np.argsort(order)
        blocks = np.array_split(last, math.ceil(len(last) * len(variances) / _MOST_WEIGHTS))
        each = (np.asarray((rank <= upto[:, None]) - p) for upto in blocks)
        return noise, np.concatenate([table.sources.weights(w) ** 4 @ variances**2 for w in each])
    variances = table.variances
    v, square = (x[order].cumsum()[last] for x in (variances, variances**2))
    noise = v * (1 - p) ** 2 + (variances.sum() - v) * p**2
    return noise, square * (1 - p) ** 4 + ((variances**2).sum() - square) * p**4


def counted_estimate(counts: Floats, cells: Integers, ranges: Ranges, probability: float) -> float:
    """The p-quantile of noisy counts made monotone, with numbers even within bins.

    Running sums made monotone are the slopes of the greatest convex function below their own
    running sums. Slopes reach a threshold where that function, less the threshold, is least.

    Args:
        counts: shape (cells,).
        cells: that count.
        ranges: values of all cells.
        probability: p.
    """
    n_points = np.bincount(ranges.cell_of, minlength=len(counts))
    used = np.isin(ranges.cell_of, cells)
    values, at = ranges.points[used], ranges.cell_of[used]
    order = np.argsort(values, kind="stable")
    upto = (counts[at] / n_points[at])[order].cumsum()
    beyond = upto - probability * upto[-1] * (1 - 1e-12)
    reached = int(np.append(0.0, beyond.cumsum()).argmin())
    return float(values[order][min(reached, len(upto) - 1)])


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
    used = select_covering(measurements, estimand.columns)
    table = pooled_table([marginal(measurement, estimand.columns, schema) for measurement in used])
    heavy = not all(measurement.family.is_gaussian for measurement in used)
    return table_quantiles(estimand, table, schema, len(used), heavy=heavy)


def coarse_quantiles(
    estimand: Estimand, measurements: Sequence[Measurement], schema: Schema
) -> Counted | None:
    """Quantiles by group from a table that was declared in wider bins; None where there is none.

    Args:
        estimand: the question.
        measurements: of a release.
        schema: of the release.

    Raises:
        InferenceError: as above.
    """
    table = coarser_table(measurements, estimand.columns) if estimand.kind == "quantile" else None
    if table is None:
        return None
    return count_quantiles(estimand, [replace(table, bins={})], table.bin_schema(schema))


def expected_halves(
    estimand: Estimand, scores: Scores, schema: Schema, stddev: float
) -> list[tuple[str, float, float]]:
    """Half-widths that are expected of quantiles by group, counted in a table of their columns.

    They reach from the numbers between which their share of the group is unsure to the ends of
    bins; a number on an edge lies in the bin that begins there. Of K cells of a group, those below
    a share p have (1 − p)² of the noise's variance and those above p²: K·p·(1 − p) where the cells
    are even.

    Args:
        estimand: a quantile.
        scores: of records that stand for those of the release.
        schema: in the bins of the table.
        stddev: of the noise in a cell.

    Returns:
        Name of each, and half of its interval of 95 % by noise and bins, and by sampling; NaN for
        a group without records.
    """
    p, column = estimand.probability, schema.columns.get(read_name(estimand.expression))
    cells = schema.table(estimand.columns).n_cells / max(len(scores.names), 1)
    spread, found = Z_95 * np.sqrt(p * (1 - p)), []
    for group, name in enumerate(scores.names):
        values = np.sort(scores.value[scores.quantity == group])
        n = max(len(values), 1)
        sampling, both = (
            np.quantile(values, np.clip([p - own, p + own], 0, 1))
            if len(values)
            else np.full(2, np.nan)
            for own in (
                spread / np.sqrt(n),
                spread * np.hypot(stddev * np.sqrt(cells), np.sqrt(n)) / n,
            )
        )
        if isinstance(column, NUMERIC) and len(values):
            edges = np.array([*bin_starts(column), column.bounds[1]])
            first, last = np.searchsorted(edges[1:-1], both, side="right")
            both = np.array([edges[first], edges[last + 1]])
        half, alone = float(both[1] - both[0]) / 2, float(sampling[1] - sampling[0]) / 2
        found.append((name, float(np.sqrt(np.maximum(half**2 - alone**2, 0))), alone))
    return found


def table_quantiles(
    estimand: Estimand,
    table: NoisyCounts,
    schema: Schema,
    tables: int,
    *,
    heavy: bool,
    growth: Floats | None = None,
) -> Counted:
    """The same from unbiased counts.

    Args:
        estimand: a quantile.
        table: over its columns.
        schema: in the bins of the table.
        tables: how many measurements it rests on.
        heavy: whether the noise has Laplace tails.
        growth: how many times the sampling variance of each quantity is that of records drawn one
            by one, shape (k,); None for 1.

    Raises:
        InferenceError: as above.
    """
    require_told(estimand, schema)
    ranges = value_ranges(estimand, schema)
    estimates: list[float] = []
    curves: list[Curve | None] = []
    grown = np.ones(len(ranges.names)) if growth is None else growth
    for j in range(len(ranges.names)):
        cells = np.flatnonzero(ranges.quantity == j)
        empty = table.counts[cells].sum() < FEWEST
        p = estimand.probability
        grows = float(grown[j])
        curves.append(
            None if empty else counted_curve(table, cells, ranges, p, heavy=heavy, growth=grows)
        )
        estimates.append(np.nan if empty else counted_estimate(table.counts, cells, ranges, p))
    absent = ~cell_points(schema, estimand.columns, ())[0].complete()
    return Counted(
        pooled=quantiles(ranges.names, estimates, curves, rule="noise-aware", sets=tables),
        dropped=float(table.counts[absent].sum()),
        dropped_noise=float(np.sqrt(table.variances[absent].sum())),
        varied=not ranges.exact,
    )
