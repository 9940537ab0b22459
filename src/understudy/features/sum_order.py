"""In which order the sums of scores stand, wherever they are released, stored or read.

The number of records first, where only some count; sums of the scores; of the products of two
columns' scores; of the squares of numbers; and of these by absence elsewhere. Nobody else lays it
down: numbers are put in order, and taken apart, here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import TypeVar

import numpy as np

from understudy.arrays import Floats, Integers

Numbers = TypeVar("Numbers", Integers, Floats)


@dataclass(frozen=True)
class SumOrder:
    """How many sums of each sort there are, in their order.

    Attributes:
        counts: numbers of records: 1 where only some count, else 0.
        sums: of scores.
        products: of two scores.
        squares: of numbers.
        coded: squares of numbers by absence elsewhere.
    """

    counts: int
    sums: int
    products: int
    squares: int
    coded: int

    @property
    def size(self) -> int:
        """Of all of them."""
        return sum(astuple(self))

    def joined(self, parts: Iterable[Numbers]) -> Numbers:
        """All numbers in one array, shape (size,).

        Args:
            parts: of each sort, in the order of the attributes; of the number of records any, if
                it is not among the sums.
        """
        own = [part[:many] for part, many in zip(parts, astuple(self), strict=True)]
        return np.concatenate(own)

    def split(self, numbers: Numbers) -> list[Numbers]:
        """Numbers of each sort, in the order of the attributes.

        Args:
            numbers: of all, shape (size,).
        """
        return np.split(numbers, np.cumsum(astuple(self))[:-1])

    @property
    def places(self) -> list[Integers]:
        """Places of each sort among all."""
        return self.split(np.arange(self.size, dtype=np.int64))

    def weights(self, weight: float) -> Floats:
        """What each number is multiplied with: records and sums with a weight, the rest with 1."""
        many = np.array([weight, weight, 1.0, 1.0, 1.0])
        return np.repeat(many, astuple(self))
