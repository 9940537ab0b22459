"""Inversion is exact on every word: thresholds, their neighbours, and the ambiguous words."""

from bisect import bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction as F
from functools import cache

import numpy as np
import pytest

from understudy.dp import sampling
from understudy.dp.randomness import Randomness, SeededRandomness

DIGITS = 120
TOP = 2**63 - 1


class Scripted(Randomness):
    """Gives exactly the words it was told to give."""

    secure = False

    def __init__(self, script):
        self.script = [int(word) for word in script]

    def words(self, n):
        served, self.script = self.script[:n], self.script[n:]
        assert len(served) == n, "script exhausted"
        return np.array(served, dtype=np.uint64)


def laplace(scale):
    return 1 / F(scale), F(0)


def gaussian(stddev):
    return 1 / (2 * F(stddev) ** 2), 1 / F(stddev) ** 2


DISTRIBUTIONS = {
    "laplace 0.2": laplace(F(1, 5)),
    "laplace 1": laplace(1),
    "laplace 100/19": laplace(F(100, 19)),
    "laplace 50": laplace(50),
    "gaussian 0.2": gaussian(F(1, 5)),
    "gaussian 1": gaussian(1),
    "gaussian 100/19": gaussian(F(100, 19)),
    "gaussian 50": gaussian(50),
}
every_distribution = pytest.mark.parametrize(
    "distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS
)


@cache
def exact_cdf(linear, quadratic):
    """P(|x| ≤ k) to 120 digits, each weight from its own exponential: the slow, obvious way."""
    with localcontext() as context:
        context.prec = DIGITS + 10
        weights = []
        while not weights or weights[-1] > Decimal(10) ** -DIGITS:
            k = len(weights)
            exponent = linear * k + quadratic * k * (k - 1) / 2
            weight = (-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
            weights.append(weight * (2 if k else 1))
        total, running, cdf = sum(weights), Decimal(0), []
        for weight in weights:
            running += weight
            cdf.append(running / total)
        return cdf


def scaled_floor(value, bits):
    with localcontext() as context:
        context.prec = DIGITS + 10
        return int(value * 2**bits)


def magnitude_at(cdf, prefix, bits):
    """The k with F(k-1) ≤ u < F(k) for u = prefix / 2^bits."""
    with localcontext() as context:
        context.prec = DIGITS + 10
        return bisect_right(cdf, Decimal(prefix) / 2**bits)


@every_distribution
def test_every_threshold_is_the_exact_floor(distribution):
    table = sampling.build_table(*distribution)
    cdf = exact_cdf(*distribution)
    exact = [scaled_floor(value, 63) for value in cdf[: table.thresholds.size]]
    assert table.thresholds.tolist() == exact
    assert table.thresholds[-1] == TOP
    assert np.all(table.thresholds[:-1] < TOP)


@every_distribution
def test_words_beside_every_boundary_fall_into_the_right_cell(distribution):
    table, cdf = sampling.build_table(*distribution), exact_cdf(*distribution)
    limits = table.thresholds.astype(object)
    leading = np.unique(np.clip(np.concatenate([limits - 2, limits - 1, limits + 1]), 0, TOP))
    leading = leading[~np.isin(leading, limits)]
    for sign in (0, 1):
        words = Scripted(leading * 2 + sign)
        drawn = sampling.draw(table, leading.size, words)
        expected = [magnitude_at(cdf, int(m), 63) for m in leading]
        assert drawn.tolist() == [-k if sign else k for k in expected]
        assert not words.script, "an unambiguous word asked for more words"


@every_distribution
def test_ambiguous_words_are_resolved_by_the_bits_that_follow(distribution):
    """Each boundary word, followed by the words below, beside and above the true boundary."""
    table, cdf = sampling.build_table(*distribution), exact_cdf(*distribution)
    for k in sorted({0, 1, 2, table.thresholds.size // 2, table.thresholds.size - 1}):
        if k >= table.thresholds.size:
            continue
        leading = int(table.thresholds[k])
        boundary = scaled_floor(cdf[k], 127) % 2**64
        for offset in (-boundary, -1, 1, 2**64 - 1 - boundary):
            follow = boundary + offset
            if not 0 <= follow < 2**64 or follow == boundary:
                continue
            expected = magnitude_at(cdf, (leading << 64) | follow, 127)
            source = Scripted([2 * leading + 1, follow, 0, 0])
            assert sampling.draw(table, 1, source).tolist() == [-expected]


@every_distribution
def test_a_word_ambiguous_twice_is_resolved_by_the_third(distribution):
    table, cdf = sampling.build_table(*distribution), exact_cdf(*distribution)
    leading, second = int(table.thresholds[0]), scaled_floor(cdf[0], 127) % 2**64
    third = scaled_floor(cdf[0], 191) % 2**64
    for follow in {max(third - 1, 0), min(third + 1, 2**64 - 1)} - {third}:
        expected = magnitude_at(cdf, (((leading << 64) | second) << 64) | follow, 191)
        source = Scripted([2 * leading, second, follow])
        assert sampling.draw(table, 1, source).tolist() == [expected]
        assert not source.script


def test_the_tail_beyond_the_table_is_reached_exactly():
    distribution = laplace(1)
    table, cdf = sampling.build_table(*distribution), exact_cdf(*distribution)
    source = Scripted([2 * TOP, 2**64 - 2**20, 0])
    drawn = int(sampling.draw(table, 1, source)[0])
    assert drawn == magnitude_at(cdf, (TOP << 64) | (2**64 - 2**20), 127)
    assert drawn > table.thresholds.size


def test_ambiguous_words_leave_their_neighbours_alone():
    table = sampling.build_table(*laplace(5))
    plain = SeededRandomness(1).words(100)
    crafted = plain.copy()
    crafted[[10, 50]] = np.uint64(2 * int(table.thresholds[3]))
    follow = [0, 2**64 - 1]
    drawn = sampling.draw(table, 100, Scripted([*crafted, *follow]))
    undisturbed = sampling.draw(table, 100, Scripted(plain))
    assert drawn[[10, 50]].tolist() == [3, 4]
    others = np.delete(np.arange(100), [10, 50])
    assert np.array_equal(drawn[others], undisturbed[others])


def test_look_up_equals_a_binary_search_on_random_words():
    table = sampling.build_table(*laplace(700))
    words = SeededRandomness(2).words(100_000)
    leading = (words >> np.uint64(1)).astype(np.int64)
    cells = np.searchsorted(table.thresholds, leading)
    expected = np.where(words & np.uint64(1), -cells, cells)
    assert np.array_equal(sampling.draw(table, words.size, Scripted(words)), expected)


@pytest.mark.parametrize(
    "distribution", [laplace(F(1, 10**4)), laplace(F(1, 2**40)), gaussian(F(1, 10**4))]
)
def test_a_tiny_scale_has_one_cell_and_still_only_zeros(distribution):
    table = sampling.build_table(*distribution)
    assert table.thresholds.tolist() == [TOP]
    # Even the one ambiguous word is a zero unless some 14,000 bits are all ones.
    source = Scripted([2**64 - 1, 2**64 - 1, 2**64 - 1, 7])
    assert sampling.draw(table, 1, source).tolist() == [0]
    assert not sampling.draw(table, 10_000, SeededRandomness(3)).any()


def test_precision_is_raised_until_the_floors_are_certain(monkeypatch):
    expected = sampling.build_table(*laplace(20)).thresholds
    asked = []
    cells = sampling._cells

    def coarse(linear, quadratic, bits):
        asked.append(bits)
        found = cells(linear, quadratic, bits)
        if len(asked) > 1:
            return found
        return sampling._Cells(found.low, [x + (1 << 90) for x in found.high], 1, found.total_high)

    monkeypatch.setattr(sampling, "_cells", coarse)
    assert np.array_equal(sampling._thresholds(*laplace(20)), expected)
    assert asked == [63, 127]


def test_brackets_hold_the_exact_law():
    for distribution in DISTRIBUTIONS.values():
        cells, cdf = sampling._cells(*distribution, 63), exact_cdf(*distribution)
        with localcontext() as context:
            context.prec = DIGITS + 10
            for low, high, value in zip(cells.low, cells.high, cdf, strict=False):
                assert Decimal(low) / cells.total_high <= value <= Decimal(high) / cells.total_low


def test_tables_are_cached_read_only_and_bounded():
    table = sampling.build_table(*laplace(3))
    assert sampling.build_table(F(1, 3), F(0)) is table
    with pytest.raises(ValueError, match="read-only"):
        table.thresholds[0] = 0
    with pytest.raises(ValueError, match="too wide"):
        sampling.build_table(*laplace(10**6))
    for linear, quadratic in [(F(0), F(1)), (F(1), F(-1))]:
        with pytest.raises(ValueError, match="expected"):
            sampling.build_table(linear, quadratic)
