"""How the rows of a matrix of second moments and the released numbers belong together.

Rows are the constant 1, the number of each column of numbers, and indicators of states; what is
released are sums of scores (`understudy.features.column_scores`) and of their products. Indicators
of levels and bins are affine in the contrasts between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import UNIT, Scores
from understudy.schema import NUMERIC, Schema

FREE = -1
"""Of entries that are no released number."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The rows that some scores tell.

    Attributes:
        place: (column, state) → row; the state of a number is None.
        affine: rows in the constant and the scores, shape (R, s + 1).
        source: which released number an entry over the constant and the scores is, −1 for those of
            two scores of one column, shape (s + 1, s + 1); the number of records comes last.
        squares: row of each number → the released number of its square.
        beside: row of each number → rows of the records of its column that have none.
        coded: (row of a number, row of a code) → the released number of its square among them.
        columns: the rows of each column.
    """

    place: dict[tuple[str, int | None], int]
    affine: Floats
    source: Integers
    squares: dict[int, int]
    coded: dict[tuple[int, int], int]
    beside: dict[int, Integers]
    columns: dict[str, Integers]

    @classmethod
    def of(cls, scores: Scores, schema: Schema) -> Basis:
        """The rows that some scores tell.

        Args:
            scores: of the columns.
            schema: of the release.
        """
        place: dict[tuple[str, int | None], int] = {}
        blocks = [np.zeros((1, len(scores) + 1))]
        blocks[0][0, 0] = 1
        columns: dict[str, Integers] = {}
        beside: dict[int, Integers] = {}
        for name in scores.columns:
            states, block = _rows_of(name, scores, schema)
            start = len(place) + 1
            place |= {(name, state): start + k for k, state in enumerate(states)}
            columns[name] = np.arange(start, len(place) + 1)
            blocks.append(block)
            if None in states:
                k = schema.columns[name].n_ordinary
                other = [row for row, state in enumerate(states, start) if (state or 0) >= k]
                beside[start] = np.array(other, dtype=np.int64)
        size, (first, second) = len(scores), scores.pairs
        counted, sums, products, squares, coded = scores.order.places
        source = np.full((size + 1, size + 1), FREE, dtype=np.int64)
        source[0, 1:] = source[1:, 0] = sums
        source[first + 1, second + 1] = source[second + 1, first + 1] = products
        source[0, 0] = counted[0] if len(counted) else scores.size
        rows = [place[scores.each[k].column, None] for k in scores.numbers]
        return cls(
            place=place,
            affine=np.concatenate(blocks),
            source=source,
            squares=dict(zip(rows, squares.tolist(), strict=True)),
            coded={
                (place[scores.each[s.place].column, None], place[s.column, s.state]): at
                for at, s in zip(coded.tolist(), scores.coded, strict=True)
            },
            beside=beside,
            columns=columns,
        )


def _rows_of(name: str, scores: Scores, schema: Schema) -> tuple[list[int | None], Floats]:
    """The states that have rows (None for a number), and these in the constant and the scores."""
    column, table = schema.columns[name], scores.tables[name] / UNIT
    places = np.array(scores.places(name), dtype=np.int64) + 1
    if not isinstance(column, NUMERIC):
        k = column.n_ordinary if name in scores.complete else column.size
        block = np.zeros((k, len(scores) + 1))
        block[:, 0], block[:, places] = _in_scores(table[:k])
        return list(range(k)), block
    k = column.n_ordinary
    codes = [j for j in range(1, len(places)) if table[k:, j].any()]
    bins = [j for j in range(1, len(places)) if j not in codes]
    shown = k if bins else 0
    block = np.zeros((1 + shown + len(codes), len(scores) + 1))
    block[0, places[0]] = 1
    if bins:
        constant, block[1 : 1 + k, places[bins]] = _in_scores(table[:k, bins])
        block[1 : 1 + k, 0] = constant
        block[1 : 1 + k, places[codes]] = -constant[:, None]  # of those that have a number
    block[np.arange(1 + shown, len(block)), places[codes]] = 1
    return [None, *range(shown), *(k + int(table[k:, j].argmax()) for j in codes)], block


def _in_scores(table: Floats) -> tuple[Floats, Floats]:
    """Indicators of k states in the constant, shape (k,), and in m scores, shape (k, m)."""
    k, m = table.shape
    if m == k:
        return np.zeros(k), np.asarray(np.linalg.inv(table).T, dtype=np.float64)
    inverse = np.linalg.inv(np.column_stack([np.ones(k), table]))  # of states in scores
    return inverse[0], inverse[1:].T
