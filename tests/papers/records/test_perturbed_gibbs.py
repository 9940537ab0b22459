"""Perturbed Gibbs sampling keeps its promise: exact laws over all neighbours of small tables."""

import math
from dataclasses import replace
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import GibbsDraws
from understudy.errors import BudgetError, InsufficientBudgetError, MethodError
from understudy.mechanisms.urn import prior_weight
from understudy.papers.perturbed_gibbs import PerturbedGibbs, gibbs_records, step_epsilon
from understudy.schema import Domain, GibbsSweep, Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

PLAIN = GibbsSweep(("a", "b"), Domain((2, 2)), ((1,), (0,)))
RULED = GibbsSweep(
    ("a", "b"), Domain((2, 3), ({0: frozenset({1}), 1: frozenset({2})},)), ((), (0,))
)
RELATIONS = ("add_remove", "replace")


def states(sweep, oracle):
    """Records of a table; a state out of domain, and a forbidden cell, which has left the domain
    in all columns of its rule."""
    ranges = [range(size + 1) for size in sweep.domain.sizes]
    return [one for one in product(*ranges) if oracle.allowed(one, sweep)]


def pairs(sweep, oracle, relation, crowds=(0, 40), most=1):
    """Small tables, among crowds of one record, and their neighbours."""
    records = states(sweep, oracle)
    for crowd, member in product(crowds, records):
        for n in range(most + 1):
            for some in combinations_with_replacement(records, n):
                base = (member,) * crowd + some
                for new in records:
                    if relation == "add_remove":
                        yield base, (*base, new)
                    elif base:
                        yield base, (*base[:-1], new)


def worst(oracle, sweep, relation, prior, n_rows=1, *, orders=(math.inf,), most=1, **how):
    """Largest Rényi divergence of each order between two neighbours, both ways; of order ∞ it is
    the largest log ratio of the probabilities of an outcome."""
    distribution = cache(lambda rows: oracle.distribution(rows, sweep, prior, n_rows, **how))
    found = dict.fromkeys(orders, 0.0)
    for one, other in pairs(sweep, oracle, relation, most=most):
        here, there = distribution(tuple(sorted(one))), distribution(tuple(sorted(other)))
        for p, q in ((here, there), (there, here)):
            ratios = np.array([float(p[z] / q[z]) for z in p])
            shares = np.array([float(q[z]) for z in p])
            for order in orders:
                most_seen = np.log(ratios.max())
                if order < math.inf:
                    most_seen = np.log((shares * ratios**order).sum()) / (order - 1)
                found[order] = max(found[order], most_seen)
    return found[math.inf] if orders == (math.inf,) else found


@pytest.mark.parametrize("sweep", [PLAIN, RULED], ids=["plain", "ruled"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [F(1, 20), F(1), F(5)])
@pytest.mark.nightly(every=3)
def test_a_record_costs_its_epsilon_and_hardly_less(oracle, sweep, relation, epsilon):
    prior = prior_weight(1, step_epsilon(epsilon, 2, "pure", relation), reinforced=False)
    seed = (0, 0)
    found = worst(oracle, sweep, relation, prior, seed=seed)
    # How near depends on how large a crowd is beside the weight of the states.
    assert (0.65 if epsilon > 1 / 2 else 0.15) * epsilon < found <= epsilon


def test_a_smaller_weight_breaks_the_promise(oracle):
    prior = prior_weight(1, F(5, 2), reinforced=False)
    for relation in RELATIONS:
        assert worst(oracle, PLAIN, relation, prior * 7 / 10, seed=(0, 0)) > 5


def test_records_and_sweeps_add_up(oracle):
    """Two records, and one after two sweeps, take four steps; half of the claim of the paper, which
    is per record, is exceeded."""
    epsilon = F(4)
    prior = prior_weight(1, step_epsilon(epsilon, 4, "pure", "add_remove"), reinforced=False)
    twice = worst(oracle, PLAIN, "add_remove", prior, n_rows=2, seed=(0, 0))
    assert epsilon / 2 < twice <= epsilon
    assert 0 < worst(oracle, PLAIN, "add_remove", prior, sweeps=2, seed=(0, 0)) <= epsilon


@pytest.mark.parametrize(("sweep", "epsilon"), [(PLAIN, F(2)), (RULED, F(1, 2))])
@pytest.mark.nightly(every=2)
def test_a_record_costs_what_zcdp_says(oracle, sweep, epsilon):
    """Two steps cost ε²/8 each where records come and go, by bounded range, and ε²/2 where one is
    replaced."""
    prior = prior_weight(1, epsilon, reinforced=False)
    orders = (1.1, 2, 5, 30)
    for relation, part in (("add_remove", 8), ("replace", 2)):
        found = worst(oracle, sweep, relation, prior, orders=orders, seed=(0, 0))
        for order in orders:
            assert 0 < found[order] <= 2 * order * epsilon**2 / part


def test_one_step_of_a_large_row_uses_up_its_range():
    """Log ratios of adding a record to an empty state of a row of n are ε₀ apart, exactly, and
    replacing takes more than that: both ends of the proof."""
    prior = prior_weight(1, F(1), reinforced=False)
    n = 10**9
    total = n + 2 * prior
    raised, lowered = (1 + 1 / prior) / (1 + 1 / total), 1 / (1 + 1 / total)
    assert math.log(raised / lowered) == pytest.approx(1, abs=1e-6)
    assert math.log(raised) == pytest.approx(1, abs=1e-6)
    swap = (1 + 1 / prior) * (1 + 1 / prior)  # one state loses its only record, one gains it
    assert math.log(swap) == pytest.approx(2, abs=1e-6)


def test_the_weights_of_the_worked_example():
    prior = prior_weight(1, step_epsilon(F(1), 13, "pure", "add_remove"), reinforced=False)
    assert float(prior) == pytest.approx(12.5064, abs=5e-5)
    shares = [float((n + prior) / (10 + 3 * prior)) for n in (8, 1, 1)]
    assert shares == pytest.approx([0.4315, 0.2842, 0.2842], abs=5e-5)


@pytest.mark.parametrize("n_steps", [1, 13, 10**6])
def test_steps_share_the_budget(n_steps):
    for spend in (F(1, 10**5), F(1), F(1000)):
        assert step_epsilon(spend, n_steps, "pure", "replace") * n_steps == spend
        for relation, part in (("add_remove", 8), ("replace", 2)):
            cost = n_steps * step_epsilon(spend, n_steps, "zcdp", relation) ** 2 / part
            assert spend * (1 - F(1, 1000)) < cost <= spend
        assert step_epsilon(spend, n_steps, "gdp", "add_remove") > 0
    assert step_epsilon(F(1), 0, "pure", "replace") == 1
    for relation in RELATIONS:
        with pytest.raises(BudgetError, match="next to nothing"):
            step_epsilon(F(1, 10**30), n_steps, "zcdp", relation)


# --- the gate's verb ------------------------------------------------------------------------------

COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "boolean"
missing = [""]
reviewed = true
[[forbidden]]
where = {a = "y", b = true}
reviewed = true
"""
SCHEMA = Schema.loads(COLUMNS)
SWEEP = GibbsSweep.of(SCHEMA.names, SCHEMA.domain, {"a": ["b"], "b": ["a"]})
ROWS = (*[("x", True)] * 9, *[("x", None)] * 4, ("?", True), ("y", True), ("y", False))
SPEC = PerturbedGibbs(sweep=SWEEP, sweeps=2, n_rows=1)


def gate(rows=ROWS, epsilon="1", delta=0, seed=1, schema=SCHEMA):
    frame = pl.DataFrame(list(rows), schema={"a": pl.String, "b": pl.Boolean}, orient="row")
    return open_gate(Table(frame, schema), Budget.of(epsilon, delta), SeededRandomness(seed))


@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_the_gate_gives_the_very_records_of_the_kernel(oracle, n_rows):
    order = list(SCHEMA.columns["b"].labels)
    true, false, empty = (order.index(one) for one in ("true", "false", "(empty)"))
    rows = [(0, true)] * 9 + [(0, empty)] * 4 + [(1, false)]
    prior = prior_weight(1, F(1, 2) / max(1, 4 * n_rows), reinforced=False)
    expected = gibbs_records(
        oracle.tables(rows, SWEEP),
        SWEEP,
        prior,
        n_rows,
        sweeps=2,
        randomness=SeededRandomness(5),
    )
    released = gate(seed=5).ask(replace(SPEC, n_rows=n_rows), spend=F(1, 2))
    for one, other in zip(released.value.columns, expected.columns, strict=True):
        assert np.array_equal(one, other)


def test_what_is_public_about_the_draws_is_recorded():
    door = gate()
    released = door.ask(replace(SPEC, n_rows=40), spend=F(1, 2))
    prior = prior_weight(1, F(1, 320), reinforced=False)
    (entry,), (measured,) = door.ledger, door.measured
    keys = {"a": ("b",), "b": ("a",)}
    assert measured.value == GibbsDraws(("a", "b"), keys, "perturbed sweeps", prior)
    assert measured.noise == released.noise
    assert (released.noise.scale, released.noise.stddev) == (str(prior), 0.0)
    assert (entry.spent, entry.cells) == (F(1, 2), 12)
    assert (entry.query, entry.mechanism) == ("records after 2 sweeps of a × b", "perturbed sweeps")
    assert entry.noise.endswith("where e = 1/2/(4 n)")
    assert "weight 1 in one row of each table" in entry.sensitivity
    assert door.remaining == F(1, 2)


def test_what_cannot_be_paid_or_is_of_another_schema_is_refused_before_it_is_paid():
    door = gate()
    other = PerturbedGibbs(sweep=PLAIN, n_rows=1)
    with pytest.raises(MethodError, match="another schema"):
        door.ask(replace(other, n_rows=4), spend=F(1, 2))
    with pytest.raises(InsufficientBudgetError):
        door.ask(replace(SPEC, n_rows=4), spend=F(2))
    with pytest.raises(BudgetError, match="next to nothing"):
        door.ask(replace(SPEC, n_rows=10**6), spend=F(1, 10**15))
    assert (door.remaining, door.ledger) == (1, ())


def test_a_huge_budget_draws_what_the_rows_say():
    """With next to no weight, a key that was seen gives one of its own states."""
    drawn = gate(epsilon="1e9").ask(replace(SPEC, n_rows=500), spend=F(10**9)).value
    a, b = (column.tolist() for column in drawn.columns)
    labels = SCHEMA.columns["b"].labels
    seen = {("x", "true"), ("x", "(empty)"), ("y", "false")}
    assert {("xy"[i], labels[j]) for i, j in zip(a, b, strict=True)} == seen
