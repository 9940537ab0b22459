"""Hashed tables: what real records hold in one column, by the states of some others.

The *row* of a key counts the real records with this key by their state in the column. Only rows
with a record in them are kept: a hashed table is nothing but the occupied cells of the contingency
table of key columns and column, ordered by key. Its memory is 8 bytes for each occupied row and 20
for each occupied cell, whatever the number of possible keys is. CONFIDENTIAL, all of it.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3.2 ("statistical building blocks").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactCells
from understudy.privacy.secret_rows import SecretRows
from understudy.schema import GibbsSweep

__all__ = ["HashedRows", "hashed_tables", "joined", "n_cells", "table_names"]


@dataclass(frozen=True)
class HashedRows:
    """One hashed table, or several behind one another. CONFIDENTIAL.

    Attributes:
        keys: keys of the rows, ascending, shape (rows,).
        first: first cell of each row, and the number of cells, shape (rows + 1,).
        states: state of the column in each cell, ascending within a row, shape (cells,).
        before: records in all cells before each cell, and in all cells, shape (cells + 1,).
    """

    keys: NDArray[np.int64]
    first: NDArray[np.int64]
    states: NDArray[np.int32]
    before: NDArray[np.int64]

    @classmethod
    def of(cls, exact: ExactCells, size: int) -> HashedRows:
        """The rows of a contingency table whose last column is the one that is drawn.

        Args:
            exact: its occupied cells, numbered key · size + state.
            size: number of states of the column.

        Example:
            >>> cells = ExactCells(np.array([1, 2, 7]), np.array([4, 1, 2]), 0)
            >>> HashedRows.of(cells, 3).keys.tolist(), HashedRows.of(cells, 3).totals.tolist()
            ([0, 2], [5, 2])
        """
        return cls.of_cells(exact.codes, exact.counts, size)

    @classmethod
    def of_cells(cls, codes: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> HashedRows:
        """The rows of occupied cells.

        Args:
            codes: key · size + state of each, ascending, shape (cells,).
            counts: records in them, shape (cells,).
            size: number of states of the column.
        """
        keys, states = np.divmod(codes, size)
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        return cls(
            keys=keys[starts],
            first=np.append(starts, len(keys)).astype(np.int64),
            states=states.astype(np.int32),
            before=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        )

    @property
    def totals(self) -> NDArray[np.int64]:
        """Real records of each row, shape (rows,)."""
        return np.diff(self.before[self.first])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Real records in each cell, shape (cells,)."""
        return np.diff(self.before)


def joined(tables: Sequence[HashedRows]) -> tuple[HashedRows, NDArray[np.int64]]:
    """Several tables behind one another, as kernels want them.

    Returns:
        The tables in one, whose keys ascend within each of them; and the first row of each, with
        the number of rows at the end, shape (tables + 1,).
    """
    rows = np.concatenate(([0], np.cumsum([len(table.keys) for table in tables]))).astype(np.int64)
    cells = np.concatenate(([0], np.cumsum([len(table.states) for table in tables])))
    records = np.concatenate(([0], np.cumsum([table.before[-1] for table in tables])))
    whole = HashedRows(
        keys=np.concatenate([table.keys for table in tables]),
        first=_behind([table.first for table in tables], cells),
        states=np.concatenate([table.states for table in tables]),
        before=_behind([table.before for table in tables], records),
    )
    return whole, rows


def _behind(parts: Sequence[NDArray[np.int64]], shifts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running numbers of parts made those of the whole; each part's last is the next one's 0."""
    moved = [part[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return np.concatenate([*moved, shifts[-1:]]).astype(np.int64)


def table_names(sweep: GibbsSweep) -> list[tuple[str, ...]]:
    """Names of the columns of each hashed table: its keys, and the column that is drawn."""
    return [tuple(sweep.names[j] for j in table) for table in sweep.tables]


def n_cells(sweep: GibbsSweep) -> int:
    """Cells of all hashed tables together."""
    return sum(n * size for n, size in zip(sweep.n_keys, sweep.domain.sizes, strict=True))


def hashed_tables(rows: SecretRows, sweep: GibbsSweep) -> list[HashedRows]:
    """The hashed table of each column; paid for before. CONFIDENTIAL."""
    return [
        HashedRows.of(rows.cells(names), size)
        for names, size in zip(table_names(sweep), sweep.domain.sizes, strict=True)
    ]
