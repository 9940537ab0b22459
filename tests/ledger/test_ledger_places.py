"""Places of a ledger that are none, hostile, full or gone: one sentence, and no password in it."""

import os
import sqlite3
from contextlib import closing

import pytest

from made_ledgers import REQUEST, adults, pure
from understudy.errors import LedgerError
from understudy.ledger.ledger import PopulationLedger
from understudy.ledger.store import LedgerDatabase


def refusal(*calls):
    said = []
    for call in calls:
        with pytest.raises(LedgerError) as caught:
            call()
        said.append(str(caught.value))
        assert "Traceback" not in said[-1]
        assert "\n" not in said[-1]
    return " ".join(said)


def sql_file(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def test_what_is_no_ledger_is_told_apart(tmp_path):
    places = {
        "text": b"not a ledger at all" * 99,
        "half": b"SQLite format 3\x00" + b"\xff" * 4000,
        "nothing": b"",
        "other": sql_file(tmp_path / "sql", "CREATE TABLE entries (x)").read_bytes(),
    }
    for name, content in places.items():
        (tmp_path / name).write_bytes(content)
        said = refusal(lambda name=name: PopulationLedger.open(tmp_path / name))
        assert "holds no population ledger" in said
        assert (tmp_path / name).read_bytes() == content
    assert "is not there" in refusal(
        *(lambda p=p: PopulationLedger.open(p) for p in (tmp_path / "gone", tmp_path))
    )
    assert not (tmp_path / "gone").exists()


def test_nothing_but_guards_may_act_in_a_file(ledger):
    sql_file(
        ledger.place,
        "CREATE TRIGGER quiet AFTER INSERT ON entries BEGIN SELECT load_extension('x'); END",
    )
    assert "not guarded as it was made" in refusal(lambda: ledger.totals("adults"))


def test_a_view_in_the_place_of_the_table(tmp_path):
    path = sql_file(tmp_path / "view", "CREATE VIEW entries AS SELECT 1 AS number")
    assert "holds no population ledger" in refusal(lambda: PopulationLedger.open(path))


def test_a_newer_format_is_told(tmp_path, monkeypatch):
    from understudy.ledger import store

    monkeypatch.setattr(store, "FORMAT", 2)
    newer = PopulationLedger.create(tmp_path / "newer")
    monkeypatch.setattr(store, "FORMAT", 1)
    assert "newer format" in refusal(lambda: PopulationLedger.open(newer.place))


def test_a_ledger_is_made_in_a_new_place_alone(ledger, tmp_path):
    os.symlink(tmp_path / "elsewhere", tmp_path / "link")
    said = refusal(
        lambda: PopulationLedger.create(ledger.place),
        lambda: PopulationLedger.create(tmp_path / "link"),
        lambda: PopulationLedger.create(tmp_path / "none" / "ledger"),
        lambda: PopulationLedger.create("/dev/full"),
    )
    assert said.count("already exists") == 3
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "people.ledger").stat().st_mode & 0o777 == 0o600


def test_one_file_under_two_names_is_one_ledger(ledger, tmp_path):
    os.symlink(ledger.place, tmp_path / "link")
    linked = PopulationLedger.open(f"sqlite:///{tmp_path / 'link'}")
    linked.reserve("adults", pure(1), "release", REQUEST)
    assert ledger.totals("adults").reserved.pure == 1
    odd = tmp_path / "odd ?#%20 name;.db"
    assert PopulationLedger.create(odd).id == PopulationLedger.open(odd).id


@pytest.mark.parametrize(
    ("limit", "said"), [("max_page_count = 9", "disk is full"), ("query_only = ON", "read-only")]
)
def test_a_full_or_read_only_disk_enters_nothing(ledger, monkeypatch, limit, said):
    connect = sqlite3.connect
    run = ledger.reserve("adults", pure(1), "release", REQUEST)

    def limited(*arguments, **named):
        connection = connect(*arguments, **named)
        connection.execute(f"PRAGMA {limit}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", limited)

    def fill():
        for number in range(100):
            ledger.add(adults(f"{number} " + "y" * 190))

    assert said in refusal(fill)
    monkeypatch.undo()
    assert ledger.verify(ledger.head) == []
    assert run.state == "open"


SECRET = "pässw0rd/&?"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:p%C3%A4ssw0rd%2F%26%3F@localhost:1/people",
        "postgresql://me@localhost:1/people?password=p%C3%A4ssw0rd%2F%26%3F",
    ],
)
def test_a_password_is_never_told(url):
    database = LedgerDatabase(url)
    said = refusal(lambda: PopulationLedger.open(url)) + repr(database) + database.place
    assert "cannot be reached" in said
    for form in (SECRET, "p%C3%A4ssw0rd", "ssw0rd"):
        assert form not in said


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "a\nb",
        "mysql://me@host/x",
        "sqlite://",
        "postgresql://",
        "postgresql://host",
        "://",
    ],
)
def test_an_address_that_is_none(url):
    assert "ledger" in refusal(lambda: LedgerDatabase(url))


def test_a_missing_driver_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = refusal(lambda: LedgerDatabase("postgresql://me@localhost/people"))
    assert "understudy[postgres]" in said
