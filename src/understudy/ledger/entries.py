"""Entries of a population ledger: one kind for each thing that happens.

All of an entry is public but its exact time. It names no data: digests of the request and of what
was released, never of the rows, and dates without times, as how long a run takes depends on rows.

**An entry of a population ledger as it is stored: its two parts, and its link of the chain.**

**The chain of a population ledger: each entry is hashed with all that came before it.**

    hash = SHA-256(previous hash ‖ SHA-256(public part) ‖ SHA-256(private part)),

of 32 bytes each, zeros before the first. Parts are JSON in the canonical form of RFC 8785. The
private part has the exact time and 128 random bits, without which a time could be found by trying
all; whoever is given the public parts and the digests of the private ones can compute the chain
again. Whoever holds a head, an entry's number and hash, can tell that everything up to there is
as it was; what came after, or that all was written anew before anybody held a head, nobody can.

**Entries of a population ledger in words: who did what, and what it spent.**
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import groupby
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from understudy.dp.budget import decimal_up
from understudy.errors import LedgerError
from understudy.ledger.account import Cost, Population, fraction, plain_text

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
        """Text that is signed; it begins with words, so that it is none of anything else."""
        return f"understudy population ledger head\n{canonical(self.to_json())}"


FORMAT: Final = 1

What = Literal["release", "regression", "question", "verdict"]
WHATS: Final[tuple[str, ...]] = get_args(What)


def _text(text: str) -> str:
    try:
        if plain_text("It", text, least=0) == text:
            return text
    except LedgerError:
        pass
    raise ValueError("no plain text")


def _accept_written(kind: type, read: Callable[[Any], Any]) -> PlainValidator:
    """Takes a value of a kind, or what was written down of one."""
    return PlainValidator(lambda value: value if type(value) is kind else read(value))


Text = Annotated[str, AfterValidator(_text)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16,128}$")]
MaybeDigest = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{16,128})?$")]
Date = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Number = Annotated[int, Field(ge=1)]
Amount = Annotated[Fraction, _accept_written(Fraction, fraction), PlainSerializer(str)]
WrittenCost = Annotated[
    Cost, _accept_written(Cost, Cost.from_json), PlainSerializer(lambda cost: cost.to_json())
]
WrittenPopulation = Annotated[
    Population,
    _accept_written(Population, Population.from_json),
    PlainSerializer(lambda population: population.to_json()),
]


class Entry(BaseModel):
    """The fields of every entry.

    Attributes:
        number: from 1, without gaps.
        date: of the day in UTC, as the clock said; the order is that of the numbers.
        population: its name; "" for the ledger itself.
        kind: which of the kinds below.
        by: who entered it, as was told; "" if nobody said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    number: Number
    date: Date
    population: Text
    kind: str
    by: Text = ""

    @property
    def about(self) -> int:
        """Number of the entry that this one goes on with; 0 for one that begins something."""
        return 0

    @property
    def text(self) -> str:
        """Its public part as it is stored and hashed."""
        return canonical(self.model_dump())


class LedgerMade(Entry):
    """The first entry: which ledger this is, and how it is written."""

    kind: Literal["ledger"] = "ledger"
    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    format: int


class PopulationAdded(Entry):
    """A population, whose caps never change."""

    kind: Literal["population"] = "population"
    declared: WrittenPopulation


class WaveOpened(Entry):
    """The next of the waves that a population was planned for."""

    kind: Literal["wave"] = "wave"
    wave: Number


class Reserved(Entry):
    """A reservation of what a run may spend; counts whole until it is settled."""

    kind: Literal["reserve"] = "reserve"
    what: What
    request: Digest
    cost: WrittenCost


class _OfReservation(Entry):
    reservation: Number

    @property
    def about(self) -> int:
        """Number of the reservation."""
        return self.reservation


class Charged(_OfReservation):
    """A step that is about to be computed.

    Attributes:
        charge: its number within the run, from 1.
        spent: by the run, this step included, in the unit of its reservation.
        journal: digest of the run's journal up to this step; "" if none is kept.
    """

    kind: Literal["charge"] = "charge"
    charge: Number
    spent: Amount
    journal: MaybeDigest


class Committed(_OfReservation):
    """A release was made, or made again from the same measurements; what was charged is spent."""

    kind: Literal["commit"] = "commit"
    spent: Amount
    release: Digest


class Voided(_OfReservation):
    """No release will be made; what was charged is spent."""

    kind: Literal["void"] = "void"
    spent: Amount


class UsedInside(Entry):
    """Something that stays inside, outside ε, with the cost of the releases that it rests on."""

    kind: Literal["internal"] = "internal"
    what: Text
    request: MaybeDigest
    cost: WrittenCost | None


class Published(Entry):
    """Something internal was published after all, so its cost is spent."""

    kind: Literal["publish"] = "publish"
    internal: Number

    @property
    def about(self) -> int:
        """Number of the internal entry."""
        return self.internal


AnyEntry = (
    LedgerMade
    | PopulationAdded
    | WaveOpened
    | Reserved
    | Charged
    | Committed
    | Voided
    | UsedInside
    | Published
)
_READER: TypeAdapter[AnyEntry] = TypeAdapter(
    Annotated[AnyEntry, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)


def read_entry(text: str) -> AnyEntry:
    """An entry from its public part.

    Args:
        text: as `Entry.text` writes it.

    Raises:
        ValueError: another text, even of the same meaning.
    """
    try:
        entry = _READER.validate_python(json.loads(text))
        if entry.text == text:
            return entry
    except (ValidationError, RecursionError, UnicodeError):
        pass
    raise ValueError("no entry")


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
        """True if it has the hash that it should have."""
        try:
            return self.linked == self.hash
        except ValueError:  # the hash before it is none
            return False

    @property
    def time(self) -> str:
        """Time of the entry, in UTC; "" where that is not known."""
        return "" if self.private is None else str(json.loads(self.private)["time"])


def write_entry(
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


_DIGEST: Final = 12
"""Digits of a digest that are shown."""


@dataclass(frozen=True)
class Told:
    """One entry, or charges of one reservation that follow each other.

    Attributes:
        numbers: of the entries.
        time: of the last, in UTC; "" where that is not known.
        population: its name.
        entry: its kind, or how many charges.
        about: what it says besides.
        by: who did it; "" if nobody said.
    """

    numbers: str
    time: str
    population: str
    entry: str
    about: str
    by: str


def describe_entries(rows: Sequence[Row]) -> Iterator[Told]:
    """Tell of entries, in their order.

    Args:
        rows: as they are stored.
    """
    for (kind, _), group in groupby(rows, key=_run):
        *first, last = group
        said: dict[str, Any] = json.loads(last.public)
        yield Told(
            numbers=f"{first[0].number}–{last.number}" if first else str(last.number),
            time=last.time.replace("T", " ").rstrip("Z"),
            population=last.population,
            entry=f"{len(first) + 1} charges" if first else kind,
            about=_words(said),
            by=said["by"],
        )


def _run(row: Row) -> tuple[str, int]:
    """Charges of one reservation go together; every other entry stands alone."""
    if row.kind != "charge":
        return row.kind, row.number
    return row.kind, json.loads(row.public)["reservation"]


def _words(said: dict[str, Any]) -> str:
    """Describe what an entry says besides."""
    parts = [f"of {said[name]}" for name in ("reservation", "internal") if name in said]
    parts += [said["what"]] if "what" in said else []
    if cost := said.get("cost"):
        parts.append(Cost.from_json(cost).words)
    parts += [f"spent {decimal_up(Fraction(said['spent']))}"] if "spent" in said else []
    parts += [f"{name} {said[name][:_DIGEST]}" for name in ("request", "release") if said.get(name)]
    return ", ".join(parts)
