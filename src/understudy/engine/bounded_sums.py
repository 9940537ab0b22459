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
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import compiled
from understudy.engine.coding import Coder, Codes, ColumnCoder, Reading
from understudy.engine.occupied_cells import encode
from understudy.engine.reading.readers import Rows
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
    """The whole number z of each finite number, any shape; what is beyond the bounds is clipped."""
    clipped = np.clip(numbers, low, high)
    steps = np.rint((clipped - (low + (high - low) / 2)) / (high - low) * STEPS)
    return np.clip(steps, -HALF, HALF).astype(np.int64)


def sum_rows(rows: Rows, schema: Schema, columns: Sequence[int], of: Sequence[int]) -> ExactSums:
    """Sums in one pass over the rows; memory in proportion to cells · p², and one batch.

    Args:
        rows: the input.
        schema: what it is read against.
        columns: column indices of the table of cells, in the order of its axes.
        of: column indices of the p numeric columns to sum; each also one of `columns`.
    """
    names = [schema.names[j] for j in columns]
    part = part_of(schema, columns)
    coder, place = Coder(part), {name: k for k, name in enumerate(part.names)}
    summed = [(schema.names[j], schema.columns[schema.names[j]]) for j in of]
    sizes = tuple(schema.columns[name].size for name in names)
    totals = _Totals(sizes, len(summed))
    for batch in rows.batches(part.names):
        codes = coder.code(batch)
        numbers = [
            on_lattice(ColumnCoder(name, column).read(batch.get_column(name)), column)
            for name, column in summed
        ]
        totals.add([codes[place[name]] for name in names], numbers, len(batch))
    return ExactSums(totals.counts, totals.sums, totals.products)


def part_of(schema: Schema, columns: Sequence[int]) -> Schema:
    """The columns of a table, with those that decide with them whether a record is possible."""
    names = {schema.names[j] for j in columns}
    needed = names.union(*(box for _, box in schema.boxes if names & set(box)))
    touching = tuple(rule for rule in schema.forbidden if names & set(rule.where))
    # Relations between others say nothing of these columns; chains of them have boxes that do.
    return schema.part(needed).model_copy(update={"forbidden": touching})


class _Totals:
    """Running totals over batches.

    Args:
        sizes: states of each column of the table, the out-of-domain state not counted.
        p: numeric columns that are summed.
    """

    def __init__(self, sizes: tuple[int, ...], p: int) -> None:
        self._sizes = sizes
        cells = int(np.prod(sizes, dtype=np.int64))
        self.counts = np.zeros(cells, dtype=np.int64)
        self.sums = np.zeros((p, cells), dtype=np.int64)
        self.products = np.zeros((p * (p + 1) // 2, cells), dtype=np.int64)

    def add(self, codes: list[Codes], numbers: list[NDArray[np.int64]], n_rows: int) -> None:
        """Add one batch: states of the table's columns, and z of the summed ones."""
        inside = np.ones(n_rows, dtype=np.bool_)
        for column, size in zip(codes, self._sizes, strict=True):
            inside &= column < size
        cells = encode([column[inside] for column in codes], self._sizes)
        z = np.empty((len(cells), len(numbers)), dtype=np.int64)
        for j, number in enumerate(numbers):
            z[:, j] = number[inside]
        _accumulate(cells, z, self.counts, self.sums, self.products)


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
