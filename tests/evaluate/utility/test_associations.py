"""Correlation and Cramér's V from contingency tables."""

import numpy as np
import pytest
from scipy import stats

from understudy.evaluate.associations import (
    association_scores,
    correlation_scores,
    correlations,
    cramers_v,
    spearman,
)
from understudy.evaluate.comparison import NOWHERE, OrderedColumn, Scale


@pytest.mark.parametrize("absent", [0.0, 0.3])
def test_correlations_are_those_of_mid_ranks_over_records_with_both_values(absent):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 300)
    table = [x, np.clip(x + rng.integers(-2, 3, 300), 0, 6), rng.integers(0, 50, 300)]
    table = [np.where(rng.random(300) < absent, NOWHERE, one) for one in table]
    found = correlations(table)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = (table[i] != NOWHERE) & (table[j] != NOWHERE)
        slow = stats.spearmanr(table[i][both], table[j][both]).statistic
        assert found[i, j] == pytest.approx(slow)
        assert found[j, i] == found[i, j]
        assert spearman(table[i], table[j]) == pytest.approx(slow)


def table(x, y, shape):
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (x, y), 1)
    return counts


def test_a_constant_or_absent_column_is_not_associated():
    x, constant, nothing = np.arange(4), np.zeros(4, int), np.full(4, NOWHERE)
    found = correlations([x, constant, nothing])
    assert found[0, 1] == found[0, 2] == found[1, 2] == 0
    assert cramers_v(np.zeros((2, 3), int)) == 0
    assert cramers_v(np.array([[4, 5], [0, 0]])) == 0


def test_cramers_v_without_correction_for_large_tables():
    counts = 10_000 * np.array([[30, 10, 5], [10, 40, 5]])
    plain = stats.contingency.association(counts, method="cramer")
    assert cramers_v(counts) == pytest.approx(plain, abs=1e-4)
    assert cramers_v(np.diag([50, 30, 20])) == pytest.approx(1)


def test_the_correction_removes_the_bias_of_independent_columns():
    """300 rows over 10 × 10 states: plain V is about 0.18; the corrected mean of 50 below 0.06."""
    rng = np.random.default_rng(1)
    tables = [
        table(rng.integers(0, 10, 300), rng.integers(0, 10, 300), (10, 10)) for _ in range(50)
    ]
    plain = [stats.contingency.association(one, method="cramer") for one in tables]
    assert np.mean(plain) > 0.15
    assert np.mean([cramers_v(one) for one in tables]) < 0.06


def column(name, *tables):
    k = 1 + max(int(table.max()) for table in tables)
    return OrderedColumn(name, Scale.NUMBER, np.arange(float(k)), tables[0], tables[1:])


def test_a_strong_correlation_is_kept_within_a_tenth_and_a_weak_one_is_not_judged():
    rng = np.random.default_rng(1)
    x, noise = rng.permutation(500), rng.permutation(500)
    first = column("x", x, x, x)
    second = column("y", x + noise // 2, x + noise // 2, rng.permutation(500))
    weak = column("z", noise, noise, noise)
    scores, details = correlation_scores([first, second, weak])
    by_name = {score.name: score for score in scores}
    pairs = {one.columns: one for one in details}
    assert pairs["x", "y"].kept == 0.5
    assert np.isnan(pairs["x", "z"].kept)
    assert by_name["correlations kept"].value == np.mean(
        [one.kept for one in details if abs(one.original) > 0.2]
    )
    assert by_name["correlations kept"].null > 0.9
    off = np.mean([abs(one.synthetic - one.original) for one in details])
    assert by_name["difference of correlation"].value == pytest.approx(off)
    assert details[0].columns == ("x", "y")


def test_the_fresh_difference_is_that_of_two_samples():
    """200 pairs of samples of 100; the mean difference has a standard error of 5 %."""
    rng, off = np.random.default_rng(2), []
    for _ in range(200):
        x = rng.normal(size=(2, 100))
        y = 0.8 * x + 0.6 * rng.normal(size=(2, 100))
        first, second = (stats.spearmanr(x[k], y[k]).statistic for k in range(2))
        off.append(abs(first - second))
    rank = [stats.rankdata(one).astype(int) - 1 for one in (x[0], y[0])]
    scores, _ = correlation_scores([column("x", rank[0], rank[0]), column("y", rank[1], rank[1])])
    assert scores[0].null == pytest.approx(np.mean(off), rel=0.3)


def test_too_few_records_with_both_values_say_nothing():
    few = np.where(np.arange(100) < 19, np.arange(100), NOWHERE)
    assert correlation_scores([column("x", few, few), column("y", few, few)]) == ((), ())
    assert correlation_scores([column("x", few, few)]) == ((), ())


def test_pairs_with_an_unordered_column_are_compared_by_cramers_v(compare):
    [score] = association_scores(compare(500, sets=1))
    assert score.name == "difference of Cramér's V"
    assert "3 pairs" in score.note
