"""Rows as mechanisms see them that compare whole records, or model numbers. CONFIDENTIAL.

Whether a row is left out depends on that row alone, so neighbouring tables stay neighbours, or
become equal.

States are those of the coded rows, and where a state is a bin there is a number with it, clipped to
the bounds. Whether a row is in domain depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engine import Engine
from understudy.engine.coding import Reading
from understudy.features.number_line import Drawn
from understudy.schema import NUMERIC, Column, Domain, Schema

Codes = NDArray[np.integer[Any]]


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
        return cls(schema, {name: _drawn(column, reading) for (name, column), reading in pairs})

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
    states = reading.counted(column)
    if not isinstance(column, NUMERIC):
        return Drawn(states)
    bins = [k for k, interval in enumerate(column.intervals) if not interval.spike]
    numbers = np.where(np.isin(states, bins), np.clip(reading.number, *column.bounds), np.nan)
    return Drawn(states, numbers)


def known_rows(coded: Sequence[Codes], schema: Schema, columns: Sequence[str]) -> list[Codes]:
    """States of rows with a state of each of some columns, in a combination that can occur.

    Args:
        coded: states of all rows, one array of shape (n,) per column of the schema.
        schema: of the rows.
        columns: names.

    Returns:
        One array per column asked for, each of shape (rows kept,).
    """
    place = {name: j for j, name in enumerate(schema.names)}
    domain = schema.table(tuple(columns))
    states = [coded[place[name]] for name in columns]
    inside = are_known(states, domain)
    return [column[inside] for column in states]


def are_known(states: Sequence[Codes], domain: Domain) -> NDArray[np.bool_]:
    """Which rows have a state of each column, in a combination that can occur; shape (n,).

    Args:
        states: of all rows, one array of shape (n,) per column of the domain.
        domain: of these columns.
    """
    inside = ~domain.forbidden(states)
    for column, size in zip(states, domain.sizes, strict=True):
        inside &= column < size
    return inside
