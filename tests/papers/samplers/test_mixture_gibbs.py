"""The weighted Gibbs sampler leaves the target that it states. False alarms: 1e-5 a comparison.

Many independent chains run side by side, so that the comparisons are of independent draws.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaincinv, logsumexp

from understudy.dp.randomness import SeededRandomness
from understudy.papers.mixture_gibbs import (
    MixtureGibbs,
    MixturePrior,
    Mixtures,
    log_likelihoods,
    mixture_draws,
)

LEVEL = 1e-5
PRIOR = MixturePrior(components=2, coefficient_scale=1.0, noise_scale=0.7, noise_floor=0.2)
CHAINS = 4000


def tiled(row, chains=CHAINS):
    return np.tile(np.asarray(row, dtype=float), (chains, 1))


def design(n, p, seed=1):
    rng = np.random.default_rng(seed)
    return np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))])


def parts(mixtures, responses, x):
    """log(π_k N_k), shape (C, n, K), slowly and plainly."""
    means = np.einsum("ij,ckj->cik", x, mixtures.coefficients)
    scales = np.sqrt(mixtures.variances)[:, np.newaxis]
    return mixtures.log_shares[:, np.newaxis] + stats.norm.logpdf(
        responses[..., np.newaxis], means, scales
    )


def simulated(mixtures, x, rng):
    """Responses of each chain from its own mixture, shape (C, n)."""
    chains, n = len(mixtures.log_shares), len(x)
    ends = np.exp(mixtures.log_shares).cumsum(axis=1)[:, np.newaxis, :-1]
    z = (rng.uniform(size=(chains, n, 1)) > ends).sum(axis=2)
    at = np.arange(chains)[:, np.newaxis]
    means = np.einsum("ij,cij->ci", x, mixtures.coefficients[at, z])
    return means + np.sqrt(mixtures.variances[at, z]) * rng.normal(size=(chains, n))


# --- one component, fixed scales: weighted least squares in closed form ---


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_coefficients_of_one_component_are_a_conjugate_weighted_regression(seed):
    rng = np.random.default_rng(seed)
    x, y, weights = design(9, 3, seed), rng.normal(size=9), rng.uniform(size=9)
    q = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.4], [0.0, -0.4, 0.7]])
    prior = MixturePrior(components=1)
    sampler = MixtureGibbs(prior, tiled(y), x, tiled(weights))
    state = prior.draw(3, CHAINS, SeededRandomness(seed))
    mixtures = replace(state.mixtures, variances=np.full((CHAINS, 1), 0.4))
    state = replace(state, mixtures=mixtures, precision=np.tile(q, (CHAINS, 1, 1)))
    labels = np.zeros((CHAINS, 9), dtype=np.int64)
    source = SeededRandomness(10 + seed)
    beta = sampler.coefficients(state, sampler._sums(labels), source)[:, 0]

    def worst(alpha):
        precision = q + (x.T * alpha) @ x / 0.4
        mean = np.linalg.solve(precision, (x.T * alpha) @ y / 0.4)
        z = (beta - mean) @ np.linalg.cholesky(precision)  # standard normal, if all is right
        skew = np.column_stack([z, z @ np.ones(3) / 3**0.5])
        return min(stats.kstest(one, stats.norm.cdf).pvalue for one in skew.T)

    assert worst(weights) > LEVEL
    assert worst(np.ones(9)) < LEVEL
    assert worst(weights**2) < LEVEL


@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_variances_of_one_component_are_inverse_gamma_above_the_floor(floor):
    x, y = design(9, 2), np.linspace(-1, 1, 9)
    weights = np.linspace(0, 1, 9)
    prior = MixturePrior(components=1, noise_floor=floor)
    sampler = MixtureGibbs(prior, tiled(y), x, tiled(weights))
    labels = np.zeros((CHAINS, 9), dtype=np.int64)
    rates, beta = np.full((CHAINS, 1), 0.2), np.array([0.1, -0.2])
    drawn = sampler.variances(
        rates,
        tiled([weights.sum()]),
        labels,
        np.tile(beta, (CHAINS, 1, 1)),
        SeededRandomness(4),
    )[:, 0]

    def p_value(alpha):
        rate = 3 * 0.2 + (alpha * (y - x @ beta) ** 2).sum() / 2
        column_model = stats.invgamma((3 + alpha.sum()) / 2, scale=rate)
        return stats.kstest(
            column_model.sf(drawn) / column_model.sf(floor**2), stats.uniform.cdf
        ).pvalue

    assert drawn.min() >= floor**2
    assert p_value(weights) > LEVEL
    assert p_value(np.ones(9)) < LEVEL


# --- the whole sampler at α = 1: getting it right (Geweke 2004) ---


def told(state, responses, x):
    """What is compared: functions of θ, and of θ with the data."""
    m = state.mixtures
    inverse = np.linalg.inv(state.precision)
    logs = logsumexp(parts(m, responses, x), axis=2)
    means = np.einsum("ij,ckj,ck->ci", x, m.coefficients, np.exp(m.log_shares))
    return {
        "share": m.log_shares[:, 0],
        "intercept": m.coefficients[:, 0, 0],
        "slope": m.coefficients[:, 1, 1],
        "scale": m.variances[:, 0],
        "a": state.concentration,
        "deviation": inverse[:, 0, 0],
        "correlation": inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1]),
        "s": state.precision_rates[:, 1],
        "b": state.noise_rates[:, 0],
        "likelihood": logs.sum(axis=1),
        "fit": np.square(responses - means).mean(axis=1),
        "own": logsumexp(parts(m, responses, x)[:, :1], axis=2)[:, 0],
    }


def misfits(weight):
    """p-values of pairs (θ, data) after sweeps of θ, against fresh pairs."""
    x, source = design(8, 2), SeededRandomness(21)
    rng = np.random.default_rng(22)
    state = PRIOR.draw(2, CHAINS, source)
    responses = simulated(state.mixtures, x, rng)
    sampler = MixtureGibbs(PRIOR, responses, x, np.full_like(responses, weight))
    for _ in range(8):
        state = sampler.sweep(state, source)
    fresh = PRIOR.draw(2, CHAINS, source)
    expected = told(fresh, simulated(fresh.mixtures, x, rng), x)
    found = told(state, responses, x)
    return {name: stats.ks_2samp(found[name], expected[name]).pvalue for name in found}


def test_parameters_and_data_keep_their_joint_law():
    """θ from the prior, data given θ, θ moved by sweeps: the pair has the law that it had."""
    values = misfits(1.0)
    assert min(values.values()) > LEVEL, values


def test_a_sampler_of_another_target_is_noticed():
    values = misfits(0.8)
    assert values["likelihood"] < LEVEL


# --- weights below 1 ---


def distance(sample, points, log_weights):
    """Kolmogorov–Smirnov distance of a sample from weighted points, and its critical value."""
    weights = np.exp(log_weights - logsumexp(log_weights))
    order = np.argsort(points)
    cdf = np.concatenate([[0], weights[order].cumsum()])
    ranked = np.sort(sample)
    at = cdf[np.searchsorted(points[order], ranked, side="right")]
    gap = np.abs(at - (np.arange(len(sample)) + 0.5) / len(sample)).max()
    effective = 1 / (1 / len(sample) + np.square(weights).sum())
    return gap / np.sqrt(-0.5 * np.log(LEVEL / 2) / effective)


@pytest.mark.nightly
def test_the_weighted_target_by_integration_over_the_prior():
    """n = 3: draws from the prior, weighted by the target, against the ends of long walks.

    The target with powers of the marginal density is told apart.
    """
    y, alpha, x = np.array([-1.5, 0.2, 1.5]), np.array([0.3, 0.5, 0.4]), np.ones((3, 1))
    source = SeededRandomness(31)
    points = PRIOR.draw(1, 60_000, source).mixtures
    logs = parts(points, y[np.newaxis], x)
    stated = logsumexp(alpha[:, np.newaxis] * logs, axis=2).sum(axis=1)
    marginal = (alpha * logsumexp(logs, axis=2)).sum(axis=1)
    sampler = MixtureGibbs(PRIOR, tiled(y), x, tiled(alpha))
    state = PRIOR.draw(1, CHAINS, source)
    for _ in range(60):
        state = sampler.sweep(state, source)
    functions = {
        "unequal": lambda m: np.exp(m.log_shares).max(axis=1),
        "share": lambda m: m.log_shares[:, 0],
        "mean": lambda m: (np.exp(m.log_shares) * m.coefficients[..., 0]).sum(axis=1),
        "apart": lambda m: np.abs(m.coefficients[:, 0, 0] - m.coefficients[:, 1, 0]),
        "scale": lambda m: m.variances[:, 0],
        "density": lambda m: logsumexp(parts(m, y[np.newaxis], x), axis=2).sum(axis=1),
    }
    values = {name: (of(state.mixtures), of(points)) for name, of in functions.items()}
    for name, pair in values.items():
        assert distance(*pair, stated) < 1, name
    assert max(distance(*pair, marginal) for pair in values.values()) > 1
    assert max(distance(*pair, 0 * stated) for pair in values.values()) > 1


@pytest.mark.nightly
def test_shares_alone_against_a_grid():
    """Labels, a and π move, β and σ stand still: P(π₁ ≤ q) by a grid over quantiles of a and π₁.

    False alarms: 6 binomial tests of level 1e-5.
    """
    y, alpha, x = np.array([-0.5, 0.4, 0.9]), np.array([0.4, 0.7, 0.2]), np.ones((3, 1))
    source, chains = SeededRandomness(41), 10_000
    state = PRIOR.draw(1, chains, source)
    beta = np.broadcast_to(np.array([[[-0.5], [0.8]]]), (chains, 2, 1)).copy()
    fixed = Mixtures(state.mixtures.log_shares, beta, tiled([0.25, 0.5], chains))
    sampler = MixtureGibbs(PRIOR, tiled(y, chains), x, tiled(alpha, chains))
    a = state.concentration
    for _ in range(30):
        labels = sampler.labels(fixed, source)
        totals = np.stack([((labels == k) * alpha).sum(axis=1) for k in range(2)], axis=1)
        a = sampler.concentration(a, totals, source)
        fixed = replace(fixed, log_shares=PRIOR.shares(a, totals, source))
    middle = (np.arange(250) + 0.5) / 250
    half = -np.log1p(-middle)[:, np.newaxis] / 2
    with np.errstate(divide="ignore"):
        first = np.log(betaincinv(half, half, middle)).ravel()
        second = np.log(betaincinv(half, half, 1 - middle)).ravel()
    densities = stats.norm.logpdf(y[:, np.newaxis], [-0.5, 0.8], np.sqrt([0.25, 0.5]))
    logs = np.stack([first, second], axis=1)[:, np.newaxis] + densities
    weights = np.exp(logsumexp(alpha[:, np.newaxis] * logs, axis=2).sum(axis=1))
    weights /= weights.sum()
    for q in (0.02, 0.1, 0.35, 0.6, 0.9, 0.98):
        expected = weights[first <= np.log(q)].sum()
        found = int((fixed.log_shares[:, 0] <= np.log(q)).sum())
        assert stats.binomtest(found, chains, expected).pvalue > LEVEL, q
        assert stats.binomtest(found, chains, expected + 0.03).pvalue < LEVEL, q


def test_the_law_of_labels():
    """Enumerated: P(z = k) ∝ (π_k N_k)^α; uniform at α = 0. χ² tests of level 1e-5."""
    prior = MixturePrior(components=3, noise_floor=0.2)
    one = prior.draw(2, 1, SeededRandomness(51)).mixtures
    mixtures = Mixtures(
        np.log(tiled([0.2, 0.5, 0.3])),
        np.tile(one.coefficients, (CHAINS, 1, 1)) * 0.2,
        tiled([0.5, 1.0, 2.0]),
    )
    x, y, alpha = design(3, 2), np.array([0.3, -0.8, 1.2]), np.array([0.0, 0.4, 1.0])
    sampler = MixtureGibbs(prior, tiled(y), x, tiled(alpha))
    labels = sampler.labels(mixtures, SeededRandomness(52))
    powers = np.exp(alpha[:, np.newaxis] * parts(mixtures, tiled(y), x)[0])
    shares = powers / powers.sum(axis=1, keepdims=True)
    assert shares[0] == pytest.approx([1 / 3] * 3)
    for i in range(3):
        counts = np.bincount(labels[:, i], minlength=3)
        assert stats.chisquare(counts, CHAINS * shares[i]).pvalue > LEVEL
    wrong = np.exp(parts(mixtures, tiled(y), x)[0, 1])
    counts = np.bincount(labels[:, 1], minlength=3)
    assert stats.chisquare(counts, CHAINS * wrong / wrong.sum()).pvalue < LEVEL


# --- records that do not count, their order, and none at all ---


def moved(sampler, labels, seed=61):
    state = PRIOR.draw(2, len(labels), SeededRandomness(60))
    return sampler.parameters(state, labels, SeededRandomness(seed))


def same(one, other, rtol=0.0):
    pairs = [(getattr(one, name), getattr(other, name)) for name in vars(one) if name != "mixtures"]
    pairs += [(getattr(one.mixtures, n), getattr(other.mixtures, n)) for n in vars(one.mixtures)]
    return all(np.allclose(a, b, rtol=rtol, atol=rtol) for a, b in pairs)


def test_a_record_of_weight_zero_is_as_absent():
    rng = np.random.default_rng(62)
    x, y = design(12, 2), rng.normal(size=(5, 12))
    weights, labels = rng.uniform(size=(5, 12)), rng.integers(2, size=(5, 12))
    weights[:, 7:] = 0.0
    whole = moved(MixtureGibbs(PRIOR, y, x, weights), labels)
    part = moved(MixtureGibbs(PRIOR, y[:, :7], x[:7], weights[:, :7]), labels[:, :7])
    assert same(whole, part)
    counted = np.where(weights > 0, weights, 0.1)
    assert not same(whole, moved(MixtureGibbs(PRIOR, y, x, counted), labels))


def test_the_order_of_records_does_not_matter():
    rng = np.random.default_rng(63)
    x, y = design(12, 2), rng.normal(size=(5, 12))
    weights, labels = rng.uniform(size=(5, 12)), rng.integers(2, size=(5, 12))
    order = rng.permutation(12)
    before = moved(MixtureGibbs(PRIOR, y, x, weights), labels)
    sampler = MixtureGibbs(PRIOR, y[:, order], x[order], weights[:, order])
    assert same(before, moved(sampler, labels[:, order]), rtol=1e-9)
    assert not same(before, moved(sampler, labels), rtol=1e-9)


@pytest.mark.nightly
def test_no_records_give_the_prior():
    """From one common state, by sweeps alone."""
    source = SeededRandomness(71)
    sampler = MixtureGibbs(PRIOR, np.empty((CHAINS, 0)), np.empty((0, 2)), np.empty((CHAINS, 0)))
    state = sampler.start(source)
    for _ in range(30):
        state = sampler.sweep(state, source)
    fresh, at, x = PRIOR.draw(2, CHAINS, source), np.zeros((CHAINS, 4)), design(4, 2)
    expected, found = told(fresh, at, x), told(state, at, x)
    for name in found:
        assert stats.ks_2samp(found[name], expected[name]).pvalue > LEVEL, name


# --- whole chains ---


@pytest.mark.nightly
def test_a_chain_finds_the_density_of_many_records():
    """Two regressions, 1500 records: the mean log density comes near that of the truth."""
    rng = np.random.default_rng(81)
    x = design(1500, 3)
    first = rng.uniform(size=1500) < 0.7
    y = np.where(first, x @ [1.0, 0.5, 0.0], x @ [-1.0, 0.0, 0.8])
    y = y + np.where(first, 0.3, 0.6) * rng.normal(size=1500)
    truth = Mixtures(
        np.log([[0.7, 0.3]]),
        np.array([[[1.0, 0.5, 0.0], [-1.0, 0.0, 0.8]]]),
        np.array([[0.09, 0.36]]),
    )
    sampler = MixtureGibbs(MixturePrior(components=6), y[np.newaxis], x, np.ones((1, 1500)))
    drawn = mixture_draws(sampler, SeededRandomness(82), draws=40, burn_in=300)
    assert drawn.coefficients.shape == (1, 40, 6, 3)
    one = Mixtures(drawn.log_shares[0], drawn.coefficients[0], drawn.variances[0])
    found = np.concatenate(list(log_likelihoods(one, y, x))).sum(axis=1)
    known = next(log_likelihoods(truth, y, x)).sum()
    assert abs(found.mean() - known) < 15  # about as many as there are parameters


def test_ties_and_collinear_predictors_go_through():
    """1000 equal responses at collinear predictors, scales at the floor."""
    prior = MixturePrior(components=4)
    x = np.ones((1000, 3))
    sampler = MixtureGibbs(prior, np.zeros((2, 1000)), x, np.ones((2, 1000)))
    drawn = mixture_draws(sampler, SeededRandomness(91), draws=50, burn_in=0)
    assert np.isfinite(drawn.coefficients).all()
    assert drawn.variances.min() >= prior.noise_floor**2


def test_which_draws_are_kept():
    x, y = design(6, 2), np.random.default_rng(92).normal(size=(3, 6))
    sampler = MixtureGibbs(PRIOR, y, x, np.full((3, 6), 0.5))
    start = PRIOR.draw(2, 3, SeededRandomness(93))
    kept = mixture_draws(sampler, SeededRandomness(94), draws=2, burn_in=1, thin=2, start=start)
    state, source, states = start, SeededRandomness(94), []
    for _ in range(5):
        state = sampler.sweep(state, source)
        states.append(state.mixtures)
    for k, at in enumerate((2, 4)):
        assert np.array_equal(kept.coefficients[:, k], states[at].coefficients)
    assert kept.log_shares.shape == kept.variances.shape == (3, 2, 2)


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"burn_in": -1}, {"thin": 0}])
def test_a_chain_refuses_wrong_numbers(wrong):
    sampler = MixtureGibbs(PRIOR, np.zeros((1, 2)), np.ones((2, 1)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="mixture_draws"):
        mixture_draws(sampler, SeededRandomness(1), **({"draws": 1, "burn_in": 0} | wrong))


@pytest.mark.parametrize(
    ("responses", "x", "weights"),
    [
        (np.zeros((1, 3)), np.ones((2, 1)), np.ones((1, 3))),
        (np.zeros(2), np.ones((2, 1)), np.ones(2)),
        (np.zeros((1, 2)), np.ones((2, 1)), np.ones((2, 2))),
        (np.zeros((1, 2)), np.ones((2, 1)), np.array([[0.5, 1.5]])),
        (np.zeros((1, 2)), np.ones((2, 1)), np.array([[0.5, np.nan]])),
        (np.array([[0.5, np.inf]]), np.ones((2, 1)), np.ones((1, 2))),
    ],
)
def test_a_sampler_refuses_what_does_not_fit(responses, x, weights):
    with pytest.raises(ValueError, match="MixtureGibbs"):
        MixtureGibbs(PRIOR, responses, x, weights)
