"""How sums of scores and of their products stand in a table: of what, times what, among whom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.features.column_scores import CodedSquare, Scores
from understudy.schema import Schema


def product_axes(scores: Scores, schema: Schema) -> dict[str, tuple[str, ...]]:
    """What a stored number is summed of: a score, times another, among which records."""
    each = ("1", *scores.names)
    among = dict.fromkeys(_absence(square) for square in scores.coded)
    labels = (f"{name} = {schema.columns[name].labels[state]}" for name, state in among)
    return {"score": each, "times": each, "among": ("all", *labels)}


def product_codes(scores: Scores) -> NDArray[np.int64]:
    """Codes of all sums: two places, each 0 for the constant 1, then a score; and among whom."""
    order = scores.order
    first, second = (place + 1 for place in scores.pairs)
    constant, sums = np.zeros(1, dtype=np.int64), np.arange(1, len(scores) + 1)
    squares = scores.numbers + 1
    coded = np.array([square.place + 1 for square in scores.coded], dtype=np.int64)
    left = order.joined((constant, np.zeros_like(sums), first, squares, coded))
    right = order.joined((constant, sums, second, squares, coded))
    places = {one: k for k, one in enumerate(dict.fromkeys(_absence(s) for s in scores.coded), 1)}
    among = np.zeros(order.size, dtype=np.int64)
    among[order.places[-1]] = [places[_absence(square)] for square in scores.coded]
    size = len(scores) + 1
    return np.asarray((left * size + right) * (len(places) + 1) + among)


def pair_codes(n: int) -> NDArray[np.int64]:
    """Codes of all pairs of n columns, first < second: two places."""
    first, second = np.triu_indices(n, 1)
    return np.asarray(first * n + second, dtype=np.int64)


def _absence(square: CodedSquare) -> tuple[str, int]:
    return square.column, square.state
