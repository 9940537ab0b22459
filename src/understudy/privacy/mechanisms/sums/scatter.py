"""Sums of bounded numbers by cell, and scatters pooled within cells, as exact whole numbers.

A column j of numbers is summed as whole numbers z_j between −R/2 and R/2, R = `STEPS` (see
`understudy.engine.bounded_sums`). In cell k of a table, with n_k records, S_kj = Σ z_j, Q_kjl = Σ
z_j·z_l;

* the **sum** of column j is the vector (S_kj) over the cells that can hold a number of it;
* the **scatter** of columns j and l is W_jl = Σ_k ⌊Q_kjl − S_kj·S_kl / n_k⌋, the sum of
  (z_j − z̄_j)(z_l − z̄_l) with the means taken within each cell, rounded down in each.

In a cell where a column is absent (its state there is a code or a spike) all its z are 0, so that
the cell adds nothing: a scatter uses the records in which both columns are present.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.engine.bounded_sums import STEPS, ExactSums, holds_numbers
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import exact
from understudy.schema import NUMERIC, Schema

MOST_NUMBERS = 2**26
_WIDE = 2**31


@dataclass(frozen=True)
class Moment:
    """One statistic.

    Attributes:
        statistic: "sum" or "scatter"; "mean" is a sum over the number of records of its cell, as
            published, whose noise rests on a private count (`moments.py`).
        of: the column summed, or the two of a scatter (equal ones for a variance).
        by: columns of the table of cells.
        summed: all the columns that are summed in one request.
        rank: its place among the sums, or among the pairs (0, 0), (0, 1), …, (1, 1), ….
        cells: in how many cells of the table the statistic can have a contribution.
        unit: what one step of the whole numbers is in the columns' own units; exact.
    """

    statistic: Literal["sum", "mean", "scatter"]
    of: tuple[str, ...]
    by: tuple[str, ...]
    summed: tuple[str, ...]
    rank: int
    cells: int
    unit: Fraction

    @property
    def query(self) -> str:
        """What is asked, in words."""
        of = " and ".join(dict.fromkeys(self.of))
        rest = " × ".join(name for name in self.by if name not in self.summed)
        link = " by " if self.is_by_cell else " within "
        return f"{self.statistic} of {of}{link * bool(rest)}{rest}"

    @property
    def is_by_cell(self) -> bool:
        """Whether there is a number for each cell."""
        return self.statistic != "scatter"

    @property
    def is_variance(self) -> bool:
        """Whether it is the scatter of one column."""
        return self.statistic == "scatter" and self.of[0] == self.of[1]


def table_columns(of: Sequence[str], by: Sequence[str]) -> tuple[str, ...]:
    """Columns of the table of cells: those of `by`, and what it lacks of the summed ones."""
    return (*by, *(name for name in of if name not in by))


def moments_of(schema: Schema, of: Sequence[str], by: Sequence[str]) -> tuple[Moment, ...]:
    """All sums, then all scatters, of some columns.

    Args:
        schema: each column of `of` is numeric and has a single bin there.
        of: p columns.
        by: columns of the table of cells.

    Raises:
        MethodError: columns that do not fit, or more numbers than can be held.
    """
    summed, columns = tuple(of), table_columns(of, by)
    _require(schema, summed, columns)
    holds = [holding_cells(schema, columns, name) for name in summed]
    steps = [_step(schema, name) for name in summed]
    moments = []
    for j, name in enumerate(summed):
        cells = int(holds[j].sum())
        moments.append(Moment("sum", (name,), columns, summed, j, cells, steps[j]))
    for rank, (j, k) in enumerate(pairs(len(summed))):
        cells, unit = int((holds[j] & holds[k]).sum()), steps[j] * steps[k]
        both = (summed[j], summed[k])
        moments.append(Moment("scatter", both, columns, summed, rank, cells, unit))
    return tuple(moments)


def pairs(p: int) -> Iterator[tuple[int, int]]:
    """(0, 0), (0, 1), …, (1, 1), …: the p(p+1)/2 pairs, in the order of the scatters."""
    return ((j, k) for j in range(p) for k in range(j, p))


def holding_cells(schema: Schema, columns: Sequence[str], name: str) -> NDArray[np.bool_]:
    """Which cells of a table can hold a number of one of its columns: a public fact.

    Returns:
        Shape (cells,), C order.
    """
    mask = schema.table(columns).allowed_mask()
    shape = [1] * len(columns)
    shape[columns.index(name)] = -1
    here: NDArray[np.bool_] = mask & holds_numbers(schema.columns[name]).reshape(shape)
    return here.reshape(-1)


def exact_statistic(moment: Moment, sums: ExactSums) -> NDArray[np.int64]:
    """A statistic from exact sums: shape (cells,) of the table for a sum, (1,) for a scatter.

    Of a mean it is the sum.
    """
    if moment.is_by_cell:
        total: NDArray[np.int64] = sums.sums[moment.rank]
        return total
    j, k = (moment.summed.index(name) for name in moment.of)
    products = sums.products[moment.rank]
    return pooled_scatter(sums.counts, sums.sums[j], sums.sums[k], products)[np.newaxis]


def pooled_scatter(
    counts: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    products: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Σ_k ⌊Q_k − S_k·T_k / n_k⌋, exactly.

    With S = a·n + r and T = b·n + s, 0 ≤ r, s < n, the term is Q − a·T − r·b + ⌊−r·s/n⌋. For z
    within ±2¹⁵ and n below 2³¹ each part stays below 2⁶²; beyond, Python's integers take over.

    Args:
        counts: n_k, shape (..., cells).
        first: S_k, the same shape.
        second: T_k, the same shape.
        products: Q_k, the same shape.

    Returns:
        Shape (...).
    """
    wide = counts.size > 0 and int(counts.max()) >= _WIDE
    n, s, t, q = (
        array.astype(object) if wide else array
        for array in (np.maximum(counts, 1), first, second, products)
    )
    a, r, b = s // n, s % n, t // n
    within = q - a * t - r * b + (-(r * (t % n))) // n
    pooled: NDArray[Any] = np.asarray(within.sum(axis=-1))
    return pooled.astype(np.int64)


def _step(schema: Schema, name: str) -> Fraction:
    low, high = schema.columns[name].bounds  # type: ignore[union-attr]
    return (exact(high) - exact(low)) / STEPS


def _require(schema: Schema, of: Sequence[str], columns: Sequence[str]) -> None:
    for name in columns:
        if name not in schema.columns:
            raise MethodError(f"There is no column {name!r} in the schema.")
    for name in of:
        _require_single_bin(schema, name)
    if not of or len(set(columns)) < len(columns) or len(set(of)) < len(of):
        raise MethodError("Moments need at least one column, and each column once.")
    cells = schema.table(columns).n_cells
    numbers = 1 + len(of) + len(of) * (len(of) + 1) // 2
    if cells * numbers > MOST_NUMBERS:
        raise MethodError(
            f"The sums by {' × '.join(columns)} are {cells * numbers:,} numbers, too many to hold "
            f"(at most {MOST_NUMBERS:,}); take fewer or coarser columns."
        )


def _require_single_bin(schema: Schema, name: str) -> None:
    column = schema.columns[name]
    if not isinstance(column, NUMERIC):
        raise MethodError(f"The column {name!r} is not numeric, so it has no sums.")
    if holds_numbers(column).sum() != 1:
        raise MethodError(
            f"The column {name!r} has several bins; ask for its sums through "
            f"gate.rebinned({{{name!r}: 1}})."
        )
    if column.bounds[0] == column.bounds[1]:
        raise MethodError(f"The column {name!r} has a single possible value, so it has no sums.")
