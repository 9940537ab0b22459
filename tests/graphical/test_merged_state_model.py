"""A model over merged states: zeros stay exact, groups become states, bins become numbers."""

import numpy as np
import pytest

from understudy.graphical.compression import Expansion, MarginalModel
from understudy.graphical.estimation import Observation, fit_max_entropy
from understudy.models.numeric import WithinBins
from understudy.schema import Domain, Integer

N = 4_000


def fit(sizes, tables, forbidden=(), **more):
    observations = [Observation(one, np.asarray(counts, float), 1.0) for one, counts in tables]
    return fit_max_entropy(sizes, observations, N, regularisation=0.3, forbidden=forbidden, **more)


def test_groups_become_states_as_their_shares_say():
    model = MarginalModel(
        Domain((3, 2)),
        fit((2, 2), [((0, 1), [[1000, 1000], [500, 1500]])]),
        {0: Expansion(np.array([0, 1, 1]), np.array([1.0, 0.25, 0.75]))},
    )
    states = np.stack(model.sample(N, np.random.default_rng(1)).states)
    found = np.histogram2d(*states, bins=(3, 2))[0]
    expected = [[1000, 1000], [125, 375], [375, 1125]]
    # Numbers of each state are exact up to a few records; within a group pairs are independent.
    assert np.abs(found.sum(axis=1) - np.sum(expected, axis=1)).max() <= 5
    assert np.abs(found - expected).max() < 5 * np.sqrt(375)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("most_cells", [1.0, 1e6])
@pytest.mark.nightly(every=4)
def test_rules_hold_whether_the_tree_covers_them_or_not(seed, most_cells):
    rng = np.random.default_rng(seed)
    boxes = ({0: frozenset({0, 1}), 2: frozenset({0})}, {1: frozenset({1}), 2: frozenset({2})})
    tables = [((j,), rng.integers(1, N, 3)) for j in range(3)]
    model = MarginalModel(
        Domain((3, 3, 3), boxes), fit((3, 3, 3), tables, boxes, most_cells=most_cells)
    )
    assert bool(model.fit.unenforced) == (most_cells == 1.0)
    a, b, c = model.sample(N, rng).states
    assert not ((a < 2) & (c == 0)).any()
    assert not ((b == 1) & (c == 2)).any()


def test_where_only_forbidden_cells_are_likely_allowed_ones_are_drawn_alike():
    """300 records over three cells: each has 100, error 8."""
    first = Expansion(np.zeros(2, dtype=np.int64), np.array([1.0, 0.0]))
    boxes = ({0: frozenset({0}), 1: frozenset({0})},)
    model = MarginalModel(Domain((2, 2), boxes), fit((1, 1), []), {0: first, 1: first})
    a, b = model.sample(300, np.random.default_rng(1)).states
    found = np.bincount(2 * a + b, minlength=4)
    assert found[0] == 0
    assert np.abs(found[1:] - 100).max() < 40


def test_numbers_are_drawn_for_bins_and_for_nothing_else():
    column = Integer(kind="integer", lower=0, upper=9, bins=(0, 5, 9), spikes=(0,), missing=("?",))
    sizes = (column.size,)
    model = MarginalModel(
        Domain(sizes),
        fit(sizes, [((0,), [1000, 500, 1500, 1000])]),
        {},
        {"x": (0, WithinBins(column, np.array([1000.0, 500, 1500])))},
    )
    sample = model.sample(N, np.random.default_rng(1))
    (states,), values = sample.states, sample.values["x"]
    for state, low, high in ((1, 1, 4), (2, 5, 9)):
        inside = values[states == state]
        assert inside.min() == low
        assert inside.max() == high
    assert np.isnan(values[(states == 0) | (states == 3)]).all()


def test_no_records():
    model = MarginalModel(Domain((2, 2)), fit((2, 2), []))
    assert [one.shape for one in model.sample(0, np.random.default_rng(1)).states] == [(0,), (0,)]
