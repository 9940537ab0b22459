"""Correlation and Cramér's V from contingency tables."""

import numpy as np
import pytest
from scipy import stats

from understudy.evaluation.utility.associations import association_scores, correlation, cramers_v


def table(x, y, shape):
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (x, y), 1)
    return counts


def test_correlation_is_that_of_the_state_numbers():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 300)
    y = np.clip(x + rng.integers(-2, 3, 300), 0, 6)
    assert correlation(table(x, y, (5, 7))) == pytest.approx(np.corrcoef(x, y)[0, 1])


@pytest.mark.parametrize("counts", [np.zeros((2, 3), int), np.array([[4, 5], [0, 0]])])
def test_a_constant_column_is_not_associated(counts):
    assert correlation(counts) == 0
    assert cramers_v(counts) == 0


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


def test_pairs_of_ordered_columns_are_compared_by_correlation(compare):
    comparison = compare(500, sets=1)
    found = {score.name: score for score in association_scores(comparison)}
    kept = (comparison.original[1] < 10) & (comparison.original[3] < 5)
    x, y = comparison.original[1][kept], comparison.original[3][kept]
    kept = (comparison.sets[0][1] < 10) & (comparison.sets[0][3] < 5)
    u, v = comparison.sets[0][1][kept], comparison.sets[0][3][kept]
    one = correlation(table(x, y, (10, 5))) - correlation(table(u, v, (10, 5)))
    assert "3 pairs" in found["difference of correlation"].note
    assert "3 pairs" in found["difference of Cramér's V"].note
    assert abs(one) <= 3 * found["difference of correlation"].value + 1e-12
