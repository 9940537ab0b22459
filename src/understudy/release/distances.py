"""Numbers of the members of a unit in the distances that rules declare.

Bins that cannot keep to them are ruled out by the model. Within the declared bins numbers are moved
as little as is needed: first the larger one up, then the smaller one down. They never leave their
declared bin. What happens to a unit depends on its own numbers and the schema alone:
post-processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.schema import Schema
from understudy.schema.base import text_of
from understudy.schema.columns import Cells
from understudy.schema.households import LeastDistance, slot_column


def keep_distances(cells: Mapping[str, Cells], schema: Schema) -> dict[str, Cells]:
    """The columns of some records, with numbers that keep to every inequality between members.

    Args:
        cells: the columns that are measured, of n records each.
        schema: of the wide table.
    """
    found = dict(cells)
    for rule in () if schema.members is None else schema.members.distances:
        pairs = [*_pairs(schema, rule, {name: one.states for name, one in found.items()})]
        for large, small, rows in pairs:
            need = _end_below(rule.starts, found[small].numbers[rows]) + rule.distance
            numbers = found[large].numbers.copy()
            room = np.minimum(need, _end_above(rule.ends, numbers[rows]))
            numbers[rows] = np.maximum(numbers[rows], room)
            found[large] = Cells(found[large].states, numbers)
        for large, small, rows in pairs:
            numbers = found[small].numbers.copy()
            most = found[large].numbers[rows] - rule.distance
            numbers[rows] = np.minimum(numbers[rows], most)
            found[small] = Cells(found[small].states, numbers)
    return found


def _pairs(
    schema: Schema, rule: LeastDistance, states: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Columns of the larger and the smaller number, and the records that are concerned."""
    for i, j in _slots(schema, rule):
        if i != j:
            hit = _has_level(schema, slot_column(rule.role, j), rule.smaller, states)
            hit &= _has_level(schema, slot_column(rule.role, i), rule.larger, states)
            large, small = (slot_column(rule.columns[k], place) for k, place in ((0, i), (1, j)))
            for name in (large, small):
                hit &= states[name] < schema.columns[name].n_ordinary
            if hit.any():
                yield large, small, np.flatnonzero(hit)


def _slots(schema: Schema, rule: LeastDistance) -> Iterator[tuple[int, int]]:
    """Slots that may hold the larger and the smaller number."""
    every = range(1, schema.members.rows_per_unit + 1) if schema.members else range(0)
    return itertools.product(every[:1] if rule.first else every, every)


def _has_level(
    schema: Schema, name: str, level: Any, states: Mapping[str, NDArray[Any]]
) -> NDArray[np.bool_]:
    levels = [text_of(one) for one in getattr(schema.columns[name], "levels", ())]
    return np.asarray(states[name] == levels.index(text_of(level)))


def _end_below(starts: Sequence[float], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lower end of the declared bin of each number."""
    ends = np.asarray(starts)
    return ends[np.clip(np.searchsorted(ends, numbers, side="right") - 1, 0, None)]


def _end_above(ends: Sequence[float], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The upper end of the declared bin of each number."""
    found = np.asarray(ends)
    return found[np.clip(np.searchsorted(found, numbers), None, len(found) - 1)]


def breaks_distances(table: pl.DataFrame, schema: Schema) -> bool:
    """Return whether an inequality between members does not hold in a wide table."""
    for rule in () if schema.members is None else schema.members.distances:
        for i, j in _slots(schema, rule):
            if i != j:
                large, small = (
                    _numbers(table, schema, slot_column(rule.columns[k], place))
                    for k, place in ((0, i), (1, j))
                )
                concerned = _says(table, rule.role, i, rule.larger) & _says(
                    table, rule.role, j, rule.smaller
                )
                if (concerned & (large < small + rule.distance).fill_null(value=False)).any():
                    return True
    return False


def _numbers(table: pl.DataFrame, schema: Schema, name: str) -> pl.Series:
    """The numbers of a column; null for codes, which may look like numbers."""
    texts = table.get_column(name).cast(pl.String)
    codes = [text_of(code) for code in schema.columns[name].codes]
    return texts.set(texts.is_in(codes), None).cast(pl.Float64, strict=False)


def _says(table: pl.DataFrame, name: str, j: int, level: Any) -> pl.Series:
    texts = table.get_column(slot_column(name, j)).cast(pl.String)
    return (texts == text_of(level)).fill_null(value=False)
