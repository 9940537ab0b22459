"""Runs that were killed: found with what they have paid for, continued or removed.

**A journal behind `ask`: answers are on disk before they are used, so a killed run can go on.**

**Before and after.** Each charge is written to the journal, and has reached the disk, before the
rows are asked and before its noise is drawn. Each outcome is written, and has reached the disk,
before the method sees it.

**Continued**, the method runs again from the start. As long as the journal has outcomes it gets
those, by their position and never because a question looks the same (two equal questions of two
sets are two draws); ledger, measurements and conditions fill up as they did before; no row is
looked at and nothing is charged. So a method must ask the same questions when it gets the same
answers. One that asks for another mechanism, or at another price, is stopped with an error.

**A charge without an outcome counts as spent**: its noise may have been drawn, and nobody can know
that it was not used. The step is paid once more. If R was left before the lost charge and R - L
after it, all later costs shrink by the factor (R - L)/R. So whatever the method planned with R
fits into R - L; it need not know, and sees budget and rest as if nothing had been lost. What it
planned was a sum of at most R, hence the costs are a sum of at most R - L; the ledger refuses any
other. A mechanism that leaves something behind the gate for another one (`Mechanism.unfinished`)
counts as without an outcome until that other one has one.

**A charge that is taken back never was one.** A population's ledger is told of a charge once the
journal has it, and before anything is computed. A run whose ledger refuses it, and does not hold
it, ends there and says so in the journal: it drew no noise, and nobody else can know. The step is
paid anew, and whole. A run that was killed says nothing; what the ledger lacks then is no proof,
since it may have been put back from a copy.

**What is not paid for is not written down.** Exact statistics, and whatever else has no finite
cost, must not lie on a disk. Such a step is noted as run, and run again in a continued run; its
entries in the ledger are taken over, and it has no effect on costs.

**Guarantee.** The runs together are one adaptive sequence of paid mechanisms whose costs are all in
one ledger (`understudy.dp.accountant`); when a run was killed does not depend on the
rows, or depends on them through what was paid for. A journal holds released values, costs, and
public facts. Its copy must not be continued as well: two continuations draw twice for one charge.
What a mechanism tells the steward is not written down: of steps that an earlier run has answered
the steward is told nothing again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy import _storage
from understudy.checkpoint.journal import (
    ANCHOR_FILE,
    FORMAT,
    JOURNAL_FILE,
    NOTHING,
    WITHDRAWN,
    Anchor,
    Journal,
    JournalCost,
    Record,
    another_format,
    damage_error,
    fingerprint,
    in_use,
    journal_records,
    lines_of,
    pack,
    unpack,
)
from understudy.dp.accountant import Entry, PrivacyAccountant
from understudy.dp.confidential import CodedView
from understudy.dp.gate import Unrecorded
from understudy.dp.mechanism import A, Charge, Mechanism, Outcome
from understudy.dp.randomness import Randomness, SeededRandomness
from understudy.dp.released import LOST
from understudy.errors import CheckpointError


def is_checkpoint(folder: Path) -> bool:
    """Return whether a folder holds a journal that was written to, or the anchor of a lost one."""
    path = folder / JOURNAL_FILE
    try:
        mark = Anchor(folder).last()
        return bool(mark and mark.lines) or (path.exists() and b"\n" in path.read_bytes())
    except (OSError, ValueError):
        return True


def spent_of(folder: Path) -> str:
    """Describe what a checkpoint has spent, whether it can be continued or not.

    Args:
        folder: of the checkpoint; one that another run writes may be read.

    Raises:
        CheckpointError: it cannot be read, or is damaged.
    """
    path = folder / JOURNAL_FILE
    try:
        lines = lines_of(path.read_bytes()) if path.exists() else []
        mark = Anchor(folder).last()
    except (OSError, ValueError):
        raise damage_error(path) from None
    head, *records = journal_records(lines, path) or [{}]
    if not head or (mark is not None and mark.lines > len(lines)):
        return NOTHING.spent if mark is None else mark.spent
    spending = JournalCost(head["request"])
    spending.add(records)
    return str(spending)


def read(folder: Path) -> tuple[Record, tuple[Record, ...], str]:
    """Read the journal of an interrupted run, of whichever request it is.

    Args:
        folder: of the checkpoint; no run may be using it.

    Returns:
        What was asked for, the records, oldest first, and the SHA-256 of all of it, in hex.

    Raises:
        CheckpointError: it is not there, damaged, in use, or of another format.
    """
    path = folder / JOURNAL_FILE
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            _storage.lock(file)
            lines = lines_of(path.read_bytes())
        finally:
            os.close(file)
    except BlockingIOError:
        raise in_use(path) from None
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {str(folder)!r} cannot be read: {error.strerror}."
        ) from None
    head, *records = journal_records(lines, path) or [{}]
    if head.get("format") != FORMAT:
        raise another_format(path)
    return head["request"], tuple(records), hashlib.sha256(b"".join(lines)).hexdigest()


TRIES = "tries"
"""Folder in a checkpoint with one for each try of a private selection."""


def remove(folder: Path) -> None:
    """Remove a checkpoint whose release was made; no harm if there is none."""
    if (tries := folder / TRIES).is_dir():
        for own in tries.iterdir():
            remove(own)
        with contextlib.suppress(OSError):
            tries.rmdir()
    for name in (JOURNAL_FILE, ANCHOR_FILE):
        (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # there is none, or somebody keeps other files in it
        folder.rmdir()


_LOOK = "stopping"


@dataclass
class Step:
    """All that earlier runs wrote about one question.

    Attributes:
        name: of the mechanism's class.
        asked: digest of the mechanism, and of the view that it was asked through.
        charges: entries, each with the run that paid it.
        answer: the record of the outcome, if there is one.
        taken_over: whether what was lost stands in this run's ledger already.
    """

    name: str
    asked: str
    charges: list[tuple[int, Entry]] = field(default_factory=list)
    answer: Record | None = None
    taken_over: bool = False

    @property
    def lost(self) -> list[Entry]:
        """Entries that no outcome came of, marked so."""
        came = None if self.answer is None else self.answer["run"]
        return [replace(entry, noise=LOST) for run, entry in self.charges if run != came]

    @property
    def paid(self) -> list[Entry]:
        """Entries that the outcome came of."""
        came = None if self.answer is None else self.answer["run"]
        return [entry for run, entry in self.charges if run == came]


class Replay(Unrecorded):
    """The place of this run in its journal; shared by all views of a gate.

    Args:
        journal: open.
        ledger: of the gate.
        randomness: of the gate; a seeded one is brought to where it was.

    Attributes:
        factor: by what costs shrink because of lost charges.
    """

    def __init__(self, journal: Journal, ledger: PrivacyAccountant, randomness: Randomness) -> None:
        self._journal, self._ledger = journal, ledger
        self._seeded = randomness if isinstance(randomness, SeededRandomness) else None
        self._ahead = deque(_steps(journal.records))
        self._number = 0
        self._asked = "", ""
        self._rebuilding, self._again, self._before = False, False, 0
        self._charges: tuple[Charge[Any], ...] = ()
        self.factor = Fraction(1)
        self._lock = threading.RLock()
        ledger.listen(self._write_down)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One question at a time: a journal is read back in the order of the questions."""
        self._ledger.require_home()  # before the lock, which a forked child may have got closed
        with self._lock:
            yield

    def take_over(self, mechanism: Mechanism[Any, Any], view: CodedView) -> None:
        """Take over what earlier runs paid for this very step without an outcome.

        Raises:
            CheckpointError: nothing is left of the budget.
        """
        asked = fingerprint((mechanism, view.bins, view.groups))
        self._asked = type(mechanism).__name__, asked
        step = self._ahead[0] if self._ahead else None
        if step is None or (step.name, step.asked) != self._asked or step.taken_over:
            return  # what the price refuses was refused before, and left no trace
        if mechanism.unfinished and not (len(self._ahead) > 1 and self._ahead[1].answer):
            step.answer = None
        self._take_over(step)
        if step.charges and step.answer is None and not self._ledger.remaining:
            raise CheckpointError(
                "The run ended while it paid for its last step, which counts as spent; nothing is "
                "left of the budget, so that this checkpoint cannot become a release."
            )

    def find_answer(
        self, mechanism: Mechanism[A, Any], charges: tuple[Charge[Any], ...], view: CodedView
    ) -> tuple[tuple[int, ...], Outcome[A] | None] | None:
        """See `Unrecorded`.

        Raises:
            CheckpointError: earlier runs asked for something else at this point.
        """
        self._charges, self._again = charges, False
        self._before = self._seeded.position if self._seeded else 0
        step = self._next()
        if step is None or step.answer is None:
            return None
        if [_words(entry) for entry in step.paid] != [_words(charge) for charge in charges]:
            raise self._another(step)
        entries = tuple(self._rebuild(entry) for entry in step.paid)
        if self._seeded is not None and step.answer["position"] is not None:
            self._seeded.go_to(step.answer["position"])
        outcome: Outcome[A] | None = unpack(step.answer["value"])
        self._again = outcome is None
        return entries, outcome

    def keep(self, outcome: Outcome[Any]) -> None:
        """Write down an outcome; before anything is paid, with the first charge.

        Of a step that no finite cost stands for it is only written that it was run.
        """
        if self._again:
            return
        unpaid = any(charge.unpaid for charge in self._charges)
        position = None
        if self._seeded is not None:
            position = self._before if unpaid else self._seeded.position
        record = {"value": None if unpaid else pack(outcome), "position": position}
        self._journal.append(self._about("answer") | record, wait=not self._ledger.entries)

    def look(self, stopping: Callable[[], bool]) -> bool:
        """Return whether to end between rounds: as before, or as it is now.

        If the charge of the coming round is lost and has left nothing, the rounds end here.
        """
        self._asked = _LOOK, ""
        step = self._next()
        if step is not None and step.answer is not None:
            return bool(step.answer["value"]) or self._end_of_budget()
        answer = stopping()
        self._journal.append(self._about("answer") | {"value": answer}, wait=not answer)
        return answer

    def _next(self) -> Step | None:
        """Return what earlier runs wrote at this position."""
        self._number += 1
        if not self._ahead:
            return None
        step = self._ahead.popleft()
        if (step.name, step.asked) != self._asked:
            raise self._another(step)
        return step

    def _another(self, step: Step) -> CheckpointError:
        return CheckpointError(
            f"Step {self._number} of the checkpoint asked for something else ({step.name}) "
            f"than this run does ({self._asked[0]}); continue it with the version of Understudy "
            "and on the kind of machine that made it."
        )

    def _take_over(self, step: Step) -> None:
        """Take over what is lost, which shrinks all costs to come."""
        step.taken_over = True
        for entry in step.lost:
            before = self._ledger.remaining
            self._rebuild(entry)
            if entry.spent:
                self.factor *= self._ledger.remaining / before

    def _rebuild(self, entry: Entry) -> int:
        self._rebuilding = True
        try:
            self._ledger.restore(entry)
        finally:
            self._rebuilding = False
        return entry.number

    def _end_of_budget(self) -> bool:
        """Return whether the coming round cannot be paid; its entries are then taken over."""
        coming: list[Step] = []
        for step in self._ahead:
            if step.name == _LOOK:
                break
            coming.append(step)
            if step.answer is None:
                break
        entries = [entry for step in coming for _, entry in step.charges]
        costs = sum((entry.spent or Fraction(0) for entry in entries), Fraction(0))
        if not (coming and coming[-1].answer is None) or costs < self._ledger.remaining:
            return False
        for _ in coming:
            self._number += 1
            step = self._ahead.popleft()
            self._take_over(step)
            # Of a choice whose table was lost nothing is released: its step has no result either.
            for entry in step.paid if step.answer else ():
                self._rebuild(replace(entry, noise=LOST))
        return True

    def _write_down(self, entry: Entry) -> None:
        if not self._rebuilding:
            self._journal.append(self._about("charge") | {"entry": pack(entry)})

    def _about(self, kind: str) -> Record:
        name, asked = self._asked
        return {"kind": kind, "call": self._number, "mechanism": name, "asked": asked}


def _words(paid: Entry | Charge[Any]) -> tuple[Any, ...]:
    """Return what is compared of a line of the ledger, and of a charge before it."""
    return paid.spent, paid.mechanism, paid.query, paid.sensitivity, paid.noise, paid.cells


def _steps(records: Sequence[Record]) -> list[Step]:
    """The records of each question together, in the order in which they were asked."""
    steps: dict[int, Step] = {}
    for record in records:
        step = steps.setdefault(record["call"], Step(record["mechanism"], record["asked"]))
        if record["kind"] == "charge":
            step.charges.append((record["run"], unpack(record["entry"])))
        elif record["kind"] != WITHDRAWN:
            step.answer = record
    return [steps[number] for number in sorted(steps)]
