"""Laws of columns against their definitions, computed slowly; and as functions of parameters."""

import math

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import chi2, norm

from understudy.errors import MethodError
from understudy.features.design import Features, list_indicated
from understudy.features.grids import Drawn, line_of, settle_numbers
from understudy.papers.generators import (
    LogisticNormal,
    MultinomialLogit,
    NormalRegression,
    NormalWidths,
)
from understudy.schema import NUMERIC, Categorical, Continuous, Ordinal, Schema

# A correct law fails one chi-square test with probability 1e-6; seeds are fixed.
LEVEL = 1e-6

SCHEMA = Schema.loads(
    """
[columns.age]
kind = "integer"
lower = 0
upper = 40
bins = 5
spikes = [0]
missing = [-1]
[columns.sex]
kind = "categorical"
levels = ["f", "m", "x"]
[columns.rank]
kind = "ordinal"
levels = [1, 2, 5, 9]
missing = ["?"]
[columns.yes]
kind = "boolean"
missing = [""]
[columns.income]
kind = "continuous"
lower = -2
upper = 8
bins = [-2, 0, 0.5, 3, 8]
spikes = [0]
not_applicable = [99]
decimals = 1
[columns.free]
kind = "continuous"
lower = 10
upper = 20
bins = [10, 11, 15, 18, 20]
[columns.whole]
kind = "integer"
lower = -3
upper = 5
bins = 4
[columns.day]
kind = "date"
lower = 2020-01-01
upper = 2020-03-31
bins = 3
"""
)
LAWS = {
    "categorical": (MultinomialLogit, "sex", ("age", "rank", "yes")),
    "boolean with a code": (MultinomialLogit, "yes", ("sex", "day")),
    "root": (MultinomialLogit, "sex", ()),
    "ordinal with a code": (LogisticNormal, "rank", ("sex", "free")),
    "spike and code": (LogisticNormal, "income", ("age", "sex", "rank")),
    "integer with a spike": (LogisticNormal, "age", ("income", "yes")),
    "logistic-normal real": (LogisticNormal, "free", ("whole",)),
    "logistic-normal date": (LogisticNormal, "day", ("free", "yes")),
    "normal real": (NormalRegression, "free", ("whole", "sex")),
    "normal integer": (NormalRegression, "whole", ()),
    "normal date": (NormalRegression, "day", ("age",)),
}
PATTERNS = 8


def law_of(name):
    make, column, parents = LAWS[name]
    return make(column, SCHEMA.columns[column], Features.of(SCHEMA, parents))


def parents_of(column_model, n, rng):
    """Parents with all their states, each a few times; and the records one by one."""
    drawn, records = {}, [{} for _ in range(n)]
    for name in column_model.parents:
        column = SCHEMA.columns[name]
        states, numbers = rng.permutation(n) % column.size, None
        if isinstance(column, NUMERIC):
            bins = [one for one in column.intervals if not one.spike]
            lows = {k: one for k, one in enumerate(column.intervals) if one in bins}
            middle = [(lows[s].low + lows[s].high) / 2 if s in lows else math.nan for s in states]
            _, numbers = settle_numbers(line_of(column), np.array(middle))
        drawn[name] = Drawn(states, numbers)
        for i, record in enumerate(records):
            record[name] = (states[i], None if numbers is None else numbers[i])
    return drawn, records


def slow_features(record):
    """The definition, word for word."""
    found = []
    for name, (state, number) in record.items():
        column = SCHEMA.columns[name]
        if isinstance(column, NUMERIC):
            low, high = column.bounds
            found.append(0.0 if np.isnan(number) else 2 * (number - low) / (high - low) - 1)
        elif isinstance(column, Ordinal):
            last = len(column.levels) - 1
            found.append(2 * state / last - 1 if state <= last else 0.0)
        found += [float(state == k) for k in list_indicated(column)]
    return np.array([1.0, *found])


def softmax(values):
    weights = np.exp(np.array(values) - max(values))
    return weights / weights.sum()


def ordinary_shares(column, cdf):
    """Probability of each ordinary state of a column whose number has this cdf before rounding."""
    low, high = column.bounds
    if isinstance(column, Continuous) and column.decimals is None:
        inner = cdf(np.array([one.low for one in column.intervals][1:]))
        return np.diff([0.0, *inner, 1.0])
    grid = 10 ** getattr(column, "decimals", 0)
    values = np.arange(round(low * grid), round(high * grid) + 1) / grid
    ends = [0.0, *cdf(values[:-1] + 0.5 / grid), 1.0]
    settled_states, _ = settle_numbers(line_of(column), values)
    shares = np.zeros(column.n_ordinary)
    np.add.at(shares, settled_states, np.diff(ends))
    return shares


def slow_shares(column_model, theta, record):
    """Probability of each state."""
    column, f = SCHEMA.columns[column_model.column], slow_features(record)
    if isinstance(column_model, MultinomialLogit):
        return softmax([0.0, *theta.reshape(-1, len(f)) @ f])
    eta, sigma = theta[-1 - len(f) : -1] @ f, math.exp(theta[-1])
    special = [] if isinstance(column_model, NormalRegression) else list_indicated(column)
    kinds = softmax([0.0, *theta[: -1 - len(f)].reshape(-1, len(f)) @ f])
    shares = np.zeros(column.size)
    if isinstance(column, Ordinal):
        inner = (logit(np.array([1, 2, 3]) / 4) - eta) / sigma
        shares[:4] = np.diff([0.0, *norm.cdf(inner), 1.0])
    else:
        low, high = column.bounds
        normal = isinstance(column_model, NormalRegression)

        def cdf(x):
            place = (x - low) / (high - low)
            return norm.cdf(((2 * place - 1 if normal else logit(place)) - eta) / sigma)

        shares[: column.n_ordinary] = ordinary_shares(column, cdf)
    shares *= kinds[0]
    shares[special] += kinds[1:]
    return shares


def chi_square(counts, expected):
    """Probability of counts so far off; small cells of a pattern are one with the next larger."""
    statistic, degrees = 0.0, 0
    for seen, mean in zip(counts, expected, strict=True):
        order = np.argsort(mean)
        first = min(np.searchsorted(np.cumsum(mean[order]), 10), len(mean) - 1)
        o = np.array([seen[order[: first + 1]].sum(), *seen[order[first + 1 :]]])
        e = np.array([mean[order[: first + 1]].sum(), *mean[order[first + 1 :]]])
        statistic += ((o - e) ** 2 / e).sum()
        degrees += len(e) - 1
    return chi2.sf(statistic, degrees)


def some_theta(column_model, seed=3):
    rng = np.random.default_rng(seed)
    return column_model.prior.means + column_model.prior.stddevs * rng.normal(
        0, 0.4, len(column_model.prior.means)
    )


def counted(column_model, theta, drawn, repeats, rng):
    n = PATTERNS * repeats
    many = {
        name: Drawn(
            np.repeat(one.states, repeats),
            None if one.numbers is None else np.repeat(one.numbers, repeats),
        )
        for name, one in drawn.items()
    }
    found = column_model.draw(theta, many, rng.random((2, n)))
    size = SCHEMA.columns[column_model.column].size
    return np.stack([np.bincount(p, minlength=size) for p in found.states.reshape(PATTERNS, -1)])


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.nightly(every=2)
def test_states_have_their_probabilities_and_no_others(name):
    column_model, rng, repeats = law_of(name), np.random.default_rng(1), 8000
    theta = some_theta(column_model)
    drawn, records = parents_of(column_model, PATTERNS, rng)
    counts = counted(column_model, theta, drawn, repeats, rng)

    def fit(parameters):
        shares = np.stack([slow_shares(column_model, parameters, record) for record in records])
        assert shares.sum(axis=1) == pytest.approx(np.ones(PATTERNS))
        return chi_square(counts, repeats * shares)

    assert fit(theta) > LEVEL
    for j in range(len(theta)):  # each parameter matters, and a wrong one is noticed
        wrong = theta.copy()
        wrong[j] += 0.6
        assert fit(wrong) < LEVEL, column_model.prior.names[j]


@pytest.mark.parametrize("name", LAWS)
def test_parameters_have_names_and_a_prior_each(name):
    column_model = law_of(name)
    names = column_model.prior.names
    assert len(set(names)) == len(names)
    assert all(one.startswith(column_model.column) for one in names)
    terms = {one.split(": ", 1)[1] for one in names}
    assert terms - {"log sd"} == {"intercept", *Features.of(SCHEMA, column_model.parents).names}


@pytest.mark.parametrize(
    "name", [n for n, column_model in LAWS.items() if column_model[0] is not MultinomialLogit]
)
def test_numbers_fit_their_column_and_stand_where_the_state_is_a_bin(name):
    column_model, rng = law_of(name), np.random.default_rng(2)
    column = SCHEMA.columns[column_model.column]
    drawn, _ = parents_of(column_model, 4000, rng)
    found = column_model.draw(some_theta(column_model), drawn, rng.random((2, 4000)))
    if isinstance(column, Ordinal):
        assert found.numbers is None
        return
    special = np.isin(found.states, list_indicated(column))
    assert np.array_equal(np.isnan(found.numbers), special)
    numbers = found.numbers[~special]
    states, again = settle_numbers(line_of(column), numbers)
    assert np.array_equal(again, numbers)
    assert np.array_equal(states, found.states[~special])


@pytest.mark.parametrize("name", ["logistic-normal real", "normal real"])
def test_numbers_rise_with_the_intercept_and_only_a_little_with_a_little(name):
    column_model, rng = law_of(name), np.random.default_rng(3)
    theta = some_theta(column_model)
    drawn, _ = parents_of(column_model, 5000, rng)
    uniforms = rng.random((2, 5000))
    step = 1e-3
    steepest = 10 / 4 if isinstance(column_model, LogisticNormal) else 10 / 2
    before = column_model.draw(theta, drawn, uniforms).numbers
    after = column_model.draw(theta + step * np.eye(len(theta))[0], drawn, uniforms).numbers
    assert (after >= before).all()
    assert (after > before).mean() > 0.5
    assert (after - before).max() <= 1.0001 * step * steepest


def test_categories_move_towards_the_one_that_gains_and_few_at_a_time():
    column_model, rng = law_of("categorical"), np.random.default_rng(3)
    theta = some_theta(column_model)
    drawn, _ = parents_of(column_model, 5000, rng)
    uniforms = rng.random((2, 5000))
    before = column_model.draw(theta, drawn, uniforms).states
    for k, name in enumerate(column_model.prior.names):
        if not name.endswith("intercept"):
            continue
        gaining = 1 if "= m" in name else 2
        for step, most in ((0.5, 5000), (1e-3, 10)):
            after = column_model.draw(theta + step * np.eye(len(theta))[k], drawn, uniforms).states
            assert (np.abs(after - gaining) <= np.abs(before - gaining)).all()
            assert ((after - gaining) * (before - gaining) >= 0).all()
            assert 0 < (after != before).sum() + (most == 10) <= most


@pytest.mark.parametrize("name", LAWS)
def test_no_parameters_however_far_off_break_a_law(name):
    column_model, rng = law_of(name), np.random.default_rng(4)
    drawn, _ = parents_of(column_model, 300, rng)
    size = SCHEMA.columns[column_model.column].size
    for scale in (1e3, 1e100):
        for _ in range(5):
            theta = rng.normal(0, scale, len(column_model.prior.means))
            found = column_model.draw(theta, drawn, rng.random((2, 300)))
            assert ((found.states >= 0) & (found.states < size)).all()


@pytest.mark.parametrize("name", LAWS)
def test_no_records_are_drawn_for_none(name):
    column_model = law_of(name)
    drawn, _ = parents_of(column_model, 0, np.random.default_rng(1))
    found = column_model.draw(column_model.prior.means, drawn, np.zeros((2, 0)))
    assert found.states.shape == (0,)
    assert found.states.dtype == np.int64


def test_a_column_of_one_state_has_no_parameters():
    column = Categorical(kind="categorical", levels=("only",))
    column_model = MultinomialLogit("x", column, Features.of(SCHEMA, ("age",)))
    assert column_model.prior.names == ()
    drawn = {"age": Drawn(np.array([1, 2]), np.array([3.0, 10.0]))}
    assert column_model.draw(np.zeros(0), drawn, np.full((2, 2), 0.9)).states.tolist() == [0, 0]


@pytest.mark.parametrize("column", ["age", "rank", "sex", "income", "yes"])
def test_a_normal_regression_refuses_what_it_cannot_draw(column):
    with pytest.raises(MethodError, match=f"'{column}'"):
        NormalRegression(column, SCHEMA.columns[column], Features.of(SCHEMA, ()))
    if column in ("sex", "yes"):
        with pytest.raises(ValueError, match="ordered levels"):
            LogisticNormal(column, SCHEMA.columns[column], Features.of(SCHEMA, ()))


def test_the_published_prior_is_there_to_be_asked_for():
    column_model = NormalRegression(
        "free", SCHEMA.columns["free"], Features.of(SCHEMA, ("whole",)), NormalWidths.flat(2.0)
    )
    assert column_model.prior.stddevs.tolist() == [2000.0] * 3
    assert column_model.prior.means.tolist() == [0.0] * 3


def in_the_middle(record):
    """A parent's record with its number at the middle of its bin."""
    found = {}
    for name, (state, number) in record.items():
        found[name] = (state, number)
        if number is not None and not np.isnan(number):
            one = SCHEMA.columns[name].intervals[state]
            found[name] = (state, (one.low + one.high) / 2)
    return found


def given_of(column_model, record):
    return np.array([record[name][0] for name in column_model.parents], dtype=np.int64)


def one_by_one(column_model, points, records):
    """`log_shares` of all states for each combination of the parents' states."""
    states = np.arange(SCHEMA.columns[column_model.column].size)
    return np.stack(
        [column_model.log_shares(points, given_of(column_model, one), states) for one in records]
    )


@pytest.mark.parametrize("name", LAWS)
def test_log_shares_are_those_that_states_are_drawn_with(name):
    """Against the definition, which the drawn states are tested against."""
    column_model, rng = law_of(name), np.random.default_rng(1)
    points = np.stack([some_theta(column_model, seed) for seed in range(5)])
    _, records = parents_of(column_model, PATTERNS, rng)
    found = np.exp(one_by_one(column_model, points, records))
    for shares, record in zip(found, map(in_the_middle, records), strict=True):
        expected = np.stack([slow_shares(column_model, theta, record) for theta in points], axis=1)
        np.testing.assert_allclose(shares, expected, atol=1e-12, rtol=1e-7)


@pytest.mark.parametrize("name", LAWS)
def test_a_log_share_is_the_same_number_in_any_company(name):
    column_model, rng = law_of(name), np.random.default_rng(1)
    points = column_model.prior.points(33)
    _, records = parents_of(column_model, PATTERNS, rng)
    together = one_by_one(column_model, points, records)
    size = SCHEMA.columns[column_model.column].size
    for states in (rng.permutation(size), rng.integers(0, size, 3), np.arange(size)[-1:]):
        found = column_model.log_shares(points, given_of(column_model, records[2]), states)
        np.testing.assert_array_equal(found, together[2][states])


@pytest.mark.parametrize("name", LAWS)
def test_log_shares_far_off_are_no_error(name):
    column_model, rng = law_of(name), np.random.default_rng(4)
    _, records = parents_of(column_model, PATTERNS, rng)
    for scale in (1e3, 1e100):
        points = rng.normal(0, scale, (20, len(column_model.prior.means)))
        found = one_by_one(column_model, points, records)
        assert not (found > 0).any()
