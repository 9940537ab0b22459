"""Exact sums of scores of the records, and of the products of two of them, in one pass.

Scores are those of `understudy.features.column_scores`, as whole numbers: an indicator is `HALF` =
2¹⁵, a number z = round((x − middle) / width · 2¹⁶) after clipping to its public bounds. What is
summed is whole, and so is every sum; so the order of the rows plays no part.

The products of a batch of at most `BATCH` rows are one multiplication of matrices of doubles. It is
exact: each product is a whole number of size at most 2³⁰, and all partial sums stay below 2⁵³.
Batches are added as integers, without overflow below 2³³ records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.engine.bounded_sums import HALF, on_bounds
from understudy.engine.coding import ColumnCoder, Reading
from understudy.engine.reading.readers import Rows
from understudy.features.column_scores import Scores
from understudy.schema import NUMERIC, Column, Schema

BATCH: Final = 2**14


@dataclass(frozen=True)
class ExactProducts:
    """Sums over all records, in units of 1/`HALF`² of a record.

    Attributes:
        count: records that count, times `HALF`².
        sums: Σ `HALF`·z of each score, shape (scores,).
        products: Σ z·z' of the pairs of `Scores.pairs`, shape (pairs,).
    """

    count: int
    sums: NDArray[np.int64]
    products: NDArray[np.int64]


def score_products(rows: Rows, schema: Schema, scores: Scores) -> ExactProducts:
    """Sum over the rows.

    Args:
        rows: the input.
        schema: what it is read against.
        scores: whose products.
    """
    coders = [ColumnCoder(name, schema.columns[name]) for name in scores.columns]
    size = len(scores)
    count, sums, products = 0, np.zeros(size, np.int64), np.zeros((size, size), np.int64)
    for batch in rows.batches(scores.columns):
        readings = [coder.read(batch.get_column(coder.name)) for coder in coders]
        for start in range(0, len(batch), BATCH):
            part = slice(start, start + BATCH)
            counted = _counted(readings, scores, schema, part)
            z = _matrix(readings, scores, schema, part) * counted[:, np.newaxis]
            count += int(counted.sum())
            sums += z.sum(axis=0).astype(np.int64) * HALF
            products += (z.T @ z).astype(np.int64)
    return ExactProducts(count * HALF**2, sums, products[scores.pairs])


def _counted(
    readings: Sequence[Reading], scores: Scores, schema: Schema, part: slice
) -> NDArray[np.bool_]:
    """Which records have a value of each column that must have one, shape (rows,)."""
    counted = np.ones(len(readings[0].states[part]), dtype=np.bool_)
    for name, reading in zip(scores.columns, readings, strict=True):
        if name in scores.complete:
            counted &= reading.states[part] < schema.columns[name].n_ordinary
    return counted


def _matrix(
    readings: Sequence[Reading], scores: Scores, schema: Schema, part: slice
) -> NDArray[np.float64]:
    """Scores of some rows as whole numbers, shape (rows, scores)."""
    n = len(readings[0].states[part])
    z = np.zeros((n, len(scores)))
    for name, reading in zip(scores.columns, readings, strict=True):
        column, states = schema.columns[name], reading.states[part]
        if column.out_of_domain is not None:  # the declared code is the last state
            states = np.where(states == column.size, column.size - 1, states)
        for place in scores.places(name):
            state = scores.each[place].state
            if state is None:
                z[:, place] = _numbers(column, states, reading.number[part])
            else:
                z[:, place] = HALF * (states == state)
    return z


def _numbers(
    column: Column, states: NDArray[np.int64], numbers: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The whole number of each value; 0 where it is no number."""
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
