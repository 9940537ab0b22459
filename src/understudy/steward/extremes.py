"""The smallest and largest values of the rows: for a confidential review, to be compared alone."""

from __future__ import annotations

import numpy as np

from understudy.data.coding import ColumnCoder
from understudy.data.rows import type_fault
from understudy.data.sources import open_rows
from understudy.schema import NUMERIC, Schema


class Extremes:
    """Ends of the numbers of each column. CONFIDENTIAL: they are held, and never given out.

    Args:
        data: the table.
        schema: what is declared of it.

    Raises:
        DataError: the table cannot be read.
    """

    def __init__(self, data: object, schema: Schema) -> None:
        rows = open_rows(data, schema)
        types = rows.types()
        coders = [
            coder
            for coder in (ColumnCoder(name, column) for name, column in schema.columns.items())
            if isinstance(coder.column, NUMERIC)
            and coder.name in types
            and type_fault(coder, types[coder.name], rows.kind) is None
        ]
        self._ends: dict[str, tuple[float, float]] = {}
        for batch in rows.batches([coder.name for coder in coders]) if coders else ():
            for coder in coders:
                reading = coder.read(batch.get_column(coder.name))
                ordinary = reading.number[reading.states < coder.column.n_ordinary]
                numbers = ordinary[np.isfinite(ordinary)]
                if len(numbers):
                    low, high = self._ends.get(coder.name, (np.inf, -np.inf))
                    ends = min(low, float(numbers.min())), max(high, float(numbers.max()))
                    self._ends[coder.name] = ends

    def are_bounds_of(self, name: str, schema: Schema) -> bool:
        """Return whether a column is declared to begin or to end where its rows do.

        Args:
            name: of the column.
            schema: as it stands now.
        """
        column = schema.columns.get(name)
        if not isinstance(column, NUMERIC) or name not in self._ends:
            return False
        return any(x == y for x, y in zip(column.bounds, self._ends[name], strict=True))
