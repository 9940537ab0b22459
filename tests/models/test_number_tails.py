"""Records in each state of a line of numbers, and how its tails run out."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from night import NIGHT
from understudy.methods.binning import fine_bins
from understudy.models import number_line
from understudy.models.number_line import (
    Counted,
    estimate_support,
    estimated_records,
    open_states,
    with_tails,
)
from understudy.schema import Integer, Schema

EDGES = np.concatenate(([0.0], np.geomspace(1, 1e6, 60)))


def counts_of(values, edges=EDGES):
    return np.histogram(values, edges)[0].astype(float)


def lognormal(n, seed=1):
    return np.exp(6 + 0.8 * np.random.default_rng(seed).normal(size=n))


def density(x, mean, stddev):
    """Of normal numbers."""
    return np.exp(-(((x - mean) / stddev) ** 2) / 2) / (stddev * np.sqrt(2 * np.pi))


def test_a_tail_is_the_mean_over_all_distributions_and_sizes():
    """Against sums over a grid of sizes, from 1 to 2,001 records."""
    noisy, mass, expected = np.array([300.0, 140, 60, 40, 10]), 500.0, 0.2
    stddev = np.array([20.0, 25, 20, 15, 30])
    places, sizes = np.array([0.0, 10, 25, 60, 120, 400]), np.linspace(1, 2_001, 501)
    prior_size = density(sizes, mass, number_line._DOUBT * mass)
    weights, tails = [], []
    below = {
        (scale, shape): stats.genpareto.cdf(places, shape if abs(shape) > 1e-9 else 0, scale=scale)
        for scale in np.geomspace(10 / 8, 400, number_line._SCALES)
        for shape in number_line._SHAPES
    }
    for scale, shape, (rough, odds) in product(
        np.geomspace(10 / 8, 400, number_line._SCALES),
        number_line._SHAPES,
        zip(number_line._ROUGHNESS, number_line._ODDS, strict=True),
    ):
        own = np.diff(below[scale, shape]) / below[scale, shape][-1]
        spread = np.hypot(stddev, rough * mass * own)
        each = prior_size * density(noisy, sizes[:, None] * own, spread).prod(axis=1)
        weights.append(odds * density(shape, expected, number_line._SPREAD) * each.sum())
        smooth = own * (each @ sizes) / each.sum()
        tails.append(smooth + (1 - (stddev / spread) ** 2) * (noisy - smooth))
    wanted = np.average(tails, axis=0, weights=weights)
    found, _ = number_line._fitted_tail(Counted.of(noisy, stddev), mass, places, expected)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_skewed_body_lets_one_expect_a_heavy_tail():
    """Of lognormal numbers, with and without a heap; of their mirror image a light one."""
    edges = np.linspace(0, 10_000, 2_001)
    found = []
    for deviation in (0.2, 0.5, 0.8):
        below = stats.lognorm.cdf(edges, deviation, scale=600)
        masses = 1e4 * np.diff(below)
        found.append(number_line._expected_shape(masses, edges))
        heap = masses.copy()
        heap[0] += masses.sum() / 2
        assert number_line._expected_shape(heap, edges) == pytest.approx(found[-1], abs=0.01)
        mirrored = number_line._expected_shape(masses[::-1], -edges[::-1])
        light = max(2 * number_line._LIGHT - found[-1], number_line._LIMITS[0])
        assert mirrored == pytest.approx(light, abs=0.02)
    np.testing.assert_allclose(np.diff(found), 0.3 * 0.4, rtol=0.1)


def test_where_all_is_one_heap_a_tail_is_expected_to_be_light():
    masses = np.array([0.0, 5_000, 1])
    found = number_line._expected_shape(masses, np.arange(4.0))
    assert found <= 0


def test_a_tail_that_noise_denies_leaves_all_records_where_they_were():
    """Counts far below 0: nothing is lost, nothing becomes negative."""
    masses, edges = np.array([400.0, 300, 200, 100, 50, 50]), np.arange(7.0)
    noisy = np.array([400.0, 300, -900, -900, -900, -900])
    smooth = with_tails(masses, Counted.of(noisy, np.full(6, 20.0)), edges, masses > 0)
    assert smooth.sum() == pytest.approx(masses.sum())
    assert (smooth >= 0).all()


def test_states_that_seemed_empty_get_their_part_of_a_tail():
    """An exponential tail of which the far half seemed empty: over 40 draws of noise its mean is
    within a fifth, where what was open has less than half of it. Short tails are no exception."""
    edges, n = np.arange(0.0, 121), 20_000
    exact = n * np.diff(stats.gamma.cdf(edges, 3, loc=18, scale=9))
    far, found, opened = edges[:-1] >= 95, [], []
    for seed in range(40):
        noisy = exact + np.random.default_rng(seed).normal(0, 22, 120)
        held = open_states(noisy, np.full(120, 22.0), n)
        masses = np.where(held, np.maximum(noisy, 0), 0)
        masses *= n / masses.sum()
        found.append(
            with_tails(masses, Counted.of(noisy, np.full(120, 22.0)), edges, held)[far].sum()
        )
        opened.append(masses[far].sum())
    assert np.mean(opened) < exact[far].sum() / 2
    assert np.mean(found) == pytest.approx(exact[far].sum(), rel=0.2)


@pytest.mark.parametrize("stddev", [0.0, 1e-6, 1e-3])
def test_without_noise_all_stays_as_it_is(stddev):
    exact = counts_of(lognormal(5_000))
    each = np.full(len(exact), stddev)
    found = open_states(exact, each, exact.sum())
    assert (found == (exact > 0)).all()
    np.testing.assert_allclose(
        with_tails(exact, Counted.of(exact, each), EDGES, found), exact, atol=0.02
    )


def test_sums_are_kept_and_tails_follow_the_truth():
    """Of 20,000 records 4 lie in the last 21 bins: what they are given is off by less than 45 over
    20 draws of noise (root of the mean square), where noise in these bins alone makes 92."""
    exact, far = counts_of(lognormal(20_000)), EDGES[:-1] >= 6_000
    errors, stddev = [], np.full(len(exact), 20.0)
    for seed in range(20):
        noisy = exact + np.random.default_rng(seed).normal(0, 20, len(exact))
        found = open_states(noisy, stddev, exact.sum())
        masses = np.where(found, np.maximum(noisy, 0), 0)
        smooth = with_tails(masses, Counted.of(noisy, stddev), EDGES, found)
        assert smooth.sum() == pytest.approx(masses.sum())
        assert (smooth >= 0).all()
        errors.append(smooth[far].sum() - exact[far].sum())
    assert np.sqrt(np.mean(np.square(errors))) < 45


def test_a_heap_in_the_tail_stays():
    values = np.concatenate([lognormal(5_000), np.full(150, 20_000.0)])
    exact = counts_of(values)
    heap = int(np.searchsorted(EDGES, 20_000.0, side="right")) - 1
    found = exact > 0
    smooth = with_tails(exact, Counted.of(exact, np.full(len(exact), 10.0)), EDGES, found)
    assert smooth[heap] == pytest.approx(exact[heap], abs=15)


def test_a_tail_on_heaps_keeps_its_records():
    """Hours of which most are even: no smooth tail fits, and one that is forced to has few records.
    Over all draws of noise the numbers beyond 8 are within an eighth, and the even ones stay."""
    column = Integer(kind="integer", lower=0, upper=24, bins=25)
    exact = 4 * np.array([170.0, 590, 760, 490, 350, 175, 120, 30, 65])
    exact = np.append(exact, [19.0, 122, 9, 96, 9, 24, 17, 10, 2, 7, 0, 14, 2, 2, 1, 22])
    rng, stddev, found = np.random.default_rng(1), np.full(25, 22.0), []
    for _ in range(60 if NIGHT else 30):
        noisy = exact + rng.normal(size=25) * stddev
        held = estimate_support(column, noisy, stddev, exact.sum())
        found.append(estimated_records(column, noisy, stddev, exact.sum(), held))
    means = np.mean(found, axis=0)
    assert means[9:].sum() == pytest.approx(exact[9:].sum(), rel=1 / 8)
    assert means[[10, 12]] == pytest.approx(exact[[10, 12]], rel=0.3)


def test_runs_are_averaged_by_precision():
    """Runs of 2 states with 30 and 10 records; noise of 3 in a state, of 3√2 in a run: the mean."""
    masses, runs = np.array([20.0, 10, 5, 5]), np.array([0, 0, 1, 1])
    found = number_line.with_runs(
        masses, np.full(4, 3.0), runs, np.array([20.0, 20.0]), 3 * np.sqrt(2)
    )
    np.testing.assert_allclose(found, [25 * 2 / 3, 25 / 3, 7.5, 7.5])


def test_a_part_far_from_the_others_is_no_tail():
    exact = counts_of(lognormal(5_000))
    exact[-1] = 60
    smooth = with_tails(exact, Counted.of(exact, np.full(len(exact), 20.0)), EDGES, exact > 0)
    assert smooth[-1] == 60


def test_runs_that_were_counted_say_how_a_tail_runs_out():
    """A tail of 400 records that noise hides in single states: with five runs of them, counted once
    more, the error of its mean over 40 draws of noise is less than two thirds of that without."""
    edges, rng = np.arange(0.0, 101), np.random.default_rng(8)
    exact = 400 * np.diff(stats.expon.cdf(edges, scale=18))
    runs, stddev, errors = np.repeat(np.arange(5), 20), np.full(100, 30.0), []
    sums = (np.arange(5)[:, None] == runs).astype(float)
    for _ in range(40):
        noisy, over = exact + 30 * rng.normal(size=100), sums @ exact + 30 * rng.normal(size=5)
        both = Counted(noisy, stddev, sums, over, np.full(5, 30.0))
        each = [
            number_line._fitted_tail(counted, 400.0, edges, 0.0)[0]
            for counted in (Counted.of(noisy, stddev), both)
        ]
        errors.append([tail @ edges[:-1] / tail.sum() - exact @ edges[:-1] / 400 for tail in each])
    alone, with_runs = np.sqrt(np.mean(np.square(errors), axis=0))
    assert with_runs < 2 / 3 * alone


def test_what_is_said_of_some_bins_leaves_the_records_of_others_out():
    counted = Counted(
        np.array([9.0, 7, 5, 3]),
        np.array([1.0, 2, 3, 4]),
        np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]),
        np.array([20.0, 10]),
        np.array([2.0, 2]),
    )
    part = counted.take(np.array([3, 2]), np.array([8.0, 8, 4, 2]))
    assert part.noisy.tolist() == [3, 5]
    assert (part.sums.tolist(), part.runs.tolist(), part.spread.tolist()) == ([[1, 1]], [10], [2])
    part = counted.take(np.array([0]), np.array([8.0, 8, 4, 2]))
    assert part.runs.tolist() == [12]
    assert part.spread.tolist() == pytest.approx([np.sqrt(8)])


def test_runs_of_a_heap_and_of_a_few_leave_the_heap_as_it_is():
    """Over 200 draws of noise: what is raised to 0 in empty runs is taken from those that noise
    hides, not from a heap that is known. Its error is 2.5 at five deviations."""
    exact, runs = np.array([4_000.0, 300, 200, 0, 0, 0]), np.arange(6)
    stddev, rng, found = np.array([5.0, 30, 30, 30, 30, 30]), np.random.default_rng(9), []
    for _ in range(200):
        noisy = exact + np.array([5.0, 30, 30, 30, 30, 30]) * rng.normal(size=6)
        masses = np.maximum(noisy, 1.0)
        masses *= exact.sum() / masses.sum()
        found.append(number_line.with_runs(masses, stddev, runs, exact + rng.normal(size=6), 1.0))
        assert found[-1].sum() == pytest.approx(exact.sum())
        assert (found[-1] >= 0).all()
    assert np.mean(found, axis=0)[0] == pytest.approx(4_000, abs=2.5)


def few_beside_a_heap(n, share, seed):
    """Whole numbers of which most are 0, the others lognormal; and bounds far beyond."""
    rng = np.random.default_rng(seed)
    some = rng.random(n) < share
    return np.where(some, np.exp(8 + 1.1 * rng.normal(size=n)), 0).clip(0, 99_999).astype(int)


def test_few_records_beside_a_heap_lie_where_noise_lets_them_lie():
    """250 of 5,000 numbers are no zeros, and no state of them is told from noise. Over all draws
    their mean is within a factor of two, by its logarithm: between 0 and three times it before."""
    schema = Schema.model_validate({"columns": {"x": amounts().model_dump(exclude_none=True)}})
    column = schema.with_bins(fine_bins(schema, 128)).columns["x"]
    lows = np.array([interval.low for interval in column.intervals])
    values = few_beside_a_heap(5_000, 0.05, 1)
    exact = np.bincount(np.searchsorted(lows, values, side="right") - 1, minlength=column.size)
    rng, stddev, found = np.random.default_rng(2), np.full(column.size, 25.0), []
    middles = np.append((lows[1:] + lows[:-1]) / 2, lows[-1])
    for _ in range(40 if NIGHT else 20):
        noisy = exact + rng.normal(size=column.size) * stddev
        held = estimate_support(column, noisy, stddev, exact.sum())
        masses = estimated_records(column, noisy, stddev, exact.sum(), held)
        assert masses.sum() == pytest.approx(exact.sum())
        assert masses[0] == pytest.approx(exact[0], abs=5 * 25)
        found.append(masses @ middles / (exact @ middles))
    assert np.sqrt(np.mean(np.log(found) ** 2)) < np.log(2)
    assert np.exp(np.mean(np.log(found))) == pytest.approx(1, rel=0.5)


def test_few_records_keep_a_heap_among_them():
    """Of 500 records 200 have one value; what simple distributions miss stays there."""
    column = Integer(kind="integer", lower=0, upper=119, bins=120)
    exact = 300 * np.diff(stats.expon.cdf(np.arange(121.0), scale=25))
    exact[30] += 200
    noisy = exact + 20 * np.random.default_rng(4).normal(size=120)
    stddev = np.full(120, 20.0)
    held = estimate_support(column, noisy, stddev, exact.sum())
    masses = estimated_records(column, noisy, stddev, exact.sum(), held)
    assert masses[30] == pytest.approx(exact[30], abs=60)


def amounts(**more):
    return Integer(kind="integer", lower=0, upper=99_999, reviewed=True, source="made", **more)


def capped(seed=3, n=30_000):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(n) < 0.08, np.exp(8.5 + 0.6 * rng.normal(size=n)), 0)
    return np.where(rng.random(n) < 0.005, 99_999, values.clip(0, 40_000)).astype(int)


@pytest.mark.nightly
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
        stddev = np.full(column.size, 31.0)
        held = estimate_support(column, noisy, stddev, exact.sum())
        masses = estimated_records(column, noisy, stddev, exact.sum(), held)
        assert masses.sum() == pytest.approx(exact.sum())
        estimates.append(masses[-1])
        alone += bool(held[-1] and not held[-2])
    assert alone > 150
    assert np.mean(estimates) == pytest.approx(exact[-1], abs=2.2 * 5)
