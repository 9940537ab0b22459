"""The target of a weighted logit against its formula, record by record."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from understudy.papers import categorical_models
from understudy.papers.categorical_models import WeightedLogit, own_logs


def target(n=40, p=3, m=2, seed=1, weights=None):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, p - 1))])
    return WeightedLogit(
        design=design,
        outcomes=rng.integers(0, m + 1, n),
        weights=rng.uniform(size=n) if weights is None else weights,
        size=m,
        precisions=np.linspace(0.2, 1.5, p),
    )


def logs(of, point):
    """Log P of all outcomes, shape (n, 1 + m)."""
    return log_softmax(np.column_stack([np.zeros(len(of.design)), of.design @ point.T]), axis=1)


def height(of, point):
    """Log of prior and weighted likelihood, one record after the other."""
    found = -0.5 * sum(
        of.precisions[j] * point[k, j] ** 2 for k, j in itertools.product(*map(range, of.shape))
    )
    found += sum(
        weight * row[outcome]
        for weight, row, outcome in zip(of.weights, logs(of, point), of.outcomes, strict=True)
    )
    return found


@pytest.mark.parametrize(("p", "m"), [(1, 1), (3, 1), (3, 2), (2, 5)])
def test_heights_are_prior_and_powers_of_likelihoods(p, m):
    of = target(p=p, m=m)
    points = np.random.default_rng(2).normal(0, 2, (6, m, p))
    heights, _ = of.evaluate(points)
    assert heights == pytest.approx([height(of, point) for point in points])


def test_gradients_and_second_derivatives_are_those_of_heights():
    of, step = target(), 1e-5
    point = np.random.default_rng(3).normal(size=of.shape)
    (gradient,) = of.evaluate(point[np.newaxis])[1]
    curvature = of.curvature(point)
    assert curvature == pytest.approx(curvature.T, rel=1e-12)
    for at in range(point.size):
        move = np.zeros(point.size)
        move[at] = step
        ends = np.array([point - move.reshape(of.shape), point + move.reshape(of.shape)])
        heights, slopes = of.evaluate(ends)
        assert gradient.ravel()[at] == pytest.approx(np.diff(heights)[0] / (2 * step), abs=1e-6)
        change = -(slopes[1] - slopes[0]).ravel() / (2 * step)
        assert curvature[at] == pytest.approx(change, abs=1e-6)


def test_blocks_of_records_add_up(monkeypatch):
    of = target(n=50)
    points = np.random.default_rng(4).normal(size=(3, *of.shape))
    whole = (*of.evaluate(points), of.curvature(points[0]))
    own = own_logs(points, of.design, of.outcomes)
    monkeypatch.setattr(categorical_models, "BLOCK", 7 * 6)
    for one, other in zip((*of.evaluate(points), of.curvature(points[0])), whole, strict=True):
        assert one == pytest.approx(other)
    assert own_logs(points, of.design, of.outcomes) == pytest.approx(own)


def test_own_probabilities_record_by_record():
    of = target(m=3)
    points = np.random.default_rng(5).normal(size=(4, *of.shape))
    found = own_logs(points, of.design, of.outcomes)
    for s, i in itertools.product(range(4), range(40)):
        assert found[s, i] == pytest.approx(logs(of, points[s])[i, of.outcomes[i]])


def test_predictors_far_beyond_the_range_of_exponentials():
    of = target()
    points = np.full((1, *of.shape), 1e5)
    points[0, 0] *= -1
    found = own_logs(points, of.design, of.outcomes)
    expected = logs(of, points[0])[np.arange(40), of.outcomes]
    assert found[0] == pytest.approx(expected)
    (high,), (gradient,) = of.evaluate(points)
    assert high == pytest.approx(height(of, points[0]))
    assert np.isfinite(gradient).all()


def test_no_records_and_weights_of_nothing_leave_the_prior():
    for of in (target(n=0), target(n=9, weights=np.zeros(9))):
        points = np.random.default_rng(6).normal(size=(2, *of.shape))
        heights, gradients = of.evaluate(points)
        assert heights == pytest.approx(-0.5 * np.sum(of.precisions * points**2, axis=(1, 2)))
        assert gradients == pytest.approx(-of.precisions * points)
        assert of.curvature(points[0]) == pytest.approx(np.diag(np.tile(of.precisions, 2)))


def test_a_single_outcome_is_certain():
    of = target(m=0)
    heights, gradients = of.evaluate(np.zeros((2, 0, 3)))
    assert heights.tolist() == [0, 0]
    assert gradients.shape == (2, 0, 3)
    assert of.curvature(np.zeros((0, 3))).shape == (0, 0)
    assert (own_logs(np.zeros((2, 0, 3)), of.design, of.outcomes) == 0).all()
