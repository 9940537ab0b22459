"""Estimates from the released noisy counts themselves, with the exact variance of their noise.

A table of counts with noise of known variance in every allowed cell is a better witness than
records drawn from it: it is unbiased, because no negative count was set to 0, and its error is
known, because the distribution of the noise is published. So for what is linear in counts:

1. **Marginal.** Each table that covers the columns is summed over its other columns. A cell of the
   marginal has the sum of the noise variances of the allowed cells in it; structural zeros carry
   none.
2. **Pool.** Tables with independent noise (those of split sets, or several that cover the columns)
   are averaged cell by cell, weighted by inverse variance.
3. **Sum.** A quantity N = Σ w·y over its cells, the size D = Σ y of its group over the *same*
   cells. Counts of records out of domain stay apart. N, a total, is unbiased with variance
   Σ w²·v exactly.
4. **Ratio.** R = N/D has noise variance Σ v·(w - R)²/D² over the cells of its group, by the delta
   method. Its relative error is of the order of (noise in D)/D, and `small_groups` says where that
   is too large to be trusted. Sampling variance is added, as if the records were a random sample
   of the population that the analyst asks about (`understudy.inference.contributions`).

Values within a bin count as uniform, as in the synthetic sets. What that may change is bounded: the
same is estimated with each value at the least, and at the largest number of its cell, and the
interval holds the intervals of both (`understudy.inference.bin_bias`).

Nothing is clipped: an estimated share may be negative, and so may the lower end of an interval.
Setting them to 0 would bias sums and differences of them. Only what people read (the text of an
analysis, the terminal) cuts *intervals* of shares to [0, 1], which can but raise their coverage.

Kernels take counts with leading axes of repetitions, so that a simulation calls this very code.

Sources: unbiased use of released noisy measurements as in Abowd et al. (2022), "The 2020 Census
Disclosure Avoidance System TopDown Algorithm", HDSR, and Charest (2010), J. Privacy and
Confidentiality 2(2), on inference that takes the mechanism as part of the likelihood.

**Estimates from records that were drawn from an urn, with the exact variance of the drawing.**

Records of the methods dirichlet, dp-prior and smoothed-histogram are drawn from n real ones and a
prior of weight α in each of K cells (`understudy.mechanisms.urn`). Their shares are
biased towards 1/K, but by how much is public: with N = n + Kα, a cell with n_k real records has
share

    q_k = (n_k + α)/N,   so that   n̂_k = N·y_k/ñ − α

is unbiased, y_k of ñ records lying there. Cells of a marginal table have as many α as there are
allowed cells behind them. The counts y have the covariance

    Cov(y_j, y_k) = f·ñ·(q_k·1{j = k} − q_j·q_k),   f = (ñ + N)/(1 + N) if reinforced, else 1,

that of Dirichlet–multinomial and multinomial counts. So for means over m sets, and to first order
for ratios with slopes s_k = ∂R/∂n̂_k,

    Var R̂ = κ·(Σ q_k·s_k² − (Σ q_k·s_k)²) + σ²·(Σ q_k·s_k)²,   κ = N²·f/(ñ·m),

where σ² is the variance of the noise in n, if n was bought: it stands in N, and ∂n̂_k/∂n = q_k. The
first sum is what independent noise of variance κ·q_k in cell k would give, so `ratios`
computes it. With shares in place of q_k the first bracket is expected to be smaller by the factor
1 − f/(ñ·m), which is put right. Sampling variance is added, as for noisy counts.

**Shares of all records.** The law of a count of records, and not only its variance, is known, and
with it the exact posterior of a share under a flat prior (`proportion_likelihood`). Where there are
few records or the prior weighs much, the interval above is too short near 0 and 1, and the
posterior one misses shares that a flat prior calls unlikely. The interval that is given holds both;
of many records they are alike. `benchmarks/shares_of_urns.py` measures all three.

Confidential records outside the schema's domain lie in no urn. How many there are is not released,
and n counts them, so they are taken to be none.

Source: the unbiased form of Charest (2010), "How can we analyze differentially-private synthetic
datasets?", whose posterior `understudy.papers.proportion_likelihood` has exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.dp.budget import UNITS
from understudy.dp.calibration import calibrate
from understudy.inference.bin_bias import end_scores, with_ends
from understudy.inference.combining import Pooled
from understudy.inference.conditions import require_told
from understudy.inference.contributions import CellScores, cell_sampling, cell_scores, ratio, sum_by
from understudy.inference.noisy_tables import (
    NoisyCounts,
    marginal,
    pooled_table,
    select_covering,
)
from understudy.inference.question import SHARES, Estimand
from understudy.inference.records import ABSENT, Records, cell_points
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.papers.proportion_likelihood import ProportionPosterior

# Of a group smaller than this many standard deviations of its noise, ratios are not to be trusted.
_FIRM = 4.0
FEWEST = 2.0
"""Records that a group must have, by its noisy counts, for a ratio or a quantile in it."""


@dataclass(frozen=True)
class Counted:
    """An estimate from noisy counts, and what to say about it.

    Attributes:
        pooled: the estimate.
        dropped: unbiased number of records left out because a value is absent.
        dropped_noise: standard deviation of the noise in `dropped`.
        varied: whether values vary within cells, so that bins may bias the estimate.
    """

    pooled: Pooled
    dropped: float
    dropped_noise: float
    varied: bool


@dataclass(frozen=True)
class Ratios:
    """Ratios from noisy counts, and what their variance is made of.

    Attributes:
        totals: sums of values N, shape (..., k).
        total_noise: variance of the noise in the totals, shape (k,), or (..., k) where variances
            differ between repetitions; totals are independent.
        sizes: size of the group of each quantity, shape (..., k).
        size_noise: variance of the noise in the sizes, shape of `total_noise`.
        estimate: ratios, shape (..., k).
        noise: covariance by noise, shape (..., k, k).
        sampling: covariance by sampling, shape (..., k, k).
    """

    totals: Floats
    total_noise: Floats
    sizes: Floats
    size_noise: Floats
    estimate: Floats
    noise: Floats
    sampling: Floats


def ratios(table: NoisyCounts, scores: CellScores) -> Ratios:
    """Totals and ratios with their noise and sampling covariances.

    Args:
        table: counts of shape (..., cells), variances of that shape or (cells,).
        scores: for the same cells.
    """
    k, n_groups = len(scores.names), int(scores.group_of.max()) + 1
    used = np.flatnonzero(scores.quantity != ABSENT)
    quantity, value, v = scores.quantity[used], scores.value[used], table.variances[..., used]
    counts = table.counts[..., used]
    group = scores.group_of[quantity]

    def total(weights: Floats) -> Floats:
        return sum_by(counts, quantity, weights, k)

    totals, squares = total(value), total(scores.square[used])
    sizes = sum_by(counts, group, np.ones(len(used)), n_groups)[..., scores.group_of]
    estimate = ratio(totals, sizes)
    size_noise = sum_by(v, group, np.ones(len(used)), n_groups)[..., scores.group_of]
    total_noise = sum_by(v, quantity, value**2, k)
    mixed = sum_by(v, quantity, value, k)
    if table.sources is not None:
        of_totals, of_sizes = _weights_of(scores)
        pairs = ((of_totals, of_totals), (of_totals, of_sizes), (of_sizes, of_sizes))
        total_noise, mixed, size_noise = (table.sources.covariance(*pair) for pair in pairs)
    noise = _noise_covariance(
        estimate=estimate,
        sizes=sizes,
        total_noise=total_noise,
        mixed=mixed,
        size_noise=size_noise,
        group_of=scores.group_of,
    )
    if table.sources is not None and k > 1:
        with np.errstate(divide="ignore", invalid="ignore"):  # of an empty group, NaN
            influence = (of_totals - estimate[:, None] * of_sizes) / sizes[:, None]
        noise = table.sources.covariance(influence[:, None], influence[None])
    return Ratios(
        totals=totals,
        total_noise=total_noise,
        sizes=sizes,
        size_noise=size_noise,
        estimate=estimate,
        noise=noise,
        sampling=cell_sampling(
            table,
            scores,
            estimate=estimate,
            squares=squares,
            sizes=sizes,
            total_noise=total_noise,
        ),
    )


def _weights_of(scores: CellScores) -> tuple[Floats, Floats]:
    """Weights of cells in the total of each quantity, and in the size of its group; (k, cells)."""
    own = scores.quantity == np.arange(len(scores.names))[:, None]
    groups = np.where(scores.quantity == ABSENT, ABSENT, scores.group_of[scores.quantity])
    return own * scores.value, (groups == scores.group_of[:, None]).astype(np.float64)


def _noise_covariance(
    *,
    estimate: Floats,
    sizes: Floats,
    total_noise: Floats,
    mixed: Floats,
    size_noise: Floats,
    group_of: Integers,
) -> Floats:
    """Σ v·(w_a - R_a)(w_b - R_b)/D² over the cells of a group, multiplied out, shape (..., k, k).

    `mixed` is Cov(N_a, D) = Σ v·w_a. Cells of different quantities share no noise, nor do groups.
    """
    crossed = estimate[..., :, None] * mixed[..., None, :]  # R_a·Cov(N_b, D)
    product = estimate[..., :, None] * estimate[..., None, :] * size_noise[..., None, :]
    noise = np.eye(estimate.shape[-1]) * total_noise[..., None, :]
    covariance = noise - crossed - np.swapaxes(crossed, -1, -2) + product
    same = group_of[:, None] == group_of
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty group, NaN
        return np.asarray(covariance * same / (sizes[..., :, None] * sizes[..., None, :]))


def small_groups(sums: Ratios) -> NDArray[np.bool_]:
    """Quantities whose group is too small beside its noise for the delta method, shape (..., k)."""
    return np.asarray(sums.sizes < _FIRM * np.sqrt(sums.size_noise))


def estimate_counts(
    estimand: Estimand, measurements: Sequence[Measurement], schema: Schema
) -> Counted:
    """Estimate a mean, proportion, cross-tabulation or total from full noisy tables.

    Args:
        estimand: of one of these kinds.
        measurements: at least one full table that covers its columns; others are passed over.
        schema: the public schema.

    Returns:
        The estimates, with the normal as reference. A group without records has NaN and a note.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record.
    """
    used = select_covering(measurements, estimand.columns)
    table = pooled_table([marginal(measurement, estimand.columns, schema) for measurement in used])
    return table_estimates(estimand, table, schema, len(used))


def table_estimates(estimand: Estimand, table: NoisyCounts, schema: Schema, tables: int) -> Counted:
    """The same from unbiased counts.

    Args:
        estimand: of one of these kinds.
        table: over its columns.
        schema: in the bins of the table.
        tables: how many measurements it rests on.

    Raises:
        InferenceError: as above.
    """
    require_told(estimand, schema)
    scores = cell_scores(estimand, schema)

    def answer(of: CellScores) -> Pooled:
        sums = ratios(table, of)
        total_noise = np.diag(sums.total_noise)
        if table.sources is not None:
            totals, _ = _weights_of(of)
            total_noise = table.sources.covariance(totals[:, None], totals[None])
        return pooled_ratios(estimand, of, sums, total_noise, tables)

    pooled = with_ends(answer, scores, end_scores(estimand, schema, scores))
    absent = _absent_cells(estimand, schema)
    return Counted(
        pooled=pooled,
        dropped=float(table.counts[absent].sum()),
        dropped_noise=float(np.sqrt(table.variances[absent].sum())),
        varied=bool(pooled.bias.any()),
    )


def _absent_cells(estimand: Estimand, schema: Schema) -> NDArray[np.bool_]:
    """Mark cells in which a value is absent, whether or not they meet a condition."""
    points, _ = cell_points(schema, estimand.columns, ())
    return ~points.complete()


def pooled_ratios(
    estimand: Estimand, scores: CellScores, sums: Ratios, total_noise: Floats, sets: int
) -> Pooled:
    """Estimate totals or ratios, with all their error.

    Args:
        estimand: of one of these kinds.
        scores: of the cells.
        sums: totals and ratios, without leading axes.
        total_noise: covariance of the totals by noise, shape (k, k).
        sets: tables or sets behind them.
    """
    total = estimand.kind == "total"
    noise = total_noise if total else sums.noise
    covariance = noise if total else noise + sums.sampling
    empty = np.zeros(len(scores.names), dtype=np.bool_) if total else sums.sizes < FEWEST
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.diagonal(noise) / np.diagonal(covariance)
    return Pooled(
        names=scores.names,
        estimate=np.where(empty, np.nan, sums.totals if total else sums.estimate),
        covariance=np.where(empty[:, None] | empty, np.nan, covariance),
        df=np.full(len(scores.names), np.inf),
        synthesis_share=np.where(empty, np.nan, share),
        rule="noise-aware",
        sets=sets,
        notes=() if total else tuple(_size_notes(scores, sums)),
    )


def _size_notes(scores: CellScores, sums: Ratios) -> Iterator[str]:
    empty = sums.sizes < FEWEST
    if empty.any():
        yield (
            f"By the noisy counts there are no records for {_some(scores.names, empty)}, so there "
            "is no estimate."
        )
    doubtful = small_groups(sums) & ~empty
    if doubtful.any():
        yield (
            f"The error of {_some(scores.names, doubtful)} is only rough: the group has fewer "
            f"records than {_FIRM:g} standard deviations of the noise in their number."
        )


def _some(names: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    listed = [name for name, hit in zip(names, chosen, strict=True) if hit]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


POSTERIOR_NOTE = (
    "Intervals hold the exact posterior of each share under a flat prior, and that of the unbiased "
    "estimate."
)


@dataclass(frozen=True)
class Urns:
    """Public facts about the urns of m sets.

    Attributes:
        prior: weight α of a cell, in records; shape () or, for simulations, (...).
        behind: allowed cells of the urn behind each cell of a marginal table, shape (cells,).
        n_rows: n as far as it is known, and the records of each set; shape of `prior`.
        rows_variance: variance of the noise in n; 0 if it is public.
        sets: number of sets, each from an urn of its own.
        reinforced: whether draws added to the weight of their cell.
    """

    prior: Floats
    behind: Floats
    n_rows: Floats
    rows_variance: float
    sets: int
    reinforced: bool

    @property
    def mass(self) -> Floats:
        """N, the weight of all real records and cells."""
        return np.asarray(self.n_rows + self.prior * self.behind.sum())

    @property
    def spread(self) -> Floats:
        """κ, made unbiased for use with observed shares."""
        f = (self.n_rows + self.mass) / (1 + self.mass) if self.reinforced else 1.0
        part = f / (self.n_rows * self.sets)
        return np.asarray(self.mass**2 * part / (1 - np.minimum(part, 0.5)))


def urns_of(release: Release, columns: Sequence[str]) -> Urns:
    """The urns of a release, seen through a marginal table.

    Args:
        release: one whose sets `are_drawn`.
        columns: of the marginal, in the order of the schema.
    """
    urn = next(urn for urn in release.measurements if urn.kind is Kind.DRAWS)
    allowed = urn.bin_schema(release.schema).table(urn.columns).allowed_mask()
    others = tuple(j for j, name in enumerate(urn.columns) if name not in columns)
    return Urns(
        prior=np.array(float(Fraction(urn.scale))),
        behind=allowed.sum(axis=others, dtype=np.float64).reshape(-1),
        n_rows=np.array(float(release.manifest.n_rows)),
        rows_variance=_rows_variance(release),
        sets=release.manifest.sets,
        reinforced=bool((urn.totals or {})["reinforced"]),
    )


def _rows_variance(release: Release) -> float:
    """Variance of the noise in the number of rows, from what was paid for it."""
    if release.schema.rows == "public":
        return 0.0
    entry = next(row for row in release.manifest.ledger if row["query"] == "number of rows")
    accounting = next(name for name, unit in UNITS.items() if f"{unit}_exact" in entry)
    distribution = calibrate(
        "geometric" if accounting == "pure" else "gaussian",
        spend=Fraction(entry[f"{UNITS[accounting]}_exact"]),
        accounting=accounting,
        neighbours=release.schema.neighbours,
    )
    return distribution.stddev**2


def urn_ratios(counts: Floats, urns: Urns, scores: CellScores) -> tuple[Ratios, Floats]:
    """Ratios with their covariances, and the covariance of the totals by drawing.

    Args:
        counts: records in each cell, mean over the sets, shape (..., cells); cells with an absent
            value need not be counted.
        urns: for the same cells.
        scores: for the same cells.

    Returns:
        The ratios; their `total_noise` holds variances alone. The covariance has shape (..., k, k).
    """
    n_rows, mass, prior, spread = (
        np.asarray(number)[..., None]
        for number in (urns.n_rows, urns.mass, urns.prior, urns.spread)
    )
    shares = counts / n_rows
    # A cell that no record was drawn into has a share all the same, α/N at least.
    least = np.maximum(shares, prior * urns.behind / mass)
    sums = ratios(NoisyCounts(mass * shares - prior * urns.behind, spread * least), scores)
    inside, group = _drawn_shares(shares, scores)
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty group, NaN
        slopes = (inside - sums.estimate * group) / sums.sizes
    common = urns.rows_variance - spread
    drawn = np.eye(len(scores.names)) * sums.total_noise[..., None, :]
    totals = drawn + common[..., None] * _outer(inside)
    corrected = replace(
        sums,
        noise=sums.noise + common[..., None] * _outer(slopes),
        size_noise=np.maximum(sums.size_noise + common * group**2, 0.0),
        total_noise=sums.total_noise + common * inside**2,
    )
    return corrected, totals


def _drawn_shares(shares: Floats, scores: CellScores) -> tuple[Floats, Floats]:
    """Σ w·q over the cells of each quantity, and Σ q over those of its group, shapes (..., k)."""
    used = np.flatnonzero(scores.quantity != ABSENT)
    quantity, picked = scores.quantity[used], shares[..., used]
    inside = sum_by(picked, quantity, scores.value[used], len(scores.names))
    ones = np.ones(len(used))
    groups = sum_by(picked, scores.group_of[quantity], ones, int(scores.group_of.max()) + 1)
    return inside, groups[..., scores.group_of]


def _outer(vectors: Floats) -> Floats:
    return np.asarray(vectors[..., :, None] * vectors[..., None, :])


@dataclass(frozen=True)
class DrawnShares(Pooled):
    """Shares from records that were drawn from urns, with their exact posteriors.

    Attributes:
        posteriors: one for each; None for what is certain.
    """

    posteriors: tuple[ProportionPosterior | None, ...] = ()

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Ends of intervals that hold the unbiased estimate's and the posterior's, shape (k,).

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        lower, upper = super().interval(level)
        for k, posterior in enumerate(self.posteriors):
            if posterior is not None:
                low, high = posterior.interval(level)
                lower[k], upper[k] = min(lower[k], low), max(upper[k], high)
        return lower, upper


def with_posteriors(pooled: Pooled, counts: Floats, urns: Urns, scores: CellScores) -> Pooled:
    """Shares of all records with the exact posterior of each; other answers as they are.

    Args:
        pooled: shares with their errors; those of sampling alone are not looked at.
        counts: records of each set in each cell, shape (sets, cells).
        urns: that they were drawn from.
        scores: of the cells: one group that has every cell, and values 0 and 1.
    """
    from understudy.papers.proportion_likelihood import (
        from_beta_binomial,
        from_dp_prior,
        plausible_counts,
    )

    possible = urns.behind > 0
    whole = (scores.quantity[possible] != ABSENT).all() and not scores.group_of.any()
    if urns.rows_variance or not whole or not np.isin(scores.value, (0.0, 1.0)).all():
        return pooled
    n, levels = round(float(urns.n_rows)), round(float(urns.behind.sum()))
    prior = float(urns.prior)
    found: list[ProportionPosterior | None] = []
    for k in range(len(scores.names)):
        own = (scores.quantity == k) & (scores.value == 1)
        cells = round(float(urns.behind[own].sum()))
        if not 0 < cells < levels:
            found.append(None)
            continue
        drawn = counts[:, own].sum(axis=1)
        share = float(drawn.mean()) / n
        spread = float(np.sqrt(urns.spread * max(share * (1 - share), 1 / n)))
        plausible = plausible_counts(float(urns.mass) * share - cells * prior, spread, n)
        law = (
            partial(from_beta_binomial, alpha=prior)
            if urns.reinforced
            else partial(from_dp_prior, prior=prior)
        )
        known = {"n_synthetic": n, "n_rows": n, "levels": levels, "cells": cells}
        found.append(law(drawn, counts=plausible, **known))
    own = {field.name: getattr(pooled, field.name) for field in fields(Pooled)}
    own["notes"] = (*pooled.notes, POSTERIOR_NOTE)
    return DrawnShares(**own, posteriors=tuple(found))


def estimate_draws(estimand: Estimand, release: Release) -> Counted:
    """Estimate a mean, proportion, cross-tabulation or total from sets drawn from urns.

    Args:
        estimand: of one of these kinds.
        release: one whose sets `are_drawn`.

    Returns:
        The estimates, with the normal as reference.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record.
    """
    require_told(estimand, release.schema)
    urns = urns_of(release, estimand.columns)
    scores = cell_scores(estimand, release.schema)
    each = np.stack([_counts(table, release.schema, estimand) for table in release.tables])
    counts = each.mean(axis=0)

    def answer(of: CellScores) -> Pooled:
        sums, totals = urn_ratios(counts, urns, of)
        return pooled_ratios(estimand, of, sums, totals, urns.sets)

    ends = end_scores(estimand, release.schema, scores)
    pooled = with_ends(answer, scores, ends)
    if estimand.kind in SHARES and ends is None:
        pooled = with_posteriors(pooled, each, urns, scores)
    absent = _absent_cells(estimand, release.schema)
    share = np.maximum(1 - counts.sum() / urns.n_rows, 0)  # it may be 0 but for rounding
    # The records with an absent value, as if they lay in one cell.
    variance = urns.spread * share * (1 - share) + urns.rows_variance * share**2
    return Counted(
        pooled=pooled,
        dropped=float(urns.mass * share - urns.prior * urns.behind[absent].sum()),
        dropped_noise=float(np.sqrt(variance)),
        varied=bool(pooled.bias.any()),
    )


def _counts(table: pl.DataFrame, schema: Schema, estimand: Estimand) -> Floats:
    """Complete records of a set in each cell, shape (cells,)."""
    records = Records.of(table, schema, estimand.columns)
    states = records.take(records.complete()).states
    sizes = [schema.columns[name].size for name in estimand.columns]
    cells = np.ravel_multi_index([states[name] for name in estimand.columns], sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))).astype(np.float64)
