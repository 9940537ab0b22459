"""Estimates of subsets: beside obvious ones, alone with their own records, and where nothing tells.

Random tests have fixed seeds.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from understudy.mechanisms.votes import correlations, last_coefficients, means

RNG = np.random.default_rng(3)
SIZES = np.array([40, 0, 1, 35, 60])
STARTS = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
N = int(STARTS[-1])
X = np.column_stack([np.ones(N), RNG.integers(0, 2, N), 2000 + RNG.normal(0, 3, N)])
Y = 0.3 * X[:, 2] + RNG.gumbel(0, 2, N)
WORKS = (RNG.random(N) < 0.3).astype(float)


def parts(*columns):
    """The records of each subset."""
    return zip(*(np.split(column, STARTS[1:-1]) for column in columns), strict=True)


def test_least_squares_are_those_of_numpy():
    found = last_coefficients(X, Y, STARTS, False)
    for own, (x, y) in zip(found, parts(X, Y), strict=True):
        if len(y) <= 3:
            assert np.isnan(own)
        else:
            assert own == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0][-1], rel=1e-6)


def test_the_logistic_regression_has_the_largest_penalised_likelihood():
    found = last_coefficients(X - [0, 0, 2000], WORKS, STARTS, True)
    for own, (x, y) in zip(found, parts(X - [0, 0, 2000], WORKS), strict=True):
        if len(y) > 3:
            assert own == pytest.approx(penalised(x, y), abs=1e-4)


def penalised(x, y):
    """The last coefficient where the likelihood times √det of the information is largest."""

    def loss(beta):
        p = 1 / (1 + np.exp(-x @ beta))
        information = x.T @ (x * (p * (1 - p))[:, None])
        likelihood = np.log(p) @ y + np.log1p(-p) @ (1 - y)
        return -likelihood - np.linalg.slogdet(information)[1] / 2

    return minimize(loss, np.zeros(x.shape[1]), method="BFGS", tol=1e-9).x[-1]


def test_it_is_finite_where_a_level_tells_the_outcome():
    x = np.column_stack([np.ones(20), np.arange(20.0)])
    found = last_coefficients(x, (x[:, 1] > 9).astype(float), np.array([0, 20]), True)
    assert 0 < found[0] < 5


@pytest.mark.parametrize("logit", [False, True])
def test_what_others_follow_from_changes_nothing(logit):
    """A level that nobody has, one that everybody has, and a column twice, are left out."""
    beside = np.column_stack([X[:, 0], np.zeros(N), X[:, 0], X[:, 1], X[:, 1], X[:, 2]])
    plain, more = (last_coefficients(one, WORKS, STARTS, logit) for one in (X, beside))
    assert more == pytest.approx(plain, rel=1e-6, nan_ok=True)
    last = np.column_stack([X, 2 * X[:, 1] - 3])
    assert np.isnan(last_coefficients(last, WORKS, STARTS, logit)).all()


def test_a_mean_and_a_correlation_beside_numpy():
    found, both = means(Y, STARTS), correlations(X[:, 2].copy(), Y, STARTS)
    for mean, z, (x, y) in zip(found, both, parts(X[:, 2], Y), strict=True):
        if len(y) > 1:
            gaps = y - y.mean()
            assert mean == pytest.approx(y.mean() + (gaps**3).sum() / (gaps**2).sum() / 6 / len(y))
            r = np.corrcoef(x, y)[0, 1]
            assert z == pytest.approx(np.arctanh(r) - r / (2 * (len(y) - 1)))
    assert np.isnan(found[1])
    assert np.isnan(both[1:3]).all()


def test_about_half_of_the_subsets_lie_above_the_mean_of_a_skewed_column():
    """20,000 subsets of 30 exponential records (skewness 2): 49.4 % lie above, 47.6 % of plain
    means. Bounds of .011 are three standard errors; false alarm 3e-3, for this seed none."""
    drawn = np.random.default_rng(1).exponential(1, 600_000)
    corrected = means(drawn, np.arange(0, 600_001, 30))
    shares = [(one > 1).mean() for one in (corrected, drawn.reshape(-1, 30).mean(axis=1))]
    assert shares == pytest.approx([0.494, 0.476], abs=0.011)
    assert shares[0] > shares[1] + 0.01


@pytest.mark.parametrize("before", range(1, 6))
def test_no_subset_depends_on_another_to_the_last_bit(before):
    """Wherever in memory its records begin, and whatever stands before them."""
    own = slice(int(STARTS[3]), int(STARTS[4]))
    strange = np.full(before, 1e300)
    starts = np.array([0, before, before + int(SIZES[3])])
    y, x = np.concatenate([strange, Y[own]]), np.vstack([np.full((before, 3), -1e300), X[own]])
    assert means(y, starts)[1] == means(Y, STARTS)[3]
    assert correlations(x[:, 2].copy(), y, starts)[1] == correlations(X[:, 2].copy(), Y, STARTS)[3]
    assert last_coefficients(x, y, starts, False)[1] == last_coefficients(X, Y, STARTS, False)[3]
    works = np.concatenate([np.ones(before), WORKS[own]])
    logits = [last_coefficients(*one, True) for one in ((x, works, starts), (X, WORKS, STARTS))]
    assert logits[0][1] == logits[1][3]


HOPELESS = {
    "constant": (np.ones((9, 2)), np.ones(9)),
    "huge": (np.full((9, 2), 1e308) * [[1, -1]], np.full(9, -1e308)),
    "tiny": (np.full((9, 2), 1e-308), np.zeros(9)),
    "mixed": (np.array([[1e308, 1.0], [1e-308, 2.0], [5.0, 3.0]] * 3), np.arange(9.0) * 1e200),
    "none": (np.empty((0, 2)), np.empty(0)),
}


@pytest.mark.parametrize("logit", [False, True])
@pytest.mark.parametrize("rows", HOPELESS)
def test_where_nothing_tells_there_is_no_error(rows, logit):
    x, y = HOPELESS[rows]
    starts = np.array([0, 0, len(y)])
    with np.errstate(all="raise"):
        last_coefficients(x, (y > 0).astype(float) if logit else y, starts, logit)
        means(y, starts)
        correlations(x[:, 1].copy(), y, starts)
