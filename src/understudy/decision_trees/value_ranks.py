"""Points of both labels as ranks: the order of each column, and equal values as one rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from understudy.decision_trees.leaf_impurity import Codes, Floats, compiled
from understudy.decision_trees.tree_class import in_order, require_width


class Ranked(NamedTuple):
    """Both tables, stacked: N = ñ + n points, the synthetic ones first.

    Attributes:
        order: points of each column in ascending order, shape (p, N).
        ranks: rank of each point in each column, shape (p, N); equal values have the same, and
            ranks run from 0 without gaps.
        distinct: number of distinct values of each column, shape (p,).
        n_synthetic: ñ; a point is synthetic if its index is smaller.
    """

    order: Codes
    ranks: Codes
    distinct: Codes
    n_synthetic: int


def ranked(original: Floats, synthetic: Floats) -> Ranked:
    """Sort the columns of both tables, shapes (n, p) and (ñ, p).

    Raises:
        ValueError: the tables have different columns.
    """
    require_width(original, synthetic)
    columns = np.ascontiguousarray(in_order(np.concatenate([synthetic, original])).T)
    order = columns.argsort(axis=1, kind="stable").astype(np.int32)
    ranks, distinct = _ranks(columns, order)
    return Ranked(order, ranks, distinct, len(synthetic))


@compiled
def _ranks(columns: Floats, order: Codes) -> tuple[Codes, Codes]:
    """Ranks and numbers of distinct values (kernel)."""
    ranks = np.empty_like(order)
    distinct = np.zeros(len(order), np.int32)
    for f in range(len(order)):
        rank, last = -1, 0.0
        for point in order[f]:
            value = columns[f, point]
            if rank < 0 or value > last:
                rank += 1
                last = value
            ranks[f, point] = rank
        distinct[f] = rank + 1
    return ranks, distinct
