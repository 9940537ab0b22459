"""Pooled tests: worked examples, brute force, edges, size and power."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from understudy.errors import InferenceError
from understudy.inference.combining import pool
from understudy.inference.pooled_tests import (
    denominator_df,
    f_tail,
    pool_pvalues,
    pooled_chi_square,
    wald,
    wald_statistic,
)

MANY = settings(max_examples=40, deadline=None, derandomize=True)
PAPER = (2.25, 3.95, 6.24, 5.27, 2.81)
"""Values of χ² with 4 degrees of freedom from 5 sets."""


@st.composite
def sets(draw):
    """Estimates (m, k) and covariances (m, k, k) of m sets that differ."""
    m, k = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    entry = st.floats(-3, 3).map(lambda x: round(x, 3))
    q = draw(arrays(float, (m, k), elements=entry))
    factor = draw(arrays(float, (k, k), elements=entry))
    spread = draw(arrays(float, (m,), elements=st.floats(0.5, 2)))
    return q + np.arange(m)[:, None], spread[:, None, None] * (factor @ factor.T + np.eye(k))


# --- Wald ---------------------------------------------------------------------------------------


@MANY
@given(sets(), st.sampled_from(["partial", "mi"]))
def test_wald_by_brute_force(both, rule):
    q, u = both
    m, k = q.shape
    mean, inverse = sum(q) / m, np.linalg.inv(sum(u) / m)
    b = sum(np.outer(row - mean, row - mean) for row in q) / (m - 1)
    r = {"partial": 1 / m, "mi": 1 + 1 / m}[rule] * np.trace(b @ inverse) / k
    null = np.arange(k) / 2
    d = (mean - null) @ inverse @ (mean - null) / (k * (1 + r))
    t = k * (m - 1)
    nu = t * (1 + 1 / k) * (1 + 1 / r) ** 2 / 2
    if t > 4:
        nu = 4 + (t - 4) * (1 + (1 - 2 / t) / r) ** 2
    test = wald(q, u, null, rule)
    assert test.statistic == pytest.approx(d)
    assert (test.df1, test.rule) == (k, rule)
    assert test.df2 == pytest.approx(nu)
    assert test.pvalue == pytest.approx(stats.f.sf(d, k, nu))
    many = wald_statistic(np.stack([q + 1, q]), np.stack([u, u]), np.stack([null, null]), rule)
    assert many[0][1] == pytest.approx(test.statistic, rel=1e-12)
    assert many[1][1] == pytest.approx(test.df2, rel=1e-12)


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_wald_of_one_quantity_is_the_t_test(m):
    q = np.random.default_rng(m).normal(1, 1, m)
    pooled, test = pool(q, np.full(m, 0.5)), wald(q, np.full(m, 0.5))
    assert test.df2 == pytest.approx(pooled.df[0])
    assert test.statistic == pytest.approx((pooled.estimate[0] / pooled.stderr[0]) ** 2)
    assert test.pvalue == pytest.approx(pooled.pvalue[0])


@MANY
@given(sets())
def test_wald_does_not_depend_on_units_or_on_order(both):
    q, u = both
    test = wald(q, u)
    turn = np.tri(q.shape[1]) * 3
    turned = wald(q[::-1] @ turn.T, turn @ u[::-1] @ turn.T)
    assert turned.statistic == pytest.approx(test.statistic)
    assert turned.df2 == pytest.approx(test.df2)


@pytest.mark.parametrize("k", [1, 3])
def test_equal_sets_give_chi_square(k):
    test = wald(np.ones((4, k)), np.stack([np.eye(k)] * 4))
    assert test.df2 == np.inf
    assert test.statistic == pytest.approx(1)
    assert test.pvalue == pytest.approx(stats.chi2.sf(k, k))


def test_many_degrees_of_freedom_go_over_to_chi_square():
    assert denominator_df(1e-200, 5, 3) == np.inf
    for df2 in (1e12, 1e30, 1e300, np.inf):
        assert f_tail(2.3, 3, df2) == pytest.approx(stats.chi2.sf(6.9, 3))
    assert f_tail(-0.2, 3, 7.0) == 1


@pytest.mark.parametrize(("k", "m"), [(1, 3), (2, 3), (3, 5), (5, 20)])
def test_size_and_power_of_wald_on_partially_synthetic_sets(k, m):
    """Size 5 % ± 4.5 Monte Carlo errors of 0.22 points; q̄ varies by U + B/m, B = 2U."""
    rng, repetitions = np.random.default_rng(10 * k + m), 10_000
    factor = np.tri(k) + np.eye(k)
    centre = rng.normal(size=(repetitions, 1, k))
    q = (centre + np.sqrt(2) * rng.normal(size=(repetitions, m, k))) @ factor.T
    u = np.broadcast_to(factor @ factor.T, (repetitions, m, k, k))
    margin = 4.5 * np.sqrt(0.05 * 0.95 / repetitions)
    for rule, null, low, high in [
        ("partial", np.zeros(k), 0.05 - margin, 0.05 + margin),
        ("mi", np.zeros(k), 0, 0.05 - margin),  # the rule for missing data is conservative here
        ("partial", factor @ np.full(k, 3.0), 0.3, 1),
    ]:
        d, df2 = wald_statistic(q, u, np.broadcast_to(null, (repetitions, k)), rule)
        assert low <= np.mean(f_tail(d, k, df2) < 0.05) <= high
    ignoring = np.einsum("ri,ri->r", *[np.linalg.solve(factor, q.mean(1).T).T] * 2)
    assert np.mean(stats.chi2.sf(ignoring, k) < 0.05) > 0.05 + margin


WALD_REFUSED = [
    (([[1, 2]], [np.eye(2)]), {}, "at least 2 sets"),
    (([[1, 2]] * 2, [[1, 1]] * 2), {}, "covariance matrices"),
    (([[1, 2]] * 2, [np.ones((2, 2))] * 2), {}, "singular"),
    (([[1, 2]] * 2, [np.diag([1, 0])] * 2), {}, "singular"),
    (([[1, 2]] * 2, [np.eye(2)] * 2), {"null": [1]}, "2 finite"),
    (([[1, 2]] * 2, [np.eye(2)] * 2), {"null": [1, np.nan]}, "2 finite"),
    (([[1, 2]] * 2, [np.eye(2)] * 2), {"rule": "partal"}, "Did you mean 'partial'"),
    (([[1, 2]] * 2, [np.eye(3)] * 2), {}, "shape"),
]


@pytest.mark.parametrize(("both", "options", "message"), WALD_REFUSED)
def test_wald_refuses(both, options, message):
    with pytest.raises(InferenceError, match=message):
        wald(*both, **options)


def test_wald_takes_units_that_differ_by_far():
    u = np.diag([1e-12, 1e12])
    assert wald([[1e-6, 1e6], [2e-6, 2e6]], [u, u]).statistic == pytest.approx(
        wald([[1, 1], [2, 2]], [np.eye(2)] * 2).statistic
    )


# --- pooled p-values ----------------------------------------------------------------------------


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
