"""Merged states: each rule by itself, on tables small enough to see."""

import numpy as np
import pytest

from understudy.graphical.compression import merged_levels, merged_runs, shapes
from understudy.models.number_line import denoise


def test_rare_levels_share_a_group_and_others_do_not():
    assert merged_levels([1.0, 50, 14.9, 15, -3], 5.0).tolist() == [0, 1, 0, 2, 0]


def test_rare_levels_in_different_rules_stay_apart():
    groups = merged_levels([1.0, 2, 3, 4, 90], 5.0, signatures=[7, 2, 7, 2, 7])
    assert groups.tolist() == [0, 1, 0, 1, 2]


def test_states_alone_are_never_merged():
    groups = merged_levels([1.0, 2, 3], 5.0, alone=[False, True, False])
    assert groups.tolist() == [0, 1, 0]


def test_each_state_has_its_own_deviation():
    assert merged_levels([9.0, 9, 1, 9], [1.0, 5, 5, 1]).tolist() == [0, 1, 1, 2]


def test_runs_are_of_about_equal_mass():
    """Flat counts of a share of 1/100 each: 10 runs of 10."""
    assert merged_runs(np.full(100, 7.0), 0.1, bins=10).tolist() == [k // 10 for k in range(100)]


def test_runs_hold_at_least_three_deviations():
    """Only 60 records fit the bins asked for, but noise is 40: runs of about 120."""
    groups = merged_runs(np.full(100, 6.0), 40.0, bins=100)
    assert (np.bincount(groups)[:-1] == 20).all()


def test_heavy_states_are_groups_of_their_own():
    groups = merged_runs([5.0, 6, 100, 5, 6, 4, 80], 1.0, bins=4)
    assert groups.tolist() == [0, 0, 1, 2, 2, 2, 3]


def test_beside_a_heavy_state_runs_are_lighter_by_the_root_of_what_is_left():
    """A sixteenth of the records in 60 states: at most 20 runs of the whole, and √(1/16)·20 = 5."""
    counts = np.append(np.full(60, 10.0), 9_000.0)
    assert merged_runs(counts, 0.1, bins=20).tolist() == [*[0] * 60, 1]
    finer = merged_runs(counts, 0.1, bins=20, tails=True)
    assert finer.tolist() == [*np.repeat(np.arange(5), 12).tolist(), 5]
    apart = merged_runs(counts, 0.1, bins=20, tails=True, alone=np.arange(61) == 60)
    assert apart.tolist() == finer.tolist()


def test_runs_of_columns_without_heavy_states_stay_as_they_are():
    counts = np.random.default_rng(1).uniform(5, 15, 100)
    for bins in (3, 8, 20):
        plain, tails = (merged_runs(counts, 0.1, bins=bins, tails=own) for own in (False, True))
        assert plain.tolist() == tails.tolist()


def test_lighter_runs_hold_half_of_the_deviations():
    counts = np.append(np.full(60, 10.0), 9_000.0)
    groups = merged_runs(counts, 30.0, bins=20, tails=True)
    sizes = np.bincount(groups[:60])
    assert len(sizes) > 2
    assert (10 * sizes[:-1] + 5 >= 1.5 * 30 * np.sqrt(sizes[:-1])).all()


def test_heavy_states_none_of_which_has_half_of_the_records_leave_runs_as_they_are():
    counts = np.concatenate([np.full(60, 10.0), [400.0, 300.0]])
    plain, tails = (merged_runs(counts, 0.1, bins=20, tails=own) for own in (False, True))
    assert plain.tolist() == tails.tolist()


def test_a_level_is_rare_by_its_count_as_well_as_by_noise():
    assert merged_levels([90.0, 30, 20, 4], 1.0).tolist() == [0, 1, 2, 3]
    assert merged_levels([90.0, 30, 20, 4], 1.0, least=25).tolist() == [0, 1, 2, 2]
    assert merged_levels([90.0, 30, 20, 4], 9.0, least=25).tolist() == [0, 1, 2, 2]
    assert merged_levels([90.0, 30, 20, 4], 11.0, least=25).tolist() == [0, 1, 1, 1]


def test_what_is_left_over_joins_the_run_before_it():
    assert merged_runs([10.0, 10, 10, 10, 1], 1.0, bins=2).tolist() == [0, 0, 1, 1, 1]
    assert merged_runs([10.0, 10, 10, 10, 9], 1.0, bins=3)[-1] == 2


def test_runs_break_where_the_rules_change_and_pass_over_states_alone():
    groups = merged_runs(
        np.full(8, 1.0),
        0.1,
        bins=1,
        signatures=[0, 0, 0, 1, 1, 0, 0, 0],
        alone=[False, True, False, False, False, False, False, True],
    )
    assert groups.tolist() == [0, 1, 0, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.nightly(every=3)
def test_whatever_the_noise_the_groups_keep_to_the_rules(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    noisy, stddev = rng.normal(20, 50, n), float(rng.uniform(0.01, 90))
    rules, alone = np.sort(rng.integers(0, 3, n)), rng.random(n) < 0.1
    bins = int(rng.integers(1, 20))
    tails = bool(seed % 2)
    runs = merged_runs(noisy, stddev, bins=bins, tails=tails, signatures=rules, alone=alone)
    levels = merged_levels(noisy, stddev, signatures=rules, alone=alone)
    for groups in (runs, levels):
        assert groups.shape == (n,)
        first = np.unique(groups, return_index=True)[1]
        assert (np.diff(first) > 0).all(), "numbered by first states, without gaps"
        for group in range(groups.max() + 1):
            members = np.flatnonzero(groups == group)
            assert len(set(rules[members])) == 1
            assert len(members) == 1 or not alone[members].any()
            if groups is runs and len(members) > 1:
                between = np.arange(members[0], members[-1] + 1)
                assert set(between[~alone[between]]) == set(members)
    most = 2.5 * bins if tails else 2 * bins
    assert len(set(runs[~alone])) <= most + 1 + 2 * len(set(rules))


def test_no_records_and_no_states_work():
    assert merged_runs(np.zeros(4), 1.0, bins=3).tolist() == [0, 0, 0, 0]
    assert merged_runs([-5.0, -5.0], 1e9, bins=3).tolist() == [0, 0]
    assert merged_runs(np.zeros(4), 1.0, bins=3, tails=True).tolist() == [0, 0, 0, 0]
    assert merged_runs([-5.0, -5.0], 1e9, bins=3, tails=True).tolist() == [0, 0]
    assert merged_levels([], 1.0).tolist() == []


def test_shapes_are_denoised_counts_over_those_of_their_group():
    noisy = 50 + np.random.default_rng(1).normal(0, 20, (2, 12))
    groups = np.array([0, 1, 1, 1, 2, 3, 3, 3, 3, 0, 4, 4])
    estimates = denoise(noisy, 20.0)
    found = shapes(estimates, groups)
    for group in range(5):
        members = groups == group
        own = estimates[:, members]
        np.testing.assert_allclose(found[:, members], own / own.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("widths", [None, [1.0, 3, 0, 0, 0]])
def test_a_group_without_records_is_shared_by_width(widths):
    found = shapes(
        denoise([0.0, 0, 0, 0, 90], 1e-9, total=0, widths=widths), [0, 0, 1, 1, 2], widths=widths
    )
    expected = [0.25, 0.75, 0.5, 0.5, 1] if widths else [0.5, 0.5, 0.5, 0.5, 1]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("stddev", [1e-12, 1e12])
def test_shapes_add_up_however_large_the_noise(stddev):
    noisy = np.random.default_rng(2).normal(0, stddev, 9)
    groups = np.arange(9) // 3
    np.testing.assert_allclose(np.bincount(groups, shapes(denoise(noisy, stddev), groups)), 1)


def test_lighter_runs_than_noise_tells_apart_if_they_are_asked_for():
    """States with 12 records each: three deviations of 10 join six, .75 of them none."""
    counts = np.full(10, 12.0)
    usual, light = (merged_runs(counts, 10.0, bins=10, rare=rare) for rare in (3.0, 0.75))
    assert usual.tolist() == [0] * 6 + [1] * 4
    assert light.tolist() == list(range(10))
    none = merged_runs([0.0, 1.0, 0.0, 90.0], 10.0, bins=50, rare=0.75)
    assert none.tolist() == [0, 0, 0, 1]
