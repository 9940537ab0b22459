"""Binomial numbers are exact: every boundary word, probabilities below 2⁻⁵³, and the whole law."""

from decimal import Decimal, localcontext
from fractions import Fraction as F
from itertools import accumulate, pairwise, product
from math import ceil, comb, floor

import numpy as np
import pytest
from scipy import stats

from night import NIGHT
from understudy.data.base import ExactCells
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import Randomness, SeededRandomness
from understudy.dp.sampling import successes, survival
from understudy.mechanisms.sparse_tables import noisy_cells
from understudy.schema import Domain

ALPHA = 1e-4
ONES = 2**64 - 1


class Scripted(Randomness):
    """Gives exactly the words it was told to give."""

    secure = False

    def __init__(self, script):
        self.script = [int(word) for word in script]

    def words(self, n):
        served, self.script = self.script[:n], self.script[n:]
        assert len(served) == n, "script exhausted"
        return np.array(served, dtype=np.uint64)


def rational(p):
    return lambda bits: (floor(p * 2**bits), ceil(p * 2**bits))


def distribution(n, p):
    """F(0), …, F(n) as fractions."""
    return list(accumulate(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)))


def split(numerator, words):
    return [numerator >> 64 * k & ONES for k in reversed(range(words))]


@pytest.mark.parametrize(
    ("n", "p"), [(1, F(1, 3)), (2, F(2, 5)), (5, F(1, 10)), (2, F(2, 7)), (5, F(1, 2**20))]
)
def test_words_at_every_boundary_are_decided_as_the_fraction_is(n, p):
    """All trials are in one block, so one word decides; boundary words fall as F says."""
    for boundary in distribution(n, p)[:-1]:
        for off in (-1, 0, 1):
            place = floor(boundary * 2**192) + off
            u = F(2 * place + 1, 2**193)  # inside the last interval that is seen
            source = Scripted(split(place, 3) + [2**63] * 4)
            expected = sum(one <= u for one in distribution(n, p))
            assert successes(n, rational(p), source) == expected


def test_blocks_add_up():
    """Five trials of 2/5 are blocks of 2, 2 and 1: every triple of cells, by a word inside each."""
    p = F(2, 5)
    inside = {
        m: [floor((low + high) / 2 * 2**64) for low, high in pairwise([0, *distribution(m, p)])]
        for m in (1, 2)
    }
    for i, j, k in product(range(3), range(3), range(2)):
        source = Scripted([inside[2][i], inside[2][j], inside[1][k]])
        assert successes(5, rational(p), source) == i + j + k
        assert not source.script


@pytest.mark.parametrize("bits", [54, 64, 70, 200, 1000])
def test_a_probability_far_below_a_double_s_grid_is_not_zero(bits):
    """One trial of p = 2^-bits succeeds on exactly the words of `bits` ones, and on no other."""
    words = bits // 64 + 2
    least = (2**bits - 1) << (64 * words - bits)  # U = 1 - 2^-bits
    for place, expected in ((least, 1), (least - 1, 0), (2 ** (64 * words) - 1, 1)):
        source = Scripted([*split(place, words), *[2**63] * 4])
        assert successes(1, rational(F(1, 2**bits)), source) == expected


def test_the_chance_to_survive_is_enclosed():
    """Against 700 decimal digits, at probabilities from 0.3 down to e^-1000."""
    with localcontext() as context:
        context.prec = 700
        for scale, threshold in ((F(1), 1), (F(10, 3), 7), (F(1, 20), 3), (F(7, 100), 70)):
            q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
            p = q**threshold / (1 + q)
            for bits in (64, 192, 2000):
                low, high = survival(scale, threshold)(bits)
                assert low <= p * Decimal(2) ** bits <= high
                assert high - low <= 8


def test_an_empty_cell_can_survive_whatever_an_occupied_one_can():
    """Claim attacked: the filtered form has the support of the dense one.

    At scale 1/60 an empty cell reaches 1 with probability e^-60 < 2⁻⁵³. With uniform numbers on a
    grid of 53 bits that was 0 whatever the words were; words of ones now make it survive.
    """
    noise = DiscreteLaplace(F(1, 60))
    none = ExactCells(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0)
    outcomes = {}
    for word in (0, ONES):
        source = Scripted([word, word, *SeededRandomness(1).words(4000)])
        cells = noisy_cells([none], ("a",), Domain((1,)), noise, threshold=1, randomness=source)
        outcomes[word] = cells.codes.tolist(), cells.counts.tolist()
    assert outcomes == {0: ([], []), ONES: ([0], [1])}


def test_a_place_that_is_one_among_2_to_the_60_can_be_drawn():
    """Claim attacked: each empty cell is as likely as any other, however rules divide the cells.

    Rules leave one cell where the first column is 1, and 2⁶⁰ where it is 0. Drawn column by column
    from 53 bits, the first column never was 1.
    """
    big, places = 2**10, range(1, 7)
    rest = frozenset(range(1, big))
    domain = Domain((2, *[big] * 6), tuple({0: frozenset({1}), j: rest} for j in places))
    assert domain.n_allowed == 2**60 + 1
    last = domain.cells(np.array([2**60], dtype=np.int64))
    assert [int(one[0]) for one in last] == [1, *[0] * 6]
    counted = [int(one[0]) for one in domain.cells(np.array([2**60 - 1], dtype=np.int64))]
    assert counted == [0, *[big - 1] * 6]


def pooled(drawn, noise):
    """p-value by chi-square, cells of expected count below 5 pooled at both ends."""
    low, high = int(noise.ppf(2e-3)), int(noise.ppf(1 - 2e-3))
    edges = np.unique(np.linspace(low, high, 12).astype(int))
    expected = np.diff([0, *noise.cdf(edges), 1]) * len(drawn)
    observed = np.histogram(drawn, bins=[-np.inf, *(edges + 0.5), np.inf])[0]
    keep = expected > 1e-9
    return stats.chisquare(
        observed[keep], expected[keep] * observed.sum() / expected[keep].sum()
    ).pvalue


@pytest.mark.parametrize(
    ("n", "p"),
    [
        pytest.param(1, F(1, 3), marks=pytest.mark.nightly),
        (7, F(2, 5)),
        pytest.param(1000, F(1, 100), marks=pytest.mark.nightly),
        (10**6, F(1, 50_000)),
        (10**18, F(9, 10**18)),
    ],
)
def test_the_law_is_binomial(n, p):
    """1,500 draws, chi-square; false alarms 10⁻⁴ each. p off by a tenth (30 % for n = 1) fails."""
    source = SeededRandomness(1)
    drawn = [successes(n, rational(p), source) for _ in range(1500)]
    noise = (lambda q: stats.poisson(n * q)) if n > 2**53 else (lambda q: stats.binom(n, q))
    assert pooled(drawn, noise(float(p))) > ALPHA
    assert pooled(drawn, noise(float(p) * (0.7 if n == 1 else 0.9))) < ALPHA


@pytest.mark.parametrize("factor", [F(7, 10), F(1), F(13, 10)])
def test_survivors_tell_a_scale_that_is_off_by_30_percent(factor):
    """Those of 10⁹ empty cells that reach 60 at scale 4, 2,000 (by day 200) times; alarms 10⁻⁴."""
    source, stated = SeededRandomness(2), survival(F(4), 60)
    drawn = [
        successes(10**9, survival(4 * factor, 60), source) for _ in range(2_000 if NIGHT else 200)
    ]
    fits = pooled(drawn, stats.poisson(10**9 * stated(200)[0] / 2**200)) > ALPHA
    assert fits == (factor == 1)


def test_no_trials_and_too_many():
    assert successes(0, rational(F(1, 3)), Scripted([])) == 0
    with pytest.raises(ValueError, match="2\\*\\*62"):
        successes(2**62 + 1, rational(F(1, 3)), Scripted([]))
