"""Junction trees: the running intersection, parents before children, and lookups."""

import math

import numpy as np
import pytest

from understudy.graphical.junction_tree import JunctionTree


def random_tree(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 10))
    sizes = tuple(rng.integers(1, 6, d).tolist())
    cliques = [
        tuple(rng.choice(d, rng.integers(0, min(d, 3) + 1), replace=False).tolist())
        for _ in range(rng.integers(0, 9))
    ]
    return sizes, cliques, JunctionTree.of(sizes, cliques)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.nightly(every=4)
def test_the_cliques_of_each_column_hang_together(seed):
    sizes, cliques, tree = random_tree(seed)
    assert tree.parents[0] == -1
    assert all(0 <= p < k for k, p in enumerate(tree.parents) if k)
    for j in range(len(sizes)):
        holding = [k for k, one in enumerate(tree.cliques) if j in one]
        tops = [k for k in holding if tree.parents[k] not in holding]
        assert len(tops) == 1
    for k, p in enumerate(tree.parents):
        shared = set(tree.cliques[k]) & set(tree.cliques[p]) if p >= 0 else set()
        assert tree.separators[k] == tuple(sorted(shared))
    assert tree.cells == sum(math.prod(sizes[j] for j in one) for one in tree.cliques)
    assert all(tree.find_clique(one) is not None for one in cliques)


@pytest.mark.parametrize("seed", range(20))
def test_covering_finds_the_smallest_clique(seed):
    sizes, _, tree = random_tree(seed)
    for k, one in enumerate(tree.cliques):
        assert tree.find_clique(one) == k  # a maximal clique lies in no other
    home = tree.find_clique((0,))
    assert 0 in tree.cliques[home]
    cells = [tree.cells_of(one) for one in tree.cliques if 0 in one]
    assert tree.cells_of(tree.cliques[home]) == min(cells)
    assert tree.find_clique(()) is not None
    if len(tree.cliques) > 1:
        assert tree.find_clique(range(len(sizes))) is None


@pytest.mark.parametrize("sizes", [(), (3, 0)])
def test_a_table_without_cells_is_refused(sizes):
    with pytest.raises(ValueError, match="at least one column"):
        JunctionTree.of(sizes, [])
