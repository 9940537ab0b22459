"""The prior of the mixture: what its laws are, in closed form. False alarms: 1e-5 each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.papers.mixture_gibbs import MixturePrior

N = 20_000
LEVEL = 1e-5
PRIOR = MixturePrior(components=2, coefficient_scale=1.7, noise_scale=0.6, noise_floor=0.0)


def half_t(df, scale, low=0.0):
    """The cdf of a half-t variable, given that it is at least `low`."""
    tail = stats.t(df).sf(low / scale)
    return lambda x: 1 - stats.t(df).sf(np.maximum(x, low) / scale) / tail


@pytest.fixture(scope="module")
def state():
    return PRIOR.draw(3, N, SeededRandomness(1))


def test_standard_deviations_of_coefficients_are_half_t(state):
    covariance = np.linalg.inv(state.precision)
    for j in range(3):
        deviation = np.sqrt(covariance[:, j, j])
        assert stats.kstest(deviation, half_t(2, 1.7)).pvalue > LEVEL
        assert stats.kstest(deviation, half_t(2, 1.9)).pvalue < LEVEL
        assert stats.kstest(deviation, half_t(3, 1.7)).pvalue < LEVEL


def test_correlations_are_uniform(state):
    covariance = np.linalg.inv(state.precision)
    for j, k in ((0, 1), (0, 2), (1, 2)):
        r = covariance[:, j, k] / np.sqrt(covariance[:, j, j] * covariance[:, k, k])
        assert stats.kstest(r, stats.uniform(-1, 2).cdf).pvalue > LEVEL
        assert stats.kstest(r, stats.uniform(-1, 2.1).cdf).pvalue < LEVEL


def test_coefficients_have_the_covariance_that_is_drawn_with_them(state):
    """β'Σ⁻¹β is χ² of p degrees, and independent of the second component's."""
    forms = np.einsum(
        "cki,cij,ckj->ck", state.mixtures.coefficients, state.precision, state.mixtures.coefficients
    )
    for k in range(2):
        assert stats.kstest(forms[:, k], stats.chi2(3).cdf).pvalue > LEVEL
    assert stats.pearsonr(forms[:, 0], forms[:, 1]).pvalue > LEVEL


def test_scales_are_half_t_and_their_rates_fit(state):
    """b has the law that its own prior says, and ν'/b·σ⁻² given b is gamma."""
    scales = np.sqrt(state.mixtures.variances[:, 1])
    assert stats.kstest(scales, half_t(3, 0.6)).pvalue > LEVEL
    assert stats.kstest(scales, half_t(2, 0.6)).pvalue < LEVEL
    rates = state.noise_rates[:, 1]
    assert stats.kstest(rates, stats.gamma(0.5, scale=0.36).cdf).pvalue > LEVEL
    given = 3 * rates / state.mixtures.variances[:, 1]
    assert stats.kstest(given, stats.gamma(1.5).cdf).pvalue > LEVEL
    assert stats.kstest(given, stats.gamma(1.6).cdf).pvalue < LEVEL


def test_the_floor_cuts_the_law_of_the_scales():
    prior = MixturePrior(components=1, noise_scale=0.6, noise_floor=0.5)
    scales = np.sqrt(prior.draw(1, N, SeededRandomness(2)).mixtures.variances[:, 0])
    assert scales.min() >= 0.5
    assert stats.kstest(scales, half_t(3, 0.6, 0.5)).pvalue > LEVEL
    assert stats.kstest(scales, half_t(3, 0.6)).pvalue < LEVEL


def test_concentration_and_shares(state):
    assert stats.kstest(state.concentration, stats.expon().cdf).pvalue > LEVEL
    logs = PRIOR.shares(np.full(N, 3.0), np.tile([1.5, 0.25], (N, 1)), SeededRandomness(3))
    assert np.allclose(np.exp(logs).sum(axis=1), 1)
    first = np.exp(logs[:, 0])
    assert stats.kstest(first, stats.beta(3.0, 1.75).cdf).pvalue > LEVEL
    assert stats.kstest(first, stats.beta(3.0, 2.0).cdf).pvalue < LEVEL


def test_shapes_and_sparse_shares_are_finite():
    drawn = MixturePrior(components=30).draw(4, 50, SeededRandomness(4))
    assert drawn.mixtures.coefficients.shape == (50, 30, 4)
    assert drawn.precision.shape == (50, 4, 4)
    assert drawn.precision_rates.shape == (50, 4)
    assert drawn.mixtures.variances.shape == drawn.noise_rates.shape == (50, 30)
    assert np.isfinite(drawn.mixtures.log_shares).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"components": 0},
        {"concentration_rate": 0.0},
        {"coefficient_scale": float("inf")},
        {"noise_scale": -1.0},
        {"noise_df": 0.5},
        {"noise_floor": -0.1},
        {"coefficient_df": float("nan")},
    ],
)
def test_what_a_prior_refuses(wrong):
    with pytest.raises(MethodError):
        MixturePrior(**wrong)
