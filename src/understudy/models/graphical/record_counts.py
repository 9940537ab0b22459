"""Tables of drawn records."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain.stacked_tables import StackedTables, code_type


def table_counts(
    states: NDArray[np.integer],
    sizes: Sequence[int],
    tables: Sequence[tuple[int, ...]],
    *,
    weight: float = 1.0,
) -> NDArray[np.float32]:
    """Weighted counts of every cell of several tables.

    Args:
        states: of records, shape (columns, n).
        sizes: number of states of each column.
        tables: columns of each.
        weight: of a record.

    Returns:
        All tables, one after the other, each in C order.

    Example:
        >>> table_counts(np.array([[0, 1, 1], [0, 0, 1]]), (2, 2), [(0,), (0, 1)]).tolist()
        [1.0, 2.0, 1.0, 0.0, 1.0, 1.0]
    """
    layout, used = StackedTables.of(tables, sizes)
    codes = np.empty((len(used), states.shape[1]), dtype=code_type([sizes[j] for j in used]))
    for slot, j in enumerate(used):
        codes[slot] = states[j]
    counts = np.zeros(int(layout.offsets[-1]), dtype=np.uint32)
    layout.add(codes, states.shape[1], counts)
    return np.multiply(counts, np.float32(weight), dtype=np.float32)
