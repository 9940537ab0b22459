"""All rows with their numbers, as mechanisms see them that model numbers themselves. CONFIDENTIAL.

States are those of the coded rows, and where a state is a bin there is a number with it, clipped to
the bounds. Whether a row is in domain depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.engine import Engine
from understudy.engine.coding import Reading
from understudy.features.number_line import Drawn
from understudy.privacy.rows_in_domain import are_known
from understudy.schema import NUMERIC, Column, Schema


@dataclass(frozen=True, eq=False, repr=False)
class NumberedRows:
    """All rows, in one order.

    Attributes:
        schema: what they are coded against.
        drawn: column → its values; a state beyond the column's last is out of domain.
    """

    schema: Schema
    drawn: Mapping[str, Drawn]

    @classmethod
    def read(cls, engine: Engine, schema: Schema) -> NumberedRows:
        """Read the input once more, under the schema that it is coded against."""
        readings = engine.read(schema.names).expose()
        pairs = zip(schema.columns.items(), readings, strict=True)
        return cls(schema, {name: _drawn(column, one) for (name, column), one in pairs})

    @property
    def size(self) -> int:
        """How many rows."""
        return len(next(iter(self.drawn.values())).states)

    def known(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows have a state of each of some columns, in a combination that can occur."""
        states = [self.drawn[name].states for name in names]
        return are_known(states, self.schema.table(tuple(names)))

    def of(self, names: Sequence[str], rows: NDArray[np.integer]) -> dict[str, Drawn]:
        """Some columns of some rows, by their numbers; a row may come more than once."""
        return {name: self.drawn[name].taken(rows) for name in names}


def _drawn(column: Column, reading: Reading) -> Drawn:
    states = reading.states
    if column.out_of_domain is not None:
        states = np.where(states == column.size, column.size - 1, states)
    if not isinstance(column, NUMERIC):
        return Drawn(states)
    bins = [k for k, one in enumerate(column.intervals) if not one.spike]
    numbers = np.where(np.isin(states, bins), np.clip(reading.number, *column.bounds), np.nan)
    return Drawn(states, numbers)
