"""The marginal sampler leaves p(θ)·∏ f^α as it is. False alarms: 1e-5 a comparison.

Draws of a chain depend on each other; comparisons take means of batches for independent and normal.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from night import NIGHT
from understudy.dp.randomness import SeededRandomness
from understudy.papers import mixture_metropolis
from understudy.papers.mixture_gibbs import (
    MixturePrior,
    Mixtures,
    log_contributions,
    log_likelihoods,
)
from understudy.papers.mixture_metropolis import MixtureMetropolis, Walk, metropolis_draws
from understudy.papers.mixture_nuts import MixtureNuts, nuts_draws

LEVEL = 1e-5
PRIOR = MixturePrior(components=2, coefficient_scale=1.0, noise_scale=0.7, noise_floor=0.2)
BATCHES = 25
SWEEPS = 1_250 if NIGHT else 300


def few():
    """Three records: responses, design, weights."""
    return np.array([-1.5, 0.2, 1.5]), np.ones((3, 1)), np.array([0.3, 0.5, 0.4])


def forty():
    """Two lines with noise, weights from 0 to 1."""
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(40), rng.normal(size=40)])
    first = rng.uniform(size=40) < 0.6
    y = np.where(first, x @ [1.0, 0.5], x @ [-1.0, 0.0]) + 0.4 * rng.normal(size=40)
    return y, x, np.linspace(0, 1, 40)


def predicted(drawn, y, x):
    """What does not depend on the names of components; each of shape (S,)."""
    share, at = np.exp(drawn.log_shares), np.array([1.0, 0.5])[: x.shape[1]]
    middles = drawn.coefficients @ at
    mean = (share * middles).sum(axis=1)
    square = (share * (drawn.variances + middles**2)).sum(axis=1)
    logs = np.concatenate(list(log_likelihoods(drawn, y, x)))
    return {
        "mean": np.arctan(mean),
        "spread": np.log(square - mean**2),
        "likelihood": logs.sum(axis=1),
        "bound": np.log(np.abs(logs).max(axis=1)),
        "unequal": share.max(axis=1),
        "sharpest": np.log(drawn.variances.min(axis=1)),
    }


def batched(values):
    return values.reshape(BATCHES, -1).mean(axis=1)


def p_values(drawn, points, y, x, logs):
    """Of equal means: a chain's, and those of draws from the prior weighted by a likelihood."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    found, known, values = predicted(drawn, y, x), predicted(points, y, x), {}
    for name in found:
        mean = weights @ known[name]
        error = np.sqrt(weights**2 @ (known[name] - mean) ** 2)
        parts = batched(found[name])
        error = np.hypot(error, parts.std(ddof=1) / BATCHES**0.5)
        values[name] = 2 * stats.t.sf(abs(parts.mean() - mean) / error, BATCHES - 1)
    return values


@pytest.mark.nightly
def test_the_target_by_brute_force_over_the_prior():
    """Two components, three records: 100,000 draws from the prior, weighted by ∏ f^α.

    The product of powers of components, which a Gibbs sampler has, is told apart, and so are
    likelihoods without weights.
    """
    y, x, alpha = few()
    points = PRIOR.draw(1, 100_000, SeededRandomness(31)).mixtures
    target = MixtureMetropolis(PRIOR, y, x, alpha)
    drawn = metropolis_draws(target, SeededRandomness(32), draws=3000, burn_in=200)
    (logs,) = log_likelihoods(points, y, x, chunk=10**9)
    (powers,) = log_contributions(points, y, x, alpha, chunk=10**9)
    values = p_values(drawn, points, y, x, logs @ alpha)
    assert min(values.values()) > LEVEL, values
    assert min(p_values(drawn, points, y, x, powers.sum(axis=1)).values()) < LEVEL
    assert min(p_values(drawn, points, y, x, logs.sum(axis=1)).values()) < LEVEL


def test_parameters_and_data_keep_their_joint_law():
    """Without weights, θ and data in turn keep the prior of θ (Geweke 2004).

    Data that are noisier than the model has them drive θ away.
    """

    def told(m):
        share = np.exp(m.log_shares)
        return np.array([
            np.log(m.variances).mean(),
            np.arctan(m.coefficients[..., 0]).mean(),
            np.arctan(np.abs(m.coefficients[..., 1])).mean(),
            share.max(),
            np.maximum(m.log_shares.min(), -50.0),
        ])  # fmt: skip

    def worst(noise, seed, sweeps):
        rng, source = np.random.default_rng(seed), SeededRandomness(seed)
        x = np.column_stack([np.ones(6), rng.normal(size=6)])
        state, found = PRIOR.draw(2, 1, source), []
        for sweep in range(sweeps):
            m = state.mixtures
            z = (rng.uniform(size=6) > np.exp(m.log_shares[0, 0])).astype(int)
            y = (x * m.coefficients[0, z]).sum(axis=1)
            y += noise * np.sqrt(m.variances[0, z]) * rng.normal(size=6)
            target = MixtureMetropolis(PRIOR, y, x, np.ones(6))
            walk = Walk(target.rows, state)
            target.sweep(walk, source, mixture_metropolis.STEPS[sweep % 2])
            state = walk.state
            found.append(told(state.mixtures))
        fresh = PRIOR.draw(2, sweeps, SeededRandomness(seed + 1)).mixtures
        each = [Mixtures(*(a[i : i + 1] for a in vars(fresh).values())) for i in range(sweeps)]
        expected = np.array([told(one) for one in each])
        parts = np.array(found).reshape(BATCHES, -1, 5).mean(axis=1)
        return stats.ttest_ind(parts, expected, equal_var=False).pvalue.min()

    assert worst(1.0, 51, SWEEPS) > LEVEL
    assert worst(2.0, 52, SWEEPS // 2) < LEVEL


def test_what_is_kept_of_records_is_what_it_would_be_afresh():
    """After sweeps, with records far off, tied and of weight 0: densities to rounding."""
    y, x, alpha = forty()
    y[3], y[4] = 400.0, y[5]
    prior = replace(PRIOR, components=4, noise_floor=0.01)
    target = MixtureMetropolis(prior, y, x, alpha)
    source = SeededRandomness(61)
    walk = Walk(target.rows, target.start(source))
    for _ in range(30):
        target.sweep(walk, source, 0.7)
        m = walk.state.mixtures
        parts = stats.norm.logpdf(y, m.coefficients[0] @ x.T, np.sqrt(m.variances[0])[:, None])
        assert walk.log_normals == pytest.approx(parts, rel=1e-9)
        sums = logsumexp(parts + m.log_shares[0][:, None], axis=0)
        assert walk.log_sums == pytest.approx(sums, rel=1e-9)
        assert np.exp(m.log_shares).sum() == pytest.approx(1.0)
    assert (walk.taken > 0).all()


def test_factors_are_those_of_the_sums_also_where_digits_go():
    """Responsibilities of 1, and densities far beyond the range of numbers."""
    y, x, alpha = forty()
    target = MixtureMetropolis(replace(PRIOR, components=3), y, x, alpha)
    walk = Walk(target.rows, target.start(SeededRandomness(71)))
    walk.log_normals[0] += np.linspace(0, 60, 40)
    walk.log_sums = walk.sums()
    for moved in (np.linspace(-2000, 2000, 40), np.linspace(3, -3, 40)):
        for shares in ((0.0, 0.0), (-30.0, 0.4), (0.2, -800.0)):
            new = walk.log_normals[0] + moved
            factors, after = walk.after(0, walk.shares_of(0), new, shares)
            parts = walk.log_normals + walk.log_shares[:, None] + shares[1]
            parts[0] = new + walk.log_shares[0] + shares[0]
            sums = logsumexp(parts, axis=0)
            assert walk.log_sums + factors == pytest.approx(sums, rel=1e-9, abs=1e-9)
            assert after == pytest.approx(np.exp(parts[0] - sums), rel=1e-9, abs=1e-12)


def test_ends_of_the_range():
    """No records, one component, no weight, ties, a collinear design: finite, above the floor."""
    for prior, n, p, weight in (
        (PRIOR, 0, 1, 1.0),
        (MixturePrior(components=1), 5, 2, 0.5),
        (MixturePrior(components=3), 60, 2, 0.0),
        (MixturePrior(components=2), 60, 2, 1.0),
    ):
        target = MixtureMetropolis(prior, np.zeros(n), np.ones((n, p)), np.full(n, weight))
        drawn = metropolis_draws(target, SeededRandomness(81), draws=20, burn_in=20, thin=2)
        assert drawn.coefficients.shape == (20, prior.components, p)
        assert all(np.isfinite(one).all() for one in vars(drawn).values())
        assert drawn.variances.min() >= prior.noise_floor**2 * (1 - 1e-12)
    assert drawn.variances.min(axis=1).max() < 0.1**2  # ties


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"burn_in": -1}, {"thin": 0}])
def test_a_chain_refuses_wrong_numbers(wrong):
    target = MixtureMetropolis(PRIOR, *few())
    with pytest.raises(ValueError, match="metropolis_draws"):
        metropolis_draws(target, SeededRandomness(1), **({"draws": 1, "burn_in": 0} | wrong))


def test_a_target_refuses_what_does_not_fit():
    responses, design, weights = few()
    with pytest.raises(ValueError, match=r"weights must lie in \[0, 1\]"):
        MixtureMetropolis(PRIOR, responses, design, 3 * weights)


@pytest.mark.skipif(find_spec("numpyro") is None, reason="needs the extra numpyro")
def test_it_agrees_with_the_sampler_by_gradients():
    """n = 40, weights from 0 to 1; the chain of the other target is told apart."""
    y, x, alpha = forty()
    target = MixtureMetropolis(PRIOR, y, x, alpha)
    here = predicted(metropolis_draws(target, SeededRandomness(91), draws=5000, burn_in=300), y, x)

    def worst(power):
        other = MixtureNuts(PRIOR, y, x, alpha, power)
        drawn = nuts_draws(other, SeededRandomness(92), draws=4000, warm_up=500).mixtures
        there = predicted(drawn, y, x)
        return min(
            stats.ttest_ind(batched(here[name]), batched(there[name]), equal_var=False).pvalue
            for name in here
        )

    assert worst("marginal") > LEVEL
    assert worst("labels") < LEVEL
