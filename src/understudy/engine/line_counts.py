"""Exact counts of numeric columns over the cells of their number lines or heaps, in one pass.

Each record is in one cell of each line, or out of domain there, by its own values alone: by that of
the column, and by those that decide with it whether the record is possible. So a line counts the
records that a table of the column counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.engine.coding import Coder, ColumnCoder, part_of
from understudy.engine.passes import Arrays, RowPass
from understudy.features.heap_cells import NumberCells
from understudy.schema import Schema


class LineCounts(RowPass[dict[str, NDArray[np.int64]]]):
    """Counts of several columns over their lines.

    Args:
        schema: what the rows are read against.
        lines: column → its cells.
    """

    def __init__(self, schema: Schema, lines: Mapping[str, NumberCells]) -> None:
        self._lines = [_Line(name, schema, cells) for name, cells in lines.items()]
        used = {name for line in self._lines for name in line.names}
        self.names = tuple(name for name in schema.names if name in used)

    def add(self, batch: pl.DataFrame) -> None:
        """Count one batch."""
        for line in self._lines:
            line.add(batch)

    def sums(self) -> list[NDArray[Any]]:
        """Counts of each column."""
        return [line.counts for line in self._lines]

    def merge(self, sums: Arrays) -> None:
        """Add counts."""
        for line, counts in zip(self._lines, sums, strict=True):
            line.counts += counts

    def answer(self) -> dict[str, NDArray[np.int64]]:
        """Column → records in each cell, and last those out of domain, shape (cells + 1,)."""
        return {line.name: line.counts for line in self._lines}


class _Line:
    """Running counts of one column.

    Args:
        name: the column.
        schema: what rows are read against.
        cells: of the line.
    """

    def __init__(self, name: str, schema: Schema, cells: NumberCells) -> None:
        self.name = name
        self.counts = np.zeros(cells.size + 1, dtype=np.int64)
        self._cells, self._coder = cells, ColumnCoder(name, cells.column)
        self._possible = Coder(part_of(schema, (schema.names.index(name),)))

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are read."""
        return self._possible.schema.names

    def add(self, batch: pl.DataFrame) -> None:
        """Count one batch."""
        reading = self._coder.read(batch.get_column(self.name))
        states = reading.counted(self._cells.column)
        places = self._cells.places(states, reading.number)
        part = self._possible.schema
        if part.boxes:
            possible = self._possible.code(batch)[part.names.index(self.name)]
            places = np.where(possible == part.columns[self.name].size, self._cells.size, places)
        self.counts += np.bincount(places, minlength=len(self.counts))
