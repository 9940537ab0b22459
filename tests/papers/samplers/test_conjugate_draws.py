"""Gamma, normal and Wishart draws against their laws. False alarms: 1e-5 for each comparison."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from understudy.dp.randomness import SeededRandomness
from understudy.papers.sampling_base import (
    gammas,
    gammas_below,
    log_gammas,
    many_log_gammas,
    normals,
    wisharts,
)

N = 20_000
LEVEL = 1e-5


def p_value(sample, column_model):
    return stats.kstest(sample, column_model.cdf).pvalue


def test_normals():
    drawn = normals((100, N // 100), SeededRandomness(1))
    assert drawn.shape == (100, N // 100)
    assert p_value(drawn.ravel(), stats.norm()) > LEVEL
    assert p_value(drawn.ravel(), stats.norm(0, 1.1)) < LEVEL


@pytest.mark.parametrize("shape", [0.5, 1.0, 7.3, 3000.0])
@pytest.mark.nightly(every=2)
def test_gammas(shape):
    drawn = gammas(np.full(N, shape), SeededRandomness(2))
    assert p_value(drawn, stats.gamma(shape)) > LEVEL
    assert p_value(drawn, stats.gamma(shape * 1.1)) < LEVEL


def test_gammas_of_a_tiny_shape_have_finite_logarithms():
    """s·log G → log U as s → 0; the number itself is 0 in double precision."""
    logs = log_gammas(np.full(N, 1e-5), SeededRandomness(3))
    assert np.isfinite(logs).all()
    assert np.exp(logs).min() == 0
    assert p_value(-1e-5 * logs, stats.expon()) > LEVEL
    assert p_value(-1.1e-5 * logs, stats.expon()) < LEVEL


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 7.3, 1e6])
@pytest.mark.nightly(every=3)
def test_gammas_by_rejection_have_the_same_law(shape):
    logs = many_log_gammas(np.full((N // 5, 5), shape), SeededRandomness(30))
    assert logs.shape == (N // 5, 5)
    column_model = stats.loggamma(shape)
    assert p_value(logs.ravel(), column_model) > LEVEL
    assert p_value(logs.ravel() + 0.1 * column_model.std(), column_model) < LEVEL
    assert (
        p_value(1.1 * (logs.ravel() - column_model.mean()) + column_model.mean(), column_model)
        < LEVEL
    )


def test_gammas_by_rejection_each_by_its_own_shape():
    shapes = np.tile([0.2, 40.0], N)
    logs = many_log_gammas(shapes, SeededRandomness(31))
    assert p_value(logs[::2], stats.loggamma(0.2)) > LEVEL
    assert p_value(logs[1::2], stats.loggamma(40.0)) > LEVEL
    assert many_log_gammas(np.empty((0, 3)), SeededRandomness(32)).shape == (0, 3)
    assert np.isfinite(many_log_gammas(np.full(N, 1e-5), SeededRandomness(33))).all()


@pytest.mark.parametrize(("shape", "ceiling"), [(0.5, 0.1), (3.0, 2.0), (1.5, 1e-9), (80.0, 70.0)])
@pytest.mark.nightly(every=2)
def test_gammas_below_a_ceiling(shape, ceiling):
    drawn = gammas_below(np.full(N, shape), np.full(N, ceiling), SeededRandomness(4))
    whole = stats.gamma(shape)
    assert drawn.max() <= ceiling
    uniform = np.clip(whole.cdf(drawn) / whole.cdf(ceiling), 0, 1)
    assert p_value(uniform, stats.uniform()) > LEVEL
    assert p_value(uniform**1.1, stats.uniform()) < LEVEL


@pytest.mark.parametrize("ceiling", [1.0, 500.0, 780.0])
@pytest.mark.nightly(every=3)
def test_gammas_far_below(ceiling):
    """Shape 1000, a mass that inversion cannot resolve; the law of t = -log(G/c) on a fine grid."""
    drawn = gammas_below(np.full(N, 1000.0), np.full(N, ceiling), SeededRandomness(5))
    t = np.linspace(0, 40 / (1000 - ceiling), 20_001)
    log_density = -1000 * t - ceiling * np.exp(-t)
    cdf = np.cumsum(np.exp(log_density - logsumexp(log_density)))
    uniform = np.interp(-np.log(drawn / ceiling), t, cdf)
    assert p_value(uniform, stats.uniform()) > LEVEL
    assert p_value(uniform**1.1, stats.uniform()) < LEVEL


def test_ceilings_of_each_kind_side_by_side():
    shapes, ceilings = np.array([1000.0, 2.0, 2.0]), np.array([10.0, np.inf, 1e-9])
    many = gammas_below(np.tile(shapes, (N, 1)), np.tile(ceilings, (N, 1)), SeededRandomness(6))
    assert p_value(many[:, 1], stats.gamma(2.0)) > LEVEL
    assert p_value(many[:, 2] / 1e-9, stats.powerlaw(2.0)) > LEVEL
    assert np.all(many[:, 0] <= 10)
    assert many[:, 0].mean() == pytest.approx(10 * (1 - 1 / 990), rel=1e-4)


def test_wishart_matrices():
    """u'Qu/u'Vu is χ² of df for every u, and |Q|/|V| a product of χ² of df, df - 1, …."""
    inverse = np.array([[2.0, 0.8, 0.3], [0.8, 1.0, -0.2], [0.3, -0.2, 0.5]])
    scale, df = np.linalg.inv(inverse), 4.5
    drawn = wisharts(df, np.tile(inverse, (N, 1, 1)), SeededRandomness(7))
    for u in (np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([1.0, -1.0, 2.0])):
        ratio = np.einsum("i,nij,j->n", u, drawn, u) / (u @ scale @ u)
        assert p_value(ratio, stats.chi2(df)) > LEVEL
        assert p_value(ratio, stats.chi2(df - 0.3)) < LEVEL
    rng = np.random.default_rng(8)
    product = np.prod([rng.chisquare(df - j, N) for j in range(3)], axis=0)
    determinant = np.linalg.det(drawn) / np.linalg.det(scale)
    assert stats.ks_2samp(determinant, product).pvalue > LEVEL
    assert stats.ks_2samp(1.2 * determinant, product).pvalue < LEVEL
