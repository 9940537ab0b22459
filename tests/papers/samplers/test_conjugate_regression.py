"""Conjugate regressions against closed forms and integrals. False alarms: 1e-5 a comparison."""

import numpy as np
import pytest
from scipy import stats

from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.papers.sampling_base import NormalLinear

LEVEL = 1e-5
DRAWS = 5000


def data(n, p, seed=1):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))])
    return x @ np.linspace(-1, 1, p) + 0.6 * rng.normal(size=n), x, rng.uniform(size=n)


def marginals(column_model, y, x, weights):
    """Of σ² and of each coefficient, by the textbook's sums."""
    p = x.shape[1]
    precision = np.eye(p) / column_model.coefficient_scale**2 + (x.T * weights) @ x
    mean = np.linalg.solve(precision, (x.T * weights) @ y)
    a = (column_model.noise_df + weights.sum()) / 2
    b = (
        column_model.noise_df * column_model.noise_scale**2
        + (weights * y) @ y
        - mean @ precision @ mean
    )
    spread = np.sqrt(b / 2 / a * np.diag(np.linalg.inv(precision)))
    noise = stats.invgamma(a, scale=b / 2)
    return noise, [stats.t(2 * a, m, s) for m, s in zip(mean, spread, strict=True)]


def worst(draws, column_model, y, x, weights):
    noise, coefficients = marginals(column_model, y, x, weights)
    found = [stats.kstest(draws["variances"], noise.cdf).pvalue]
    pairs = zip(draws["coefficients"].T, coefficients, strict=True)
    return min(*found, *(stats.kstest(one, of.cdf).pvalue for one, of in pairs))


@pytest.mark.parametrize("n", [0, 8, 60])
def test_draws_follow_the_closed_form(n):
    column_model = NormalLinear(
        coefficient_scale=2.0, noise_scale=0.8, noise_df=4.0, noise_floor=0.0
    )
    y, x, weights = data(n, 3)
    draws = column_model.draws(y, x, weights, SeededRandomness(2), draws=DRAWS)
    assert draws["coefficients"].shape == (DRAWS, 3)
    assert worst(draws, column_model, y, x, weights) > LEVEL
    assert worst(draws, NormalLinear(noise_scale=1.2, noise_floor=0.0), y, x, weights) < LEVEL
    if n:
        assert worst(draws, column_model, y, x, np.zeros(n)) < LEVEL
    if n == 60:
        assert worst(draws, column_model, y, x, np.ones(n)) < LEVEL


def test_a_record_of_weight_zero_is_as_absent():
    y, x, weights = data(10, 2)
    y[:4], weights[:4] = 1e6, 0.0
    column_model = NormalLinear()
    whole = column_model.draws(y, x, weights, SeededRandomness(3), draws=4)
    part = column_model.draws(y[4:], x[4:], weights[4:], SeededRandomness(3), draws=4)
    assert whole["coefficients"] == pytest.approx(part["coefficients"])
    assert whole["variances"] == pytest.approx(part["variances"])


def integrated(column_model, y, weights, betas, sds):
    """Marginal CDFs of β and σ on grids, from prior times weighted likelihood; intercept only."""
    b, s = betas[:, np.newaxis], sds[np.newaxis]
    logs = stats.norm.logpdf(b, 0, column_model.coefficient_scale * s)
    logs = logs + stats.invgamma.logpdf(
        s**2,
        column_model.noise_df / 2,
        scale=column_model.noise_df * column_model.noise_scale**2 / 2,
    )
    logs = logs + np.log(2 * s)
    for one, weight in zip(y, weights, strict=True):
        logs = logs + weight * stats.norm.logpdf(one, b, s)
    mass = np.where(s >= column_model.noise_floor, np.exp(logs - logs.max()), 0.0)
    by_beta, by_sd = mass.sum(axis=1).cumsum(), mass.sum(axis=0).cumsum()
    return by_beta / by_beta[-1], by_sd / by_sd[-1]


@pytest.mark.parametrize("floor", [0.01, 0.9])
def test_draws_follow_prior_times_likelihood_above_the_floor(floor):
    column_model = NormalLinear(noise_floor=floor)
    y, weights = np.array([0.4, 1.1, 1.3, -0.2, 0.9]), np.array([1.0, 0.5, 0.2, 0.9, 0.0])
    draws = column_model.draws(y, np.ones((5, 1)), weights, SeededRandomness(4), draws=DRAWS)
    betas, sds = np.linspace(-15, 15, 801), np.linspace(0.005, 12.005, 801)
    by_beta, by_sd = integrated(column_model, y, weights, betas, sds)
    stddevs = np.sqrt(draws["variances"])
    assert stddevs.min() >= floor
    middle = betas + (betas[1] - betas[0]) / 2, sds + (sds[1] - sds[0]) / 2

    def p_values(beta, sd):
        return (
            stats.kstest(beta, lambda at: np.interp(at, middle[0], by_beta)).pvalue,
            stats.kstest(sd, lambda at: np.interp(at, middle[1], by_sd)).pvalue,
        )

    assert min(p_values(draws["coefficients"][:, 0], stddevs)) > LEVEL
    assert max(p_values(draws["coefficients"][:, 0] + 0.2, stddevs * 1.15)) < LEVEL


def test_ties_make_a_proper_posterior_at_the_floor():
    column_model = NormalLinear(noise_floor=0.05, noise_scale=0.1)
    draws = column_model.draws(
        np.ones(9000), np.ones((9000, 1)), np.ones(9000), SeededRandomness(5), draws=9
    )
    assert (draws["variances"] >= 0.05**2).all()
    assert draws["variances"] == pytest.approx(np.full(9, 0.05**2), rel=0.01)


def test_likelihoods_against_scipy():
    column_model, (y, x, weights) = NormalLinear(), data(7, 3)
    draws = column_model.draws(y, x, weights, SeededRandomness(6), draws=5)
    found = column_model.log_likelihoods(draws, y, x)
    means, stddevs = x @ draws["coefficients"].T, np.sqrt(draws["variances"])
    assert found == pytest.approx(stats.norm.logpdf(y[:, np.newaxis], means, stddevs).T)
    assert column_model.log_contributions(draws, y, x, weights) == pytest.approx(weights * found)


def test_new_numbers_are_a_function_of_parameters_and_predictors():
    column_model, (_, x, _) = NormalLinear(), data(9000, 2)
    theta = {"coefficients": np.array([0.5, -1.0]), "variances": np.float64(0.49)}
    uniforms = np.random.default_rng(7).uniform(size=(2, 9000))
    z = column_model.numbers(theta, x, uniforms)
    noise = z - x @ theta["coefficients"]
    assert stats.kstest(noise, stats.norm(0, 0.7).cdf).pvalue > LEVEL
    assert stats.kstest(noise, stats.norm(0, 0.8).cdf).pvalue < LEVEL
    assert stats.norm.cdf(noise / 0.7) == pytest.approx(uniforms[1])
    labels = column_model.labels(theta, z, x, uniforms[0])
    assert not labels.any()
    assert (column_model.draw_given_labels(theta, x, labels, uniforms) == z).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"coefficient_scale": 0.0},
        {"noise_scale": np.inf},
        {"noise_df": 0.5},
        {"noise_floor": -1.0},
        {"noise_floor": np.nan},
    ],
)
def test_a_prior_that_is_none_is_refused(wrong):
    with pytest.raises(MethodError, match="regression"):
        NormalLinear(**wrong)
