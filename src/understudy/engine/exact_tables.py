"""Exact contingency tables, as the engine hands them over (always inside `Confidential`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ExactTable:
    """A full contingency table.

    Attributes:
        inside: counts of the declared states, one axis per column.
        outside: records with at least one of these columns out of domain.
    """

    inside: NDArray[np.int64]
    outside: int

    @classmethod
    def fold(cls, table: NDArray[np.int64]) -> ExactTable:
        """From a table whose last index on every axis is the out-of-domain state."""
        inside = table[tuple(slice(0, size - 1) for size in table.shape)]
        return cls(np.ascontiguousarray(inside), int(table.sum() - inside.sum()))


@dataclass(frozen=True)
class ExactCells:
    """Occupied cells of a contingency table that is too large to write out.

    Attributes:
        codes: mixed-radix numbers of the occupied cells, ascending, shape (occupied,).
        counts: records in each, shape (occupied,).
        outside: records with at least one of these columns out of domain.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    outside: int
