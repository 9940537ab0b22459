"""Caps as filters, against a model that adds everything up from the start."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_ledgers import adults, pure
from night import NIGHT
from understudy.dp.budget import gdp_within, rho_within
from understudy.errors import LedgerError
from understudy.ledger.account import ACCOUNTINGS, Account, Caps, Cost, Population
from understudy.ledger.ledger import PopulationLedger

DELTA = "1e-6"


def cost(accounting, amount):
    return Cost(accounting, Fraction(amount), "add_remove")


def fits(account, asked):
    try:
        account.require(asked)
    except LedgerError:
        return False
    return True


def test_pure_steps_fill_a_cap_with_delta_up_to_its_epsilon():
    """By their amounts in GDP less would fit; the other way to keep the cap is as good."""
    account = Account(adults(epsilon=1, delta=DELTA))
    for number in range(10):
        account.require(pure("1/10"))
        account.reserve(number, pure("1/10"))
    assert not fits(account, pure(Fraction(1, 10**9)))
    assert not fits(account, cost("gdp", Fraction(1, 10**9)))
    assert account.totals().epsilon == 1


def test_many_small_pure_steps_fill_it_by_their_amounts():
    account = Account(adults(epsilon=1, delta=DELTA))
    steps = 0
    while fits(account, pure("1/50")):
        account.reserve(steps, pure("1/50"))
        steps += 1
    assert steps > 50 < 1.5 * steps
    assert account.totals().reserved.gdp <= gdp_within(Fraction(1), Fraction(DELTA))


def test_the_ways_to_keep_a_cap_are_not_mixed():
    """Half of ε in pure steps and half of the amount in Gaussian ones is in neither way."""
    whole = gdp_within(Fraction(1), Fraction(DELTA))
    account = Account(adults(epsilon=1, delta=DELTA))
    account.reserve(1, pure("1/2"))
    assert not fits(account, cost("gdp", whole))
    assert fits(account, cost("gdp", whole / 100)) == (
        account.totals().reserved.gdp + whole / 100 <= whole
    )
    assert fits(Account(adults(epsilon=1, delta=DELTA)), cost("gdp", whole))
    assert not fits(Account(adults(epsilon=1, delta=DELTA)), cost("gdp", whole * 2))


def test_a_cap_is_kept_in_one_accounting():
    gaussian, concentrated = (
        Account(adults(epsilon=1, delta=DELTA, accounting=kept)) for kept in ("gdp", "zcdp")
    )
    whole = rho_within(Fraction(1), Fraction(DELTA))
    with pytest.raises(LedgerError, match="take a method that keeps its budget in Gaussian DP"):
        gaussian.require(cost("zcdp", whole / 10**6))
    concentrated.require(cost("zcdp", whole))
    assert not fits(concentrated, cost("gdp", gdp_within(Fraction(1), Fraction(DELTA))))


def test_a_refusal_says_cap_rest_and_what_was_asked():
    account = Account(adults(pure=1, rho=2))
    account.reserve(1, pure("3/4"))
    said = r"cap ε = 1\. Only ε = 0.25 is left.* ε = 0.5 was asked; nothing was entered"
    with pytest.raises(LedgerError, match=said):
        account.require(pure("1/2"))
    with pytest.raises(LedgerError, match="no finite cost in pure ε; ask for δ = 0"):
        account.require(cost("gdp", "1/100"))
    with pytest.raises(LedgerError, match="more than nothing"):
        account.require(pure(0))


CAPS = st.sampled_from(
    [
        {"pure": 2},
        {"rho": 1},
        {"mu": 1},
        {"epsilon": 2, "delta": DELTA},
        {"epsilon": 2, "delta": DELTA, "accounting": "zcdp", "rho": "1/5"},
    ]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ACCOUNTINGS),
        st.fractions(Fraction(1, 50), 1, max_denominator=50),
        st.fractions(0, 1, max_denominator=10),
        st.sampled_from(["open", "settle", "publish"]),
    ),
    max_size=30,
)


def kept(population, counted):
    """Whether costs, each as it counts, keep every cap; added up one by one."""
    sums = {unit: [one.amounts.of(unit) for one in counted] for unit in ACCOUNTINGS}
    totals = {unit: None if None in of else sum(of) for unit, of in sums.items()}
    caps, ways = population.caps, []
    if caps.pure:
        ways.append([("pure", caps.pure)])
    if caps.rho:
        ways.append([("zcdp", caps.rho)])
    if caps.mu:
        ways.append([("gdp", caps.mu**2 / 2)])
    if one := caps.approximate:
        within = (gdp_within if one.accounting == "gdp" else rho_within)(one.epsilon, one.delta)
        ways.append([(one.accounting, within), ("pure", one.epsilon)])
    return all(
        any(totals[unit] is not None and totals[unit] <= limit for unit, limit in either)
        for either in ways
    )


@settings(max_examples=60 if NIGHT else 25, derandomize=True, deadline=None)
@given(CAPS, STEPS)
def test_nothing_that_fits_overspends_and_nothing_else_is_refused(caps, steps):
    account = Account(adults(**caps))
    counted: dict[int, Cost] = {}
    for number, (accounting, amount, share, end) in enumerate(steps):
        asked = cost(accounting, amount)
        allowed = kept(account.population, [*counted.values(), asked])
        assert fits(account, asked) == allowed
        if end == "publish":
            account.keep_inside(number, asked)
            if allowed:
                assert account.require_publishable(number) == asked
                account.publish(number)
                counted[number] = asked
        elif allowed:
            account.reserve(number, asked)
            counted[number] = asked
            if end == "settle":
                account.settle(number, amount * share)
                counted[number] = cost(accounting, amount * share)
    assert kept(account.population, counted.values())


def test_each_wave_opens_its_part_of_the_cap(tmp_path):
    ledger = PopulationLedger.create(tmp_path / "ledger")
    ledger.add(Population("panel", "adult", "board", "add_remove", Caps.of(pure=3), waves=3))

    def spend(epsilon):
        cost = Cost("pure", Fraction(epsilon), "add_remove")
        run = ledger.reserve("panel", cost, "release", request="ab" * 32)
        run.charge(cost.amount)
        run.commit("cd" * 32)

    spend("0.5")
    with pytest.raises(LedgerError, match="1 of 3 waves open"):
        spend("0.75")
    assert ledger.open_wave("panel", by="board") == 2
    spend("1.5")  # what the first wave left is there for the second
    with pytest.raises(LedgerError, match="0 is left"):
        spend("0.001")
    assert ledger.open_wave("panel") == 3
    with pytest.raises(LedgerError, match="all are open"):
        ledger.open_wave("panel")
    spend("1")
    assert (ledger.totals("panel").wave, ledger.totals("panel").spent.pure) == (3, 3)
    assert ledger.verify() == []


@pytest.mark.parametrize("waves", [0, -1, 1.0, True, 2000, "3"])
def test_a_number_of_waves_is_whole(waves):
    with pytest.raises(LedgerError, match="waves"):
        Population("panel", "adult", "board", "add_remove", Caps.of(pure=3), waves)
