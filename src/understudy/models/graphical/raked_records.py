"""Records weighted until they hold the tables of their model again, after rules took some away.

A rule that the tree has no room for is kept by drawing records again. What is left is the model
given the rule, and its tables are no longer those that were measured: a table without noise may be
contradicted by any amount. Records are therefore weighted: table after table, each cell by what the
model says of it over what the records have (iterative proportional fitting, Deming & Stephan 1940).
Of all distributions with these tables this approaches the one nearest to the model given the rules
(Csiszár 1975), which is the distribution of greatest entropy that keeps both. Then as many records
are taken as there were, each as often as its weight says.

Cost: a pass over the records for each table and sweep, only where rules were left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.functions.triangulation import Columns

_SWEEPS: Final = 50
_CLOSE: Final = 1e-3
"""Share of the records by which a table may still be off at the end."""
_SLOW: Final = 0.98
"""Part of what the worst table was off before a sweep, of which less must be left after it."""


def raked(
    groups: Sequence[NDArray[np.integer[Any]]],
    tables: Mapping[Columns, Floats],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Which records to take, some of them more than once; as many as there are, in random order.

    Args:
        groups: of each column and record, shape (n,) each.
        tables: expected counts, by their columns, an axis for each.
        rng: which records are taken.
    """
    n = len(groups[0])
    cells = {columns: _cells(groups, columns, table) for columns, table in tables.items()}
    weights, before = np.full(n, 1.0 / n), np.inf
    for _ in range(_SWEEPS):
        off = 0.0
        for columns, table in tables.items():
            wanted = table.reshape(-1) / table.sum()
            found = np.bincount(cells[columns], weights, minlength=len(wanted))
            off = max(off, float(np.abs(wanted - found).sum()) / 2)
            weights *= np.divide(wanted, found, out=np.ones_like(found), where=found > 0)[
                cells[columns]
            ]
            weights /= weights.sum()
        if off < _CLOSE or off > _SLOW * before:
            break
        before = off
    order = rng.permutation(n)
    ends = np.cumsum(weights[order]) * n
    places = np.searchsorted(ends, np.arange(n) + rng.random(), side="right")
    taken: NDArray[np.int64] = order[np.minimum(places, n - 1)]
    return rng.permutation(taken)


def _cells(
    groups: Sequence[NDArray[np.integer[Any]]], columns: Columns, table: Floats
) -> NDArray[np.int64]:
    """The cell of each record."""
    own = tuple(groups[j].astype(np.int64) for j in columns)
    return np.asarray(np.ravel_multi_index(own, table.shape), dtype=np.int64)
