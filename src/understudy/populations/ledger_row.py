"""An entry of a population ledger as it is stored: its two parts, and its link of the chain."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from understudy.populations.hash_chain import canonical, digest, link
from understudy.populations.ledger_entries import Entry

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True)
class Row:
    """An entry as it is stored.

    Attributes:
        number: place in the ledger.
        population: as in its public part, and so are kind and about.
        kind: of entry.
        about: the entry that it goes on with.
        public: its public part.
        private: its private part; None in an export.
        private_digest: of that.
        previous: hash of the entry before it.
        hash: its own.
    """

    number: int
    population: str
    kind: str
    about: int
    public: str
    private: str | None
    private_digest: str
    previous: str
    hash: str

    @property
    def linked(self) -> str:
        """The hash that it should have."""
        return link(self.previous, self.public, self.private_digest)

    @property
    def has_hash(self) -> bool:
        """Whether it has the hash that it should have."""
        try:
            return self.linked == self.hash
        except ValueError:  # the hash before it is none
            return False

    @property
    def time(self) -> str:
        """When it was entered, in UTC; "" where that is not known."""
        return "" if self.private is None else str(json.loads(self.private)["time"])


def written(
    kind: type[E], number: int, population: str, previous: str, said: dict[str, Any]
) -> tuple[E, dict[str, Any]]:
    """A new entry, and the values of its row.

    Args:
        kind: of entry.
        number: its place.
        population: its name.
        previous: hash of the entry before it.
        said: its other fields but the date.
    """
    now = datetime.now(UTC)
    date, time = now.strftime("%Y-%m-%d"), now.strftime("%Y-%m-%dT%H:%M:%SZ")
    entry = kind(number=number, date=date, population=population, **said)
    private = canonical({"time": time, "nonce": secrets.token_hex(16)})
    public = entry.text
    values = {
        "number": number,
        "population": entry.population,
        "kind": entry.kind,
        "about": entry.about,
        "public": public,
        "private": private,
        "previous": previous,
        "hash": link(previous, public, digest(private)),
    }
    return entry, values
