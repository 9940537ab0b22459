"""Records from a tree: exact rounding in each group, no coupling, nothing impossible."""

import numpy as np
import pytest
from scipy.stats import chi2, spearmanr

from night import NIGHT
from understudy.graphical import sampling
from understudy.graphical.estimation import Observation, fit_max_entropy


def model(sizes, tables, *, seed=0, n=10_000, rules=()):
    rng = np.random.default_rng(seed)
    truth = n * rng.dirichlet(np.full(np.prod(sizes), 0.5)).reshape(sizes)
    observations = []
    for one in tables:
        exact = truth.sum(axis=tuple(j for j in range(len(sizes)) if j not in one))
        observations.append(Observation(one, exact, 1.0))
    return fit_max_entropy(sizes, observations, n, regularisation=0.1, forbidden=rules)


def counted(states, columns, sizes):
    shape = tuple(sizes[j] for j in columns)
    cells = np.ravel_multi_index([states[j] for j in columns], shape)
    return np.bincount(cells, minlength=np.prod(shape)).reshape(shape)


SIZES, TABLES = (3, 4, 5, 2, 3), [(0, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("seed", range(10))
def test_each_cell_is_within_one_of_its_expectation_in_its_group(seed):
    one = model(SIZES, TABLES)
    states = one.draw(997, np.random.default_rng(seed))
    for clique, separator in zip(one.tree.cliques, one.tree.separators, strict=True):
        order = (*separator, *(j for j in clique if j not in separator))
        groups = one.tree.cells_of(separator)
        p = one.marginal(order).reshape(groups, -1)
        p /= p.sum(axis=1, keepdims=True)
        found = counted(states, order, SIZES).reshape(groups, -1)
        assert (np.abs(found - found.sum(axis=1, keepdims=True) * p) < 1).all()


REPEATS = 1_500 if NIGHT else 500


@pytest.mark.parametrize("systematic", [True, False])
@pytest.mark.nightly(every=2)
def test_every_marginal_is_right_on_average(systematic):
    """All pairs, also across cliques: means of draws within 5 standard errors of each cell.

    The cells' draws have at most the binomial variance, but for what groups add; a false alarm for
    about 1 in 30,000 seeds (60 cells at 5 standard errors).
    """
    one, rng, n, repeats = model(SIZES, TABLES), np.random.default_rng(1), 23, REPEATS
    draws = (
        one.draw(n * repeats, rng)
        if not systematic
        else np.concatenate([one.draw(n, rng) for _ in range(repeats)], axis=1)
    )
    for pair in [(0, 1), (0, 2), (2, 3), (0, 4), (3, 1)]:
        p = one.marginal(pair) / one.total
        error = counted(draws, pair, SIZES) / draws.shape[1] - p
        assert (np.abs(error) <= 5 * np.sqrt(p / draws.shape[1]) + 1e-9).all()


def test_independent_draws_vary_as_much_as_they_should():
    """Pearson's χ² of independent records lies in its middle 99.99 %; of systematic ones below."""
    one = model(SIZES, TABLES)
    p = one.marginal((0, 1)).ravel() / one.total
    n, low, high = 5000, *chi2.ppf([5e-5, 1 - 5e-5], len(p) - 1)

    def statistic(systematic):
        states = one.draw(n, np.random.default_rng(0), systematic=systematic)
        return ((counted(states, (0, 1), SIZES).ravel() - n * p) ** 2 / (n * p)).sum()

    assert low < statistic(False) < high
    assert statistic(True) < low


def two_children():
    """Two wide ordered columns that are independent given their common parent."""
    rng = np.random.default_rng(5)
    sizes = (2, 60, 60)
    tables = [rng.dirichlet(np.full(60, 5), 2) * 1000 for _ in range(2)]
    observations = [Observation((0, k + 1), table, 1.0) for k, table in enumerate(tables)]
    return fit_max_entropy(sizes, observations, 2000, regularisation=0.1)


def coupling(states):
    """Largest rank correlation of the children within a state of the parent, in units of 1/√n."""
    found = []
    for state in range(2):
        rows = states[0] == state
        found.append(abs(spearmanr(states[1, rows], states[2, rows])[0]) * np.sqrt(rows.sum()))
    return max(found)


def test_children_of_one_parent_are_not_coupled(monkeypatch):
    """Within ±5/√n (false alarm for 1 in a million seeds), and far outside without the shuffle."""
    one = two_children()
    assert coupling(one.draw(5000, np.random.default_rng(0))) < 5
    assert coupling(one.draw(5000, np.random.default_rng(0), systematic=False)) < 5
    monkeypatch.setattr(
        sampling,
        "dealt",
        lambda groups, _sizes, queue, _rng: queue[np.argsort(np.argsort(groups, kind="stable"))],
    )
    assert coupling(one.draw(5000, np.random.default_rng(0))) > 20


def test_records_come_in_random_order():
    states = two_children().draw(5000, np.random.default_rng(2))
    for column in states:
        assert abs(spearmanr(column, np.arange(5000))[0]) * np.sqrt(5000) < 5


@pytest.mark.parametrize("systematic", [True, False])
def test_nothing_forbidden_is_ever_drawn(systematic):
    rules = [{0: frozenset({0, 2}), 4: frozenset({1})}, {2: frozenset({3})}]
    one = model(SIZES, TABLES, rules=rules)
    states = one.draw(20_000, np.random.default_rng(0), systematic=systematic)
    assert not (np.isin(states[0], [0, 2]) & (states[4] == 1)).any()
    assert not (states[2] == 3).any()
    assert one.unenforced == ()


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("systematic", [True, False])
def test_few_records_and_none(n, systematic):
    states = model(SIZES, TABLES).draw(n, np.random.default_rng(0), systematic=systematic)
    assert states.shape == (5, n)
    assert states.dtype == np.int32


def test_a_seed_gives_the_same_records_again():
    one = model(SIZES, TABLES)
    draws = [one.draw(100, np.random.default_rng(7)) for _ in range(2)]
    np.testing.assert_array_equal(*draws)
