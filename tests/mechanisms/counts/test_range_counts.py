"""Ranges of one column's states: counts, noise on every range, neighbours, and the ledger."""

from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.papers.hierarchy_mechanisms import RangeCounts
from understudy.release.measurement import Measurement
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

SCHEMA = Schema.loads("""
row_limit = 100
[columns.x]
kind = "categorical"
levels = ["a", "b", "c", "d", "e"]
reviewed = true
""")
LEVELS = ["a", "b", "c", "d", "e", "?"]
LAYERS = [np.array([0, 2, 4, 5]), np.array([0, 1, 2, 3, 4, 5]), np.array([0, 4, 8])]
HUGE = 10**5


@cache
def engine(rows):
    return Table(pl.DataFrame({"x": [LEVELS[k] for k in rows]}, schema={"x": pl.String}), SCHEMA)


def door(rows, epsilon="1", seed=1, delta=0):
    return open_gate(engine(tuple(rows)), Budget.of(epsilon, delta), SeededRandomness(seed))


def exact(rows):
    """All counts and those out of domain, one array per layer: no noise at a huge ε."""
    found = door(rows, HUGE).ask(RangeCounts("x", LAYERS, noise="geometric"), spend=F(HUGE))
    return [np.append(one.value.counts, one.value.outside) for one in found]


def test_ranges_hold_the_records_of_their_states():
    one, two, three = exact([0, 0, 1, 2, 4, 4, 4, 5])
    assert one.tolist() == [3, 1, 3, 1]
    assert two.tolist() == [2, 1, 1, 0, 3, 1]
    assert three.tolist() == [4, 3, 1]


@pytest.mark.parametrize(("relation", "most"), [("add_remove", 1), ("replace", 2)])
def test_neighbours_differ_by_the_sensitivity_in_each_layer(relation, most):
    """All tables of up to two rows, out-of-domain values included."""
    largest = [0.0] * len(LAYERS)
    known = {
        rows: exact(rows) for n in range(4) for rows in combinations_with_replacement(range(6), n)
    }
    for rows in (rows for rows in known if len(rows) <= 2):
        for value in range(6):
            places = range(len(rows)) if relation == "replace" else [0]
            for k in places:
                kept = rows[:k] + rows[k + 1 :] if relation == "replace" else rows
                other = known[tuple(sorted((*kept, value)))]
                for depth, (a, b) in enumerate(zip(known[rows], other, strict=True)):
                    largest[depth] = max(largest[depth], np.abs(a - b).sum())
    assert largest == [most] * len(LAYERS)


@pytest.mark.parametrize("distribution", ["geometric", "laplace", "gaussian"])
def test_every_range_has_the_noise_that_is_stated(distribution):
    """Mean square of 1,300 numbers in their own unit: deviation at most √(5/1300) = 0.062, so ±
    0.28 is left with probability below 1e-5; a scale wrong by 30 % would give 0.49 or 1.69."""
    squares = []
    for seed in range(100):
        gate = door([], "3", seed, 0 if distribution != "gaussian" else "0.000001")
        for one in gate.ask(RangeCounts("x", LAYERS, noise=distribution), spend=gate.budget.amount):
            noise = np.append(one.value.counts, one.value.outside) / one.noise.stddev
            squares.extend(noise**2)
            assert one.noise.stddev > 1
    assert len(squares) == 100 * 13
    assert abs(np.mean(squares) - 1) < 0.28


def test_the_ledger_says_what_was_asked_before_it_is_answered():
    gate = door([0])
    with pytest.raises(InsufficientBudgetError):
        gate.ask(RangeCounts("x", LAYERS, noise="geometric"), spend=F(2))
    assert gate.ledger == ()
    gate.ask(RangeCounts("x", LAYERS, noise="geometric"), spend=F(1))
    assert [(e.query, e.cells, e.spent) for e in gate.ledger] == [
        ("counts of 3 ranges of x", 4, F(1, 3)),
        ("counts of 5 ranges of x", 6, F(1, 3)),
        ("counts of 2 ranges of x", 3, F(1, 3)),
    ]
    assert {e.noise for e in gate.ledger} == {"discrete Laplace (geometric), scale 3"}
    assert gate.remaining == 0


@pytest.mark.parametrize("edges", [[0, 4], [1, 5], [0, 2, 2, 5], [0], [0, 3, 2, 5]])
def test_ranges_must_hold_every_state_once(edges):
    gate = door([0])
    with pytest.raises(MethodError, match="ascend from state 0"):
        gate.ask(RangeCounts("x", [np.array(edges)], noise="geometric"), spend=F(1))
    assert gate.remaining == 1


def test_measurements_name_first_and_last_states(tmp_path):
    gate = door([0, 3], HUGE)
    gate.ask(RangeCounts("x", LAYERS, noise="geometric"), spend=F(HUGE))
    found = [Measurement.from_released(one, "t", SCHEMA) for one in gate.measured]
    assert [one.kind for one in found] == ["ranges", "table", "ranges"]
    assert found[0].frame(SCHEMA).rows() == [("a", "b", 1), ("c", "d", 1), ("e", "e", 0)]
    assert found[1].frame(SCHEMA).rows() == [("a", 1), ("b", 0), ("c", 0), ("d", 1), ("e", 0)]
    assert found[2].frame(SCHEMA).rows() == [("a", "d", 2), ("e", "e", 0)]
    for one in found:
        again = Measurement.from_json(one.to_json(), one.frame(SCHEMA), SCHEMA)
        assert (again.codes.tolist(), again.counts.tolist()) == (
            one.codes.tolist(),
            one.counts.tolist(),
        )
