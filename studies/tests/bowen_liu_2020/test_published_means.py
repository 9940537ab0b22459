"""The perturbed histogram by its kernels: the mean of a normal column as it was published."""

import numpy as np
import pytest
from scipy import stats

from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.papers.histograms import scott_bins
from understudy_studies.measures.grouped_histograms import bin_counts, bin_shares, draw_values


def study(n, epsilon, repetitions, seed):
    """Ten sets at ε/10 each, Scott's rule: means, and whether t intervals cover the true 0."""
    rng, source, m = np.random.default_rng(seed), SeededRandomness(seed), 10
    x = rng.normal(size=(repetitions, n)).clip(-3, 4)
    n_bins = scott_bins(7, x.std(axis=1, ddof=1), n)
    q, u = np.empty((2, repetitions, m))
    for k in np.unique(n_bins):
        rows, edges = np.flatnonzero(n_bins == k), np.linspace(-3, 4, k + 1)
        noise = ContinuousLaplace(m / epsilon).sample(len(rows) * m * k, source)
        noisy = bin_counts(x[rows], edges)[:, None] + noise.reshape(len(rows), m, k)
        values = draw_values(bin_shares(noisy), edges, n, rng)
        q[rows], u[rows] = values.mean(axis=-1), values.var(axis=-1, ddof=1) / n
    between, within = q.var(axis=1, ddof=1), u.mean(axis=1)
    t = stats.t.ppf(0.975, (m - 1) * (1 + m * within / between) ** 2)
    means = q.mean(axis=1)
    return np.median(n_bins), means, np.abs(means) < t * np.sqrt(within + between / m)


@pytest.mark.parametrize(
    ("n", "epsilon", "repetitions", "n_bins", "bias", "coverage"),
    [
        (100, 1.0, 1000, 10, 0.186, 0.87),
        (1000, 1.0, 250, 21, 0.052, 0.88),
        (1000, np.exp(4), 250, 21, 0.002, 0.92),
    ],
)
def test_the_mean_of_a_normal_column_comes_out_as_published(
    n, epsilon, repetitions, n_bins, bias, coverage
):
    """Independent simulations of 250 repetitions; ± 4 standard errors of both together leave a
    false alarm of 1e-4 per figure."""
    found, means, covered = study(n, epsilon, repetitions, seed=2)
    both = np.sqrt(1 / repetitions + 1 / 250)
    assert found == n_bins
    assert abs(means.mean() - bias) < 4 * means.std() * both
    assert abs(covered.mean() - coverage) < 4 * np.sqrt(coverage * (1 - coverage)) * both
