"""Exact counts of numeric columns over the cells of their number lines, in one pass.

Each record is in one cell of each line, or out of domain there, by its own value alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.engine.coding import ColumnCoder
from understudy.engine.reading.readers import Rows
from understudy.features.line_cells import LineCells


def line_counts(rows: Rows, lines: Mapping[str, LineCells]) -> dict[str, NDArray[np.int64]]:
    """Count over the rows.

    Args:
        rows: the input.
        lines: column → its cells.

    Returns:
        Column → records in each cell, and last those out of domain, shape (cells + 1,).
    """
    coders = [ColumnCoder(name, cells.column) for name, cells in lines.items()]
    counts = {name: np.zeros(cells.size + 1, dtype=np.int64) for name, cells in lines.items()}
    for batch in rows.batches(tuple(lines)):
        for coder in coders:
            reading = coder.read(batch.get_column(coder.name))
            places = lines[coder.name].places(reading.states, reading.number)
            counts[coder.name] += np.bincount(places, minlength=len(counts[coder.name]))
    return counts
