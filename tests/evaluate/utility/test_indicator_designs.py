"""Groups of states and sparse designs against dense obvious ones."""

import itertools

import numpy as np
import pytest

from understudy.evaluate.propensity import (
    FEWEST_ROWS,
    PAIR_PARAMETERS,
    group_columns,
    group_states,
    main_design,
    pair_design,
)
from understudy.schema import Categorical, Integer


def integer(n):
    return Integer(kind="integer", lower=0, upper=n - 1, bins=n)


def categorical(n):
    return Categorical(kind="categorical", levels=tuple(f"L{k}" for k in range(n)))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.nightly(every=4)
def test_groups_of_ordered_states_are_runs(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 300, 61) * rng.integers(0, 2, 61)
    groups = group_states(counts, integer(60), 8)
    inside = groups[:60][counts[:60] >= FEWEST_ROWS]
    runs = [g for g, _ in itertools.groupby(inside)]
    small = np.bincount(groups, weights=counts)
    assert groups.max() < 8 + 1  # and one for the states outside the domain
    assert small.max() == small[0]
    assert len(runs) - len(set(runs)) <= 1  # only the largest takes in others


def test_a_spike_stands_alone():
    counts = np.array([10, 10, 5000, 10, 10, 10, 0])
    groups = group_states(counts, integer(6), 4)
    assert groups[2] == 0
    assert groups[0] == groups[1] != 0
    assert groups[3] == groups[4] == groups[5] != 0


def test_frequent_levels_keep_a_group_and_rare_ones_share_one():
    counts = np.array([500, 6, 300, 5, 200, 4, 0])
    groups = group_states(counts, categorical(6), 4)
    assert groups[[0, 2, 4]].tolist() == [0, 1, 2]
    assert groups[1] == groups[3] == groups[5] == 3


def test_what_holds_too_few_rows_joins_the_largest():
    counts = np.array([500, 3, 300, 2, 0])
    assert group_states(counts, categorical(4), 4).tolist() == [0, 0, 1, 0, 0]


def test_labels_do_not_matter(compare):
    """Groups depend on the pooled rows alone, so a permutation null is exact."""
    comparison = compare(200, sets=1)
    pooled = [np.concatenate(p) for p in zip(comparison.original, comparison.sets[0], strict=True)]
    order = np.random.default_rng(1).permutation(400)
    shuffled = main_design([codes[order] for codes in pooled], comparison.columns)
    plain = main_design(pooled, comparison.columns)
    np.testing.assert_array_equal(shuffled.toarray(), plain.toarray()[order])


def test_the_main_design_has_an_indicator_of_each_group_but_the_largest(compare):
    comparison = compare(300)
    groups = group_columns(comparison.original, comparison.columns, 400, 24)
    dense = [np.ones(300)]
    for group in groups:
        dense += [(group == g).astype(float) for g in range(1, group.max() + 1)]
    design = main_design(comparison.original, comparison.columns)
    np.testing.assert_array_equal(design.toarray(), np.stack(dense, axis=1))


def test_pairs_are_products_that_enough_rows_share(compare):
    comparison = compare(2000)
    rng = np.random.default_rng(0)
    design, used, every = pair_design(comparison.original, comparison.columns, rng)
    n_main = main_design(comparison.original, comparison.columns).shape[1]
    groups = group_columns(comparison.original, comparison.columns, 400, 6)
    products = set()
    for one, other in itertools.combinations(groups, 2):
        for g, h in itertools.product(range(1, one.max() + 1), range(1, other.max() + 1)):
            both = (one == g) & (other == h)
            if both.sum() >= FEWEST_ROWS:
                products.add(both.tobytes())
    found = {column.tobytes() for column in (design.toarray()[:, n_main:] > 0).T}
    assert (used, every) == (6, 6)
    assert found == products


def test_the_number_of_parameters_is_limited():
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 40, 5000).astype(np.uint8) for _ in range(45)]
    columns = [categorical(40)] * 45
    design, used, every = pair_design(rows, columns, np.random.default_rng(0))
    assert design.shape[1] <= PAIR_PARAMETERS
    assert 0 < used < every == 45 * 44 // 2
