"""Exact counts of numeric columns over the cells of their number lines, in one pass.

Each record is in one cell of each line, or out of domain there, by its own values alone: by that of
the column, and by those that decide with it whether the record is possible. So a line counts the
records that a table of the column counts.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.engine.bounded_sums import part_of
from understudy.engine.coding import Coder, ColumnCoder
from understudy.engine.reading.readers import Rows
from understudy.features.line_cells import LineCells
from understudy.schema import Schema


def line_counts(
    rows: Rows, schema: Schema, lines: Mapping[str, LineCells]
) -> dict[str, NDArray[np.int64]]:
    """Count over the rows.

    Args:
        rows: the input.
        schema: what it is read against.
        lines: column → its cells.

    Returns:
        Column → records in each cell, and last those out of domain, shape (cells + 1,).
    """
    counters = [_Line(name, schema, cells) for name, cells in lines.items()]
    used = {name for counter in counters for name in counter.names}
    for batch in rows.batches(tuple(name for name in schema.names if name in used)):
        for counter in counters:
            counter.add(batch)
    return {counter.name: counter.counts for counter in counters}


class _Line:
    """Running counts of one column.

    Args:
        name: the column.
        schema: what rows are read against.
        cells: of the line.
    """

    def __init__(self, name: str, schema: Schema, cells: LineCells) -> None:
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
