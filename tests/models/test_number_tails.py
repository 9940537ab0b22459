"""Which states of a line of numbers hold records, and how its tails run out."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from understudy.families.bin_edges import fine_bins
from understudy.models import number_tails
from understudy.models.number_tails import (
    estimated_records,
    held_states,
    open_states,
    with_tails,
)
from understudy.schema import Integer, Schema

EDGES = np.concatenate(([0.0], np.geomspace(1, 1e6, 60)))


def counts_of(values, edges=EDGES):
    return np.histogram(values, edges)[0].astype(float)


def lognormal(n, seed=1):
    return np.exp(6 + 0.8 * np.random.default_rng(seed).normal(size=n))


def test_noise_alone_opens_hardly_any_state():
    """300 columns of which all records lie in one state; the others' noise opens one or more in at
    most 6 % of them, by the union bound over 64 · 2 stretches at 4.5 and what grows beside."""
    rng = np.random.default_rng(2)
    opened = 0
    for _ in range(300):
        noisy = rng.normal(0, 20, 64)
        noisy[30] += 5_000
        found = open_states(noisy, 20.0, 5_000)
        assert found[30]
        far = np.abs(np.arange(64) - 30) > 8
        opened += found[far].any()
    assert opened <= 18


def test_a_thin_stretch_opens_as_one():
    """Twenty states of one deviation each: none stands out, their sum does."""
    noisy = np.zeros(64)
    noisy[5], noisy[40:60] = 1_000, 21.0
    found = open_states(noisy, 20.0, 1_000 + 20 * 21)
    assert found[5]
    assert found[40:60].sum() >= 16
    assert not found[10:36].any()


def test_records_that_no_stretch_shows_open_all_states():
    """A heap and a thin rest, which no stretch shows: nobody knows where it lies."""
    noisy = np.full(128, 6.0)
    noisy[50] = 1_000
    assert open_states(noisy, 60.0, noisy.sum()).all()


def test_what_was_clipped_to_a_bound_is_found_sooner():
    noisy = np.zeros(64)
    noisy[3:7], noisy[63] = 250, 75
    found = open_states(noisy, 20.0, 1_075)
    assert np.flatnonzero(found).tolist() == [3, 4, 5, 6, 63]
    noisy[[20, 63]] = 75, 0
    assert np.flatnonzero(open_states(noisy, 20.0, 1_075)).tolist() == [3, 4, 5, 6]


def test_records_that_open_states_lack_lower_the_thresholds():
    noisy = np.zeros(64)
    noisy[[5, 20]] = 1_000, 75
    assert np.flatnonzero(open_states(noisy, 20.0, 1_075)).tolist() == [5, 20]
    assert np.flatnonzero(open_states(noisy, 20.0, 1_000)).tolist() == [5]


def test_laplace_noise_needs_more():
    noisy = np.zeros(64)
    noisy[3:7], noisy[20] = 250, 110
    assert open_states(noisy, 20.0, 1_110)[20]
    assert not open_states(noisy, 20.0, 1_110, normal=False)[20]


def test_holes_no_longer_than_all_open_states_are_filled():
    """For every choice of four open states among twelve: holes of up to four are filled."""
    for places in combinations(range(12), 4):
        found = np.isin(np.arange(12), places)
        filled = number_tails._filled(found)
        for k in range(12):
            below, above = [p for p in places if p <= k], [p for p in places if p >= k]
            inside = bool(below and above) and min(above) - max(below) <= 5
            assert filled[k] == inside
    noisy = np.array([60.0, 4, 3, 70, 0, 0, 0, 0, 0, 0, 80])
    assert np.flatnonzero(open_states(noisy, 5.0, 215)).tolist() == [0, 1, 2, 3, 10]


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

    ours = number_tails._grown(scaled, found, 2.0)
    assert ours.tolist() == slowly(found.copy()).tolist()


def test_shares_of_a_tail_are_the_mean_over_all_distributions():
    noisy, mass, stddev = np.array([300.0, 140, 60, 40, 10]), 560.0, 20.0
    places = np.array([0.0, 10, 25, 60, 120, 400])
    weights, shares = [], []
    for scale in np.geomspace(10 / 8, 400, number_tails._SCALES):
        for shape in number_tails._SHAPES:
            below = stats.genpareto.cdf(places, shape if abs(shape) > 1e-9 else 0.0, scale=scale)
            own = np.diff(below) / below[-1]
            prior = stats.norm.pdf(shape, *number_tails._SHAPE)
            weights.append(prior * np.exp(-(((noisy - mass * own) / stddev) ** 2).sum() / 2))
            shares.append(own)
    expected = np.average(shares, axis=0, weights=weights)
    found = number_tails._tail_shares(noisy, mass, stddev, places)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("stddev", [0.0, 1e-6, 1e-3])
def test_without_noise_all_stays_as_it_is(stddev):
    exact = counts_of(lognormal(5_000))
    found = open_states(exact, stddev, exact.sum())
    assert (found == (exact > 0)).all()
    np.testing.assert_allclose(with_tails(exact, exact, stddev, EDGES, found), exact, atol=0.02)


def test_sums_are_kept_and_tails_follow_the_truth():
    """Of 20,000 records 4 lie in the last 21 bins: what they are given is off by less than 45 over
    20 draws of noise (root of the mean square), where noise in these bins alone makes 92."""
    exact, far = counts_of(lognormal(20_000)), EDGES[:-1] >= 6_000
    errors = []
    for seed in range(20):
        noisy = exact + np.random.default_rng(seed).normal(0, 20, len(exact))
        found = open_states(noisy, 20.0, exact.sum())
        masses = np.where(found, np.maximum(noisy, 0), 0)
        smooth = with_tails(masses, noisy, 20.0, EDGES, found)
        assert smooth.sum() == pytest.approx(masses.sum())
        assert (smooth >= 0).all()
        errors.append(smooth[far].sum() - exact[far].sum())
    assert np.sqrt(np.mean(np.square(errors))) < 45


def test_a_heap_in_the_tail_stays():
    values = np.concatenate([lognormal(5_000), np.full(150, 20_000.0)])
    exact = counts_of(values)
    heap = int(np.searchsorted(EDGES, 20_000.0, side="right")) - 1
    found = exact > 0
    smooth = with_tails(exact, exact, 10.0, EDGES, found)
    assert smooth[heap] == pytest.approx(exact[heap], abs=15)


def test_runs_are_averaged_by_precision():
    """Runs of 2 states with 30 and 10 records; noise of 3 in a state, of 3√2 in a run: the mean."""
    masses, runs = np.array([20.0, 10, 5, 5]), np.array([0, 0, 1, 1])
    found = number_tails.with_runs(masses, 3.0, runs, np.array([20.0, 20.0]), 3 * np.sqrt(2))
    np.testing.assert_allclose(found, [25 * 2 / 3, 25 / 3, 7.5, 7.5])


def test_a_part_far_from_the_others_is_no_tail():
    exact = counts_of(lognormal(5_000))
    exact[-1] = 60
    smooth = with_tails(exact, exact, 20.0, EDGES, exact > 0)
    assert smooth[-1] == 60


def test_what_is_lacking_is_looked_for_beside_open_states_first():
    """A skewed column, 2,000 noisy tables: what lies beyond three times the largest number has more
    than five records in .15 % of them (binomial, four deviations); in 1.2 % where both thresholds
    fall together."""
    values = lognormal(5_000)
    exact, far = counts_of(values), EDGES[:-1] > 3 * values.max()
    rng, found = np.random.default_rng(5), 0
    for _ in range(2_000):
        noisy = exact + rng.normal(0, 20, len(exact))
        held = open_states(noisy, 20.0, 5_000)
        found += np.maximum(noisy, 0)[held & far].sum() > 5
    assert far.sum() > 10
    assert found <= 10


def amounts(**more):
    return Integer(kind="integer", lower=0, upper=99_999, reviewed=True, source="made", **more)


def capped(seed=3, n=30_000):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(n) < 0.08, np.exp(8.5 + 0.6 * rng.normal(size=n)), 0)
    return np.where(rng.random(n) < 0.005, 99_999, values.clip(0, 40_000)).astype(int)


def test_a_heap_of_top_codes_keeps_its_noisy_count():
    """Means over 200 noisy tables, five errors: 2.2 each. The mean of the estimates is the true
    count, to which smoothness alone would add a fifth of the way to none."""
    schema = Schema.model_validate({"columns": {"x": amounts().model_dump(exclude_none=True)}})
    column = schema.with_bins(fine_bins(schema)).columns["x"]
    lows = np.array([interval.low for interval in column.intervals])
    places = np.searchsorted(lows, capped(), side="right") - 1
    exact = np.bincount(places, minlength=column.size).astype(float)
    rng, estimates, alone = np.random.default_rng(1), [], 0
    for _ in range(200):
        noisy = exact + rng.normal(0, 31, column.size)
        held = held_states(column, noisy, 31.0, exact.sum())
        masses = estimated_records(column, noisy, 31.0, exact.sum(), held)
        assert masses.sum() == pytest.approx(exact.sum())
        estimates.append(masses[-1])
        alone += bool(held[-1] and not held[-2])
    assert alone > 150
    assert np.mean(estimates) == pytest.approx(exact[-1], abs=2.2 * 5)
