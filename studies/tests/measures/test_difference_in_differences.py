"""Difference in differences: fits against plain Newton, pooling by hand, separation."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import understudy as us
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.regression import interval_overlap
from understudy.evaluate.robust_regression import fit, fit_counts
from understudy_studies.measures.difference_in_differences import (
    Model,
    difference_overlaps,
    fit_table,
    terms,
)

SCHEMA = us.Schema.loads(
    """
    [columns.voted]
    kind = "categorical"
    levels = ["no", "yes"]
    reviewed = true
    [columns.state]
    kind = "categorical"
    levels = ["no", "yes"]
    reviewed = true
    [columns.age]
    kind = "ordinal"
    levels = [18, 19, 25]
    reviewed = true
    [columns.registered]
    kind = "boolean"
    reviewed = true
    [columns.size]
    kind = "integer"
    lower = 0
    upper = 9
    bins = 2
    reviewed = true
    [columns.stay]
    kind = "ordinal"
    levels = ["a", "b", "c"]
    missing = ["?"]
    reviewed = true
    """
)
MODEL = Model("voted", "state", "registered", ("age", "size"))
AGES, SIZES = np.array([18.0, 19.0, 25.0]), np.array([2.0, 7.0])


def rows(n, seed, *, separated=False):
    """Rows whose outcome follows the model; where separated, only the registered vote."""
    rng = np.random.default_rng(seed)
    state, registered = (rng.random(n) < 0.3).astype(int), (rng.random(n) < 0.6).astype(int)
    age, size, stay = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    score = -1 + 0.5 * state + 0.8 * registered - 0.4 * state * registered + 0.3 * (stay == 2)
    voted = rng.random(n) < expit(score + 0.05 * (AGES[age] - 20))
    voted &= (registered == 1) | (not separated)
    return [one.astype(np.uint8) for one in (voted, state, age, registered, size, stay)]


def design(table):
    """Every row written out, in the order of `terms`."""
    voted, state, age, registered, size, stay = (one.astype(int) for one in table)
    ones = np.ones(len(voted))
    x = [ones, state, AGES[age], registered, SIZES[size], stay == 1, stay == 2, state * registered]
    return voted.astype(float), np.stack(x, axis=1).astype(float)


def plain_newton(y, x):
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        mean = expit(x @ beta)
        information = (x * (mean * (1 - mean))[:, None]).T @ x
        beta = beta + np.linalg.solve(information, x.T @ (y - mean))
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))


def test_the_regression_is_that_of_plain_newton():
    table = rows(3000, 1)
    found = fit_table(table, SCHEMA, MODEL)
    estimate, stderr = plain_newton(*design(table))
    names = ("intercept", "state", "age", "registered", "size", "stay[b]", "stay[c]")
    assert terms(SCHEMA, MODEL) == (*names, "state:registered")
    assert found.estimate == pytest.approx(estimate, abs=1e-7)
    assert found.stderr == pytest.approx(stderr, rel=1e-6)
    assert not found.shrunk


def test_rows_that_are_counted_fit_like_rows_that_are_repeated():
    rng = np.random.default_rng(2)
    x = np.stack([np.ones(40), rng.normal(size=40), rng.integers(0, 2, 40)], axis=1)
    y, counts = rng.integers(0, 2, 40).astype(float), rng.integers(1, 5, 40)
    every = fit(np.repeat(y, counts), np.repeat(x, counts, axis=0), binary=True)
    found = fit_counts(y, x, counts.astype(float))
    assert found.estimate == pytest.approx(every.estimate, abs=1e-8)
    assert found.covariance == pytest.approx(every.covariance, rel=1e-7)
    assert found.stderr == pytest.approx(np.sqrt(np.diag(found.covariance)))


@pytest.mark.parametrize("separated", [False, True])
def test_a_search_ends_at_the_same_place_wherever_it_begins(separated):
    """The likelihood with its prior has one maximum; from another table's, or from far off."""
    table, other = (rows(3000, seed, separated=separated) for seed in (1, 2))
    cold = fit_table(table, SCHEMA, MODEL)
    starts = fit_table(other, SCHEMA, MODEL).estimate, np.full(8, np.nan), np.full(8, 0.5)
    for start in starts:
        warm = fit_table(table, SCHEMA, MODEL, start)
        assert warm.shrunk == cold.shrunk == separated
        assert warm.estimate == pytest.approx(cold.estimate, abs=2e-4)
        assert warm.stderr == pytest.approx(cold.stderr, rel=2e-4)


def test_the_original_need_not_be_fitted_again():
    original, sets = rows(1500, 4), tuple(rows(1500, 5 + k) for k in range(2))
    comparison = Comparison(SCHEMA, original, sets)
    known = difference_overlaps(comparison, MODEL, fit_table(original, SCHEMA, MODEL))
    assert np.array_equal(known.overlap, difference_overlaps(comparison, MODEL).overlap)


def test_records_without_a_value_are_left_out():
    table = rows(2000, 3)
    more = [one.copy() for one in table]
    more[5][:300] = 3  # "?"
    more[2][300:400] = 3  # outside the domain
    fewer = [one[400:] for one in table]
    found, expected = (fit_table(one, SCHEMA, MODEL) for one in (more, fewer))
    assert found.estimate == pytest.approx(expected.estimate, abs=1e-9)


def test_overlaps_are_those_worked_by_hand():
    """T = ū + b/m, t with (m - 1)(1 + mū/b)² degrees of freedom, per coefficient."""
    original, sets = rows(1500, 4), [rows(1500, 5 + k) for k in range(3)]
    found = difference_overlaps(Comparison(SCHEMA, original, tuple(sets)), MODEL)
    estimate, stderr = plain_newton(*design(original))
    z = stats.norm.ppf(0.975)
    fits = [plain_newton(*design(one)) for one in sets]
    q, u = np.array([f[0] for f in fits]), np.array([f[1] for f in fits]) ** 2
    b = q.var(axis=0, ddof=1)
    total = u.mean(axis=0) + b / 3
    reach = stats.t.ppf(0.975, 2 * (1 + 3 * u.mean(axis=0) / b) ** 2) * np.sqrt(total)
    for j in range(8):
        ends = (estimate[j] - z * stderr[j], estimate[j] + z * stderr[j])
        pooled = (q[:, j].mean() - reach[j], q[:, j].mean() + reach[j])
        assert found.overlap[j] == pytest.approx(interval_overlap(ends, pooled), abs=1e-5)
    assert found.width == pytest.approx(reach / (z * stderr), rel=1e-5)
    assert found.mean == pytest.approx(found.overlap.mean())
    assert found.of("registered") == found.overlap[3]
    assert found.shrunk == (False, 0)


def test_the_effect_within_the_group_is_that_of_another_parametrisation():
    """With registered × state and not registered × state, it is a coefficient of its own."""
    original, sets = rows(1500, 4), [rows(1500, 5 + k) for k in range(3)]
    found = difference_overlaps(Comparison(SCHEMA, original, tuple(sets)), MODEL)
    fits = []
    for one in (original, *sets):
        y, x = design(one)
        x[:, 1] -= x[:, -1]
        fits.append(plain_newton(y, x))
    z = stats.norm.ppf(0.975)
    q, u = np.array([f[0][-1] for f in fits]), np.array([f[1][-1] for f in fits]) ** 2
    b = q[1:].var(ddof=1)
    mean = u[1:].mean()
    reach = stats.t.ppf(0.975, 2 * (1 + 3 * mean / b) ** 2) * np.sqrt(mean + b / 3)
    ends = (q[0] - z * np.sqrt(u[0]), q[0] + z * np.sqrt(u[0]))
    pooled = (q[1:].mean() - reach, q[1:].mean() + reach)
    assert found.within == pytest.approx(interval_overlap(ends, pooled), abs=1e-5)


def test_where_nobody_of_a_group_has_the_outcome_it_is_flagged():
    """The effect within the other group stays what a fit to that group alone gives."""
    table = rows(4000, 8, separated=True)
    found = fit_table(table, SCHEMA, MODEL)
    assert found.shrunk
    assert np.isfinite(found.estimate).all()
    assert np.isfinite(found.stderr).all()
    group = [one[table[3] == 1] for one in table]
    y, x = design(group)
    estimate, stderr = plain_newton(y, x[:, [0, 1, 2, 4, 5, 6]])
    assert found.estimate[1] + found.estimate[-1] == pytest.approx(
        estimate[1], abs=0.05 * stderr[1]
    )
    sets = tuple(rows(4000, 9 + k, separated=True) for k in range(2))
    overlaps = difference_overlaps(Comparison(SCHEMA, table, sets), MODEL)
    assert overlaps.shrunk == (True, 2)
    assert overlaps.of("state:registered") > 0.9
    opposite = tuple([1 - one[0] if j == 0 else c for j, c in enumerate(one)] for one in sets)
    for one in opposite:
        one[0] = (one[0] * one[3]).astype(np.uint8)
    opposed = difference_overlaps(Comparison(SCHEMA, table, opposite), MODEL)
    assert opposed.of("stay[c]") == 0


def test_what_a_table_cannot_tell():
    original = rows(1500, 4)
    constant = rows(1500, 5)
    constant[4][:] = 0
    found = difference_overlaps(Comparison(SCHEMA, original, (constant, rows(1500, 6))), MODEL)
    assert found.of("size") == 0
    assert np.isfinite(found.mean)
    found = difference_overlaps(Comparison(SCHEMA, constant, (original, rows(1500, 6))), MODEL)
    assert np.isnan(found.of("size"))
    assert np.isfinite(found.mean)
    nobody = [one.copy() for one in original]
    nobody[0][:] = 0
    found = difference_overlaps(Comparison(SCHEMA, original, (nobody, nobody)), MODEL)
    assert found.mean == 0


def test_an_indicator_with_one_outcome_is_seen_at_once():
    """A search would end at a score of about 25 and call it a maximum."""
    x = np.stack([np.ones(400), np.arange(400) < 20], axis=1).astype(float)
    y = np.where(x[:, 1] == 1, 0.0, np.arange(400) % 2)
    found = fit(y, x, binary=True)
    assert found.shrunk
    assert -30 < found.estimate[1] < -2
    y[0] = 1
    assert not fit(y, x, binary=True).shrunk
