"""Cells of heaps: of one numeric column, which way of rounding a number shows, by its size.

People round larger numbers more coarsely. So a cell is a *class* of the column's heaps
(`understudy.schema.heaps`) in a *zone* of its range. Up to `ZONES` zones follow from bounds and
heaps alone: upwards from the lower bound (or from 0, where it lies inside) each is about three
times as long as all before it, and begins with a number of the first heap. Spikes, codes and what
lies beyond the bounds have no class, and share the last cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.line_cells import LineCells, Numeric
from understudy.schema import NUMERIC, Calendar, Continuous, Schema
from understudy.schema.cell_values import CLOSE, text_of
from understudy.schema.heaps import HeapAt

ZONES: Final = 6
_GROWTH: Final = 3.0


@dataclass(frozen=True)
class HeapCells:
    """The cells of a column: classes within zones, and one for what has no class.

    Attributes:
        column: with its heaps.

    Example:
        >>> from understudy.schema import Integer
        >>> age = Integer(kind="integer", lower=0, upper=99, heaps=(10, 5))
        >>> HeapCells(age).labels[:3], HeapCells(age).edges.tolist()
        (('0 to 9: every 10', '0 to 9: every 5', '0 to 9: other'), [10.0, 20.0, 40.0])
    """

    column: Numeric

    @classmethod
    def of(cls, schema: Schema, name: str) -> HeapCells:
        """The cells of a column of a schema.

        Raises:
            TypeError: the column has no heaps.
        """
        column = schema.columns[name]
        if not isinstance(column, NUMERIC) or not column.heaps:
            raise TypeError(f"The column {name!r} has no heaps.")
        return cls(column)

    @property
    def size(self) -> int:
        """How many there are."""
        return self.n_zones * self.n_classes + 1

    @property
    def n_zones(self) -> int:
        """Number of zones."""
        return len(self.edges) + 1

    @cached_property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.column.roundings.n_classes

    @cached_property
    def edges(self) -> Floats:
        """First numbers of the zones but the first one, ascending; shape (zones − 1,)."""
        (low, high), first = self.column.bounds, self.column.roundings.steps[0]
        start = 0.0 if low < 0 < high else low
        places = start + (high - start) / _GROWTH ** np.arange(ZONES - 1, 0, -1)
        edges = np.unique(first.at + np.ceil((places - first.at) / first.every) * first.every)
        edges = np.append([0.0] if start > low else [], edges)
        return np.unique(edges[(edges > low) & (edges < high)])

    def zones(self, numbers: Floats) -> Integers:
        """Zone of each number, shape (n,)."""
        return np.searchsorted(self.edges, numbers, side="right")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """How they are shown."""
        (low, high), column = self.column.bounds, self.column
        step = 0.0 if isinstance(column, Continuous) else 1.0
        firsts, lasts = [low, *self.edges], [*(self.edges - step), high]
        ways = [*map(_way, column.heaps), "other"]
        zones = zip(firsts, lasts, strict=True)
        ends = [f"{self._text(first)} to {self._text(last)}" for first, last in zones]
        return (*(f"{zone}: {way}" for zone in ends for way in ways), "(no class)")

    def _text(self, number: float) -> str:
        column = self.column
        return column.text_at(int(number)) if isinstance(column, Calendar) else f"{number:.12g}"

    def places(self, states: Integers, numbers: Floats) -> Integers:
        """Cell of each value; `size` for what is out of domain.

        Args:
            states: in `column` as records are counted, its `size` for what is out of domain; shape
                (n,).
            numbers: as they were read, unclipped, NaN for none; shape (n,).
        """
        column, (low, high) = self.column, self.column.bounds
        bins = np.array([not one.spike for one in column.intervals])
        reach = CLOSE if isinstance(column, Continuous) else 0.0
        inside = (numbers >= low - reach * abs(low)) & (numbers <= high + reach * abs(high))
        classed = inside & np.append(bins, False)[np.minimum(states, len(bins))]
        known = np.clip(np.where(classed, numbers, low), low, high)
        own = self.zones(known) * self.n_classes + column.roundings.classes(known)
        return np.where(states == column.size, self.size, np.where(classed, own, self.size - 1))


NumberCells = LineCells | HeapCells
"""Cells of one numeric column, of which each record is in one by its own values."""


def heaped_columns(schema: Schema) -> tuple[str, ...]:
    """Measured columns with heaps, some bin of which has numbers of several classes."""
    return tuple(name for name in schema.names if _is_open(schema, name))


def _is_open(schema: Schema, name: str) -> bool:
    """Whether bins leave open on which heap a number lies."""
    column = schema.columns[name]
    if not isinstance(column, NUMERIC) or not column.heaps:
        return False
    return any(one.low < one.high for one in column.intervals)


def _way(heap: object) -> str:
    if isinstance(heap, HeapAt):
        return f"every {text_of(heap.every)} at {text_of(heap.at)}"
    return f"every {heap}"
