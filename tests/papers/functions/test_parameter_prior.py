"""Priors of generators: their points are public, nested, and lie more evenly than random ones."""

import numpy as np
import pytest
from scipy.stats import norm, qmc

from understudy.errors import MethodError
from understudy.papers.generators import Prior


def prior(p, mean=0.0, stddev=1.0):
    return Prior(tuple(f"x{j}" for j in range(p)), np.full(p, mean), np.full(p, stddev))


def test_points_begin_with_the_mean_and_fewer_are_the_first_of_more():
    of = prior(7, mean=2.0, stddev=3.0)
    many = of.points(300)
    assert many.shape == (300, 7)
    assert many[0].tolist() == [2.0] * 7
    for n in (0, 1, 2, 3, 64, 65, 129, 299):
        assert np.array_equal(of.points(n), many[:n])
    assert np.isfinite(many).all()


def test_points_have_the_moments_of_the_prior():
    """Errors of 4,000 random points would be .016 and .011 (one standard deviation)."""
    points = prior(5, mean=1.0, stddev=0.5).points(4000)
    assert points.mean(axis=0) == pytest.approx(np.full(5, 1.0), abs=0.002)
    assert points.std(axis=0) == pytest.approx(np.full(5, 0.5), abs=0.002)


def test_points_fill_the_prior_more_evenly_than_random_ones():
    """Centred L2 discrepancy of 512 points in 8 dimensions, against the best of 20 random sets."""
    even = norm.cdf(prior(8).points(513)[1:])
    rng = np.random.default_rng(1)
    random = [qmc.discrepancy(rng.random((512, 8))) for _ in range(20)]
    assert qmc.discrepancy(even) < 0.5 * min(random)


def test_points_of_another_prior_are_these_moved_and_scaled():
    of = prior(3)
    near = of.around(np.array([1.0, -1.0, 0.0]), 0.1)
    assert near.names == of.names
    assert near.points(50) == pytest.approx(of.points(50) * 0.1 + [1.0, -1.0, 0.0])


def test_log_density_is_the_normal_one_up_to_a_constant():
    of = Prior(("a", "b"), np.array([0.5, -1.0]), np.array([2.0, 0.1]))
    theta = np.random.default_rng(1).normal(size=(4, 3, 2))
    expected = norm.logpdf(theta, of.means, of.stddevs).sum(axis=-1)
    found = of.log_density(theta)
    assert found.shape == (4, 3)
    assert found - found[0, 0] == pytest.approx(expected - expected[0, 0])


def test_joined_priors_stand_one_after_the_other():
    both = Prior.join([prior(2), Prior.join([]), prior(1, mean=3.0, stddev=2.0)])
    assert both.names == ("x0", "x1", "x0")
    assert both.means.tolist() == [0, 0, 3]
    assert both.stddevs.tolist() == [1, 1, 2]
    assert Prior.join([]).points(4).shape == (4, 0)


def test_what_is_no_prior_is_refused():
    one = np.ones(1)
    for means, stddevs in ((one, 0 * one), (np.ones(2), one), (one, -one), (one * np.inf, one)):
        with pytest.raises(ValueError, match="a prior"):
            Prior(("x",), means, stddevs)
    with pytest.raises(MethodError, match="at most 21201 parameters"):
        prior(21202).points(2)
