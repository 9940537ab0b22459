"""Coverage of the combining rules on sets made as each rule says, and of wrong rules beside them.

Every test has a fixed seed and 10,000 repetitions, so that the Monte Carlo error of a coverage of
95 % is 0.22 percentage points; it asserts 95 % ± 4.5 of these (± 0.98), a false alarm in 150,000
seeds where the coverage is exactly 95 %. Every test also shows that it has the power to reject: an
interval that leaves something out falls outside.
"""

import numpy as np
import pytest
from scipy import stats

from understudy.inference.combining import full_variance, partial_variance, single_variance

REPETITIONS = 10_000
MARGIN = 4.5 * np.sqrt(0.95 * 0.05 / REPETITIONS)
N = 1000
TRUTH = 0.25


def covered(totals, truth=0.0):
    """Share of 95 % intervals that hold the truth."""
    reach = stats.t.ppf(0.975, totals.df) * np.sqrt(totals.variance)
    return np.mean(np.abs(totals.estimate - truth) <= reach)


def naive(q, u, truth=0.0):
    """The same of intervals that take the mean of the sets for the mean of real data."""
    return np.mean(np.abs(q.mean(1) - truth) <= 1.959964 * np.sqrt(u.mean(1)))


def normal_sets(rng, m, n_synthetic=N):
    """Means, and their variances, of m sets with a fresh draw of normal parameters each.

    The mean and variance of n records are drawn by their own laws, not record by record.
    """
    mean = rng.normal(0, 1 / np.sqrt(N), (REPETITIONS, 1, 1))
    variance = rng.chisquare(N - 1, mean.shape) / (N - 1)
    shape = (REPETITIONS, m, 1)
    drawn = (N - 1) * variance / rng.chisquare(N - 1, shape)
    centre = mean + rng.normal(size=shape) * np.sqrt(drawn / N)
    q = centre + rng.normal(size=shape) * np.sqrt(drawn / n_synthetic)
    return q, drawn * rng.chisquare(n_synthetic - 1, shape) / (n_synthetic - 1) / n_synthetic


def discrete_laplace(rng, epsilon, shape):
    """Noise for counts; the difference of two geometric draws."""
    p = -np.expm1(-epsilon)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def proportion(y, n_synthetic=N):
    q = y / n_synthetic
    return q, q * (1 - q) / n_synthetic


@pytest.mark.parametrize("m", [3, 5, 20])
def test_partial_on_sets_with_fresh_parameters(m):
    q, u = normal_sets(np.random.default_rng(m), m)
    assert covered(partial_variance(q, u)) == pytest.approx(0.95, abs=MARGIN)
    # The naive interval leaves out b/m = 2ū/m.
    assert naive(q, u) < 0.95 - MARGIN
    assert covered(single_variance(q[:, :1], u[:, :1], 0.0)) < 0.8


def test_partial_on_two_sets_falls_short():
    """Its t reference approximates badly where b, known from 2 sets, is twice ū; as documented."""
    q, u = normal_sets(np.random.default_rng(2), 2)
    assert covered(partial_variance(q, u)) == pytest.approx(0.93, abs=MARGIN)


def test_partial_on_sets_with_fresh_noise():
    """MODIPS: noise at ε/m in each set, a Beta draw, then records."""
    rng, m, epsilon = np.random.default_rng(20), 5, 0.5
    shape = (REPETITIONS, m, 1)
    count = rng.binomial(N, TRUTH, (REPETITIONS, 1, 1))
    noisy = np.clip(count + discrete_laplace(rng, epsilon / m, shape), 0, N)
    q, u = proportion(rng.binomial(N, rng.beta(noisy + 1 / 3, N - noisy + 1 / 3)))
    assert covered(partial_variance(q, u), TRUTH) == pytest.approx(0.95, abs=MARGIN)
    assert naive(q, u, TRUTH) < 0.95 - MARGIN


def test_partial_on_sets_of_another_size():
    q, u = normal_sets(np.random.default_rng(3), 5, n_synthetic=250)
    assert covered(partial_variance(q, u, size_ratio=0.25)) == pytest.approx(0.95, abs=MARGIN)
    assert covered(partial_variance(q, u)) > 0.95 + MARGIN


@pytest.mark.parametrize("m", [1, 2, 10])
def test_single_on_free_draws_from_one_noisy_fit(m):
    rng, epsilon = np.random.default_rng(30 + m), 0.05
    count = rng.binomial(N, TRUTH, (REPETITIONS, 1, 1))
    fit = np.clip((count + discrete_laplace(rng, epsilon, count.shape)) / N, 0, 1)
    q, u = proportion(rng.binomial(N, fit, (REPETITIONS, m, 1)))
    tail = np.exp(-epsilon)
    noise = 2 * tail / (1 - tail) ** 2 / N**2
    # One set does not show the draw of its records: about u, as the caller has to know.
    draw = u[:, 0] if m == 1 else 0.0
    assert covered(single_variance(q, u, noise + draw), TRUTH) == pytest.approx(0.95, abs=MARGIN)
    assert naive(q, u, TRUTH) < 0.7
    if m > 1:  # the noise that the sets share does not show in b
        assert covered(partial_variance(q, u), TRUTH) < 0.95 - MARGIN


def test_full_on_samples_of_imputed_populations():
    q, u = normal_sets(np.random.default_rng(100), 100)
    totals = full_variance(q, u)
    assert covered(totals) == pytest.approx(0.95, abs=MARGIN)
    assert not totals.adjusted.any()
    assert np.mean(totals.variance) == pytest.approx(1.02 / N, rel=0.02)
    # The rule for missing data, ū + (1 + 1/m)·b, would count the sampling three times.
    imputed = totals._replace(variance=totals.variance + 2 * u.mean(axis=1))
    assert covered(imputed) > 0.95 + MARGIN


@pytest.mark.parametrize(("m", "coverage", "replaced"), [(5, 0.982, 0.19), (20, 0.992, 0.03)])
def test_full_on_few_sets_is_conservative(m, coverage, replaced):
    """Its degrees of freedom are few where T is small by chance; as documented."""
    q, u = normal_sets(np.random.default_rng(m), m)
    totals = full_variance(q, u)
    assert covered(totals) == pytest.approx(coverage, abs=0.006)
    assert totals.adjusted.mean() == pytest.approx(replaced, abs=0.02)
    assert naive(q, u) < 0.95 - MARGIN
