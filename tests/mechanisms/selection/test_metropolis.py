"""Metropolis walks: where they end, what is said of them, and what is kept."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.confidential import Internal
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.selection import rate_of
from understudy.papers.generator_scores import (
    CONVERGENCE,
    PropensityTrees,
    Walk,
    WalkedParameters,
    walk,
)
from understudy.papers.generators import Prior
from understudy.papers.trees_exact import Grid, GridDepthTwo
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

PRIOR = Prior(("x", "y"), np.array([1.0, -2.0]), np.array([0.5, 2.0]))
STEPS, ENDS = 60, 600
LEVEL = 1e-5


def asked(gate, kind, score, *more, spend):
    """A mechanism, behind the gate's check of types: what is listed here is for tests alone."""
    gate._admit = lambda mechanism: mechanism
    own = gate._rows.view.schema if score.schema is gate.schema else score.schema
    return gate.ask(kind(replace(score, schema=own), *more), spend=spend)


def ends(log_weight, n=ENDS):
    how = Walk(PRIOR, PRIOR.means, 1.5 * PRIOR.stddevs, STEPS)
    source = SeededRandomness(3)
    return np.array([walk(how, log_weight, source).end for _ in range(n)])


def test_a_flat_score_leaves_the_prior_and_a_normal_one_tilts_it():
    """x has the density N(1, .5²)·exp(-2(x - 2)²), which is N(1.5, .125). False alarms: 1e-5 each;
    three times the variance is rejected."""
    for end, name in zip(ends(lambda _theta: 0.0, 300).T, (0, 1), strict=True):
        distribution = stats.norm(PRIOR.means[name], PRIOR.stddevs[name])
        assert stats.kstest(end, distribution.cdf).pvalue > LEVEL
    tilted = ends(lambda theta: -2.0 * (theta[0] - 2.0) ** 2)[:, 0]
    assert stats.kstest(tilted, stats.norm(1.5, 0.125**0.5).cdf).pvalue > LEVEL
    assert stats.kstest(tilted, stats.norm(1.5, 0.375**0.5).cdf).pvalue < LEVEL
    assert stats.kstest(tilted, stats.norm(1.4, 0.125**0.5).cdf).pvalue < LEVEL


def test_how_a_walk_went_is_counted():
    how = Walk(PRIOR, PRIOR.means, PRIOR.stddevs, 400)
    found = walk(how, lambda _theta: 0.0, SeededRandomness(1))
    assert found.path.shape == (401,)
    assert found.path[0] == 0
    assert 0.2 < found.accepted < 0.9
    still = walk(
        how, lambda theta: 0.0 if (theta == PRIOR.means).all() else -1e9, SeededRandomness(1)
    )
    assert (still.accepted, still.end.tolist()) == (0, PRIOR.means.tolist())


@pytest.mark.parametrize(
    ("widths", "steps"), [((1.0, 0.0), 5), ((1.0,), 5), ((1.0, 1.0), 0)], ids=str
)
def test_a_walk_that_goes_nowhere_is_refused(widths, steps):
    with pytest.raises(MethodError, match="walk"):
        Walk(PRIOR, PRIOR.means, np.array(widths), steps)


SCHEMA = """
rows = "{rows}"
{more}
[columns.a]
kind = "ordinal"
levels = [0, 1, 2, 3]
reviewed = true
"""


class Threshold:
    """Records whose state is how many of three thresholds θ has passed."""

    columns, n_records = ("a",), 6

    def codes(self, theta):
        return (np.full(6, np.clip(np.floor(theta[0]), 0, 3), dtype=np.int64),)


def gate_and_score(rows, more):
    schema = Schema.loads(SCHEMA.format(rows=rows, more=more))
    engine = Table(pl.DataFrame({"a": [2] * 6}), schema)
    told = []
    gate = open_gate(engine, Budget.of(40), SecureRandomness(), confide=told.append)
    trees = GridDepthTwo(Grid((4,)))
    score = PropensityTrees(schema, (Threshold(),), np.zeros((1, 1)), trees)
    return gate, score, told


@pytest.mark.parametrize(
    ("rows", "more", "rate"),
    [("public", "n_rows = 6", F := Fraction(20) * Fraction(7, 6)), ("private", "", 2 * F)],
    ids=["replace", "add_remove"],
)
def test_the_gate_walks_pays_and_says_that_nobody_knows_how_near_it_came(rows, more, rate):
    gate, score, told = gate_and_score(rows, more)
    prior = Prior(("level",), np.array([1.5]), np.array([2.0]))
    how = Walk(prior, prior.means, np.array([1.0]), 300)
    found = asked(gate, WalkedParameters, score, prior.names, how, spend=Fraction(40))
    assert 2 <= found.value.values[0] < 3
    (entry,) = gate.ledger
    assert (entry.spent, entry.mechanism) == (40, "exponential mechanism")
    assert "walk of 300 steps" in entry.query
    assert ("monotone" in entry.sensitivity) == (rows == "private")
    promise = gate.guarantee()
    assert (promise.kind, promise.is_nominal) == ("conditional", False)
    assert promise.conditions == (CONVERGENCE,)
    assert "Conditional differential privacy with ε = 40" in promise.statement
    (kept,) = told
    assert isinstance(kept, Internal)
    # The best score is all six records indistinguishable, q = 3; the worst is 0.
    best = kept.value.path.max()
    assert best == pytest.approx(3 * float(rate) - (2 - 1.5) ** 2 / 8, abs=0.2)
    assert rate == rate_of(
        Fraction(40), score.sensitivity(gate.neighbours), monotone=rows != "public"
    )
