"""Verification that a ledger, or an export, is as it was written: by entry, and against a head.

The chain tells an entry that was altered, removed, moved or repeated, as long as its hash or that
of the next one was left. Whoever writes all hashes anew, or cuts off the end, is found by a head
that somebody else has kept.

**Whether entries could have come about as they stand: caps kept, runs charged while open.**

**A ledger as JSON for others: its public parts, the digests of its private ones, and its head.**

An export has no times. Whoever has it can check chain, caps and rules without the ledger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy._storage import Signature, sign
from understudy.errors import LedgerError, SignatureError
from understudy.ledger.account import Account, Cost, likeness
from understudy.ledger.entries import (
    FORMAT,
    START,
    AnyEntry,
    Charged,
    Committed,
    Head,
    LedgerMade,
    PopulationAdded,
    Published,
    Reserved,
    Row,
    UsedInside,
    Voided,
    WaveOpened,
    canonical,
    read_entry,
)


@dataclass
class _Run:
    """A reservation, and how far its run has come."""

    population: str
    cost: Cost
    state: str = "open"
    charges: int = 0
    spent: Fraction = Fraction(0)


@dataclass
class Rules:
    """Entries taken one after the other, each held against all that came before."""

    _accounts: dict[str, Account] = field(default_factory=dict)
    _runs: dict[int, _Run] = field(default_factory=dict)

    def take(self, entry: AnyEntry) -> str:
        """Take the next entry.

        Returns:
            What rule it breaks, after "entry 7 "; "" for none.
        """
        if (entry.number == 1) != isinstance(entry, LedgerMade):
            return "is not where the entry of the ledger itself must be"
        if isinstance(entry, LedgerMade):
            return "" if entry.format == FORMAT else "has an unknown format"
        if isinstance(entry, PopulationAdded):
            return self._add(entry)
        account = self._accounts.get(entry.population)
        if account is None:
            return "is of a population that was not there"
        try:
            return self._of(entry, account)
        except LedgerError as error:
            return f"breaks a cap or a rule of its population: {str(error).rstrip('.')}"

    def _of(
        self,
        entry: WaveOpened | Reserved | UsedInside | Published | Charged | Committed | Voided,
        account: Account,
    ) -> str:
        match entry:
            case WaveOpened():
                return "" if account.open_wave() == entry.wave else "opens another wave"
            case Reserved():
                account.require(entry.cost)
                account.reserve(entry.number, entry.cost)
                self._runs[entry.number] = _Run(entry.population, entry.cost)
            case UsedInside():
                account.keep_inside(entry.number, entry.cost)
            case Published():
                account.require_publishable(entry.internal)
                account.publish(entry.internal)
            case _:
                return self._go_on(entry, account)
        return ""

    def _add(self, entry: PopulationAdded) -> str:
        taken = any(likeness(name) == likeness(entry.population) for name in self._accounts)
        if taken or entry.declared.name != entry.population:
            return "adds a population under a name that is another's"
        self._accounts[entry.population] = Account(entry.declared)
        return ""

    def _go_on(self, entry: Charged | Committed | Voided, account: Account) -> str:
        run = self._runs.get(entry.reservation)
        if run is None or run.population != entry.population:
            return "is about a reservation that was not there"
        if isinstance(entry, Charged):
            return _charge(run, entry)
        again = run.state == "committed" and isinstance(entry, Committed)
        if run.state != "open" and not again:
            return "closes a reservation that was closed"
        if entry.spent != run.spent:
            return "settles a reservation to another sum than was charged"
        run.state = "committed" if isinstance(entry, Committed) else "void"
        account.settle(entry.reservation, entry.spent)
        return ""


def _charge(run: _Run, entry: Charged) -> str:
    if run.state != "open":
        return "charges a reservation that was closed"
    if entry.charge != run.charges + 1 or entry.spent < run.spent:
        return "is no charge that follows the one before it"
    if entry.spent > run.cost.amount:
        return "charges more than was reserved"
    if run.cost.delta and entry.spent != run.cost.amount:
        return "charges a part of a selection"
    run.charges, run.spent = entry.charge, entry.spent
    return ""


MOST = 20
"""Sentences about entries; more would say the same."""


def faults_of(rows: Sequence[Row]) -> list[str]:
    """List what is wrong with entries, in sentences.

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
    """List in sentences what a head says that entries do not.

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


_HEX = re.compile(r"[0-9a-f]{32}([0-9a-f]{32})?")
_FIELDS = {"public", "private_digest", "previous", "hash"}


def export(rows: Sequence[Row], head: Head, key: Path | None = None) -> dict[str, Any]:
    """All entries without their times, and the head.

    Args:
        rows: as they are stored.
        head: of them.
        key: file of the private key that signs the head; None leaves it unsigned.

    Raises:
        SignatureError: the key cannot be used.
    """
    entries = [
        {
            "public": json.loads(row.public),
            "private_digest": row.private_digest,
            "previous": row.previous,
            "hash": row.hash,
        }
        for row in rows
    ]
    return {"format": FORMAT, "head": head_json(head, key), "entries": entries}


def head_json(head: Head, key: Path | None = None) -> dict[str, Any]:
    """A head, signed if there is a key.

    Raises:
        SignatureError: the key cannot be used.
    """
    if key is None:
        return head.to_json()
    return head.to_json() | {"signature": sign(head.signed_text, key).to_json()}


def read_head(data: Any, signer: str | None = None) -> Head:
    """A head that somebody kept.

    Args:
        data: as `head_json` wrote it, or a whole export.
        signer: public key in hex of whoever must have signed it.

    Raises:
        LedgerError: no head.
        SignatureError: its signature does not fit, or is missing and a signer was named.
    """
    if isinstance(data, dict) and "head" in data:
        data = data["head"]
    if not isinstance(data, dict) or not _is_head({**data}):
        raise LedgerError("This is no head of a ledger, as `understudy ledger export --head` is.")
    head = Head(data["ledger"], data["number"], data["hash"])
    if "signature" in data:
        Signature.from_json(data["signature"]).require(head.signed_text, signer)
    elif signer is not None:
        raise SignatureError("The head is not signed, and you named who must have signed it.")
    return head


def verify_export(data: Any, head: Head | None = None, signer: str | None = None) -> list[str]:
    """List what is wrong with an exported ledger, in sentences.

    Args:
        data: as `export` made it.
        head: where the ledger ended once, from somebody who kept it.
        signer: public key in hex of whoever must have signed the head of the export.

    Raises:
        LedgerError: no export, or one of a newer format.
        SignatureError: its signature does not fit.
    """
    rows = _rows(data)
    own = read_head(data, signer)
    faults = faults_of(rows) + head_faults(rows, own) + head_faults(rows, head)
    if rows and own.number != rows[-1].number and not faults:
        faults.append(f"The export has more entries than its head names, {own.number}.")
    return faults


def read_json(path: Path) -> Any:
    """JSON from a file that anybody may have written.

    Raises:
        LedgerError: it cannot be read, or is none.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LedgerError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise LedgerError(f"The file {str(path)!r} is not JSON.") from None


def _is_head(data: dict[str, Any]) -> bool:
    data.pop("signature", None)
    texts = (data.get("ledger"), data.get("hash"))
    fits = all(isinstance(text, str) and _HEX.fullmatch(text) for text in texts)
    return fits and set(data) == {"ledger", "number", "hash"} and type(data["number"]) is int


def _rows(data: Any) -> list[Row]:
    if not isinstance(data, dict) or set(data) != {"format", "head", "entries"}:
        raise LedgerError("This is no exported ledger, as `understudy ledger export` makes one.")
    if data["format"] != FORMAT or not isinstance(data["entries"], list):
        raise LedgerError(
            "The export has another format than this version of Understudy reads; take the version "
            "that made it."
        )
    return [_row(place, one) for place, one in enumerate(data["entries"], start=1)]


def _row(place: int, data: Any) -> Row:
    """An exported entry as a row; what it is found by is what it says."""
    fits = isinstance(data, dict) and set(data) == _FIELDS and isinstance(data["public"], dict)
    if not fits or not all(isinstance(data[name], str) for name in _FIELDS - {"public"}):
        raise LedgerError(f"Entry {place} of the export is not an entry of a ledger.")
    try:
        public = canonical(data["public"])
        entry = read_entry(public)
        population, kind, about = entry.population, str(entry.kind), entry.about
    except (ValueError, RecursionError):
        public, population, kind, about = "", "", "", 0
    number = data["public"].get("number")
    number = number if type(number) is int else place
    chained = data["private_digest"], data["previous"], data["hash"]
    return Row(number, population, kind, about, public, None, *chained)
