"""Whatever is done to entries is found: one by one for a ledger with entries of every kind."""

import json
import random
import re
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from itertools import combinations

import pytest

from made_ledgers import RELEASE, altered, pure
from night import NIGHT
from understudy._storage import make_key
from understudy.errors import LedgerError, SignatureError
from understudy.ledger.entries import link
from understudy.ledger.ledger import PopulationLedger
from understudy.ledger.verify import (
    export,
    faults_of,
    head_faults,
    head_json,
    read_head,
    verify_export,
)

LAST = 12


@pytest.fixture
def copy(lived, tmp_path):
    """Makes a copy of the ledger with its file altered."""

    def made(*statements):
        shutil.copy(lived.place, tmp_path / "copy")
        one = PopulationLedger.open(tmp_path / "copy")
        altered(one, *statements)
        return one

    return made


def test_a_ledger_as_it_was_written_has_no_fault(lived, copy):
    head, rows = lived.snapshot()
    assert head.number == len(rows) == LAST
    assert {row.kind for row in rows} == {
        *("ledger", "population", "reserve", "charge"),
        *("commit", "void", "internal", "publish"),
    }
    assert lived.verify(head) == copy().verify(head) == []
    assert verify_export(json.loads(json.dumps(export(rows, head))), head) == []


def found(one, head):
    """Whether anything is said, by itself or against a head."""
    try:
        return one.verify(head)
    except LedgerError as error:
        return [str(error)]


@pytest.mark.parametrize("number", range(1, LAST + 1))
def test_a_removed_entry_is_found(copy, lived, number):
    head = lived.head
    said = found(copy(("DELETE FROM entries WHERE number = ?", (number,))), head)
    if number in {1, LAST}:  # nothing is left to open, or nothing stands after it
        assert "altered at entry 1" in said[0] or "ends at entry 11" in said[0]
    else:
        assert said[0] == f"Entry {number} is missing."
    closed = [
        ("DELETE FROM entries WHERE number = ?", (number,)),
        ("UPDATE entries SET number = -number WHERE number > ?", (number,)),
        ("UPDATE entries SET number = -number - 1 WHERE number < 0", ()),
    ]
    assert found(copy(*closed), head)


def test_swapped_and_repeated_entries_are_found(lived):
    """Of the rows themselves: every pair, every place."""
    head, rows = lived.snapshot()
    parts = [vars(row) for row in rows]
    kind = type(rows[0])
    for a, b in combinations(range(LAST), 2):
        swapped = list(parts)
        swapped[a], swapped[b] = {**parts[b], "number": a + 1}, {**parts[a], "number": b + 1}
        said = faults_of([kind(**one) for one in swapped])
        assert f"Entry {a + 1} was entered as number {b + 1}: it was moved or repeated." in said
        moved = export([kind(**one) for one in (*parts[:a], parts[b], *parts[a:])], head)
        assert verify_export(moved)
    for a in range(LAST):
        assert faults_of([*rows, kind(**{**parts[a], "number": LAST + 1})])
        assert faults_of([*rows[: a + 1], rows[a], *rows[a + 1 :]])


@pytest.mark.parametrize("column", ["population", "kind", "about", "public", "private", "previous"])
def test_every_altered_column_of_every_entry_is_found(copy, lived, column):
    head = lived.head
    for number in range(1, LAST + 1):
        change = f"UPDATE entries SET {column} = {column} || '1' WHERE number = ?"
        said = found(copy((change, (number,))), head)
        assert said, number
        assert re.search(rf"ntry {number}\b", said[0])


def rewritten(rows, number, **change):
    """A ledger written anew: one entry changed, and every hash made to fit."""
    previous, found = "0" * 64, []
    for row in rows:
        public = row.public
        if row.number == number:
            public = json.dumps(json.loads(public) | change, sort_keys=True, separators=(",", ":"))
        values = vars(row) | {"public": public, "previous": previous}
        previous = link(previous, public, row.private_digest)
        found.append(type(row)(**values | {"hash": previous}))
    return found


def test_a_chain_that_was_written_anew_is_found_by_a_head_alone(lived):
    head, rows = lived.snapshot()
    for number in range(1, LAST + 1):
        forged = rewritten(rows, number, date="2001-01-01")
        assert faults_of(forged) == []
        assert head_faults(forged, head) == [
            "Entry 12 is not the one that the head names: the ledger was written anew, from there "
            "or from before."
        ]
    assert "ends at entry 7" in head_faults(rows[:7], head)[0]
    assert head_faults(PopulationLedger.create(lived.place + "2").history(), head) == [
        "The head is of another ledger."
    ]


@pytest.mark.parametrize(
    ("number", "change", "said"),
    [
        (3, {"cost": {"accounting": "pure", "amount": "3", "neighbours": "add_remove"}}, "cap"),
        (3, {"cost": {"accounting": "pure", "amount": "1/4", "neighbours": "add_remove"}}, "more"),
        (4, {"charge": 2}, "no charge that follows"),
        (5, {"spent": "1/5"}, "no charge that follows"),
        (5, {"reservation": 6}, "was not there"),
        (9, {"spent": "0"}, "another sum"),
        (10, {"kind": "void"}, "cannot be read"),
        (11, {"population": "others"}, "population that was not there"),
    ],
)
def test_rules_are_checked_even_where_the_chain_fits(lived, number, change, said):
    rows = rewritten(lived.history(), number, **change)
    faults = faults_of([type(row)(**vars(row) | _found_by(row)) for row in rows])
    assert any(said in fault for fault in faults), faults


def _found_by(row):
    public = json.loads(row.public)
    about = public.get("reservation", public.get("internal", 0))
    return {"population": public["population"], "kind": public["kind"], "about": about}


def test_bits_of_the_file_that_flip(lived, tmp_path):
    """Found by a head, or in bytes that hold nothing: then all reads as before."""
    head, rows = lived.snapshot()
    whole = (tmp_path / "people.ledger").read_bytes()
    source = random.Random(5)
    noticed = 0
    for _ in range(120 if NIGHT else 60):
        damaged = bytearray(whole)
        damaged[source.randrange(len(whole))] ^= 1 << source.randrange(8)
        (tmp_path / "flipped").write_bytes(damaged)
        try:
            one = PopulationLedger.open(tmp_path / "flipped")
            said = one.verify(head)
            same = one.snapshot() == (head, rows)
        except LedgerError:
            said, same = ["refused"], False
        assert said or same
        noticed += bool(said)
    assert noticed > (20 if NIGHT else 10)


def test_guards_of_the_file_refuse_and_their_loss_is_noticed(lived, tmp_path):
    with closing(sqlite3.connect(lived.place)) as connection:
        for statement in (
            "UPDATE entries SET hash = '' WHERE number = 3",
            "DELETE FROM entries WHERE number = 12",
            "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE number = 3",
            "INSERT INTO entries SELECT 13, population, kind, about, public, private, '', hash "
            "FROM entries WHERE number = 3",
            "INSERT INTO entries SELECT 14, population, kind, about, public, private, hash, hash "
            "FROM entries WHERE number = 12",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="entries are"):
                connection.execute(statement)
        connection.execute("DROP TRIGGER entries_stay")
        connection.commit()
    with pytest.raises(LedgerError, match="not guarded as it was made"):
        lived.totals("adults")


def test_an_altered_end_refuses_new_entries(copy):
    one = copy(("UPDATE entries SET private = '{}' WHERE number = ?", (LAST,)))
    with pytest.raises(LedgerError, match="was altered at entry 12"):
        one.reservation(3).commit("12" * 32)
    assert one.verify() == ["Entry 12 was altered: it does not have its hash."]


def test_heads_are_signed_and_read_strictly(lived, tmp_path):
    head, rows = lived.snapshot()
    public = make_key(tmp_path / "key")
    signed = head_json(head, tmp_path / "key")
    assert read_head(signed) == read_head(signed, public) == read_head(head_json(head)) == head
    assert verify_export(export(rows, head, tmp_path / "key"), head, public) == []
    with pytest.raises(SignatureError, match="not of this text"):
        read_head(signed | {"number": 11})
    with pytest.raises(SignatureError, match="another key"):
        read_head(signed, "00" * 32)
    with pytest.raises(SignatureError, match="not signed"):
        read_head(head_json(head), public)
    for bad in (None, [], {}, {"head": 1}, signed | {"number": True}, signed | {"hash": "zz"}):
        with pytest.raises(LedgerError, match="no head of a ledger"):
            read_head(bad)
    for bad in ({}, [], {"format": 1, "head": {}, "entries": [{}]}):
        with pytest.raises(LedgerError):
            verify_export(bad)


def test_an_export_has_no_times_and_cannot_be_shortened_unseen(lived):
    head, rows = lived.snapshot()
    text = json.dumps(export(rows, head))
    assert all(row.time and row.time[10:] not in text for row in rows)
    assert "nonce" not in text
    assert RELEASE in text
    shorter = json.loads(text)
    shorter["entries"].pop()
    assert "ends at entry 11" in verify_export(shorter)[0]
    longer = export(rows, type(head)(head.ledger, 11, rows[10].hash))
    assert "more entries than its head" in verify_export(longer)[0]


@pytest.mark.parametrize("kind", ["commit", "void", "reserve", "charge", "population", "internal"])
@pytest.mark.parametrize("rehashed", [False, True])
def test_nothing_is_spent_from_an_altered_ledger(copy, lived, kind, rehashed):
    """Whether its own hash was left or made anew: the next entry still follows the old one."""
    rows = [row for row in lived.history() if row.kind == kind]
    row = rows[0]
    public = row.public.replace('"1/2"', '"1/1000"').replace('"1/3"', '"1/1000"')
    public = public.replace('"by":"', '"by":"B')
    assert public != row.public
    own = link(row.previous, public, row.private_digest) if rehashed else row.hash
    change = "UPDATE entries SET public = ?, hash = ? WHERE number = ?"
    one = copy((change, (public, own, row.number)))
    asked = [
        lambda: one.totals("adults"),
        lambda: one.require("adults", pure("1/100")),
        lambda: one.reserve("adults", pure("1/100"), "release", "12" * 32),
        lambda: one.publish(10),
        lambda: one.reservation(12),
        lambda: one.knows("adults", RELEASE),
    ]
    for ask in asked:
        with pytest.raises(LedgerError, match="was altered at entry"):
            ask()
    assert len(one.history()) == LAST


def test_a_ledger_that_is_altered_between_two_runs_is_found_by_the_second(ledger):
    """Nothing is remembered of a ledger that was whole before."""
    for _ in range(2):
        run = ledger.reserve("adults", pure("1/2"), "release", "ab" * 32)
        run.charge(Fraction(1, 2))
        run.commit(RELEASE)
    lower = """UPDATE entries SET public = replace(public, '"1/2"', '"1/9"') WHERE number = 3"""
    altered(ledger, (lower,))
    with pytest.raises(LedgerError, match="was altered at entry 3"):
        ledger.reserve("adults", pure("1/2"), "release", "ab" * 32)
    assert ledger.head.number == 8


def test_a_run_does_not_settle_by_an_altered_charge(ledger):
    run = ledger.reserve("adults", pure("1/2"), "release", "ab" * 32)
    run.charge(Fraction(1, 2))
    lower = """UPDATE entries SET public = replace(public, '"1/2"', '"1/9"') WHERE number = 4"""
    altered(ledger, (lower,))
    for ask in (run.void, lambda: run.commit(RELEASE), lambda: run.charge(Fraction(1, 2))):
        with pytest.raises(LedgerError, match="was altered at entry 4"):
            ask()
