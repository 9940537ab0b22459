"""Values of ordered columns in the original and in every set, as places on one line.

Numbers are compared by their values, not by the bins that a method sees. Coded absence and what
lies outside the domain have no value and no place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from understudy.arrays import Codes, Floats
from understudy.evaluation.comparison import Counts
from understudy.inference.estimates.analysis_records import (
    ABSENT,
    Records,
    is_grouping,
    level_values,
)
from understudy.schema import NUMERIC, Boolean, Calendar, Categorical, Column, Schema

NOWHERE = -1
"""Place of a record without a value."""


class Scale(Enum):
    """What the values of an ordered column are."""

    NUMBER = auto()
    DATE = auto()
    ORDER = auto()


@dataclass(frozen=True)
class OrderedColumn:
    """One ordered column. CONFIDENTIAL.

    Attributes:
        name: of the column.
        scale: what its values are.
        levels: distinct values of all tables, rising, shape (k,); of levels without numbers their
            places in the schema, of days and moments units since 1970-01-01.
        original: place of each original record among the levels, or `NOWHERE`, shape (n,).
        sets: the same for every set.
    """

    name: str
    scale: Scale
    levels: Floats = field(repr=False)
    original: Codes = field(repr=False)
    sets: tuple[Codes, ...] = field(repr=False)

    def counts(self, places: Codes) -> Counts:
        """Records at each level, shape (k,)."""
        return np.bincount(places[places != NOWHERE], minlength=len(self.levels))

    def values(self, places: Codes) -> Floats:
        """Value of each record, NaN where there is none; shape of `places`."""
        return np.append(self.levels, np.nan)[places]


def is_ordered(column: Column) -> bool:
    """Whether the ordinary states of a column have an order."""
    return not isinstance(column, Categorical)


def ordered_names(schema: Schema) -> tuple[str, ...]:
    """Columns with an order: numbers, dates, ordinal levels, truth values."""
    return tuple(name for name, column in schema.columns.items() if is_ordered(column))


def ordered_columns(original: Records, sets: Sequence[Records]) -> tuple[OrderedColumn, ...]:
    """Every ordered column, in the order of the schema.

    Args:
        original: the original records, with `ordered_names` at least.
        sets: the same of every set.
    """
    found = []
    for name in ordered_names(original.schema):
        values = [_values(records, name) for records in (original, *sets)]
        levels, places = np.unique(np.concatenate(values), return_inverse=True, equal_nan=True)
        k = int(np.isfinite(levels).sum())
        placed = np.where(places < k, places, NOWHERE).astype(np.int32)
        own, *others = np.split(placed, np.cumsum([len(one) for one in values])[:-1])
        scale = _scale(original.schema, name)
        found.append(OrderedColumn(name, scale, levels[:k], own, tuple(others)))
    return tuple(found)


def _values(records: Records, name: str) -> Floats:
    """Values of a column, NaN where there is none, shape (n,)."""
    if name in records.numbers:
        numbers = records.numbers[name]
        return np.where(np.isfinite(numbers), numbers, np.nan)
    column, states = records.schema.columns[name], records.states[name]
    levels: object = range(column.n_ordinary)
    if _scale(records.schema, name) is Scale.NUMBER and not isinstance(column, NUMERIC):
        levels = level_values(column)
    assert ABSENT == -1
    return np.append(np.array(levels, dtype=np.float64), np.nan)[states]


def _scale(schema: Schema, name: str) -> Scale:
    column = schema.columns[name]
    if isinstance(column, Calendar):
        return Scale.DATE
    if isinstance(column, Boolean) or is_grouping(column):
        return Scale.ORDER
    return Scale.NUMBER
