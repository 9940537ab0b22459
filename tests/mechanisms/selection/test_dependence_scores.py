"""The scores of PrivBayes: their values, and their sensitivities by enumerating neighbours."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from night import NIGHT
from understudy.data.base import NO_PREMISES
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms import selection_scores
from understudy.mechanisms.selection import CandidateColumns
from understudy.mechanisms.selection_scores import (
    DistanceFromDependence,
    DistanceFromIndependence,
    MutualInformation,
)
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

SCORES = (MutualInformation, DistanceFromIndependence, DistanceFromDependence)


def schema_of(sizes, rows='rows = "private"\nrow_limit = 40'):
    columns = [
        f'[columns.{name}]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        "reviewed = true\n"
        for name, size in zip("abcdefgh", sizes, strict=False)
    ]
    return Schema.loads("\n".join([rows, *columns]))


def public(n):
    return f'rows = "public"\nn_rows = {n}'


# --- values ---------------------------------------------------------------------------------------


def slow_information(counts):
    p = counts / max(counts.sum(), 1)
    product_ = p.sum(1, keepdims=True) * p.sum(0, keepdims=True)
    some = p > 0
    return counts.sum() * (p[some] * np.log2(p[some] / product_[some])).sum()


def slow_independence(counts):
    n = max(counts.sum(), 1)
    expected = np.outer(counts.sum(1) / n, counts.sum(0))
    return np.abs(counts - expected).sum() / 2


def slow_dependence(counts):
    """Over all assignments of one of two levels to each parent combination."""
    n, width = counts.sum(), counts.shape[1]
    best = -np.inf
    for level in product((0, 1), repeat=width):
        agree = [counts[k, [j for j in range(width) if level[j] == k]].sum() for k in (0, 1)]
        best = max(best, -sum(max(0, n / 2 - k) for k in agree))
    return best


@pytest.mark.parametrize("top", [0, 1, 2, 9, 4000])
def test_each_statistic_is_the_slow_obvious_one(top):
    rng = np.random.default_rng(top)
    for _ in range(40):
        counts = rng.integers(0, top + 1, (rng.integers(1, 5), rng.integers(1, 6)))
        counts *= rng.random(counts.shape) < 0.7
        assert selection_scores.mutual_information(counts) == pytest.approx(
            slow_information(counts), abs=1e-3
        )
        assert selection_scores.distance_from_independence(counts) == pytest.approx(
            slow_independence(counts), abs=1e-9
        )
        two = counts[np.arange(2) % len(counts)]
        assert selection_scores.distance_from_dependence(two) == slow_dependence(two)


def test_the_distance_from_independence_of_billions_of_records():
    counts = np.array([[3, 1], [0, 4]]) * 2**40
    assert selection_scores.distance_from_independence(counts) == slow_independence(counts)


def test_scores_are_of_the_column_by_all_combinations_of_its_parents():
    """c is a copy of "a differs from b", which neither of them shows alone."""
    rows = [(a, b, str(int(a != b))) for a, b in product("01", repeat=2)] * 5
    table = Table(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), schema_of((2, 2, 2)))
    candidates = (("c", "a"), ("c", "a", "b"), ("b", "c", "a"), ("c",))
    expected = ([0, 20, 20, 0], [0, 10, 10, 0], [-10, 0, 0, -10])
    for kind, values in zip(SCORES, expected, strict=True):
        score = kind(schema_of((2, 2, 2)), candidates)
        found = score.evaluate(table.count(score.queries()).expose())
        assert found == pytest.approx(values, abs=1e-3)


# --- sensitivities --------------------------------------------------------------------------------


@cache
def tables(n, cells):
    """All tables of n records, as tuples."""
    if cells == 1:
        return [(n,)]
    return [(k, *rest) for k in range(n + 1) for rest in tables(n - k, cells - 1)]


def changes(score, shape, n, relation):
    """Changes of a score over all pairs of neighbours, the smaller table with n records."""
    cells = shape[0] * shape[1]

    def value(table):
        return score.score(np.array(table).reshape(shape))

    more = {table: value(table) for table in tables(n + (relation == "add_remove"), cells)}
    for table in tables(n, cells):
        mine = value(table)
        leaving = [k for k in range(cells) if table[k]] if relation == "replace" else [None]
        for out, into in product(leaving, range(cells)):
            other = list(table)
            other[into] += 1
            if out is not None:
                other[out] -= 1
            yield more[tuple(other)] - mine


SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3), (1, 3)]
# F is for columns of two states.
CHECKED = [(k, s) for k in SCORES for s in SHAPES if s[0] <= 2 or k is not DistanceFromDependence]


@pytest.mark.parametrize(("kind", "shape"), CHECKED)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_neighbours_differ_by_more_than_the_sensitivity(kind, shape, relation):
    for n in range((6 if shape == (3, 3) else 8) - (not NIGHT)):
        largest = n + (relation == "add_remove")
        rows = public(n) if relation == "replace" else f"row_limit = {max(largest, 1)}"
        # The three parent combinations stand for a part of those of two binary parents under F.
        sizes = shape if kind is not DistanceFromDependence else (2, 2)
        score = kind(schema_of(sizes, rows), (("a", "b"),))
        found = [abs(change) for change in changes(score, shape, n, relation)]
        assert max(found, default=0) <= score.sensitivity(relation)


def attained(kind, shape, n, relation, rows):
    score = kind(schema_of(shape, rows), (("a", "b"),))
    return max(abs(c) for c in changes(score, shape, n, relation)), score.sensitivity(relation)


def test_the_sensitivities_are_attained():
    """So a smaller Δ would be wrong. That of R under replace: next test."""
    for shape, n in [((2, 2), 7), ((3, 3), 5)]:
        found, bound = attained(MutualInformation, shape, n, "replace", public(n))
        assert found == pytest.approx(float(bound), abs=5e-3)
    found, bound = attained(MutualInformation, (2, 2), 7, "add_remove", "row_limit = 8")
    assert found == pytest.approx(float(bound), abs=5e-3)
    for n in (1, 4, 7):
        found, bound = attained(DistanceFromIndependence, (2, 2), n, "add_remove", "row_limit = 9")
        assert (found, bound) == (pytest.approx(2 * n / (n + 1)), 2)
    for relation, rows in [("replace", public(4)), ("add_remove", "row_limit = 5")]:
        assert attained(DistanceFromDependence, (2, 2), 4, relation, rows) == (1, 1)


def test_replacing_a_record_moves_r_by_more_than_two():
    """The record goes from (x, π), of levels that are rare and go with all others, to levels of
    its own: all four terms of the proof count."""
    before = np.array([[0, 1, 12], [0, 0, 0], [0, 12, 60]])  # columns π′, π, σ; rows x, x′, y
    after = before.copy()
    after[0, 1] -= 1
    after[1, 0] += 1
    score = DistanceFromIndependence(schema_of((3, 3), public(85)), (("a", "b"),))
    change = score.score(after) - score.score(before)
    assert change == pytest.approx(2.6823, abs=1e-4)
    assert change <= 3 - 2 / 85
    assert score.sensitivity("replace") == 3
    assert score.sensitivity("add_remove") == 2
    wide = schema_of((2, 9, 2), public(85))
    for names, expected in [(("b", "a"), 2), (("a", "b"), 2), (("b", "a", "c"), 3), (("b",), 2)]:
        assert DistanceFromIndependence(wide, (names,)).sensitivity("replace") == expected
    assert DistanceFromIndependence(wide, (("b", "a"), ("b", "a", "c"))).sensitivity("replace") == 3


@pytest.mark.parametrize(("shape", "limit"), [((2, 2), 3), ((3, 3), 3), ((2, 3), 2)])
def test_rows_beyond_the_limit_do_not_raise_the_sensitivity_of_mutual_information(shape, limit):
    score = MutualInformation(schema_of(shape, f"row_limit = {limit}"), (("a", "b"),))
    bound = float(score.sensitivity("add_remove"))
    found = [abs(c) for n in range(6) for c in changes(score, shape, n, "add_remove")]
    assert max(found) <= bound
    far = np.diag([10**6, 10**6])
    assert score.score(far) <= limit  # without the limit, 2·10⁶ bits


def test_the_information_of_few_records_has_a_positive_sensitivity():
    for n in (0, 1, 2):
        assert 0 < selection_scores.information_sensitivity(n, binary=True) <= 2.01


RECORDS = list(product(["0", "1", "2", "?"], ["0", "1", "?"]))


@cache
def engine(some, size, rows):
    frame = pl.DataFrame(some, schema={"a": pl.String, "b": pl.String}, orient="row")
    return Table(frame, schema_of((size, 2), rows))


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_records_out_of_domain_are_counted_like_others(kind, relation):
    """All tables of two records, some out of domain, through the engine's coding."""
    records, size, n = [one for one in RECORDS if one[0] != "2"], 2, 2
    rows = public(n) if relation == "replace" else f"row_limit = {n}"
    schema = schema_of((size, 2), rows)
    score = kind(schema, (("a", "b"), ("b", "a"), ("a",), ("b",)))

    @cache
    def values(some):
        given = public(len(some)) if relation == "replace" else rows
        return score.evaluate(engine(some, size, given).count(score.queries()).expose())

    largest = 0.0
    for some in combinations_with_replacement(records, n):
        for rest in (some[1:], some[:1]):
            added = [()] if relation == "add_remove" else [(one,) for one in records]
            for one in added:
                ordered = tuple(sorted(one + rest, key=records.index))
                largest = max(largest, np.abs(values(some) - values(ordered)).max())
    assert 0 < largest <= score.sensitivity(relation)


# --- at the gate ----------------------------------------------------------------------------------


class Counting:
    """An engine that keeps what was asked of it."""

    premises, has_records = NO_PREMISES, True

    def __init__(self, table):
        self.table, self.asked = table, []
        self.schema = table.schema

    def count(self, queries):
        self.asked += queries
        return self.table.count(queries)

    def recode(self, schema):
        return Counting(self.table.recode(schema))


def gate_of(sizes, n=30, epsilon="100"):
    rng = np.random.default_rng(3)
    a = rng.integers(0, sizes[0], n)
    columns = [a % size if k % 2 == 0 else rng.integers(0, size, n) for k, size in enumerate(sizes)]
    frame = pl.DataFrame({x: c.astype(str) for x, c in zip("abcdefgh", columns, strict=False)})
    engine = Counting(Table(frame, schema_of(sizes, public(n))))
    return open_gate(engine, Budget.of(epsilon, "0"), SeededRandomness(1)), engine


@pytest.mark.parametrize("kind", SCORES[:2])
def test_the_gate_chooses_a_dependent_column_and_counts_each_table_once(kind):
    gate, engine = gate_of((3, 3, 3))
    candidates = (("b", "a"), ("c", "a"))
    chosen = gate.ask(
        CandidateColumns(candidates, kind(gate.schema, candidates)), spend=Fraction(40)
    )
    assert chosen.value == ("c", "a")
    assert engine.asked == [(1, 0), (2, 0)]
    more = (*candidates, ("b", "c", "a"))
    gate.ask(CandidateColumns(more, kind(gate.schema, more)), spend=Fraction(40))
    assert engine.asked == [(1, 0), (2, 0), (1, 2, 0)]
    assert [entry.query for entry in gate.ledger] == [
        f"one of {n} candidates by {kind.title}" for n in (2, 3)
    ]


def test_different_scores_of_one_table_are_not_mistaken_for_each_other():
    gate, asked = gate_of((3, 3, 3))
    known, engine = {}, Counting(asked.table)
    for kind in (*SCORES[:2], SCORES[0]):
        score = kind(gate.schema, (("c", "a"), ("b", "a")))
        fresh = score.evaluate(engine.table.count(score.queries()).expose())
        assert score.evaluate_new(engine, known).tolist() == fresh.tolist()
    assert len(known) == len(engine.asked) == 4


def test_large_questions_are_asked_in_parts(monkeypatch):
    gate, engine = gate_of((3, 3, 3, 3))
    monkeypatch.setattr(selection_scores, "_BATCH_DEPENDENCE_CELLS", 40)
    asked = []
    monkeypatch.setattr(engine, "count", lambda q: asked.append(q) or engine.table.count(q))
    candidates = (("b", "a"), ("c", "a"), ("d", "a"), ("b", "c", "d"))
    score = DistanceFromIndependence(gate.schema, candidates)
    gate.ask(CandidateColumns(candidates, score), spend=Fraction(1))
    assert [len(part) for part in asked] == [2, 1, 1]


def test_a_score_of_another_schema_is_refused_before_anything_is_spent():
    """It could claim fewer levels or rows than there are, and so a smaller sensitivity."""
    gate, engine = gate_of((3, 3, 3))
    other = MutualInformation(schema_of((2, 2, 2), public(2)), (("a", "b"),))
    with pytest.raises(MethodError, match="another schema"):
        gate.ask(CandidateColumns([("a", "b")], other), spend=Fraction(1))
    assert not gate.ledger
    assert not engine.asked


def test_scores_without_a_proof_for_the_schema_are_refused():
    with pytest.raises(MethodError, match="score=r"):
        MutualInformation(schema_of((2, 2), ""), (("a", "b"),))
    with pytest.raises(MethodError, match="two states"):
        DistanceFromDependence(schema_of((2, 3)), (("a", "b"),))
    assert DistanceFromIndependence(schema_of((2, 3), ""), ()).sensitivity("add_remove") == 2
