"""Rejection is exact: integer decisions, replayed draws, no overflow. Fits are in test_laws.py."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import binomtest

from understudy.dp import sampling
from understudy.dp.distributions import DiscreteGaussian
from understudy.dp.randomness import SeededRandomness

# Probability that a correct implementation fails one binomial test; seeds are fixed.
LEVEL = 1e-6


@pytest.mark.parametrize(
    "gamma", [F(0), F(1, 10**12), F(1, 3), F(1), F(7, 3), F(5), F(2**61, 2**61 - 1), F(10**9)]
)
def test_bernoulli_exp_has_the_stated_probability(gamma):
    hits = sampling.bernoulli_exp(gamma, 200_000, SeededRandomness(1))
    assert hits.dtype == np.bool_
    assert binomtest(int(hits.sum()), hits.size, math.exp(-gamma)).pvalue > LEVEL


@pytest.mark.parametrize("gamma", [F(1, 3), F(1), F(7, 3)])
@pytest.mark.parametrize("wrong", [F(7, 10), F(13, 10)])
def test_the_same_test_rejects_another_exponent(gamma, wrong):
    hits = sampling.bernoulli_exp(gamma * wrong, 200_000, SeededRandomness(2))
    assert binomtest(int(hits.sum()), hits.size, math.exp(-gamma)).pvalue < LEVEL


def test_word_below_keeps_complete_blocks_only():
    words = np.array([2**64 - 1, 5, 2**64 - 1], dtype=np.uint64)
    cursor = np.zeros(1, dtype=np.int64)
    assert sampling.word_below(words, cursor, 3) == 2  # 2**64 = 3k + 1: the first word is refused
    assert cursor[0] == 2
    assert sampling.word_below(words, cursor, 2**62) == 2**62 - 1


DRAWS = {
    "bernoulli": lambda source: sampling.bernoulli_exp(F(7, 3), 500, source),
    "laplace": lambda source: sampling.discrete_laplace(F(100, 19), 500, source),
    "laplace, tiny": lambda source: sampling.discrete_laplace(F(1, 50), 500, source),
    "gaussian": lambda source: sampling.discrete_gaussian(F(10**6, 7), 500, source),
    "gaussian, tiny": lambda source: sampling.discrete_gaussian(F(1, 50), 500, source),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_a_draw_cut_by_the_end_of_a_buffer_is_replayed_not_restarted(draw, chunk, monkeypatch):
    whole = draw(SeededRandomness(3))
    monkeypatch.setattr(sampling, "_CHUNK_WORDS", chunk)
    assert np.array_equal(draw(SeededRandomness(3)), whole)


def slow_laplace(scale, words):
    """Algorithm 2 of Canonne, Kamath & Steinke with Python integers, one word at a time."""

    def below(bound):
        while True:
            word = next(words)
            if word < 2**64 // bound * bound:
                return word % bound

    def bernoulli_exp(n, d):
        k = 1
        while n and (k == 1 or below(k) == 0) and (n == d or below(d) < n):
            k += 1
        return n == 0 or k % 2 == 1

    t, s = scale.as_integer_ratio()
    while True:
        u = below(t)
        while not bernoulli_exp(u, t):
            u = below(t)
        v = 0
        while bernoulli_exp(1, 1):
            v += 1
        magnitude, negative = (u + t * v) // s, next(words) & 1
        if magnitude or not negative:
            return -magnitude if negative else magnitude


@pytest.mark.parametrize("scale", [F(1, 5), F(1), F(100, 19), F(2**40, 2**40 - 1), F(2**40)])
def test_the_kernel_equals_the_slow_algorithm_word_for_word(scale):
    words = iter(int(w) for w in SeededRandomness(4).words(200_000))
    slow = [slow_laplace(scale, words) for _ in range(2000)]
    assert sampling.discrete_laplace(scale, 2000, SeededRandomness(4)).tolist() == slow


@pytest.mark.parametrize("variance", [F(3, 10), F(2), F(10**4, 7), F(2**60, 2**40 - 1), F(2**60)])
def test_gaussian_acceptance_has_the_probability_of_the_paper(variance):
    """exp(-(|y| - σ²/t)²/(2σ²)), for proposals y below, around and above σ²/t."""
    t = math.isqrt(math.floor(variance)) + 1
    words = SeededRandomness(5).words(1_000_000)
    cursor = np.zeros(1, dtype=np.int64)
    for u, v in {(0, 0), (t // 2, 0), (t - 1, 0), (0, 1), (t // 3, 1), (t - 1, 2), (0, 3)}:
        gamma = (u + t * v - variance / t) ** 2 / (2 * variance)
        terms = ((u, v), variance.as_integer_ratio(), t)
        hits = sum(sampling._gaussian_accepts(words, cursor, *terms) for _ in range(10_000))
        assert binomtest(hits, 10_000, math.exp(-gamma)).pvalue > LEVEL
    assert cursor[0] <= words.size


@pytest.mark.parametrize("variance", [F(2**60 - 1, 2**40 - 1), F(2**60 - 1), F(1, 2**40)])
def test_gaussians_with_the_largest_terms_keep_their_moments(variance):
    draws = sampling.discrete_gaussian(variance, 100_000, SeededRandomness(6)).astype(float)
    distribution = DiscreteGaussian(variance)
    # 6 standard errors of the mean and of the second moment: false alarm below 4e-9.
    assert abs(draws.mean()) <= 6 * distribution.stddev / math.sqrt(draws.size)
    assert np.mean(draws**2) == pytest.approx(
        distribution.stddev**2, rel=6 * math.sqrt(2 / draws.size)
    )


@pytest.mark.parametrize(
    "draw",
    [
        lambda s: sampling.bernoulli_exp(F(-1, 2), 1, s),
        lambda s: sampling.bernoulli_exp(F(1, 2**62), 1, s),
        lambda s: sampling.discrete_laplace(F(0), 1, s),
        lambda s: sampling.discrete_laplace(F(2**40 + 1), 1, s),
        lambda s: sampling.discrete_gaussian(F(0), 1, s),
        lambda s: sampling.discrete_gaussian(F(2**60 + 1), 1, s),
        lambda s: sampling.discrete_gaussian(F(1, 2**40 + 1), 1, s),
    ],
)
def test_terms_that_could_overflow_are_refused(draw):
    with pytest.raises(ValueError, match="expected"):
        draw(SeededRandomness(1))


def test_no_draws_need_no_words():
    assert sampling.discrete_laplace(F(1), 0, SeededRandomness(1)).size == 0
