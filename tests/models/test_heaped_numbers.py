"""Numbers on their heaps: as many as were counted, in their bins, in their order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.features.grids import HeapCells
from understudy.models.numeric import HeapedNumbers, HeapValues, class_shares
from understudy.release.decoding import drawn_numbers
from understudy.schema import Schema

AGES = (
    "kind='integer'\nlower=0\nupper=120\nbins=[0,7,18,25,26,40,65,120]\nspikes=[0]\nmissing=[-9]\n"
    "heaps=[10,5]"
)
PRICES = (
    "kind='continuous'\nlower=0\nupper=50\nbins=[0,0.5,4.99,10,50]\ndecimals=2\n"
    "heaps=[1,{ every=1, at=0.99 }]"
)
INCOMES = "kind='continuous'\nlower=-500\nupper=90000\nbins=7\nheaps=[1000,500]"
BINNED = {"ages": AGES, "prices": PRICES, "incomes": INCOMES}


def column(text):
    return Schema.loads(f"[columns.x]\n{text}").columns["x"]


def counted(own, classes):
    """Exact counts of numbers that have these shares in every zone."""
    cells = HeapCells(own)
    return np.append(np.tile(classes, cells.n_zones) * 1000.0, 0.0)


@pytest.mark.parametrize("name", BINNED)
def test_values_of_bins_are_those_of_a_slow_search(name):
    own, values = column(BINNED[name]), HeapValues(column(BINNED[name]))
    scale = own.roundings.scale or 1.0
    low, high = own.bounds
    every = np.round(np.arange(round(low * scale), round(high * scale) + 1)) / scale
    last = own.intervals[-1].high
    for state, one in enumerate(own.intervals):
        if one.spike:
            assert not values.is_bin[state]
            continue
        closed = own.kind == "integer" or one.high == last
        mine = every[(every >= one.low) & ((every <= one.high) if closed else (every < one.high))]
        mine = mine[~np.isin(mine, [s.low for s in own.intervals if s.spike])]
        for c in range(values.n_classes - (not own.roundings.scale)):
            fits = mine[own.roundings.classes(mine) == c]
            assert values.possible[state, c] == bool(len(fits))
            ranks = (np.arange(400) + 0.5) / 400
            found = values.choose(np.full(400, state), ranks, c)
            if len(fits):
                assert np.isin(found, fits).all()
                assert (np.diff(found) >= 0).all()
                if len(fits) <= 64:
                    assert set(found) == set(fits)
                    assert values.means[state, c] == pytest.approx(fits.mean())
            else:
                assert np.isnan(found).all()


@pytest.mark.parametrize("name", BINNED)
def test_shares_of_the_classes_are_met_and_bins_are_kept(name):
    own = column(BINNED[name])
    classes = np.array([0.5, 0.3, 0.2])
    heaped, rng = HeapedNumbers.of(own, counted(own, classes), 1e-6), np.random.default_rng(1)
    wide = [k for k, one in enumerate(own.intervals) if not one.spike and one.low < one.high]
    states = rng.choice([*range(own.n_ordinary), own.n_ordinary], 60_000)
    numbers = np.full(len(states), np.nan)
    known = states < own.n_ordinary
    numbers[known] = drawn_numbers(own, states[known], rng)
    moved = heaped.move(states, numbers, rng)
    assert np.isnan(moved[~known]).all()
    for k, one in enumerate(own.intervals):
        mine = moved[states == k]
        assert ((mine >= one.low) & (mine <= one.high)).all()
        if one.spike:
            assert (mine == one.low).all()
        elif own.kind == "continuous" and one.high < own.bounds[1]:
            assert (mine < one.high).all()
    own_states = np.isin(states, wide)
    rates = heaped.rates(np.bincount(states[known], minlength=own.n_ordinary))
    expected = rates[states[own_states]].mean(axis=0)
    found = np.bincount(own.roundings.classes(moved[own_states]), minlength=3) / own_states.sum()
    assert np.abs(found - expected).max() < 0.012  # six of its standard deviations
    # A bin of the age of 25 alone has more multiples of 5 than its zone, one of 0 to 0.49 no .99.
    assert np.abs(expected - classes).max() < {"ages": 0.1, "prices": 0.08, "incomes": 1e-6}[name]


def test_a_bin_without_a_heap_leaves_its_share_to_others():
    own = column("kind='integer'\nlower=0\nupper=19\nbins=[0,1,10,11,19]\nheaps=[10]")
    heaped = HeapedNumbers.of(own, counted(own, np.array([0.5, 0.5])), 1e-6)
    rates = heaped.rates(np.array([500.0, 500, 0, 1000]))
    assert rates[:, 0].tolist() == pytest.approx([1, 0, 1, 0])


def test_the_order_of_numbers_of_one_class_is_kept():
    own = column(INCOMES)
    heaped = HeapedNumbers.of(own, counted(own, np.array([1.0, 0, 0])), 1e-6)
    numbers = np.sort(np.random.default_rng(2).uniform(20_000, 24_000, 500))
    states = np.array(
        [next(k for k, one in enumerate(own.intervals) if one.high > x) for x in numbers]
    )
    moved = heaped.move(states, numbers, np.random.default_rng(3))
    assert (np.diff(moved) >= 0).all()
    assert np.abs(moved - numbers).max() <= 1_000 + 1e-6
    assert (moved % 1000 == 0).all()


def test_noise_makes_no_heap_that_nobody_rounds_to():
    """Counts of 20,000 numbers without heaps, with noise of 30 in each, over 400 draws."""
    own = column("kind='integer'\nlower=0\nupper=99999\nheaps=[1000,100]")
    cells, rng = HeapCells(own), np.random.default_rng(4)
    natural = own.roundings.among_all(0, 99_999)
    zones = np.array([0.02, 0.03, 0.05, 0.2, 0.4, 0.3])[: cells.n_zones]
    exact = 20_000 * zones[:, None] / zones.sum() * natural
    shares = [
        class_shares(exact + rng.normal(0, 30, exact.shape), 30.0, natural) @ np.ones(3)
        for _ in range(3)
    ]
    assert np.allclose(shares, 1)
    found = np.mean(
        [
            zones @ class_shares(exact + rng.normal(0, 30, exact.shape), 30.0, natural)
            for _ in range(400)
        ],
        axis=0,
    )
    assert found[0] < natural[0] + 0.004
    assert found[1] < natural[1] + 0.004


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=18, max_size=18),
    st.floats(0, 1e5),
)
def test_whatever_was_counted_makes_shares(counts, stddev):
    shares = class_shares(np.array(counts).reshape(6, 3), stddev, np.array([0.01, 0.01, 0.98]))
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()


def test_a_few_records_go_by_the_whole_table():
    """The bin without a heap takes no record of the others with it."""
    own = column("kind='integer'\nlower=0\nupper=19\nbins=[0,1,10,11,19]\nheaps=[10]")
    heaped = HeapedNumbers.of(own, counted(own, np.array([0.25, 0.75])), 1e-6)
    whole = np.array([400.0, 400, 400, 400])
    few = heaped.settle(whole).rates(np.array([1.0, 0, 0, 0]))
    assert few == pytest.approx(heaped.rates(whole))
