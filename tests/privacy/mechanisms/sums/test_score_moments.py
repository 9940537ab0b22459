"""Second moments of scores: what one record can change, by enumeration, and how much noise."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from understudy.engine import Table
from understudy.errors import BudgetError, MethodError
from understudy.pipeline.gates import open_gate
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.mechanisms.sums.score_moments import (
    MOST_SCORES,
    ScoreMoments,
    Sensitivity,
    product_noise,
)
from understudy.privacy.noise.randomness import SeededRandomness
from understudy.schema import Schema

NUMBER = "kind = 'integer'\nlower = 0\nupper = 2\nreviewed = true\n"
MIXED = NUMBER + "missing = [9]\n"
LEVELS = "kind = 'categorical'\nlevels = ['a', 'b', 'c']\nreviewed = true\n"
VALUES = {NUMBER: [0, 1, 2, 7.5], MIXED: [0, 1, 2, 9], LEVELS: ["a", "b", "c", "?"]}


def schema_of(columns, neighbours="add_remove", n_rows=1):
    rows = f"rows = 'public'\nn_rows = {n_rows}\n" if neighbours == "replace" else ""
    parts = [f"[columns.x{k}]\n{text}" for k, text in enumerate(columns)]
    return Schema.loads(rows + "".join(parts))


def scores_of(text, value):
    """Scores of one value of a column: the slow and obvious way."""
    if text == LEVELS:
        return [float(value == level) for level in "abc"]
    inside = value in (0, 1, 2)
    number = value - 1.0 if inside else 0.0
    codes = [float(value == 9)] if text == MIXED else []
    return [number, *codes, float(not inside and not any(codes))]


def moments(columns, record):
    """What one record adds, in records: sums, then products by places of the scores."""
    blocks = [scores_of(text, value) for text, value in zip(columns, record, strict=True)]
    each = [(c, k, v) for c, block in enumerate(blocks) for k, v in enumerate(block)]
    products = [
        v * w
        for i, (c, k, v) in enumerate(each)
        for d, j, w in each[i:]
        if c != d or (k == j == 0 and columns[c] != LEVELS)
    ]
    return np.array([v for _, _, v in each] + products)


CASES = [
    (NUMBER,),
    (LEVELS,),
    (MIXED,),
    (NUMBER, NUMBER),
    (NUMBER, LEVELS),
    (MIXED, LEVELS),
    (LEVELS, LEVELS),
    (MIXED, MIXED),
    (NUMBER, NUMBER, NUMBER),
    (NUMBER, LEVELS, MIXED),
    (LEVELS, LEVELS, LEVELS),
    (MIXED, MIXED, LEVELS),
]


@pytest.mark.parametrize("columns", CASES, ids=lambda texts: "".join(t[8] for t in texts))
def test_one_record_changes_no_more_and_attains_it(columns):
    schema = schema_of(columns, "replace")
    each = [moments(columns, record) for record in itertools.product(*(VALUES[c] for c in columns))]
    added = Sensitivity.of(schema_of(columns), schema.names)
    assert max(np.abs(one).sum() for one in each) == added.l1
    assert max((one**2).sum() for one in each) == added.squared_l2
    assert max(np.count_nonzero(one) for one in each) == added.changed
    replaced = Sensitivity.of(schema, schema.names)
    changes = np.array([a - b for a, b in itertools.product(each, repeat=2)])
    assert (changes**2).sum(axis=1).max() == replaced.squared_l2
    assert np.abs(changes).sum(axis=1).max() <= replaced.l1 == 2 * added.l1


@pytest.mark.parametrize("columns", [(MIXED,), (NUMBER, MIXED), (MIXED, LEVELS, MIXED)])
def test_records_that_count_change_no_more_and_attain_it(columns):
    """Of records with a value of each column, how many there are is summed as well."""
    schema = schema_of(columns, "replace")
    each = []
    for record in itertools.product(*(VALUES[c] for c in columns)):
        whole = all(value in VALUES[c][:3] for value, c in zip(record, columns, strict=True))
        one = np.append(1.0, moments(columns, record)) * whole
        each.append(one)
    added = Sensitivity.of(schema_of(columns), schema.names, counted=True)
    assert max((one**2).sum() for one in each) == added.squared_l2
    assert max(np.abs(one).sum() for one in each) == added.l1
    replaced = Sensitivity.of(schema, schema.names, counted=True)
    changes = np.array([a - b for a, b in itertools.product(each, repeat=2)])
    assert (changes**2).sum(axis=1).max() <= replaced.squared_l2
    assert np.abs(changes).sum(axis=1).max() <= replaced.l1


@pytest.mark.parametrize("d", range(1, 40))
def test_replaced_numbers_change_about_the_square_of_their_number(d):
    assert 0 <= Sensitivity(d, 0, "replace").squared_l2 - 4 * ((d + 1) ** 2 // 4) <= 1
    assert Sensitivity(0, d, "replace").squared_l2 == d * (d + 1)


def test_no_number_in_between_changes_more():
    """Random numbers, levels and codes, in proportion one to the other, never exceed the ends."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        numbers, mixed, levels = rng.integers(0, 4, 3)  # those that stay numbers, or need not
        if numbers + mixed + levels == 0:
            continue
        blocks = [
            [rng.choice([-1, 1, rng.uniform(-1, 1)]), *np.zeros(3)] for _ in range(2 * numbers)
        ]
        for _ in range(2 * mixed):
            code = rng.random() < 0.5
            blocks.append([0.0, 1.0, 0, 0] if code else [rng.choice([-1, 1, 0.3]), 0, 0, 0])
        for _ in range(2 * levels):
            blocks.append([0, *np.eye(3)[rng.integers(3)]])
        w, u = np.array(blocks[::2]), np.array(blocks[1::2])
        change = ((w - u) ** 2).sum()
        for i, j in itertools.combinations(range(len(w)), 2):
            change += ((np.outer(w[i], w[j]) - np.outer(u[i], u[j])) ** 2).sum()
        change += ((w[: numbers + mixed, 0] ** 2 - u[: numbers + mixed, 0] ** 2) ** 2).sum()
        bound = Sensitivity(int(numbers + mixed), int(levels), "replace").squared_l2
        assert change <= bound + 1e-9


@pytest.mark.parametrize(("accounting", "delta"), [("pure", 0), ("zcdp", "1e-6"), ("gdp", "1e-6")])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_rounding_is_paid_for(accounting, delta, neighbours):
    """Noise in lattice steps covers the largest change of rounded numbers, and little more."""
    schema = schema_of((NUMBER, LEVELS, MIXED), neighbours)
    spend = Budget.of(1, delta, accounting).amount / 3
    own = Sensitivity.of(schema, schema.names)
    noise = product_noise(own, spend, accounting)
    variance = noise.recorded.stddev**2
    if accounting == "pure":
        least = 2 * float(own.l1 / spend) ** 2
    else:
        least = own.squared_l2 / (2 * float(spend))
    assert least <= variance <= least * 1.01


def test_noise_has_the_stated_scale():
    schema = schema_of((NUMBER, LEVELS, MIXED, LEVELS))
    frame = pl.DataFrame({"x0": [1] * 50, "x1": ["b"] * 50, "x2": [2] * 50, "x3": ["c"] * 50})
    budget = Budget.of(1, "1e-6", "gdp")
    exact = 50 * moments((NUMBER, LEVELS, MIXED, LEVELS), (1, "b", 2, "c"))
    z = []
    gate = open_gate(Table(frame, schema), budget, SeededRandomness(7))
    for _ in range(60):
        released = gate.ask(ScoreMoments(schema.names), spend=budget.amount / 60)
        z.append((released.value.values - exact) / released.noise.stddev)
    z = np.concatenate(z)
    # 60 · 57 numbers: the mean of z² has sd √(2/3420) = 0.024; false alarm below 1e-5.
    assert abs(np.mean(z**2) - 1) < 0.11
    assert abs(np.mean(z)) < 0.08
    assert abs(np.mean(z**2) / 1.5 - 1) > 0.11  # another scale is noticed


def test_what_cannot_be_asked_is_refused_before_anything_is_paid():
    schema = schema_of((NUMBER, LEVELS))
    frame = pl.DataFrame({"x0": [1], "x1": ["b"]})
    gate = open_gate(Table(frame, schema), Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError, match="no column"):
        gate.ask(ScoreMoments(("x9",)), spend=Fraction(1, 2))
    with pytest.raises(MethodError, match="scores"):
        gate.ask(ScoreMoments(()), spend=Fraction(1, 2))
    with pytest.raises(BudgetError):
        gate.ask(ScoreMoments(("x0",)), spend=Fraction(1, 10**15))
    assert not gate.ledger
    levels = [f"l{k}" for k in range(MOST_SCORES + 1)]
    wide = Schema.loads(f"[columns.x]\nkind='categorical'\nlevels={levels}\nreviewed=true\n")
    gate = open_gate(Table(pl.DataFrame({"x": ["l1"]}), wide), Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError, match="leave out columns"):
        gate.ask(ScoreMoments(("x",)), spend=Fraction(1, 2))
