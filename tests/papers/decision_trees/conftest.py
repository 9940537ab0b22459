"""Small tables, and the slow, obvious search that the classes of trees must equal."""

import itertools
from functools import cache

import numpy as np
import pytest


def impurity(a, b):
    return a * b / (a + b) if a + b else 0.0


def slow_search(original, synthetic, depth, *, penalty=0.0, nominal=(), min_leaf=1):
    """The smallest Σ ab/(a + b) + penalty·leaves, by trying every tree.

    Questions are x ≤ t or x = t.

    Args:
        nominal: columns that are asked x = t.
        min_leaf: fewest points of a leaf, where the sensitivity theorem fails.
    """
    points = [*map(tuple, np.asarray(synthetic)), *map(tuple, np.asarray(original))]
    m = len(synthetic)

    def halves(members, f, t):
        yes = [(points[i][f] == t if f in nominal else points[i][f] <= t) for i in members]
        return (
            tuple(i for i, one in zip(members, yes, strict=True) if one),
            tuple(i for i, one in zip(members, yes, strict=True) if not one),
        )

    @cache
    def cost(members, depth):
        a = sum(i < m for i in members)
        best = impurity(a, len(members) - a) + penalty
        if depth == 0 or not members:
            return best
        for f in range(len(points[0])):
            for t in {points[i][f] for i in members}:
                left, right = halves(members, f, t)
                if min(len(left), len(right)) >= min_leaf:
                    best = min(best, cost(left, depth - 1) + cost(right, depth - 1))
        return best

    return cost(tuple(range(len(points))), depth)


def tables_of(cells, n):
    """Every table of n records over some cells, as sorted tuples of cells."""
    return list(itertools.combinations_with_replacement(cells, n))


@pytest.fixture
def slow():
    return slow_search


@pytest.fixture
def tables():
    return tables_of
