"""Triangulation: chordality, coverage, and sizes, against what is obvious."""

import itertools
import math

import numpy as np
import pytest

from understudy.graphical.junction_tree import Growth, triangulate


def random_problem(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 9))
    sizes = tuple(rng.integers(1, 6, d).tolist())
    cliques = [
        tuple(rng.choice(d, rng.integers(0, min(d, 3) + 1), replace=False).tolist())
        for _ in range(rng.integers(0, 9))
    ]
    return sizes, cliques


def is_chordal(d, cliques):
    """A graph is chordal if columns whose neighbours are all linked can be taken off to the end."""
    links = {frozenset(pair) for one in cliques for pair in itertools.combinations(one, 2)}
    left = set(range(d))
    while left:
        for v in left:
            near = [w for w in left if frozenset((v, w)) in links and w != v]
            if all(frozenset(pair) in links for pair in itertools.combinations(near, 2)):
                left.remove(v)
                break
        else:
            return False
    return True


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.nightly(every=4)
def test_the_cliques_are_those_of_a_chordal_graph_that_covers_all(seed):
    sizes, cliques = random_problem(seed)
    found = triangulate(sizes, cliques)
    assert is_chordal(len(sizes), found)
    assert {j for one in found for j in one} == set(range(len(sizes)))
    for one in cliques:
        assert any(set(one) <= set(other) for other in found)
    assert not any(set(a) < set(b) for a in found for b in found)
    assert len(set(found)) == len(found)
    assert Growth(sizes, cliques).cells == sum(math.prod(sizes[j] for j in one) for one in found)


def slowly_eliminated(sizes, cliques, by_fill):
    """Cells of the cliques that one order leaves; all ranks are found anew at each step."""
    near = {j: set() for j in range(len(sizes))}
    for one in cliques:
        for a, b in itertools.permutations(one, 2):
            near[a].add(b)
    bags = []
    while near:

        def rank(v, near=near):
            fill = sum(b not in near[a] for a, b in itertools.combinations(near[v], 2))
            weight = sum(math.log(sizes[w]) for w in {v, *near[v]}) + 1e-3 * fill
            return fill if by_fill else min(fill, 1), round(weight, 9), v

        v = min(near, key=rank)
        around = near.pop(v)
        for a in around:
            near[a] = (near[a] | around) - {a, v}
        if not any(around | {v} <= bag for bag in bags):
            bags.append(around | {v})
    return sum(math.prod(sizes[j] for j in bag) for bag in bags)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.nightly(every=4)
def test_the_better_of_two_greedy_orders_is_taken(seed):
    sizes, cliques = random_problem(seed)
    slow = min(slowly_eliminated(sizes, cliques, by_fill) for by_fill in (False, True))
    assert Growth(sizes, cliques).cells == slow


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.nightly(every=6)
def test_growth_is_the_size_of_the_tree_with_one_more(seed):
    sizes, cliques = random_problem(seed)
    growth = Growth(sizes, cliques)
    for one in itertools.combinations(range(len(sizes)), min(2, len(sizes))):
        found = triangulate(sizes, [*cliques, one])
        cells = sum(math.prod(sizes[j] for j in clique) for clique in found)
        assert growth.cells_with(one) == cells
        added = Growth(sizes, cliques)
        added.add(one)
        assert added.cells == cells
        assert added.cliques == found


def test_a_graph_that_is_chordal_stays_as_it_is():
    cliques = [(0, 1, 2), (1, 2, 3), (3, 4), (5,)]
    assert triangulate((9, 2, 5, 2, 7, 3), cliques) == ((0, 1, 2), (1, 2, 3), (3, 4), (5,))


def test_a_cycle_is_cut_where_it_costs_least():
    found = triangulate((2, 9, 2, 9), [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert found == ((0, 1, 2), (0, 2, 3))


def test_many_columns_and_impossible_sizes_are_sized_all_the_same():
    d = 60
    chain = [(j, j + 1) for j in range(d - 1)]
    assert Growth((100,) * d, chain).cells == (d - 1) * 1e4
    everything = [*chain, tuple(range(d))]
    assert Growth((100,) * d, everything).cells == pytest.approx(1e120, rel=1e-9)
