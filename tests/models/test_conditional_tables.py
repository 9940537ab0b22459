"""Sweeps through noisy tables: what tables become, and where the sweeps end."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.dp.released import NO_NOISE, NoisyTable
from understudy.papers.pegs_tables import ConditionalTables
from understudy.schema import Domain, GibbsSweep

BOTH = GibbsSweep(("a", "b"), Domain((2, 2)), ((1,), (0,)))
ZERO = ({0: frozenset({1}), 1: frozenset({2})},)


def fitted(sweep, *tables, n_rows=100, sweeps=1, **how):
    return ConditionalTables.of_tables(sweep, tables, n_rows, sweeps=sweeps, **how)


def test_a_projected_table_is_the_nearest_and_a_row_without_mass_has_the_margin():
    """(6, 3, −1, −2) becomes (6, 3, 0, 0) less 1/2 each, for a total of 8."""
    noisy = NoisyTable(("a", "b"), np.array([[6.0, 3.0], [-1.0, -2.0]]), 0, NO_NOISE)
    shares = fitted(BOTH, noisy, n_rows=8).shares
    assert shares[0] == pytest.approx(np.array([[1, 0], [1, 0]]))  # a given b
    assert shares[1] == pytest.approx(np.array([[5.5 / 8, 2.5 / 8], [5.5 / 8, 2.5 / 8]]))


def test_a_clipped_row_without_mass_is_uniform_over_what_can_occur():
    sweep = GibbsSweep(("a", "b"), Domain((2, 3), ZERO), ((), (0,)))
    tables = [
        NoisyTable(("a",), np.array([1.0, 3.0]), 0, NO_NOISE),
        NoisyTable(("a", "b"), np.array([[4, -1, 4], [-3, -1, 0]]), 0, NO_NOISE),
    ]
    shares = fitted(sweep, *tables, allocation="clipped").shares
    assert shares[0].tolist() == [[0.25, 0.75]]
    assert shares[1].tolist() == [[0.5, 0, 0.5], [0.5, 0.5, 0]]


def test_the_mean_stands_for_projected_tables_of_the_same_columns():
    one = NoisyTable(("a", "b"), np.array([[8, 0], [0, 2]]), 0, NO_NOISE)
    other = NoisyTable(("b", "a"), np.array([[4, 4], [0, 2]]), 0, NO_NOISE)
    mean = np.array([[6.0, 0.0], [2.0, 2.0]])
    shares = fitted(BOTH, one, other, n_rows=10).shares
    assert shares[1] == pytest.approx(mean / mean.sum(axis=1, keepdims=True))
    clipped = fitted(BOTH, one, other, allocation="clipped").shares
    assert clipped[1].tolist() == [[1, 0], [0, 1]]  # b stands last in the first table
    assert clipped[0].tolist() == [[0.5, 0.5], [0, 1]]  # and a in the other


def test_sweeps_end_in_the_joint_law_of_exact_tables():
    """Each of three columns given both others. Chi-square, false-alarm rate 10⁻⁴."""
    rng = np.random.default_rng(1)
    joint = rng.integers(1, 30, (2, 3, 2))
    sweep = GibbsSweep(("a", "b", "c"), Domain((2, 3, 2)), ((1, 2), (0, 2), (0, 1)))
    table = NoisyTable(("a", "b", "c"), joint, 0, NO_NOISE)
    n = 40_000
    for seeds in ("uniform", "chain"):
        model = fitted(sweep, table, n_rows=int(joint.sum()), sweeps=12, seeds=seeds)
        states = model.sample(n, np.random.default_rng(2)).states
        seen = np.bincount(np.ravel_multi_index(states, joint.shape), minlength=joint.size)
        assert chisquare(seen, joint.reshape(-1) / joint.sum() * n).pvalue > 1e-4


def test_a_chain_starts_where_sweeps_from_uniform_seeds_cannot_get():
    """A column and its copy hold each other in place: one state in ten, whatever the seeds say."""
    table = NoisyTable(("a", "b"), np.array([[90, 0], [0, 10]]), 0, NO_NOISE)
    shares = [
        fitted(BOTH, table, sweeps=50, seeds=seeds)
        .sample(4000, np.random.default_rng(1))
        .states[0]
        .mean()
        for seeds in ("uniform", "chain")
    ]
    assert abs(shares[0] - 0.5) < 0.05
    assert abs(shares[1] - 0.1) < 0.03


@pytest.mark.parametrize("seeds", ["uniform", "chain"])
def test_impossible_cells_are_never_drawn(seeds):
    """A rule over columns of which no table has both, beside one that a table knows."""
    rules = ({0: frozenset({0}), 2: frozenset({0, 1})}, {0: frozenset({1}), 1: frozenset({1})})
    sweep = GibbsSweep(("a", "b", "c"), Domain((2, 2, 3), rules), ((1,), (0,), ()))
    tables = [
        NoisyTable(("b", "a"), np.array([[5, 50], [30, 0]]), 0, NO_NOISE),
        NoisyTable(("c",), np.array([60, 30, 20]), 0, NO_NOISE),
    ]
    drawn = fitted(sweep, *tables, sweeps=2, seeds=seeds).sample(500, np.random.default_rng(1))
    assert not sweep.domain.find_forbidden(drawn.states).any()
    cells = set(zip(*(column.tolist() for column in drawn.states), strict=True))
    assert len(cells) > 3
    assert cells < set(product(range(2), range(2), range(3)))


def test_a_seed_says_it_all_and_no_records_are_records():
    table = NoisyTable(("a", "b"), np.array([[9, 2], [3, 4]]), 0, NO_NOISE)
    model = fitted(BOTH, table, n_rows=18, sweeps=2)
    one, two = (model.sample(20_000, np.random.default_rng(3)).states for _ in range(2))
    assert all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))
    assert [len(x) for x in model.sample(0, np.random.default_rng(3)).states] == [0, 0]
