"""What a population is charged for runs whose choices left a rest that nobody spent."""

from fractions import Fraction

import pytest

from made_ledgers import REQUEST, adults
from understudy.checkpoint.journal import JournalCost, pack
from understudy.dp.accountant import CHOICE, Entry, RunCost
from understudy.dp.budget import gdp_within
from understudy.errors import LedgerError
from understudy.ledger.account import Cost
from understudy.mechanisms.selection import gdp_cost, selection_epsilon
from understudy.workflow.governance import RunSpending

BUDGET = gdp_within(Fraction(1), Fraction(1, 10**6))


def entry(number, spent, mechanism=CHOICE):
    return Entry(number, mechanism, "a choice", "gdp", spent, "score: 1", "", 1)


def alone(price):
    """What a choice costs that was priced with all of the budget left."""
    return float(gdp_cost(selection_epsilon(price, "gdp", rest=BUDGET - price)))


@pytest.mark.parametrize("share", [10, 3])
def test_a_run_that_is_voided_after_a_choice_counts_what_the_choice_cost(ledger, share):
    price = BUDGET / share
    run = ledger.reserve("adults", Cost("gdp", BUDGET, "add_remove"), "release", REQUEST)
    spent = RunSpending(run, cost=RunCost("gdp", BUDGET))
    spent.note(entry(1, price))
    run.void()
    counted = ledger.totals("adults").spent.gdp
    assert float(counted) == pytest.approx(alone(price), rel=1e-6)
    assert price < counted < BUDGET


def test_a_run_that_spends_all_counts_its_budget(ledger):
    run = ledger.reserve("adults", Cost("gdp", BUDGET, "add_remove"), "release", REQUEST)
    spent = RunSpending(run, cost=RunCost("gdp", BUDGET))
    for number in range(1, 11):
        spent.note(entry(number, BUDGET / 10, CHOICE if number % 2 else "noisy table"))
        assert ledger.totals("adults").spent.gdp == 0
    run.commit("cd" * 32)
    assert ledger.totals("adults").spent.gdp == BUDGET


def test_a_killed_run_says_what_it_cost():
    request = {"epsilon": "1", "delta": "1e-6", "accounting": "gdp"}
    words, price = JournalCost(request), BUDGET / 10
    words.add([{"kind": "charge", "entry": pack(entry(1, price))}])
    assert str(words).startswith(f"{-(-100 * Fraction(alone(price)) // BUDGET)} % of ε = 1")


def test_a_cap_in_gaussian_dp_is_never_passed_by_runs_that_end_early(ledger):
    """Each leaves most of its reservation; what is charged in all stays below the cap."""
    made = 0
    ledger.add(adults("others", epsilon=1, delta="1e-6"))
    while made < 20:
        try:
            run = ledger.reserve(
                "others", Cost("gdp", BUDGET / 4, "add_remove"), "release", REQUEST
            )
        except LedgerError:
            break
        spent = RunSpending(run, cost=RunCost("gdp", BUDGET / 4))
        spent.note(entry(1, BUDGET / 40))
        run.void()
        made += 1
    assert made > 5
    assert ledger.totals("others").spent.gdp <= BUDGET
