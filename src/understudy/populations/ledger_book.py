"""A population ledger within one transaction: entries are read by index, and appended to the end.

What is asked often costs little: a charge looks up the last entry about its reservation and the
last of all. Totals are read from what began and ended runs, never from their charges.

An entry is used only if it has its hash, and totals only if every link of the chain holds, from the
first entry to the last. So an entry that was altered is found before anything is spent on it, as
long as not all later hashes were made anew (`hash_chain`). Nothing is remembered from one
transaction to the next: what was whole before may be altered since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from understudy.errors import LedgerError, suggestion
from understudy.extras import require_extra
from understudy.populations.account import Account
from understudy.populations.hash_chain import START, Head, digest, link
from understudy.populations.ledger_entries import (
    FORMAT,
    AnyEntry,
    Charged,
    Committed,
    Entry,
    LedgerMade,
    PopulationAdded,
    Published,
    Reserved,
    UsedInside,
    Voided,
    WaveOpened,
    read_entry,
)
from understudy.populations.ledger_row import Row, written
from understudy.populations.population import (
    Population,
    plain_text,
    require_plain_letters,
    taken_for,
)

try:
    from sqlalchemy import (
        Column,
        Connection,
        Integer,
        MetaData,
        Select,
        Table,
        Text,
        insert,
        select,
    )
except ImportError:
    require_extra("ledger", "A population ledger")
    raise

_ENTRIES = Table(
    "entries",
    MetaData(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("population", Text),
    Column("kind", Text),
    Column("about", Integer),
    *(Column(name, Text) for name in ("public", "private", "previous", "hash")),
)
_COLUMNS = _ENTRIES.c
E = TypeVar("E", bound=Entry)
_AT_ONCE = 1000


class Book:
    """The entries of a ledger, as one transaction sees them.

    Args:
        connection: with an open transaction.
        place: of the ledger, as it may be shown.
        id: of the ledger that it must be; None for whichever it is.

    Attributes:
        id: of the ledger.

    Raises:
        LedgerError: another ledger, of a format that is not known, or damaged.
    """

    def __init__(self, connection: Connection, place: str, id: str | None = None) -> None:
        self._connection, self._place = connection, place
        self._whole = False
        self.id = self._identified()
        if id is not None and id != self.id:
            raise LedgerError(
                f"The ledger {place!r} is another one than was opened; nothing was entered."
            )

    def population(self, name: object) -> Population:
        """A population by its name.

        Raises:
            LedgerError: there is none.
        """
        asked = plain_text("The name of a population", name)
        for entry in self.entries(PopulationAdded, population=asked):
            return entry.declared
        known = [entry.population for entry in self.entries(PopulationAdded)]
        there = f"; there are {', '.join(map(repr, known[:5]))}" if known else "; add one first"
        raise LedgerError(
            f"The ledger {self._place!r} has no population {asked!r}{suggestion(asked, known)}"
            f"{there}."
        )

    def require_new(self, name: str) -> None:
        """Refuse a name that is taken, or that people would take for another.

        Raises:
            LedgerError: there is such a one, or the name is not of plain letters.
        """
        for entry in self.entries(PopulationAdded):
            if taken_for(name, entry.population):
                raise LedgerError(
                    f"There is a population {entry.population!r} already, and {name!r} could be "
                    "taken for it; choose another name."
                )
        require_plain_letters(name)

    def account(self, population: Population) -> Account:
        """What a population has spent and reserved.

        Raises:
            LedgerError: some entry of the ledger was altered, whichever population it is of.
        """
        self.require_whole()
        account = Account(population)
        for entry in self._read(
            _of(
                population.name,
                (Reserved, Committed, Voided, UsedInside, Published, WaveOpened),
            )
        ):
            match entry:
                case WaveOpened():
                    account.open_wave()
                case Reserved():
                    account.reserve(entry.number, entry.cost)
                case Committed() | Voided():
                    account.settle(entry.reservation, entry.spent)
                case UsedInside():
                    account.keep_inside(entry.number, entry.cost)
                case Published():
                    account.publish(entry.internal)
        return account

    def entries(self, kind: type[E], population: str | None = None) -> Iterator[E]:
        """Entries of one kind, of one population or of all."""
        for entry in self._read(_of(population, (kind,))):
            assert isinstance(entry, kind)
            yield entry

    def entry(self, kind: type[E], number: object) -> E:
        """An entry by its number.

        Raises:
            LedgerError: there is none of this kind.
        """
        found = None
        if type(number) is int and 0 < number < 2**31:
            query = select(_ENTRIES).where(_COLUMNS.number == number)
            found = next(self._read(query), None)
        if not isinstance(found, kind):
            name = {"Reserved": "reservation", "UsedInside": "internal entry"}[kind.__name__]
            raise LedgerError(f"The ledger {self._place!r} has no {name} of this number.")
        return found

    def last_about(self, number: int) -> Charged | Committed | Voided | Published | None:
        """What was entered last about a reservation, or an internal entry."""
        query = select(_ENTRIES).where(_COLUMNS.about == number)
        last = next(self._read(query.order_by(_COLUMNS.number.desc()).limit(1)), None)
        assert last is None or isinstance(last, Charged | Committed | Voided | Published)
        return last

    def last_charge(self, number: int) -> Charged | None:
        """The last charge of a reservation, whatever came after it."""
        query = select(_ENTRIES).where(_COLUMNS.about == number, _COLUMNS.kind == "charge")
        last = next(self._read(query.order_by(_COLUMNS.number.desc()).limit(1)), None)
        assert last is None or isinstance(last, Charged)
        return last

    def require_whole(self) -> None:
        """Refuse a ledger in which an entry was altered, removed, moved or repeated.

        All hashes are computed again, once in a transaction.

        Raises:
            LedgerError: names the first entry that does not follow from those before it.
        """
        if self._whole:
            return
        names = (_COLUMNS.number, _COLUMNS.public, _COLUMNS.private, _COLUMNS.previous)
        query = select(*names, _COLUMNS.hash).order_by(_COLUMNS.number)
        before, expected = START, 1
        found = self._connection.execute(query).yield_per(_AT_ONCE)
        for number, public, private, previous, own in found:
            texts = all(type(text) is str for text in (public, private))
            if not texts or (number, previous) != (expected, before):
                raise self._damaged(number)
            if link(before, public, digest(private)) != own:
                raise self._damaged(number)
            before, expected = own, expected + 1
        self._whole = True

    @property
    def head(self) -> Head:
        """Where the ledger ends.

        Raises:
            LedgerError: its last entry is not the one that was entered.
        """
        last = self._last()
        if not last.has_hash:
            raise self._damaged(last.number)
        return Head(self.id, last.number, last.hash)

    def rows(self) -> Iterator[Row]:
        """All entries as they are stored, in their order."""
        after: int | None = None
        while True:
            query = select(_ENTRIES).order_by(_COLUMNS.number).limit(_AT_ONCE)
            found = self._rows(query if after is None else query.where(_COLUMNS.number > after))
            yield from found
            if len(found) < _AT_ONCE:
                return
            after = found[-1].number

    def append(self, kind: type[E], population: str, **said: Any) -> E:
        """Enter something at the end.

        Args:
            kind: of entry.
            population: its name.
            said: the other fields of such an entry, but number and date.

        Raises:
            LedgerError: the end of the ledger is damaged.
        """
        head = self.head
        entry, values = written(kind, head.number + 1, population, head.hash, said)
        self._connection.execute(insert(_ENTRIES), values)
        return entry

    def _identified(self) -> str:
        query = select(_COLUMNS.public).where(_COLUMNS.number == 1)
        text = self._connection.execute(query).scalar()
        try:
            version = json.loads(text or "")["format"]
            if type(version) is int and version > FORMAT:
                raise LedgerError(
                    f"The ledger {self._place!r} has a newer format than this version of "
                    "Understudy reads; install a newer one."
                )
            first = read_entry(text or "")
            if isinstance(first, LedgerMade):
                return first.id
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise self._damaged(1)

    def _last(self) -> Row:
        query = select(_ENTRIES).order_by(_COLUMNS.number.desc()).limit(1)
        return self._rows(query)[0]

    def _read(self, query: Select[Any]) -> Iterator[AnyEntry]:
        for row in self._rows(query):
            try:
                entry = read_entry(row.public)
            except ValueError:
                raise self._damaged(row.number) from None
            if (entry.number, entry.population, entry.kind, entry.about) != (
                *(row.number, row.population),
                *(row.kind, row.about),
            ):
                raise self._damaged(row.number)
            if not row.has_hash:
                raise self._damaged(row.number)
            yield entry

    def _rows(self, query: Select[Any]) -> list[Row]:
        rows = []
        for number, *texts in self._connection.execute(query).all():
            population, kind, about, public, private, previous, own = texts
            if any(type(text) is not str for text in texts if text is not about):
                raise self._damaged(number)
            sum_ = digest(private)
            rows.append(Row(number, population, kind, about, public, private, sum_, previous, own))
        return rows

    def _damaged(self, number: object) -> LedgerError:
        return LedgerError(
            f"The ledger {self._place!r} was altered at entry {number}; nothing can be entered. "
            "See `understudy ledger verify`, and restore it."
        )


def begin(connection: Connection, id: str) -> None:
    """Make the first entry of a ledger, which is its own.

    Args:
        connection: with an open transaction.
        id: 128 random bits in hex.
    """
    _, values = written(LedgerMade, 1, "", START, {"id": id, "format": FORMAT})
    connection.execute(insert(_ENTRIES), values)


def _of(population: str | None, kinds: Iterable[type[Entry]]) -> Select[Any]:
    names = [kind.model_fields["kind"].default for kind in kinds]
    query = select(_ENTRIES).where(_COLUMNS.kind.in_(names))
    if population is not None:
        query = query.where(_COLUMNS.population == population)
    return query.order_by(_COLUMNS.number)
