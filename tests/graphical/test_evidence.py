"""A junction tree given evidence, against the whole table of cells."""

import itertools

import numpy as np
import pytest

from understudy.graphical.estimation import Observation, fit_max_entropy
from understudy.graphical.factors import given_weights
from understudy.graphical.sampling import draw_records

SIZES = (3, 2, 4, 3, 2)
MARGINALS = ((0, 1), (1, 2), (2, 3), (4,))
FORBIDDEN = ({0: frozenset({1}), 1: frozenset({0})},)


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(3)
    tables = [
        Observation(columns, rng.gamma(1.0, 40.0, [SIZES[j] for j in columns]), 1.0)
        for columns in MARGINALS
    ]
    return fit_max_entropy(SIZES, tables, 400.0, regularisation=0.1, forbidden=FORBIDDEN)


def joint(fit):
    """Probability of each cell of the full table."""
    return fit.marginal(range(len(SIZES))) / fit.total


@pytest.mark.parametrize("columns", [(), (0,), (3,), (0, 3), (1, 2, 4)])
def test_records_are_those_of_the_whole_table_given_the_evidence(fit, columns):
    """A false alarm of one of five tests at χ² < df + 6·√(2·df): below 1e-5 together."""
    rng = np.random.default_rng(5)
    weights = {j: rng.random(SIZES[j]) * (np.arange(SIZES[j]) != 1) for j in columns}
    expected = joint(fit)
    for j, own in weights.items():
        expected = expected * own.reshape([-1 if i == j else 1 for i in range(len(SIZES))])
    cells, mass = given_weights(fit.layout, fit.probabilities, weights)
    assert mass == pytest.approx(expected.sum(), rel=1e-9)
    n = 40_000
    states = draw_records(fit.layout, cells, n, rng, systematic=False)
    counts = np.zeros(SIZES)
    np.add.at(counts, tuple(states), 1)
    wanted = n * expected / expected.sum()
    assert not counts[wanted == 0].any()
    known = wanted > 0
    statistic = ((counts - wanted)[known] ** 2 / wanted[known]).sum()
    freedom = known.sum() - 1
    assert statistic < freedom + 6 * np.sqrt(2 * freedom)


def test_evidence_that_cannot_be_has_no_probability(fit):
    weights = {0: np.array([0.0, 1, 0]), 1: np.array([1.0, 0])}
    assert given_weights(fit.layout, fit.probabilities, weights)[1] == 0
    for columns in itertools.combinations(range(len(SIZES)), 2):
        ones = {j: np.ones(SIZES[j]) for j in columns}
        assert given_weights(fit.layout, fit.probabilities, ones)[1] == pytest.approx(1)
