"""Whether a ledger, or an export of one, is as it was written: entry by entry, and against a head.

The chain tells an entry that was altered, removed, moved or repeated, as long as its hash or that
of the next one was left. Whoever writes all hashes anew, or cuts off the end, is found by a head
that somebody else has kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from understudy.populations.hash_chain import START, Head
from understudy.populations.ledger_entries import AnyEntry, LedgerMade, read_entry
from understudy.populations.ledger_row import Row
from understudy.populations.ledger_rules import Rules

MOST = 20
"""Sentences about entries; more would say the same."""


def faults_of(rows: Sequence[Row]) -> list[str]:
    """What is wrong with entries, in sentences.

    Args:
        rows: all, in the order of their numbers.
    """
    if not rows:
        return ["The ledger has no entry, not even its own."]
    faults: list[str] = []
    entries: list[AnyEntry] = []
    previous, expected = START, 1
    for row in rows:
        faults += _gap(expected, row.number)
        entry, said = _read(row)
        if entry is not None:
            entries.append(entry)
        if not said and row.previous != previous:
            said = "does not follow the entry before it: one of the two was moved, removed or made"
        if said:
            faults.append(f"Entry {row.number} {said}.")
        previous, expected = row.hash, row.number + 1
    return (faults or _broken_rules(entries))[:MOST]


def head_faults(rows: Sequence[Row], head: Head | None) -> list[str]:
    """What a head says that entries do not, in sentences.

    Args:
        rows: all, in the order of their numbers.
        head: where they ended once; None for no such knowledge.
    """
    if head is None or not rows:
        return []
    first, _ = _read(rows[0])
    if not isinstance(first, LedgerMade) or first.id != head.ledger:
        return ["The head is of another ledger."]
    last = rows[-1].number
    if last < head.number:
        return [
            f"The ledger ends at entry {last}, and the head says that it had {head.number}: it was "
            "put back from an older copy, or its end was cut off."
        ]
    there = next((row for row in rows if row.number == head.number), None)
    if there is None or there.hash != head.hash:
        return [
            f"Entry {head.number} is not the one that the head names: the ledger was written anew, "
            "from there or from before."
        ]
    return []


def _gap(expected: int, number: int) -> list[str]:
    if number == expected:
        return []
    if number < expected:
        return [f"Entry {number} stands behind entry {expected - 1}: it was moved or repeated."]
    if number == expected + 1:
        return [f"Entry {expected} is missing."]
    return [f"Entries {expected} to {number - 1} are missing."]


def _read(row: Row) -> tuple[AnyEntry | None, str]:
    """The entry of a row, and what is wrong with the row by itself."""
    try:
        entry = read_entry(row.public)
    except ValueError:
        return None, "was altered: it cannot be read"
    if entry.number != row.number:
        return entry, f"was entered as number {entry.number}: it was moved or repeated"
    if (entry.population, entry.kind, entry.about) != (row.population, row.kind, row.about):
        return entry, "was altered: what it is found by is not what it says"
    if row.has_hash:
        return entry, ""
    return entry, "was altered: it does not have its hash"


def _broken_rules(entries: Sequence[AnyEntry]) -> list[str]:
    rules = Rules()
    said = ((entry.number, rules.take(entry)) for entry in entries)
    return [f"Entry {number} {what}." for number, what in said if what]
