"""Many processes at one ledger, some of them killed: nobody overspends, and nothing is forgotten.

Each writes down what the ledger has answered as soon as it has; afterwards the ledger must hold all
of it. `make faults` runs fifty processes, and kills them in the middle of what they do.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from fractions import Fraction

import pytest

from made_ledgers import REQUEST, adults, pure
from postgres_server import programs, server
from understudy.errors import LedgerError
from understudy.ledger.ledger import PopulationLedger

SPEND = """
import json, os, random, sys
from fractions import Fraction
from understudy.errors import LedgerError
from understudy.ledger.account import Cost
from understudy.ledger.ledger import PopulationLedger

place, processes, spends, told = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
ledger = PopulationLedger.open(place)  # one object, which all children have

def spend(process):
    source = random.Random(process)
    file = os.open(told, os.O_WRONLY | os.O_APPEND)
    tell = lambda *words: os.write(file, (json.dumps(words) + "\\n").encode())
    for _ in range(spends):
        try:
            run = ledger.reserve("adults", Cost("pure", Fraction(1, 10), "add_remove"), "release",
                                 "ab" * 32)
        except LedgerError as error:
            assert "is left" in str(error), error
            tell("refused", 0, "0")
            continue
        tell("reserved", run.number, "1/10")
        run.charge(Fraction(1, 20))
        tell("charged", run.number, "1/20")
        if source.random() < 0.5:
            run.void()
            tell("closed", run.number, "1/20")
        else:
            run.charge(Fraction(1, 10))
            tell("charged", run.number, "1/10")
            run.commit("cd" * 32)
            tell("closed", run.number, "1/10")

children = []
for process in range(processes):
    child = os.fork()
    if not child:
        code = 1
        try:
            spend(process)
            code = 0
        finally:
            os._exit(code)
    children.append(child)
print(json.dumps(children), flush=True)
sys.exit(max(os.waitpid(child, 0)[1] for child in children) > 0)
"""


def spend(place, told, processes, spends, *, kill=None):
    """What many processes were told; `kill` ends one after the other, each in the middle."""
    told.touch()
    command = [sys.executable, "-W", "error", "-c", SPEND, place, str(processes), str(spends)]
    with subprocess.Popen([*command, str(told)], stdout=subprocess.PIPE, text=True) as parent:
        for child in json.loads(parent.stdout.readline()) if kill else ():
            told_then = len(told.read_bytes().splitlines()) + kill.randint(4, 12)
            while len(told.read_bytes().splitlines()) < told_then:  # those that live go on
                time.sleep(0.01)
            os.kill(child, signal.SIGKILL)
        code = parent.wait()
    assert kill or code == 0
    return [json.loads(line) for line in told.read_text().splitlines()]


def require_kept(place, said, cap):
    """Nothing is overspent, and the ledger holds all that was told."""
    ledger = PopulationLedger.open(place)
    totals = ledger.totals("adults")
    assert totals.spent.pure + totals.reserved.pure <= cap
    assert ledger.verify(ledger.head) == []
    standings = {number: ledger.reservation(number).standing for kind, number, _ in said if number}
    for kind, number, amount in said:
        assert standings[number].spent >= Fraction(amount) if kind == "charged" else True
        assert kind != "closed" or standings[number].state != "open"
    return totals, standings


@pytest.fixture(scope="session")
def postgres():
    if programs() is None:
        pytest.skip("There is no server of PostgreSQL on this machine (initdb was not found).")
    pytest.importorskip("psycopg", reason="The driver of PostgreSQL is not installed.")
    with server() as address:
        yield address


def in_database(address, name):
    """An empty database of that name on the server."""
    import psycopg

    with closing(psycopg.connect(address, autocommit=True)) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return address.replace("/postgres?", f"/{name}?")


def made(place, cap):
    PopulationLedger.create(place).add(adults(pure=cap))
    return place


def require_all_spent(place, told, processes, spends, cap):
    """Processes that want more than there is; none is killed."""
    said = spend(place, told, processes, spends)
    totals, standings = require_kept(place, said, cap)
    assert totals.reserved.pure == 0
    assert totals.spent.pure == sum(standing.spent for standing in standings.values())
    refused = sum(kind == "refused" for kind, _, _ in said)
    assert len(standings) + refused == processes * spends
    # Reservations count whole, so that some are refused for the sake of others that shrink later.
    assert refused > 0
    assert totals.spent.pure > cap - Fraction(processes + 1, 10)


def test_a_few_processes_spend_a_file(tmp_path):
    cap = Fraction(2, 5)
    require_all_spent(made(str(tmp_path / "ledger"), cap), tmp_path / "told", 2, 4, cap)


@pytest.mark.nightly
def test_a_few_processes_spend_a_server(postgres, tmp_path):
    place = made(in_database(postgres, "few"), 1)
    require_all_spent(place, tmp_path / "told", 4, 5, 1)
    with pytest.raises(LedgerError, match="holds a ledger already"):
        PopulationLedger.create(place)
    with pytest.raises(LedgerError, match="holds no population ledger"):
        PopulationLedger.open(postgres)
    with pytest.raises(LedgerError, match=r"cannot be reached: .*does not exist"):
        PopulationLedger.open(postgres.replace("/postgres?", "/gone?"))
    # In a ledger of its own: the other may be spent to the last.
    guards_of_a_server(made(in_database(postgres, "guards"), 1))


def guards_of_a_server(place):
    import psycopg

    ledger = PopulationLedger.open(place)
    with closing(psycopg.connect(place, autocommit=True)) as connection:
        for statement in (
            "UPDATE entries SET hash = '' WHERE number = 3",
            "DELETE FROM entries",
            "TRUNCATE entries",
            "INSERT INTO entries SELECT 9999, population, kind, about, public, private, hash, hash "
            "FROM entries WHERE number = 2",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="entries are"):
                connection.execute(statement)
        connection.execute("CREATE ROLE spender LOGIN")
        connection.execute("GRANT SELECT, INSERT ON entries TO spender")
        as_spender = PopulationLedger.open(place.replace("owner@", "spender@"))
        run = as_spender.reserve("adults", pure("1/1000"), "release", REQUEST)
        run.charge(Fraction(1, 1000))
        connection.execute("REVOKE INSERT ON entries FROM spender")
        with pytest.raises(LedgerError, match="lacks the right"):
            run.void()
        connection.execute("ALTER TABLE entries DISABLE TRIGGER entries_stay")
        with pytest.raises(LedgerError, match="not guarded"):
            ledger.totals("adults")


@pytest.mark.faults
def test_fifty_processes_spend_a_file(tmp_path):
    place = made(str(tmp_path / "ledger"), 10)
    require_all_spent(place, tmp_path / "told", 50, 3, 10)


@pytest.mark.faults
def test_fifty_processes_spend_a_server(postgres, tmp_path):
    place = made(in_database(postgres, "fifty"), 10)
    require_all_spent(place, tmp_path / "told", 50, 3, 10)


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["file", "server"])
def test_killed_processes_leave_what_they_were_told(kind, seed, tmp_path, request):
    """A reservation that was told is there, and so is every charge; what is open counts whole."""
    place = str(tmp_path / "ledger")
    if kind == "server":
        place = in_database(request.getfixturevalue("postgres"), f"killed{seed}")
    made(place, 30)
    said = spend(place, tmp_path / "told", 12, 1000, kill=random.Random(seed))
    totals, standings = require_kept(place, said, 30)
    assert len(standings) >= 12  # four words each, at most, of 48
    ledger = PopulationLedger.open(place)
    for number in totals.open:
        ledger.reservation(number).void(by="steward")
    assert ledger.totals("adults").reserved.pure == 0
    assert ledger.verify(ledger.head) == []
