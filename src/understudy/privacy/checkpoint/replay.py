"""How far a run has come in its journal: what earlier runs asked, paid and were told.

The rules and their proof: `understudy.privacy.checkpoint.resumable_gate`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from understudy.errors import CheckpointError, MethodError
from understudy.privacy.accounting.ledger import Entry, Ledger
from understudy.privacy.checkpoint.journal import Journal, Record
from understudy.privacy.checkpoint.json_values import pack, unpack
from understudy.privacy.noise.randomness import Randomness, SeededRandomness

LOST = "none known: the run ended before it had a result"
_LOOK = "stopping"


@dataclass
class Call:
    """What earlier runs wrote about one question.

    Attributes:
        verb: of the gate.
        asked: digest of what was asked.
        charges: entries, each with the run that paid it.
        answer: the record of the answer, if there is one.
    """

    verb: str
    asked: str
    charges: list[tuple[int, Entry]] = field(default_factory=list)
    answer: Record | None = None

    @property
    def entries(self) -> Iterator[Entry]:
        """All entries; those that no answer came of are marked."""
        came = None if self.answer is None else self.answer["run"]
        for run, entry in self.charges:
            yield entry if run == came else replace(entry, noise=LOST)

    @property
    def lost(self) -> bool:
        """Whether the run ended before there was an answer."""
        return self.answer is None


class Recording:
    """The journal of a run, and how far this run has come in it; shared by all views of a gate.

    Args:
        journal: open.
        ledger: of the gate.
        randomness: of the gate; a seeded one is brought to where it was.

    Attributes:
        factor: by what costs shrink because of lost charges.
    """

    def __init__(self, journal: Journal, ledger: Ledger, randomness: Randomness) -> None:
        self._journal, self._ledger = journal, ledger
        self._seeded = randomness if isinstance(randomness, SeededRandomness) else None
        self._ahead = deque(_calls(journal.records))
        self._number = 0
        self._open: Call | None = None
        self.factor = Fraction(1)
        self._lock = threading.RLock()
        ledger.guard(self._require_asking)
        ledger.listen(self._write_down)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One question at a time: a journal is read back in the order of the questions."""
        self._ledger.require_home()  # before the lock, which a forked child may have got closed
        with self._lock:
            yield

    def next(self, verb: str, asked: str) -> Call | None:
        """What earlier runs wrote about this question; its entries stand in the ledger then.

        Raises:
            CheckpointError: they were asked for something else, or nothing is left.
        """
        self._number += 1
        if not self._ahead:
            return None
        call = self._ahead.popleft()
        if (call.verb, call.asked) != (verb, asked):
            raise CheckpointError(
                f"Step {self._number} of the checkpoint asked for something else ({call.verb}) "
                f"than this run does ({verb}); continue it with the version of Understudy and on "
                "the kind of machine that made it."
            )
        self._restore(call)
        if call.lost and not self._ledger.remaining:
            raise CheckpointError(
                "The run ended while it paid for its last step, which counts as spent; nothing is "
                "left of the budget, so that this checkpoint cannot become a release."
            )
        return call

    def look(self, stopping: Callable[[], bool]) -> bool:
        """Whether to end between rounds: as before, or as it is now.

        If the charge of the coming round is lost and has left nothing, the rounds end here.
        """
        call = self.next(_LOOK, "")
        if call is not None and call.answer is not None:
            return bool(call.answer["value"]) or self._end_of_budget()
        answer = stopping()
        record = self._about(_LOOK, "", "answer") | {"value": answer}
        self._journal.append(record, wait=not answer)
        return answer

    @contextmanager
    def asking(self, verb: str, asked: str) -> Iterator[None]:
        """While this is open, what the ledger is charged is written down."""
        self._open = Call(verb, asked)
        try:
            yield
        finally:
            self._open = None

    def answer(self, verb: str, asked: str, value: Any, *, free: bool = False, **more: Any) -> None:
        """Write down an answer.

        Args:
            verb: of the gate.
            asked: digest of what was asked.
            value: that `pack` knows.
            free: whether it cost nothing; it is then written with the next charge.
            more: plain data to restore.
        """
        position = None if self._seeded is None else self._seeded.position
        record = {"value": pack(value), "position": position, **more}
        self._journal.append(self._about(verb, asked, "answer") | record, wait=free)

    def _restore(self, call: Call) -> None:
        """Take over the entries of a call; what was lost shrinks all costs to come."""
        for entry in call.entries:
            before = self._ledger.remaining
            self._ledger.restore(entry)
            if entry.noise == LOST and entry.spent:
                self.factor *= self._ledger.remaining / before
        if self._seeded is not None and call.answer is not None and "position" in call.answer:
            self._seeded.go_to(call.answer["position"])

    def _end_of_budget(self) -> bool:
        """Whether the coming round cannot be paid any more; its entries are then taken over."""
        coming: list[Call] = []
        for call in self._ahead:
            if call.verb == _LOOK:
                break
            coming.append(call)
            if call.lost:
                break
        costs = sum((e.spent or Fraction(0) for c in coming for e in c.entries), Fraction(0))
        if not (coming and coming[-1].lost) or costs < self._ledger.remaining:
            return False
        for _ in coming:
            self._number += 1
            self._restore(self._ahead.popleft())
        return True

    def _require_asking(self) -> None:
        """Refuse to pay for a step that a verb without a record asks for."""
        if self._open is None:
            raise MethodError(
                "This step cannot be continued after an interruption; take the method without a "
                "checkpoint."
            )

    def _write_down(self, entry: Entry) -> None:
        if self._open is None:
            return  # restored: it stands in the journal
        about = self._about(self._open.verb, self._open.asked, "charge")
        self._journal.append(about | {"entry": pack(entry)})

    def _about(self, verb: str, asked: str, kind: str) -> Record:
        return {"kind": kind, "call": self._number, "verb": verb, "asked": asked}


def _calls(records: Sequence[Record]) -> list[Call]:
    """The records of each question together, in the order in which they were asked."""
    found: dict[int, Call] = {}
    for record in records:
        call = found.setdefault(record["call"], Call(record["verb"], record["asked"]))
        if record["kind"] == "charge":
            call.charges.append((record["run"], unpack(record["entry"])))
        else:
            call.answer = record
    return [found[number] for number in sorted(found)]
