"""Trees of cells: every allowed cell is in exactly one node of each layer, and in no other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.schema import Domain, Partition

RULED = Domain(
    (2, 3, 2, 4),
    ({0: frozenset({1}), 1: frozenset({0, 2})}, {2: frozenset({0}), 3: frozenset({1, 2})}),
)


@st.composite
def trees(draw):
    """A random tree of a random small domain with rules, divided differently in every node."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    boxes = []
    for _ in range(draw(st.integers(0, 2))):
        columns = draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
        some = {j: draw(st.sets(st.integers(0, sizes[j] - 1), min_size=1)) for j in columns}
        boxes.append({j: frozenset(states) for j, states in some.items()})
    tree = Partition(Domain(tuple(sizes), tuple(boxes)))
    for _ in range(draw(st.integers(0, len(sizes)))):
        splits = []
        for node in range(len(tree.layers[-1])):
            columns = tree.open_columns(node)
            chosen = draw(st.sets(st.sampled_from(columns), max_size=2)) if columns else ()
            splits.append(tuple(chosen))
        tree = tree.divide(splits)
    return tree


@given(trees())
def test_each_allowed_cell_is_in_the_one_node_whose_states_it_has(tree):
    cells = np.argwhere(tree.domain.allowed_mask())
    for depth, layer in enumerate(tree.layers):
        tree_above = Partition(tree.domain, tree.splits[:depth])
        place = tree_above.locate(list(cells.T))
        assert np.bincount(place, minlength=len(layer)).tolist() == list(layer.sizes)
        states = layer.states[place]
        assert ((states < 0) | (states == cells)).all()
        # No other node would do.
        fits = ((layer.states < 0) | (layer.states == cells[:, None, :])).all(axis=2)
        assert (fits.sum(axis=1) == 1).all()


@given(trees())
def test_nodes_are_below_their_parents_and_none_is_empty_of_allowed_cells(tree):
    for above, layer in zip(tree.layers[:-1], tree.layers[1:], strict=True):
        parents = above.states[layer.parents]
        assert ((parents < 0) | (parents == layer.states)).all()
        assert (np.diff(layer.parents) >= 0).all()
        assert all(size > 0 for size in layer.sizes)
        below = np.bincount(layer.parents, weights=layer.sizes, minlength=len(above))
        assert below.tolist() == list(above.sizes)


def test_a_domain_with_some_columns_fixed_counts_its_allowed_cells():
    cells = np.argwhere(RULED.allowed_mask())
    for first in (-1, 0, 1):
        for third in (-1, 0, 1):
            wanted = (first, -1, third, -1)
            fits = np.all([(w < 0) | (cells[:, j] == w) for j, w in enumerate(wanted)], axis=0)
            assert RULED.fix_states(wanted).n_allowed == fits.sum()


def test_everything_fixed_leaves_one_cell_or_none():
    assert RULED.fix_states((0, 0, 0, 0)).n_allowed == 1
    assert RULED.fix_states((1, 0, 0, 0)).n_allowed == 0


def test_a_tree_of_a_huge_table_is_counted_exactly():
    tree = Partition(Domain((2,) * 60)).divide([(0,)]).divide([(1,), (2,)])
    assert tree.layers[2].sizes == (2**58,) * 4


@pytest.mark.parametrize("splits", [[], [(0,), (1,)], [(0, 0)]])
def test_a_layer_needs_one_split_of_open_columns_per_node(splits):
    with pytest.raises(ValueError, match=r"layer|column"):
        Partition(RULED).divide(splits)


def test_a_column_divides_once_along_a_branch():
    with pytest.raises(ValueError, match="once"):
        Partition(RULED).divide([(0,)]).divide([(0,), (1,)])
