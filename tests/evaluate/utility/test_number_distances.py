"""Means, standard deviations and deciles of numbers, against their plain definitions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.evaluate.comparison import NOWHERE, OrderedColumn, Scale
from understudy.evaluate.marginals import moments, number_distance, number_scores, rank_error


def counted(values, levels):
    return np.array([sum(value == level for value in values) for level in levels])


def slow_rank_error(original, synthetic):
    """By sorting both samples and looking at every decile."""
    ordered, worst = sorted(synthetic), Fraction(0)
    for k in range(1, 10):
        share = Fraction(k, 10)
        q = next(v for i, v in enumerate(ordered, 1) if Fraction(i, len(ordered)) >= share)
        low = Fraction(sum(value < q for value in original), len(original))
        high = Fraction(sum(value <= q for value in original), len(original))
        worst = max(worst, low - share, share - high)
    return float(worst)


samples = st.lists(st.integers(-3, 6), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(samples, samples)
def test_figures_are_those_of_their_definitions(original, synthetic):
    levels = np.arange(-3.0, 7.0)
    a, b = counted(original, levels), counted(synthetic, levels)
    found = number_distance(levels, a, b)
    assert rank_error(a, b) == found.rank_error
    assert found.rank_error == pytest.approx(slow_rank_error(original, synthetic))
    sds = [np.std(one, ddof=1) if len(set(one)) > 1 else 0.0 for one in (original, synthetic)]
    off, error = abs(np.mean(original) - np.mean(synthetic)), sds[0] / math.sqrt(len(original))
    assert found.mean == pytest.approx(np.mean(synthetic))
    assert found.sd == pytest.approx(sds[1])
    if abs(np.mean(original)) > 2.01 * error:
        assert found.relative_error == pytest.approx(off / abs(np.mean(original)))
    if sds[0] > 0:
        assert found.standard_errors == pytest.approx(off / error)
        assert found.sd_error == pytest.approx(abs(sds[1] / sds[0] - 1))
    assert number_distance(levels, a, a).kept == (True, True, True)


def test_a_decile_on_a_heap_is_anywhere_in_its_ranks():
    heap = np.array([10, 80, 10])
    assert rank_error(heap, np.array([30, 40, 30])) == pytest.approx(0.2)  # 2nd and 3rd, 7th, 8th
    assert rank_error(heap, np.array([0, 100, 0])) == 0  # each decile is within 0.1 and 0.9
    assert rank_error(np.array([50, 0, 50]), np.array([0, 100, 0])) == pytest.approx(0.4)


def test_what_is_kept_by_hand():
    levels = np.array([0.0, 100.0, 104.0, 106.0])
    exact = np.array([0, 10, 0, 0])
    assert number_distance(levels, exact, np.array([0, 0, 10, 0])).kept[0]  # 4 %
    off = number_distance(levels, exact, np.array([0, 0, 0, 10]))  # 6 % of a column without error
    assert off.relative_error == pytest.approx(0.06)
    assert math.isnan(off.standard_errors)
    assert off.kept[:2] == (False, True)
    half = np.array([50, 50, 0, 0])  # sd 50.25, standard error 5.025: 10 and not 2.5 off is allowed
    assert number_distance(levels, half, np.array([59, 41, 0, 0])).kept[0]
    assert not number_distance(levels, half, np.array([61, 39, 0, 0])).kept[0]


def test_a_spread_from_nothing_and_a_set_without_values_are_not_kept():
    levels = np.array([1.0, 2.0])
    spread = number_distance(levels, np.array([9, 0]), np.array([5, 4]))
    assert spread.kept[1] is False
    assert math.isnan(spread.sd_error)
    nothing = number_distance(levels, np.array([5, 4]), np.array([0, 0]))
    assert nothing.kept == (False, False, False)
    assert nothing.rank_error == 1
    assert moments(levels, np.array([1, 0])) == (1.0, 0.0)


def column(original, *sets, name="x", scale=Scale.NUMBER):
    k = 1 + max(int(one.max()) for one in (original, *sets))
    return OrderedColumn(name, scale, np.arange(float(k)), original, sets)


def test_scores_are_shares_and_medians_over_the_columns():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, 2_000)
    same, moved = column(x, x), column(x, x + 20, name="moved")
    absent = column(x, np.where(x > 24, NOWHERE, x), name="absent")
    dates = column(x, x + 30, name="day", scale=Scale.DATE)
    scores, details = number_scores([same, moved, absent, dates], np.random.default_rng(1))
    by_name = {score.name: score for score in scores}
    assert by_name["means kept"].value == pytest.approx(1 / 3)
    assert by_name["standard deviations kept"].value == pytest.approx(2 / 3)
    assert by_name["deciles kept"].value == pytest.approx(1 / 3)
    assert by_name["means kept"].null > 0.9
    assert 0 < by_name["rank error of deciles"].null < 0.03
    assert details[-1].column == "x"
    assert details[-1].lost == ()
    [gone] = [one for one in details if one.column == "absent"]
    assert gone.absent == (0.0, pytest.approx((x > 24).mean()))
    assert gone.lost == ("mean", "sd", "deciles")


def test_without_numbers_there_is_no_score():
    x = np.arange(5)
    none = column(np.full(5, NOWHERE), x)
    day = column(x, x, scale=Scale.DATE)
    assert number_scores([none, day], np.random.default_rng(0)) == ((), ())
    [score] = [
        score
        for score in number_scores([column(x, np.full(5, NOWHERE))], np.random.default_rng(0))[0]
        if score.name == "rank error of deciles"
    ]
    assert score.value == 1
