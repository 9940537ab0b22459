"""The score of the pMSE mechanism, its sensitivity by enumeration, and an exact audit of all of it.

The audit runs the method itself through a gate that takes every choice in turn and notes its exact
probability, so that ε is what the whole chain of choices really spends.
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

from night import NIGHT
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.confidential import known_rows
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.dp.released import ChosenParameters
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.mechanisms import selection
from understudy.mechanisms.selection import lattice_gaps, selection_rate
from understudy.papers.generator_scores import GREEDY, ListedParameters, PropensityTrees
from understudy.papers.pmse import Pmse
from understudy.papers.trees_exact import DepthTwo, Grid, GridDepthThree, GridDepthTwo, Stumps
from understudy.papers.trees_greedy import Greedy
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

A = [0, 1, 2]
B = [0, 1]
COLUMNS = """
[columns.a]
kind = "ordinal"
levels = [0, 1, 2]
reviewed = true
[columns.b]
kind = "ordinal"
levels = [0, 1]
reviewed = true
"""
CELLS = list(itertools.product(A, B))
GRID = Grid((3, 2))


def asked(gate, kind, score, *more, spend):
    """A mechanism, behind the gate's check of types: what is listed here is for tests alone."""
    gate._admit = lambda mechanism: mechanism
    own = gate._rows.view.schema if score.schema is gate.schema else score.schema
    return gate.ask(kind(replace(score, schema=own), *more), spend=spend)


@cache
def schema(n_rows=None, *, limit=4, more=""):
    if n_rows is None:
        return Schema.loads(f'rows = "private"\nrow_limit = {limit}\n{COLUMNS}{more}')
    return Schema.loads(f'rows = "public"\nn_rows = {n_rows}\n{COLUMNS}{more}')


def table(records):
    return pl.DataFrame(list(records), schema={"a": pl.Int64, "b": pl.Int64}, orient="row")


ENGINES = {}


def engine_of(records, known):
    """Rows under a schema, which the gate tells from its equals; coded once."""
    key = tuple(records), id(known)
    if key not in ENGINES:
        ENGINES[key] = Table(table(records), known)  # and it keeps the schema
    return ENGINES[key]


def coded(records, known):
    return engine_of(records, known).code_rows().expose()


class Listed:
    """Simulated sets that are simply listed: θ is the place in the list."""

    columns = ("a", "b")

    def __init__(self, *sets):
        self.sets = [np.array(one) for one in sets]
        self.n_records = len(self.sets[0])

    def codes(self, theta):
        rows = self.sets[int(theta[0])]
        return rows[:, 0], rows[:, 1]


def score_of(known, simulated, trees, **how):
    points = np.arange(len(simulated.sets), dtype=np.float64)[:, None]
    return PropensityTrees(known, (simulated,), points, trees, **how)


def slow_sse(original, synthetic, depth):
    """The smallest Σ ab/(a + b) over all trees of a depth, by trying all of them."""
    a, b = len(synthetic), len(original)
    best = a * b / (a + b) if a + b else 0.0
    if depth == 0 or best == 0:
        return best
    for j in (0, 1):
        for cut in sorted({record[j] for record in (*original, *synthetic)}):
            sides = [
                [[r for r in rows if (r[j] <= cut) == left] for rows in (original, synthetic)]
                for left in (True, False)
            ]
            if all(map(any, sides)):
                best = min(best, sum(slow_sse(*side, depth - 1) for side in sides))
    return best


CLASSES = [(Stumps(), 1), (DepthTwo(), 2), (GridDepthTwo(GRID), 2), (GridDepthThree(GRID), 3)]


@pytest.mark.parametrize(("trees", "depth"), CLASSES, ids=lambda one: type(one).__name__)
def test_the_score_is_the_best_tree_of_rows_in_domain(trees, depth):
    rng = np.random.default_rng(depth)
    sets = [[CELLS[k] for k in rng.integers(0, 6, 5)] for _ in range(6)]
    rows = [CELLS[k] for k in rng.integers(0, 6, 7)]
    score = score_of(schema(9), Listed(*sets), trees)
    found = score.evaluate(coded([*rows, (7, 1), (0, 9)], schema(9)))
    assert found == pytest.approx([slow_sse(rows, one, depth) for one in sets])


@pytest.mark.parametrize("trees", [GridDepthTwo(GRID), Stumps()], ids=["counts", "rows"])
def test_copies_are_a_set_with_each_record_repeated(trees):
    rows, one = [CELLS[k] for k in (0, 1, 1, 4, 5)], [CELLS[k] for k in (0, 3, 5)]
    found = coded(rows, schema(5))
    often = score_of(schema(5), Listed(one), trees, copies=3)
    assert often.evaluate(found) == score_of(schema(5), Listed(one * 3), trees).evaluate(found)
    assert often.sensitivity("replace") == Fraction(9, 10)


def test_a_mean_over_sets_is_one():
    rows = coded([CELLS[0], CELLS[5]], schema(2))
    first, second = [CELLS[0], CELLS[1]], [CELLS[5], CELLS[5]]
    both = PropensityTrees(
        schema(2), (Listed(first), Listed(second)), np.zeros((1, 1)), GridDepthTwo(GRID)
    )
    each = score_of(schema(2), Listed(first, second), GridDepthTwo(GRID)).evaluate(rows)
    assert both.evaluate(rows) == pytest.approx([each.mean()])


def neighbours_of(records, relation):
    """All tables that differ in one record; None stands for one out of domain."""
    outside = (7, 0)
    for record in (*CELLS, outside):
        if relation == "add_remove":
            yield (*records, record)
        else:
            for i in range(len(records)):
                yield (*records[:i], *records[i + 1 :], record)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(
    "trees", [Stumps(), GridDepthTwo(GRID), GridDepthThree(GRID)], ids=lambda t: type(t).__name__
)
def test_the_sensitivity_is_what_is_stated_and_is_attained(trees, relation):
    """All tables of up to three records, against all sets of two: 21 of them."""
    sets = list(itertools.combinations_with_replacement(CELLS, 2))
    score = score_of(schema(), Listed(*sets), trees)
    cache = {}

    def values(records):
        key = tuple(sorted(records))
        if key not in cache:
            cache[key] = score.evaluate(coded(key, schema()))
        return cache[key]

    moves = [
        values(other) - values(records)
        for n in range(3)
        for records in itertools.combinations_with_replacement(CELLS, n)
        for other in neighbours_of(records, relation)
    ]
    assert np.abs(moves).max() == pytest.approx(float(score.sensitivity(relation)))
    assert score.monotone == (np.min(moves) >= 0) or relation == "replace"


def test_greedy_trees_are_for_the_published_form_only():
    simulated = Listed([CELLS[0]])
    with pytest.raises(MethodError, match="depend on the rows"):
        score_of(schema(3), simulated, Greedy())
    published = score_of(schema(3), simulated, Greedy(), mode="paper")
    assert (published.sensitivity("replace"), published.monotone) == (2, False)
    with pytest.raises(MethodError, match="public number of rows"):
        published.leaks("add_remove")
    assert published.leaks("replace") == (GREEDY,)


def test_sets_of_a_candidate_are_alike():
    with pytest.raises(MethodError, match="same columns and size"):
        PropensityTrees(
            schema(3), (Listed([(0, 0)]), Listed([(0, 0)] * 2)), np.zeros((1, 1)), Stumps()
        )
    with pytest.raises(MethodError, match="once at least"):
        score_of(schema(3), Listed([(0, 0)]), Stumps(), copies=0)


def test_rows_out_of_domain_and_impossible_rows_are_left_out_one_by_one():
    rule = "[[forbidden]]\nwhere = { a = 2, b = 1 }\nreviewed = true\n"
    known = schema(6, more=rule)
    rows = coded([(0, 0), (2, 1), (9, 1), (1, 1), (0, 5), (2, 0)], known)
    kept = known_rows(rows, known, ("b", "a"))
    assert [one.tolist() for one in kept] == [[0, 1, 0], [0, 1, 2]]


# --- the gate -----------------------------------------------------------------------------------


def gate_for(records, known):
    return open_gate(engine_of(records, known), Budget.of(1), SecureRandomness())


def test_a_choice_is_paid_for_published_and_says_what_it_rests_on():
    known = schema(3)
    gate = gate_for([(0, 0), (1, 1), (2, 1)], known)
    score = score_of(known, Listed([(0, 0)] * 3, [(1, 1)] * 3), GridDepthTwo(GRID))
    found = asked(gate, ListedParameters, score, ["place"], spend=Fraction(1, 4))
    assert found.value == ChosenParameters(("a", "b"), ("place",), found.value.values)
    assert found.value.values[0] in (0.0, 1.0)
    assert gate.measured == (found,)
    (entry,) = gate.ledger
    assert (entry.spent, entry.cells) == (Fraction(1, 4), 1)
    assert entry.query == "parameters over a × b: one of 2 by all trees of depth 2 on a public grid"
    assert entry.sensitivity == "score: s/(s + 1) of s simulated records"
    assert gate.guarantee().kind == "pure"
    with pytest.raises(InsufficientBudgetError):
        asked(gate, ListedParameters, score, ["place"], spend=Fraction(1))


def test_a_score_for_other_bins_and_nameless_parameters_are_refused():
    known = schema(3)
    gate = gate_for([(0, 0)] * 3, known)
    equal = known.model_copy()  # and yet another one
    score = score_of(equal, Listed([(0, 0)]), Stumps())
    with pytest.raises(MethodError, match="another schema"):
        asked(gate, ListedParameters, score, ["place"], spend=Fraction(1))
    with pytest.raises(MethodError, match="name"):
        asked(
            gate,
            ListedParameters,
            score_of(known, Listed([(0, 0)]), Stumps()),
            ["x", "y"],
            spend=Fraction(1),
        )
    empty = PropensityTrees(known, (Listed([(0, 0)]),), np.zeros((0, 1)), Stumps())
    with pytest.raises(MethodError, match="no candidate"):
        asked(gate, ListedParameters, empty, ["x"], spend=Fraction(1))
    assert gate.ledger == ()


def test_the_published_form_is_nominal():
    known = schema(3)
    gate = gate_for([(0, 0), (1, 1), (2, 1)], known)
    score = score_of(known, Listed([(0, 0)] * 3), Greedy(depth=2), mode="paper")
    asked(gate, ListedParameters, score, ["place"], spend=Fraction(1))
    promise = gate.guarantee()
    assert promise.kind == "conditional"
    assert promise.leaks == (GREEDY,)
    assert "nominal" in promise.statement


# --- the whole method, by its exact law ---------------------------------------------------------


class Forced:
    """Stands in place of `select`: takes prescribed candidates, notes how probable each was."""

    def __init__(self, path, factor):
        self.path, self.log_probability, self.factor = iter(path), 0.0, factor

    def __call__(self, scores, *, epsilon, sensitivity, monotone, feasible, source):
        rate = self.factor * selection_rate(epsilon, monotone=monotone)
        weights = -float(rate) * lattice_gaps(scores, sensitivity)
        place = next(self.path)
        self.log_probability += weights[place] - np.logaddexp.reduce(weights)
        return place


def fitted(gate, method, path, factor=Fraction(1)):
    """Fit by the prescribed choices."""
    forced = Forced(path, factor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "select", forced)
        method.fit(gate, Fraction(1), 10)
    return forced


CANDIDATES = 3
METHOD = {"candidates": CANDIDATES, "records": 8, "trees": "depth-2"}


def distribution(records, known, options, n_stages, factor=Fraction(1)):
    """Log-probability of every sequence of choices."""
    found, engine = {}, engine_of(records, known)
    for path in itertools.product(range(CANDIDATES), repeat=n_stages):
        gate = open_gate(engine, Budget.of(1), SecureRandomness())
        forced = fitted(gate, Pmse(**options), path, factor)
        assert gate.remaining == 0
        found[path] = forced.log_probability
    assert np.logaddexp.reduce(list(found.values())) == pytest.approx(0, abs=1e-9)
    return np.array([found[path] for path in sorted(found)])


def realised(relation, options, n_stages, factor=Fraction(1)):
    """The largest |log ratio| between neighbours, over tables of the extreme cells and one more."""
    corners = [(0, 0), (2, 1), (0, 1)]
    known = schema(2) if relation == "replace" else schema()
    cache = {}

    def law_of(records):
        key = tuple(sorted(records))
        if key not in cache:
            cache[key] = distribution(key, known, options, n_stages, factor)
        return cache[key]

    sizes = (2,) if relation == "replace" else (0, 1)
    worst = 0.0
    for n in sizes:
        for records in itertools.combinations_with_replacement(corners, n):
            for i, new in itertools.product(range(max(n, 1)), (*corners, (7, 0))):
                if relation == "replace":
                    other = (*records[:i], *records[i + 1 :], new)
                else:
                    other = (*records, new)
                worst = max(worst, np.abs(law_of(records) - law_of(other)).max())
    return worst


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(
    ("search", "n_stages"), [("together", 1), ("columns", 2)], ids=["together", "columns"]
)
@pytest.mark.nightly(diagonal=True)
def test_the_whole_method_spends_at_most_epsilon(relation, search, n_stages):
    """ε = 1, the method's own fit, every sequence of choices, exact probabilities."""
    spent = realised(relation, {**METHOD, "search": search}, n_stages)
    assert 0.2 < spent <= 1


def test_the_audit_sees_a_mechanism_that_spends_too_much():
    """With four times the rate, ε = 1 is exceeded; otherwise the audit could not fail."""
    options = {**METHOD, "search": "together"}
    assert realised("add_remove", options, 1, factor=Fraction(4)) > 1


def test_the_forced_law_is_that_of_the_gate():
    """1,000 fits, by day 200: frequencies are within 4.5 standard errors but for one in 30,000."""
    engine = Table(table([(0, 0), (0, 1), (2, 1)]), schema(3))
    method = Pmse(**METHOD, search="together")
    expected, draws, source = {}, 1_000 if NIGHT else 200, SeededRandomness(5)
    for k in range(CANDIDATES):
        gate = open_gate(engine, Budget.of(1), source)
        forced = fitted(gate, method, [k])
        expected[gate.measured[0].value.values] = np.exp(forced.log_probability)
    counts = Counter()
    for _ in range(draws):
        gate = open_gate(engine, Budget.of(1), source)
        method.fit(gate, Fraction(1), 10)
        counts[gate.measured[0].value.values] += 1
    assert set(counts) <= set(expected)
    for values, p in expected.items():
        assert abs(counts[values] / draws - p) < 4.5 * np.sqrt(p * (1 - p) / draws)
    assert max(expected.values()) > 1.15 * min(expected.values())
