"""Which states of a line of numbers hold records."""

from itertools import combinations

import numpy as np
import pytest

from understudy.models import number_line
from understudy.models.number_line import open_states

EDGES = np.concatenate(([0.0], np.geomspace(1, 1e6, 60)))


def opened(noisy, stddev, total, **more):
    return open_states(noisy, np.full(len(noisy), stddev), total, **more)


def lognormal(n, seed=1):
    return np.exp(6 + 0.8 * np.random.default_rng(seed).normal(size=n))


def counts_of(values):
    return np.histogram(values, EDGES)[0].astype(float)


def test_noise_alone_opens_hardly_any_state():
    """300 columns of which all records lie in one state; the others' noise opens one or more in at
    most 6 % of them, by the union bound over 64 · 2 stretches at 4.5 and what grows beside."""
    rng = np.random.default_rng(2)
    number = 0
    for _ in range(300):
        noisy = rng.normal(0, 20, 64)
        noisy[30] += 5_000
        found = opened(noisy, 20.0, 5_000)
        assert found[30]
        far = np.abs(np.arange(64) - 30) > 8
        number += found[far].any()
    assert number <= 18


def test_a_thin_stretch_opens_as_one():
    """Twenty states of one deviation each: none stands out, their sum does."""
    noisy = np.zeros(64)
    noisy[5], noisy[40:60] = 1_000, 21.0
    found = opened(noisy, 20.0, 1_000 + 20 * 21)
    assert found[5]
    assert found[40:60].sum() >= 16
    assert not found[10:36].any()


def test_records_that_no_stretch_shows_open_all_states():
    """A heap and a thin rest, which no stretch shows: nobody knows where it lies."""
    noisy = np.full(128, 6.0)
    noisy[50] = 1_000
    assert opened(noisy, 60.0, noisy.sum()).all()


def test_what_was_clipped_to_a_bound_is_found_sooner():
    noisy = np.zeros(64)
    noisy[3:7], noisy[63] = 250, 75
    found = opened(noisy, 20.0, 1_075)
    assert np.flatnonzero(found).tolist() == [3, 4, 5, 6, 63]
    noisy[[20, 63]] = 75, 0
    assert np.flatnonzero(opened(noisy, 20.0, 1_075)).tolist() == [3, 4, 5, 6]


def test_records_that_open_states_lack_lower_the_thresholds():
    noisy = np.zeros(64)
    noisy[[5, 20]] = 1_000, 75
    assert np.flatnonzero(opened(noisy, 20.0, 1_075)).tolist() == [5, 20]
    assert np.flatnonzero(opened(noisy, 20.0, 1_000)).tolist() == [5]


def test_what_open_states_lack_is_no_heap_at_a_bound():
    """One of hundreds of columns has as much at a bound by noise alone, and its mean with it."""
    noisy = np.zeros(64)
    noisy[3:7], noisy[[20, 40, 50]], noisy[63] = 250, 80, 60
    assert np.flatnonzero(opened(noisy, 20.0, 1_240)).tolist() == [3, 4, 5, 6, 20, 40, 50]


def test_laplace_noise_needs_more():
    noisy = np.zeros(64)
    noisy[3:7], noisy[20] = 250, 110
    assert opened(noisy, 20.0, 1_110)[20]
    assert not opened(noisy, 20.0, 1_110, normal=False)[20]


def test_holes_no_longer_than_all_open_states_are_filled():
    """For every choice of four open states among twelve: holes of up to four are filled."""
    for places in combinations(range(12), 4):
        found = np.isin(np.arange(12), places)
        filled = number_line._fill_gaps(found)
        for k in range(12):
            below, above = [p for p in places if p <= k], [p for p in places if p >= k]
            inside = bool(below and above) and min(above) - max(below) <= 5
            assert filled[k] == inside
    noisy = np.array([60.0, 4, 3, 70, 0, 0, 0, 0, 0, 0, 80])
    assert np.flatnonzero(opened(noisy, 5.0, 215)).tolist() == [0, 1, 2, 3, 10]


@pytest.mark.parametrize("seed", range(3))
def test_grown_stretches_are_those_of_an_obvious_search(seed):
    rng = np.random.default_rng(seed)
    scaled = rng.normal(0.4, 1.2, 50)
    found = rng.random(50) < 0.1

    def slowly(grown):
        while True:
            before = grown.copy()
            for length in (1, 2, 4):
                wanted = []
                for start in range(50 - length + 1):
                    own = slice(start, start + length)
                    beside = (start > 0 and grown[start - 1]) or (
                        start + length < 50 and grown[start + length]
                    )
                    clear = scaled[own].sum() / np.sqrt(length) > 2.0
                    if beside and clear and not grown[own].any():
                        wanted.append(own)
                for own in wanted:
                    grown[own] = True
            if (grown == before).all():
                return grown

    ours = number_line._grow_stretches(scaled, found, 2.0)
    assert ours.tolist() == slowly(found.copy()).tolist()


@pytest.mark.nightly
def test_what_is_lacking_is_looked_for_beside_open_states_first():
    """A skewed column, 2,000 noisy tables: what lies beyond three times the largest number has more
    than five records in .15 % of them (binomial, four deviations); in 1.2 % where both thresholds
    fall together."""
    values = lognormal(5_000)
    exact, far = counts_of(values), EDGES[:-1] > 3 * values.max()
    rng, found = np.random.default_rng(5), 0
    for _ in range(2_000):
        noisy = exact + rng.normal(0, 20, len(exact))
        held = opened(noisy, 20.0, 5_000)
        found += np.maximum(noisy, 0)[held & far].sum() > 5
    assert far.sum() > 10
    assert found <= 10


def test_states_of_which_more_is_known_open_sooner():
    """The same count among states of less noise; sums are of counts in units of their own noise."""
    noisy, stddev = np.zeros(64), np.full(64, 20.0)
    noisy[3:7], noisy[20] = 250, 60
    assert not open_states(noisy, stddev, 1_060)[20]
    stddev[20] = 13
    assert open_states(noisy, stddev, 1_060)[20]
