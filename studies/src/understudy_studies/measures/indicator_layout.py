"""Rows as lists of indicators: what a regression on all pairs of columns needs, without its design.

Every state has an indicator but the most frequent of its column, and every pair of indicators of
two columns has a parameter. A row has few indicators that are not 0, so scores, gradients and the
information matrix are sums over the pairs of these few. Equal rows are counted once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, compiled
from understudy.evaluate.comparison import Comparison, Rows, distinct

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Grouped:
    """Distinct rows of a table.

    Attributes:
        active: numbers of the indicators that are 1, ascending, the rest of a row -1; number 0 is
            the intercept, which all rows have. Shape (distinct, columns + 1).
        count: how many rows are alike, shape (distinct,).
    """

    active: NDArray[np.int16]
    count: Floats


@dataclass(frozen=True)
class Layout:
    """Which indicators there are, and the parameter of each pair of them.

    Attributes:
        indicator: number of the indicator of each state of each column, 0 where it has none.
        parameter: place of the parameter of two indicators a < b, shape (F + 1, F + 1); -1 if they
            belong to one column. The pair (0, a) is the main effect of a, (0, 0) the intercept.
    """

    indicator: tuple[Places, ...]
    parameter: NDArray[np.int32]

    @classmethod
    def of(cls, comparison: Comparison) -> Layout:
        """States that occur anywhere; the most frequent one of the original has no indicator."""
        indicator: list[Places] = []
        owner = [-1]
        for j, size in enumerate(comparison.sizes):
            first = np.bincount(comparison.original[j], minlength=size)
            occurs = first > 0
            for table in comparison.sets:
                occurs |= np.bincount(table[j], minlength=size) > 0
            occurs[first.argmax()] = False
            number = np.zeros(size, dtype=np.int64)
            number[occurs] = len(owner) + np.arange(occurs.sum())
            owner += [j] * int(occurs.sum())
            indicator.append(number)
        return cls(tuple(indicator), _parameters(np.array(owner)))

    @property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the indicators, by column: alike where two layouts are."""
        return tuple(tuple(one.tolist()) for one in self.indicator)

    @property
    def n_parameters(self) -> int:
        """Parameters, the intercept included."""
        return int(self.parameter.max()) + 1

    def grouped(self, rows: Rows) -> Grouped:
        """Distinct rows of a table as lists of indicators."""
        first, count = distinct(rows, [len(one) for one in self.indicator])
        pairs = zip(self.indicator, rows, strict=True)
        chosen = np.stack([number[codes[first]] for number, codes in pairs], axis=1)
        chosen = np.where(chosen == 0, np.iinfo(np.int16).max, chosen)
        chosen.sort(axis=1)
        chosen[chosen == np.iinfo(np.int16).max] = -1
        active = np.concatenate([np.zeros((len(first), 1), dtype=np.int64), chosen], axis=1)
        return Grouped(active.astype(np.int16), count.astype(np.float64))


def _parameters(owner: Places) -> NDArray[np.int32]:
    """Parameters numbered row by row, so that those of a row of the table come in order."""
    kept = owner[:, None] != owner[None, :]
    kept[0, 0] = True
    kept &= np.triu(np.ones_like(kept))
    parameter = np.full(kept.shape, -1, dtype=np.int32)
    parameter[kept] = np.arange(kept.sum())
    return parameter


@compiled
def row_scores(active: NDArray[np.int16], weights: Floats) -> Floats:
    """Sum of the weights of all pairs of active indicators, and of the intercept."""
    result = np.empty(active.shape[0])
    for i in range(active.shape[0]):
        total = weights[0, 0]
        for u in range(active.shape[1]):
            a = active[i, u]
            if a < 0:
                break
            for v in range(u + 1, active.shape[1]):
                b = active[i, v]
                if b < 0:
                    break
                total += weights[a, b]
        result[i] = total
    return result


@compiled
def add_gradient(
    active: NDArray[np.int16], residual: Floats, parameter: NDArray[np.int32], result: Floats
) -> None:
    """Add Σ r x, with r one residual for each row."""
    for i in range(active.shape[0]):
        result[0] += residual[i]
        for u in range(active.shape[1]):
            a = active[i, u]
            if a < 0:
                break
            for v in range(u + 1, active.shape[1]):
                b = active[i, v]
                if b < 0:
                    break
                result[parameter[a, b]] += residual[i]


@compiled
def add_information(
    active: NDArray[np.int16], weight: Floats, parameter: NDArray[np.int32], upper: Floats
) -> None:
    """Add Σ w x x', upper triangle: parameters of a row come in ascending order."""
    width = active.shape[1]
    places = np.empty(1 + width * width // 2, dtype=np.int64)
    for i in range(active.shape[0]):
        places[0], n = 0, 1
        for u in range(width):
            a = active[i, u]
            if a < 0:
                break
            for v in range(u + 1, width):
                b = active[i, v]
                if b < 0:
                    break
                places[n] = parameter[a, b]
                n += 1
        for u in range(n):
            row = upper[places[u]]
            for v in range(u, n):
                row[places[v]] += weight[i]
