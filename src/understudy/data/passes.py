"""Passes over rows: sums to which every batch adds, and which parts of the rows add to each other.

What a pass gathers is whole numbers. So rows may come in any order and in any number of parts: each
part sums by itself, hands on its sums as plain arrays, and the merged ones are those of all rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.coding import Coder, StateCodes, part_of
from understudy.schema import Schema

T = TypeVar("T")
Arrays = Sequence[NDArray[Any]]


class Sums(ABC, Generic[T]):
    """What is summed over the rows seen so far; none at first. CONFIDENTIAL."""

    @abstractmethod
    def sums(self) -> list[NDArray[Any]]:
        """All that was summed, as plain arrays."""

    @abstractmethod
    def merge(self, sums: Arrays) -> None:
        """Add what the same pass summed over other rows.

        Args:
            sums: as `sums` gives it.
        """

    @abstractmethod
    def answer(self) -> T:
        """Return what is known of all rows that were added or merged."""


class RowPass(Sums[T]):
    """A pass that reads values.

    Attributes:
        names: columns that it reads.
    """

    names: tuple[str, ...]

    @abstractmethod
    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch of rows, which has these columns and perhaps others."""


class CodePass(Sums[T]):
    """A pass to which states are enough.

    Attributes:
        places: indices in the schema of the columns that it reads.
    """

    places: tuple[int, ...]

    @abstractmethod
    def add(self, columns: Sequence[StateCodes]) -> None:
        """Add one batch of rows: states of each of `places`, shape (n,) each."""


class CodingPass(RowPass[T]):
    """A pass over states as one that codes the values itself, and no column that plays no part.

    Args:
        begun: the pass, before the first row.
        schema: what rows are coded against.
        groups: column → group of each of its states; states of others are left as they are.
    """

    def __init__(
        self,
        begun: Callable[[], CodePass[T]],
        schema: Schema,
        groups: Mapping[str, Sequence[int]],
    ) -> None:
        over = begun()
        part = part_of(schema, over.places)
        chosen = [schema.names[j] for j in over.places]
        self.names = part.names
        self._over, self._coder = over, Coder(part)
        self._used = [(part.names.index(name), group_of(groups.get(name))) for name in chosen]

    def add(self, batch: pl.DataFrame) -> None:
        """Code a batch, and add it."""
        columns = self._coder.code(batch)
        self._over.add([in_groups_of(columns[k], table) for k, table in self._used])

    def sums(self) -> list[NDArray[Any]]:
        """Those of the pass over states."""
        return self._over.sums()

    def merge(self, sums: Arrays) -> None:
        """Add to those of the pass over states."""
        self._over.merge(sums)

    def answer(self) -> T:
        """That of the pass over states."""
        return self._over.answer()


def group_of(groups: Sequence[int] | None) -> StateCodes | None:
    """Group of each state; the state out of domain stays out of domain."""
    if groups is None:
        return None
    n_groups = max(groups) + 1
    return np.array([*groups, n_groups], dtype=np.min_scalar_type(n_groups))


def in_groups_of(codes: StateCodes, table: StateCodes | None) -> StateCodes:
    """States by a table of `group_of`; as they are, if there is none."""
    return codes if table is None else table[codes]
