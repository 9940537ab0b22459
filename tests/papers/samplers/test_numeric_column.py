"""Laws of numeric columns: kinds, numbers, and what comes out. False alarms: 1e-5 each."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.design import list_indicated
from understudy.features.grids import Drawn, line_of, settle_numbers
from understudy.papers.categorical_models import StateTable
from understudy.papers.column_models import NO_LABEL, NumberModel
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
[columns.age]
kind = "integer"
lower = 18
upper = 90
[columns.income]
kind = "continuous"
lower = -7000
upper = 1800000
bins = [-7000, 20000, 60000, 1800000]
spikes = [0, 1000]
missing = ["?"]
decimals = 0
"""
)
INCOME = SCHEMA.columns["income"]
SPECIAL = list_indicated(INCOME)
MIXTURE = MixtureRegression(prior=MixturePrior(components=3), burn_in=5, thin=1)


def records(n, seed=1):
    rng = np.random.default_rng(seed)
    age = Drawn(*settle_numbers(line_of(SCHEMA.columns["age"]), rng.uniform(18, 90, n)))
    states, numbers = settle_numbers(line_of(INCOME), np.exp(rng.normal(10.5, 0.9, n)))
    kinds = rng.integers(0, 6, n)  # half of them ordinary
    special = np.array(SPECIAL)[kinds % 3]
    states = np.where(kinds < 3, states, special)
    numbers = np.where(kinds < 3, numbers, np.nan)
    return {"sex": Drawn(rng.integers(0, 2, n)), "age": age, "income": Drawn(states, numbers)}


def income(regression=MIXTURE, **options):
    given = {"kind_parents": ("sex",)} | options
    return NumberModel.of(SCHEMA, "income", ("age", "sex"), regression, **given)


def kind(state):
    return 1 + SPECIAL.index(state) if state in SPECIAL else 0


def one_of(draws, s):
    return {name: array[s] for name, array in draws.items()}


def matrix(chunks):
    return np.concatenate(list(chunks))


# --- likelihoods ---


@pytest.mark.parametrize(
    ("options", "transformed"),
    [
        ({}, lambda y: np.arcsinh(y / 1.8e3)),
        ({"form": "log", "offset": 7001.0}, lambda y: np.log(y + 7001.0)),
        ({"form": "identity"}, lambda y: y),
    ],
)
def test_likelihoods_record_by_record(options, transformed):
    """P(kind) times the density of t(y), which is normal within each component."""
    column_model, rows = income(**options), records(30)
    draws = column_model.posterior(rows, np.ones(30), SeededRandomness(2), draws=4)
    found = matrix(column_model.log_likelihoods(draws, rows))
    design = column_model.features.matrix(rows, 30)
    shift, scale = column_model.response.shift, column_model.response.scale
    for s in range(4):
        one = one_of(draws, s)
        for i in range(30):
            k = kind(rows["income"].states[i])
            expected = one["log_kinds"][rows["sex"].states[i], k]
            if k == 0:
                means = shift + scale * (one["coefficients"] @ design[i])
                parts = stats.norm.logpdf(
                    transformed(rows["income"].numbers[i]), means, scale * one["variances"] ** 0.5
                )
                expected += logsumexp(one["log_shares"] + parts)
            assert found[s, i] == pytest.approx(expected)


def test_contributions_go_from_nothing_to_the_likelihood():
    column_model, rows = income(), records(40)
    draws = column_model.posterior(rows, np.ones(40), SeededRandomness(3), draws=4)
    plain = matrix(column_model.log_likelihoods(draws, rows))
    assert (matrix(column_model.log_contributions(draws, rows, np.zeros(40))) == 0).all()
    assert (matrix(column_model.log_contributions(draws, rows, np.ones(40))) == plain).all()
    weights = np.linspace(0, 1, 40)
    single = income(NormalLinear())
    draws = single.posterior(rows, weights, SeededRandomness(3), draws=4)
    expected = weights * matrix(single.log_likelihoods(draws, rows))
    assert matrix(single.log_contributions(draws, rows, weights)) == pytest.approx(expected)


def test_chunks_are_cut_by_all_records(monkeypatch):
    """Not by those with a number, so that columns with and without codes can be added up."""
    monkeypatch.setattr("understudy.papers.sampling_base.slices.__kwdefaults__", {"chunk": 90})
    rows = records(30)
    for column_model in (income(), NumberModel.of(SCHEMA, "age", ("sex",), NormalLinear())):
        draws = column_model.posterior(rows, np.ones(30), SeededRandomness(4), draws=7)
        parts = [one.shape for one in column_model.log_likelihoods(draws, rows)]
        assert parts == [(3, 30), (3, 30), (1, 30)]


# --- posteriors ---


class Listening(NormalLinear):
    """A regression that keeps what it was given."""

    def draws(self, responses, design, weights, source, *, draws):
        object.__setattr__(self, "heard", (responses, design, weights))
        return super().draws(responses, design, weights, source, draws=draws)


def test_the_regression_hears_of_ordinary_numbers_with_their_weights():
    regression = Listening()
    column_model, rows, weights = income(regression), records(50), np.linspace(0, 1, 50)
    column_model.posterior(rows, weights, SeededRandomness(5), draws=2)
    responses, design, heard = regression.heard
    at = [i for i in range(50) if kind(rows["income"].states[i]) == 0]
    assert 0 < len(at) < 50
    assert (heard == weights[at]).all()
    assert responses == pytest.approx(column_model.response.to(rows["income"].numbers[at]))
    assert design == pytest.approx(column_model.features.matrix(rows, 50)[at])


def test_kinds_have_weighted_dirichlet_posteriors():
    column_model, rows, weights = income(NormalLinear()), records(50), np.linspace(0, 1, 50)
    draws = column_model.posterior(rows, weights, SeededRandomness(6), draws=4000)
    shapes = np.full((2, 4), 0.5)
    plain = shapes.copy()
    for i in range(50):
        at = rows["sex"].states[i], kind(rows["income"].states[i])
        shapes[at] += weights[i]
        plain[at] += 1

    def worst(shapes):
        shares, whole = np.exp(draws["log_kinds"]), shapes.sum(axis=1)
        return min(
            stats.kstest(shares[:, c, k], stats.beta(a, whole[c] - a).cdf).pvalue
            for (c, k), a in np.ndenumerate(shapes)
        )

    assert worst(shapes) > LEVEL
    assert worst(plain) < LEVEL


@pytest.mark.parametrize("regression", [MIXTURE, NormalLinear()])
def test_no_records_and_no_number_among_them(regression):
    column_model = income(regression)
    for rows in (records(0), {name: _first(one, 6) for name, one in _codes().items()}):
        n = len(rows["sex"].states)
        draws = column_model.posterior(rows, np.ones(n), SeededRandomness(7), draws=3)
        assert matrix(column_model.log_likelihoods(draws, rows)).shape == (3, n)
        new = column_model.draw(one_of(draws, 0), records(9), np.full((3, 9), 0.4))
        assert len(new.states) == 9


def _codes():
    """Records none of which has a number."""
    rows = records(60)
    at = np.array([kind(state) for state in rows["income"].states]) > 0
    return {
        name: Drawn(one.states[at], None if one.numbers is None else one.numbers[at])
        for name, one in rows.items()
    }


def _first(drawn, n):
    return Drawn(drawn.states[:n], None if drawn.numbers is None else drawn.numbers[:n])


# --- new values ---

N = 6000
THETA = {
    "log_kinds": np.log([[0.4, 0.3, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1]]),
    "log_shares": np.log([0.6, 0.3, 0.1]),
    "coefficients": np.array([[-0.5, 0.4, 0.0], [0.5, 0.0, 0.3], [-2.8, 0.0, 0.0]]),
    "variances": np.array([0.2, 0.6, 0.1]),
}


def drawn(column_model, seed=8, n=N):
    rows, uniforms = records(n), np.random.default_rng(seed).uniform(size=(3, n))
    return rows, uniforms, column_model.draw(THETA, rows, uniforms)


def test_new_values_are_states_and_numbers_of_the_column():
    rows, _, new = drawn(income())
    kinds = np.array([kind(state) for state in new.states])
    assert (np.isnan(new.numbers) == (kinds > 0)).all()
    numbers = new.numbers[kinds == 0]
    states, again = settle_numbers(line_of(INCOME), numbers)
    assert (states == new.states[kinds == 0]).all()
    assert (again == numbers).all()
    assert not np.isin(numbers, [0, 1000]).any()
    assert numbers.min() == -7000  # the third component reaches beyond the bound
    for sex in (0, 1):
        counts = np.bincount(kinds[rows["sex"].states == sex], minlength=4)
        expected = counts.sum() * np.exp(THETA["log_kinds"][sex])
        assert stats.chisquare(counts, expected).pvalue > LEVEL
        assert stats.chisquare(counts, counts.sum() * np.full(4, 0.25)).pvalue < LEVEL


def test_new_numbers_are_those_of_the_regression_brought_back():
    column_model = income()
    rows, uniforms, new = drawn(column_model)
    z = MIXTURE.numbers(THETA, column_model.features.matrix(rows, N), uniforms[1:])
    there = ~np.isnan(new.numbers)
    _, expected = settle_numbers(line_of(INCOME), column_model.response.back(z[there]))
    assert (new.numbers[there] == expected).all()


def test_new_values_do_not_depend_on_the_own_ones():
    column_model = income()
    rows, uniforms, new = drawn(column_model)
    others = records(N, seed=2)["income"]
    assert not np.array_equal(others.states, rows["income"].states)
    parents = {name: rows[name] for name in ("sex", "age")}
    for given in (parents, parents | {"income": others}):
        again = column_model.draw(THETA, given, uniforms)
        assert np.array_equal(again.states, new.states)
        assert np.array_equal(again.numbers, new.numbers, equal_nan=True)


def test_labels_are_of_records_with_numbers():
    column_model = income()
    rows, uniforms, new = drawn(column_model)
    labels = column_model.labels(THETA, rows, uniforms[0])
    there = ~np.isnan(rows["income"].numbers)
    assert (labels[~there] == NO_LABEL).all()
    design = column_model.features.matrix(rows, N)[there]
    z = column_model.response.to(rows["income"].numbers[there])
    assert (labels[there] == MIXTURE.labels(THETA, z, design, uniforms[0][there])).all()
    free = column_model.draw_labelled(THETA, rows, np.full(N, NO_LABEL), uniforms)
    assert np.array_equal(free.numbers, new.numbers, equal_nan=True)
    given = column_model.draw_labelled(THETA, rows, np.full(N, 2), uniforms)
    assert np.nanmax(given.numbers) < 3e4  # all of the third component
    assert np.nanmax(new.numbers) > 3e5
    assert (np.isnan(given.numbers) == np.isnan(new.numbers)).all()  # kinds are drawn anew


# --- configurations ---


def test_parents_are_those_of_both_parts():
    column_model = NumberModel.of(SCHEMA, "income", ("age",), MIXTURE, kind_parents=("sex", "age"))
    assert column_model.parents == ("age", "sex")
    assert column_model.kinds.given == {"sex": 2, "age": SCHEMA.columns["age"].size}
    plain = NumberModel.of(SCHEMA, "age", ("sex",), MIXTURE)
    assert plain.kinds is None
    assert plain.parents == ("sex",)
    rows = records(20)
    assert "log_kinds" not in plain.posterior(rows, np.ones(20), SeededRandomness(9), draws=2)


def test_kinds_that_are_not_those_of_the_column_are_refused():
    column_model = income()
    for kinds in (None, StateTable("income", 3), StateTable("income", 5)):
        with pytest.raises(MethodError, match="'income' has 3 spikes and codes"):
            replace(column_model, kinds=kinds)
    plain = NumberModel.of(SCHEMA, "age", (), NormalLinear())
    with pytest.raises(MethodError, match="'age' has 0 spikes and codes"):
        replace(plain, kinds=StateTable("age", 1))


def test_a_column_without_numbers_is_refused():
    with pytest.raises(MethodError, match="'sex' has no numbers"):
        NumberModel.of(SCHEMA, "sex", (), NormalLinear())
    with pytest.raises(MethodError, match="'sex' has no numbers; use a table"):
        replace(NumberModel.of(SCHEMA, "age", (), NormalLinear()), column="sex", declared=_sex())


def _sex():
    return SCHEMA.columns["sex"]
