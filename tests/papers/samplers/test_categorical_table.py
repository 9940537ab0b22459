"""Tables of states against their closed form. False alarms: 1e-5 for each comparison."""

import itertools

import numpy as np
import pytest
from scipy import stats

from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.grids import Drawn
from understudy.papers.categorical_models import LARGEST, LOGS, StateTable
from understudy.papers.sampling_base import slices
from understudy.schema import Schema

LEVEL = 1e-5
TABLE = StateTable("job", 3, {"sex": 2, "region": 2}, concentration=0.7)


def records(n, seed=1):
    rng = np.random.default_rng(seed)
    sizes = {"sex": 2, "region": 2, "job": 3}
    return {name: Drawn(rng.integers(0, size, n)) for name, size in sizes.items()}


def cell(rows, i):
    return 2 * rows["sex"].states[i] + rows["region"].states[i]


def totals(rows, weights):
    """Σα by cell and state, record by record."""
    found = np.zeros((4, 3))
    for i, weight in enumerate(weights):
        found[cell(rows, i), rows["job"].states[i]] += weight
    return found


def worst(logs, shapes):
    """Smallest p-value of the marginal laws, beta, over cells and states."""
    whole = shapes.sum(axis=1)
    return min(
        stats.kstest(
            np.exp(logs[:, c, k]), stats.beta(shapes[c, k], whole[c] - shapes[c, k]).cdf
        ).pvalue
        for c, k in itertools.product(range(4), range(3))
    )


def test_the_posterior_is_dirichlet_with_weights_as_counts():
    rows, weights = records(25), np.random.default_rng(2).uniform(size=25)
    logs = TABLE.posterior(rows, weights, SeededRandomness(3), draws=4000)[LOGS]
    assert logs.shape == (4000, 4, 3)
    assert np.exp(logs).sum(axis=2) == pytest.approx(np.ones((4000, 4)))
    assert worst(logs, 0.7 + totals(rows, weights)) > LEVEL
    assert worst(logs, 0.7 + totals(rows, np.ones(25))) < LEVEL
    assert worst(logs, 0.2 + totals(rows, weights)) < LEVEL


def test_cells_are_independent():
    rows = records(25)
    logs = TABLE.posterior(rows, np.ones(25), SeededRandomness(4), draws=4000)[LOGS]
    for one, other in itertools.combinations(range(4), 2):
        assert stats.spearmanr(logs[:, one, 0], logs[:, other, 0]).pvalue > LEVEL
    assert stats.spearmanr(logs[:, 0, 0], logs[:, 0, 1]).pvalue < LEVEL


@pytest.mark.parametrize("n", [0, 9])
def test_no_records_or_no_weights_give_the_prior(n):
    logs = TABLE.posterior(records(n), np.zeros(n), SeededRandomness(5), draws=4000)[LOGS]
    assert worst(logs, np.full((4, 3), 0.7)) > LEVEL


def test_likelihoods_record_by_record():
    rows, weights = records(7), np.linspace(0, 1, 7)
    draws = TABLE.posterior(rows, np.ones(7), SeededRandomness(6), draws=5)
    found = np.concatenate(list(TABLE.log_likelihoods(draws, rows)))
    for s, i in itertools.product(range(5), range(7)):
        assert found[s, i] == draws[LOGS][s, cell(rows, i), rows["job"].states[i]]
    weighted = np.concatenate(list(TABLE.log_contributions(draws, rows, weights)))
    assert weighted == pytest.approx(weights * found)
    assert (weighted[:, 0] == 0).all()


def test_chunks_are_those_of_all_laws(monkeypatch):
    monkeypatch.setattr("understudy.papers.sampling_base.slices.__kwdefaults__", {"chunk": 20})
    rows = records(7)
    draws = TABLE.posterior(rows, np.ones(7), SeededRandomness(6), draws=5)
    found = [len(one) for one in TABLE.log_likelihoods(draws, rows)]
    assert found == [one.stop - one.start for one in slices(5, 7)] == [2, 2, 1]


def test_new_states_come_by_inversion():
    """Each record by its own loop over the probabilities of its cell."""
    n = 500
    rng = np.random.default_rng(7)
    rows = {name: one for name, one in records(n).items() if name != "job"}
    theta = {LOGS: np.log(rng.dirichlet(np.ones(3), 4))}
    uniforms = rng.uniform(size=(3, n))
    found = TABLE.draw(theta, rows, uniforms)
    assert found.numbers is None
    for i in range(n):
        ends = np.exp(theta[LOGS][cell(rows, i)]).cumsum()
        assert found.states[i] == (uniforms[0, i] >= ends[:-1]).sum()
    other = uniforms.copy()
    other[1:] = 0.5
    assert (TABLE.draw(theta, rows, other).states == found.states).all()


@pytest.mark.parametrize("u", [2.0**-53, 0.5, 1 - 2.0**-53])
def test_a_state_that_is_certain(u):
    table = StateTable("x", 2, {"a": 5000})
    logs = np.tile(np.array([-np.inf, 0.0]), (5000, 1))
    logs[::2] = logs[::2, ::-1]
    given = {"a": Drawn(np.arange(5000))}
    states = table.draw({LOGS: logs}, given, np.full((3, 5000), u)).states
    assert states.tolist() == [0, 1] * 2500


def test_a_column_without_parents_and_one_of_one_state():
    alone = StateTable("job", 3)
    assert alone.cells == 1
    assert alone.parents == ()
    rows = records(30)
    draws = alone.posterior(rows, np.ones(30), SeededRandomness(8), draws=2)
    assert draws[LOGS].shape == (2, 1, 3)
    one = {name: array[0] for name, array in draws.items()}
    assert len(alone.draw(one, {}, np.full((3, 4), 0.3)).states) == 4
    single = StateTable("job", 1, {"sex": 2})
    zeros = {LOGS: np.zeros((2, 1))}
    states = single.draw(zeros, records(4), np.full((3, 4), 0.9)).states
    assert states.tolist() == [0, 0, 0, 0]


def test_a_column_of_a_schema():
    schema = Schema.loads(
        """
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
missing = [-1]
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
"""
    )
    table = StateTable.of(schema, "sex", ("age",))
    assert (table.size, table.given, table.cells) == (2, {"age": 6}, 6)
    with pytest.raises(MethodError, match="'age' has numbers"):
        StateTable.of(schema, "age", ("sex",))


def test_large_tables_are_refused_before_they_are_made():
    assert StateTable("x", 2, {"a": LARGEST // 2}).cells == LARGEST // 2
    with pytest.raises(MethodError, match=r"'x' given 'a', 'b'.*10,004.*10,000.*fewer parents"):
        StateTable("x", 2, {"a": 2501, "b": 2})
    with pytest.raises(MethodError, match="positive"):
        StateTable("x", 2, concentration=0.0)
