"""The density on unbounded coordinates is the prior and the likelihood that the docs state.

No random test: all comparisons are of numbers that must agree up to rounding.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from understudy.dp.randomness import SeededRandomness
from understudy.papers.mixture_gibbs import MixturePrior, log_contributions, log_likelihoods
from understudy.papers.mixture_nuts import TOTAL, MixtureTarget, coordinates, mixtures

PRIORS = [
    MixturePrior(components=3),
    MixturePrior(
        components=4,
        concentration_shape=2.0,
        concentration_rate=0.5,
        coefficient_scale=1.3,
        coefficient_df=3.5,
        noise_scale=0.6,
        noise_df=1.0,
        noise_floor=0.3,
    ),
    MixturePrior(components=1, noise_floor=0.0),
]


def points_of(prior, predictors=2, chains=5, seed=1):
    """States from the prior with a = 1 or more, so that no share underflows; and their points."""
    state = prior.draw(predictors, chains, SeededRandomness(seed))
    a = np.linspace(1.0, 3.0, chains)
    source = SeededRandomness(seed + 1)
    shares = prior.shares(a, np.full((chains, prior.components), 0.5), source)
    state = replace(state, concentration=a, mixtures=replace(state.mixtures, log_shares=shares))
    points = coordinates(state, prior)
    total = np.linspace(-0.7, 0.9, chains)[:, np.newaxis]
    return state, points | {"shares": points["shares"] + total}


def rows(n=7, predictors=2, seed=3):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(n), rng.normal(size=(n, predictors - 1))])
    weights = np.concatenate([[0.0, 1.0], rng.uniform(size=n - 2)])
    return rng.normal(size=n), design, weights


def log_shares_law(prior, a, t):
    """The law of t: of π in its first K - 1 shares and of L, by a Jacobian of differences."""
    total = logsumexp(t)
    shares = np.exp(t - total)
    column_model = stats.norm.logpdf(total, scale=TOTAL)
    if len(t) > 1:
        column_model += stats.dirichlet.logpdf(shares / shares.sum(), np.full(len(t), a / len(t)))

    def from_t(t):
        return np.append(np.exp(t[:-1] - logsumexp(t)), logsumexp(t))

    step = 1e-6 * np.eye(len(t))
    jacobian = [(from_t(t + one) - from_t(t - one)) / 2e-6 for one in step]
    return column_model + np.linalg.slogdet(np.array(jacobian))[1]


def log_coefficients_law(prior, precision, beta, rates):
    """β and log(1/s), with Σ⁻¹ taken out by p(β, s) = p(β | Σ)·p(Σ | s)·p(s)/p(Σ | β, s)."""
    p, df = len(rates), prior.coefficient_df + len(rates) - 1
    s = np.diag(2 * prior.coefficient_df * np.exp(rates))
    cov = np.linalg.inv(precision)
    column_model = stats.multivariate_normal.logpdf(
        beta, np.zeros(p), cov, allow_singular=True
    ).sum()
    column_model += stats.wishart.logpdf(precision, df, np.linalg.inv(s))
    column_model -= stats.wishart.logpdf(
        precision, df + len(beta), np.linalg.inv(s + beta.T @ beta)
    )
    gamma = stats.gamma.logpdf(np.exp(rates), 0.5, scale=prior.coefficient_scale**2)
    return column_model + (gamma + rates).sum()


def slow_log_prior(prior, state, points, c):
    log_a, floor = points["concentration"][c], prior.noise_floor
    column_model = stats.gamma.logpdf(
        np.exp(log_a), prior.concentration_shape, scale=1 / prior.concentration_rate
    )
    column_model += log_a + log_shares_law(prior, np.exp(log_a), points["shares"][c])
    column_model += log_coefficients_law(
        prior, state.precision[c], points["coefficients"][c], points["rates"][c]
    )
    noise = stats.t(prior.noise_df, scale=prior.noise_scale)
    excess = points["excess"][c]
    return column_model + (noise.logpdf(floor + np.exp(excess)) - noise.logsf(floor) + excess).sum()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("predictors", [1, 3])
def test_the_prior_is_that_of_the_gibbs_sampler(prior, predictors):
    """Each block by laws of scipy, with all constants."""
    state, points = points_of(prior, predictors)
    found = MixtureTarget(prior, "labels").log_prior(points)
    expected = [slow_log_prior(prior, state, points, c) for c in range(5)]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"concentration_rate": 1.1},
        {"concentration_shape": 1.1},
        {"coefficient_scale": 2.6},
        {"coefficient_df": 2.1},
        {"noise_scale": 1.1},
        {"noise_df": 3.1},
        {"noise_floor": 0.02},
    ],
)
def test_each_number_of_the_prior_counts(change):
    prior = PRIORS[0]
    _, points = points_of(prior)
    one = MixtureTarget(prior, "labels").log_prior(points)
    other = MixtureTarget(replace(prior, **change), "labels").log_prior(points)
    assert np.abs(one - other).max() > 1e-3


@pytest.mark.parametrize("prior", PRIORS)
def test_what_records_add(prior):
    """Against the kernels of the Gibbs sampler."""
    _, points = points_of(prior)
    responses, design, weights = rows()
    theta = mixtures(points, prior)
    (labels,) = log_contributions(theta, responses, design, weights)
    (densities,) = log_likelihoods(theta, responses, design)
    for power, expected in (("labels", labels), ("marginal", weights * densities)):
        target = MixtureTarget(prior, power)
        found = target.contributions(points, responses, design, weights)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
        whole = target.log_density(points, responses, design, weights)
        assert whole == pytest.approx(target.log_prior(points) + expected.sum(axis=1))
    if prior.components > 1:
        assert np.abs(labels - weights * densities).max() > 0.1


def test_no_records_leave_the_prior():
    prior = PRIORS[0]
    _, points = points_of(prior)
    target = MixtureTarget(prior, "marginal")
    found = target.log_density(points, np.empty(0), np.empty((0, 2)), np.empty(0))
    assert np.array_equal(found, target.log_prior(points))


@pytest.mark.parametrize("prior", PRIORS)
def test_coordinates_come_back(prior):
    """But for scales within a thousandth of the floor, which start a little above it."""
    state, points = points_of(prior)
    theta = mixtures(points, prior)
    assert theta.log_shares == pytest.approx(state.mixtures.log_shares)
    assert np.array_equal(theta.coefficients, state.mixtures.coefficients)
    assert theta.variances == pytest.approx(state.mixtures.variances)
    at_floor = replace(state.mixtures, variances=np.full((5, prior.components), 1e-30))
    begun = coordinates(replace(state, mixtures=at_floor), prior)
    assert np.isfinite(begun["excess"]).all()


def test_points_side_by_side_are_as_alone():
    prior = PRIORS[1]
    _, points = points_of(prior)
    responses, design, weights = rows()
    target = MixtureTarget(prior, "marginal")
    whole = target.log_density(points, responses, design, weights)
    for c in range(5):
        one = {name: value[c] for name, value in points.items()}
        assert target.log_density(one, responses, design, weights) == pytest.approx(whole[c])
