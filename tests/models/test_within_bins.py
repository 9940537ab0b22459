"""Numbers within bins: near the truth in mean, spread and quantiles, where uniform ones are not.

Without noise: the masses are the exact counts of fine bins, so all error is what is lost in bins.
Errors are in standard deviations of the column; its own standard error is 1/√n = 0.0045.
"""

import numpy as np
import polars as pl
import pytest
from scipy.interpolate import PchipInterpolator

from understudy.data.coding import Coder
from understudy.methods.binning import fine_bins
from understudy.models.numeric import WithinBins, state_widths
from understudy.release.decoding import decode
from understudy.schema import Schema

N = 50_000


def schema(text):
    return Schema.loads(f'[columns.x]\n{text}\nsource = "codebook"\nreviewed = true')


def truth(name):
    rng = np.random.default_rng(7)
    if name == "zero-inflated":
        return np.where(rng.random(N) < 0.6, 0, np.minimum(np.exp(rng.normal(7, 1, N)), 1e5))
    if name == "lognormal":
        return np.minimum(np.exp(rng.normal(10.3, 0.9, N)).round(), 1e6)
    if name == "Pareto":
        return np.minimum((rng.pareto(1.5, N) + 1).round(2), 1e4)
    if name == "exponential":
        return np.minimum(rng.exponential(20, N), 1000)
    if name == "days":
        return np.floor(7305 + 12_700 * rng.beta(3, 1.5, N))
    heaped = rng.random(N) < 0.4
    ages = np.clip(rng.normal(45, 20, N), 0, 110)
    return np.where(heaped, np.round(ages, -1), np.round(ages))


COLUMNS = {
    "zero-inflated": 'kind = "continuous"\nlower = 0\nupper = 100000\nspikes = [0]',
    "lognormal": 'kind = "integer"\nlower = 0\nupper = 1000000',
    "Pareto": 'kind = "continuous"\nlower = 1\nupper = 10000\ndecimals = 2',
    "exponential": 'kind = "continuous"\nlower = 0\nupper = 1000',
    "days": 'kind = "date"\nlower = 1990-01-01\nupper = 2024-12-31',
    "heaped": 'kind = "integer"\nlower = 0\nupper = 110',
}
TOLERANCES = {  # mean, standard deviation (relative), quantiles
    "zero-inflated": (0.0005, 0.002, 0.045),
    "lognormal": (0.0005, 0.0005, 0.015),
    "Pareto": (0.0005, 0.017, 0.01),  # a record or two in the last bin
    "exponential": (0.0005, 0.001, 0.025),
    "days": (0.0005, 0.0004, 0.0055),
    "heaped": (1e-9, 1e-9, 1e-9),
}


def coded(name):
    """The true numbers, their states in fine bins, and the schema of these."""
    own = schema(COLUMNS[name])
    of = own.with_bins(fine_bins(own))
    x = truth(name)
    kind = of.columns["x"].kind
    values = pl.Series(x.astype(np.int64)) if kind != "continuous" else pl.Series(x)
    values = values.cast(pl.Int32).cast(pl.Date) if kind == "date" else values
    return x, Coder(of).code(pl.DataFrame({"x": values}))[0], of


def errors(x, drawn):
    quantiles = np.linspace(0.01, 0.99, 99)
    apart = np.abs(np.quantile(drawn, quantiles) - np.quantile(x, quantiles)).max()
    return (
        abs(drawn.mean() - x.mean()) / x.std(),
        abs(drawn.std() / x.std() - 1),
        apart / x.std(),
    )


def within(of, states):
    column = of.columns["x"]
    return WithinBins(column, np.bincount(states, minlength=column.size)[: column.n_ordinary] * 1.0)


def released(of, states, numbers=None):
    rng = np.random.default_rng(3)
    values = None if numbers is None else {"x": numbers}
    return decode([states], of, rng, values)["x"].to_physical().cast(pl.Float64).to_numpy()


@pytest.mark.parametrize("name", COLUMNS)
def test_means_spreads_and_quantiles_are_those_of_the_rows(name):
    x, states, of = coded(name)
    numbers = within(of, states).draw(states, np.random.default_rng(1))
    found = errors(x, released(of, states, numbers))
    assert all(one <= most for one, most in zip(found, TOLERANCES[name], strict=True)), found


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "heaped"])
def test_uniform_numbers_within_the_same_bins_would_not_pass(name):
    x, states, of = coded(name)
    found = errors(x, released(of, states))
    assert any(one > most for one, most in zip(found, TOLERANCES[name], strict=True)), found


def test_in_coarse_bins_uniform_numbers_are_further_off_by_far():
    """Four bins for an exponential law: three quarters of the bias go."""
    of = schema('kind = "continuous"\nlower = 0\nupper = 200\nbins = [0, 20, 50, 100, 200]')
    x = np.minimum(np.random.default_rng(2).exponential(20, N), 200)
    states = Coder(of).code(pl.DataFrame({"x": x}))[0]
    numbers = within(of, states).draw(states, np.random.default_rng(1))
    bent, flat = errors(x, released(of, states, numbers)), errors(x, released(of, states))
    assert bent[0] < flat[0] / 4
    assert bent[2] < flat[2] / 2


MIXED = {
    "plain": 'kind = "continuous"\nlower = -3\nupper = 7.5\nbins = 6',
    "rounded": 'kind = "continuous"\nlower = 0\nupper = 2.04\nbins = [0, 0.3, 1.1, 2.04]\n'
    "decimals = 1",
    "spiked": 'kind = "continuous"\nlower = 0\nupper = 9\nspikes = [0, 4, 4.1, 9]\ndecimals = 1',
    "free": 'kind = "continuous"\nlower = 0\nupper = 9\nspikes = [0, 9]\nmissing = [""]',
    "whole": 'kind = "integer"\nlower = -5\nupper = 90\nbins = 7\nspikes = [0, 1, 90]\n'
    "missing = [999]",
    "date": 'kind = "date"\nlower = 1990-01-01\nupper = 2020-06-30\nbins = 9',
    "single": 'kind = "integer"\nlower = 5\nupper = 5',
    "one bin": 'kind = "continuous"\nlower = 0\nupper = 1\nbins = 1',
    "large": 'kind = "continuous"\nlower = 0\nupper = 1e9\nbins = 5\ndecimals = 12',
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.nightly(every=3)
def test_every_number_lies_in_its_bin_and_is_of_its_kind(name, seed):
    of, rng = schema(MIXED[name]), np.random.default_rng(seed)
    column = of.columns["x"]
    masses = rng.exponential(1, column.n_ordinary) * (rng.random(column.n_ordinary) < 0.8)
    states = rng.integers(0, column.size, 20_000)
    numbers = WithinBins(column, masses).draw(states, rng)
    no_bin = (states >= column.n_ordinary) | np.isin(
        states, [k for k, one in enumerate(column.intervals) if one.spike]
    )
    assert (np.isnan(numbers) == no_bin).all()
    drawn = numbers[~no_bin]
    if column.kind != "continuous":
        assert (drawn == np.round(drawn)).all()
    elif column.decimals == 1:
        assert (drawn == np.round(drawn, 1)).all()
    out = decode([states], of, rng, {"x": numbers})
    assert (Coder(of).code(out)[0] == states).all()


def test_each_whole_number_has_the_mass_of_its_cell_under_the_monotone_cubic():
    """Free values 1–4 and 6–9 of two bins, 5 a spike: the line is cut there."""
    of = schema('kind = "integer"\nlower = 1\nupper = 12\nbins = [1, 7, 10, 12]\nspikes = [5]')
    masses = np.array([60.0, 30.0, 9.0, 1.0])
    ordinary = [k for k, one in enumerate(of.columns["x"].intervals) if not one.spike]
    counts = np.zeros(4)
    counts[ordinary] = [60_000, 30_000, 10_000]
    masses[ordinary] = [60, 30, 10]
    states = np.repeat(np.arange(4), counts.astype(int))
    numbers = WithinBins(of.columns["x"], masses).draw(states, np.random.default_rng(1))
    # Bins hold 5, 3 and 3 free values.
    cubic = PchipInterpolator([0, 5, 8, 11], [0, 60, 90, 100])
    free = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]
    expected = np.diff(cubic(np.arange(12))) * 1000
    found = [int((numbers == value).sum()) for value in free]
    np.testing.assert_allclose(found, expected, atol=1.01)


def test_places_do_not_follow_the_order_of_records():
    """In random order: neighbours' numbers are as good as unrelated (|r| < 5/√n)."""
    of = schema(MIXED["one bin"])
    states = np.zeros(10_000, dtype=np.int64)
    numbers = WithinBins(of.columns["x"], np.ones(1)).draw(states, np.random.default_rng(1))
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.05
    assert abs(np.corrcoef(numbers, np.arange(10_000))[0, 1]) < 0.05
    assert abs(numbers.mean() - 0.5) < 1e-4  # Monte Carlo error would be 0.003


@pytest.mark.parametrize("masses", [np.zeros(3), np.array([0.0, 5, 0]), np.array([-1.0, 2, 3])])
def test_bins_without_mass_are_drawn_from_evenly(masses):
    of = schema('kind = "continuous"\nlower = 0\nupper = 3\nbins = 3')
    states = np.repeat(np.arange(3), 1000)
    numbers = WithinBins(of.columns["x"], masses).draw(states, np.random.default_rng(1))
    empty = np.flatnonzero(masses <= 0)
    for k in empty:
        part = np.sort(numbers[states == k]) - k
        np.testing.assert_allclose(part, (np.arange(1000) + 0.5) / 1000, atol=0.001)


@pytest.mark.parametrize("least", [5e-324, 1e-300, 1e-20, 1e-14])
def test_hardly_anybody_far_out_in_a_tail_is_nobody(least):
    """Slopes between such parts of all records would overflow, which is a warning."""
    column = schema('kind = "integer"\nlower = 0\nupper = 99\nbins = [0, 10, 20, 50, 99]').columns[
        "x"
    ]
    drawn = [
        WithinBins(column, np.array([mass, 10 * mass, 300.0, 700.0])).draw(
            np.array([2, 3] * 50), np.random.default_rng(1)
        )
        for mass in (0.0, least)
    ]
    np.testing.assert_array_equal(*drawn)


def test_no_records_work():
    of = schema(MIXED["whole"])
    column = of.columns["x"]
    none = np.zeros(0, dtype=np.int64)
    found = WithinBins(column, np.ones(column.n_ordinary)).draw(none, np.random.default_rng(1))
    assert found.shape == (0,)


def test_widths_of_states():
    of = schema(MIXED["whole"])
    column = of.columns["x"]
    free = [one.high - one.low + 1 for one in column.intervals if not one.spike]
    widths = state_widths(column)
    assert widths.shape == (column.size,)
    assert widths.sum() == pytest.approx(96 - 3 + 4 * np.median(widths))
    assert widths.max() == max(free)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ('kind = "integer"\nlower = 0\nupper = 99999', 99_999),
        ('kind = "continuous"\nlower = 0\nupper = 99999\ndecimals = 2', 99_999),
        ('kind = "continuous"\nlower = 0\nupper = 99999', 99_999),
        ('kind = "continuous"\nlower = 0\nupper = 99999\nspikes = [99999]', None),
        ('kind = "continuous"\nlower = 0\nupper = 99999\nspikes = [0]', 99_999),
        ('kind = "date"\nlower = 1950-01-01\nupper = 2020-12-31\nbins = [1950-01-01, 1985-01-01, '
         "2020-12-01, 2020-12-31]", 18_627),
    ],
)  # fmt: skip
def test_records_at_a_bound_with_nobody_beside_them_are_at_the_bound(text, bound):
    """In the narrow bin there; with somebody in the wide bin beside it they are spread over it."""
    own = schema(text)
    column = own.with_bins(fine_bins(own, points=False)).columns["x"]
    masses = np.zeros(column.n_ordinary)
    bins = [k for k, interval in enumerate(column.intervals) if not interval.spike]
    masses[bins[0]], masses[bins[-1]] = 100.0, 50.0
    states, rng = np.full(50, bins[-1]), np.random.default_rng(1)
    drawn = WithinBins(column, masses).draw(states, rng)
    if bound is None:  # those at the bound are its spike's affair
        assert (drawn < 99_999).all()
        return
    assert (drawn == bound).all()
    masses[bins[-2]] = 100.0
    spread = WithinBins(column, masses).draw(states, rng)
    assert len(np.unique(spread)) > 10
    assert spread.max() <= bound
