"""The censored likelihood of a column: its score, its ε by enumeration, and an audit of the method.

Every law here is the gate's own: the arguments it hands to the exponential mechanism, the integers
and the rate that this makes of them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms import selection
from understudy.mechanisms.selection import lattice_gaps, selection_rate
from understudy.papers.censored_posterior import CensoredPosterior
from understudy.papers.generator_scores import (
    CONVERGENCE,
    STEPS,
    Censoring,
    ColumnLikelihood,
    ListedParameters,
    Walk,
    WalkedParameters,
)
from understudy.papers.generators import Prior
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

COLUMNS = """
[columns.a]
kind = "ordinal"
levels = [0, 1, 2]
reviewed = true
[columns.b]
kind = "categorical"
levels = [0, 1]
reviewed = true
"""
RULE = "[[forbidden]]\nwhere = { a = 2, b = 1 }\nreviewed = true\n"
CELLS = list(itertools.product([0, 1, 2], [0, 1]))
OUTSIDE = (7, 0)


def asked(gate, kind, score, *more, spend):
    """A mechanism, behind the gate's check of types: what is listed here is for tests alone."""
    gate._admit = lambda mechanism: mechanism
    own = gate._rows.view.schema if score.schema is gate.schema else score.schema
    return gate.ask(kind(replace(score, schema=own), *more), spend=spend)


@cache
def schema(n_rows=None, more=""):
    rows = 'rows = "private"\nrow_limit = 12'
    if n_rows is not None:
        rows = f'rows = "public"\nn_rows = {n_rows}'
    return Schema.loads(f"{rows}\n{COLUMNS}{more}")


def table(records):
    return pl.DataFrame(list(records), schema={"a": pl.Int64, "b": pl.Int64}, orient="row")


TABLES = {}


def engine(records, known):
    """Rows under a schema, which the gate tells from its equals; coded once."""
    key = tuple(records), id(known)
    if key not in TABLES:
        TABLES[key] = Table(table(records), known)  # and it keeps the schema
    return TABLES[key]


def coded(records, known):
    return engine(records, known).code_rows().expose()


class Listed:
    """P(b | a) in logarithms, simply listed: θ is the place in the list of tables (a, b)."""

    column, parents = "b", ("a",)

    def __init__(self, *tables):
        self.tables = np.array(tables, dtype=float)

    def log_shares(self, points, given, states):
        return self.tables[points[:, 0].astype(int), given[0]][:, states].T


OPPOSED = Listed(
    [[0, -9], [0, -9], [-0.7, -0.7]],
    [[-9, 0], [-9, 0], [-0.2, -1.7]],
    [[-9, -0.02], [-9, 0], [-1.7, -0.2]],
)
"""Candidates that some records tell apart by 9, and some hardly."""


def score_of(known, column_model=OPPOSED, form="own-peak", width=2.0):
    points = np.arange(float(len(column_model.tables)))[:, None]
    high = 0.0 if form == "interval" else None
    return ColumnLikelihood(
        known, column_model, points, Censoring(form=form, width=width, high=high)
    )


# --- the score ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["own-peak", "interval"])
def test_the_score_is_the_sum_over_rows_in_domain(form):
    """One row after the other, by the definition; unknown values and impossible rows count 0."""
    known = schema(more=RULE)
    rng = np.random.default_rng(1)
    rows = [CELLS[k] for k in rng.integers(0, 5, 9)]
    score = score_of(known, form=form, width=3.0)
    expected = np.zeros(3, dtype=int)
    for a, b in rows:
        own = OPPOSED.tables[:, a, b]
        own = own - (own.max() if form == "own-peak" else 0.0)
        expected += np.rint(np.maximum(own, -3.0) * STEPS / 3.0).astype(int)
    found = score.evaluate(coded([*rows, OUTSIDE, (0, 9), (2, 1)], known))
    assert found.tolist() == expected.tolist()
    shuffled = [rows[k] for k in rng.permutation(9)]
    assert score.evaluate(coded(shuffled, known)).tolist() == expected.tolist()


def test_parents_stand_where_the_law_names_them():
    """A law of a given b looks at the columns in its own order, not in the schema's."""

    class Turned(Listed):
        column, parents = "a", ("b",)

    known = schema()
    column_model = Turned([[-1, -2, -3], [-4, -5, -6]])
    score = score_of(known, column_model, form="interval", width=10.0)
    assert score.columns == ("b", "a")
    found = score.evaluate(coded([(0, 1), (2, 0), (2, 1)], known))
    assert found == pytest.approx(-(4 + 3 + 6) * STEPS / 10)


def test_a_comparison_scores_like_a_list():
    known = schema()
    rows = coded([(0, 0), (0, 1), (0, 1), (2, 0)], known)
    score = score_of(known, form="interval")
    against = score.against(rows)
    assert [against.score(theta) for theta in score.points] == score.evaluate(rows).tolist()
    with pytest.raises(MethodError, match="form interval"):
        score_of(known).against(rows)


def test_no_rows_give_no_candidate_an_advantage():
    known = schema(0)
    score = score_of(known, form="interval")
    assert score.evaluate(coded([], known)).tolist() == [0, 0, 0]
    assert score.against(coded([], known)).score(score.points[1]) == 0


# --- ε through the gate, by enumeration ---------------------------------------------------------


class Forced:
    """Stands in place of `select`: takes prescribed candidates, then the first ones; notes the
    exact law of every choice."""

    def __init__(self, path, factor):
        self.path, self.column_models, self.factor = iter(path), [], factor

    def __call__(self, scores, *, epsilon, sensitivity, monotone, feasible, source):
        rate = self.factor * selection_rate(epsilon, monotone=monotone)
        weights = -float(rate) * lattice_gaps(scores, sensitivity)
        self.column_models.append(weights - np.logaddexp.reduce(weights))
        return next(self.path, 0)


def law_of(records, known, act, epsilon, factor=Fraction(1), path=()):
    """Log-probability of every sequence of choices that begins with some, in a fixed order."""
    gate = open_gate(engine(records, known), Budget.of(epsilon), SecureRandomness())
    forced = Forced(path, factor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "select", forced)
        act(gate, Fraction(epsilon))
    assert gate.remaining == 0
    own = forced.column_models[len(path)]
    if len(forced.column_models) == len(path) + 1:
        return own
    ahead = [law_of(records, known, act, epsilon, factor, (*path, k)) for k in range(len(own))]
    return np.concatenate([p + one for p, one in zip(own, ahead, strict=True)])


def neighbours_of(records, relation, news):
    for new in news:
        if relation == "add_remove":
            yield tuple(sorted((*records, new)))
        else:
            for i in range(len(records)):
                yield tuple(sorted((*records[:i], *records[i + 1 :], new)))


def realised(act_of, relation, cells, sizes, *, epsilon=1, factor=1):
    """The largest |log ratio| of neighbours over all tables of these sizes."""
    known = schema(max(sizes) if relation == "replace" else None)
    act, cache = act_of(known), {}

    def column_model(records):
        if records not in cache:
            cache[records] = law_of(records, known, act, epsilon, Fraction(factor))
            assert np.logaddexp.reduce(cache[records]) == pytest.approx(0, abs=1e-9)
        return cache[records]

    return max(
        np.abs(column_model(records) - column_model(other)).max()
        for n in ([max(sizes)] if relation == "replace" else sizes)
        for records in itertools.combinations_with_replacement(cells, n)
        for other in neighbours_of(records, relation, (*cells, OUTSIDE))
    )


def choosing(form, width):
    """The gate's own verb, on the listed law."""

    def act_of(known):
        score = score_of(known, form=form, width=width)
        return lambda gate, spend: asked(gate, ListedParameters, score, ["place"], spend=spend)

    return act_of


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("form", ["own-peak", "interval"])
@pytest.mark.parametrize("width", [0.5, 2.0, 8.0])
@pytest.mark.nightly(every=3)
def test_a_choice_spends_epsilon_at_any_width_and_no_less(relation, form, width):
    """ε = 8, tables of up to four rows: all of ε but 10⁻³; more of it at 1.1 times the rate."""
    args = (choosing(form, width), relation, [(0, 0), (0, 1), (2, 0)], range(5))
    assert 0.999 * 8 < realised(*args, epsilon=8) <= 8
    assert realised(*args, epsilon=8, factor=Fraction(11, 10)) > 8


@pytest.mark.parametrize(("n_rows", "times"), [(None, 1), (2, 2)], ids=["add_remove", "replace"])
def test_the_posterior_itself_costs_its_width_once_or_twice(n_rows, times):
    """ε = W, and 2W under replace, is the censored posterior to the power one, prior even."""
    known, rows = schema(n_rows), [(0, 0), (2, 1)]
    width = Fraction(3, 2)
    score = score_of(known, width=float(width))
    act = lambda gate, spend: asked(gate, ListedParameters, score, ["place"], spend=spend)  # noqa: E731
    found = law_of(rows, known, act, times * width)
    own = np.stack([OPPOSED.tables[:, a, b] for a, b in rows])
    own = np.maximum(own - own.max(axis=1, keepdims=True), -float(width)).sum(axis=0)
    np.testing.assert_allclose(found, own - np.logaddexp.reduce(own), atol=1e-5)


def test_a_choice_says_what_it_rests_on():
    known = schema(2)
    gate = open_gate(Table(table([(0, 0)] * 2), known), Budget.of(1), SecureRandomness())
    found = asked(gate, ListedParameters, score_of(known, width=2.5), ["place"], spend=Fraction(1))
    assert found.value.columns == ("a", "b")
    (entry,) = gate.ledger
    assert entry.query == (
        "parameters over a × b: one of 3 by likelihoods censored to a width of 2.5 (own-peak)"
    )
    assert entry.sensitivity == "score: a record's log-likelihood, censored to a width of 2.5"
    assert gate.guarantee().kind == "pure"
    assert gate.guarantee().leaks == ()


# --- the whole method, by its exact law ---------------------------------------------------------

CORNERS = [(0, 0), (2, 1), (0, 1)]


def fitting(**options):
    """The method's own fit: P(a), then P(b | a), each among the prior's candidates."""
    method = CensoredPosterior(**{"candidates": 3} | options)
    return lambda _known: lambda gate, spend: method.fit(gate, spend, 10)


@pytest.mark.parametrize(
    ("relation", "censoring"),
    [
        ("add_remove", "own-peak"),
        ("replace", "own-range"),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in [
                ("replace", "own-peak"),
                ("add_remove", "interval"),
                ("replace", "own-weight"),
            ]
        ),
    ],
)
def test_the_whole_method_spends_at_most_epsilon(relation, censoring):
    """ε = 1, tables of up to two rows, every sequence of choices, exact probabilities."""
    spent = realised(fitting(censoring=censoring), relation, CORNERS, (0, 1, 2))
    assert 0.15 < spent <= 1


def test_refinements_share_the_budget():
    args = (fitting(candidates=2, refinements=1, width=0.1), "add_remove", CORNERS[:2], (0, 1))
    assert 0.3 < realised(*args) <= 1


def test_the_audit_sees_a_method_that_spends_too_much():
    """A narrow width uses most of ε; at three times the rate, it is exceeded."""
    args = (fitting(width=0.1), "add_remove", CORNERS, (0, 1))
    assert 0.4 < realised(*args) <= 1
    assert realised(*args, factor=3) > 1


def test_the_forced_law_is_that_of_the_gate():
    """400 choices at ε = 2; each frequency is within 4.5 standard errors with probability above
    0.9999, and one of them is outside at half the rate, as if the score were not monotone."""
    rows, known, draws = [(0, 0), (0, 1), (0, 1), (2, 1)], schema(), 400
    act, source, counts = choosing("own-peak", 2.0)(known), SeededRandomness(5), Counter()
    engine = Table(table(rows), known)
    for _ in range(draws):
        gate = open_gate(engine, Budget.of(2), source)
        act(gate, Fraction(2))
        counts[gate.measured[0].value.values[0]] += 1
    seen = np.array([counts[float(k)] for k in range(3)])

    def off(factor):
        expected = np.exp(law_of(rows, known, act, 2, factor))
        return np.abs(seen / draws - expected) / np.sqrt(expected * (1 - expected) / draws)

    assert off(Fraction(1)).max() < 4.5
    assert off(Fraction(1, 2)).max() > 4.5


# --- walks --------------------------------------------------------------------------------------


class Coin:
    """P(b = 1) = 1/(1 + e^(-θ)), whatever a is."""

    column, parents = "b", ()

    def log_shares(self, points, given, states):
        signs = np.array([-1.0, 1.0])[states]
        return -np.logaddexp(0.0, -signs[:, None] * points[:, 0])


def test_a_walk_is_conditional_and_follows_the_censored_posterior():
    """Five rows 1 and one 0 at ε = 2W: the mean of 120 ends is within 4.5 standard errors of the
    posterior's; the prior's, and that at half the rate, are not."""
    known = schema()
    rows = [(0, 1)] * 5 + [(1, 0)]
    prior = Prior(("level",), np.array([-1.0]), np.array([1.5]))
    censoring = Censoring(form="interval", width=4.0, high=0.0)
    score = ColumnLikelihood(known, Coin(), prior.points(1), censoring)
    how = Walk(prior, prior.means, np.array([3.0]), 30)
    engine, source, ends, told = Table(table(rows), known), SeededRandomness(3), [], []

    def walked(source):
        gate = open_gate(engine, Budget.of(8), source, confide=told.append)
        found = asked(gate, WalkedParameters, score, prior.names, how, spend=Fraction(8))
        ends.append(found.value.values[0])
        return gate

    for _ in range(120):
        walked(source)

    grid = np.linspace(-8, 8, 4001)

    def mean(rate):
        ones, zeros = (np.maximum(-np.logaddexp(0, sign * grid), -4.0) for sign in (-1, 1))
        heights = prior.log_density(grid[:, None]) + rate * (5 * ones + zeros)
        weights = np.exp(heights - heights.max())
        return grid @ weights / weights.sum()

    error = np.std(ends) / np.sqrt(len(ends))
    assert abs(np.mean(ends) - mean(2)) < 4.5 * error
    assert abs(np.mean(ends) - mean(0)) > 4.5 * error
    assert abs(np.mean(ends) - mean(1)) > 4.5 * error

    gate = walked(SecureRandomness())
    assert len(told) == 121
    assert gate.guarantee().kind == "conditional"
    assert gate.guarantee().conditions == (CONVERGENCE,)
    assert "a walk of 30 steps by likelihoods censored to a width of 4" in gate.ledger[0].query
