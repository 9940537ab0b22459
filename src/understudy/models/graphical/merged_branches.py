"""Rare levels merged along a public tree: with their siblings first, and only then further up.

A group of rare siblings that together stand out from noise is kept: below it nothing can be told of
other columns, and at it something can. What does not stand out goes on to the next branching, where
it meets what is left of the branches beside it. All of this is post-processing of a released table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from understudy.arrays import Integers
from understudy.models.graphical.merged_state_model import RARE, numbered


def merged_branches(
    noisy: ArrayLike,
    stddev: float,
    branches: Sequence[ArrayLike],
    *,
    least: float = 0.0,
    signatures: ArrayLike | None = None,
) -> Integers:
    """Groups of an unordered column with a tree: single levels, and rare ones of one branch.

    The counts of m rare levels have noise of √m deviations in their sum; a group is kept where the
    sum is at least three times that. What is left at the end is one group for each signature.

    Args:
        noisy: released counts, shape (K,).
        stddev: of their noise.
        branches: the branch that each state is in, finest branching first, each of shape (K,).
        least: records that a group has to hold besides.
        signatures: equal numbers for states that may be merged, shape (K,); all may be if None.

    Returns:
        Group of each state, numbered in the order of their first states; shape (K,).

    Example:
        >>> counts = [90.0, 9.0, 8.0, 9.0, 1.0, 2.0, -1.0, 3.0]
        >>> merged_branches(counts, 5.0, [[0, 0, 0, 0, 1, 1, 2, 2]]).tolist()
        [0, 1, 1, 1, 2, 2, 2, 2]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    rules = np.zeros(len(counts), dtype=np.int64) if signatures is None else np.asarray(signatures)
    names, n_groups = np.arange(len(counts)), len(counts)
    left = np.flatnonzero(counts < max(RARE * stddev, least))
    for branch in branches:
        pairs = np.stack([np.asarray(branch)[left], rules[left]])
        _, member = np.unique(pairs, axis=1, return_inverse=True)
        sizes = np.bincount(member)
        sums = np.bincount(member, counts[left])
        kept = sums >= np.maximum(RARE * stddev * np.sqrt(sizes), least)
        names[left] = n_groups + member
        n_groups += len(sizes)
        left = left[~kept[member]]
    names[left] = n_groups + rules[left]
    return numbered(names)
