"""Exact sums of scores of the records, and of the products of two of them, in one pass.

Scores are those of `understudy.features.column_scores`, as whole numbers: those of a state stand in
its table, a number is z = round((x − middle) / width · 2¹⁶) after clipping to its public bounds.
Squares are centred: 2z² less 1, and half of that by absence elsewhere, for each record with the
number. What is summed is whole, and so is every sum; so the order of the rows plays no part.

The products of a batch of at most `BATCH` rows are one multiplication of matrices of doubles. It is
exact: each product is a whole number of size at most 2³⁰, and all partial sums stay below 2⁵³.
Batches are added as integers, without overflow below 2³³ records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.engine.bounded_sums import on_bounds
from understudy.engine.coding import ColumnCoder, Reading
from understudy.engine.passes import Arrays, RowPass
from understudy.features.column_scores import UNIT, Scores
from understudy.schema import NUMERIC, Column, Schema

BATCH: Final = 2**14


@dataclass(frozen=True)
class ExactProducts:
    """Sums over all records, in units of 1/`UNIT`² of a record.

    Attributes:
        count: records that count, times `UNIT`².
        sums: Σ `UNIT`·z of each score, shape (scores,).
        products: Σ z·z' of the pairs of `Scores.pairs`, shape (pairs,).
        squares: Σ (2z² − `UNIT`²) of `Scores.numbers`, of records that have one, shape (numbers,).
        coded: half of the same of `Scores.coded`, of records with the code, shape (coded squares,).
    """

    count: int
    sums: NDArray[np.int64]
    products: NDArray[np.int64]
    squares: NDArray[np.int64]
    coded: NDArray[np.int64]

    def __add__(self, other: ExactProducts) -> ExactProducts:
        """Of the records of both."""
        return ExactProducts(
            self.count + other.count,
            self.sums + other.sums,
            self.products + other.products,
            self.squares + other.squares,
            self.coded + other.coded,
        )


class ScoreProducts(RowPass[ExactProducts]):
    """Sums of scores and of their products.

    Args:
        schema: what the rows are read against.
        scores: whose products.
    """

    def __init__(self, schema: Schema, scores: Scores) -> None:
        self.names = scores.columns
        self._schema, self._scores = schema, scores
        self._coders = [ColumnCoder(name, schema.columns[name]) for name in self.names]
        shapes = len(scores), len(scores.pairs[0]), len(scores.numbers), len(scores.coded)
        self._total = ExactProducts(0, *(np.zeros(shape, dtype=np.int64) for shape in shapes))

    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch."""
        read = {coder.name: coder.read(batch.get_column(coder.name)) for coder in self._coders}
        records = _Rows.of(read, self._schema)
        for start in range(0, len(batch), BATCH):
            part = records.part(slice(start, start + BATCH))
            self._total += _sums(part, self._scores, self._schema)

    def sums(self) -> list[NDArray[Any]]:
        """The number of records, and the sums in the order of `ExactProducts`."""
        total = self._total
        counted = np.array(
            total.count // UNIT**2, dtype=np.int64
        )  # n · 2³⁰ may need more than 64 bits
        return [counted, total.sums, total.products, total.squares, total.coded]

    def merge(self, sums: Arrays) -> None:
        """Add all of them."""
        counted, *others = sums
        self._total += ExactProducts(int(counted) * UNIT**2, *others)

    def answer(self) -> ExactProducts:
        """All of them."""
        return self._total


@dataclass(frozen=True)
class _Rows:
    """Some rows: states of each column, what is out of domain last, and numbers."""

    states: Mapping[str, NDArray[np.int64]]
    numbers: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, readings: Mapping[str, Reading], schema: Schema) -> _Rows:
        """A batch as it was read."""
        states = {name: one.counted(schema.columns[name]) for name, one in readings.items()}
        return cls(states, {name: one.number for name, one in readings.items()})

    def part(self, rows: slice) -> _Rows:
        """Some of them."""
        states = {name: own[rows] for name, own in self.states.items()}
        return _Rows(states, {name: own[rows] for name, own in self.numbers.items()})


def _sums(rows: _Rows, scores: Scores, schema: Schema) -> ExactProducts:
    ordinary = {
        name: states < schema.columns[name].n_ordinary for name, states in rows.states.items()
    }
    counted = np.ones(len(next(iter(ordinary.values()))), dtype=np.bool_)
    for name in scores.complete:
        counted &= ordinary[name]
    z = np.hstack([_matrix(rows, name, scores, schema) for name in scores.columns])
    z *= counted[:, np.newaxis]
    squares = {
        int(place): z[:, place] ** 2
        - (ordinary[scores.each[place].column] & counted) * (UNIT**2 // 2)
        for place in scores.numbers
    }
    coded = (
        squares[square.place] @ (rows.states[square.column] == square.state)
        for square in scores.coded
    )
    return ExactProducts(
        int(counted.sum()) * UNIT**2,
        z.sum(axis=0).astype(np.int64) * UNIT,
        (z.T @ z)[scores.pairs].astype(np.int64),
        2 * np.array([square.sum() for square in squares.values()], dtype=np.int64),
        np.array(list(coded), dtype=np.int64),
    )


def _matrix(rows: _Rows, name: str, scores: Scores, schema: Schema) -> NDArray[np.float64]:
    """Scores of one column as whole numbers, shape (rows, its scores)."""
    states, column = rows.states[name], schema.columns[name]
    z = scores.tables[name][states].astype(np.float64)
    if isinstance(column, NUMERIC):
        z[:, 0] = scored_numbers(column, states, rows.numbers[name])
    return z


def scored_numbers(
    column: Column, states: NDArray[np.int64], numbers: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The whole number z of each value; 0 where it is no number.

    Args:
        column: numeric.
        states: as records are counted, shape (n,).
        numbers: as they were read, NaN for none, shape (n,).
    """
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    known = states < column.n_ordinary
    if not low < high:
        return np.zeros(len(states), dtype=np.int64)
    # A truth value in a column of numbers has a state, and no place on the line.
    own = np.array([(one.low + one.high) / 2 for one in column.intervals])
    nowhere = known & np.isnan(numbers)
    placed = np.where(nowhere, own[np.where(known, states, 0)], numbers)
    return np.where(known, on_bounds(np.where(known, placed, low), low, high), 0)
