"""Contributions of records to a quantity, by cell, and sampling variances of ratios of such sums.

Within a group of D records the share or mean R has sampling variance (Q/D - R²)/(D - 1), where Q is
the sum of squared values: p(1 - p)/(D - 1) for a share, s²/D for a mean. Two quantities of one
group that no record adds to both have covariance -R_a·R_b/(D - 1).

p(1 - p)/(D - 1) vanishes with p, yet where none of D records has a trait, 3.7/D may have it in the
population, at 95 %. `edge_variance` is the variance of a share of z² = 3.84 records; no share is
given less, so that an interval around 0 reaches 3.8/D, and one around 1 as far down. Shares of at
least four records, and of all but four, keep their own. (Wilson's interval ends at z²/(D + z²).)

Source: the classical ratio estimator (Cochran 1977, Sampling Techniques, ch. 2 and 6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from understudy._arrays import Z_95, Floats, Integers
from understudy.errors import InferenceError
from understudy.inference.noisy_tables import NoisyCounts
from understudy.inference.question import Estimand, Scores
from understudy.inference.records import ABSENT, Records, cell_points
from understudy.schema import Schema

_EDGE = Z_95**2


@dataclass(frozen=True)
class CellScores:
    """The contribution of a record of each cell to each quantity.

    Attributes:
        names: of the k quantities.
        group_of: group of each quantity, shape (k,).
        quantity: quantity of each cell, `ABSENT` where a value is absent, shape (cells,).
        value: mean value over the cell, shape (cells,).
        square: mean squared value over the cell, shape (cells,).
    """

    names: tuple[str, ...]
    group_of: Integers
    quantity: Integers
    value: Floats
    square: Floats


def cell_scores(estimand: Estimand, schema: Schema) -> CellScores:
    """Score what a record of each cell of `estimand.columns` adds to which quantity.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record.
    """
    numeric = estimand.columns if estimand.expression else ()
    points, cells = cell_points(schema, estimand.columns, numeric)
    scores = estimand.scores(points)
    require_recordwise(estimand, scores, points.take(np.arange(len(cells))[::-2]))
    n_cells = int(cells.max()) + 1
    n_points = np.bincount(cells, minlength=n_cells)
    quantity = np.full(n_cells, ABSENT)
    quantity[cells] = scores.quantity
    value = np.bincount(cells, scores.value, n_cells) / n_points
    square = np.bincount(cells, scores.value**2, n_cells) / n_points
    return CellScores(scores.names, scores.group_of, quantity, value, square)


def require_recordwise(estimand: Estimand, scores: Scores, every_second: Records) -> None:
    """Refuse an expression such as `income - income.mean()`, which has no value for a cell.

    Args:
        estimand: with the expression.
        scores: of the points of all cells.
        every_second: of these points, from the last one on.

    Raises:
        InferenceError: a value changes with the records beside it.
    """
    again = estimand.scores(every_second).value
    if not np.allclose(again, scores.value[::-2], rtol=1e-9, atol=0):
        raise InferenceError(
            f"The expression {estimand.expression!r} depends on the other records, so it has no "
            "value for a cell of a table; write it with fixed numbers."
        )


def sum_by(counts: Floats, index: Integers, weights: Floats, n: int) -> Floats:
    """Weighted sums over cells by index, shape (..., cells) → (..., n)."""
    if counts.ndim == 1:  # the same sums in the same order, without a matrix to be laid out
        return np.bincount(index, counts * weights, n).astype(np.float64, copy=False)
    picked = sparse.csr_array((weights, (np.arange(len(index)), index)), shape=(len(index), n))
    flat = counts.reshape(-1, counts.shape[-1]) @ picked
    return np.asarray(flat).reshape(*counts.shape[:-1], n)


def cell_sampling(
    table: NoisyCounts,
    scores: CellScores,
    *,
    estimate: Floats,
    squares: Floats,
    sizes: Floats,
    total_noise: Floats,
) -> Floats:
    """Covariance of ratios by sampling, with no variance that is 0 for want of records.

    Of shares the least is that of `edge_variance`; where no noise is, no record can be. The
    variance of a mean, a difference of noisy numbers, may come out at 0 or below. It is then taken
    from the counts with 0 for those below 0. If these have one value, a population may yet have
    others: as many records as a share may have that nobody of the group shows, as far away as the
    values of the cells allow.

    Args:
        table: counts of shape (..., cells).
        scores: for the same cells.
        estimate: ratios, shape (..., k).
        squares: sums of squared values, shape (..., k).
        sizes: size of the group of each quantity, shape (..., k).
        total_noise: variance of the noise in the totals, shape (k,) or (..., k).

    Returns:
        Shape (..., k, k).
    """
    covariance = sampling_covariance(estimate, squares, sizes, scores.group_of)
    variances = np.diagonal(covariance, axis1=-2, axis2=-1)
    if (scores.square == scores.value)[scores.quantity != ABSENT].all():
        possible = (total_noise > 0) | (table.variances == 0).all()  # counts without any noise
        kept = np.maximum(variances, np.where(possible, edge_variance(sizes), 0.0))
    else:
        clipped = _clipped_variance(table, scores)
        unseen = edge_variance(sizes) * _reach(scores, estimate) ** 2
        kept = np.where(variances > 0, variances, np.where(clipped > 0, clipped, unseen))
    return np.where(np.eye(variances.shape[-1], dtype=np.bool_), kept[..., None, :], covariance)


def _reach(scores: CellScores, estimate: Floats) -> Floats:
    """Largest distance of a cell's root mean squared value from a mean, shape (..., k)."""
    used = np.flatnonzero(scores.quantity != ABSENT)
    largest = np.zeros(len(scores.names))
    np.maximum.at(largest, scores.quantity[used], np.sqrt(scores.square[used]))
    return np.asarray(largest + np.abs(estimate))


def _clipped_variance(table: NoisyCounts, scores: CellScores) -> Floats:
    """Sampling variance of means by the counts above 0, shape (..., k); 0 for one value alone."""
    k = len(scores.names)
    used = np.flatnonzero(scores.quantity != ABSENT)
    counts, quantity = np.maximum(table.counts[..., used], 0.0), scores.quantity[used]
    sums, squares, sizes = (
        sum_by(counts, quantity, weights, k)
        for weights in (scores.value[used], scores.square[used], np.ones(len(used)))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = squares / sizes - (sums / sizes) ** 2
    rounding = 1e-12 * np.abs(scores.square[used]).max(initial=0.0)
    return np.where(spread > rounding, spread / np.maximum(sizes - 1, 1.0), 0.0)


def ratio(sums: Floats, sizes: Floats) -> Floats:
    """Sums over group sizes, elementwise; NaN where a group is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sizes != 0, sums / sizes, np.nan))


def edge_variance(sizes: Floats) -> Floats:
    """Least sampling variance of a share in groups of these sizes, elementwise."""
    share = np.minimum(_EDGE / np.maximum(sizes, 1.0), 0.5)
    return np.asarray(share * (1 - share) / np.maximum(sizes - 1, 1.0))


def sampling_covariance(
    values: Floats, squares: Floats, sizes: Floats, group_of: Integers
) -> Floats:
    """Sampling covariance of ratios, from sums over records or unbiased estimates of these.

    Args:
        values: ratios R, shape (..., k).
        squares: sums Q of the squared values, shape (..., k).
        sizes: size D of the group of each quantity, shape (..., k).
        group_of: group of each quantity, shape (k,).

    Returns:
        Shape (..., k, k). Estimated squares can be so small that a variance comes out negative, as
        p(1 - p) does for p < 0; such a variance, and its covariances, are set to 0.
    """
    k = values.shape[-1]
    degrees = np.maximum(sizes - 1, 1.0)
    shared = -values[..., :, None] * values[..., None, :] / degrees[..., :, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty group, NaN
        variances = (squares / sizes - values**2) / degrees
        positive = variances > 0
    kept = (group_of[:, None] == group_of) & positive[..., :, None] & positive[..., None, :]
    return np.where(
        np.eye(k, dtype=np.bool_), np.maximum(variances, 0.0)[..., None, :], shared * kept
    )
