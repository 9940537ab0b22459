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
   of the population that the analyst asks about (`understudy.inference.noise_aware.cell_scores`).

Values within a bin count as uniform, as in the synthetic sets. What that may change is bounded: the
same is estimated with each value at the least, and at the largest number of its cell, and the
interval holds the intervals of both (`understudy.inference.estimates.bin_bounds`).

Nothing is clipped: an estimated share may be negative, and so may the lower end of an interval.
Setting them to 0 would bias sums and differences of them. Only what people read (the text of an
analysis, the terminal) cuts *intervals* of shares to [0, 1], which can but raise their coverage.

Kernels take counts with leading axes of repetitions, so that a simulation calls this very code.

Sources: unbiased use of released noisy measurements as in Abowd et al. (2022), "The 2020 Census
Disclosure Avoidance System TopDown Algorithm", HDSR, and Charest (2010), J. Privacy and
Confidentiality 2(2), on inference that takes the mechanism as part of the likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.inference.estimates.analysis_records import ABSENT
from understudy.inference.estimates.bin_bounds import end_scores, with_ends
from understudy.inference.estimates.estimands import Estimand
from understudy.inference.noise_aware.cell_scores import (
    CellScores,
    cell_sampling,
    cell_scores,
    ratio,
    sum_by,
)
from understudy.inference.noise_aware.full_tables import covering
from understudy.inference.noise_aware.noisy_tables import Sources, Table, marginal, pooled_table
from understudy.inference.set_estimates import Pooled
from understudy.release import Measurement
from understudy.schema import Schema

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


def ratios(table: Table, scores: CellScores) -> Ratios:
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
        total_noise, mixed, size_noise = _shared_noise(table.sources, scores)
    return Ratios(
        totals=totals,
        total_noise=total_noise,
        sizes=sizes,
        size_noise=size_noise,
        estimate=estimate,
        noise=_noise_covariance(
            estimate=estimate,
            sizes=sizes,
            total_noise=total_noise,
            mixed=mixed,
            size_noise=size_noise,
            group_of=scores.group_of,
        ),
        sampling=cell_sampling(
            table,
            scores,
            estimate=estimate,
            squares=squares,
            sizes=sizes,
            total_noise=total_noise,
        ),
    )


def _shared_noise(sources: Sources, scores: CellScores) -> tuple[Floats, Floats, Floats]:
    """Var(N), Cov(N, D) and Var(D) of the one quantity of a table, each of shape (1,)."""
    assert len(scores.names) == 1
    used = scores.quantity != ABSENT
    size, total = used.astype(np.float64), np.where(used, scores.value, 0.0)
    pairs = ((total, total), (total, size), (size, size))
    one, two, three = (sources.covariance(*pair)[np.newaxis] for pair in pairs)
    return one, two, three


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
    used = covering(measurements, estimand.columns)
    table = pooled_table([marginal(measurement, estimand.columns, schema) for measurement in used])
    return table_estimates(estimand, table, schema, len(used))


def table_estimates(estimand: Estimand, table: Table, schema: Schema, tables: int) -> Counted:
    """The same from unbiased counts.

    Args:
        estimand: of one of these kinds.
        table: over its columns; of a single quantity, if its noise goes together.
        schema: in the bins of the table.
        tables: how many measurements it rests on.

    Raises:
        InferenceError: as above.
    """
    scores = cell_scores(estimand, schema)

    def answer(of: CellScores) -> Pooled:
        sums = ratios(table, of)
        return pooled_ratios(estimand, of, sums, np.diag(sums.total_noise), tables)

    pooled = with_ends(answer, scores, end_scores(estimand, schema, scores))
    absent = scores.quantity == ABSENT
    return Counted(
        pooled=pooled,
        dropped=float(table.counts[absent].sum()),
        dropped_noise=float(np.sqrt(table.variances[absent].sum())),
        varied=bool(pooled.bias.any()),
    )


def pooled_ratios(
    estimand: Estimand, scores: CellScores, sums: Ratios, total_noise: Floats, sets: int
) -> Pooled:
    """What is asked for, totals or ratios, with all its error.

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
