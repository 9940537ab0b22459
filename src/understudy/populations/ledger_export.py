"""A ledger as JSON for others: its public parts, the digests of its private ones, and its head.

An export has no times. Whoever has it can check chain, caps and rules without the ledger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.errors import LedgerError, SignatureError
from understudy.populations.hash_chain import Head, canonical
from understudy.populations.ledger_check import faults_of, head_faults
from understudy.populations.ledger_entries import FORMAT, read_entry
from understudy.populations.ledger_row import Row
from understudy.signatures import Signature, sign

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
    """What is wrong with an exported ledger, in sentences.

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
        raise LedgerError(f"Entry {place} of the export is none.")
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
