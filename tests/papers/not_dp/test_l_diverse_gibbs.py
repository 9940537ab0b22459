"""ℓ-diverse rows: the smallest weight, what is drawn from them, and that it is no privacy."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from night import NIGHT
from understudy.data.base import ExactCells
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import ExactStatistics
from understudy.errors import MethodError, NotPrivateError
from understudy.papers.gibbs_mechanisms import HashedRows
from understudy.papers.perturbed_gibbs import DiverseRows, diverse_records, diverse_weights
from understudy.schema import Domain, GibbsSweep, Schema
from understudy.workflow.gates import open_gate


def row(*counts):
    codes = np.flatnonzero(counts)
    return HashedRows.of(ExactCells(codes, np.array(counts)[codes], 0), len(counts))


def entropy(counts, weight):
    p = (np.array(counts) + weight) / (sum(counts) + len(counts) * weight)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


@pytest.mark.parametrize(
    ("counts", "diversity", "weight"),
    [((8, 1, 1), 2, 0.205443), ((5, 0, 0), 2, 0.861030), ((4, 4, 0), 2, 0), ((3, 3, 3), 3, np.inf)],
)
def test_weights_of_the_worked_examples(counts, diversity, weight):
    (found,) = diverse_weights(row(*counts), len(counts), diversity)
    assert found == pytest.approx(weight, abs=1e-6)


def test_a_weight_is_the_smallest_that_makes_its_row_diverse():
    rng = np.random.default_rng(1)
    for _ in range(200 if NIGHT else 60):
        size = int(rng.integers(2, 9))
        counts = rng.integers(0, 30, size) * rng.integers(0, 2, size)
        counts[rng.integers(size)] += 1
        diversity = float(rng.uniform(1.01, size))
        (weight,) = diverse_weights(row(*counts), size, diversity)
        assert entropy(counts, weight) >= math.log(diversity) - 1e-12
        if weight > 0:
            assert entropy(counts, weight * (1 - 1e-6)) < math.log(diversity)
        grid = [entropy(counts, a) for a in np.geomspace(1e-3, 1e4, 60)]
        assert (np.diff(grid) > -1e-12).all()


def test_many_rows_at_once_are_each_their_own():
    counts = np.random.default_rng(2).integers(0, 9, (50, 4))
    codes = np.flatnonzero(counts)
    rows = HashedRows.of(ExactCells(codes, counts.reshape(-1)[codes], 0), 4)
    alone = [diverse_weights(row(*one), 4, 2.5)[0] for one in counts.tolist()]
    assert diverse_weights(rows, 4, 2.5) == pytest.approx(np.array(alone))


SWEEP = GibbsSweep(("a", "b"), Domain((2, 3)), ((), (0,)))
ROWS = [(0, 0)] * 8 + [(0, 1), (0, 2)] + [(1, 0)] * 5


def shares(oracle, diversity, sensitive, n=40_000, rows=ROWS, sweep=SWEEP):
    drawn = diverse_records(
        oracle.tables(rows, sweep),
        sweep,
        n,
        diversity=diversity,
        sensitive=sensitive,
        randomness=SeededRandomness(3),
    )
    return Counter(zip(*(c.tolist() for c in drawn.columns), strict=True))


def p_value(seen, distribution):
    """χ² of what was seen, by cells; false alarms 1e-4, as the seed is fixed none."""
    assert seen.keys() <= {cell for cell, p in distribution.items() if p > 0}
    cells = [cell for cell, p in distribution.items() if p > 0]
    expected = np.array([distribution[cell] for cell in cells]) * sum(seen.values())
    return stats.chisquare([seen[cell] for cell in cells], expected).pvalue


def test_records_are_drawn_from_the_diverse_rows(oracle):
    def distribution(factor):
        found = {}
        for a, counts, weight in ((0, (8, 1, 1), 0.205443), (1, (5, 0, 0), 0.861030)):
            p = (np.array(counts) + factor * weight) / (sum(counts) + 3 * factor * weight)
            found |= {(a, b): (2 / 3, 1 / 3)[a] * p[b] for b in range(3)}
        return found

    seen = shares(oracle, 2.0, (1,))
    assert p_value(seen, distribution(1)) > 1e-4
    assert max(p_value(seen, distribution(0.7)), p_value(seen, distribution(1.3))) < 1e-6


def test_other_columns_are_drawn_as_they_are(oracle):
    assert set(shares(oracle, 2.0, (0,))) == {(0, 0), (0, 1), (0, 2), (1, 0)}


def test_as_many_states_as_there_are_makes_rows_uniform_and_so_do_no_records(oracle):
    even = {(a, b): 1 / 6 for a in range(2) for b in range(3)}
    assert p_value(shares(oracle, 1.5, (0, 1), rows=[]), even) > 1e-4
    full = {(a, b): (2 / 3, 1 / 3)[a] / 3 for a in range(2) for b in range(3)}
    assert p_value(shares(oracle, 3.0, (1,)), full) > 1e-4


def test_forbidden_states_are_left_out_of_diverse_rows(oracle):
    ruled = GibbsSweep(("a", "b"), Domain((2, 3), ({0: {1}, 1: {1, 2}},)), ((), (0,)))
    seen = shares(oracle, 2.0, (1,), sweep=ruled)
    assert set(seen) == {(0, 0), (0, 1), (0, 2), (1, 0)}


# --- the gate's verb ------------------------------------------------------------------------------

SCHEMA = Schema.loads(
    """
[columns.a]
kind = "boolean"
reviewed = true
[columns.b]
kind = "categorical"
levels = ["x", "y", "z"]
reviewed = true
"""
)
FRAME = pl.DataFrame({"a": [True, False, True], "b": ["x", "y", "?"]})
SPEC = DiverseRows(
    sweep=GibbsSweep.of(SCHEMA.names, SCHEMA.domain, {"b": ["a"]}),
    diversity=2.0,
    sensitive=(1,),
    n_rows=1,
)


def test_the_release_is_not_private_and_says_why():
    door = open_gate(Table(FRAME, SCHEMA), Budget.of(1), SeededRandomness(1), allow_nonprivate=True)
    released = door.ask(replace(SPEC, n_rows=20))
    assert [len(column) for column in released.value.columns] == [20, 20]
    assert [entry.spent for entry in door.ledger] == [None, None]
    assert [entry.query for entry in door.ledger] == ["counts by a", "counts by a × b"]
    assert all("not differential privacy" in entry.noise for entry in door.ledger)
    tables = [one.value for one in door.measured]
    assert tables == [ExactStatistics(("a",)), ExactStatistics(("a", "b"))]
    assert door.guarantee().kind == "none"


def test_it_needs_permission_and_its_own_schema():
    door = open_gate(Table(FRAME, SCHEMA), Budget.of(1), SeededRandomness(1))
    with pytest.raises(NotPrivateError):
        door.ask(replace(SPEC, n_rows=20))
    other = GibbsSweep(("a", "b"), Domain((3, 3)), ((), ()))
    open_door = open_gate(
        Table(FRAME, SCHEMA), Budget.of(1), SeededRandomness(1), allow_nonprivate=True
    )
    with pytest.raises(MethodError, match="another schema"):
        open_door.ask(DiverseRows(sweep=other, diversity=2, sensitive=(), n_rows=2))
    assert door.ledger == open_door.ledger == ()
