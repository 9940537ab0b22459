"""A plan in place of the gate: it prices and notes, knows no answer, and writes no table out."""

import tracemalloc
from fractions import Fraction

import pytest

import understudy as us
from understudy.dp.budget import Budget
from understudy.errors import BudgetError, MethodError
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.plan import PlanningGate

BUDGET = Budget.of(1, 0)


def schema(columns, states):
    levels = [f"l{k}" for k in range(states)]
    text = 'rows = "private"\n'
    for j in range(columns):
        text += f'[columns.x{j}]\nkind = "categorical"\nlevels = {levels}\nreviewed = true\n'
    return us.Schema.loads(text)


def test_what_is_asked_is_noted_in_order_and_in_the_bins_that_it_is_asked_in():
    gate = PlanningGate(schema(3, 4), BUDGET)
    gate.ask(NoisyTables([("x0",), ("x1", "x2")], noise="geometric"), spend=Fraction(1, 2))
    gate.rebin({}).ask(NoisyTables([("x2",)], noise="geometric"), spend=Fraction(1, 4))
    assert [step.columns for step in gate.steps] == [("x0",), ("x1", "x2"), ("x2",)]
    assert [step.n_cells for step in gate.steps] == [5, 17, 5]
    assert [step.share for step in gate.steps] == [Fraction(1, 4)] * 3


def test_it_has_no_answers_and_does_not_know_the_number_of_rows():
    gate = PlanningGate(schema(1, 2), BUDGET)
    assert gate.ask(NoisyTables([("x0",)], noise="geometric"), spend=Fraction(1)) is None
    with pytest.raises(MethodError, match="does not know the number of rows"):
        _ = gate.n_rows


def test_it_refuses_what_the_budget_cannot_pay():
    gate = PlanningGate(schema(1, 2), BUDGET)
    with pytest.raises(BudgetError):
        gate.require(Fraction(2))
    with pytest.raises(BudgetError):
        gate.ask(NoisyTables([("x0",)], noise="geometric"), spend=Fraction(2))
    assert gate.steps == []


@pytest.mark.parametrize(
    ("method", "columns", "states"), [("laplace", 5, 32), ("independent", 200, 3)]
)
def test_a_plan_writes_no_table_out(method, columns, states):
    """The full table of five columns has 2²⁵ cells, which would take 268 MB."""
    public, options = schema(columns, states), {"form": "dense"} if method == "laplace" else {}
    tracemalloc.start()
    plan = us.plan(public, epsilon=1, method=method, options=options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert max(step.n_cells for step in plan.tables) == (2**25 + 1 if method == "laplace" else 4)
