"""The pseudo posterior mechanism: its steps, against closed forms and the definitions."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.grids import Drawn
from understudy.papers.categorical_models import LOGS, StateTable
from understudy.papers.column_models import NumberModel, SequentialModel
from understudy.papers.mixture_gibbs import MixturePrior
from understudy.papers.mixture_regression import MixtureRegression
from understudy.papers.record_weights import (
    PseudoPosterior,
    Weighting,
    isolation_weights,
    raise_weights,
    vector_weights,
)
from understudy.papers.sampling_base import NormalLinear
from understudy.schema import Schema

SCHEMA = Schema.loads("""
row_limit = 10
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[columns.job]
kind = "categorical"
levels = ["a", "b", "c"]
[columns.income]
kind = "continuous"
lower = -5
upper = 1000
bins = 3
""")
FORMS = ("unweighted", "vector", "scalar", "count")
TABLE = SequentialModel((StateTable.of(SCHEMA, "job", ("sex",)),), ("sex",))


def numbers(regression=None):
    column_model = NumberModel.of(SCHEMA, "income", ("sex",), regression or NormalLinear())
    return SequentialModel((column_model,), ("sex",))


def people(n, seed=1):
    """Incomes with a long tail, and jobs of which one is rare."""
    rng = np.random.default_rng(seed)
    income = np.clip(np.exp(rng.normal(2, 1.2, n)) - 3, -5, 1000)
    return {
        "sex": Drawn(rng.integers(0, 2, n)),
        "job": Drawn(rng.choice(3, n, p=[0.7, 0.29, 0.01])),
        "income": Drawn(np.zeros(n, dtype=np.int64), income),
    }


def fit(column_model, records, *, seed=3, draws=100, **weighting):
    mechanism = PseudoPosterior(column_model, Weighting(**weighting), draws)
    return mechanism.fit(records, SeededRandomness(seed))


def slow_bounds(column_model, fitted, records, level):
    """Steps 1 and 2 anew, from the draws and weights that are told."""
    whole = column_model.log_contributions(fitted.theta, records, fitted.weights)
    sizes = np.abs(np.concatenate(list(whole)))
    by_draw = sizes.max(axis=1)
    cut = np.sort(by_draw)[max(1, int(np.ceil(round(level * len(by_draw), 9)))) - 1]
    return sizes[by_draw <= cut].max(axis=0), by_draw <= cut


@pytest.mark.parametrize("form", FORMS[:3])
@pytest.mark.parametrize("level", [0.5, 1.0])
@pytest.mark.parametrize("column_model", [TABLE, numbers()], ids=["states", "numbers"])
def test_the_bounds_are_those_of_the_last_draws_under_the_last_weights(column_model, form, level):
    records = people(40)
    fitted = fit(column_model, records, form=form, level=level)
    by_record, kept = slow_bounds(column_model, fitted, records, level)
    assert np.allclose(fitted.after.by_record, by_record, rtol=1e-12)
    assert fitted.after.kept.tolist() == kept.tolist()
    assert fitted.after.bound == by_record.max()


def test_parameters_are_of_the_posterior_under_the_weights_and_not_of_the_plain_one():
    """Dirichlet(a + Σα), exactly. 4,000 draws: a mean is off by 5 standard errors once in 10⁶."""
    records = people(60)
    fitted = fit(TABLE, records, draws=4_000, scale=0.6, level=1)
    place = 3 * records["sex"].states + records["job"].states

    def mean_and_error(weights):
        shapes = (0.5 + np.bincount(place, weights, minlength=6)).reshape(2, 3)
        mean = shapes / shapes.sum(axis=1, keepdims=True)
        variance = mean * (1 - mean) / (shapes.sum(axis=1, keepdims=True) + 1)
        return mean, np.sqrt(variance / 4_000)

    found = np.exp(fitted.theta[f"job: {LOGS}"]).mean(axis=0)
    mean, error = mean_and_error(fitted.weights)
    assert np.all(np.abs(found - mean) < 5 * error)
    plain, _ = mean_and_error(np.ones(60))
    assert np.any(np.abs(found - plain) > 20 * error)


def test_vector_weights_fall_with_the_bound_under_the_plain_posterior():
    records = people(200)
    fitted = fit(numbers(), records, scale=0.7, shift=-0.1)
    expected = vector_weights(fitted.before.by_record, scale=0.7, shift=-0.1)
    assert fitted.weights.tolist() == expected.tolist()
    assert (fitted.weights.max(), fitted.weights.min()) == (pytest.approx(0.6), 0)
    assert fitted.after.bound < fitted.before.bound / 2
    plain = fit(numbers(), records, form="unweighted")
    assert plain.after.by_record.tolist() == fitted.before.by_record.tolist()  # the same seed
    assert plain.before is None


def test_scalar_weights_are_the_wanted_bound_by_the_plain_one():
    records = people(200)
    vector = fit(numbers(), records, scale=0.7)
    beside = fit(numbers(), records, form="scalar", scale=0.7)
    wanted = fit(numbers(), records, form="scalar", bound=2.0)
    lax = fit(numbers(), records, form="scalar", bound=1e6)
    plain = vector.before.bound
    assert beside.weights == pytest.approx(vector.after.bound / plain)
    assert wanted.weights == pytest.approx(2 / plain)
    assert np.all(lax.weights == 1)


def test_weights_are_raised_once_from_the_bounds_that_they_reached():
    records = people(200)
    vector = fit(numbers(), records)
    raised = fit(numbers(), records, reweight=0.8)
    expected = raise_weights(vector.weights, vector.after.by_record, share=0.8)
    assert raised.weights.tolist() == expected.tolist()
    assert raised.after.by_record.tolist() != vector.after.by_record.tolist()


def test_count_weights_are_those_of_the_column_among_equal_predictors():
    records = people(200)
    fitted = fit(numbers(), records, form="count", radius=0.3)
    column = SCHEMA.columns["income"]
    expected = isolation_weights(column, records["income"], [records["sex"]], 0.3)
    assert fitted.weights.tolist() == expected.tolist()


def test_count_weights_compare_records_that_the_intruder_cannot_tell_apart():
    """Of two predictors one is known; without a list all are."""
    rng, records = np.random.default_rng(3), people(200)
    records = {**records, "job": Drawn(rng.integers(0, 3, 200))}
    income = numbers().column_models[0]
    column_model = SequentialModel((income,), ("sex", "job"))
    column = SCHEMA.columns["income"]
    for columns in ((), ("job",), ("sex", "job")):
        fitted = fit(column_model, records, form="count", columns=columns)
        given = [records[name] for name in columns or ("sex", "job")]
        expected = isolation_weights(column, records["income"], given, 0.2)
        assert fitted.weights.tolist() == expected.tolist()
    with pytest.raises(MethodError, match="age is not one"):
        PseudoPosterior(column_model, Weighting(form="count", columns=("job", "age")))


def test_bounds_that_are_given_stand_for_those_of_a_chain():
    records, column_model = people(200), numbers()
    plain = fit(column_model, records, form="unweighted", seed=5).after
    for form in ("vector", "scalar"):
        mechanism = PseudoPosterior(column_model, Weighting(form=form, bound=None), 40)
        fitted = mechanism.fit(records, SeededRandomness(6), before=plain)
        assert fitted.before is plain
        if form == "vector":
            assert fitted.weights.tolist() == vector_weights(plain.by_record).tolist()
        again = mechanism.fit(records, SeededRandomness(6))
        assert again.before is not plain


@pytest.mark.parametrize("level", [0.3, 0.95, 1.0])
@pytest.mark.nightly(every=3)
def test_only_draws_that_were_kept_are_released_each_once_and_in_random_order(level):
    fits = [fit(TABLE, people(30), seed=seed, draws=40, level=level) for seed in range(20)]
    for fitted in fits:
        assert sorted(fitted.order) == np.flatnonzero(fitted.after.kept).tolist()
        first = fitted.draw(0)[f"job: {LOGS}"]
        assert first.shape == (2, 3)
        assert np.array_equal(first, fitted.theta[f"job: {LOGS}"][fitted.order[0]])
    assert len({int(fitted.order[0]) for fitted in fits}) > 5
    assert (
        min(len(one.order) for one in fits)
        >= PseudoPosterior(TABLE, Weighting(level=level), 40).releasable
    )


@pytest.mark.parametrize("level", [0.01, 0.05, 0.95, 0.999, 1.0])
@pytest.mark.parametrize("draws", [1, 7, 40, 500])
def test_so_many_draws_can_be_released_whatever_the_rows(level, draws):
    mechanism = PseudoPosterior(TABLE, Weighting(level=level), draws)
    sizes = np.arange(draws, dtype=np.float64)  # all different: as few are kept as can be
    cut = np.quantile(sizes, level, method="inverted_cdf")
    assert 1 <= mechanism.releasable <= np.sum(sizes <= cut)


@pytest.mark.parametrize("form", FORMS)
def test_without_records_parameters_come_from_the_prior(form):
    """Coefficients of the conjugate prior; five standard errors of 2,000 draws: once in 10⁶."""
    fitted = fit(numbers(), people(0), form=form, draws=2_000)
    assert fitted.after.bound == 0
    assert fitted.weights.shape == (0,)
    scaled = (
        fitted.theta["income: coefficients"] / np.sqrt(fitted.theta["income: variances"])[:, None]
    )
    assert np.all(np.abs(scaled.mean(axis=0)) < 5 * 5 / np.sqrt(2_000))
    assert np.all(np.abs(scaled.std(axis=0) / 5 - 1) < 5 / np.sqrt(4_000))


@pytest.mark.nightly
def test_the_mixture_runs_under_all_weights_and_less_weight_has_a_smaller_bound():
    regression = MixtureRegression(prior=MixturePrior(components=3), burn_in=50, thin=1)
    records, column_model = people(150), numbers(regression)
    bounds = {
        (c, g): fit(column_model, records, scale=c, shift=g, draws=60).after.bound
        for c, g in ((1.0, 0.0), (0.5, 0.0), (0.5, -0.2))
    }
    assert bounds[1.0, 0.0] > bounds[0.5, 0.0] > bounds[0.5, -0.2] > 0


def test_what_cannot_be_is_refused():
    with pytest.raises(MethodError, match="one draw"):
        PseudoPosterior(TABLE, Weighting(), 0)
    with pytest.raises(MethodError, match="one numeric column"):
        PseudoPosterior(TABLE, Weighting(form="count"))
    income = numbers().column_models[0]
    both = SequentialModel((StateTable.of(SCHEMA, "job", ()), income), ("sex",))
    with pytest.raises(MethodError, match="one numeric column"):
        PseudoPosterior(both, Weighting(form="count"))


def test_a_fit_shows_nothing_of_itself():
    shown = repr(fit(TABLE, people(5)))
    assert "array" not in shown
    assert "weights" not in shown.removeprefix("<understudy.papers.record_weights.")
