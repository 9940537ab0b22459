"""Selections with δ in a population: a part of their own, counted exactly and checked again."""

import json
import math
from fractions import Fraction as F
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_ledgers import JOURNAL, RELEASE, REQUEST, adults, altered, pure
from night import NIGHT
from understudy.dp.budget import epsilon_of, rho_within
from understudy.errors import BudgetError, LedgerError
from understudy.ledger.account import Account, Amounts, Caps, Cost, Population
from understudy.ledger.entries import canonical, describe_entries, link
from understudy.ledger.ledger import PopulationLedger
from understudy.ledger.verify import export, verify_export

CAP = {"epsilon": 2, "delta": "1e-6", "accounting": "zcdp"}
PART = {"selection_epsilon": 3, "selection_delta": "1e-7"}


def selection(epsilon, delta, neighbours="add_remove"):
    return Cost("pure", F(epsilon), neighbours, F(delta))


def rho(amount):
    return Cost("zcdp", F(amount), "add_remove")


def fits(account, asked):
    try:
        account.require(asked)
    except LedgerError:
        return False
    return True


@pytest.fixture
def ledger(tmp_path):
    made = PopulationLedger.create(tmp_path / "people.ledger")
    made.add(adults(**CAP, **PART))
    return made


@settings(max_examples=80 if NIGHT else 30, derandomize=True, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.builds(
                selection,
                st.fractions(F(1, 10), 2, max_denominator=10),
                st.fractions(F(1, 10**8), F(1, 10**7), max_denominator=10**8),
            ),
            st.builds(rho, st.fractions(F(1, 1000), F(1, 10), max_denominator=1000)),
            st.builds(pure, st.fractions(F(1, 50), 1, max_denominator=50)),
        ),
        max_size=8,
    )
)
def test_what_fits_is_what_exact_sums_allow_of_each_part(steps):
    """Neither part lends to the other: a full one changes nothing in the other."""
    account, counted = Account(adults(**CAP, **PART)), []
    whole = rho_within(F(2), F(1, 10**6))
    for number, asked in enumerate(steps):
        every = [*counted, asked]
        own = [one for one in every if one.delta]
        usual = [one.amounts for one in every if not one.delta]
        total = sum(usual, Amounts())
        allowed = (
            sum(one.amount for one in own) <= 3
            and sum(one.delta for one in own) <= F(1, 10**7)
            and (total.zcdp <= whole or (total.pure is not None and total.pure <= 2))
        )
        assert fits(account, asked) == allowed
        if allowed:
            account.reserve(number, asked)
            counted.append(asked)
    found = account.totals().reserved
    assert found.selected == sum(one.amount for one in counted if one.delta)
    assert found.delta == sum(one.delta for one in counted if one.delta)


def test_the_order_of_costs_does_not_matter():
    costs = [selection(1, "1/30000000"), rho("1/50"), selection("1/3", "1/90000000"), pure("1/9")]
    ends = set()
    for order in permutations(costs):
        account = Account(adults(**CAP, **PART))
        for number, one in enumerate(order):
            account.require(one)
            account.reserve(number, one)
        totals = account.totals()
        ends.add((totals.reserved, totals.epsilon, totals.delta))
    assert len(ends) == 1
    ((reserved, epsilon, delta),) = ends
    assert (reserved.selected, reserved.delta) == (F(4, 3), F(4, 90000000))
    assert delta == F(1, 10**6) + F(4, 90000000)
    assert epsilon == F(4, 3) + epsilon_of(reserved.zcdp, F(1, 10**6))


def worst(epsilon, delta):
    """Laws of an answer on two tables of which no others with these ε and δ are easier told."""
    kept = (1 - delta) * np.array([math.exp(epsilon), 1]) / (1 + math.exp(epsilon))
    return np.array([*kept, delta, 0]), np.array([*kept[::-1], 0, delta])


def excess(one, other, epsilon):
    """Least δ of two laws at an ε."""
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


def test_the_bound_holds_where_a_selection_follows_noise_and_noise_a_selection():
    """Worst selections and Gaussian steps on a grid, what is asked second chosen by the first."""
    usual, delta, own, own_delta = 0.5, 1e-3, 0.7, 1e-3
    amount = float(rho_within(F(usual), F(delta)))
    grid = np.linspace(-12, 12, 1201)
    mu = math.sqrt(2 * amount)
    noise = [np.exp(-((grid - mean) ** 2) / 2) for mean in (mu, 0.0)]
    noise = [one / one.sum() for one in noise]
    nothing = np.array([0, 0, 0, 0, 1.0])
    choice = [np.append(one, 0) for one in worst(own, own_delta)]
    for bar in (-1.0, 0.5, 2.0):
        spends = grid > bar
        first = [
            n[:, None] * np.where(spends[:, None], c, nothing)
            for n, c in zip(noise, choice, strict=True)
        ]
        assert excess(*first, usual + own) <= delta + own_delta
    silent = np.eye(1, len(grid))[0]
    for told_ in range(4):
        after = [
            np.stack([p * (n if k == told_ else silent) for k, p in enumerate(c[:4])])
            for n, c in zip(noise, choice, strict=True)
        ]
        assert excess(*after, usual + own) <= delta + own_delta
    both = [n[:, None] * c[:4] for n, c in zip(noise, choice, strict=True)]
    assert excess(*both, usual + own) > 1.05 * delta  # without the δ of selections it is no bound


def test_for_replaced_records_both_grow_and_the_delta_is_rounded_up():
    one, other = worst(0.7, 1e-3)
    cost = selection("0.7", "0.001").under("replace")
    assert cost.amount == F(7, 5)
    assert F(math.exp(0.7)) < cost.delta / F(1, 1000) - 1 < F(math.exp(0.7)) * (1 + F(1, 10**8))
    steps = [np.outer(one, one), np.outer(other, other)]
    assert excess(*steps, 1.4) <= float(cost.delta)
    with pytest.raises(LedgerError, match="promises nothing"):
        selection(30, "0.001").under("replace")
    with pytest.raises(LedgerError, match="promises nothing"):
        selection(10**6, "0.001").under("replace")


def test_populations_without_a_part_refuse_and_say_what_would_do():
    for caps in ({"pure": 9}, {"rho": 9}, {"mu": 9}, {"epsilon": 9, "delta": "1e-3"}):
        with pytest.raises(LedgerError, match=r"no part for selections with δ.*selection-epsilon"):
            Account(adults(**caps)).require(selection(1, "1/10000000"))


def test_a_part_that_would_be_passed_is_refused_with_what_is_left(ledger):
    ledger.reserve("adults", selection(2, "1/20000000"), "release", REQUEST)
    said = r"Only ε = 1 with δ = 0.00000005 is left.*ε = 1.5 with δ = 0.00000001 was asked"
    with pytest.raises(LedgerError, match=said):
        ledger.reserve("adults", selection("3/2", "1/100000000"), "release", REQUEST)
    with pytest.raises(LedgerError, match="is left"):
        ledger.reserve("adults", selection("1/2", "1/10000000"), "release", REQUEST)
    ledger.reserve("adults", selection(1, "1/20000000"), "release", REQUEST)
    ledger.reserve("adults", rho(rho_within(F(2), F(1, 10**6))), "release", REQUEST)
    assert ledger.verify() == []


def test_a_part_of_selections_stands_beside_a_cap_of_epsilon_and_delta_alone():
    both = Caps.of(**CAP, **PART)
    assert both.words[-1] == "ε = 3 with δ = 0.0000001 for selections (added to the former)"
    population = Population("adults", "adult", "board", "add_remove", both)
    assert Population.from_json(population.to_json()) == population
    for odd in ({"rho": 1}, {"pure": 1}, {"mu": 1}, {**CAP, "rho": 1}):
        with pytest.raises(LedgerError, match="no cap in pure ε"):
            Caps.of(**odd, **PART)
    for odd in ({"selection_epsilon": 1}, {"selection_delta": "1e-7"}):
        with pytest.raises(LedgerError, match="give both"):
            Caps.of(**CAP, **odd)
    with pytest.raises(LedgerError, match="give both"):
        Caps.of(**CAP, selection_epsilon=1, selection_delta=0)
    with pytest.raises(BudgetError):
        Caps.of(**CAP, selection_epsilon=1, selection_delta=1)


@pytest.mark.parametrize(("kind", "delta"), [("zcdp", F(1, 9)), ("gdp", F(1, 9)), ("pure", F(1))])
def test_a_delta_is_one_of_a_selection(kind, delta):
    with pytest.raises(LedgerError, match="one of a selection"):
        Cost(kind, F(1), "add_remove", delta)


def test_a_selection_is_charged_whole_and_settles_to_all_or_nothing(ledger):
    run = ledger.reserve("adults", selection(1, "1/20000000"), "release", REQUEST)
    with pytest.raises(LedgerError, match="charged whole"):
        run.charge(F(1, 2), JOURNAL)
    run.charge(F(1), JOURNAL)
    run.commit(RELEASE)
    ledger.reserve("adults", selection(1, "1/40000000"), "release", REQUEST).void()
    totals = ledger.totals("adults")
    assert totals.spent == Amounts(selected=F(1), delta=F(1, 20000000))
    assert totals.reserved == Amounts()
    assert totals.epsilon == 1
    assert [share.spent for share in totals.shares()] == [0, 0.5]
    assert totals.to_json()["spent"]["selected_delta"] == "0.00000005"
    assert any(
        "ε = 1 with δ = 0.00000005" in one.about for one in describe_entries(ledger.history())
    )


def test_a_wave_opens_its_part_of_it():
    account = Account(
        Population("panel", "adult", "board", "add_remove", Caps.of(**CAP, **PART), 2)
    )
    assert fits(account, selection("3/2", "1/20000000"))
    assert not fits(account, selection("8/5", "1/20000000"))
    assert not fits(account, selection(1, "1/10000000"))
    account.open_wave()
    assert fits(account, selection(3, "1/10000000"))


def test_what_stays_inside_is_published_within_the_part(ledger):
    first = ledger.internal("adults", "map", selection(2, "1/20000000"))
    second = ledger.internal("adults", "map", selection(2, "1/20000000"))
    ledger.publish(first)
    with pytest.raises(LedgerError, match="Only ε = 1"):
        ledger.publish(second)
    assert ledger.totals("adults").internal == Amounts(selected=F(2), delta=F(1, 20000000))
    assert ledger.verify() == []


def rewritten(ledger, number, change):
    """All entries from one on written anew with their hashes, so that only rules can tell."""
    rows, previous, statements = ledger.history(), None, []
    for row in rows:
        said = json.loads(row.public)
        if row.number == number:
            change(said)
        public = canonical(said)
        before = row.previous if previous is None else previous
        previous = link(before, public, row.private_digest)
        values = (public, before, previous, row.number)
        sql = "UPDATE entries SET public = ?, previous = ?, hash = ? WHERE number = ?"
        statements.append((sql, values))
    altered(ledger, *statements)


def test_entries_that_say_less_are_found_by_their_rules(ledger):
    run = ledger.reserve("adults", selection(2, "1/20000000"), "release", REQUEST)
    run.charge(F(2), JOURNAL)
    run.commit(RELEASE)
    ledger.reserve("adults", selection(1, "1/20000000"), "release", REQUEST)
    assert ledger.verify() == []
    data = export(ledger.history(), ledger.head)
    assert verify_export(data) == []
    rewritten(ledger, 4, lambda said: said.update(spent="1"))
    assert "Entry 4 charges a part of a selection." in ledger.verify()


@pytest.mark.parametrize(
    ("entry", "change", "said"),
    [
        (6, lambda cost: cost.update(delta="1/10000000"), "breaks a cap"),
        (6, lambda cost: cost.update(amount="2"), "breaks a cap"),
        (6, lambda cost: cost.update(delta="2/20000000"), "cannot be read"),
        (6, lambda cost: cost.update(accounting="zcdp"), "cannot be read"),
        (6, lambda cost: cost.update(delta="0"), "cannot be read"),
        (6, lambda cost: cost.pop("delta"), ""),
    ],
)
def test_costs_that_are_altered_with_all_hashes_are_held_against_the_caps(
    ledger, entry, change, said
):
    """Without its δ the last one is an ordinary pure cost, which fits: a kept head tells that."""
    run = ledger.reserve("adults", selection(2, "1/20000000"), "release", REQUEST)
    run.charge(F(2), JOURNAL)
    run.commit(RELEASE)
    ledger.reserve("adults", selection(1, "1/20000000"), "release", REQUEST)
    head = ledger.head
    rewritten(ledger, entry, lambda row: change(row["cost"]))
    faults = ledger.verify()
    assert bool(faults) == bool(said)
    assert not said or any(f"Entry {entry}" in one and said in one for one in faults)
    assert ledger.verify(head)
