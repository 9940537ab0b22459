"""The method empirical-cdf: which lines it asks for, and what it makes of the answers."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, MethodError
from understudy.mechanisms.tables import RowCount
from understudy.methods.registry import configure
from understudy.papers.empirical_distribution import CumulativeDistributions
from understudy.workflow.gates import open_gate

SCHEMA = us.Schema.loads("""
rows = "public"
n_rows = 60
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
source = "codebook"
reviewed = true
[columns.b]
kind = "integer"
lower = 0
upper = 3
source = "codebook"
reviewed = true
[[forbidden]]
where = { a = "x", b = 3 }
source = "logic"
reviewed = true
""")
FRAME = pl.DataFrame(
    {"a": ["x"] * 20 + ["y"] * 30 + ["z"] * 8 + ["?", "x"], "b": [0, 1] * 15 + [2] * 20 + [3] * 10}
)
HUGE = Fraction(10**4)


def door(schema=SCHEMA, epsilon=1, delta=0, seed=1):
    return open_gate(Table(FRAME, schema), Budget.of(epsilon, delta), SeededRandomness(seed))


def private(**more):
    return SCHEMA.model_copy(update={"rows": "private", "n_rows": None, **more})


def test_every_column_has_a_line_of_its_own():
    plan = us.plan(SCHEMA, epsilon=1, method="empirical-cdf")
    assert [(t.query, t.n_cells, t.share, t.form) for t in plan.tables] == [
        ("distribution of a", 3, Fraction(1, 2), "distribution"),
        ("distribution of b", 4, Fraction(1, 2), "distribution"),
    ]


def test_an_ordered_table_is_one_line_of_its_allowed_cells():
    options = {"columns": "ordered", "order": "b, a"}
    plan = us.plan(SCHEMA, epsilon=1, method="empirical-cdf", options=options)
    assert [(t.query, t.n_cells, t.share) for t in plan.tables] == [
        ("distribution of b × a", 11, 1)
    ]
    assert plan.options["order"] == ["b", "a"]


def test_options_that_do_not_go_together_are_refused():
    def plan(schema=SCHEMA, epsilon=1, **options):
        us.plan(schema, epsilon=epsilon, method="empirical-cdf", options=options)

    with pytest.raises(MethodError, match="belongs to columns=ordered"):
        plan(order="a,b")
    for order in ("a", "a, a", "a, b, c"):
        with pytest.raises(MethodError, match="every column of the schema once"):
            plan(columns="ordered", order=order)
    long = us.Schema.loads("""
        row_limit = 1000000
        [columns.x]
        kind = "continuous"
        lower = 0
        upper = 1
        bins = 5000
        source = "codebook"
        reviewed = true
        """)
    with pytest.raises(MethodError, match="larger epsilon"):
        plan(long)
    plan(long.model_copy(update={"row_limit": 500}))


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_without_noise_an_ordered_table_is_the_table_of_the_rows(order):
    method = configure("empirical-cdf", {"columns": "ordered", "order": order})
    gate = door(epsilon=HUGE)
    model = method.fit(gate, HUGE, 10)
    exact = Table(FRAME, SCHEMA).count([(0, 1)]).expose()[0]
    assert model.weights.tolist() == exact.inside.reshape(-1).tolist()
    (drawn,) = gate.measured
    assert drawn.value.columns == order
    assert drawn.value.outside == exact.outside == 2
    sample = model.sample(4000, np.random.default_rng(1))
    assert not SCHEMA.domain.find_forbidden(sample.states).any()


def test_without_noise_independent_columns_have_their_own_distributions():
    gate = door(epsilon=HUGE)
    model = configure("empirical-cdf", {}).fit(gate, HUGE, 10)
    # The record (x, 3) is impossible and counts in neither column; the unknown level only in b.
    assert [one.tolist() for one in model.weights] == [[20, 30, 8], [15, 15, 20, 9]]
    assert [one.value.outside for one in gate.measured] == [2, 1]


def test_a_cost_in_rho_buys_the_exponential_mechanism_of_the_same_cost():
    gate = door(epsilon=1, delta="0.000001")
    spend = Fraction(1, 800)
    gate.ask(CumulativeDistributions([("a",)]), spend=spend)
    (entry,) = gate.ledger
    assert entry.spent == spend
    assert entry.noise == "exp(−distance / 20), the largest error of a cumulative count"  # ε = 0.1
    with pytest.raises(BudgetError, match="next to nothing"):
        gate.ask(CumulativeDistributions([("a",)]), spend=Fraction(1, 10**30))
    assert len(gate.ledger) == 1


def test_shares_can_be_uneven():
    gate = door()
    lines = [("a",), ("b",)]
    released = gate.ask(CumulativeDistributions(lines, weights=[1, 3]), spend=Fraction(1))
    assert [entry.spent for entry in gate.ledger] == [Fraction(1, 4), Fraction(3, 4)]
    assert [one.noise.scale for one in released] == ["8", "8/3"]
    assert [one.entry for one in released] == [1, 2]
    assert [one.entry for one in gate.measured] == [1, 2]


def test_the_number_of_rows_must_be_known_or_limited():
    line = CumulativeDistributions([("a",)])
    gate = door(private())
    with pytest.raises(MethodError, match="not measured yet"):
        gate.ask(line, spend=Fraction(1, 2))
    assert gate.ledger == ()
    gate.ask(RowCount(), spend=Fraction(1, 2))
    gate.ask(line, spend=Fraction(1, 2))
    limited = door(private(row_limit=70))
    (drawn,) = limited.ask(line, spend=Fraction(1))
    assert drawn.value.counts.sum() + drawn.value.outside == 70


@pytest.mark.statistical
def test_a_number_of_rows_that_came_out_too_small_cuts_nothing_off():
    """The rows number 60; with 50 bought at a deviation of 7, up to 78 may be chosen."""
    found, engine = [], Table(FRAME, private())
    for seed in range(300):
        gate = open_gate(engine, Budget.of(40, 0), SeededRandomness(seed))
        if gate.ask(RowCount(), spend=Fraction(1, 5)).value <= 50:
            (drawn,) = gate.ask(CumulativeDistributions([("a",)]), spend=Fraction(30))
            found.append(drawn.value.counts.tolist())
    assert len(found) > 10
    assert found == [[20, 30, 8]] * len(found)


def test_measurements_in_other_bins_say_so():
    gate = door().rebin({"b": 2})
    (drawn,) = gate.ask(CumulativeDistributions([("b",)]), spend=Fraction(1))
    assert drawn.value.bins == {"b": 2}
    assert drawn.value.counts.shape == (2,)


@pytest.mark.parametrize("sets", ["free", "split"])
def test_sets_can_share_a_fit_or_have_their_own(sets):
    release = us.synthesize(
        FRAME, SCHEMA, epsilon=3, method="empirical-cdf", sets=3, options={"sets": sets}
    )
    assert len(release.measurements) == (2 if sets == "free" else 6)
    assert release.guarantee.kind == "pure"
    assert any("distance" in condition for condition in release.guarantee.conditions)
