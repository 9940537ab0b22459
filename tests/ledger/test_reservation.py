"""Runs that reserve, charge and end: what counts, and what is refused in which order."""

import os
from fractions import Fraction

import pytest

from made_ledgers import JOURNAL, RELEASE, REQUEST, adults, pure
from understudy.errors import LedgerError
from understudy.ledger.ledger import PopulationLedger
from understudy.ledger.reservation import Standing


def reserve(ledger, amount="1/2", what="release"):
    return ledger.reserve("adults", pure(amount), what, REQUEST, by="Ann")


def spent(ledger):
    totals = ledger.totals("adults")
    return totals.spent.pure, totals.reserved.pure


def test_a_reservation_counts_whole_until_it_is_settled(ledger):
    run = reserve(ledger)
    assert spent(ledger) == (0, Fraction(1, 2))
    assert run.charge(Fraction(1, 4), JOURNAL) == 1
    assert run.charge(Fraction(1, 3)) == 2
    assert spent(ledger) == (0, Fraction(1, 2))
    run.commit(RELEASE)
    assert spent(ledger) == (Fraction(1, 3), 0)
    assert ledger.totals("adults").epsilon == Fraction(1, 3)


def test_an_earlier_run_is_gone_on_with_by_its_number(ledger):
    number = reserve(ledger).number
    ledger.reservation(number).charge(Fraction(1, 4), JOURNAL)
    run = PopulationLedger.open(ledger.place).reservation(number)
    assert (run.state, run.request, run.charges) == ("open", REQUEST, 1)
    assert (run.spent, run.anchor) == (Fraction(1, 4), JOURNAL)
    run.charge(Fraction(1, 2))
    run.void()
    assert run.standing == Standing("void", 2, Fraction(1, 2), "", "")
    assert spent(ledger) == (Fraction(1, 2), 0)


@pytest.mark.parametrize("amount", [Fraction(1, 5), Fraction(51, 100), 0.5, "1/2", None])
def test_a_charge_neither_falls_nor_passes_what_is_reserved(ledger, amount):
    run = reserve(ledger)
    run.charge(Fraction(1, 4))
    with pytest.raises(LedgerError, match="othing may be computed"):
        run.charge(amount)
    assert run.charges == 1


def test_voiding_is_safe_while_a_run_lives(ledger):
    run = reserve(ledger)
    run.charge(Fraction(1, 4))
    PopulationLedger.open(ledger.place).reservation(run.number).void(by="Bob")
    with pytest.raises(LedgerError, match="is void"):
        run.charge(Fraction(1, 2))
    with pytest.raises(LedgerError, match="is void"):
        run.commit(RELEASE)
    run.void()
    assert spent(ledger) == (Fraction(1, 4), 0)


def test_a_release_made_again_is_committed_again(ledger):
    run = reserve(ledger)
    run.charge(Fraction(1, 4))
    run.commit(RELEASE)
    before = ledger.head
    run.commit(RELEASE)
    assert ledger.head == before
    run.commit("12" * 32)
    assert run.standing == Standing("committed", 1, Fraction(1, 4), "", "12" * 32)
    with pytest.raises(LedgerError, match="is committed"):
        run.charge(Fraction(1, 2))
    with pytest.raises(LedgerError, match="is committed"):
        run.void()
    assert spent(ledger) == (Fraction(1, 4), 0)
    assert ledger.verify(before) == []


def test_what_is_reserved_beyond_a_cap_leaves_no_trace(ledger):
    before = ledger.head
    with pytest.raises(LedgerError, match="nothing was entered"):
        reserve(ledger, "4")
    for bad in ({"what": "sale"}, {"request": "AB" * 32}, {"cost": None}, {"by": "a\nb"}):
        asked = {"name": "adults", "cost": pure(1), "what": "release", "request": REQUEST} | bad
        with pytest.raises(LedgerError):
            ledger.reserve(**asked)
    assert ledger.head == before


def test_what_is_internal_costs_nothing_until_it_is_published(ledger):
    number = ledger.internal("adults", "map of methods", pure("2"), by="Ann")
    endless = ledger.internal("adults", "risk of a release", None)
    totals = ledger.totals("adults")
    assert (totals.spent.pure, totals.internal.pure) == (0, None)
    run = reserve(ledger, "3/2")
    with pytest.raises(LedgerError, match="is left"):
        ledger.publish(number)
    run.void()
    ledger.publish(number)
    assert spent(ledger) == (2, 0)
    for refused in (number, endless):
        with pytest.raises(LedgerError, match="cannot be published"):
            ledger.publish(refused)
    for none in (1, run.number, 99, True, -1, 10**30):
        with pytest.raises(LedgerError, match="no internal entry"):
            ledger.publish(none)


def test_populations_do_not_share_their_caps(ledger):
    ledger.add(adults("adults of 2024", neighbours="replace", pure=1))
    reserve(ledger, "3")
    run = ledger.reserve("adults of 2024", pure("1/2"), "question", REQUEST)
    run.charge(Fraction(1, 3))
    run.commit(RELEASE)
    totals = ledger.totals("adults of 2024")
    assert totals.spent.pure == Fraction(2, 3)  # removed and added
    with pytest.raises(LedgerError, match="took their number as public"):
        ledger.reserve("adults", pure("1/9", "replace"), "release", REQUEST)


def test_a_ledger_that_went_away_or_was_put_back_stops_a_run(ledger, tmp_path):
    copy = (tmp_path / "people.ledger").read_bytes()
    run = reserve(ledger)
    run.charge(Fraction(1, 4))
    (tmp_path / "people.ledger").write_bytes(copy)
    reserve(ledger, "1/3")  # another run gets the same number
    with pytest.raises(LedgerError, match="was put back from a copy"):
        run.charge(Fraction(1, 3))
    os.replace(PopulationLedger.create(tmp_path / "new").place, ledger.place)
    with pytest.raises(LedgerError, match="another one than was opened"):
        run.charge(Fraction(1, 3))
    os.remove(ledger.place)
    with pytest.raises(LedgerError, match="is not there"):
        run.charge(Fraction(1, 3))
    assert not os.path.exists(ledger.place)
