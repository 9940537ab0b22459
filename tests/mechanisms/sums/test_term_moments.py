"""Moments of terms: what one record can change, by enumeration, exact sums, and noise."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.features.scores import Weighting, contrasts
from understudy.features.terms import Factor, Term, TermMap, close_terms
from understudy.mechanisms.second_moments import ONE, Sensitivity, TermMoments, stack_sums
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

COLUMNS = """
[columns.x]
kind = 'integer'
lower = 1
upper = 4
missing = [9]
reviewed = true
[columns.v]
kind = 'continuous'
lower = 0.0
upper = 2.0
reviewed = true
[columns.y]
kind = 'categorical'
levels = ['a', 'b', 'c']
reviewed = true
[columns.w]
kind = 'continuous'
lower = 0.0
upper = 8.0
reviewed = true
"""
DECLARED = {
    "square": ("x**2",),
    "log": ("log(x)", "v"),
    "product": ("x:v", "v:y"),
    "all": ("x**2:y", "log(v + 1)"),
}
XS, VS, YS = [1, 2, 7, 9], [0.0, 0.6, 5.0], ["a", "b", "c", "?"]


def schema_of(neighbours="add_remove"):
    rows = "rows = 'public'\nn_rows = 1\n" if neighbours == "replace" else ""
    return Schema.loads(rows + COLUMNS)


def every_record():
    """Of weights one that is cut off, and one that is not."""
    return list(itertools.product(XS, VS, YS, [3.0, 8.0]))


def frame_of(records):
    types = {"x": pl.Int64, "v": pl.Float64, "y": str, "w": pl.Float64}
    return pl.DataFrame(records, schema=types, orient="row")


def terms_of(name):
    return tuple(map(str, close_terms(map(Term.read, DECLARED[name]))))


def exact_sums(records, terms, **about):
    scores = TermMap.of(schema_of(), terms, **about)
    exact = Table(frame_of(records), schema_of()).score_products(scores).expose()
    return stack_sums(exact, scores) / ONE, scores


def slow_scores(record, term):
    """The vector of one record, the slow and obvious way; None if a value is lacking."""
    x, v, y, _ = record
    known = {"x": x != 9, "v": True, "y": y in ("a", "b", "c")}
    if not all(known[name] for name in Term.read(term).columns):
        return None
    own = np.ones(1)
    for factor in Term.read(term).factors:
        if factor.column == "y":
            own = np.kron(own, contrasts(3)["abc".index(y)])
            continue
        number, low, high = (x, 1, 4) if factor.column == "x" else (v, 0.0, 2.0)
        if factor.log:
            number, low, high = (np.log(k + factor.shift) for k in (number, low, high))
        z = 2 * (min(number, high) - low) / (high - low) - 1  # beyond its bound it is cut off
        own = own * np.cos(factor.power * np.arccos(np.clip(z, -1, 1)))
    return own


def slow_sums(record, terms, scores):
    blocks = [slow_scores(record, term) for term in terms]
    if any(own is None for own in blocks):
        return np.zeros(scores.size)
    q, found = float(scores.weight), []
    found += [q] + [q * number for own in blocks for number in own]
    z = np.concatenate(blocks)
    found += [z[i] * z[j] for i, j in zip(*scores.pairs, strict=True)]
    found += [float(scores.of_squares) * (2 * z[k] ** 2 - 1) for k in scores.numbers]
    return np.array(found)


LIGHT = [own for own in every_record() if own[-1] == 3.0]
HEAVY = [own for own in every_record() if own[-1] == 8.0]


def told_apart(terms):
    """Records of every combination of values in the columns of the terms."""
    asked = {name for term in terms for name in Term.read(term).columns}
    first = dict(zip("xvyw", LIGHT[0], strict=True))
    return [
        one
        for one in LIGHT
        if all(
            value == first[name] or name in asked for name, value in zip("xvyw", one, strict=True)
        )
    ]


@cache
def sums_of_each(terms):
    """What every record adds, in which the weight plays no part."""
    return np.array([exact_sums([one], terms)[0] for one in told_apart(terms)])


@pytest.mark.parametrize("name", DECLARED)
def test_one_record_changes_no_more_than_is_stated(name):
    """Every record: added, removed or put in place of another."""
    terms = terms_of(name)
    each = sums_of_each(terms)
    scores = TermMap.of(schema_of(), terms)
    slow = np.array([slow_sums(one, terms, scores) for one in told_apart(terms)])
    assert each == pytest.approx(slow, abs=4e-4)
    added = Sensitivity.of(schema_of(), scores)
    assert added.numbers == each.shape[1]
    squares, sizes = (each**2).sum(axis=1).max(), np.abs(each).sum(axis=1).max()
    assert squares <= float(added.squared_l2) * 1.001 <= 1.3 * squares
    assert sizes <= float(added.l1) * 1.001 <= 1.3 * sizes
    replaced = Sensitivity.of(schema_of("replace"), scores)
    gram = each @ each.T
    largest = (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram).max()
    assert largest <= float(replaced.squared_l2) * 1.001 <= 2 * largest


@pytest.mark.parametrize(
    ("among", "counts"),
    [
        (({"y": (0, 2)},), lambda x, y: y in "ac"),
        (({"y": (0,)}, {"x": (1, 2)}), lambda x, y: y == "a" or x in (2, 3)),
    ],
)
def test_factors_and_boxes_make_no_record_count_for_more(among, counts):
    """A record in both of two boxes counts once."""
    terms, weighting = terms_of("all"), Weighting("w", 4.0, 1)
    about = {"weighting": weighting, "among": among}
    records = [*HEAVY, *LIGHT[::5]]
    each = np.array([exact_sums([one], terms, **about)[0] for one in records])
    scores = TermMap.of(schema_of(), terms, **about)
    stated = Sensitivity.of(schema_of("replace"), scores)
    gram = each @ each.T
    assert (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram).max() <= stated.squared_l2
    slow = [
        min(one[3], 4.0) / 4 * counts(one[0], one[2]) * slow_sums(one, terms, scores)
        for one in records
    ]
    assert each == pytest.approx(np.array(slow), abs=4e-4)


def test_terms_by_group_change_no_more_than_is_stated():
    """Every record in each of two groups: added, removed or put in place of another."""
    terms, levels = terms_of("product"), "kind = 'categorical'\nlevels = [1, 2]\nreviewed = true\n"
    schema, public = (
        Schema.loads(schema_of(relation).dumps() + f"[columns.g]\n{levels}")
        for relation in ("add_remove", "replace")
    )
    scores = TermMap.of(schema, terms, weighting=Weighting("w", 4.0, 1, "g"))

    def added_by(record, group):
        frame = frame_of([record]).with_columns(g=pl.lit(group))
        blocks = Table(frame, schema).grouped_products(scores).expose()
        return np.concatenate([stack_sums(one, scores) for one in blocks]) / ONE

    records = [*HEAVY, *LIGHT[::8]]
    first = np.array([added_by(one, 1) for one in records])
    second = np.array([added_by(one, 2) for one in records[::6]])
    assert not first[:, scores.size :].any()
    assert not second[:, : scores.size].any()
    assert first[::6, : scores.size] == pytest.approx(second[:, scores.size :])
    each = np.vstack([first, np.roll(first, scores.size, axis=1)])
    gram, squares, sizes = each @ each.T, (each**2).sum(axis=1), np.abs(each).sum(axis=1)
    apart = (squares[:, None] + squares - 2 * gram).max()
    far = max(np.abs(one - each).sum(axis=1).max() for one in first)
    added, replaced = Sensitivity.of(schema, scores), Sensitivity.of(public, scores)
    for stated, changed, size in (added, squares.max(), sizes.max()), (replaced, apart, far):
        assert stated.numbers == each.shape[1] == 2 * scores.size
        assert 0.7 * float(stated.squared_l2) < changed <= float(stated.squared_l2) * 1.001
        assert 0.7 * float(stated.l1) < size <= float(stated.l1) * 1.001
    assert float(added.squared_l2) * 1.3 < apart


def test_sums_of_many_records_are_those_of_each():
    chosen = np.random.default_rng(3).integers(0, len(LIGHT), 1_300)
    terms = terms_of("all")
    found, _ = exact_sums([LIGHT[k] for k in chosen], terms)
    assert found == pytest.approx(sums_of_each(terms)[chosen].sum(axis=0), abs=1e-5)


def test_numbers_are_cut_off_at_limits_before_they_become_terms():
    terms = terms_of("square")
    narrow, scores = exact_sums([(4, 1.0, "a", 1.0)], terms, limits={"x": (1.0, 3.0)})
    at_end, _ = exact_sums([(3, 1.0, "a", 1.0)], terms, limits={"x": (1.0, 3.0)})
    assert narrow.tolist() == at_end.tolist()
    assert scores.limits["x"] == (1.0, 3.0)


def test_noise_has_the_stated_scale():
    frame, terms = frame_of([(2, 1.0, "b", 1.0)] * 50), terms_of("all")
    budget = Budget.of(1, "1e-6", "gdp")
    exact, _ = exact_sums([(2, 1.0, "b", 1.0)] * 50, terms)
    gate = open_gate(Table(frame, schema_of()), budget, SeededRandomness(7))
    z = []
    for _ in range(40):
        released = gate.ask(TermMoments(terms), spend=budget.amount / 40)
        z.append((released.value.values - exact) / released.noise.stddev)
    z = np.concatenate(z)
    # At least 1,500 numbers: the mean of z² has sd .037 at most; false alarm below 1e-4.
    assert len(z) >= 1_500
    assert abs(np.mean(z**2) - 1) < 0.15
    assert abs(np.mean(z**2) / 1.5 - 1) > 0.15  # another scale is noticed


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (("log(v)",), "declare one above 0, or take log"),
        (("x**2",), "together with all that they are made of"),
        (("x", "x"), "once each"),
        (("y**2", "y"), "has levels"),
        (("z",), "no column 'z'"),
        (("x)",), "Expected a term"),
        (tuple(str(Factor("x", power=k)) for k in range(1, 6)), "Powers in terms are 4 at most"),
    ],
)
def test_what_is_no_term_is_refused_before_anything_is_paid(terms, said):
    gate = open_gate(
        Table(frame_of([(2, 1.0, "b", 1.0)]), schema_of()), Budget.of(1), SeededRandomness(1)
    )
    with pytest.raises(MethodError, match=said):
        gate.ask(TermMoments(terms), spend=Fraction(1, 2))
    assert not gate.ledger


def test_a_term_is_read_as_it_is_written():
    for text in ("age", "log(`net income` + 0.5)**2", "`a:b`:age**3", "log(x - 2)"):
        assert str(Term.read(text)) == text
