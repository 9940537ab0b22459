"""Records that have some of their columns: what the structural zeros leave of the others.

Everything here is public but the records themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain.domain import Domain, box_contains

Codes = Sequence[NDArray[np.integer[Any]]]


def completions(
    domain: Domain, given: Sequence[int], states: Codes
) -> Iterator[tuple[NDArray[np.int64], Domain]]:
    """Records in groups, each with the domain of the columns that are open.

    What is left depends only on which rules a record has matched so far, so that there are as many
    groups as records differ in that, however many there are.

    Args:
        domain: of all columns.
        given: places of the columns that records have.
        states: of these columns, within their sizes, each of shape (n,).

    Yields:
        Numbers of the records of a group, ascending, and the domain of the other columns in their
        order; it has no allowed cell where the rules leave nothing.

    Example:
        >>> domain = Domain((2, 3), ({0: frozenset({1}), 1: frozenset({0, 2})},))
        >>> for rows, left in completions(domain, [0], [np.array([1, 0, 1])]):
        ...     print(rows.tolist(), left.n_allowed)
        [1] 3
        [0, 2] 1
    """
    n = len(states[0]) if states else 0
    columns = [np.full(n, size) for size in domain.sizes]
    for place, own in zip(given, states, strict=True):
        columns[place] = np.asarray(own, dtype=np.int64)
    groups = np.zeros(n, dtype=np.int64)
    for box in domain.boxes:
        known = {place: box[place] for place in box if place in given}
        inside = box_contains(known, domain.sizes, columns)
        _, groups = np.unique(2 * groups + inside, return_inverse=True)
    for group in range(int(groups.max(initial=-1)) + 1):
        rows = np.flatnonzero(groups == group)
        first = rows[0]
        fixed = [int(own[first]) if j in given else -1 for j, own in enumerate(columns)]
        yield rows, domain.fixed(fixed)
