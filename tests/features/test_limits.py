"""Limits at which numbers are cut off, found by released number lines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.features.grids import LineCells, find_limits, line_bins
from understudy.schema import Schema

AMOUNT = "kind = 'continuous'\nlower = 0\nupper = 1000\nbins = 20\n"
SIGNED = "kind = 'integer'\nlower = -500\nupper = 500\nbins = 20\nspikes = [0]\n"
FEW = "kind = 'integer'\nlower = 0\nupper = 30\n"


def cells_of(text):
    schema = Schema.loads(f"[columns.x]\n{text}out_of_domain = '?'\nreviewed = true\n")
    return LineCells.of(schema.with_bins({"x": line_bins(schema.columns["x"])}), "x")


def counts_of(cells, numbers):
    """Exact counts of numbers, within the bounds or beyond."""
    column = cells.column
    lows = np.array([one.low for one in column.intervals])
    spikes = {one.low: k for k, one in enumerate(column.intervals) if one.spike}
    counts = np.zeros(cells.size)
    low, high = column.bounds
    for number in numbers:
        if number < low or number > high:
            counts[column.size + (number > high)] += 1
        else:
            at = spikes.get(number, np.searchsorted(lows, number, "right") - 1)
            counts[at] += 1
    return counts


def noisy(counts, stddev, seed):
    return counts + np.random.default_rng(seed).normal(0, stddev, len(counts))


def incomes(n):
    return np.minimum(np.random.default_rng(1).exponential(50, n), 1000.0)


def test_few_numbers_lie_beyond_and_fewer_the_more_there_are():
    """In nearly all of 100 runs; with ten times the rows the limit moves out, and less is cut off.

    A run of cells that noise alone lifts costs a limit in about one of 70.
    """
    cells = cells_of(AMOUNT)
    beyond = {}
    for n in (5_000, 50_000):
        numbers = incomes(n)
        exact = counts_of(cells, numbers)
        ends = [find_limits(noisy(exact, 15.0, seed), 15.0, cells, n) for seed in range(100)]
        ends = [one for one in ends if one is not None]
        assert len(ends) >= 95
        assert all(low == 0 for low, _ in ends)
        beyond[n] = np.mean([np.mean(numbers > high) for _, high in ends])
        assert max(np.mean(numbers > high) for _, high in ends) < 0.05
    assert beyond[50_000] < 0.3 * beyond[5_000] < 0.01


def test_numbers_on_both_sides_have_two_limits():
    cells = cells_of(SIGNED)
    numbers = np.rint(np.random.default_rng(2).laplace(0, 25, 20_000))
    low, high = find_limits(noisy(counts_of(cells, numbers), 15.0, 3), 15.0, cells, 20_000)
    assert -300 < low < -60
    assert 60 < high < 300


@pytest.mark.parametrize("seed", range(5))
def test_numbers_all_over_the_bounds_are_not_cut_off(seed):
    cells = cells_of(AMOUNT)
    numbers = np.random.default_rng(seed).uniform(0, 1000, 5_000)
    assert find_limits(noisy(counts_of(cells, numbers), 15.0, seed), 15.0, cells, 5_000) is None


def test_numbers_beyond_the_bounds_count_at_the_bounds():
    """A tenth of the numbers lie beyond: the bound stays, though no cell before it has any."""
    cells = cells_of(AMOUNT)
    numbers = np.where(np.arange(5_000) % 10 == 0, 2_000.0, incomes(5_000))
    ends = find_limits(noisy(counts_of(cells, numbers), 15.0, 4), 15.0, cells, 5_000)
    assert ends is None


def hidden(cells, numbers, stddev, seeds, n_records):
    """Largest and mean share of the numbers beyond the limits."""
    exact, shares = counts_of(cells, numbers), []
    for seed in range(seeds):
        ends = find_limits(noisy(exact, stddev, seed), stddev, cells, n_records)
        low, high = ends or cells.column.bounds
        shares.append(np.mean((numbers < low) | (numbers > high)))
    return np.max(shares), np.mean(shares)


def test_few_rows_under_much_noise_are_not_cut_off_in_their_middle():
    """Unless much is gained, limits must be sure; the number of records helps to be."""
    cells = cells_of("kind = 'integer'\nlower = 0\nupper = 110\n")
    ages = np.rint(np.random.default_rng(6).uniform(18, 90, 1_000))
    most, usual = hidden(cells, ages, 27.0, 60, 1_000)
    assert most < 0.25
    assert usual < 0.03
    far_off = 10**6  # a number that the counts do not fit is left alone
    assert hidden(cells, ages, 27.0, 60, far_off)[0] > most
    more = np.rint(np.random.default_rng(6).uniform(18, 90, 5_000))
    ends = [
        find_limits(noisy(counts_of(cells, more), 19.0, k), 19.0, cells, 5_000) for k in range(20)
    ]
    assert sum(one is not None for one in ends) > 10


def test_bounds_that_are_far_too_wide_are_cut_where_one_cell_has_all_numbers():
    cells = cells_of("kind = 'integer'\nlower = -1000000\nupper = 1000000\n")
    exact = counts_of(cells, np.random.default_rng(7).lognormal(7, 0.8, 6_000))
    ends = [find_limits(noisy(exact, 14.0, seed), 14.0, cells, 6_000) for seed in range(60)]
    ranges = [1.0 if one is None else (one[1] - one[0]) / 2e6 for one in ends]
    assert np.mean(ranges) < 0.2
    assert np.median(ranges) < 0.05


@pytest.mark.nightly
def test_a_few_numbers_beside_many_zeros_are_kept():
    """Of those that are not 0, an eighth of all, nearly all lie within the limit."""
    cells, rng = cells_of(FEW), np.random.default_rng(5)
    numbers = np.where(rng.random(20_000) < 0.125, 1 + rng.geometric(0.5, 20_000), 0)
    numbers = np.minimum(numbers, 30)
    for seed in range(20):
        _, high = find_limits(noisy(counts_of(cells, numbers), 15.0, seed), 15.0, cells, 20_000)
        assert np.mean(numbers[numbers > 0] > high) < 0.2


def test_without_noise_nothing_is_cut_off():
    cells = cells_of(AMOUNT)
    assert find_limits(counts_of(cells, incomes(1_000)), 0.0, cells, 1_000) is None


@given(
    text=st.sampled_from([AMOUNT, SIGNED, FEW]),
    stddev=st.floats(1e-6, 1e6),
    seed=st.integers(0, 2**16),
    data=st.data(),
)
@settings(deadline=None)
def test_limits_are_edges_of_cells_within_the_bounds(text, stddev, seed, data):
    cells = cells_of(text)
    size = data.draw(st.sampled_from([0.0, 1.0, 1e3, 1e9]))
    counts = np.random.default_rng(seed).normal(size, stddev, cells.size)
    ends = find_limits(counts, stddev, cells, data.draw(st.sampled_from([0, size * cells.size])))
    if ends is not None:
        low, high = ends
        bounds = cells.column.bounds
        edges = {edge for one in cells.column.intervals for edge in (one.low, one.high)}
        assert bounds[0] <= low < high <= bounds[1]
        assert {low, high} <= edges
        assert high - low <= 2 / 3 * (bounds[1] - bounds[0])
