"""Scores of columns by rank, and how far a record's vector of them counts.

The score of a state is its mid-rank by a released table of the column, from −1 to 1, over its
standard deviation, so that each column has about the squared length 1. A code of absence, and what
is out of domain, have the score 0. Where nearly all records share a state the deviation is small;
it counts as `LEAST_SPREAD` then, and the column less.

A record far out in every column would set the noise for all. So a record's vector, whose squared
length is about d in d columns, is shortened where that exceeds d + `REACH`·√d.

All scores are whole multiples of 1/`UNIT`.

Example:
    >>> scores = RankScores.of({"pain": [30.0, 40.0, 30.0], "age": [25.0, 50.0, 25.0]}, {})
    >>> scores.tables
    {'pain': (-83, 0, 83), 'age': (-91, 0, 91)}
    >>> round(scores.most / 64**2, 3)  # 2 + 1.2·√2
    3.697
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Floats

UNIT: Final = 2**6
"""Steps per score of 1."""
REACH: Final = Fraction(6, 5)
"""How far a squared length that counts lies above the usual one, in roots of how many columns."""
LEAST_SPREAD: Final = 0.25
_BELOW_ONE: Final = 1 - 2.0**-40


@dataclass(frozen=True)
class RankScores:
    """The scores of some ordered columns; public.

    Attributes:
        tables: column → score of each state, in units of 1/`UNIT`.
    """

    tables: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, masses: Mapping[str, ArrayLike], apart: Mapping[str, Sequence[int]]) -> RankScores:
        """By released masses.

        Args:
            masses: column → estimated records in each state, in the order of the values.
            apart: column → states that have no place among them.
        """
        return cls({name: _ranked(own, apart.get(name, ())) for name, own in masses.items()})

    @property
    def columns(self) -> tuple[str, ...]:
        """Names."""
        return tuple(self.tables)

    @property
    def most(self) -> int:
        """Largest squared length of a record's vector, in units of 1/`UNIT`²."""
        d = len(self.tables)
        return UNIT**2 * d + math.isqrt(int(REACH**2 * UNIT**4 * d))


def _ranked(masses: ArrayLike, apart: Sequence[int]) -> tuple[int, ...]:
    own = np.maximum(np.array(masses, dtype=np.float64), 0)
    own[list(apart)] = 0
    total = own.sum()
    if total <= 0:
        return (0,) * len(own)
    ranks = (2 * np.cumsum(own) - own) / total - 1
    ranks[list(apart)] = 0
    spread = np.sqrt(ranks**2 @ own / total)
    return tuple(np.rint(UNIT * ranks / max(spread, LEAST_SPREAD)).astype(int).tolist())


def shortened(vectors: Floats, most: int) -> Floats:
    """Vectors of whole numbers, those that are too long made shorter; whole again.

    A factor is taken a little below √(most / squared length), by more than it could be rounded up,
    and numbers are cut towards 0. So no squared length exceeds `most`.

    Args:
        vectors: whole numbers, shape (n, d).
        most: largest squared length.

    Example:
        >>> shortened(np.array([[3.0, -4.0], [30.0, -40.0]]), 25).tolist()
        [[3.0, -4.0], [2.0, -3.0]]
    """
    squared = np.einsum("ij,ij->i", vectors, vectors)
    far = np.flatnonzero(squared > most)
    if not len(far):
        return vectors
    kept = vectors.copy()
    factors = np.sqrt(most / squared[far]) * _BELOW_ONE
    kept[far] = np.trunc(vectors[far] * factors[:, None])
    return kept
