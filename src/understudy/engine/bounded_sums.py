"""Exact sums of bounded numbers, and of their products, by cell of a contingency table.

Each number is clipped to its public bounds and put on a public lattice of `STEPS` = 2¹⁶ steps, as
the whole number z = round((x − middle) / width · 2¹⁶) between −`HALF` and `HALF`: record by record,
so that neighbouring tables stay neighbours. What is summed is then whole, and so is every sum: the
order of the rows plays no part, and no sum of floats has a larger sensitivity than its formula says
(Casacuberta, Shoemate, Vadhan & Wagaman 2022).

A record whose value of the column is absent (a code) or a spike contributes z = 0, and a record
outside the domain of the table contributes nothing.

**No overflow**: |Σ z·z'| ≤ n·2³⁰, which 64 bits hold up to n = 2³³ records, about 8.6 billion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.arrays import compiled
from understudy.engine.coding import Coder, ColumnCoder, Reading, part_of
from understudy.engine.occupied_cells import encode, inside
from understudy.engine.passes import Arrays, RowPass
from understudy.schema import NUMERIC, Column, Schema

STEPS: Final = 2**16
"""Steps of the lattice over the width of the bounds."""

HALF: Final = STEPS // 2
"""Largest |z|."""


@dataclass(frozen=True)
class ExactSums:
    """Sums over the records in each cell of a table; cells in C order.

    Attributes:
        counts: records, shape (cells,).
        sums: Σ z_j, shape (p, cells) for p columns.
        products: Σ z_j·z_l for the pairs (0, 0), (0, 1), …, (1, 1), …, shape (p(p+1)/2, cells).
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.int64]
    products: NDArray[np.int64]


def holds_numbers(column: Column) -> NDArray[np.bool_]:
    """Which states of a column stand for numbers that are summed: bins that are no spike.

    Returns:
        Shape (size,).
    """
    holds = np.zeros(column.size, dtype=np.bool_)
    if isinstance(column, NUMERIC):
        holds[: column.n_ordinary] = [not interval.spike for interval in column.intervals]
    return holds


def on_lattice(reading: Reading, column: Column) -> NDArray[np.int64]:
    """The whole number z of each value; 0 where there is none to sum.

    Args:
        reading: values of one numeric column, shape (n,).
        column: its declaration.
    """
    low, high = column.bounds  # type: ignore[union-attr]
    holds = np.append(holds_numbers(column), False)[reading.states]
    return np.where(holds, on_bounds(np.where(holds, reading.number, low), low, high), 0)


def on_bounds(numbers: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    """The whole number z of each finite number, any shape; what is beyond the bounds is clipped.

    Where the bounds are equal it is 0: what is not a number would have any size as a whole one.
    """
    clipped = np.clip(numbers, low, high)
    steps = np.rint((clipped - (low + (high - low) / 2)) / (high - low or 1.0) * STEPS)
    return np.clip(steps, -HALF, HALF).astype(np.int64)


class CellSums(RowPass[ExactSums]):
    """Sums in one pass over the rows; memory in proportion to cells · p², and one batch.

    Args:
        schema: what the rows are read against.
        columns: column indices of the table of cells, in the order of its axes.
        of: column indices of the p numeric columns to sum; each also one of `columns`.
    """

    def __init__(self, schema: Schema, columns: Sequence[int], of: Sequence[int]) -> None:
        part = part_of(schema, columns)
        self.names, self._coder = part.names, Coder(part)
        self._places = [part.names.index(schema.names[j]) for j in columns]
        named = [(schema.names[j], schema.columns[schema.names[j]]) for j in of]
        self._summed = [(ColumnCoder(name, column), column) for name, column in named]
        self._sizes = tuple(schema.columns[schema.names[j]].size for j in columns)
        cells, p = int(np.prod(self._sizes, dtype=np.int64)), len(of)
        shapes = (cells,), (p, cells), (p * (p + 1) // 2, cells)
        self._total = ExactSums(*(np.zeros(shape, dtype=np.int64) for shape in shapes))

    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch."""
        coded = self._coder.code(batch)
        codes = [coded[k] for k in self._places]
        within = inside(codes, self._sizes)
        cells = encode([states[within] for states in codes], self._sizes)
        z = np.empty((len(cells), len(self._summed)), dtype=np.int64)
        for j, (coder, column) in enumerate(self._summed):
            z[:, j] = on_lattice(coder.read(batch.get_column(coder.name)), column)[within]
        total = self._total
        _accumulate(cells, z, total.counts, total.sums, total.products)

    def sums(self) -> list[NDArray[Any]]:
        """Counts, sums and products."""
        return [self._total.counts, self._total.sums, self._total.products]

    def merge(self, sums: Arrays) -> None:
        """Add counts, sums and products."""
        for own, other in zip(self.sums(), sums, strict=True):
            np.add(own, other, out=own)

    def answer(self) -> ExactSums:
        """All of them."""
        return self._total


@compiled
def _accumulate(
    cells: NDArray[np.int64],
    z: NDArray[np.int64],
    counts: NDArray[np.int64],
    sums: NDArray[np.int64],
    products: NDArray[np.int64],
) -> None:
    """Add records to the totals, in place: cells of shape (n,), z of shape (n, p)."""
    p = z.shape[1]
    for i in range(len(cells)):
        cell = cells[i]
        counts[cell] += 1
        pair = 0
        for j in range(p):
            sums[j, cell] += z[i, j]
            for k in range(j, p):
                products[pair, cell] += z[i, j] * z[i, k]
                pair += 1
