"""The journal and the gate that keeps one: what is paid is on disk before it is used, and counts.

A kill is played by an exception at a write to the disk: what a killed process leaves is its files,
and nothing else. `tests/end_to_end/test_resume.py` kills real processes.
"""

import datetime
import hashlib
import json
import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from night import NIGHT
from understudy.checkpoint import journal as journals
from understudy.checkpoint import replay
from understudy.checkpoint.journal import JOURNAL_FILE, Journal, pack, unpack
from understudy.checkpoint.replay import Replay
from understudy.data.base import NO_PREMISES, Confidential
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.gate import Gate
from understudy.dp.guarantee import Unpaid
from understudy.dp.mechanism import Charge, Mechanism, answer
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.dp.released import (
    LOST,
    NO_NOISE,
    Choice,
    Noise,
    NoisyTable,
    NoisyTerms,
    NoisyWeightedTable,
    Released,
)
from understudy.errors import CheckpointError, InsufficientBudgetError
from understudy.features.scores import Weighting
from understudy.mechanisms.second_moments import SecondMoments
from understudy.mechanisms.selection import Candidate, CandidateColumns, RandomOrder
from understudy.mechanisms.selection_scores import CellCount
from understudy.mechanisms.tables import NoisyTables, NumberLines, RowCount
from understudy.papers.hierarchy_mechanisms import LazyLeaves, LeafRecords
from understudy.schema import Partition, Schema
from understudy.workflow.gates import open_gate

SCHEMA = Schema.loads("""
row_limit = 500
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
source = "codebook"
reviewed = true
[columns.b]
kind = "boolean"
source = "codebook"
reviewed = true
[columns.n]
kind = "integer"
lower = 0
upper = 9
bins = 2
source = "codebook"
reviewed = true
""")
FRAME = pl.DataFrame(
    {"a": ["x"] * 40 + ["y"] * 19 + ["z"], "b": [True, False] * 30, "n": [*range(10)] * 6}
)
REQUEST = {"method": "made up", "epsilon": "1"}


class Killed(BaseException):
    """The process is gone."""


class Disk:
    """Counts what reaches the disk, and kills the process at one place: before a write, in the
    middle of one, or after its sync."""

    def __init__(self, monkeypatch):
        self.count, self.at, self.when = 0, None, "before"
        write, sync = os.write, os.fsync

        def written(file, data):
            if self.count == self.at and self.when == "before":
                raise Killed
            if self.count == self.at and self.when == "within":
                write(file, bytes(data)[: len(data) // 2])
                raise Killed
            return write(file, data)

        def synced(file):
            sync(file)
            self.count += 1
            if self.count - 1 == self.at and self.when == "after":
                raise Killed

        monkeypatch.setattr(journals.os, "write", written)
        monkeypatch.setattr(journals.os, "fsync", synced)
        monkeypatch.setattr(journals, "_sync_folder", lambda _: None)

    def kill(self, at, when):
        self.count, self.at, self.when = 0, at, when


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


class NoRows:
    """An engine that must not be asked."""

    schema, premises, has_records = SCHEMA, NO_PREMISES, True

    def recode(self, schema):
        other = NoRows()
        other.schema = schema
        return other

    def group(self, schema, _):
        return self.recode(schema)

    def __getattr__(self, name):
        raise AssertionError(f"the rows were asked: {name}")


def opened(folder, request=REQUEST):
    return Journal(folder, request, seed=7)


@cache
def coded_rows():
    """The rows, coded once."""
    return Table(FRAME, SCHEMA)


def gate(journal, engine=None, *, randomness=None, stop=lambda: False, epsilon=1, delta=0):
    engine = coded_rows() if engine is None else engine
    source = SeededRandomness(1) if randomness is None else randomness
    return open_gate(engine, Budget.of(epsilon, delta), source, journal, stop=stop)


def ask(door):
    """One question of each kind, through views too; everything that comes out, as plain data."""
    every = [door.ask(RowCount(), spend=Fraction(1, 20)), door.ask(RandomOrder(5)).value]
    every += door.ask(
        NoisyTables([("a",), ("b", "n")], noise="geometric", weights=[3, 1]),
        spend=Fraction(1, 5),
    )
    every += door.ask(NumberLines(("n",)), spend=Fraction(1, 20))
    every.append(door.ask(SecondMoments(("a", "n")), spend=Fraction(1, 20)))
    every.append(door.ask(Candidate(range(3), CellCount((0,))), spend=Fraction(1, 10)))
    pairs = [("a", "b"), ("a", "n"), ("b", "n")]
    every.append(door.ask(CandidateColumns(pairs, CellCount((0,))), spend=Fraction(1, 10)))
    finer = door.rebin({"n": 5})
    every += finer.ask(NoisyTables([("n",)], noise="laplace"), spend=Fraction(1, 20))
    coarse = door.group({"a": (0, 0, 1)})
    every += coarse.ask(NoisyTables([("a", "b")], noise="geometric"), spend=door.remaining)
    return pack(every), pack(door.measured), pack(door.n_rows)


def whole(folder, **more):
    with_journal = opened(folder)
    door = gate(with_journal, **more)
    answers = ask(door)
    with_journal.close()
    return door, answers


# --- plain data -------------------------------------------------------------------------------

VALUES = [
    None,
    True,
    -(10**30),
    "é\n",
    Fraction(-1, 3),
    0.1,
    float("inf"),
    -0.0,
    datetime.date(2000, 2, 29),
    ("a", [1, ("b",)], {"c": (1, 2.5), 3: None}),
    Choice(("a", "b")),
    Noise("geometric", "1/3", 2.0),
    Released(3, NO_NOISE, "declared", 0),
]
ARRAYS = [
    np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::-1],
    np.array([[0.1, np.nan], [-0.0, np.inf]]),
    np.zeros((0, 3), dtype=np.float32),
    np.array(5, dtype=np.uint8),
    np.array([True, False]),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_as_they_were(value):
    back = unpack(json.loads(json.dumps(pack(value))))
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda one: f"{one.dtype}{one.shape}")
def test_arrays_come_back_to_the_last_bit(array):
    back = unpack(json.loads(json.dumps(pack(array))))
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == np.ascontiguousarray(array).tobytes()
    back.setflags(write=True)


def test_a_scalar_stays_a_scalar_and_a_table_keeps_its_bins_and_groups():
    number = unpack(pack(np.float32(0.1)))
    assert isinstance(number, np.float32)
    table = NoisyTable(
        ("a", "n"),
        np.arange(4.0).reshape(2, 2),
        0.5,
        Noise("discrete_gaussian", "9", 3.0),
        MappingProxyType({"n": (0, 5, 9)}),
        {"a": (0, 0, 1)},
    )
    back = unpack(json.loads(json.dumps(pack(table))))
    assert (back.columns, back.outside, back.bins) == (("a", "n"), 0.5, {"n": (0, 5, 9)})
    assert (back.groups, back.noise) == ({"a": (0, 0, 1)}, table.noise)
    assert back.counts.tolist() == table.counts.tolist()


def test_what_counts_with_weights_comes_back():
    weighting, noise = Weighting("w", 8.0, 2, "area"), Noise("discrete_gaussian", "4", 2.0)
    values = np.array([1.5, -2.0])
    table = NoisyWeightedTable(("a",), values, noise, weighting, groups={"a": (0, 1, 1)})
    terms = NoisyTerms(("log(a)",), values, noise, weighting=weighting)
    for one in (table, terms):
        back = unpack(json.loads(json.dumps(pack(one))))
        assert type(back) is type(one)
        assert back.weighting == weighting
        assert (back.values == values).all()


@pytest.mark.parametrize("value", [Confidential(3), np.array(["a"]), {1}, object(), SCHEMA])
def test_nothing_else_can_be_packed(value):
    with pytest.raises(TypeError):
        pack(value)


# --- the journal ------------------------------------------------------------------------------


def test_a_journal_is_made_with_its_first_record_and_gives_back_what_was_written(tmp_path):
    folder = tmp_path / "deep" / "checkpoint"
    one = opened(folder)
    one.append({"x": 1}, wait=True)
    assert not folder.exists()
    one.append({"y": [2]})
    one.close()
    assert (folder / JOURNAL_FILE).stat().st_mode & 0o077 == 0
    two = Journal(folder, REQUEST, seed=8)
    assert (two.seed, two.run) == (7, 2)
    assert two.records == ({"run": 1, "x": 1}, {"run": 1, "y": [2]})
    two.append({"z": 3})
    two.close()
    three = opened(folder)
    assert [one["run"] for one in three.records] == [1, 1, 2]
    three.close()
    replay.remove(folder)
    assert not folder.exists()
    replay.remove(folder)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_counts_as_not_written(tmp_path, cut):
    one = opened(tmp_path)
    one.append({"x": 1})
    kept, anchored = (
        (tmp_path / JOURNAL_FILE).read_bytes(),
        (tmp_path / journals.ANCHOR_FILE).read_bytes(),
    )
    one.append({"y": "a text that is long enough to be torn somewhere"})
    one.close()
    torn = (tmp_path / JOURNAL_FILE).read_bytes()[: len(kept) + cut]
    (tmp_path / JOURNAL_FILE).write_bytes(torn)
    (tmp_path / journals.ANCHOR_FILE).write_bytes(
        anchored
    )  # which is written behind the journal's line
    two = opened(tmp_path)
    assert two.records == ({"run": 1, "x": 1},)
    two.append({"z": 1})
    two.close()
    assert opened(tmp_path).records[1:] == ({"run": 2, "z": 1},)


@pytest.mark.parametrize("cut", [0, 1, 30])
def test_a_torn_first_line_is_no_journal_yet(tmp_path, cut):
    one = opened(tmp_path)
    one.append({"x": 1})
    one.close()
    (tmp_path / JOURNAL_FILE).write_bytes((tmp_path / JOURNAL_FILE).read_bytes()[:cut])
    begun, *_ = (tmp_path / journals.ANCHOR_FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / journals.ANCHOR_FILE).write_bytes(begun)
    two = Journal(tmp_path, REQUEST | {"method": "another"}, seed=9)
    assert (two.records, two.seed, two.run) == ((), 9, 1)
    two.append({"y": 1})
    two.close()
    assert len(Journal(tmp_path, REQUEST | {"method": "another"}, seed=1).records) == 1


def shortened(folder, lines):
    """The journal with only its first lines, as an older copy of it would be."""
    kept = (folder / JOURNAL_FILE).read_bytes().splitlines(keepends=True)[:lines]
    (folder / JOURNAL_FILE).write_bytes(b"".join(kept))


TAKEN = {
    "emptied": lambda folder: shortened(folder, 0),
    "shortened": lambda folder: shortened(folder, 2),
    "gone": lambda folder: (folder / JOURNAL_FILE).unlink(),
}


@pytest.mark.parametrize("taken", TAKEN)
def test_a_journal_that_lost_lines_is_found_out_and_says_what_was_spent(tmp_path, taken):
    """Continued, it would begin again with a budget that is spent."""
    whole(tmp_path)
    assert replay.spent_of(tmp_path) == "ε = 1 of 1"
    TAKEN[taken](tmp_path)
    with pytest.raises(CheckpointError, match=r"By its anchor it has spent ε = 1 of 1, which"):
        opened(tmp_path)
    assert replay.is_checkpoint(tmp_path)
    assert replay.spent_of(tmp_path) == "ε = 1 of 1"


def test_a_journal_without_its_anchor_is_damaged_and_says_what_was_spent(tmp_path):
    whole(tmp_path)
    (tmp_path / journals.ANCHOR_FILE).unlink()
    with pytest.raises(CheckpointError, match="damaged"):
        opened(tmp_path)
    assert replay.spent_of(tmp_path) == "ε = 1 of 1"


def test_another_journal_of_as_many_lines_does_not_fit_the_anchor(tmp_path):
    for name in ("one", "two"):
        whole(tmp_path / name)
    (tmp_path / "one" / JOURNAL_FILE).write_bytes((tmp_path / "two" / JOURNAL_FILE).read_bytes())
    assert Journal(tmp_path / "two", REQUEST, seed=1).records
    journal = (tmp_path / "two" / JOURNAL_FILE).read_bytes()
    first, *rest = journal.splitlines(keepends=True)
    (tmp_path / "one" / JOURNAL_FILE).write_bytes(b"".join([first, *rest[::-1]]))
    with pytest.raises(CheckpointError, match="has lost what was written"):
        opened(tmp_path / "one")


def test_the_chain_is_over_all_lines_and_is_known_behind_each_charge(tmp_path):
    one = opened(tmp_path)
    one.note(ledger="abc")
    door = gate(one)
    door.ask(NoisyTables([("a",), ("b",)], noise="geometric"), spend=Fraction(1, 2))
    with pytest.raises(ValueError, match="before the first record"):
        one.note(more=1)
    one.close()
    digests = ["0" * 64]
    for line in (tmp_path / JOURNAL_FILE).read_bytes().splitlines(keepends=True):
        digests.append(hashlib.sha256(digests[-1].encode() + line).hexdigest())
    two = opened(tmp_path)
    assert (one.digest, two.digest) == (digests[-1], digests[-1])
    kinds = [line["kind"] for line in lines(tmp_path)]
    assert kinds == ["charge", "charge", "answer"]
    assert two.digests_of_charges == digests[2:4]
    assert (two.notes, one.digests_of_charges) == ({"ledger": "abc"}, [])


def test_a_changed_line_is_damage_and_says_no_value(tmp_path):
    one = opened(tmp_path)
    for k in (11111, 22222):
        one.append({"x": k})
    one.close()
    text = (tmp_path / JOURNAL_FILE).read_bytes()
    (tmp_path / JOURNAL_FILE).write_bytes(text.replace(b"11111", b"11112"))
    with pytest.raises(CheckpointError, match="damaged") as fault:
        opened(tmp_path)
    assert "1111" not in str(fault.value)


def test_another_request_is_refused_by_name_and_leaves_the_journal_alone(tmp_path):
    one = opened(tmp_path)
    one.append({"x": 1})
    one.close()
    before = (tmp_path / JOURNAL_FILE).read_bytes()
    with pytest.raises(CheckpointError, match=r"epsilon, extra differ\."):
        opened(tmp_path, {"method": "made up", "epsilon": "2", "extra": 1})
    assert (tmp_path / JOURNAL_FILE).read_bytes() == before
    opened(tmp_path).close()


def test_two_runs_cannot_share_a_checkpoint(tmp_path):
    one, early = opened(tmp_path), opened(tmp_path)
    one.append({"x": 1})
    with pytest.raises(CheckpointError, match="in use"):
        opened(tmp_path)
    with pytest.raises(CheckpointError, match="in use"):
        early.append({"x": 2})
    one.close()
    assert len(opened(tmp_path).records) == 1


def test_a_full_disk_stops_the_step_before_the_rows_are_asked(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    door = gate(opened(tmp_path), NoRows())
    monkeypatch.setattr(journals.os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left"):
        door.ask(RowCount(), spend=Fraction(1, 2))


# --- before and after -------------------------------------------------------------------------


def lines(folder):
    whole_ones = (folder / JOURNAL_FILE).read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line[17:]) for line in whole_ones[1:]]


def test_charges_are_on_disk_before_rows_and_noise_and_answers_before_they_are_given(tmp_path):
    class Watching:
        """Rows and noise that look at the disk when they are asked."""

        schema, premises, has_records = SCHEMA, NO_PREMISES, True

        def __init__(self):
            self.table, self.seen = Table(FRAME, SCHEMA), []

        def total(self):
            self.seen.append(lines(tmp_path))
            return self.table.total()

        def count(self, marginals):
            self.seen.append(lines(tmp_path))
            return self.table.count(marginals)

    class Noisy(SeededRandomness):
        def words(self, n):
            engine.seen.append(lines(tmp_path))
            return super().words(n)

    engine = Watching()
    door = gate(opened(tmp_path), engine, randomness=Noisy(1))
    rows = door.ask(RowCount(), spend=Fraction(1, 10))
    assert engine.seen
    assert all([line["kind"] for line in seen] == ["charge"] for seen in engine.seen)
    assert unpack(lines(tmp_path)[-1]["value"]).answers == (rows.value,)
    engine.seen.clear()
    door.ask(NoisyTables([("a",), ("b",)], noise="geometric"), spend=Fraction(1, 10))
    assert engine.seen
    assert all(
        [line["kind"] for line in seen] == ["charge", "answer", "charge", "charge"]
        for seen in engine.seen
    )


def test_a_journal_changes_nothing(tmp_path):
    plain = open_gate(Table(FRAME, SCHEMA), Budget.of(1), SeededRandomness(1))
    door, answers = whole(tmp_path)
    assert answers == ask(plain)
    assert door.ledger == plain.ledger
    assert door.remaining == plain.remaining == 0


def test_a_finished_prefix_is_given_again_without_a_row_or_a_charge(tmp_path):
    first, answers = whole(tmp_path)
    size = (tmp_path / JOURNAL_FILE).stat().st_size
    second, again = whole(tmp_path, engine=NoRows(), randomness=SecureRandomness())
    assert again == answers
    assert second.ledger == first.ledger
    assert (tmp_path / JOURNAL_FILE).stat().st_size == size


def test_conditions_and_leaks_are_restored(tmp_path):
    for engine in (Table(FRAME, SCHEMA), NoRows()):
        journal = opened(tmp_path)
        door = gate(journal, engine)
        door.ask(NoisyTables([("a",)], noise="laplace", mode="paper"), spend=Fraction(1, 2))
        assert "floating-point" in " ".join(door.guarantee().leaks)
        journal.close()


def test_nothing_about_the_rows_is_in_the_journal(tmp_path):
    """Noise of scale ≥ 5 in every count: the exact ones appear by chance only, and what the file
    says beside its answers does not depend on them."""
    whole(tmp_path / "one")
    frame = FRAME.with_columns(a=pl.Series(["z"] * 59 + ["?"]))
    journal = opened(tmp_path / "two")
    ask(gate(journal, Table(frame, SCHEMA)))
    journal.close()
    kept = [
        [{k: v for k, v in line.items() if k not in {"value", "position"}} for line in lines(one)]
        for one in (tmp_path / "one", tmp_path / "two")
    ]
    assert kept[0] == kept[1]


def test_two_equal_questions_are_two_draws_and_stay_so(tmp_path):
    """Outcomes are read by their position: of two equal questions none gets the other's."""
    table = NoisyTables([("a",)], noise="geometric")

    def twice(door):
        return [door.ask(table, spend=Fraction(1, 4))[0].value.counts.tolist() for _ in range(2)]

    first = twice(gate(opened(tmp_path)))
    assert first[0] != first[1]
    assert twice(gate(opened_again(tmp_path), NoRows())) == first


@dataclass(frozen=True)
class Plain(Mechanism[Released[int], None]):
    """The exact number of rows, at an infinite cost, and a random number."""

    name: ClassVar[str] = "plain"

    def price(self, terms, spend):
        charge = Charge(
            spent=None,
            mechanism=self.name,
            query="all",
            sensitivity="none",
            noise="",
            cells=0,
            parameter=None,
            unpaid=Unpaid.EXACT,
        )
        return (charge,)

    def run(self, rows, charges, source):
        return answer((rows.total(), source.below(2**40, 1).tolist()))


def plain_gate(journal):
    source = SeededRandomness(1)
    return Gate(
        Table(FRAME, SCHEMA),
        Budget.of(1),
        source,
        mechanisms=(Plain, RowCount),
        allow_nonprivate=True,
        record=lambda ledger: Replay(journal, ledger, source),
    )


def test_what_is_not_paid_for_is_run_again_and_never_written_down(tmp_path):
    def run(door):
        found = door.ask(Plain()), door.ask(RowCount(), spend=Fraction(1, 2)), door.ask(Plain())
        return [one.value for one in found]

    door = plain_gate(opened(tmp_path))
    first = run(door)
    assert first[0] != first[2]
    values = [line["value"] for line in lines(tmp_path) if line["kind"] == "answer"]
    assert [value is None for value in values] == [True, False, True]
    again = plain_gate(opened_again(tmp_path))
    assert run(again) == first
    assert again.ledger == door.ledger
    assert "NOT private" in again.guarantee().statement


def test_a_lost_step_of_infinite_cost_stays_in_the_promise(tmp_path, disk):
    disk.kill(1, "before")
    with pytest.raises(Killed):
        plain_gate(opened(tmp_path)).ask(Plain())
    disk.kill(None, "before")
    door = plain_gate(opened_again(tmp_path))
    door.ask(Plain())
    assert [(one.spent, one.noise) for one in door.ledger] == [(None, LOST), (None, "")]
    assert door.guarantee().epsilon is None


TREE = Partition(SCHEMA.domain).divide([(0,)])


def leaves_and_records(door):
    """Sums of noisy leaves, and records from the leaves that stay behind the gate."""
    leaves = door.ask(LazyLeaves(TREE, noise="geometric"), spend=Fraction(1, 2))
    records = door.ask(LeafRecords(leaves, np.ones(3), n_rows=9))
    door.ask(RowCount(), spend=Fraction(1, 4))
    return leaves.value.counts.tolist(), [one.tolist() for one in records.value.columns]


def test_leaves_that_no_records_came_of_are_paid_once_more(tmp_path, disk):
    """A checkpoint cannot hold the leaves: they count as lost until the records are there."""
    first = leaves_and_records(gate(opened(tmp_path / "whole")))
    assert leaves_and_records(gate(opened_again(tmp_path / "whole"), NoRows())) == first
    for at, lost in ((1, 1), (2, 1), (3, 0)):  # the charge; the sums; the records
        folder = tmp_path / str(at)
        assert killed_at(disk, folder, at, "before", leaves_and_records)
        door = gate(opened_again(folder))
        leaves_and_records(door)
        assert [one.noise for one in door.ledger].count(LOST) == lost
        assert sum(one.spent for one in door.ledger) <= 1


def test_what_is_asked_again_must_be_the_same(tmp_path):
    whole(tmp_path)
    for other in (
        lambda door: door.ask(RandomOrder(5)).value,
        lambda door: door.ask(RowCount(), spend=Fraction(1, 21)),
        lambda door: door.rebin({"n": 3}).ask(RowCount(), spend=Fraction(1, 20)),
    ):
        journal = opened(tmp_path)
        with pytest.raises(CheckpointError, match="Step 1 of the checkpoint asked for something"):
            other(gate(journal, NoRows()))
        journal.close()


def test_what_was_refused_is_refused_again_and_leaves_no_trace(tmp_path):
    def careless(door):
        with pytest.raises(InsufficientBudgetError):
            door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(2))
        return door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(1, 2))

    journal = opened(tmp_path)
    first = careless(gate(journal))
    journal.close()
    assert pack(careless(gate(opened(tmp_path), NoRows()))) == pack(first)


# --- killed -----------------------------------------------------------------------------------


def spent(folder):
    """What all charges on disk cost, answered or not."""
    charges = [line for line in lines(folder) if line["kind"] == "charge"]
    return sum(unpack(line["entry"]).spent for line in charges)


def killed_at(disk, folder, at, when, run=ask, **more):
    """Run until it is killed; whether it was."""
    disk.kill(at, when)
    journal = opened(folder)
    try:
        run(gate(journal, **more))
    except Killed:
        return True
    finally:
        journal.close()
        disk.kill(None, when)
    return False


@pytest.mark.whole
@pytest.mark.parametrize(
    "when", ["before", "within", pytest.param("after", marks=pytest.mark.nightly)]
)
def test_killed_at_every_write_and_continued(tmp_path, disk, when):
    """Whatever write the run dies at, the continued one gives all answers, stays in its budget,
    keeps every charge that reached the disk, and equals the whole one where none was lost."""
    whole_door, answers = whole(tmp_path / "whole")
    deaths, same, last = 0, 0, len(whole_door.ledger)
    for at in range(100):
        folder = tmp_path / f"{when}-{at}"
        if not killed_at(disk, folder, at, when):
            break
        deaths += 1
        died_with = spent(folder) if (folder / JOURNAL_FILE).stat().st_size else Fraction(0)
        journal = opened(folder)
        door = gate(journal)
        paid = [line for line in lines(folder) if line["kind"] == "charge"] if died_with else []
        if died_with == 1 and lines(folder)[-1]["kind"] == "charge":
            with pytest.raises(CheckpointError, match="nothing is left of the budget"):
                ask(door)
            journal.close()
            continue
        again = ask(door)
        journal.close()
        lost = [entry for entry in door.ledger if entry.noise == LOST]
        assert sum(entry.spent for entry in door.ledger) == 1 == spent(folder)
        assert len(door.ledger) == last + len(lost)
        assert [e.spent for e in door.ledger][: len(paid)] == [
            unpack(line["entry"]).spent for line in paid
        ]
        if not lost:
            assert again == answers
            same += 1
    assert deaths > 12
    assert same >= deaths // 3


def test_a_lost_charge_counts_and_later_costs_shrink_so_that_all_fit(tmp_path, disk):
    def run(door):
        door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(1, 2))
        door.ask(NoisyTables([("b",)], noise="geometric"), spend=Fraction(1, 4))
        assert door.remaining == Fraction(1, 4)
        door.require(Fraction(1, 4))
        return door.ask(NoisyTables([("n",)], noise="geometric"), spend=Fraction(1, 4))

    assert killed_at(disk, tmp_path, 3, "before", run)  # charge, answer, charge; killed: answer
    journal = opened(tmp_path)
    door = gate(journal)
    (table,) = run(door)
    # Left before: 1/2. Lost: 1/4. So the rest costs half of what was planned.
    assert [(e.spent, e.noise == LOST) for e in door.ledger] == [
        (Fraction(1, 2), False),
        (Fraction(1, 4), True),
        (Fraction(1, 8), False),
        (Fraction(1, 8), False),
    ]
    assert table.noise.scale == "8"
    assert [released.entry for released in door.measured] == [1, 3, 4]
    journal.close()
    # Continued once more, everything stands as it is.
    again = gate(opened(tmp_path), NoRows())
    assert pack(run(again)) == pack((table,))
    assert again.ledger == door.ledger


def test_killed_again_and_again(tmp_path, disk):
    """Each run comes no further than the charge of the second step: costs shrink each time."""

    def run(door):
        door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(1, 2))
        return door.ask(NoisyTables([("b",)], noise="geometric"), spend=Fraction(1, 4))

    assert killed_at(disk, tmp_path, 3, "before", run)
    for _ in range(3):
        assert killed_at(disk, tmp_path, 1, "before", run)
    journal = opened(tmp_path)
    door = gate(journal)
    run(door)
    assert [e.spent for e in door.ledger[1:]] == [Fraction(1, 2**k) for k in range(2, 7)]
    assert [e.noise == LOST for e in door.ledger] == [False] + [True] * 4 + [False]
    assert door.remaining == Fraction(1, 4)  # as the method planned
    assert sum(e.spent for e in door.ledger) < 1


def test_costs_shrink_in_rho_too(tmp_path, disk):
    def run(door):
        door.ask(NoisyTables([("a",)], noise="gaussian"), spend=door.remaining / 2)
        door.ask(NoisyTables([("b",)], noise="gaussian"), spend=door.remaining)

    more = {"epsilon": 1, "delta": "1e-6"}
    assert killed_at(disk, tmp_path, 1, "before", run, **more)
    door = gate(opened(tmp_path), **more)
    run(door)
    half = door.budget.amount / 2
    assert [e.spent for e in door.ledger] == [half, half / 2, half / 2]


# --- rounds -----------------------------------------------------------------------------------


def in_rounds(door, most=5):
    """A small method in rounds: choose, measure, look whether to end; as AIM does."""
    found = door.ask(
        NoisyTables([("a",), ("b",), ("n",)], noise="geometric"),
        spend=door.budget.amount / 4,
    )
    share = door.remaining / most
    for _ in range(most):
        if door.stopping:
            break
        pairs = [("a", "b"), ("a", "n"), ("b", "n")]
        best = door.ask(CandidateColumns(pairs, CellCount((0,))), spend=share / 10)
        found += door.ask(NoisyTables([best.value], noise="geometric"), spend=share * 9 / 10)
    return pack(found)


def test_rounds_end_when_asked_to_with_what_was_paid_for(tmp_path):
    looks = iter([False, False, True])
    door = gate(opened(tmp_path), stop=lambda: next(looks))
    in_rounds(door)
    assert door.ended_early
    assert len(door.measured) == 3 + 2 * 2
    assert door.share_spent == Fraction(1, 4) + 2 * Fraction(3, 4) / 5
    again = gate(opened_again(tmp_path), NoRows(), stop=lambda: False)
    in_rounds(again)
    assert again.ended_early
    assert again.ledger == door.ledger


def opened_again(folder):
    """As if the process of the first journal had ended."""
    copy = folder / "later"
    copy.mkdir()
    for name in (JOURNAL_FILE, journals.ANCHOR_FILE):
        (copy / name).write_bytes((folder / name).read_bytes())
    return opened(copy)


def test_an_early_end_comes_after_what_is_in_the_journal(tmp_path, disk):
    assert killed_at(disk, tmp_path, 13, "before", in_rounds)
    before = lines(tmp_path)
    door = gate(opened(tmp_path), stop=lambda: True)
    in_rounds(door)
    assert door.ended_early
    answered = [
        line for line in before if line["kind"] == "answer" and line["mechanism"] == "NoisyTables"
    ]
    assert len([m for m in door.measured if isinstance(m.value, NoisyTable)]) >= 2 + len(answered)


def test_a_lost_last_round_ends_the_rounds_before_it(tmp_path, disk):
    """Whatever write a method in rounds dies at, it is continued to an end, though its last charge
    took all that was left; only one that loses its first step has nothing to tell."""
    total = 0
    for at in range(200):
        folder = tmp_path / str(at)
        if not killed_at(disk, folder, at, "before", in_rounds):
            break
        total += 1
        if at % 3 and at < total_writes() - 1 and not NIGHT:
            continue
        journal = opened(folder)
        door = gate(journal)
        in_rounds(door)
        journal.close()
        assert sum(e.spent for e in door.ledger) <= 1
        again = gate(opened(folder), NoRows())
        in_rounds(again)
        assert again.ledger == door.ledger
        assert len(again.measured) == len(door.measured)
        assert again.ended_early == door.ended_early == (at == total_writes() - 1)
    assert total == total_writes() + 1  # and when all but the anchor of the last one is written


def total_writes():
    """3 charges and an answer, then 5 rounds of two charges and two answers."""
    return 4 + 5 * 4


# --- progress ---------------------------------------------------------------------------------


def test_listeners_hear_of_every_entry_when_it_is_on_disk_also_of_restored_ones(tmp_path):
    heard = []
    for engine in (Table(FRAME, SCHEMA), NoRows()):
        journal = opened(tmp_path)
        door = gate(journal, engine)
        door.listen(lambda entry, door=door: heard.append((entry.number, door.share_spent)))
        door.ask(NoisyTables([("a",), ("b",)], noise="geometric"), spend=Fraction(1, 2))
        journal.close()
    assert heard == [(1, Fraction(1, 4)), (2, Fraction(1, 2))] * 2
