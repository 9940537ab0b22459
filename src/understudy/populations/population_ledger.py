"""The population ledger: opened by its address, asked for totals, told what is made.

    ledger = PopulationLedger.open("people.ledger")
    reservation = ledger.reserve("adults", cost, "release", request=digest)
    reservation.charge(Fraction(1, 10), journal=digest)   # before each step is computed
    reservation.commit(release=digest)                    # or reservation.void()

Each call is one transaction of its own; what it has entered is on disk when it returns.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import LedgerError
from understudy.populations.account import Totals
from understudy.populations.costs import Cost
from understudy.populations.hash_chain import Head
from understudy.populations.ledger_book import Book, begin
from understudy.populations.ledger_check import faults_of, head_faults
from understudy.populations.ledger_database import LedgerDatabase
from understudy.populations.ledger_entries import (
    WHATS,
    Charged,
    Committed,
    PopulationAdded,
    Published,
    Reserved,
    UsedInside,
    Voided,
    WaveOpened,
)
from understudy.populations.ledger_row import Row
from understudy.populations.population import Population, plain_text
from understudy.populations.reservation import Reservation, digest_text, entry_cost, told_by

if TYPE_CHECKING:  # reading releases loads more than counting them does
    from understudy.populations.past_release import PastRelease


class PopulationLedger:
    """A ledger of populations; `open` and `create` make one.

    Args:
        database: where it is stored.
        id: of the ledger.

    Attributes:
        id: 128 random bits in hex, by which it is known wherever it is stored.
        place: how its address may be shown.
    """

    def __init__(self, database: LedgerDatabase, id: str) -> None:
        self._database, self.id, self.place = database, id, database.place

    def __repr__(self) -> str:
        """Without a password."""
        return f"PopulationLedger({self.place!r})"

    @classmethod
    def open(cls, url: str | Path) -> PopulationLedger:
        """A ledger that is there.

        Args:
            url: path of a file, sqlite:///path, or postgresql://user@host/database.

        Raises:
            LedgerError: there is none, or it cannot be read.
        """
        database = LedgerDatabase(url)
        with database.reading() as connection:
            return cls(database, Book(connection, database.place).id)

    @classmethod
    def create(cls, url: str | Path) -> PopulationLedger:
        """A new ledger, without populations.

        Args:
            url: as for `open`; a file must not be there yet.

        Raises:
            LedgerError: the place is taken, or cannot be written.
        """
        database, id_ = LedgerDatabase(url), secrets.token_hex(16)
        with database.making() as connection:
            begin(connection, id_)
        return cls(database, id_)

    def add(self, population: Population, *, by: str = "") -> int:
        """Enter a population, whose caps hold from now on for good; gives the entry's number.

        Raises:
            LedgerError: the name is taken, or looks like another; or the ledger cannot be written.
        """
        by = told_by(by)
        with self._writing() as book:
            book.require_new(population.name)
            return book.append(PopulationAdded, population.name, declared=population, by=by).number

    def open_wave(self, name: str, *, by: str = "") -> int:
        """Open the next wave of a population, with its part of each cap; gives its number.

        Raises:
            LedgerError: all that were planned are open, or there is no such population.
        """
        by = told_by(by)
        with self._writing() as book:
            wave = book.account(book.population(name)).open_wave()
            return book.append(WaveOpened, book.population(name).name, wave=wave, by=by).wave

    def population(self, name: str) -> Population:
        """A population by its name.

        Raises:
            LedgerError: there is none.
        """
        with self._reading() as book:
            return book.population(name)

    def populations(self) -> tuple[Population, ...]:
        """All populations, oldest first."""
        with self._reading() as book:
            return tuple(entry.declared for entry in book.entries(PopulationAdded))

    def totals(self, name: str) -> Totals:
        """What a population has spent and reserved, in every unit.

        Raises:
            LedgerError: there is none of this name.
        """
        with self._reading() as book:
            return book.account(book.population(name)).totals()

    def require(self, name: str, cost: Cost) -> None:
        """Refuse what `reserve` would refuse now, by a LedgerError; nothing is entered."""
        with self._reading() as book:
            book.account(book.population(name)).require(entry_cost(cost))

    def reserve(self, name: str, cost: Cost, what: str, request: str, by: str = "") -> Reservation:
        """Reserve what a run may spend, before it spends anything.

        Args:
            name: of the population.
            cost: the whole of it.
            what: "release", "regression", "question" or "verdict".
            request: digest of what is asked for, of public facts alone.
            by: who asks; told, never guessed.

        Raises:
            LedgerError: it does not fit below a cap, and says which, what is left and what was
                asked; or the ledger cannot be written.
        """
        with self._writing() as book:
            return self._reserve(book, name, cost, what=what, request=request, by=by)

    def _reserve(
        self, book: Book, name: str, cost: Cost, *, what: str, request: str, by: str
    ) -> Reservation:
        if what not in WHATS:
            raise LedgerError(f"What is reserved is one of {', '.join(WHATS)}.")
        population = book.population(name)
        book.account(population).require(entry_cost(cost))
        entry = book.append(
            Reserved,
            population.name,
            what=str(what),
            request=digest_text("The digest of a request", request),
            cost=cost,
            by=told_by(by),
        )
        return Reservation(self._database, self.id, entry)

    def reservation(self, number: int) -> Reservation:
        """A reservation of an earlier run, to go on with or to close.

        Raises:
            LedgerError: there is none of this number, or some entry of the ledger was altered.
        """
        with self._reading() as book:
            book.require_whole()
            return Reservation(self._database, self.id, book.entry(Reserved, number))

    def internal(
        self, name: str, what: str, cost: Cost | None, by: str = "", request: str = ""
    ) -> int:
        """Note something that stays inside, outside ε: a map, or an evaluation.

        Args:
            name: of the population.
            what: in a few words.
            cost: of the releases that it rests on, together; None if that is not finite.
            by: who asks.
            request: digest of what is asked for.

        Returns:
            The number of the entry, by which it can be published.

        Raises:
            LedgerError: there is no such population, or the ledger cannot be written.
        """
        with self._writing() as book:
            population = book.population(name)
            if cost is not None:
                entry_cost(cost).under(population.neighbours)
            entry = book.append(
                UsedInside,
                population.name,
                what=plain_text("What is used", what),
                request=digest_text("The digest of a request", request, empty=True),
                cost=cost,
                by=told_by(by),
            )
        return entry.number

    def publish(self, number: int, *, by: str = "") -> int:
        """Count the cost of an internal entry as spent, as what it says is published.

        Args:
            number: of the entry.
            by: who decided so.

        Returns:
            The number of the new entry.

        Raises:
            LedgerError: it does not fit below a cap, has no finite cost, or was published before.
        """
        by = told_by(by)
        with self._writing() as book:
            entry = book.entry(UsedInside, number)
            account = book.account(book.population(entry.population))
            account.require_publishable(entry.number)
            return book.append(Published, entry.population, internal=entry.number, by=by).number

    def enter(self, past: PastRelease, name: str, *, by: str = "") -> int:
        """Enter what was made before there was this ledger: reserved, charged and settled at once.

        Args:
            past: a release, or an interrupted run.
            name: of the population.
            by: who enters it.

        Returns:
            The number of its reservation.

        Raises:
            LedgerError: it does not fit below a cap, or was entered before.
        """
        with self._writing() as book:
            name = book.population(name).name
            known = {entry.release for entry in book.entries(Committed, name)}
            cost = past.beyond(known)
            if past.digest in known | {entry.request for entry in book.entries(Reserved, name)}:
                raise LedgerError(f"The {past.kind} was entered before; it is not counted twice.")
            reservation = self._reserve(
                book, name, cost, what=past.what, request=past.digest, by=by
            )
            about: dict[str, Any] = {"reservation": reservation.number}
            about |= {"spent": cost.amount, "by": told_by(by)}
            journal = past.digest if past.interrupted else ""
            book.append(Charged, reservation.population, charge=1, journal=journal, **about)
            if past.interrupted:
                book.append(Voided, reservation.population, **about)
            else:
                book.append(Committed, reservation.population, release=past.digest, **about)
        return reservation.number

    def knows(self, name: str, release: str) -> bool:
        """Whether a release of a population is entered, by its digest."""
        with self._reading() as book:
            book.require_whole()
            return any(entry.release == release for entry in book.entries(Committed, name))

    def history(self, name: str | None = None) -> list[Row]:
        """Entries as they are stored, oldest first; of one population if its name is given.

        Raises:
            LedgerError: there is none of this name.
        """
        with self._reading() as book:
            if name is not None:
                name = book.population(name).name
            return [row for row in book.rows() if name in {None, row.population}]

    @property
    def head(self) -> Head:
        """Where the ledger ends now; to be kept by others, who can then tell it was not altered."""
        with self._reading() as book:
            return book.head

    def snapshot(self) -> tuple[Head, list[Row]]:
        """Where the ledger ends now, and all entries up to there."""
        with self._reading() as book:
            return book.head, list(book.rows())

    def verify(self, head: Head | None = None) -> list[str]:
        """What is wrong with the ledger: alterations of entries, of the file, and of rules.

        Args:
            head: where it ended once, from somebody who kept it.

        Returns:
            Sentences; none if it is whole.

        Raises:
            LedgerError: it cannot be read so far that entries could be looked at.
        """
        damage = self._database.damage()
        with self._reading() as book:
            rows = list(book.rows())
        return damage + faults_of(rows) + head_faults(rows, head)

    @contextmanager
    def _reading(self) -> Iterator[Book]:
        with self._database.reading() as connection:
            yield Book(connection, self.place, self.id)

    @contextmanager
    def _writing(self) -> Iterator[Book]:
        with self._database.writing() as connection:
            yield Book(connection, self.place, self.id)
