"""Pairs that no table of a model holds: what second moments tell of them, and records with it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from understudy.graphical import pairs_beyond
from understudy.graphical.pairs_beyond import FALSE, NoisyPair, PairsBeyond, clear
from understudy.graphical.sampling import table_of

N = 20_000
SHAPE = (4, 5)
STATES = (np.array([1, 1, 3, 1]), np.array([2, 1, 1, 1, 1]))


def tables(seed):
    """A table of two columns, and the one with the same margins of which nothing goes together."""
    table = np.random.default_rng(seed).gamma(3.0, size=SHAPE)
    table *= N / table.sum()
    return table, np.outer(table.sum(axis=1), table.sum(axis=0)) / N


def spread_over_states(table):
    """Records of each state, where those of a group have as many each."""
    shares = [np.repeat(1 / one, one) for one in STATES]
    groups = [np.repeat(np.arange(len(one)), one) for one in STATES]
    return table[np.ix_(*groups)] * np.outer(*shares)


def beyond_effects(table):
    """In groups: what of a table in states is left without additive effects, by plain means."""
    states = spread_over_states(table)
    rest = states - states.mean(0) - states.mean(1)[:, None] + states.mean()
    starts = [np.cumsum(one) - one for one in STATES]
    return np.add.reduceat(np.add.reduceat(rest, starts[0], axis=0), starts[1], axis=1)


def noise(stddev, rng):
    """Noise of contrasts of states, in groups."""
    flat = rng.normal(0, stddev, [one.sum() for one in STATES])
    rest = flat - flat.mean(0) - flat.mean(1)[:, None] + flat.mean()
    starts = [np.cumsum(one) - one for one in STATES]
    return np.add.reduceat(np.add.reduceat(rest, starts[0], axis=0), starts[1], axis=1)


def measured(table, stddev, rng):
    return NoisyPair((0, 1), beyond_effects(table) + noise(stddev, rng), STATES, stddev)


def off(one, other):
    return np.abs(one - other).sum() / 2 / N


@pytest.mark.parametrize("seed", range(4))
def test_with_little_noise_a_table_is_what_it_is(seed):
    table, expected = tables(seed)
    near = expected + 0.4 * (table - expected)
    found = measured(near, 1.0, np.random.default_rng(seed)).compare(expected).estimate()
    assert off(found, near) < 0.02 * off(expected, near)


def test_rows_and_columns_stay_as_the_records_have_them():
    table, expected = tables(1)
    found = measured(table, 60.0, np.random.default_rng(1)).compare(expected).estimate()
    np.testing.assert_allclose(found.sum(axis=0), expected.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), expected.sum(axis=1), rtol=1e-6)
    assert (found > 0).all()


@pytest.mark.parametrize("stddev", [pytest.param(10.0, marks=pytest.mark.nightly), 300.0, 3000.0])
def test_chances_are_those_of_noise(stddev):
    """Of 800 draws 40 ± 6.2 are below .05, and noise said a third too small or large is noticed."""
    _, expected = tables(2)
    rng = np.random.default_rng(3)
    pairs = [measured(expected, stddev, rng) for _ in range(800)]
    below = [
        sum(replace(one, stddev=k * stddev).compare(expected).chance < 0.05 for one in pairs)
        for k in (1, 0.7, 1.3)
    ]
    assert 20 <= below[0] <= 60
    assert below[1] > 120
    assert below[2] < 15


@pytest.mark.parametrize("stddev", [30.0, 100.0, 300.0])
def test_estimates_are_closer_than_records_and_than_measurements(stddev):
    rng, far = np.random.default_rng(4), []
    for seed in range(60):
        table, expected = tables(seed)
        table = expected + 0.3 * (table - expected)
        pair = measured(table, stddev, rng)
        compared = pair.compare(expected)
        own = compared.estimate() if clear([compared.chance])[0] else expected
        raw = expected + pair.noisy - beyond_effects(expected)
        far.append([off(one, table) for one in (own, expected, raw)])
    own, records, raw = np.mean(far, axis=0)
    assert own < 1.01 * records
    assert own < raw
    if stddev == 30:
        assert own < 0.75 * records


def test_of_those_marked_noise_made_few():
    """Two hundred of noise and twenty that are not, 50 times."""
    rng, false, found = np.random.default_rng(5), 0, 0
    for _ in range(50):
        marked = clear([*(1e-6 * rng.random(20)), *rng.random(200)])
        found += sum(marked[:20])
        false += sum(marked[20:])
    assert found == 50 * 20
    assert false < 3 * FALSE * found  # in the mean FALSE·200/220 of what is marked
    assert not any(clear([0.5, 0.02, 0.03]))
    assert clear([]) == []


def chain(n, seed):
    """Records of three columns, where the first tells the second and that the third."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(0, 2, n)) % 3
    third = (second + (rng.random(n) < 0.6) * rng.integers(0, 5, n)) % 5
    return np.stack([first, second, third]).astype(np.int32)


SIZES = (4, 3, 5)
HELD = ((0,), (1,), (2,), (0, 1), (1, 2))
PLAIN = tuple(np.ones(size, dtype=np.int64) for size in (4, 5))


def lacking(states, share):
    """The pair of outer columns, a share of whose records has moved to a diagonal, as measured."""
    records = table_of(states, (0, 2), SIZES)
    moved = records.copy()
    for k, other in pairwise(range(4)):
        step = share * min(records[k, other], records[other, k])
        moved[[k, other], [k, other]] += step
        moved[[k, other], [other, k]] -= step
    rest = moved - moved.mean(0) - moved.mean(1)[:, None] + moved.mean()
    return moved, NoisyPair((0, 2), rest, PLAIN, 1.0)


def test_records_hold_the_pair_and_all_tables_of_the_model():
    states = chain(N, 1)
    wanted, pair = lacking(states, 0.3)
    taken = PairsBeyond([pair], HELD, SIZES, N).choose_records(states, np.random.default_rng(2))
    assert taken.shape == states.shape
    before, after = (off(table_of(one, (0, 2), SIZES), wanted) for one in (states, taken))
    assert after < 0.25 * before
    for columns in HELD:
        one, other = (table_of(which, columns, SIZES) for which in (states, taken))
        assert off(one, other) < 0.006
    assert not (table_of(taken, (0, 1, 2), SIZES) > 0)[
        table_of(states, (0, 1, 2), SIZES) == 0
    ].any()


def test_records_of_another_number_take_the_same_share():
    states = chain(N, 1)
    wanted, pair = lacking(states, 0.3)
    part = chain(N // 2, 7)
    beyond = PairsBeyond([pair], HELD, SIZES, N)
    taken = beyond.choose_records(part, np.random.default_rng(2))
    assert off(2 * table_of(taken, (0, 2), SIZES), wanted) < 0.025


def test_records_that_lack_nothing_stay_as_they_are(monkeypatch):
    states = chain(N, 1)
    _, pair = lacking(states, 0.0)
    beyond = PairsBeyond([replace(pair, stddev=300.0)], HELD, SIZES, N)
    assert beyond.choose_records(states, np.random.default_rng(2)) is states
    none = states[:, :0]
    assert beyond.choose_records(none, np.random.default_rng(2)) is none
    _, far = lacking(states, 0.3)
    monkeypatch.setattr(pairs_beyond, "MOST_CELLS", 1000)
    large = PairsBeyond([far], HELD, SIZES, N)
    assert large.choose_records(states, np.random.default_rng(2)) is states
