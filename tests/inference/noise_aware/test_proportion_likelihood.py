"""Noise-aware posteriors: against a grid by brute force, edges, and coverage on simulated releases.

Coverage tests have fixed seeds and 20,000 releases: the Monte Carlo error is 0.15 percentage
points, asserted is 95 % ± 4.5 of these. With π drawn from the prior the coverage is exactly 95 %,
so that a false alarm takes one seed in 150,000.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from understudy.errors import InferenceError
from understudy.papers import proportion_likelihood
from understudy.papers.proportion_likelihood import (
    from_beta_binomial,
    from_dp_prior,
)

pytestmark = pytest.mark.statistical

MANY = settings(max_examples=40, deadline=None, derandomize=True)
EPSILON = 1.0
GRID = (np.arange(4_000) + 0.5) / 4_000


def by_grid(weights, n):
    """Mean, sd and 95 % interval from the likelihood itself, on a grid of π."""
    return summary(np.asarray(weights) @ binomial(n))


@cache
def binomial(n):
    """Bin(n₁; n, π), shape (n + 1, grid)."""
    return stats.binom.pmf(np.arange(n + 1)[:, None], n, GRID)


def summary(likelihood):
    p = likelihood / likelihood.sum()
    mean = p @ GRID
    below = np.cumsum(p)
    ends = np.interp([0.025, 0.975], below, GRID + 0.5 / GRID.size)
    return mean, np.sqrt(p @ (GRID - mean) ** 2), *ends


def figures(posterior):
    return posterior.mean, posterior.sd, *posterior.interval(0.95)


# --- against brute force ------------------------------------------------------------------------


@MANY
@given(st.integers(0, 25), st.integers(0, 30), st.floats(0.05, 100), st.data())
def test_beta_binomial_on_a_grid(n, size, alpha, data):
    y = data.draw(st.integers(0, size))
    levels = data.draw(st.integers(2, 5))
    cells = data.draw(st.integers(1, levels - 1))
    weights = [
        stats.betabinom.pmf(y, size, n1 + cells * alpha, n - n1 + (levels - cells) * alpha)
        for n1 in range(n + 1)
    ]
    posterior = from_beta_binomial(
        y, n_synthetic=size, n_rows=n, alpha=alpha, levels=levels, cells=cells
    )
    assert figures(posterior) == pytest.approx(by_grid(weights, n), abs=2e-4)


@MANY
@given(st.integers(0, 25), st.integers(0, 30), st.floats(0.05, 100), st.data())
def test_dp_prior_on_a_grid(n, size, prior, data):
    y = data.draw(st.integers(0, size))
    hit = (np.arange(n + 1) + 2 * prior) / (n + 5 * prior)
    posterior = from_dp_prior(y, n_synthetic=size, n_rows=n, prior=prior, levels=5, cells=2)
    assert figures(posterior) == pytest.approx(by_grid(stats.binom.pmf(y, size, hit), n), abs=2e-4)


def test_several_sets_multiply():
    options = {"n_synthetic": 12, "n_rows": 10, "alpha": 3.0}
    weights = np.prod(
        [stats.betabinom.pmf(y, 12, np.arange(11) + 3, 13 - np.arange(11)) for y in (4, 7, 5)],
        axis=0,
    )
    several = from_beta_binomial([4, 7, 5], **options)
    assert figures(several) == pytest.approx(by_grid(weights, 10), abs=2e-4)
    assert several.sd < from_beta_binomial(5, **options).sd


def test_density_and_cdf_agree():
    posterior = from_beta_binomial(4, n_synthetic=15, n_rows=15, alpha=2)
    below = np.cumsum(posterior.density(GRID)) / GRID.size
    for at in (100, 1_000, 2_400):
        assert below[at] == pytest.approx(posterior.cdf((at + 1) / GRID.size), abs=1e-6)
    assert posterior.density([0.0, 1.0]) == pytest.approx([16 * posterior.weights[0], 0], abs=0.05)


# --- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "posterior",
    [
        from_beta_binomial(3, n_synthetic=5, n_rows=0, alpha=2),
        from_beta_binomial(0, n_synthetic=0, n_rows=9, alpha=2),
        from_dp_prior(0, n_synthetic=0, n_rows=9, prior=2),
    ],
    ids=["no rows", "no records", "no records"],
)
def test_what_says_nothing_leaves_the_prior(posterior):
    assert figures(posterior) == pytest.approx((0.5, 12**-0.5, 0.025, 0.975), abs=1e-6)


def test_many_records_leave_the_posterior_of_the_rows():
    """Of 10¹³ records the share tells the count of 30 among 100 rows."""
    drawn = round(30.5 / 101 * 10**13)
    posterior = from_dp_prior(drawn, n_synthetic=10**13, n_rows=100, prior=0.5)
    assert posterior.mean == pytest.approx(31 / 102)
    assert posterior.interval() == pytest.approx(tuple(stats.beta.ppf([0.025, 0.975], 31, 71)))


@pytest.mark.parametrize("n", [1_000, 100_000])
def test_large_numbers_are_stable(n):
    """Against the normal law, which has to hold there: variances of sampling and noise add up."""
    y = 0.45 * n
    alpha = n / np.expm1(EPSILON)
    posterior = from_beta_binomial(y, n_synthetic=n, n_rows=n, alpha=alpha)
    shrink = n / (n + 2 * alpha)
    assert posterior.mean == pytest.approx((0.45 - (1 - shrink) / 2) / shrink, abs=2 / n**0.5 / 10)
    drawn = 0.45 * 0.55 / n * (1 + n / (n + 2 * alpha))
    sampled = posterior.mean * (1 - posterior.mean) / n
    assert posterior.sd == pytest.approx(np.sqrt(sampled + drawn / shrink**2), rel=0.02)
    assert from_dp_prior(
        y, n_synthetic=n, n_rows=n, prior=1 / np.expm1(EPSILON / n)
    ).mean == pytest.approx(0.35, abs=0.01)


def test_dropped_components_do_not_show(monkeypatch):
    released = {"n_synthetic": 500, "n_rows": 1000, "prior": 0.1}
    kept = from_dp_prior(200, **released)
    assert kept.weights.size < 400
    monkeypatch.setattr(proportion_likelihood, "_DROPPED", 0.0)
    everything = from_dp_prior(200, **released)
    assert everything.weights.size > 900  # the others underflow
    for at in (0.3, 0.36, 0.4, 0.45):
        assert abs(kept.cdf(at) - everything.cdf(at)) <= 2e-12
    assert figures(kept) == pytest.approx(figures(everything), rel=1e-10)


REFUSED = [
    (lambda: from_beta_binomial(6, n_synthetic=5, n_rows=5, alpha=1), "whole numbers from 0"),
    (lambda: from_beta_binomial(1.5, n_synthetic=5, n_rows=5, alpha=1), "whole numbers from 0"),
    (lambda: from_beta_binomial(np.nan, n_synthetic=5, n_rows=5, alpha=1), "whole numbers from 0"),
    (lambda: from_beta_binomial(1, n_synthetic=5, n_rows=-1, alpha=1), "n_rows"),
    (lambda: from_beta_binomial(1, n_synthetic=5, n_rows=5, alpha=0), "prior weight"),
    (lambda: from_dp_prior(1, n_synthetic=5, n_rows=5, prior=np.inf), "prior weight"),
    (lambda: from_dp_prior(1, n_synthetic=5, n_rows=5, prior=1, cells=2), "cells"),
    (
        lambda: from_beta_binomial(1, n_synthetic=5, n_rows=5, alpha=1).interval(0),
        "level",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals(call, message):
    with pytest.raises(InferenceError, match=message):
        call()


# --- coverage -----------------------------------------------------------------------------------


def require_coverage(truth, released, interval, naive):
    """Coverage of `interval` is 95 % within the margin, and that of `naive` is below it."""
    margin = 4.5 * np.sqrt(0.95 * 0.05 / len(truth))
    shares = []
    for make in (cache(interval), cache(naive)):
        ends = np.array([make(value) for value in released])
        shares.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
    assert shares[0] == pytest.approx(0.95, abs=margin)
    assert shares[1] < 0.95 - margin


def wald_interval(y, n):
    share = y / n
    reach = 1.959964 * np.sqrt(max(share * (1 - share), 0) / n)
    return share - reach, share + reach


def proportions(rng, repetitions, fixed):
    return np.full(repetitions, fixed) if fixed else rng.random(repetitions)


@pytest.mark.parametrize("fixed", [None, 0.3])
@pytest.mark.nightly(every=2)
def test_coverage_beta_binomial(fixed):
    rng, n = np.random.default_rng(1), 400
    alpha = n / np.expm1(EPSILON)
    truth = proportions(rng, 20_000, fixed)
    n1 = rng.binomial(n, truth)
    y = rng.binomial(n, rng.beta(n1 + alpha, n - n1 + alpha))
    require_coverage(
        truth,
        y.tolist(),
        lambda y: from_beta_binomial(y, n_synthetic=n, n_rows=n, alpha=alpha).interval(),
        lambda y: wald_interval(y, n),
    )


@pytest.mark.parametrize("fixed", [None, 0.3])
@pytest.mark.nightly(every=2)
def test_coverage_dp_prior(fixed):
    rng, n = np.random.default_rng(2), 400
    prior = 1 / np.expm1(EPSILON / n)
    truth = proportions(rng, 20_000, fixed)
    n1 = rng.binomial(n, truth)
    y = rng.binomial(n, (n1 + prior) / (n + 2 * prior))
    require_coverage(
        truth,
        y.tolist(),
        lambda y: from_dp_prior(y, n_synthetic=n, n_rows=n, prior=prior).interval(),
        lambda y: wald_interval(y, n),
    )
