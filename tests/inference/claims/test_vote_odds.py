"""Probabilities of verdicts beside draws; how many subsets are asked, and when they decide."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, MethodError
from understudy.inference.verdict import (
    WRONG,
    band_of,
    noise_reach,
    odds_at,
    odds_of,
    side_of,
    subsets_for,
    votes_interval,
)

NOISES = [
    DiscreteLaplace(Fraction(10)),
    DiscreteLaplace(Fraction(1, 5)),
    DiscreteGaussian(Fraction(30)),
]
K = 101
DRAWS = 20_000


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("distance", [0.0, 3.0, -8.0])
@pytest.mark.nightly(every=3)
def test_stated_probabilities_are_those_of_draws(noise, distance):
    """Votes and noise drawn 20,000 times; within four standard errors, false alarm 4e-4 in all."""
    votes = np.random.default_rng(1).binomial(K, norm.cdf(distance / K**0.5), DRAWS)
    noisy = votes + noise.sample(DRAWS, SeededRandomness(2))
    sides = [side_of(int(number), K, noise) for number in range(noisy.min(), noisy.max() + 1)]
    said = np.array(sides)[noisy - noisy.min()]
    right = "no" if distance < 0 else "yes"
    stated = odds_of(distance, K, noise)
    shares = [(said == right).mean(), (said == "undecided").mean()]
    for share, told in zip(shares, (stated.right, stated.undecided), strict=True):
        assert abs(share - told) <= 4 * (told * (1 - told) / DRAWS) ** 0.5 + 1e-9
    assert stated.right + stated.undecided + stated.wrong == pytest.approx(1)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [25, 101, 333])
def test_at_the_border_each_verdict_is_rarer_than_stated_and_a_narrower_band_is_not(noise, k):
    odds = odds_of(0, k, noise)
    assert odds.right == pytest.approx(odds.wrong)
    assert odds.right <= WRONG
    draws = np.random.default_rng(1).binomial(k, 0.5, 10**5) - k / 2
    lead = draws + noise.sample(10**5, SeededRandomness(1))
    assert (lead > band_of(k, noise) - 1).mean() > 0.9 * WRONG


def test_by_noise_alone_votes_that_are_behind_hardly_win():
    noise = NOISES[0]
    for lead in (0.5, 3.5, 20.5):
        odds = odds_at(lead, K, noise)
        band = band_of(K, noise)
        assert odds.wrong == pytest.approx(1 - float(noise.cdf(np.floor(band + lead))))
        assert odds.right == pytest.approx(1 - float(noise.cdf(np.floor(band - lead))))


def test_the_number_of_subsets_is_as_stated():
    tenth, one = NOISES[0], DiscreteLaplace(Fraction(1))
    assert noise_reach(tenth) == 23
    assert subsets_for(10_000, 1, tenth) == 333  # n/30
    assert subsets_for(10_000, 5, tenth) == 199  # n/(10·5), odd
    assert subsets_for(10**6, 1, tenth) == round((5 * 23 * 1000) ** (2 / 3)) == 2365
    assert subsets_for(10_000, 1, one) % 2 == 1
    assert subsets_for(10_000, 1, NOISES[1]) == 25
    with pytest.raises(MethodError, match="needs subsets of 40 records, and there are 39"):
        subsets_for(39, 4, one)
    with pytest.raises(BudgetError, match="Even if all"):
        subsets_for(1_000, 1, tenth)


def test_an_interval_of_votes_stays_between_none_and_all():
    noise = NOISES[0]
    assert votes_interval(-40, K, noise)[0] == 0
    assert votes_interval(K + 40, K, noise)[1] == 1
    low, high = votes_interval(50, K, noise)
    assert low < 50 / K < high
    assert 2 * (1 - float(noise.cdf(round(high * K - 50)))) <= 0.05
