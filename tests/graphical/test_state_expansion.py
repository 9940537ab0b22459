"""From groups back to states: shares kept to the record, and nothing tied to anything else."""

import numpy as np
import pytest

from understudy.graphical.compression import Expansion

GROUPS = np.array([0, 1, 0, 1, 1, 2])
SHARES = np.array([0.3, 0.5, 0.7, 0.0, 0.5, 1.0])
EXPANSION = Expansion(GROUPS, SHARES)


@pytest.mark.parametrize("seed", range(20))
def test_each_state_has_its_share_of_the_group_up_to_one_record(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 3, rng.integers(0, 300)).astype(np.int32)
    states = EXPANSION.draw(groups, rng)
    assert (GROUPS[states] == groups).all()
    expected = SHARES * np.bincount(groups, minlength=3)[GROUPS]
    assert (np.abs(np.bincount(states, minlength=6) - expected) < 1 + 1e-9).all()
    assert not (states == 3).any()  # a share of 0


def test_the_expected_number_is_exact():
    """Ten records of one group, 0.3 and 0.7 of them; one record: 4,000 draws, error of a mean
    below 0.0073; five of these leave a chance below 1e-6."""
    rng = np.random.default_rng(1)
    one = [EXPANSION.draw(np.zeros(1, dtype=np.int32), rng)[0] for _ in range(4_000)]
    assert abs(np.mean(np.array(one) == 0) - 0.3) < 0.037
    ten = [np.sum(EXPANSION.draw(np.zeros(10, dtype=np.int32), rng) == 0) for _ in range(50)]
    assert set(ten) <= {2, 3, 4}
    assert np.mean(ten) == pytest.approx(3, abs=0.5)


def test_two_columns_of_the_same_groups_are_not_coupled():
    """Records of one group, in one order: ranks of two children have no correlation. Its error is
    1/√5000; coupled ranks would give 1."""
    rng = np.random.default_rng(1)
    even = Expansion(np.zeros(50, dtype=np.int64), np.full(50, 0.02))
    groups = np.zeros(5_000, dtype=np.int32)
    one, other = even.draw(groups, rng), even.draw(groups, rng)
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(5_000)
    assert abs(np.corrcoef(one, np.arange(5_000))[0, 1]) < 5 / np.sqrt(5_000)


def test_no_records():
    assert EXPANSION.draw(np.zeros(0, dtype=np.int32), np.random.default_rng(1)).shape == (0,)
