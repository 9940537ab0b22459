"""What a linear regression is made of, exactly, and how much one record can change it.

**The statistics.** Each number of d predictors and of the response is put on a public lattice in
[−1, 1] by its public bounds: z/H, H = 2¹⁵, z whole (`understudy.engine.bounded_sums`). With p = d +
1 columns, the response y last, the normal equations need

* n, the number of records that count (if it is not public),
* the p sums Σx₁, …, Σx_d, Σy,
* the products Σx_j·x_k for j ≤ k and Σx_j·y; not Σy², which moves no coefficient.

These are m = (d + 1)(d + 4)/2 numbers with n, one less without, and the coefficients of the
polynomial that least squares minimises. In units of H⁻² they are whole, and so exact: n·H², H·Σz
and Σz·z'. No overflow below 2³³ records.

**What one record can change**, M = (d + 1)(d + 4)/2:

* *added or removed*: each of the m terms is at most 1 in size, and all are 1 for the record
  (1, …, 1). So the L1 sensitivity is **M**, the L∞ sensitivity **1**; without n it would be M − 1.
* *replaced*, both records count: L1 **M** as well, L∞ **2**. For records u and v let
  s = (u + v)/2, t = (u − v)/2 and τ = |t|, coordinate by coordinate, so that |s| ≤ 1 − τ. Then

      |u_j − v_j| = 2τ_j,      |u_j² − v_j²| = 4|s_j·t_j| ≤ 4τ_j(1 − τ_j),
      |u_j·u_k − v_j·v_k| = 2|s_j·t_k + t_j·s_k| ≤ 2(τ_j + τ_k − 2τ_j·τ_k).

  With X = Στ_j over the predictors, η = τ of the response and Στ_j² ≥ X²/d these add up to at most
  2d·c(d + 3) − 2d(d + 1)c² + η(2(d + 1) − 4dc), c = X/d. That is linear in η. At η = 1 it is
  2(d + 1)(1 + dc(1 − c)) ≤ (d + 1)(d + 4)/2 = M; at η = 0 at most d(d + 3)²/(2(d + 1)), which is
  below M since (d + 1)²(d + 4) = d(d + 3)² + 4. The records (1, …, 1; 1) and (0, …, 0; −1) attain
  M, the records (1; 1) and (−1; 1) a change of 2 in one number.
* *replaced*, one of the two does not count: an addition or a removal, M and 1.

So M holds for both relations, and n is free of charge in the L1 norm. For d = 1 it is 5, where the
published bound of the functional mechanism (Zhang et al. 2012), 2(d + 1)², is 8; for many
predictors it is a quarter of it.

**Records that lack a number** (a code of absence, a value out of domain) do not count. Their number
is then private even if that of all records is public, and n is one of the noisy statistics. Only
where records are replaced and no column has a code, n stays the public number of records: what fits
no state counts as a record in the middle of all bounds, (0, …, 0), which adds nothing to the other
statistics and is one of the records that the proof covers.

`tests/privacy/mechanisms/sums/test_normal_equations.py` enumerates the neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.engine import ExactSums
from understudy.engine.bounded_sums import HALF, holds_numbers, on_bounds
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.mechanisms.sums.scatter import pairs
from understudy.schema import NUMERIC, Column, Schema

ONE: Final = HALF**2
"""Whole numbers per record."""


@dataclass(frozen=True)
class NormalEquations:
    """Which statistics a regression asks for, and their order.

    Attributes:
        predictors: d, at least 1.
        counted: whether the number of records is one of them, in front.
    """

    predictors: int
    counted: bool

    @property
    def size(self) -> int:
        """How many numbers there are: (n if it counts,) p sums, p(p + 1)/2 − 1 products."""
        return self.l1_sensitivity - (not self.counted)

    @property
    def l1_sensitivity(self) -> int:
        """Largest change in the L1 norm, for records in [−1, 1]^p; the same in both relations."""
        return (self.predictors + 1) * (self.predictors + 4) // 2

    @property
    def published_l1_bound(self) -> int:
        """The bound of Zhang et al. (2012) on it, never below it."""
        return 2 * (self.predictors + 1) ** 2

    def max_sensitivity(self, neighbours: Neighbours) -> int:
        """Largest change of one number."""
        return 1 if neighbours == "add_remove" else 2

    def statistics(self, z: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exact statistics of records that all count.

        Args:
            z: whole numbers of `on_lattice`, shape (..., n, p), the response last.

        Returns:
            Shape (..., size), in units of 1/`ONE`.
        """
        counts = np.full(z.shape[:-2], z.shape[-2], dtype=np.int64)
        columns = [z[..., j] for j in range(z.shape[-1])]
        products = [
            np.einsum("...i,...i->...", columns[j], columns[k]) for j, k in pairs(len(columns))
        ]
        return self.arranged(counts, z.sum(axis=-2), np.stack(products, axis=-1))

    def arranged(
        self, counts: NDArray[np.int64], sums: NDArray[np.int64], products: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The statistics in their order, in units of 1/`ONE`.

        Args:
            counts: n, shape (...).
            sums: Σz, shape (..., p).
            products: Σz·z' of the pairs (0, 0), (0, 1), …, shape (..., p(p + 1)/2).

        Returns:
            Shape (..., size).
        """
        parts = [sums * HALF, products[..., :-1]]
        front = [counts[..., np.newaxis] * ONE] if self.counted else []
        return np.concatenate([*front, *parts], axis=-1)


def on_lattice(values: ArrayLike, bounds: Sequence[tuple[float, float]]) -> NDArray[np.int64]:
    """The whole number of each value, as the engine lays it down for a column in these bounds.

    Args:
        values: finite numbers, shape (..., p).
        bounds: lower and upper bound of each column, p pairs.

    Returns:
        Between −`HALF` and `HALF`, shape (..., p).
    """
    columns = np.asarray(values, dtype=np.float64)
    laid = [on_bounds(columns[..., j], low, high) for j, (low, high) in enumerate(bounds)]
    return np.stack(laid, axis=-1)


def asks_count(schema: Schema, columns: Sequence[str]) -> bool:
    """Whether the number of records that count is private: a public fact."""
    coded = any(has_codes(schema.columns[name]) for name in columns)
    return schema.neighbours == "add_remove" or coded


def has_codes(column: Column) -> bool:
    """Whether a column declares states that are no number."""
    return isinstance(column, NUMERIC) and column.size > column.n_ordinary


def exact_statistics(
    equations: NormalEquations, sums: ExactSums, columns: Sequence[Column]
) -> NDArray[np.int64]:
    """The statistics of the records in the cells in which every column is a number.

    In a cell where a column is a spike, the engine's z of it is 0. Its whole number ζ is public, so
    that what is missing follows from the other sums: Σ(z + ζ)(z' + ζ') = Σzz' + ζΣz' + ζ'Σz + nζζ'.

    Args:
        equations: which statistics.
        sums: sums by the cells of the table of these columns.
        columns: predictors and response, in the order of the sums; a single bin each.

    Returns:
        Shape (size,), in units of 1/`ONE`.
    """
    sizes = [column.size for column in columns]
    states = np.unravel_index(np.arange(len(sums.counts)), sizes)
    numbers = [_numbers(column) for column in columns]
    inside = np.ones(len(sums.counts), dtype=np.bool_)
    for state, (is_number, _) in zip(states, numbers, strict=True):
        inside &= is_number[state]
    n = sums.counts[inside]
    zeta = [spikes[state][inside] for state, (_, spikes) in zip(states, numbers, strict=True)]
    s = [z[inside] for z in sums.sums]
    products = [
        (q[inside] + zeta[j] * s[k] + zeta[k] * s[j] + zeta[j] * zeta[k] * n).sum()
        for q, (j, k) in zip(sums.products, pairs(len(columns)), strict=True)
    ]
    totals = [(z + spike * n).sum() for z, spike in zip(s, zeta, strict=True)]
    return equations.arranged(n.sum(), np.array(totals), np.array(products))


def _numbers(column: Column) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which states of a column are numbers, and the whole number of a spike; each shape (size,)."""
    assert isinstance(column, NUMERIC)
    is_number = np.arange(column.size) < column.n_ordinary
    values = np.array([interval.low for interval in column.intervals])
    spikes = np.zeros(column.size, dtype=np.int64)
    low, high = column.bounds
    spikes[: column.n_ordinary] = on_bounds(values, low, high)
    return is_number, np.where(holds_numbers(column), 0, spikes)
