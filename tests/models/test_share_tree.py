"""Denoised counts: against a slow tree of integrals, what always holds, and what is gained."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from understudy.models.number_line import _SIZES, _truncated_normal, denoise, tree_shares
from understudy.models.tables import project


def density(x, mean, stddev):
    """Of a normal number; the library's own checks take ten times as long, for each number."""
    return math.exp(-(((x - mean) / stddev) ** 2) / 2) / (stddev * math.sqrt(2 * math.pi))


def slow_posterior(seen, variance, even, weights=None):
    """Likelihood and posterior mean of θ under each component, by numerical integration."""
    found = [(density(seen, even, variance**0.5), even)]
    for size in _SIZES:
        inside = norm.cdf(1, even, size) - norm.cdf(0, even, size)

        def joint(t, size=size, inside=inside):
            return density(seen, t, variance**0.5) * density(t, even, size) / inside

        near = [min(max(p, 0), 1) for p in (seen, even)]
        mass = quad(joint, 0, 1, points=near, limit=100)[0]
        mean = quad(lambda t, f=joint: t * f(t), 0, 1, points=near, limit=100)[0] / mass
        found.append((mass, mean))
    found += [(density(seen, end, variance**0.5), end) for end in (0, 1)]
    return np.array(found)


def slow_tree(noisy, variance, widths):
    """Part by part, layer by layer; the row begins at the first leaf, the second, …"""
    n_leaves = 1 << (2 * len(noisy) - 2).bit_length()
    trees = 1 << (len(noisy) - 1).bit_length()
    parts = [(t, 0, n_leaves, 1.0) for t in range(trees)]

    def sums(tree, first, end):
        own = range(max(first - tree, 0), min(max(end - tree, 0), len(noisy)))
        return [sum(one[k] for k in own) for one in (noisy, variance, widths)]

    while parts[0][2] - parts[0][1] > 1:
        nodes = []
        for tree, first, end, mass in parts:
            middle = (first + end) // 2
            left, right = sums(tree, first, middle), sums(tree, middle, end)
            table = None
            if left[2] and right[2]:
                both = left[1] + right[1]
                z = (left[0] * right[1] + (mass - right[0]) * left[1]) / both
                v = left[1] * right[1] / both
                table = slow_posterior(z / mass, v / mass**2, left[2] / (left[2] + right[2]))
            nodes.append((tree, first, middle, end, mass, left[2] > 0, table))
        tables = [node[-1] for node in nodes if node[-1] is not None]
        weights = np.full(7, 1 / 7)
        for _ in range(20):
            chances = [table[:, 0] * weights for table in tables]
            weights = sum((c / c.sum() for c in chances), np.zeros(7))
            weights[0] += trees
            weights[5] = weights[6] = (weights[5] + weights[6]) / 2
            weights = weights / weights.sum()
        parts = []
        for tree, first, middle, end, mass, has_left, table in nodes:
            share = float(has_left)
            if table is not None:
                chances = table[:, 0] * weights
                share = (chances * table[:, 1]).sum() / chances.sum()
            parts += [(tree, first, middle, mass * share), (tree, middle, end, mass * (1 - share))]
    leaves = {(tree, first): mass for tree, first, _, mass in parts}
    n = len(noisy)
    return np.array([np.mean([leaves[t, t + k] for t in range(trees)]) for k in range(n)])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_shares_are_those_of_the_slow_tree(seed):
    rng = np.random.default_rng(seed)
    truth = np.array([0.8, 0.02, 0.18])
    variance = rng.uniform(0.03, 0.08, 3) ** 2
    noisy = truth + rng.normal(0, np.sqrt(variance))
    widths = rng.uniform(0.5, 2, 3)
    slow = slow_tree(noisy, variance, widths)
    np.testing.assert_allclose(tree_shares(noisy, variance, widths), slow, atol=1e-6)


def test_the_mean_of_a_cut_normal_law_is_its_integral():
    middle, deviation = np.meshgrid([-3.0, -0.1, 0.0, 0.4, 1.2, 9.0], [0.05, 0.3, 2.0, 50.0])
    mean, inside = _truncated_normal(middle, deviation)
    for m, d, got, log in zip(middle.flat, deviation.flat, mean.flat, inside.flat, strict=True):
        peak = min(max(m, 0), 1)
        top = norm.logpdf(peak, m, d)

        def density(t, m=m, d=d, top=top):
            return np.exp(norm.logpdf(t, m, d) - top)

        mass = quad(density, 0, 1, points=[peak], limit=100)[0]
        expected = quad(lambda t, f=density: t * f(t), 0, 1, points=[peak], limit=100)[0] / mass
        assert got == pytest.approx(expected, abs=1e-6)
        assert log == pytest.approx(np.log(mass) + top, abs=1e-5)


COLUMNS = {
    "smooth": 20_000 * norm.pdf(np.arange(100), 30, 12),
    "spike": np.where(np.arange(100) == 0, 18_000, 20_000 * norm.pdf(np.arange(100), 60, 10)),
    "steps": np.repeat([0.0, 400, 0, 50, 550], 20),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("stddev", [30.0, 300.0])
@pytest.mark.nightly(every=3)
def test_less_than_three_quarters_of_the_error_of_the_projection_is_left(name, stddev):
    truth = COLUMNS[name]
    rng = np.random.default_rng(1)
    noisy = truth + rng.normal(0, stddev, (12, len(truth)))
    total = truth.sum()
    before = np.abs(project(noisy, total) - truth).sum(axis=-1).mean()
    after = np.abs(denoise(noisy, stddev, total=total) - truth).sum(axis=-1).mean()
    assert after < 0.75 * before


def test_heaps_stay():
    """Every fifth state has five times the records; 16 deviations of noise must not blur that."""
    truth = np.where(np.arange(60) % 5 == 0, 1000.0, 200.0)
    noisy = truth + np.random.default_rng(2).normal(0, 50, (10, 60))
    result = denoise(noisy, 50.0, total=truth.sum())
    heaps = result[:, ::5].mean() / truth[::5].mean()
    assert 0.97 < heaps < 1.03


def test_without_noise_to_speak_of_the_counts_stay():
    counts = np.array([5.0, 0, 0, 1200, 3, 7, 0, 0, 1])
    np.testing.assert_allclose(denoise(counts, 1e-6), counts, atol=1e-4)
    np.testing.assert_allclose(denoise(counts, 0.0, ordered=False), counts, atol=1e-4)


def test_overwhelming_noise_leaves_what_the_widths_say():
    noisy = np.random.default_rng(3).normal(0, 1e9, 6)
    widths = np.array([1.0, 2, 3, 0, 1, 3])
    shares = denoise(noisy, 1e9, total=1.0, widths=widths)
    np.testing.assert_allclose(shares, widths / 10, atol=0.12)
    assert shares[3] == 0


@pytest.mark.parametrize("stddev", [1e-300, 1e-3, 30, 1e8, 1e30])
@pytest.mark.parametrize("total", [None, 0, 1e-8, 1e3, 1e9])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("n_states", [1, 2, 7, 8])
@pytest.mark.nightly(every=5)
def test_nothing_is_negative_and_the_sum_is_kept(stddev, total, ordered, n_states):
    noisy = 100 + np.random.default_rng(4).normal(0, stddev, (3, n_states))
    widths = np.ones(n_states)
    widths[1:2] = 0
    for wide in (None, widths):
        result = denoise(noisy, stddev, total=total, widths=wide, ordered=ordered)
        wanted = np.maximum(noisy.sum(axis=-1), 0) if total is None else total
        assert (result >= 0).all()
        np.testing.assert_allclose(result.sum(axis=-1), wanted, rtol=1e-9)


def test_leading_axes_are_repetitions():
    noisy = 50 + np.random.default_rng(5).normal(0, 20, (2, 3, 9))
    totals = np.arange(6).reshape(2, 3) * 100.0
    together = denoise(noisy, 20.0, total=totals)
    for i, j in np.ndindex(2, 3):
        alone = denoise(noisy[i, j], 20.0, total=totals[i, j])
        np.testing.assert_array_equal(together[i, j], alone)


def test_units_do_not_matter():
    noisy = COLUMNS["spike"] + np.random.default_rng(6).normal(0, 30, 100)
    one, other = denoise(noisy, 30.0), denoise(noisy * 1e6, 30e6)
    np.testing.assert_allclose(one, other / 1e6, atol=1e-6)


def test_a_noisier_state_weighs_less():
    """Two states of equal noisy count share a known sum; the correction goes to the noisier."""
    result = denoise([600.0, 600.0], [1.0, 100.0], total=1000)
    assert result[0] == pytest.approx(600, abs=5)
