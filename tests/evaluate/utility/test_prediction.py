"""Measures of prediction and their errors, and training on synthetic rows."""

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from night import NIGHT
from understudy.evaluate import prediction
from understudy.evaluate.prediction import (
    accuracy,
    area_under_curve,
    default_target,
    prediction_scores,
    r_squared,
)


def predictions(n, seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    return truth, np.round(truth + rng.normal(size=n), 1)


def test_measures_are_those_of_scikit_learn():
    truth, score = predictions(200, 0)
    assert area_under_curve(truth, score).value == pytest.approx(roc_auc_score(truth, score))
    number = truth + score
    assert r_squared(number, score).value == pytest.approx(r2_score(number, score))
    assert accuracy(truth == (score > 0.5)).value == np.mean(truth == (score > 0.5))


MEASURES = {
    "area": area_under_curve,
    "accuracy": lambda truth, score: accuracy(truth == (score > 0.5)),
    "R²": lambda truth, score: r_squared(truth + score, score / 2),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_the_standard_error_is_that_of_repeated_samples(measure):
    """1,000 samples by night: the sd has a relative error of 2.3 %; 400 by day, of 3.5 %."""
    found = [measure(*predictions(300, seed)) for seed in range(1000 if NIGHT else 400)]
    stated = np.mean([one.influence.std() / np.sqrt(300) for one in found])
    assert stated == pytest.approx(np.std([one.value for one in found]), rel=0.1)
    assert np.mean(found[0].influence) == pytest.approx(0, abs=1e-12)


def test_the_default_target_has_two_states(compare):
    assert default_target(compare()) == 2


@pytest.mark.nightly
def test_a_fresh_sample_trains_as_well_as_the_original(compare):
    """One seed; within 4 standard errors of the difference."""
    for score in prediction_scores(compare(3000), 2):
        assert abs(score.standardised) < 4
        assert score.better == "high"
        assert "standard error" in score.note


def test_noise_trains_worse(compare):
    comparison = compare(3000)
    rng = np.random.default_rng(0)
    noise = [rng.permutation(codes) for codes in comparison.original]
    (score,) = prediction_scores(comparison.with_sets([noise]), 1)
    assert score.value == pytest.approx(0, abs=0.2)
    assert score.standardised < -5
    areas = prediction_scores(comparison.with_sets([noise]), 2)
    assert areas[1].value == pytest.approx(0.5, abs=0.1)


def test_numbers_are_predicted_by_regression(compare):
    (score,) = prediction_scores(compare(1000), 1)
    assert score.name == "trained on synthetic, R² for age"
    assert 0 < score.value < score.null + 0.1


def test_levels_are_predicted_by_classes(compare):
    share, area = prediction_scores(compare(500), 0)
    assert "accuracy for city" in share.name
    assert "curve for city" in area.name
    assert 0.5 < area.value < area.null + 0.1


def test_the_area_of_many_classes_is_the_mean_of_each_against_the_rest(compare):
    rng = np.random.default_rng(3)
    truth, shares = rng.integers(0, 3, 300), rng.dirichlet(np.ones(3), 300)
    shares[np.arange(300), truth] += 0.2
    shares /= shares.sum(axis=1, keepdims=True)
    task = prediction._task(compare(100), 0, compare(100).original)
    area = task._area(truth, shares, np.arange(3))["area under the curve"]
    assert area.value == pytest.approx(roc_auc_score(truth, shares, multi_class="ovr"))
    assert area.influence.mean() == pytest.approx(0, abs=1e-12)
    unknown = task._area(truth, shares[:, :2], np.arange(2))["area under the curve"]
    each = [roc_auc_score(truth == k, shares[:, k]) for k in range(2)]
    assert unknown.value == pytest.approx(np.mean([*each, 0.5]))  # the third class is not learned


def test_a_set_with_one_class_predicts_it(compare):
    comparison = compare(1000)
    constant = [codes.copy() for codes in comparison.sets[0]]
    constant[2][:] = 1
    scores = prediction_scores(comparison.with_sets([constant]), 2)
    area = next(score for score in scores if "curve" in score.name)
    assert area.value == 0.5


@pytest.mark.parametrize("n", [1, 40])
def test_too_few_rows_are_not_predicted(compare, n):
    assert "fewer than 50 rows" in prediction_scores(compare(n), 2)
