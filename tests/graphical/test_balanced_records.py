"""Records chosen among many: against a slow choice, without favour, and closer to all of them."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from night import NIGHT
from understudy.graphical import compression, sampling
from understudy.graphical.compression import MarginalModel
from understudy.graphical.estimation import Observation, fit_max_entropy
from understudy.graphical.sampling import (
    MOST_DRAWN,
    MOST_VALUES,
    MOST_WORK,
    choose_balanced,
    times_drawn,
)
from understudy.schema import Domain

SIZES = (4, 3, 5)


def pool(n, seed=0, sizes=SIZES):
    """Records of related columns, the first unlike all others."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, sizes[0] - 1, n)
    others = [(first + rng.integers(0, size - 1, n)) % (size - 1) for size in sizes[1:]]
    states = np.stack([first, *others]).astype(np.int32)
    states[:, 0] = np.array(sizes) - 1
    return states


def tables(states, sizes, order):
    """Counts of every table of so many columns, one after the other."""
    found = []
    for columns in combinations(range(len(sizes)), order):
        own = tuple(sizes[j] for j in columns)
        codes = np.ravel_multi_index([states[j] for j in columns], own)
        found.append(np.bincount(codes, minlength=math.prod(own)))
    return np.concatenate(found)


def slow_choice(states, n_rows, sizes, seed):
    """The same, by whole sums of squares and with both records of a pair tried."""

    def all_tables(records):
        return np.concatenate([tables(states[:, records], sizes, k) for k in (1, 2)]) * 1.0

    rng = np.random.default_rng(seed)
    kept = rng.permutation(states.shape[1])
    one = [all_tables([record]) for record in range(states.shape[1])]
    while len(kept) > n_rows:
        half, found = all_tables(kept) / 2, all_tables(kept) / 2
        first, second = np.split(kept, 2)
        for meeting in range(8 * n_rows // len(first)):
            pairs = list(zip(first, second, strict=True))
            for p, (a, b) in enumerate(pairs):
                rest = found - (one[a] if meeting else (one[a] + one[b]) / 2)
                far = [((rest + one[k] - half) ** 2 / (half + 1)).sum() for k in (a, b)]
                if far[1] < far[0] - 1e-4:  # what is equal is not told by rounding
                    pairs[p] = b, a
                found = rest + one[pairs[p][0]]
            kept, left = np.array(pairs).T
            first, second = rng.permutation(kept), rng.permutation(left)
    return kept


@pytest.mark.parametrize("seed", range(4))
def test_choices_are_those_of_a_slow_search(seed):
    states = pool(160, seed)
    found = choose_balanced(states, 40, SIZES, np.random.default_rng(seed))
    assert found.tolist() == slow_choice(states, 40, SIZES, seed).tolist()


def test_what_is_kept_are_different_records_that_were_drawn():
    kept = choose_balanced(pool(800), 100, SIZES, np.random.default_rng(1))
    assert len(set(kept.tolist())) == 100
    assert set(kept.tolist()) <= set(range(800))


def test_no_record_is_favoured():
    """Of 64 records 8 are kept, in 1,000 runs, by night 3,000: each in an eighth of them, the one
    that is unlike all others too. Deviations by chance are standard normal: none of 64 beyond 4.5
    in all but one of 2,000 such tests, and their sum of squares within 64 ± 5·√128."""
    states, runs = pool(64), 3_000 if NIGHT else 1_000
    times = np.zeros(64)
    for seed in range(runs):
        times[choose_balanced(states, 8, SIZES, np.random.default_rng(seed))] += 1
    off = (times / runs - 1 / 8) / math.sqrt(1 / 8 * 7 / 8 / runs)
    assert np.abs(off).max() < 4.5
    assert abs((off**2).sum() - 64) < 5 * math.sqrt(128)


@pytest.mark.parametrize(("order", "most"), [(1, 0.1), (2, 0.35), (3, 1.1)])
def test_tables_are_closer_to_those_of_all_that_were_drawn(order, most):
    """Than those of a part at random, in the mean absolute difference."""
    sizes = (6, 4, 8, 5, 3)
    states = pool(16_000, sizes=sizes)
    wanted = tables(states, sizes, order) / 8
    differences = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        parts = choose_balanced(states, 2_000, sizes, rng), rng.permutation(16_000)[:2_000]
        off = [np.abs(tables(states[:, part], sizes, order) - wanted).sum() for part in parts]
        differences.append(off)
    chosen, by_chance = np.mean(differences, axis=0)
    assert chosen < most * by_chance


def test_tables_that_cannot_be_held_are_left_to_chance(monkeypatch):
    """No memory is spent on them: only the smallest tables are there, and single columns."""
    monkeypatch.setattr(sampling, "MOST_CELLS", 12 + 15)
    assert sampling._tables(SIZES, 1_000) == [(0,), (1,), (2,), (0, 1)]
    monkeypatch.undo()
    assert sampling._tables((1_000, 2, 30), 500) == [(0,), (1,), (2,), (1, 2)]


@given(n=st.integers(0, 10**9), columns=st.integers(1, 3_000))
def test_work_is_bounded(n, columns):
    times = times_drawn(n, columns)
    assert times in (1, 2, 4, MOST_DRAWN)
    if times > 1:
        assert times * n * columns <= MOST_VALUES
        assert times * n * columns * (columns - 1) / 2 <= MOST_WORK


@pytest.mark.parametrize("n", [0, 1, 7, 100])
@pytest.mark.nightly(every=2)
def test_a_model_draws_as_many_as_were_asked_for(n):
    model = three_columns()
    assert [len(column) for column in model.sample(n, np.random.default_rng(1)).states] == [n] * 3


def three_columns(boxes=()):
    """Columns a, b, c of which a & b and b & c were measured."""
    rng = np.random.default_rng(3)
    observed = [Observation(pair, rng.random((8, 8)) * 100, 1.0) for pair in ((0, 1), (1, 2))]
    fit = fit_max_entropy((8, 8, 8), observed, 5_000.0, regularisation=0.01)
    return MarginalModel(Domain((8, 8, 8), boxes), fit)


def test_a_table_that_was_not_measured_is_closer_to_the_model(monkeypatch):
    """a & c follows from the others. Its records scatter about what the model says, and those that
    are chosen by .65 of it (60 draws; in the mean of 40 by .02 more or less)."""
    model = three_columns()
    wanted = model.fit.marginal((0, 2)).reshape(-1) / model.fit.total

    def distance():
        drawn = [np.stack(model.sample(2_000, np.random.default_rng(k)).states) for k in range(40)]
        far = [np.abs(tables(one[[0, 2]], (8, 8), 2) / 2_000 - wanted).sum() / 2 for one in drawn]
        return np.mean(far)

    chosen = distance()
    monkeypatch.setattr(compression, "times_drawn", lambda n_rows, columns: 1)
    assert chosen < distance() * 0.73


def test_what_is_impossible_stays_so():
    box = {0: frozenset({0, 1, 2}), 2: frozenset({0, 1, 2})}
    states = three_columns((box,)).sample(3_000, np.random.default_rng(4)).states
    assert not ((states[0] < 3) & (states[2] < 3)).any()
