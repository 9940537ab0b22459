"""Attacks on the budget: threads that spend at once, forks that spend again, words that repeat."""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

import polars as pl
import pytest

from night import NIGHT
from understudy.data.table import Table
from understudy.dp.accountant import PrivacyAccountant
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.mechanisms import selection
from understudy.mechanisms.selection import Candidate, selection_epsilon
from understudy.mechanisms.selection_scores import CellCount
from understudy.mechanisms.tables import NoisyTables
from understudy.papers.hierarchy_mechanisms import LazyLeaves, LeafRecords
from understudy.schema import Partition, Schema
from understudy.workflow.gates import open_gate

THREADS = 8
SCHEMA = Schema.loads(
    """
row_limit = 50
[columns.a]
kind = "numeric"
lower = 0
upper = 8
bins = 8
source = "codebook"
reviewed = true
[columns.b]
kind = "boolean"
reviewed = true
""".replace('"numeric"', '"continuous"')
)
ROWS = pl.DataFrame({"a": [1.5, 2.5, 7.0] * 10, "b": [True, False] * 15})
WORDS = {"sensitivity": "1", "noise": "", "cells": 1}


def at_once(act, n=THREADS):
    """Run an act in threads that start together; overdrafts are what they should meet."""
    start = threading.Barrier(n)

    def one(k):
        start.wait()
        with suppress(InsufficientBudgetError):
            act(k)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def hasty():
    """Threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def spent(entries):
    return sum((entry.spent for entry in entries), Fraction(0))


@pytest.fixture
def waiting(monkeypatch):
    """Ledgers wait between the check and the entry, so that all threads are past the check before
    the first entry stands, if the two are not one step."""
    write = PrivacyAccountant._write

    def wait(*arguments, **more):
        time.sleep(0.01)
        return write(*arguments, **more)

    monkeypatch.setattr(PrivacyAccountant, "_write", wait)


def test_threads_between_check_and_entry_spend_a_budget_once(waiting):
    """Claim attacked: the sum of the ledger never exceeds the stated budget."""
    ledger = PrivacyAccountant(Budget.of(1))
    at_once(lambda _: ledger.charge(Fraction(1), "noisy count", "all", **WORDS))
    assert spent(ledger.entries) == 1
    assert len(ledger.entries) == 1, "a refused request left an entry"


def test_many_ledgers_under_hasty_threads(hasty):
    """Claim attacked: the same without help, as many small requests as there are threads."""
    for _ in range(1_000 if NIGHT else 250):
        ledger = PrivacyAccountant(Budget.of(1))
        at_once(lambda _, led=ledger: led.charge(Fraction(2, 5), "count", "a", **WORDS), n=4)
        assert [entry.number for entry in ledger.entries] == [1, 2]
        assert spent(ledger.entries) == Fraction(4, 5)


def test_listeners_hear_of_entries_in_their_order(hasty):
    """Claim attacked: each charge reaches the journal before the next, under its own number."""
    ledger, heard = PrivacyAccountant(Budget.of(100)), []
    ledger.listen(lambda entry: (time.sleep(0), heard.append(entry.number)))
    at_once(lambda _: [ledger.charge(Fraction(1, 10), "count", "a", **WORDS) for _ in range(50)])
    assert heard == list(range(1, 50 * THREADS + 1))


def gate(budget):
    return open_gate(Table(ROWS, SCHEMA), budget, SeededRandomness(1))


def test_views_of_a_gate_spend_one_budget(waiting):
    """Claim attacked: rebinned and grouped gates have no budget of their own."""
    door = gate(Budget.of(1))
    views = [door, door.rebin({"a": 4}), door.rebin({"a": 2}), door.group({"b": (0, 0)})]
    at_once(
        lambda k: views[k].ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(2, 3)),
        n=4,
    )
    assert spent(door.ledger) == Fraction(2, 3)


def test_choices_that_count_on_the_rest_do_not_count_on_the_same_rest(monkeypatch, waiting):
    """Claim attacked: in Gaussian DP a choice is cheap because of what is left *after* it.

    Three choices of one price at once: the later one must count with the smaller rest. The ε of
    each is seen where it is drawn with, in order of the entries.
    """
    budget = Budget.of(1, "1e-6", "gdp")
    door, spend, drawn, used = gate(budget), budget.amount / 4, {}, []

    def spying(scores, *, epsilon, **_):
        drawn[threading.get_ident()] = epsilon
        return 0

    def choose(_):
        chosen = door.ask(Candidate(range(2), CellCount((1,))), spend=spend)
        used.append((chosen.entry, drawn[threading.get_ident()]))

    monkeypatch.setattr(selection, "select", spying)
    at_once(choose, n=3)
    rests = [budget.amount - spend * k for k in (1, 2, 3)]
    expected = [selection_epsilon(spend, "gdp", rest=rest) for rest in rests]
    assert all(earlier > later for earlier, later in pairwise(expected))
    assert [epsilon for _, epsilon in sorted(used)] == expected


def test_leaves_that_were_paid_once_give_records_once():
    """Claim attacked: threads that race for the records of one payment get them once."""
    door, counted, wins = gate(Budget.of(1)), [], []
    partition = Partition(SCHEMA.domain).divide([(0,)])
    leaves = door.ask(LazyLeaves(partition, noise="geometric"), spend=Fraction(1))

    def draw(k):
        counted.append(k)
        with suppress(MethodError):
            wins.append(door.ask(LeafRecords(leaves, leaves.value.summed * 1.0, n_rows=3)))

    at_once(draw)
    assert (len(counted), len(wins)) == (THREADS, 1)


FORK = """
import os, sys
namespace = {namespace}
if namespace:
    os.getpid = lambda: 1    # a child in a new PID namespace has its parent's number
from fractions import Fraction
import polars as pl
from understudy.data.table import Table
from understudy.errors import UnderstudyError
from understudy.workflow.gates import open_gate
from understudy.dp.budget import Budget
from understudy.papers.hierarchy_mechanisms import LazyLeaves, LeafRecords
from understudy.mechanisms.tables import NoisyTables, RowCount
from understudy.dp.randomness import SecureRandomness
from understudy.schema import Partition, Schema

schema = Schema.loads(
    'row_limit = 9\\n[columns.a]\\nkind = "boolean"\\nreviewed = true\\n'
    '[columns.b]\\nkind = "boolean"\\nreviewed = true')
source = SecureRandomness()
door = open_gate(Table(pl.DataFrame({{"a": [True], "b": [True]}}), schema), Budget.of(1), source)
tree = Partition(schema.domain).divide([(0,)])
leaves = door.ask(LazyLeaves(tree, noise="geometric"), spend=Fraction(1, 2))
source.words(10)
door._ledger._lock.acquire()  # as a thread may have, which the child has not

def attempt(act):
    try:
        act()
    except UnderstudyError as error:
        return str(error)
    return "done"

def words(n=50):
    return source.words(n).tobytes()

reader, writer = os.pipe()
if os.fork() == 0:
    found = [
        attempt(lambda: door.ask(NoisyTables([("b",)], noise="geometric"), spend=Fraction(1, 4))),
        attempt(lambda: door.rebin({{}}).ask(RowCount(), spend=Fraction(1, 4))),
        attempt(lambda: door.ask(LeafRecords(leaves, leaves.value.summed * 1.0, n_rows=1))),
        str(len(door.ledger)),
        words().hex(),
    ]
    os.write(writer, "\\n".join(found).encode())
    os._exit(0)
os.wait()
*told, number, drawn = os.read(reader, 10**5).decode().split("\\n")
assert all("belongs to the process that opened it" in one for one in told), told
assert number == "1", number
own = words().hex()
both = [{{text[i:i + 16] for i in range(0, 800, 16)}} for text in (drawn, own)]
assert not both[0] & both[1], "the child repeats the noise"
door.ask(NoisyTables([("b",)], noise="geometric"), spend=Fraction(1, 4))
door.ask(LeafRecords(leaves, leaves.value.summed * 1.0, n_rows=1))
print("held")
"""


@pytest.mark.whole
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("namespace", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_a_forked_child_neither_spends_the_budget_nor_repeats_the_noise(namespace):
    """Claim attacked: one budget is spent once and one stream of noise is used once.

    Also where numbers of processes repeat, and where a lock was held when the process forked.
    """
    script = FORK.format(namespace=namespace)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == "held", done.stderr


def test_a_choice_by_a_view_is_paid_by_the_whole():
    """Claim attacked: a verb of several steps that is refused midway has paid what it has paid."""
    door = gate(Budget.of(1))
    door.ask(NoisyTables([("b",)], noise="geometric"), spend=Fraction(1, 2))
    view = door.rebin({"a": 2})
    with pytest.raises(InsufficientBudgetError):
        view.ask(Candidate(range(2), CellCount((1,))), spend=Fraction(2, 3))
    assert spent(view.ledger) == spent(door.ledger) == Fraction(1, 2)
