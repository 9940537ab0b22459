"""Systematic draws: how many records each cell of a group gets, and who in the group gets which.

The n records of a group stand at u, u + 1, …, u + n − 1 on a line of length n that the cells divide
in proportion to their shares, with one uniform u for each group. So each cell gets its expected
number of records rounded up or down, and exactly so many on average; counting them takes time by
cells, and none by records. Then the records are dealt what there is, in random order: without it,
two columns drawn from one group would both follow the order of the records. Source: Madow & Madow
(1944).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers, compiled

Numbers = NDArray[np.int32]
Thing = TypeVar("Thing", np.int32, np.float64)


def upper_ends(shares: Floats, firsts: Integers) -> Floats:
    """Upper ends of cells, group by group.

    Args:
        shares: of the cells, not negative, those of a group one after the other, shape (cells,).
        firsts: first cell of each group, and the number of cells; shape (groups + 1,).

    Returns:
        Shape (cells,); the sums of the shares of a group up to each.

    Example:
        >>> upper_ends(np.array([1.0, 3.0, 2.0]), np.array([0, 2, 3])).tolist()
        [1.0, 4.0, 2.0]
    """
    ends = np.empty(len(shares))
    for first, after in pairwise(firsts.tolist()):
        ends[first:after] = np.cumsum(shares[first:after])
    return ends


def records_by_cell(ends: Floats, firsts: Integers, sizes: Integers, phases: Floats) -> Integers:
    """Records of each cell.

    Args:
        ends: as `upper_ends` gives them; a group without shares gets all into its first cell.
        firsts: first cell of each group, and the number of cells; no group is without one.
        sizes: records of each group, shape (groups,).
        phases: the place u of the first of them, in [0, 1), shape (groups,).

    Returns:
        Shape (cells,), with the sizes as sums within the groups. Cells without a share get none.

    Example:
        >>> ends, firsts = np.array([0.5, 0.5, 1.0]), np.array([0, 3])
        >>> records_by_cell(ends, firsts, np.array([5]), np.array([0.4])).tolist()
        [3, 0, 2]
    """
    widths = np.diff(firsts)
    whole = np.repeat(ends[firsts[1:] - 1], widths)
    records = np.repeat(sizes, widths)
    places = ends / np.where(whole > 0, whole, 1.0) * records - np.repeat(phases, widths)
    # Rounding must not carry a record into an empty cell at the end.
    below = np.where(ends >= whole, records, np.clip(np.ceil(places), 0, records)).astype(np.int64)
    counts = np.diff(below, prepend=0)
    counts[firsts[:-1]] = below[firsts[:-1]]
    return counts


def dealt(
    groups: NDArray[np.integer[Any]],
    sizes: Integers,
    queue: NDArray[Thing],
    rng: np.random.Generator,
) -> NDArray[Thing]:
    """For each record something of what there is for its group, each thing once, at random.

    Args:
        groups: of the records, shape (n,).
        sizes: records of each group, shape (groups,).
        queue: what there is, group after group, shape (n,); it is shuffled in place.
        rng: randomness.

    Returns:
        Shape (n,).
    """
    starts = np.concatenate(([0], np.cumsum(sizes)))
    own, found = np.asarray(groups, dtype=np.int32), np.empty_like(queue)
    _deal(own, starts, queue, rng.random(len(own)), found)
    return found


def ranked(groups: NDArray[np.integer[Any]], sizes: Integers, rng: np.random.Generator) -> Numbers:
    """Place of each record when records are sorted by group, those of one group at random.

    Args:
        groups: of the records, shape (n,).
        sizes: records of each group, shape (groups,).
        rng: randomness.
    """
    return dealt(groups, sizes, np.arange(len(groups), dtype=np.int32), rng)


@compiled
def _deal(
    groups: Numbers,
    starts: Integers,
    queue: NDArray[Thing],
    uniforms: Floats,
    found: NDArray[Thing],
) -> None:
    """Shuffle within groups (Fisher & Yates), then hand out in turn; `starts` runs on."""
    for group in range(len(starts) - 1):
        first, after = starts[group], starts[group + 1]
        for i in range(first, after - 1):
            j = i + np.int64(uniforms[i] * (after - i))
            queue[i], queue[j] = queue[j], queue[i]
    for i in range(len(groups)):
        group = groups[i]
        found[i] = queue[starts[group]]
        starts[group] += 1
