"""What can be entered into a population ledger: one kind of entry for each thing that happens.

All of an entry is public but its exact time. It names no data: digests of the request and of what
was released, never of the rows, and dates without times, as how long a run takes depends on rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, get_args

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

from understudy.errors import LedgerError
from understudy.populations.costs import Cost, fraction
from understudy.populations.hash_chain import canonical
from understudy.populations.population import Population, plain_text

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


def _written(kind: type, read: Callable[[Any], Any]) -> PlainValidator:
    """Takes a value of a kind, or what was written down of one."""
    return PlainValidator(lambda value: value if type(value) is kind else read(value))


Text = Annotated[str, AfterValidator(_text)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16,128}$")]
MaybeDigest = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{16,128})?$")]
Date = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Number = Annotated[int, Field(ge=1)]
Amount = Annotated[Fraction, _written(Fraction, fraction), PlainSerializer(str)]
WrittenCost = Annotated[
    Cost, _written(Cost, Cost.from_json), PlainSerializer(lambda cost: cost.to_json())
]
WrittenPopulation = Annotated[
    Population,
    _written(Population, Population.from_json),
    PlainSerializer(lambda population: population.to_json()),
]


class Entry(BaseModel):
    """What every entry says.

    Attributes:
        number: from 1, without gaps.
        date: of the day in UTC, as the clock said; the order is that of the numbers.
        population: its name; "" for the ledger itself.
        kind: which of the kinds below.
        by: who entered it, as was told; "" if nobody said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

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
    """What a run may spend; counts whole until it is settled."""

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
_READER: TypeAdapter[AnyEntry] = TypeAdapter(Annotated[AnyEntry, Field(discriminator="kind")])


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
