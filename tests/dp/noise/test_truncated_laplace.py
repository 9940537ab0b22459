"""Truncated noise: what it realises, by enumeration, and that draws follow the law.

A correct sampler fails a fit with probability 1e-6 per case; seeds are fixed.
"""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.dp.truncated_laplace import (
    TruncatedDiscreteLaplace,
    TruncatedLaplace,
    calibrated_scale,
    realised_epsilon,
)

LEVEL = 1e-6
EPSILONS = [F(1, 10**5), F(1, 10), F(1, 2), F(1), F(2), F(30)]


def continuous_log_mass(statistics, scale, low, high):
    """log of the mass of the Laplace law inside the interval, by the cdf of scipy."""
    distribution = stats.laplace(scale=float(scale))
    return np.log(distribution.cdf(high - statistics) - distribution.cdf(low - statistics))


def realised_on_the_line(scale, n):
    """Largest log ratio over outcomes and neighbouring counts 0..n; outcomes: whole and between."""
    s, y = np.arange(n + 1.0), np.linspace(0, n, 4 * n + 1)
    log_density = -np.abs(y[:, None] - s) / float(scale)
    log_density = log_density - continuous_log_mass(s, scale, 0, n)
    return np.abs(np.diff(log_density, axis=1)).max()


def test_truncation_as_published_realises_more_than_its_epsilon_and_ours_does_not():
    for n in (40, 1000):
        assert realised_on_the_line(1, n) == pytest.approx(1.490, abs=5e-4)
        assert realised_on_the_line(10, n) == pytest.approx(0.191, abs=5e-4)
        for epsilon, scale in [(F(1), 1.6126), (F(1, 2), 3.5596)]:
            ours = calibrated_scale(epsilon, 1, n)
            assert float(ours) == pytest.approx(scale, abs=5e-5)
            assert 0.99999 * epsilon < realised_on_the_line(ours, n) <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
@pytest.mark.parametrize("width", [0, 1, 2, 5, 40])
def test_the_exact_law_realises_at_most_epsilon_for_every_pair_of_neighbours(
    epsilon, sensitivity, width
):
    scale = calibrated_scale(epsilon, sensitivity, width, discrete=True)
    distribution = TruncatedDiscreteLaplace(scale, -3, width - 3)
    points = np.arange(-3, width - 2)
    log_pmf = distribution.log_pmf(points, points[:, None])  # one row per statistic
    worst = max(
        (
            np.abs(log_pmf[a] - log_pmf[b]).max()
            for a, b in itertools.combinations(range(width + 1), 2)
            if b - a <= sensitivity
        ),
        default=0.0,
    )
    assert worst <= epsilon * (1 + 1e-9)
    formula = realised_epsilon(scale, sensitivity, width, discrete=True)
    assert worst == pytest.approx(formula, rel=1e-6, abs=1e-12)
    if 2 * sensitivity <= width and scale > F(1, 2):
        assert worst > 0.999 * epsilon


def test_two_cells_that_change_at_once_realise_what_the_formula_says():
    """A replaced record: one count falls by 1, another rises by 1; both may be at an end."""
    epsilon, width = F(1), 8
    scale = calibrated_scale(epsilon, 2, width, coordinates=2, discrete=True)
    points = np.arange(width + 1)
    log_pmf = TruncatedDiscreteLaplace(scale, 0, width).log_pmf(points, points[:, None])
    up = (log_pmf[:-1] - log_pmf[1:]).max()
    down = (log_pmf[1:] - log_pmf[:-1]).max()
    assert up + down <= epsilon * (1 + 1e-9)
    assert up + down == pytest.approx(float(epsilon), rel=1e-9)
    one_cell = calibrated_scale(epsilon, 2, width, discrete=True)
    assert one_cell < scale


@pytest.mark.parametrize("discrete", [True, False])
def test_the_formula_falls_with_the_scale_and_twice_the_nominal_scale_suffices(discrete):
    for width, delta, coordinates in itertools.product([1, 7, 1000], [1, 3], [1, 2]):
        options = {"coordinates": coordinates, "discrete": discrete}
        scales = np.geomspace(0.05, 1e6, 400)
        realised = [realised_epsilon(b, delta, width, **options) for b in scales]
        assert np.all(np.diff(realised) < 0)
        assert np.all(np.array(realised) <= 2 * delta / scales * (1 + 1e-12))


@pytest.mark.parametrize(("scale", "width"), [(F(1, 3), 4), (F(2), 9), (F(50), 9), (F(7, 2), 200)])
def test_the_pmf_sums_to_one(scale, width):
    distribution = TruncatedDiscreteLaplace(scale, -width, 0)
    y = np.arange(-width - 2, 3)
    for s in (-width, -width // 2, 0):
        pmf = np.exp(distribution.log_pmf(y, s))
        assert pmf.sum() == pytest.approx(1, abs=1e-12)
        assert pmf[0] == pmf[-1] == 0
    assert distribution.log_pmf(y, 5).tolist() == distribution.log_pmf(y, 0).tolist()


def chi_square_level(draws, distribution, statistic):
    y = np.arange(distribution.low, distribution.high + 1)
    expected = draws.size * np.exp(distribution.log_pmf(y, statistic))
    observed = np.bincount(draws - distribution.low, minlength=y.size).astype(float)
    common = expected >= 20
    table = np.append(observed[common], observed[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    keep = wanted > 5
    difference = ((table[keep] - wanted[keep]) ** 2 / wanted[keep]).sum()
    return stats.chi2.sf(difference, keep.sum() - 1)


# A width above the scale redraws, one below it proposes uniformly.
CASES = [(F(2), 0, 9), (F(7, 2), -30, 30), (F(40), 0, 9), (F(100, 3), -5, 27), (F(3, 2), 0, 1)]


@pytest.mark.parametrize(("scale", "low", "high"), CASES)
@pytest.mark.parametrize("at", ["low", "middle", "outside"])
def test_draws_follow_the_law_and_not_one_of_another_scale(scale, low, high, at):
    statistic = {"low": low, "middle": (low + high) // 2, "outside": high + 12}[at]
    distribution = TruncatedDiscreteLaplace(scale, low, high)
    exact = np.full(150_000, statistic)
    draws = distribution.sample(exact, SeededRandomness(5))
    assert chi_square_level(draws, distribution, statistic) > LEVEL
    if high - low > 1 and scale < high - low:  # else the law is nearly uniform whatever the scale
        for wrong in (F(7, 10), F(13, 10)):
            other = TruncatedDiscreteLaplace(scale * wrong, low, high)
            wrongly = other.sample(exact, SeededRandomness(6))
            assert chi_square_level(wrongly, distribution, statistic) < LEVEL


def test_a_narrow_interval_shows_a_wrong_scale_too():
    distribution = TruncatedDiscreteLaplace(F(10), 0, 9)
    wrong = TruncatedDiscreteLaplace(F(7), 0, 9).sample(np.zeros(150_000, int), SeededRandomness(6))
    assert chi_square_level(wrong, distribution, 0) < LEVEL


@pytest.mark.parametrize(("scale", "width"), [(2.0, 9.0), (40.0, 9.0), (1e-3, 1.0), (1e6, 1.0)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_continuous_draws_follow_the_truncated_law(scale, width, share):
    centre, distribution = share * width, TruncatedLaplace(scale, 0.0, width)
    draws = distribution.sample(np.full(60_000, centre), SeededRandomness(8))
    laplace = stats.laplace(centre, scale)
    low, high = laplace.cdf(0), laplace.cdf(width)

    def cdf(x):
        if scale > 1e3:  # flat: differences of the cdf would be rounding errors
            return x / width
        return (laplace.cdf(x) - low) / (high - low)

    assert draws.min() >= 0
    assert draws.max() <= width
    assert stats.kstest(draws, cdf).pvalue > LEVEL
    if 1e-2 < scale < width:
        wrong = TruncatedLaplace(1.3 * scale, 0.0, width)
        wrongly = wrong.sample(np.full(60_000, centre), SeededRandomness(9))
        assert stats.kstest(wrongly, cdf).pvalue < LEVEL


def test_continuous_laplace_noise_is_what_it_says():
    distribution = ContinuousLaplace(3.0)
    draws = distribution.sample(100_000, SeededRandomness(3))
    assert stats.kstest(draws, distribution.cdf).pvalue > LEVEL
    for wrong in (0.7, 1.3):
        wrongly = ContinuousLaplace(3.0 * wrong).sample(100_000, SeededRandomness(4))
        assert stats.kstest(wrongly, distribution.cdf).pvalue < LEVEL
    x = np.array([-4.0, 0.0, 1.5])
    assert distribution.cdf(x) == pytest.approx(stats.laplace(scale=3).cdf(x))
    assert distribution.stddev == pytest.approx(stats.laplace(scale=3).std())


@pytest.mark.parametrize(
    "distribution",
    [
        TruncatedDiscreteLaplace(F(5), 0, 30),
        TruncatedDiscreteLaplace(F(500), 0, 30),
        TruncatedLaplace(5.0, 0.0, 30.0),
    ],
)
def test_repetitions_are_a_leading_axis_and_each_statistic_keeps_its_place(distribution):
    exact = np.broadcast_to(np.array([0, 15, 30]), (20_000, 3))
    draws = distribution.sample(exact, SeededRandomness(2))
    assert draws.shape == exact.shape
    assert np.array_equal(draws.ravel(), distribution.sample(exact.ravel(), SeededRandomness(2)))
    means = draws.mean(axis=0)
    assert means[0] < means[1] < means[2]
    assert means[0] + means[2] == pytest.approx(30, abs=0.5)


@pytest.mark.parametrize("scale", [F(1, 2**40), F(1), F(2**40)])
def test_extreme_scales_and_intervals_end(scale):
    for low, high in [(0, 0), (0, 1), (-(2**40), 2**40), (-(2**61), 2**61)]:
        distribution = TruncatedDiscreteLaplace(scale, low, high)
        draws = distribution.sample(np.array([low, (low + high) // 2, high]), SeededRandomness(1))
        assert ((draws >= low) & (draws <= high)).all()
    assert distribution.sample(np.zeros((0, 4), dtype=int), SeededRandomness(1)).shape == (0, 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TruncatedDiscreteLaplace(F(1), 2, 1),
        lambda: TruncatedDiscreteLaplace(F(0), 0, 1),
        lambda: TruncatedDiscreteLaplace(F(2**41), 0, 1),
        lambda: TruncatedDiscreteLaplace(F(1), 0, 2**62),
        lambda: TruncatedLaplace(1.0, 2.0, 1.0),
        lambda: TruncatedLaplace(0.0, 0.0, 1.0),
        lambda: ContinuousLaplace(float("inf")),
        lambda: ContinuousLaplace(-1.0),
    ],
)
def test_laws_that_do_not_exist_are_refused(make):
    with pytest.raises(ValueError, match=r"expected|exceed"):
        make()
