"""Records of a divided bin lie on its peaks, and noise alone makes none."""

import numpy as np
import pytest

from understudy.models.number_line import shares_of_parts

PARTS = 2048


def noise(rng, normal, stddev):
    if normal:
        return rng.normal(0, stddev, PARTS)
    return rng.laplace(0, stddev / np.sqrt(2), PARTS)


@pytest.mark.parametrize("normal", [True, False])
def test_a_peak_keeps_its_share(normal):
    """Off by the noise of its count: four standard deviations, wrong once in 7,000 (Laplace)."""
    rng, true = np.random.default_rng(1), np.full(PARTS, 200 / PARTS)
    true[700] = 800
    for _ in range(4):
        counts = true + noise(rng, normal, 20.0)
        shares = shares_of_parts(counts, np.ones(PARTS), 20.0, 1_000, normal=normal)
        assert shares.sum() == pytest.approx(1)
        assert shares[700] == pytest.approx(0.8, abs=0.11)
        assert np.delete(shares, 700).max() < 0.02


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("shape", ["even", "falling"])
@pytest.mark.nightly(every=4)
def test_a_dense_bin_gets_no_peak(normal, shape):
    """A bin of 2,048 parts has one by normal noise once in 230, by that of Laplace once in 50."""
    rng, found = np.random.default_rng(2), 0
    weights = np.ones(PARTS) if shape == "even" else np.linspace(2, 0, PARTS)
    true = 1_000 * weights / weights.sum()
    for _ in range(300):
        counts = true + noise(rng, normal, 25.0)
        shares = shares_of_parts(counts, np.ones(PARTS), 25.0, 1_000, normal=normal)
        found += shares is not None and shares.max() > 0.05
    assert found <= 16  # 6 are expected of Laplace noise, and more than 16 once in 5,000 runs


def test_peaks_beside_each_other_and_all_of_the_bin():
    counts = np.array([2.0, 500, 480, -3, 1])
    shares = shares_of_parts(counts, np.ones(5), 4.0, 985.0, normal=True)
    assert shares[[1, 2]].sum() == pytest.approx(1)
    alone = shares_of_parts(counts[:2], np.ones(2), 4.0, 500.0, normal=True)
    assert alone.tolist() == [0.0, 1.0]


def test_a_narrow_hill_is_told_from_the_rest_of_its_bin():
    rng, true = np.random.default_rng(3), np.zeros(PARTS)
    true[500:516] = 1_000 / 16
    counts = true + rng.normal(0, 25, PARTS)
    shares = shares_of_parts(counts, np.ones(PARTS), 25.0, 1_000, normal=True)
    assert shares[490:526].sum() > 0.9


def test_nothing_is_told_of_a_bin_without_records():
    counts = np.random.default_rng(4).normal(0, 10, PARTS)
    assert shares_of_parts(counts, np.ones(PARTS), 10.0, 0.0, normal=True) is None
