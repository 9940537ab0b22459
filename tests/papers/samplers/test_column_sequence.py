"""Joint laws: sums of the columns' own, drawn one after the other. False alarms: 1e-5 each."""

import numpy as np
import pytest
from scipy import stats

from understudy.dp.randomness import SeededRandomness
from understudy.features.grids import Drawn, line_of, settle_numbers
from understudy.papers.categorical_models import StateTable
from understudy.papers.column_models import NumberModel, SequentialModel
from understudy.papers.mixture_gibbs import MixturePrior
from understudy.papers.mixture_regression import MixtureRegression
from understudy.papers.sampling_base import NormalLinear
from understudy.schema import Schema

LEVEL = 1e-5
SCHEMA = Schema.loads(
    """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[columns."sex: more"]
kind = "ordinal"
levels = [1, 2, 3]
[columns.age]
kind = "integer"
lower = 18
upper = 90
missing = [-1]
[columns.income]
kind = "continuous"
lower = -7000
upper = 1800000
"""
)
MIXTURE = MixtureRegression(prior=MixturePrior(components=3), burn_in=5, thin=1)
SEX = StateTable.of(SCHEMA, "sex", ())
MORE = StateTable.of(SCHEMA, "sex: more", ("sex",))
AGE = NumberModel.of(SCHEMA, "age", ("sex",), NormalLinear(), kind_parents=("sex: more",))
INCOME = NumberModel.of(SCHEMA, "income", ("age", "sex"), MIXTURE)
LAW = SequentialModel((SEX, MORE, AGE, INCOME))


def records(n):
    rng = np.random.default_rng(n)
    age, numbers = settle_numbers(line_of(SCHEMA.columns["age"]), rng.uniform(18, 90, n))
    missing = rng.uniform(size=n) < 0.2
    income = np.exp(rng.normal(10.5, 0.9, n))
    return {
        "sex": Drawn(rng.integers(0, 2, n)),
        "sex: more": Drawn(rng.integers(0, 3, n)),
        "age": Drawn(
            np.where(missing, SCHEMA.columns["age"].n_ordinary, age),
            np.where(missing, np.nan, numbers),
        ),
        "income": Drawn(*settle_numbers(line_of(SCHEMA.columns["income"]), income)),
    }


def matrix(chunks):
    return np.concatenate(list(chunks))


@pytest.fixture(scope="module")
def fitted():
    rows = records(60)
    return rows, LAW.posterior(rows, np.ones(60), SeededRandomness(1), draws=7)


def test_parameters_are_named_by_column(fitted):
    _, draws = fitted
    assert set(draws) == {
        "sex: log_probabilities",
        "sex: more: log_probabilities",
        "age: log_kinds",
        "age: coefficients",
        "age: variances",
        "income: log_shares",
        "income: coefficients",
        "income: variances",
    }
    assert all(len(array) == 7 for array in draws.values())
    assert LAW.part(draws, SEX).keys() == {"log_probabilities"}
    assert LAW.part(draws, SEX)["log_probabilities"].shape == (7, 1, 2)
    assert LAW.part(draws, MORE)["log_probabilities"].shape == (7, 2, 3)


@pytest.mark.parametrize("chunk", [1, 130, 1 << 21])
@pytest.mark.nightly(every=3)
def test_likelihoods_and_contributions_add_up(fitted, monkeypatch, chunk):
    monkeypatch.setattr("understudy.papers.sampling_base.slices.__kwdefaults__", {"chunk": chunk})
    rows, draws = fitted
    weights = np.linspace(0, 1, 60)
    plain, weighted = np.zeros((7, 60)), np.zeros((7, 60))
    for column_model in LAW.column_models:
        own = LAW.part(draws, column_model)
        plain += matrix(column_model.log_likelihoods(own, rows))
        weighted += matrix(column_model.log_contributions(own, rows, weights))
    assert matrix(LAW.log_likelihoods(draws, rows)) == pytest.approx(plain)
    found = list(LAW.log_contributions(draws, rows, weights))
    assert np.concatenate(found) == pytest.approx(weighted)
    assert len(found) == -(-7 // max(1, chunk // 60))
    assert (matrix(LAW.log_contributions(draws, rows, np.zeros(60))) == 0).all()


def test_the_posterior_is_that_of_each_column():
    """Each with its weights: the same words give the same draws."""
    rows, weights = records(40), np.linspace(0, 1, 40)
    together = LAW.posterior(rows, weights, SeededRandomness(2), draws=3)
    source = SeededRandomness(2)
    for column_model in LAW.column_models:
        for name, array in column_model.posterior(rows, weights, source, draws=3).items():
            assert (together[f"{column_model.column}: {name}"] == array).all()


def test_children_are_drawn_given_the_parents_that_were_drawn():
    theta = {
        "sex: log_probabilities": np.log([[0.3, 0.7]]),
        "sex: more: log_probabilities": np.array([[0.0, -99.0, -99.0], [-99.0, -99.0, 0.0]]),
    }
    column_model, n = SequentialModel((SEX, MORE)), 5000
    uniforms = np.random.default_rng(3).uniform(size=(2, 3, n))
    new = column_model.sample(theta, {}, uniforms)
    assert tuple(new) == column_model.columns == ("sex", "sex: more")
    assert stats.binomtest(int(new["sex"].states.sum()), n, 0.7).pvalue > LEVEL
    assert (new["sex: more"].states == 2 * new["sex"].states).all()


def test_given_columns_stay_as_they_are_and_do_not_come_out(fitted):
    rows, draws = fitted
    column_model = SequentialModel((INCOME,), given=("sex", "age"))
    theta = {name: array[0] for name, array in draws.items() if name.startswith("income")}
    uniforms = np.random.default_rng(4).uniform(size=(1, 3, 60))
    new = column_model.sample(theta, rows, uniforms)
    assert tuple(new) == ("income",)
    expected = INCOME.draw(column_model.part(theta, INCOME), rows, uniforms[0])
    assert (new["income"].numbers == expected.numbers).all()


def test_whole_records_of_a_chain(fitted):
    _, draws = fitted
    theta = {name: array[0] for name, array in draws.items()}
    new = LAW.sample(theta, {}, np.random.default_rng(5).uniform(size=(4, 3, 500)))
    for name, column in SCHEMA.columns.items():
        assert new[name].states.shape == (500,)
        assert ((new[name].states >= 0) & (new[name].states < column.size)).all()


def test_the_own_values_of_drawn_columns_are_never_read(fitted):
    """Given whole records, children follow the new parents and not the old ones."""
    rows, draws = fitted
    theta = {name: array[0] for name, array in draws.items()}
    uniforms = np.random.default_rng(8).uniform(size=(4, 3, 60))
    new, again = LAW.sample(theta, {}, uniforms), LAW.sample(theta, rows, uniforms)
    for name in LAW.columns:
        assert np.array_equal(new[name].states, again[name].states)
    assert (new["income"].numbers == again["income"].numbers).all()


def test_labels_of_the_laws_of_numbers(fitted):
    rows, draws = fitted
    theta = {name: array[0] for name, array in draws.items()}
    uniforms = np.random.default_rng(6).uniform(size=(4, 3, 60))
    labels = LAW.labels(theta, rows, uniforms[:, 0])
    assert set(labels) == {"age", "income"}
    own = LAW.part(theta, INCOME)
    assert (labels["income"] == INCOME.labels(own, rows, uniforms[3, 0])).all()
    new = LAW.sample(theta, {}, uniforms, labels)
    expected = INCOME.draw_labelled(own, new, labels["income"], uniforms[3])
    assert (new["income"].numbers == expected.numbers).all()
    free = LAW.sample(theta, {}, uniforms)
    assert (free["sex"].states == new["sex"].states).all()
    assert (free["income"].numbers != new["income"].numbers).any()


def test_no_records():
    rows = records(0)
    draws = LAW.posterior(rows, np.ones(0), SeededRandomness(7), draws=3)
    assert matrix(LAW.log_likelihoods(draws, rows)).shape == (3, 0)
    new = LAW.sample({name: one[0] for name, one in draws.items()}, {}, np.empty((4, 3, 0)))
    assert len(new["income"].states) == 0


@pytest.mark.parametrize(
    ("column_models", "given"),
    [((), ()), ((SEX, SEX), ()), ((MORE, SEX), ()), ((SEX,), ("sex",)), ((INCOME,), ("sex",))],
)
def test_columns_out_of_order_are_refused(column_models, given):
    with pytest.raises(ValueError, match="model"):
        SequentialModel(column_models, given)
