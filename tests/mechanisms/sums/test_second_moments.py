"""Second moments of scores: what one record can change, by enumeration, and how much noise."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, MethodError
from understudy.features.scores import (
    BINS,
    MANY,
    MOST_BINS,
    MOST_SCORES,
    FeatureMap,
    contrasts,
    n_scores,
)
from understudy.mechanisms.second_moments import (
    ONE,
    SecondMoments,
    Sensitivity,
    product_noise,
    stack_sums,
)
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

NUMBER = "kind = 'integer'\nlower = 0\nupper = 2\nreviewed = true\n"
MIXED = NUMBER + "missing = [9]\n"
TWICE = NUMBER + "missing = [8, 9]\n"
LEVELS = "kind = 'categorical'\nlevels = ['a', 'b', 'c']\nreviewed = true\n"
TWO = "kind = 'categorical'\nlevels = ['a', 'b']\nreviewed = true\n"
CODED = TWO + "missing = ['c']\n"
VALUES = {
    NUMBER: [0, 1, 2, 7.5],
    MIXED: [0, 1, 2, 9, 7.5],
    TWICE: [0, 1, 2, 8, 9],
    LEVELS: ["a", "b", "c", "?"],
    TWO: ["a", "b", "?"],
    CODED: ["a", "b", "c"],
}
NAMES = {NUMBER: "number", MIXED: "mixed", TWICE: "twice", LEVELS: "abc", TWO: "ab", CODED: "ab?"}


@cache
def schema_of(columns, neighbours="add_remove", n_rows=1):
    rows = f"rows = 'public'\nn_rows = {n_rows}\n" if neighbours == "replace" else ""
    parts = [f"[columns.x{k}]\n{text}" for k, text in enumerate(columns)]
    return Schema.loads(rows + "".join(parts))


def codes_of(text):
    return {MIXED: [9], TWICE: [8, 9], CODED: ["c"]}.get(text, [])


def is_number(text):
    return text in (NUMBER, MIXED, TWICE)


def scores_of(text, value, pure):
    """Scores of one value of a column: the slow and obvious way."""
    if not is_number(text):
        states = VALUES[text][:2] if text == TWO else ["a", "b", "c"]
        shown = np.array([float(value == state) for state in states])
        if pure and len(states) > 2:
            return shown
        return shown @ contrasts(len(states))
    inside = value in (0, 1, 2)
    codes = codes_of(text)
    beside = [float(value == code) for code in codes]
    each = np.array([value - 1.0 if inside else 0.0, *beside, float(not inside) - sum(beside)])
    if pure:
        return each
    bins = contrasts(3)[int(value)] if inside else np.zeros(2)
    return np.append(each, np.sqrt(BINS) * bins)


def moments(columns, record, pure=False, weight=None):
    """What one record adds, in records: sums, products of two columns, squares, squares by code."""
    if weight is None:
        weight = float(FeatureMap.of(schema_of(columns), names_of(columns), pure=pure).weight)
    blocks = [scores_of(text, value, pure) for text, value in zip(columns, record, strict=True)]
    products = [
        v * w for left, right in itertools.combinations(blocks, 2) for v in left for w in right
    ]
    squares, coded = [], []
    for c, text in enumerate(columns):
        if is_number(text):
            square = (blocks[c][0] ** 2 - 0.5) * (record[c] in (0, 1, 2))
            squares.append(2 * square)
            for d, other in enumerate(columns):
                coded += [square * (record[d] == code) for code in codes_of(other) if c != d]
    sums = weight * np.concatenate(blocks)
    return np.concatenate([sums, products, squares, coded])


def names_of(columns):
    return tuple(f"x{k}" for k in range(len(columns)))


CASES = [
    (NUMBER,),
    (LEVELS,),
    (MIXED,),
    (TWO,),
    (NUMBER, NUMBER),
    (NUMBER, LEVELS),
    (MIXED, LEVELS),
    (LEVELS, LEVELS),
    (MIXED, MIXED),
    (TWO, TWO),
    (TWO, CODED),
    (NUMBER, CODED),
    (NUMBER, NUMBER, NUMBER),
    (NUMBER, LEVELS, MIXED),
    (LEVELS, LEVELS, LEVELS),
    (MIXED, MIXED, LEVELS),
    (NUMBER, TWICE, CODED),
    (MIXED, MIXED, MIXED),
    (TWO, TWO, TWO, TWO),
    (NUMBER, CODED, CODED, CODED),
]


@pytest.mark.parametrize("pure", [False, True], ids=["squares", "sizes"])
@pytest.mark.parametrize("columns", CASES, ids=lambda texts: "-".join(NAMES[t] for t in texts))
def test_one_record_changes_no_more_and_attains_it(columns, pure):
    """Added records attain what noise goes by; replaced ones stay below, by a half at most."""
    schema = schema_of(columns)
    scores = FeatureMap.of(schema, schema.names, pure=pure)
    records = itertools.product(*(VALUES[c] for c in columns))
    each = np.array([moments(columns, record, pure) for record in records])
    added = Sensitivity.of(schema, scores)
    assert added.numbers == each.shape[1]
    sizes, squares = np.abs(each).sum(axis=1).max(), (each**2).sum(axis=1).max()
    assert sizes <= float(added.l1) * 1.001
    assert squares <= float(added.squared_l2) * 1.001
    if pure:
        assert sizes == pytest.approx(float(added.l1), rel=1e-3)
    else:
        assert squares == pytest.approx(float(added.squared_l2), rel=1e-3)
    replaced = Sensitivity.of(schema_of(columns, "replace"), scores)
    gram = each @ each.T
    norms = np.diag(gram)
    largest = (norms[:, None] + norms - 2 * gram).max()
    # Contrasts are rounded towards 0, to 2⁻¹⁵.
    assert largest <= float(replaced.squared_l2) * 1.001 <= 2 * largest
    assert replaced.l1 == 2 * added.l1


@pytest.mark.parametrize(
    "columns", [(MIXED,), (NUMBER, MIXED), (MIXED, LEVELS, MIXED), (CODED, TWO)]
)
def test_records_that_count_change_no_more_and_attain_it(columns):
    """Of records with a value of each column, how many there are is summed as well."""
    schema = schema_of(columns, "replace")
    scores = FeatureMap.of(schema, schema.names, schema.names)
    weight, inside = float(scores.weight), {LEVELS: "abc", TWO: "ab", CODED: "ab"}
    each = []
    for record in itertools.product(*(VALUES[c] for c in columns)):
        known = [
            value in inside.get(c, (0, 1, 2)) for value, c in zip(record, columns, strict=True)
        ]
        plain = [{MIXED: NUMBER, CODED: TWO}.get(c, c) for c in columns]
        each.append(np.append(weight, moments(plain, record, weight=weight)) * all(known))
    each = np.array(each)
    added = Sensitivity.of(schema_of(columns), scores)
    assert (each**2).sum(axis=1).max() == pytest.approx(float(added.squared_l2), rel=1e-3)
    assert np.abs(each).sum(axis=1).max() == pytest.approx(float(added.l1), rel=1e-3)
    replaced = Sensitivity.of(schema, scores)
    gram = each @ each.T
    largest = (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram).max()
    assert largest <= float(replaced.squared_l2) * 1.001
    assert largest <= float(replaced.l1) ** 2


def test_no_number_in_between_changes_more():
    """Random numbers, levels and codes, in any places, never exceed what is stated."""
    rng = np.random.default_rng(5)
    kinds = [NUMBER, MIXED, TWICE, LEVELS, TWO, CODED]
    near = 0.0
    for _ in range(150):
        columns = tuple(kinds[k] for k in rng.integers(0, len(kinds), rng.integers(1, 9)))
        scores = FeatureMap.of(schema_of(columns), names_of(columns))
        bound = Sensitivity.of(schema_of(columns, "replace"), scores).squared_l2
        weight = float(scores.weight)
        pair = []
        for _ in range(2):
            record = [VALUES[c][rng.integers(len(VALUES[c]))] for c in columns]
            pair.append(record)
        if rng.random() < 0.5:  # numbers at opposite ends, codes alike
            pair[1] = [
                2 - x if is_number(c) and x in (0, 1, 2) else x
                for c, x in zip(columns, pair[0], strict=True)
            ]
        change = moments(columns, pair[0], weight=weight) - moments(columns, pair[1], weight=weight)
        assert change @ change <= float(bound) * 1.001
        near = max(near, change @ change / float(bound))
    assert near > 0.8  # the bound is no idle one


@pytest.mark.parametrize("limits", [(0.0, 1.0), (1.0, 2.0), (0.5, 0.75)])
def test_numbers_that_are_cut_off_change_no_more(limits):
    """Every record of two columns, added or in place of another; scores are at most 1 in size.

    With limits within the bounds numbers reach 1 in a bin that is not at an end, or never.
    """
    columns, names = (MIXED, MIXED), ("x0", "x1")
    own = dict.fromkeys(names, limits)
    scores = FeatureMap.of(schema_of(columns), names, limits=own)
    low, high = limits
    plain = FeatureMap.of(schema_of(columns), names)
    assert (scores.lengths, scores.squared_lengths) == (plain.lengths, plain.squared_lengths)
    records = list(itertools.product(*(VALUES[c] for c in columns)))
    exact = []
    for record in records:
        frame = pl.DataFrame([record], schema=names, orient="row", strict=False)
        found = Table(frame, schema_of(columns)).score_products(scores).expose()
        exact.append(stack_sums(found, scores) / ONE)
    each = np.array(exact)
    place = scores.places("x0")[0]
    for record, sums in zip(records, each, strict=True):
        if record[0] in (0, 1, 2):
            z = (min(max(record[0], low), high) - (low + high) / 2) / ((high - low) / 2)
            assert sums[place] / float(scores.weight) == pytest.approx(z, abs=1e-4)
    added = Sensitivity.of(schema_of(columns), scores)
    assert (each**2).sum(axis=1).max() <= float(added.squared_l2) * 1.001
    assert np.abs(each).sum(axis=1).max() <= float(added.l1) * 1.001
    gram = each @ each.T
    largest = (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram).max()
    replaced = Sensitivity.of(schema_of(columns, "replace"), scores)
    assert largest <= float(replaced.squared_l2) * 1.001


WIDE = f"kind = 'categorical'\nlevels = {[*map(str, range(24))]}\nreviewed = true\n"


def test_columns_of_many_levels_add_less_among_many_columns():
    """Every record of three of many columns, added or in place of another; three of 24 levels."""
    columns, names = (WIDE, LEVELS, MIXED), ("x0", "x1", "x2")
    scores = FeatureMap.of(schema_of(columns), names, many=True)
    records = list(itertools.product(["0", "11", "23", "?"], VALUES[LEVELS], VALUES[MIXED]))
    exact, schema = [], schema_of(columns)
    for record in records:
        frame = pl.DataFrame([record], schema=names, orient="row", strict=False)
        found = Table(frame, schema).score_products(scores).expose()
        exact.append(stack_sums(found, scores) / ONE)
    each = np.array(exact)
    sums = each[:, list(scores.places("x0"))] / float(scores.weight)
    assert (sums**2).sum(axis=1).max() == pytest.approx((16 / 24) ** 2 * 23 / 24, rel=1e-3)
    added = Sensitivity.of(schema_of(columns), scores)
    assert (each**2).sum(axis=1).max() == pytest.approx(float(added.squared_l2), rel=1e-3)
    gram = each @ each.T
    largest = (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram).max()
    replaced = Sensitivity.of(schema_of(columns, "replace"), scores)
    assert largest <= float(replaced.squared_l2) * 1.001 <= 2 * largest


def test_few_columns_have_all_their_scores_at_full_length():
    columns = (WIDE,) + (TWO,) * MANY
    few, many = (FeatureMap.of(schema_of(columns), names_of(columns[:n])) for n in (MANY, MANY + 1))
    assert float(few.squared_lengths[0]) == pytest.approx(23 / 24, rel=1e-3)
    assert float(many.squared_lengths[0]) == pytest.approx((16 / 24) ** 2 * 23 / 24, rel=1e-3)
    assert few.squared_lengths[1] == many.squared_lengths[1]


@pytest.mark.parametrize(
    "limits", [{"x0": (1.0, 1.0)}, {"x0": (-1.0, 1.0)}, {"x0": (0.0, 3.0)}, {"x1": (0.0, 1.0)}]
)
def test_limits_outside_the_bounds_cost_nothing(limits):
    """Nor do those that are no range, or of levels."""
    frame = pl.DataFrame({"x0": [1], "x1": ["b"]})
    gate = open_gate(Table(frame, schema_of((NUMBER, LEVELS))), Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError, match="two ascending numbers within its bounds"):
        gate.ask(SecondMoments(("x0", "x1"), limits=limits), spend=Fraction(1, 2))
    assert not gate.ledger


def test_contrasts_are_orthonormal_and_centred():
    for k in (1, 2, 3, 7, 40):
        table = contrasts(k)
        assert np.allclose(table.T @ table, np.eye(k - 1))
        assert np.allclose(table.sum(axis=0), 0)


@pytest.mark.parametrize(("accounting", "delta"), [("pure", 0), ("zcdp", "1e-6"), ("gdp", "1e-6")])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_rounding_is_paid_for(accounting, delta, neighbours):
    """Noise in lattice steps covers the largest change of rounded numbers, and little more."""
    schema = schema_of((NUMBER, LEVELS, MIXED), neighbours)
    spend = Budget.of(1, delta, accounting).amount / 3
    own = Sensitivity.of(schema, FeatureMap.of(schema, schema.names, pure=accounting == "pure"))
    noise = product_noise(own, spend, accounting)
    variance = noise.recorded.stddev**2
    if accounting == "pure":
        least = 2 * float(own.l1 / spend) ** 2
    else:
        least = float(own.squared_l2) / (2 * float(spend))
    assert least <= variance <= least * 1.01


def test_noise_has_the_stated_scale():
    schema = schema_of((NUMBER, LEVELS, MIXED, LEVELS))
    frame = pl.DataFrame({"x0": [1] * 50, "x1": ["b"] * 50, "x2": [2] * 50, "x3": ["c"] * 50})
    budget = Budget.of(1, "1e-6", "gdp")
    exact = 50 * moments((NUMBER, LEVELS, MIXED, LEVELS), (1, "b", 2, "c"))
    z = []
    gate = open_gate(Table(frame, schema), budget, SeededRandomness(7))
    for _ in range(60):
        released = gate.ask(SecondMoments(schema.names), spend=budget.amount / 60)
        z.append((released.value.values - exact) / released.noise.stddev)
    z = np.concatenate(z)
    # 60 · 45 numbers or so: the mean of z² has sd √(2/2700) = 0.027; false alarm below 1e-5.
    assert abs(np.mean(z**2) - 1) < 0.12
    assert abs(np.mean(z)) < 0.09
    assert abs(np.mean(z**2) / 1.5 - 1) > 0.12  # another scale is noticed


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("complete", [False, True])
def test_scores_are_numbered_without_being_made(pure, complete):
    numeric = "\nlower = 0\nupper = 90\nreviewed = true\n"
    shapes = [
        '"categorical"\nlevels = ["a"]\nreviewed = true\n',
        '"categorical"\nlevels = ["a", "b"]\nmissing = ["-"]\nreviewed = true\n',
        '"boolean"\nreviewed = true\nout_of_domain = "?"\n',
        f'"integer"\nbins = 3{numeric}',
        f'"integer"\nbins = {MOST_BINS + 1}\nmissing = [-1, -2]{numeric}',
        f'"continuous"\nbins = 4\nmissing = [-1]\nout_of_domain = -9{numeric}',
    ]
    text = "".join(f"[columns.c{k}]\nkind = {shape}" for k, shape in enumerate(shapes))
    for name, column in (schema := Schema.loads(text)).columns.items():
        made = FeatureMap.of(schema, (name,), (name,) if complete else (), pure=pure)
        assert n_scores(column, ordinary=complete, pure=pure) == len(made), name


def test_what_cannot_be_asked_is_refused_before_anything_is_paid():
    schema = schema_of((NUMBER, LEVELS))
    frame = pl.DataFrame({"x0": [1], "x1": ["b"]})
    gate = open_gate(Table(frame, schema), Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError, match="no column"):
        gate.ask(SecondMoments(("x9",)), spend=Fraction(1, 2))
    with pytest.raises(MethodError, match="scores"):
        gate.ask(SecondMoments(()), spend=Fraction(1, 2))
    with pytest.raises(BudgetError):
        gate.ask(SecondMoments(("x0",)), spend=Fraction(1, 10**15))
    assert not gate.ledger
    levels = [f"l{k}" for k in range(MOST_SCORES + 1)]
    wide = Schema.loads(f"[columns.x]\nkind='categorical'\nlevels={levels}\nreviewed=true\n")
    gate = open_gate(Table(pl.DataFrame({"x": ["l1"]}), wide), Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError, match="leave out columns"):
        gate.ask(SecondMoments(("x",)), spend=Fraction(1, 2))
