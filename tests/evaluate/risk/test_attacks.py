"""Each attack against a slow obvious one, on random tables and by hand."""

import itertools
import math

import numpy as np
import pytest

from understudy.evaluate.attack_setup import Outcome, chances, number_rows, occurrences
from understudy.evaluate.attacks import (
    called_members,
    combine_matches,
    compute_unmatched_share,
    copies,
    distances_to_nearest,
    infer_level,
    infer_number,
    largest,
    match,
    probability_of_truth,
    shuffle_columns,
    uniqueness,
)

SEEDS = range(8)


def tables(seed, d=3, states=3):
    """Targets and synthetic rows of few states, so that everything happens."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(0, 30), rng.integers(1, 30)
    return rng.integers(0, states, (n, d)), rng.integers(0, states, (m, d))


def matching(target, rows, columns):
    """Places of the rows that agree with a target."""
    return [k for k, row in enumerate(rows) if all(row[j] == target[j] for j in columns)]


@pytest.mark.parametrize("states", [3, 2**31])
def test_rows_have_one_number_if_and_only_if_they_are_equal(states):
    """The larger numbers of states overflow 64 bits many times."""
    rng = np.random.default_rng(1)
    pool = rng.integers(0, states, (5, 4))
    tables = [pool[rng.integers(0, 5, n)] for n in (7, 1, 0, 9)]
    numbers, rows = np.concatenate(number_rows(*tables)), np.concatenate(tables)
    for i, j in itertools.combinations(range(len(rows)), 2):
        assert (numbers[i] == numbers[j]) == (rows[i] == rows[j]).all()
    assert numbers.max() == len(np.unique(rows, axis=0)) - 1


def test_rows_without_columns_are_all_equal():
    one, other = number_rows(np.zeros((3, 0), dtype=int), np.zeros((2, 0), dtype=int))
    assert occurrences(one, other).tolist() == [2, 2, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_inferred_levels(seed):
    targets, rows = tables(seed)
    found = infer_level(targets[:, :2], targets[:, 2], rows[:, :2], rows[:, 2])
    everywhere = [int((rows[:, 2] == v).sum()) for v in range(3)]
    for i, target in enumerate(targets):
        places = matching(target, rows, (0, 1))
        pool = rows[places] if places else rows
        votes = [int((pool[:, 2] == v).sum()) for v in range(3)]
        answer = max(range(3), key=lambda v: (votes[v], everywhere[v], -v))
        assert found.found[i] == (answer == target[2])
        common = max(range(3), key=lambda v: (everywhere[v], -v))
        assert found.guessed[i] == (common == target[2])
        assert found.matched[i] == bool(places)


@pytest.mark.parametrize("seed", SEEDS)
def test_inferred_numbers(seed):
    targets, rows = tables(seed)
    rng = np.random.default_rng(seed)
    truth, numbers = rng.normal(size=len(targets)), rng.normal(size=len(rows))
    numbers[1::3] = np.nan  # rows without a number
    found = infer_number(targets, truth, rows, numbers)
    for i, target in enumerate(targets):
        mine = [numbers[k] for k in matching(target, rows, range(3)) if not math.isnan(numbers[k])]
        everybody = np.nanmean(numbers)
        answer = np.mean(mine) if mine else everybody
        assert found.found[i] == pytest.approx(abs(answer - truth[i]))
        assert found.guessed[i] == pytest.approx(abs(everybody - truth[i]))
        assert found.matched[i] == bool(mine)


@pytest.mark.parametrize("seed", SEEDS)
def test_matches(seed):
    targets, rows = tables(seed)
    sets = [rows, tables(seed + 100)[1]]
    found = [match(targets[:, :2], targets[:, 2:], one[:, :2], one[:, 2:]) for one in sets]
    whole = combine_matches(found)
    wrong, other = [], []
    for i, target in enumerate(targets):
        risk, true, false, picked, unlike = [], [], [], [], []
        for one in sets:
            places, full = matching(target, one, (0, 1)), matching(target, one, (0, 1, 2))
            risk.append(1 / len(places) if full else 0)
            true.append(len(places) == 1 and bool(full))
            if len(places) == 1:
                false.append(not full)
            picked.append(len(full) / len(one))
            unlike.append(1 - len(matching(target, one, (2,))) / len(one))
        assert whole.expected[i] == pytest.approx(np.mean(risk))
        assert whole.true[i] == pytest.approx(np.mean(true))
        assert whole.guessed[i] == pytest.approx(np.mean(picked))
        if false:
            wrong.append(np.mean(false))
            other.append(np.mean(unlike))
    np.testing.assert_allclose(whole.false, wrong)
    np.testing.assert_allclose(whole.guessed_false, other)


@pytest.mark.parametrize("seed", SEEDS)
def test_unique_rows(seed):
    originals, rows = tables(seed, d=2, states=4)
    found = uniqueness(originals, rows)
    one = [k for k, row in enumerate(rows) if len(matching(row, rows, (0, 1))) == 1]
    assert np.flatnonzero(found.synthetic).tolist() == one
    too = [len(matching(rows[k], originals, (0, 1))) == 1 for k in one]
    assert found.synthetic_too.tolist() == too
    alone = [row for row in originals if len(matching(row, originals, (0, 1))) == 1]
    assert found.originals_too.tolist() == [len(matching(r, rows, (0, 1))) == 1 for r in alone]


def test_shuffled_rows_keep_their_marginals_alone():
    rows = np.repeat(np.arange(50), 2).reshape(50, 2)
    mixed = shuffle_columns(rows, np.random.default_rng(0))
    assert (np.sort(mixed, axis=0) == rows).all()
    assert (mixed[:, 0] != mixed[:, 1]).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_probability_of_the_truth(seed):
    targets, rows = tables(seed)
    found = probability_of_truth(targets[:, :2], targets[:, 2], rows[:, :2], rows[:, 2], 3)
    for i, target in enumerate(targets):
        pool = rows[matching(target, rows, (0, 1))]
        weights = [(pool[:, 2] == v).sum() + 0.5 for v in range(3)]
        assert found.found[i] == pytest.approx(weights[target[2]] / sum(weights))
        weights = [(rows[:, 2] == v).sum() + 0.5 for v in range(3)]
        assert found.guessed[i] == pytest.approx(weights[target[2]] / sum(weights))


def test_the_largest_probability_bounds_those_drawn_alone():
    assert largest(np.array([0.2, 0.7]), 3).interval == (0.7, 1.0)
    assert largest(np.array([0.2, 0.7]), 2).interval == (0.7, 0.7)
    assert largest(np.zeros(0), 3) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_distance_to_the_nearest_row(seed):
    targets, rows = tables(seed, d=3, states=4)
    places = [np.full(4, -1.0), np.array([0.0, 0.1, 1.0, -1.0]), np.linspace(0, 1, 4)]

    def apart(one, other):
        total = 0.0
        for j, (a, b) in enumerate(zip(one, other, strict=True)):
            x, y = places[j][a], places[j][b]
            total += 0 if a == b else 1 if min(x, y) < 0 else abs(x - y)
        return total / 3

    expected = [min(apart(target, row) for row in rows) for target in targets]
    np.testing.assert_allclose(distances_to_nearest(targets, rows, places), expected, atol=1e-15)


@pytest.mark.parametrize("ties", [1, 5, 1000])
def test_the_threshold_takes_in_one_in_a_hundred_of_the_control(ties):
    rng = np.random.default_rng(ties)
    control = rng.integers(0, 1000 // ties + 1, 150).astype(float)
    assert called_members(control, control).mean() == pytest.approx(0.01)
    called = called_members(np.array([-1.0, 2000.0]), control)
    assert called.tolist() == [1, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_copies(seed):
    targets, rows = tables(seed)
    found = copies(targets, rows)
    shares = [[(rows[:, j] == v).mean() for v in range(3)] for j in range(3)]
    for i, target in enumerate(targets):
        assert found.found[i] == bool(matching(target, rows, range(3)))
        p = math.prod(shares[j][target[j]] for j in range(3))
        assert found.guessed[i] == pytest.approx(1 - (1 - p) ** len(rows))
    np.testing.assert_allclose(
        chances(targets, rows), [math.prod(shares[j][t[j]] for j in range(3)) for t in targets]
    )


def test_outcomes_are_means_over_sets_target_by_target():
    one = Outcome(np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([1.0, 0.0]))
    other = Outcome(np.array([1.0, 1.0]), np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    mean = Outcome.over_sets([one, other])
    assert mean.found.tolist() == [0.5, 1.0]
    assert mean.guessed.tolist() == [0.5, 0.0]
    assert compute_unmatched_share(mean) == 0.25
