"""Tests of independence of noisy counts: Pearson's without noise, and of their size with it."""

import numpy as np
import pytest
from scipy import stats

from night import NIGHT
from understudy.errors import InferenceError
from understudy.inference.two_way import LARGEST_W, NoisyCells, Trait, chi_square, independence


def quiet(counts):
    counts = np.asarray(counts, dtype=np.float64)
    return chi_square(counts, np.zeros((counts.size, counts.size)), np.zeros(counts.shape))


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (5, 2)])
def test_without_noise_it_is_pearson_s(shape):
    counts = np.random.default_rng(2).integers(1, 60, shape)
    known, found = stats.chi2_contingency(counts, correction=False), quiet(counts)
    assert found.statistic == pytest.approx(known.statistic)
    assert found.df == known.dof
    assert found.pvalue == pytest.approx(known.pvalue)


def test_a_level_without_records_has_no_degrees_of_freedom():
    counts = np.array([[30, 12, 0], [7, 25, 0], [0, 0, 0]])
    known, found = stats.chi2_contingency(counts[:2, :2], correction=False), quiet(counts)
    assert (found.statistic, found.df) == (pytest.approx(known.statistic), 1)


def test_what_does_not_vary_is_not_tested():
    with pytest.raises(InferenceError, match="does not vary"):
        quiet([[30, 0], [7, 0]])
    with pytest.raises(InferenceError, match="no records"):
        quiet([[-3, 0], [2, 0]])


CASES = {
    "even": ([0.5, 0.5], [0.5, 0.5], 1000, 10.0, False),
    "rare levels": ([0.9, 0.07, 0.03], [0.6, 0.3, 0.1], 500, 10.0, False),
    "cells of less than one": ([0.97, 0.03], [0.97, 0.03], 500, 2.0, False),
    "heavy tails": ([0.25] * 4, [0.2] * 5, 2000, 20.0, True),
    "heavy and rare": ([0.97, 0.03], [0.97, 0.03], 500, 8.0, True),
}
REPETITIONS = 2000


def rejected(case, counted_as=1.0, *, as_normal=False):
    """Share of tests at 5 % that reject what is true."""
    p, q, n, sd, heavy = CASES[case]
    shares = np.outer(p, q)
    rng = np.random.default_rng(3)
    k, own = shares.size, counted_as * sd
    fourth = np.full(shares.shape, 3 * own**4 * (heavy and not as_normal))
    hits = 0
    for _ in range(REPETITIONS):
        counts = rng.multinomial(n, shares.reshape(-1)) * 1.0
        counts += rng.laplace(0, sd / np.sqrt(2), k) if heavy else rng.normal(0, sd, k)
        test = chi_square(counts.reshape(shares.shape), own**2 * np.eye(k), fourth)
        hits += test.pvalue < 0.05
    return hits / REPETITIONS


@pytest.mark.statistical
@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.nightly(every=8)
def test_it_rejects_what_is_true_as_often_as_it_says(case):
    """At 5 %, from 3 % to 7 %, where chance has a part of 1e-4 at most if it is 5 % exactly."""
    assert 0.03 < rejected(case) < 0.07


@pytest.mark.statistical
def test_noise_that_is_not_counted_is_noticed():
    assert rejected("even", 0.5) > 0.07
    assert not NIGHT or rejected("heavy tails", as_normal=True) > 0.07


def cells_of(counts, sd):
    noise = sd**2 * np.eye(counts.size)
    return NoisyCells(counts, noise, np.zeros(counts.shape), 0.0, "noise-aware", "", 1)


def traits_of(shape):
    return [
        Trait(name, (name,), tuple(f"{name}[{j}]" for j in range(k)), None, None)
        for name, k in zip("xy", shape, strict=True)
    ]


def test_what_is_shown_beside_the_test():
    counts = np.array([[30.0, 12, 9], [7, 25, 8]])
    found = independence(cells_of(counts, 2.0), traits_of((2, 3)))
    excess = found.estimate[1:].reshape(2, 3)
    shares = counts / counts.sum()
    assert np.allclose(excess, shares - np.outer(shares.sum(axis=1), shares.sum(axis=0)))
    assert found.names[:2] == ("χ² of independence", "x[0]:y[0]")
    frame = found.to_frame()
    assert frame.loc["χ² of independence", ["stderr", "lower", "upper"]].isna().all()
    assert frame["df"].iloc[0] == 2
    assert frame["pvalue"].iloc[0] < 0.01
    assert (frame["lower"] < frame["estimate"]).iloc[1:].all()


@pytest.mark.statistical
def test_intervals_of_excess_shares_cover():
    """Of related traits, with cells of 10 records; in 1e-6 of runs a false alarm, for 6 cells."""
    rng, repetitions = np.random.default_rng(5), 600
    shares = np.array([[0.5, 0.1, 0.02], [0.1, 0.27, 0.01]])
    truth = shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))
    hits = []
    for _ in range(repetitions):
        counts = rng.multinomial(1000, shares.reshape(-1)).reshape(2, 3) + rng.normal(0, 8, (2, 3))
        lower, upper = independence(cells_of(counts, 8.0), traits_of((2, 3))).interval()
        hits.append((lower[1:] <= truth.reshape(-1)) & (truth.reshape(-1) <= upper[1:]))
    covered = np.mean(hits, axis=0)
    assert covered.min() >= stats.binom.ppf(1e-6 / 6, repetitions, 0.95) / repetitions
    assert covered.max() <= stats.binom.ppf(1 - 1e-6 / 6, repetitions, 0.95) / repetitions


@pytest.mark.parametrize(("w", "expected"), [(1.0, 0.8), (0.0, 0.05), (2.0, 1.0)])
@pytest.mark.nightly(every=3)
def test_the_effect_that_is_named_is_found_in_four_of_five(w, expected):
    """Two by two, where all deviations lie in one direction: 4,000 tables with noise.

    The share has a standard deviation of .0063 at most: .03 off has a probability below 1e-5. By
    day of 1,500 tables: one of 500.
    """
    rng, n, sigma, times = np.random.default_rng(8), 4_000, 40.0, 4_000 if NIGHT else 1_500
    noise, fourth = sigma**2 * np.eye(4), np.zeros((2, 2))
    even = np.full((2, 2), n / 4)
    known, without = chi_square(even, noise, fourth).detectable
    assert known == pytest.approx(without * np.sqrt(1 + sigma**2 / (n / 4)))
    assert without == pytest.approx(2.8016 / np.sqrt(n), rel=1e-3)
    shares = np.array([1 + w * known, 1 - w * known, 1 - w * known, 1 + w * known]) / 4
    found = 0
    for _ in range(times):
        counts = rng.multinomial(n, shares) + rng.normal(0, sigma, 4)
        found += chi_square(counts.reshape(2, 2), noise, fourth).pvalue < 0.05
    assert found / times == pytest.approx(expected, abs=0.03)


def test_where_sampling_is_nothing_beside_the_noise_no_association_is_named():
    """Counts that leave a trait hardly a record, under much noise."""
    noise = 1e12 * np.eye(4)
    counts = np.array([[3.0, -2.0], [1.0, 0.5]])
    assert chi_square(counts, noise, np.zeros((2, 2))).detectable[0] > LARGEST_W
    nobody = np.array([[3.0, 0.0], [1.0, 0.0]])
    assert np.isinf(chi_square(nobody, noise, np.zeros((2, 2))).detectable[0])
