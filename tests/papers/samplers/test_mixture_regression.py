"""The mixture as a law of numbers: densities, weights, and new numbers. False alarms: 1e-5 each."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from night import NIGHT
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.papers.mixture_gibbs import MixturePrior
from understudy.papers.mixture_regression import MixtureRegression

LEVEL = 1e-5
LAW = MixtureRegression(prior=MixturePrior(components=3), burn_in=20, thin=1)
THETA = {
    "log_shares": np.log([0.5, 0.3, 0.2]),
    "coefficients": np.array([[-1.0, 0.5], [1.0, 0.0], [0.0, 2.0]]),
    "variances": np.array([0.09, 0.25, 1.0]),
}
N = 8000


def design(n, seed=1):
    return np.column_stack([np.ones(n), np.random.default_rng(seed).uniform(-1, 1, n)])


def parts(theta, z, x):
    """log(π_k N_k), shape (n, K)."""
    means, stddevs = x @ theta["coefficients"].T, np.sqrt(theta["variances"])
    return theta["log_shares"] + stats.norm.logpdf(z[:, np.newaxis], means, stddevs)


def distribution(theta, z, x):
    """P(new number ≤ z), by shares."""
    means, stddevs = x @ theta["coefficients"].T, np.sqrt(theta["variances"])
    below = stats.norm.cdf(z[:, np.newaxis], means, stddevs)
    return below @ np.exp(theta["log_shares"])


@pytest.fixture(scope="module")
def fitted():
    x = design(40)
    z = np.random.default_rng(2).normal(size=40)
    return z, x, LAW.draws(z, x, np.linspace(0, 1, 40), SeededRandomness(3), draws=6)


def test_likelihoods_are_those_of_the_mixture(fitted):
    z, x, draws = fitted
    assert {name: one.shape for name, one in draws.items()} == {
        "log_shares": (6, 3),
        "coefficients": (6, 3, 2),
        "variances": (6, 3),
    }
    found = LAW.log_likelihoods(draws, z, x)
    for s in range(6):
        one = {name: array[s] for name, array in draws.items()}
        assert found[s] == pytest.approx(logsumexp(parts(one, z, x), axis=1))


def test_contributions_go_from_nothing_to_the_likelihood(fitted):
    """Power sums, less what moves no posterior; between α·log f - (1 - α)·log K and α·log f."""
    z, x, draws = fitted
    plain = LAW.log_likelihoods(draws, z, x)
    assert (LAW.log_contributions(draws, z, x, np.zeros(40)) == 0).all()
    assert (LAW.log_contributions(draws, z, x, np.ones(40)) == plain).all()
    weights = np.linspace(0, 1, 40)
    found = LAW.log_contributions(draws, z, x, weights)
    for s in range(6):
        one = {name: array[s] for name, array in draws.items()}
        powers = logsumexp(weights[:, np.newaxis] * parts(one, z, x), axis=1)
        assert found[s] == pytest.approx(powers - (1 - weights) * np.log(3))
    assert (found <= weights * plain + 1e-12).all()
    assert (found >= weights * plain - (1 - weights) * np.log(3) - 1e-12).all()


def test_the_marginal_power_is_that_of_the_density(fitted):
    z, x, draws = fitted
    column_model = MixtureRegression(prior=LAW.prior, power="marginal")
    weights = np.linspace(0, 1, 40)
    expected = weights * LAW.log_likelihoods(draws, z, x)
    assert column_model.log_contributions(draws, z, x, weights) == pytest.approx(expected)


def test_no_records():
    draws = LAW.draws(np.empty(0), np.empty((0, 2)), np.empty(0), SeededRandomness(4), draws=6)
    assert LAW.log_likelihoods(draws, np.empty(0), np.empty((0, 2))).shape == (6, 0)


@pytest.mark.parametrize("power", ["labels", "marginal"])
@pytest.mark.nightly
def test_a_chain_follows_the_weights(power):
    """Half of the records, elsewhere, weigh nothing; the law of new numbers is that of the rest."""
    x = np.ones((200, 1))
    z = np.random.default_rng(5).normal(-1, 0.3, 200)
    z[100:] += 3
    weights = np.repeat([1.0, 0.0], 100)
    column_model = MixtureRegression(
        prior=MixturePrior(components=4), burn_in=60, thin=3, power=power
    )

    def mean(weights):
        draws = column_model.draws(z, x, weights, SeededRandomness(6), draws=40)
        middles = np.exp(draws["log_shares"]) * draws["coefficients"][..., 0]
        return middles.sum(axis=1).mean()

    assert abs(mean(weights) + 1) < 0.15
    assert abs(mean(weights[::-1].copy()) - 2) < 0.15
    assert abs(mean(np.ones(200)) - 0.5) < 0.15


def integrated(z, weights, prior):
    """E β and E log σ of one component, by sums over a grid of log |β|, log σ and log √Σ.

    Σ has mass near 0, so that the prior density of β has a pole there; a grid of β itself would
    miss or exaggerate it.
    """
    size = np.exp(np.linspace(-14, 4, 361))
    beta = np.concatenate([-size, size])[:, np.newaxis]
    sd = np.exp(np.log(prior.noise_floor) + (np.arange(125) + 0.5) * 0.04)
    spread = np.exp(np.linspace(-16, 9, 251))
    logs = stats.norm.logpdf(beta, 0, spread) + np.log(spread)
    logs = logs + stats.t.logpdf(spread / prior.coefficient_scale, prior.coefficient_df)
    logs = logsumexp(logs, axis=1, keepdims=True) + np.log(np.abs(beta))
    logs = logs + stats.t.logpdf(sd / prior.noise_scale, prior.noise_df) + np.log(sd)
    for one, weight in zip(z, weights, strict=True):
        logs = logs + weight * stats.norm.logpdf(one, beta, sd)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    return float((mass * beta).sum()), float((mass * np.log(sd)).sum())


@pytest.mark.parametrize("power", ["labels", "marginal"])
@pytest.mark.nightly(every=2)
def test_one_component_against_an_integral(power):
    """Means of long chains, thinned; the standard error is that of 40 batches."""
    prior = MixturePrior(components=1, coefficient_scale=0.7, noise_floor=0.1)
    column_model = MixtureRegression(prior=prior, burn_in=50, thin=1, power=power)
    z, weights = np.array([0.9, 1.4, 2.0, 1.2, -3.0]), np.array([1.0, 0.7, 0.4, 0.9, 0.1])
    draws = column_model.draws(
        z, np.ones((5, 1)), weights, SeededRandomness(7), draws=2400 if NIGHT else 800
    )
    told = draws["coefficients"][:, 0, 0], 0.5 * np.log(draws["variances"][:, 0])

    def misfits(expected):
        batches = [one.reshape(40, -1).mean(axis=1) for one in told]
        pairs = zip(batches, expected, strict=True)
        return [abs(one.mean() - of) / (one.std() / 39**0.5) for one, of in pairs]

    limit = stats.t(39).isf(LEVEL / 2)
    assert max(misfits(integrated(z, weights, prior))) < limit
    assert max(misfits(integrated(z, np.ones(5), prior))) > limit


# --- new numbers ---


def test_components_come_by_their_shares_and_numbers_by_their_law():
    x = design(N)
    uniforms = np.random.default_rng(8).uniform(size=(2, N))
    z = LAW.numbers(THETA, x, uniforms)
    assert stats.kstest(distribution(THETA, z, x), stats.uniform.cdf).pvalue > LEVEL
    other = THETA | {"log_shares": np.log([0.4, 0.4, 0.2])}
    assert stats.kstest(distribution(other, z, x), stats.uniform.cdf).pvalue < LEVEL
    again = LAW.numbers(THETA, x[:50], uniforms[:, :50])
    assert z[:50] == pytest.approx(again)  # each of its own predictors and uniform numbers


def test_one_number_by_hand():
    x = np.array([[1.0, 0.5]])
    for first, component in ((0.49, 0), (0.51, 1), (0.79, 1), (0.81, 2)):
        z = LAW.numbers(THETA, x, np.array([[first], [0.975]]))
        mean = x[0] @ THETA["coefficients"][component]
        deviation = 1.959963984540054 * np.sqrt(THETA["variances"][component])
        assert z[0] == pytest.approx(mean + deviation)


def test_shares_that_are_nearly_all_of_one_component():
    theta = THETA | {"log_shares": np.array([-900.0, 0.0, -1e4])}
    uniforms = np.array([[2.0**-53, 1 - 2.0**-53], [0.5, 0.5]])
    assert LAW.numbers(theta, design(2), uniforms) == pytest.approx([1.0, 1.0])


def test_labels_given_the_own_number_follow_bayes_rule():
    z, x = np.full(N, 0.3), np.tile([1.0, 0.2], (N, 1))
    labels = LAW.labels(THETA, z, x, np.random.default_rng(9).uniform(size=N))
    logs = parts(THETA, z[:1], x[:1])[0]
    expected = N * np.exp(logs - logsumexp(logs))
    counts = np.bincount(labels, minlength=3)
    assert stats.chisquare(counts, expected).pvalue > LEVEL
    assert stats.chisquare(counts, N * np.exp(THETA["log_shares"])).pvalue < LEVEL


def test_numbers_from_given_components():
    x, labels = design(N), np.arange(N) % 3
    uniforms = np.random.default_rng(10).uniform(size=(2, N))
    z = LAW.draw_given_labels(THETA, x, labels, uniforms)
    for k in range(3):
        at = labels == k
        noise = (z[at] - x[at] @ THETA["coefficients"][k]) / np.sqrt(THETA["variances"][k])
        assert stats.norm.cdf(noise) == pytest.approx(uniforms[1, at])
    mixed = np.where(np.arange(N) < N // 2, labels, -1)
    found = LAW.draw_given_labels(THETA, x, mixed, uniforms)
    free = LAW.numbers(THETA, x, uniforms)
    assert (found == np.where(mixed < 0, free, z)).all()


# --- what is refused ---


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"burn_in": -1}, "sweeps"),
        ({"thin": 0}, "sweeps"),
        ({"sampler": "exact"}, "gibbs or nuts"),
        ({"power": "none"}, "labels or marginal"),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, message):
    with pytest.raises(MethodError, match=message):
        MixtureRegression(**wrong)


def test_a_sampler_that_is_not_there_is_refused_before_rows_are_seen(monkeypatch):
    def missing():
        raise MethodError("not installed")

    monkeypatch.setattr("understudy.papers.mixture_regression.check_numpyro", missing)
    with pytest.raises(MethodError, match="not installed"):
        MixtureRegression(sampler="nuts")
