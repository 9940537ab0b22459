"""The chain of a population ledger: each entry is hashed with all that came before it.

    hash = SHA-256(previous hash ‖ SHA-256(public part) ‖ SHA-256(private part)),

of 32 bytes each, zeros before the first. Parts are JSON in the canonical form of RFC 8785. The
private part has the exact time and 128 random bits, without which a time could be found by trying
all; whoever is given the public parts and the digests of the private ones can compute the chain
again. Whoever holds a head, an entry's number and hash, can tell that everything up to there is
as it was; what came after, or that all was written anew before anybody held a head, nobody can.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

START = "0" * 64


def canonical(data: Any) -> str:
    """JSON in canonical form (RFC 8785), for texts, whole numbers, None, lists and mappings.

    Example:
        >>> canonical({"b": 1, "a": "ε"})
        '{"a":"ε","b":1}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(text: str) -> str:
    """SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def link(previous: str, public: str, private_digest: str) -> str:
    """The hash of an entry.

    Args:
        previous: that of the entry before it, in hex; `START` for the first.
        public: its public part.
        private_digest: of its private part, in hex.
    """
    parts = bytes.fromhex(previous) + bytes.fromhex(digest(public)) + bytes.fromhex(private_digest)
    return hashlib.sha256(parts).hexdigest()


@dataclass(frozen=True)
class Head:
    """Where a ledger ended when somebody looked.

    Attributes:
        ledger: its id.
        number: of its last entry.
        hash: of that.
    """

    ledger: str
    number: int
    hash: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self).copy()

    @property
    def signed_text(self) -> str:
        """What a signature of it is of; begins with words, so that it is none of anything else."""
        return f"understudy population ledger head\n{canonical(self.to_json())}"
