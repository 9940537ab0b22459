"""Binomial and negative binomial numbers of any size.

Chi-square or Kolmogorov–Smirnov at a false-alarm rate of 10⁻⁴; each comparison also rejects a
success probability (or mean) that is off by a few per cent.
"""

import numpy as np
import pytest
from scipy import stats

from night import NIGHT
from understudy.dp.randomness import SeededRandomness
from understudy.dp.sampling import (
    Uniforms,
    binomial,
    gamma,
    log1p_minus,
    negative_binomial,
    poisson,
)

ALPHA = 1e-4
N = 4_000 if NIGHT else 1_500


def chi_square(drawn, distribution):
    """p-value of the draws under a discrete law, cells of expected count below 5 pooled."""
    low, high = int(distribution.ppf(1e-3)), int(distribution.ppf(1 - 1e-3))
    edges = np.unique(np.linspace(low, high, 12).astype(int))
    expected = np.diff([0, *distribution.cdf(edges), 1]) * len(drawn)
    observed = np.histogram(drawn, bins=[-np.inf, *(edges + 0.5), np.inf])[0]
    keep = expected > 1e-9
    return stats.chisquare(
        observed[keep], expected[keep] * observed.sum() / expected[keep].sum()
    ).pvalue


@pytest.mark.parametrize(("n", "p"), [(5, 0.3), (64, 0.9), (65, 0.5), (1000, 0.01), (10**6, 2e-5)])
def test_binomial(n, p):
    uniform = Uniforms(SeededRandomness(1))
    drawn = [binomial(n, p, uniform) for _ in range(N)]
    assert chi_square(drawn, stats.binom(n, p)) > ALPHA
    assert chi_square(drawn, stats.binom(n, p * 0.9)) < ALPHA


@pytest.mark.parametrize(("n", "p"), [(10**12, 0.27), (4 * 10**18, 0.5)])
def test_binomial_of_huge_numbers_is_normal(n, p):
    uniform = Uniforms(SeededRandomness(2))
    sd = np.sqrt(n * p * (1 - p))
    drawn = [binomial(n, p, uniform) - int(n * p) for _ in range(N if NIGHT else 500)]
    z = np.array(drawn, dtype=float) / sd
    assert stats.kstest(z, "norm").pvalue > ALPHA
    tail = stats.chi2(len(z)).sf
    assert ALPHA < tail((z**2).sum()) < 1 - ALPHA
    assert tail(((1.2 * z) ** 2).sum()) < ALPHA
    assert tail(((z / 1.2) ** 2).sum()) > 1 - ALPHA


@pytest.mark.parametrize(("n", "p"), [(4 * 10**18, 1e-17), (10**12, 5e-12)])
def test_binomial_with_tiny_probability_is_poisson(n, p):
    """Library quantile functions return 0 here, since 1 − p rounds to 1."""
    uniform = Uniforms(SeededRandomness(3))
    drawn = [binomial(n, p, uniform) for _ in range(N if NIGHT else 800)]
    assert chi_square(drawn, stats.poisson(n * p)) > ALPHA
    assert chi_square(drawn, stats.poisson(n * p * 0.9)) < ALPHA


@pytest.mark.parametrize("mean", [0.1, 63.0, 65.0, 5000.0])
def test_poisson(mean):
    uniform = Uniforms(SeededRandomness(4))
    drawn = [poisson(mean, uniform) for _ in range(N)]
    assert chi_square(drawn, stats.poisson(mean)) > ALPHA
    assert chi_square(drawn, stats.poisson(mean * 0.75)) < ALPHA


@pytest.mark.parametrize(("n", "odds"), [(1, 0.5), (7, 4.0), (300, 0.58)])
def test_negative_binomial(n, odds):
    uniform = Uniforms(SeededRandomness(5))
    drawn = [negative_binomial(n, odds, uniform) for _ in range(N)]
    assert chi_square(drawn, stats.nbinom(n, 1 / (1 + odds))) > ALPHA
    assert chi_square(drawn, stats.nbinom(n, 1 / (1 + 0.75 * odds))) < ALPHA


@pytest.mark.parametrize("shape", [1, 2, 50])
def test_gamma(shape):
    uniform = Uniforms(SeededRandomness(6))
    drawn = [gamma(shape, uniform) for _ in range(N)]
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > ALPHA
    assert stats.kstest(np.multiply(drawn, 1.2), stats.gamma(shape).cdf).pvalue < ALPHA


def test_nothing_to_draw():
    uniform = Uniforms(SeededRandomness(7))
    assert binomial(0, 0.5, uniform) == 0
    assert binomial(10**12, 0.0, uniform) == 0
    assert binomial(10**12, 1.0, uniform) == 10**12
    assert negative_binomial(0, 1.0, uniform) == 0
    assert negative_binomial(10, 0.0, uniform) == 0


@pytest.mark.parametrize("t", [-0.5, -1e-3, 1e-9, 0.0099, 0.0101, 2.0])
def test_log1p_minus_does_not_cancel(t):
    import mpmath

    with mpmath.workdps(50):
        exact = mpmath.log(1 + mpmath.mpf(t)) - mpmath.mpf(t)
    assert log1p_minus(t) == pytest.approx(float(exact), rel=1e-13 if abs(t) < 0.01 else 1e-11)
