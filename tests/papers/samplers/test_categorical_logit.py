"""Logits of states as laws: likelihoods, posteriors, new states. False alarms: 1e-5 each."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax, softmax

from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.grids import Drawn, line_of, settle_numbers
from understudy.papers.categorical_models import (
    COEFFICIENTS,
    MOST,
    StateLogit,
    StateTable,
    WeightedLogit,
    logit_draws,
)
from understudy.papers.column_models import NumberModel, SequentialModel
from understudy.papers.sampling_base import NormalLinear, slices
from understudy.schema import Schema

LEVEL = 1e-5
SCHEMA = Schema.loads(
    """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[columns.age]
kind = "integer"
lower = 18
upper = 90
missing = [-1]
[columns.grade]
kind = "ordinal"
levels = [1, 2, 3, 4]
[columns.job]
kind = "categorical"
levels = ["none", "part", "full"]
[columns.income]
kind = "continuous"
lower = 0
upper = 1000
bins = [0, 100, 1000]
spikes = [0]
missing = ["?"]
"""
)
JOB = StateLogit.of(SCHEMA, "job", ("sex", "age", "grade"))
AGE = line_of(SCHEMA.columns["age"])
UNKNOWN = SCHEMA.columns["age"].size - 1


def records(n, seed=1):
    """An eighth of the ages are not known."""
    rng = np.random.default_rng(seed)
    states, numbers = settle_numbers(AGE, rng.uniform(18, 90, n))
    unknown = rng.random(n) < 0.125
    age = Drawn(np.where(unknown, UNKNOWN, states), np.where(unknown, np.nan, numbers))
    sizes = {"sex": 2, "grade": 4, "job": 3}
    return {name: Drawn(rng.integers(0, size, n)) for name, size in sizes.items()} | {"age": age}


def features(rows, i):
    """An intercept, sex, age, age unknown, grade; written out."""
    age = rows["age"].numbers[i]
    known = not np.isnan(age)
    place = (age - 54) / 36 if known else 0.0
    return np.array([1, rows["sex"].states[i], place, not known, rows["grade"].states[i] / 1.5 - 1])


def logs(rows, point, i):
    return log_softmax(np.concatenate([[0.0], point @ features(rows, i)]))


def matrix(chunks):
    return np.concatenate(list(chunks))


# --- likelihoods ---


def test_likelihoods_record_by_record():
    rows, weights = records(9), np.linspace(0, 1, 9)
    draws = JOB.posterior(rows, np.ones(9), SeededRandomness(2), draws=5)
    assert draws[COEFFICIENTS].shape == (5, 2, 5)
    assert JOB.coefficients == 10
    found = matrix(JOB.log_likelihoods(draws, rows))
    for s, i in itertools.product(range(5), range(9)):
        expected = logs(rows, draws[COEFFICIENTS][s], i)[rows["job"].states[i]]
        assert found[s, i] == pytest.approx(expected)
    weighted = matrix(JOB.log_contributions(draws, rows, weights))
    assert weighted == pytest.approx(weights * found)
    assert (weighted[:, 0] == 0).all()


def test_chunks_are_those_of_all_laws(monkeypatch):
    monkeypatch.setattr("understudy.papers.sampling_base.slices.__kwdefaults__", {"chunk": 20})
    rows = records(7)
    draws = JOB.posterior(rows, np.ones(7), SeededRandomness(3), draws=5)
    found = [len(one) for one in JOB.log_likelihoods(draws, rows)]
    assert found == [one.stop - one.start for one in slices(5, 7)] == [2, 2, 1]


# --- posteriors ---


def test_the_posterior_is_that_of_features_weights_and_public_widths():
    """The same words of randomness give the same draws of the target written out."""
    rows, weights = records(30), np.random.default_rng(4).uniform(size=30)
    slope = 2.5 / np.sqrt(3)
    target = WeightedLogit(
        design=np.array([features(rows, i) for i in range(30)]),
        outcomes=rows["job"].states,
        weights=weights,
        size=2,
        precisions=np.array([2.5, *[slope] * 4]) ** -2,
    )
    expected = logit_draws(target, SeededRandomness(5), draws=20).points
    found = JOB.posterior(rows, weights, SeededRandomness(5), draws=20)[COEFFICIENTS]
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n", [0, 6])
@pytest.mark.nightly(every=2)
def test_no_records_or_no_weights_give_the_prior(n):
    found = JOB.posterior(records(n), np.zeros(n), SeededRandomness(6), draws=3000)[COEFFICIENTS]
    for k, j in itertools.product(range(2), range(5)):
        width = 2.5 if j == 0 else 2.5 / np.sqrt(3)
        assert stats.kstest(found[:, k, j], stats.norm(0, width).cdf).pvalue > LEVEL
        assert stats.kstest(found[:, k, j], stats.norm(0, 1.3 * width).cdf).pvalue < LEVEL


def test_a_column_without_parents_and_one_of_one_state():
    alone = StateLogit.of(SCHEMA, "job", ())
    rows = records(30)
    draws = alone.posterior(rows, np.ones(30), SeededRandomness(7), draws=2)
    assert draws[COEFFICIENTS].shape == (2, 2, 1)
    assert len(alone.draw({COEFFICIENTS: np.zeros((2, 1))}, {}, np.full((3, 4), 0.3)).states) == 4
    single = StateLogit("job", 1, JOB.features)
    rows["job"] = Drawn(np.zeros(30, dtype=np.int64))
    draws = single.posterior(rows, np.ones(30), SeededRandomness(8), draws=2)
    assert (matrix(single.log_likelihoods(draws, rows)) == 0).all()
    one = {COEFFICIENTS: draws[COEFFICIENTS][0]}
    assert single.draw(one, rows, np.full((3, 30), 0.9)).states.max() == 0


# --- new states ---


def test_new_states_come_by_inversion_from_parameters_and_parents_alone():
    n = 400
    rng = np.random.default_rng(9)
    rows, uniforms = records(n), rng.uniform(size=(3, n))
    theta = {COEFFICIENTS: rng.normal(size=(2, 5))}
    found = JOB.draw(theta, rows, uniforms)
    assert found.numbers is None
    for i in range(n):
        ends = np.exp(logs(rows, theta[COEFFICIENTS], i)).cumsum()
        assert found.states[i] == (uniforms[0, i] >= ends[:-1]).sum()
    assert np.bincount(found.states).min() > 10
    others = {name: one for name, one in rows.items() if name != "job"}
    uniforms[1:] = 0.5
    for given in (others, others | {"job": records(n, seed=2)["job"]}):
        assert (JOB.draw(theta, given, uniforms).states == found.states).all()


@pytest.mark.parametrize("u", [2.0**-53, 1 - 2.0**-53])
def test_states_that_are_certain(u):
    theta = {COEFFICIENTS: np.array([[0, 2000.0, 0, 0, 0], [-1e4, 0, 0, 0, 0]])}
    rows = records(40)
    found = JOB.draw(theta, rows, np.full((3, 40), u)).states
    sure = rows["sex"].states == 1
    assert (found[sure] == 1).all()
    assert found[~sure].tolist() == [int(u > 0.5)] * (~sure).sum()


# --- kinds of numbers ---


def income(kind_model="logit", parents=("sex", "age", "grade")):
    return NumberModel.of(
        SCHEMA, "income", parents, NormalLinear(), kind_parents=parents, kind_model=kind_model
    )


def incomes(n, seed=1):
    """Zero where an unknown mixture of all three parents says so; a twentieth is not known."""
    rng = np.random.default_rng(seed)
    rows = records(n, seed)
    place = np.nan_to_num((rows["age"].numbers - 54) / 36)
    rate = 2 * place + 1.5 * (rows["grade"].states / 1.5 - 1) + 1.2 * rows["sex"].states - 0.3
    column = SCHEMA.columns["income"]
    states, numbers = settle_numbers(line_of(column), rng.uniform(1, 900, n))
    zero, unknown = rng.random(n) < 1 / (1 + np.exp(-rate)), rng.random(n) < 0.05
    spike = next(k for k, one in enumerate(column.intervals) if one.spike)
    states = np.select([unknown, zero], [column.size - 1, spike], states)
    numbers = np.where(unknown | zero, np.nan, numbers)
    return rows | {"income": Drawn(states, numbers)}, spike


def test_kinds_by_a_logit_have_its_likelihoods_and_ordinary_numbers_as_reference():
    column_model, (rows, spike) = income(), incomes(60)
    assert column_model.parents == ("sex", "age", "grade")
    weights = np.linspace(0, 1, 60)
    draws = column_model.posterior(rows, weights, SeededRandomness(10), draws=4)
    assert draws["kind_coefficients"].shape == (4, 2, 5)
    assert draws["coefficients"].shape == (4, 5)
    kinds = np.select([rows["income"].states == spike, np.isnan(rows["income"].numbers)], [1, 2], 0)
    found = matrix(column_model.log_contributions(draws, rows, weights))
    plain = NumberModel.of(SCHEMA, "income", column_model.features.parents, NormalLinear())
    flat = {name: array for name, array in draws.items() if name != "kind_coefficients"}
    shares = np.zeros((4, 1, 3))
    numbers = matrix(
        plain.log_contributions(flat | {"log_kinds": shares}, rows, weights)
    )  # a table that says nothing
    for s, i in itertools.product(range(4), range(60)):
        own = logs(rows, draws["kind_coefficients"][s], i)[kinds[i]]
        assert found[s, i] == pytest.approx(weights[i] * own + numbers[s, i])


def test_weights_and_kinds_reach_the_logit():
    column_model, (rows, spike) = income(), incomes(60)
    weights = np.linspace(0, 1, 60)
    kinds = np.select([rows["income"].states == spike, np.isnan(rows["income"].numbers)], [1, 2], 0)
    expected = column_model.kinds.posterior(
        rows | {"income": Drawn(kinds)}, weights, SeededRandomness(11), draws=6
    )
    found = column_model.posterior(rows, weights, SeededRandomness(11), draws=6)
    assert (found["kind_coefficients"] == expected[COEFFICIENTS]).all()


def shares(rows, spike):
    """Of the spike in groups by each parent, where ages are known."""
    zero = rows["income"].states == spike
    young = rows["age"].numbers < 54
    groups = [rows["sex"].states == 0, rows["sex"].states == 1, young, ~young]
    groups += [rows["grade"].states == k for k in range(4)]
    return np.array([zero[one].mean() for one in groups])


def test_the_share_of_a_spike_goes_with_all_parents():
    """5,000 records: a share of a group has a standard error below 0.015, a difference 0.021."""
    rows, spike = incomes(5000)
    uniforms = np.random.default_rng(12).uniform(size=(3, 5000))
    given = {name: rows[name] for name in ("sex", "age", "grade")}
    gaps = {}
    for name, column_model in {"logit": income(), "table": _table()}.items():
        draws = column_model.posterior(rows, np.ones(5000), SeededRandomness(13), draws=1)
        one = {key: array[0] for key, array in draws.items()}
        new = given | {"income": column_model.draw(one, given, uniforms)}
        gaps[name] = np.abs(shares(new, spike) - shares(rows, spike)).max()
    assert gaps["logit"] < 5 * 0.021
    assert gaps["table"] > 0.2


def _table():
    parents = ("sex", "age", "grade")
    return NumberModel.of(SCHEMA, "income", parents, NormalLinear(), kind_parents=("grade",))


def test_logits_stand_in_a_joint_law():
    rows, _ = incomes(50)
    column_model = SequentialModel((JOB, income()), ("sex", "age", "grade"))
    draws = column_model.posterior(rows, np.ones(50), SeededRandomness(14), draws=3)
    assert set(draws) >= {"job: coefficients", "income: coefficients", "income: kind_coefficients"}
    assert matrix(column_model.log_likelihoods(draws, rows)).shape == (3, 50)
    one = {name: array[0] for name, array in draws.items()}
    new = column_model.sample(one, rows, np.random.default_rng(15).uniform(size=(2, 3, 50)))
    assert set(new) == {"job", "income"}
    assert column_model.part(draws, JOB)[COEFFICIENTS].shape == (3, 2, 5)


# --- configurations ---


def test_what_cannot_be_is_refused():
    with pytest.raises(MethodError, match="'age' has numbers"):
        StateLogit.of(SCHEMA, "age", ("sex",))
    assert StateLogit("x", MOST // 5 + 1, JOB.features).coefficients == MOST
    with pytest.raises(MethodError, match=r"'x' given 'sex', 'age', 'grade'.*305.*300.*fewer"):
        StateLogit("x", MOST // 5 + 2, JOB.features)
    for widths in ({"intercept": 0.0}, {"slope": -1.0}, {"slope": np.inf}):
        with pytest.raises(MethodError, match="positive"):
            StateLogit("x", 2, JOB.features, **widths)
    kinds = StateTable("income", 3), StateLogit("income", 3, JOB.features)
    assert [type(income(how).kinds) for how in ("table", "logit")] == [type(one) for one in kinds]
    with pytest.raises(MethodError, match="'income' has 2 spikes and codes"):
        NumberModel(
            "income",
            SCHEMA.columns["income"],
            JOB.features,
            income().response,
            NormalLinear(),
            StateLogit("income", 4, JOB.features),
        )


def test_probabilities_before_anything_is_known():
    """Odds of two of three states, given one parent: as wide as those of a table's cells, about."""
    column_model = StateLogit.of(SCHEMA, "job", ("grade",))
    rows = {"grade": Drawn(np.array([0])), "job": Drawn(np.array([0]))}
    logit = column_model.posterior(rows, np.zeros(1), SeededRandomness(16), draws=2000)[
        COEFFICIENTS
    ]
    shares = softmax(np.insert(logit @ [1, -1], 0, 0.0, axis=1), axis=1)
    table = StateTable("job", 3).posterior(rows, np.zeros(1), SeededRandomness(17), draws=2000)
    cells = table["log_probabilities"][:, 0]
    wide = [np.log(shares[:, 1] / shares[:, 0]).std(), (cells[:, 1] - cells[:, 0]).std()]
    assert 0.5 < wide[0] / wide[1] < 1.5
