"""What every engine answers. Only privacy mechanisms and internal evaluations may ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from understudy.engine.bounded_sums import ExactSums
from understudy.engine.coding import Codes, Reading
from understudy.engine.confidential import Confidential, ExactCells, ExactTable
from understudy.schema import Schema


class Engine(Protocol):
    """A table of rows that can be counted exactly."""

    @property
    def schema(self) -> Schema:
        """The public schema the rows are coded against."""
        ...

    def recoded(self, schema: Schema) -> Engine:
        """The same rows, coded against another schema of the same columns."""
        ...

    def grouped(self, schema: Schema, groups: Mapping[str, Sequence[int]]) -> Engine:
        """The same rows with states merged into groups, for counts only.

        Args:
            schema: with the grouped columns.
            groups: column → group of each of its states.
        """
        ...

    def total(self) -> Confidential[int]:
        """Number of rows, those with out-of-domain values included."""
        ...

    def count(self, marginals: Sequence[tuple[int, ...]]) -> Confidential[list[ExactTable]]:
        """Contingency tables of sets of columns.

        Args:
            marginals: column indices of each table, in the order of its axes.
        """
        ...

    def occupied(self, columns: tuple[int, ...]) -> Confidential[ExactCells]:
        """Occupied cells of one contingency table of up to 2⁶² cells."""
        ...

    def sums(self, columns: tuple[int, ...], of: tuple[int, ...]) -> Confidential[ExactSums]:
        """Sums of bounded numbers, and of their products, by cell of a contingency table.

        Args:
            columns: column indices of the table, in the order of its axes.
            of: column indices of the numbers to sum; each also one of `columns`.
        """
        ...

    def coded(self) -> Confidential[list[Codes]]:
        """State of every value: one array of shape (n,) per column, in the order of the schema.

        A state beyond the last one of its column is out of domain.
        """
        ...

    def read(self, names: Sequence[str]) -> Confidential[list[Reading]]:
        """Some columns as they were read, with the numbers of their values.

        Args:
            names: columns of the schema.

        Returns:
            One reading per name; its arrays have shape (n,), rows in one order for all of them.
        """
        ...
