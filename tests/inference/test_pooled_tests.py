"""Pooled tests: worked examples, brute force, edges, size and power."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from understudy.errors import InferenceError
from understudy.evaluate.associations import (
    f_tail,
    pool_pvalues,
    pooled_chi_square,
)

MANY = settings(max_examples=40, deadline=None, derandomize=True)
PAPER = (2.25, 3.95, 6.24, 5.27, 2.81)
"""Values of χ² with 4 degrees of freedom from 5 sets."""


def test_worked_example_of_li_and_others():
    d, k, m = np.array(PAPER), 4, 5
    test = pool_pvalues(stats.chi2.sf(d, k), k)
    assert round(test.statistic, 6) == 0.592801
    assert round(test.df2, 3) == 59.199
    assert round(test.pvalue, 4) == 0.6692
    r = 1.2 * np.var(np.sqrt(d), ddof=1)
    assert round(r, 6) == 0.206995
    assert test.df2 == pytest.approx(k ** (-3 / m) * (m - 1) * (1 + 1 / r) ** 2)
    corrected = pool_pvalues(stats.chi2.sf(d, k), k, rule="partial")
    assert round(corrected.statistic, 6) == 0.858390
    assert round(corrected.df2, 2) == 1565.55
    assert corrected.pvalue == pytest.approx(0.488295, abs=1e-6)


@pytest.mark.parametrize("rule", ["li1991", "partial"])
def test_edges_of_pooled_pvalues(rule):
    same = pool_pvalues([0.3, 0.3, 0.3], 2, rule)
    assert same.df2 == np.inf
    assert same.pvalue == pytest.approx(0.3)
    apart = pool_pvalues([1, 1, 1, 1e-5], 10, rule)
    assert apart.statistic < 0
    assert apart.pvalue == 1
    assert pool_pvalues([0, 0], 3, rule).pvalue == pytest.approx(1e-300)
    assert pool_pvalues([1e-310, 1e-300], 3, rule).statistic == pytest.approx(
        pool_pvalues([0, 0], 3, rule).statistic
    )
    assert 0 <= pool_pvalues([0, 1], 3, rule).pvalue <= 1
    assert pool_pvalues([1, 1], 3, rule).pvalue == 1


@MANY
@given(
    arrays(float, st.integers(2, 20), elements=st.floats(0, 1)),
    st.integers(1, 30),
    st.sampled_from(["li1991", "partial"]),
)
def test_order_of_pvalues_does_not_matter(p, k, rule):
    one, other = pool_pvalues(p, k, rule), pool_pvalues(p[::-1], k, rule)
    assert 0 <= one.pvalue <= 1
    assert one.statistic == pytest.approx(other.statistic, abs=1e-9)
    assert one.pvalue == pytest.approx(other.pvalue, abs=1e-9)


SIZES = [
    # k, b/ū, size of li1991, size of partial
    (1, 0.1, 0.038, 0.050),
    (1, 1.0, 0.011, 0.052),
    (4, 0.1, 0.030, 0.050),
    (4, 1.0, 0.011, 0.079),
]


@pytest.mark.parametrize(("k", "ratio", "published", "corrected"), SIZES)
def test_sizes_of_pooled_pvalues(k, ratio, published, corrected):
    """Rejections at 5 % on partially synthetic sets, m = 5; 40,000 draws, margin 4.5 errors."""
    rng, repetitions = np.random.default_rng(k), 40_000
    centre = rng.normal(size=(repetitions, 1, k))
    q = centre + np.sqrt(ratio) * rng.normal(size=(repetitions, 5, k))
    for rule, size in [("li1991", published), ("partial", corrected)]:
        d, df2 = pooled_chi_square((q**2).sum(axis=2), k, rule)
        rejected = np.mean(f_tail(d, k, df2) < 0.05)
        assert rejected == pytest.approx(size, abs=4.5 * np.sqrt(size / repetitions))


PVALUES_REFUSED = [
    (([0.5], 1), {}, "at least 2"),
    (([[0.5, 0.5]], 1), {}, "at least 2"),
    (([0.5, np.nan], 1), {}, "NaN"),
    (([0.5, 1.5], 1), {}, "between 0 and 1"),
    (([0.5, 0.5], 0), {}, "degree of freedom"),
    (([0.5, 0.5], 1), {"rule": "li"}, "li1991"),
]


@pytest.mark.parametrize(("both", "options", "message"), PVALUES_REFUSED)
def test_pool_pvalues_refuses(both, options, message):
    with pytest.raises(InferenceError, match=message):
        pool_pvalues(*both, **options)
