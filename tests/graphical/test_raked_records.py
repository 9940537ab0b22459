"""Records that hold the tables of their model again, after rules took some of them away."""

import numpy as np
import pytest

from understudy.graphical.compression import MarginalModel
from understudy.graphical.estimation import Observation, fit_max_entropy
from understudy.graphical.sampling import choose_raked
from understudy.schema import Domain

N = 20_000
SIZES = (3, 4, 3)
RULE = {0: frozenset({0}), 1: frozenset({0, 1}), 2: frozenset({2})}


def joint(seed):
    """A table of three columns in which the rule holds."""
    table = np.random.default_rng(seed).exponential(size=SIZES)
    table[np.ix_(*map(sorted, RULE.values()))] = 0
    return N * table / table.sum()


def drawn(seed):
    """Records of independent columns with the margins of `joint`, those that the rule allows."""
    table, rng = joint(seed), np.random.default_rng(seed)
    margins = [table.sum(axis=tuple({0, 1, 2} - {j})) / N for j in range(3)]
    states = np.array([rng.choice(len(p), 2 * N, p=p) for p in margins])
    return states[:, ~Domain(SIZES, (RULE,)).find_forbidden([*states])][:, :N]


@pytest.mark.parametrize("seed", range(5))
def test_records_hold_every_table_again(seed):
    table, states = joint(seed), drawn(seed)
    tables = {(0,): table.sum((1, 2)), (1, 2): table.sum(0), (0, 2): table.sum(1)}
    taken = choose_raked([*states], tables, np.random.default_rng(seed))
    assert len(taken) == states.shape[1]
    for columns, wanted in tables.items():
        found = np.zeros(wanted.shape)
        np.add.at(found, tuple(states[j, taken] for j in columns), 1)
        # Systematic draws: each cell's records as its weight says, up to chance of their order.
        apart = np.abs(found - wanted * len(taken) / N).sum() / 2
        assert apart < 0.01 * N


def test_records_that_hold_the_tables_are_taken_once_each():
    states = np.repeat(np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), 25, axis=1)
    taken = choose_raked([*states], {(0,): np.array([50.0, 50.0])}, np.random.default_rng(1))
    assert sorted(taken.tolist()) == list(range(100))


def test_what_no_record_has_is_left_out():
    states = np.zeros((1, 10), dtype=np.int64)
    taken = choose_raked([*states], {(0,): np.array([5.0, 5.0])}, np.random.default_rng(1))
    assert sorted(taken.tolist()) == list(range(10))


def test_a_rule_without_room_in_the_tree_leaves_measured_tables_as_they_are():
    """Drawn again alone, records contradict the tables by several times what they do now."""
    table = joint(3)
    observed = [Observation((j,), table.sum(axis=tuple({0, 1, 2} - {j})), 1.0) for j in range(3)]
    fit = fit_max_entropy(SIZES, observed, N, regularisation=0.01, forbidden=[RULE], most_cells=1.0)
    assert fit.unenforced == (RULE,)
    domain = Domain(SIZES, (RULE,))
    states = MarginalModel(domain, fit).sample(N, np.random.default_rng(1)).states
    assert not domain.find_forbidden(states).any()
    alone = fit.draw(N, np.random.default_rng(1))
    alone = alone[:, ~domain.find_forbidden([*alone])]
    for j, one in enumerate(observed):
        apart = np.abs(np.bincount(states[j], minlength=SIZES[j]) - one.counts).sum() / 2 / N
        assert apart < 0.005
    share = np.bincount(alone[2], minlength=3) / alone.shape[1]
    assert np.abs(share - observed[2].counts / N).sum() / 2 > 0.02
