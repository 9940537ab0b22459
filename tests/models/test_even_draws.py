"""Systematic draws against a comb that is moved along the cells record by record."""

import numpy as np
import pytest

from understudy.models.model import dealt, rank_by_group, records_by_cell, upper_ends


def combed(shares, size, phase):
    """Records of each cell of one group, slowly."""
    counts, ends = np.zeros(len(shares), dtype=np.int64), np.cumsum(shares)
    for k in range(size):
        place = (k + phase) / size * ends[-1]
        counts[next((c for c, end in enumerate(ends) if end > place), 0)] += 1
    return counts


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.nightly(every=3)
def test_cells_get_what_a_comb_gives_them(seed):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 9, 12)
    firsts = np.concatenate(([0], np.cumsum(widths)))
    shares = rng.exponential(1, firsts[-1]) * (rng.random(firsts[-1]) < 0.6)
    sizes, phases = rng.integers(0, 40, 12), rng.random(12)
    found = records_by_cell(upper_ends(shares, firsts), firsts, sizes, phases)
    slow = [
        combed(own, size, phase)
        for own, size, phase in zip(np.split(shares, firsts[1:-1]), sizes, phases, strict=True)
    ]
    np.testing.assert_array_equal(found, np.concatenate(slow))


def test_rounding_carries_no_record_into_an_empty_cell_or_out_of_the_group():
    for phase in (0.0, 1 - 2**-53):
        ends, size = upper_ends(np.array([0.1, 0.2, 0.7, 0.0]), np.array([0, 4])), 2**20
        found = records_by_cell(ends, np.array([0, 4]), np.array([size]), np.array([phase]))
        assert found.sum() == size
        assert found[3] == 0


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_all_that_there_is_for_a_group_goes_to_its_records(dtype):
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 7, 500)
    sizes = np.bincount(groups, minlength=9)
    queue = np.arange(500).astype(dtype)
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    found = dealt(groups, sizes, queue, rng)
    assert found.dtype == dtype
    for group in range(9):
        own = np.sort(found[groups == group])
        np.testing.assert_array_equal(own, np.arange(*bounds[group : group + 2]))


def test_every_order_within_a_group_is_as_likely():
    """24 orders, 12,000 times: χ² with 23 degrees of freedom is above 68 for 1 in 400,000 seeds."""
    rng, groups = np.random.default_rng(2), np.array([1, 0, 1, 1, 0, 1])
    orders = {}
    for _ in range(12_000):
        ranks = rank_by_group(groups, np.array([2, 4]), rng)
        assert sorted(ranks[groups == 0]) == [0, 1]
        own = tuple(ranks[groups == 1])
        orders[own] = orders.get(own, 0) + 1
    assert len(orders) == 24
    assert sum((found - 500) ** 2 / 500 for found in orders.values()) < 68
