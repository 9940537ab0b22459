"""Matrices of log-likelihoods against scipy, record by record."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from understudy.dp.randomness import SeededRandomness
from understudy.papers.mixture_gibbs import (
    MixturePrior,
    Mixtures,
    log_contributions,
    log_likelihoods,
)

S, K, P, ROWS = 7, 4, 3, 11
RNG = np.random.default_rng(5)
X = np.column_stack([np.ones(ROWS), RNG.normal(size=(ROWS, P - 1))])
Y = RNG.normal(size=ROWS)
WEIGHTS = np.append(RNG.uniform(size=ROWS - 2), [0.0, 1.0])
DRAWS = MixturePrior(components=K).draw(P, S, SeededRandomness(6)).mixtures


def parts():
    """log(π_k N_k), shape (S, n, K)."""
    means = np.einsum("ij,skj->sik", X, DRAWS.coefficients)
    scales = np.sqrt(DRAWS.variances)[:, np.newaxis]
    logs = stats.norm.logpdf(Y[:, np.newaxis], means, scales)
    return DRAWS.log_shares[:, np.newaxis] + logs


def stacked(chunks):
    return np.concatenate(list(chunks))


@pytest.mark.parametrize("chunk", [1, 2 * ROWS, 3 * ROWS + 1, 10**6])
def test_against_scipy(chunk):
    plain = stacked(log_likelihoods(DRAWS, Y, X, chunk=chunk))
    weighted = stacked(log_contributions(DRAWS, Y, X, WEIGHTS, chunk=chunk))
    assert plain.shape == weighted.shape == (S, ROWS)
    assert np.allclose(plain, logsumexp(parts(), axis=2), rtol=1e-12, atol=1e-10)
    expected = logsumexp(WEIGHTS[:, np.newaxis] * parts(), axis=2)
    assert np.allclose(weighted, expected, rtol=1e-12, atol=1e-10)


def test_chunks_are_as_small_as_asked_for():
    sizes = [len(one) for one in log_likelihoods(DRAWS, Y, X, chunk=3 * ROWS)]
    assert sizes == [3, 3, 1]
    assert [len(one) for one in log_likelihoods(DRAWS, Y, X, chunk=1)] == [1] * S


def test_bounds_of_the_contribution():
    """α·log f ≤ log Σu^α ≤ α·log f + (1 - α)·log K; exact at α = 0 and 1."""
    plain = stacked(log_likelihoods(DRAWS, Y, X))
    weighted = stacked(log_contributions(DRAWS, Y, X, WEIGHTS))
    assert np.all(weighted >= WEIGHTS * plain - 1e-12)
    assert np.all(weighted <= WEIGHTS * plain + (1 - WEIGHTS) * np.log(K) + 1e-12)
    assert weighted[:, -2] == pytest.approx(np.log(K))
    assert np.array_equal(weighted[:, -1], plain[:, -1])


def test_the_two_targets_differ():
    """Components of .3 and .1 at α = ½: .864 against .632."""
    log_shares = np.log([[0.75, 0.25]])
    draws = Mixtures(log_shares, np.zeros((1, 2, 1)), np.full((1, 2), 1 / (2 * np.pi * 0.4**2)))
    one, zero = np.ones((1, 1)), np.zeros(1)
    found = stacked(log_contributions(draws, zero, one, np.array([0.5])))
    assert np.exp(found) == pytest.approx(0.3**0.5 + 0.1**0.5)
    assert np.exp(found) == pytest.approx(0.864, abs=5e-4)
    assert np.exp(0.5 * stacked(log_likelihoods(draws, zero, one))) == pytest.approx(0.4**0.5)


def test_far_responses_stay_finite():
    far = np.full(ROWS, 1e9)
    assert np.isfinite(stacked(log_likelihoods(DRAWS, far, X))).all()


def test_no_record():
    assert stacked(log_likelihoods(DRAWS, Y[:0], X[:0])).shape == (S, 0)
