"""Reservations of what a run may spend: whole at first, charged by step, then settled.

A charge is on disk before its step is computed. So a run that dies has spent no more than the
ledger knows, and as long as nobody continues or voids it the whole reservation counts. Closing one
is safe while its run lives: the next charge finds it closed, and is refused before it is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from understudy.dp.budget import decimal_down, decimal_up
from understudy.errors import LedgerError
from understudy.ledger.account import Cost, plain_text, round_cost
from understudy.ledger.entries import Charged, Committed, Reserved, Voided

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from understudy.ledger.store import Book, LedgerDatabase


State = Literal["open", "committed", "void"]


@dataclass(frozen=True)
class Standing:
    """The state of a reservation.

    Attributes:
        state: whether it can be charged.
        charges: how many are noted.
        spent: by them, in the unit of the reservation.
        anchor: digest of the run's journal at the last one; "" for none.
        release: digest of what was released, last if repeatedly; "" for nothing.
    """

    state: State
    charges: int
    spent: Fraction
    anchor: str
    release: str


class Reservation:
    """A reservation; what it says of itself is read from the ledger each time.

    Args:
        database: of the ledger.
        id: of the ledger.
        entry: that it was made by.

    Attributes:
        number: of that entry.
        population: its name.
        what: is to be made.
        request: digest of what was asked for.
        cost: that is reserved.
    """

    def __init__(self, database: LedgerDatabase, id: str, entry: Reserved) -> None:
        self._database, self._id, self._entry = database, id, entry
        self.number, self.population = entry.number, entry.population
        self.what, self.request, self.cost = entry.what, entry.request, entry.cost

    def __repr__(self) -> str:
        """Without a look into the ledger."""
        return f"Reservation({self.number}, {self.population!r}, {self.cost.words})"

    @property
    def standing(self) -> Standing:
        """Standing of the reservation, all at one moment."""
        with self._database.begin_read() as connection:
            return self._find_standing(self._book(connection))

    @property
    def state(self) -> State:
        """State of the reservation: open, committed or void."""
        return self.standing.state

    @property
    def charges(self) -> int:
        """Number of charges that are noted."""
        return self.standing.charges

    @property
    def spent(self) -> Fraction:
        """Sum of the charges, in the unit of the reservation."""
        return self.standing.spent

    @property
    def anchor(self) -> str:
        """Digest of the run's journal at the last charge; "" for none."""
        return self.standing.anchor

    def charge(self, spent: Fraction, journal: str = "", *, number: int | None = None) -> int:
        """Note that a step is about to be computed; on disk when this returns.

        Args:
            spent: by the whole run, this step included, in the unit of the reservation.
            journal: digest of the run's journal up to this step.
            number: which charge it must be, where copies of a journal may be gone on with; None for
                whichever is next.

        Returns:
            The number of the charge, from 1.

        Raises:
            LedgerError: it is closed, another run has noted a charge of that number, the sum is
                more than is reserved or less than was noted, or the ledger cannot be written; then
                nothing may be computed.
        """
        with self._write_book() as book:
            standing = self._find_standing(book)
            self._require_open(standing)
            if number not in (None, standing.charges + 1):
                raise LedgerError(
                    f"Reservation {self.number} was charged by another run meanwhile, which goes "
                    "on with a copy of this one's checkpoint; nothing may be computed. Let that "
                    "one end, or ask anew."
                )
            if type(spent) is not Fraction or not standing.spent <= spent:
                raise LedgerError(
                    f"Reservation {self.number} has noted that {decimal_up(standing.spent)} is "
                    "spent; a charge cannot bring this down. Nothing may be computed."
                )
            if spent > self.cost.amount:
                raise LedgerError(
                    f"Reservation {self.number} is of {self.cost.words}. Only "
                    f"{decimal_down(self.cost.amount - standing.spent)} is left; a charge beyond "
                    "it is refused, and nothing may be computed."
                )
            if self.cost.delta and spent != self.cost.amount:
                raise LedgerError(
                    f"Reservation {self.number} is of a selection, which is charged whole; nothing "
                    "may be computed."
                )
            entry = book.append(
                Charged,
                self.population,
                reservation=self.number,
                charge=standing.charges + 1,
                spent=self.round_spent(spent),
                journal=digest_text("The digest of a journal", journal, empty=True),
            )
        return entry.charge

    def round_spent(self, spent: Fraction) -> Fraction:
        """A sum of charges as it is entered: rounded up where it is too fine to be written down."""
        return min(round_cost(spent), self.cost.amount)

    def commit(self, release: str, *, by: str = "") -> None:
        """Settle to what was charged, as a release was made of it.

        A release that is made again from the same measurements is committed again; the same one
        twice is no second entry.

        Args:
            release: digest of what was released.
            by: who says so.

        Raises:
            LedgerError: it is void, or the ledger cannot be written.
        """
        said = {"release": digest_text("The digest of a release", release), "by": told_by(by)}
        with self._write_book() as book:
            standing = self._find_standing(book)
            if standing.state == "void":
                self._require_open(standing)
            if standing.release != release:
                self._close(book, Committed, standing, **said)

    def void(self, *, by: str = "") -> None:
        """Settle to what was charged, as no release will be made of it.

        Args:
            by: who says so.

        Raises:
            LedgerError: a release was committed, or the ledger cannot be written.
        """
        by = told_by(by)
        with self._write_book() as book:
            standing = self._find_standing(book)
            if standing.state == "committed":
                self._require_open(standing)
            if standing.state == "open":
                self._close(book, Voided, standing, by=by)

    def _close(
        self, book: Book, kind: type[Committed] | type[Voided], standing: Standing, **said: str
    ) -> None:
        book.append(kind, self.population, reservation=self.number, spent=standing.spent, **said)

    def _require_open(self, standing: Standing) -> None:
        if standing.state != "open":
            raise LedgerError(
                f"Reservation {self.number} of the population {self.population!r} is "
                f"{standing.state}, so that nothing more can be charged, made or voided by it; "
                "reserve anew."
            )

    def _find_standing(self, book: Book) -> Standing:
        last = book.last_about(self.number)
        charged = last if last is None or isinstance(last, Charged) else None
        if last is not None and charged is None:
            charged = book.last_charge(self.number)
        state: State = "open"
        if isinstance(last, Committed | Voided):
            state = "committed" if isinstance(last, Committed) else "void"
        return Standing(
            state,
            charged.charge if charged else 0,
            charged.spent if charged else Fraction(0),
            charged.journal if charged else "",
            last.release if isinstance(last, Committed) else "",
        )

    @contextmanager
    def _write_book(self) -> Iterator[Book]:
        with self._database.begin_write() as connection:
            yield self._book(connection)

    def _book(self, connection: Connection) -> Book:
        """The book, if it has this very reservation: a ledger may be put back from a copy."""
        from understudy.ledger.store import Book

        book = Book(connection, self._database.place, self._id)
        if book.entry(Reserved, self.number) != self._entry:
            raise LedgerError(
                f"The ledger has another reservation {self.number} than this run's: it was put "
                "back from a copy; nothing may be computed."
            )
        return book


def digest_text(name: str, text: object, *, empty: bool = False) -> str:
    """A digest in hex, of 8 to 64 bytes.

    Raises:
        LedgerError: anything else.
    """
    hexadecimal = type(text) is str and text.isascii() and set(text) <= set("0123456789abcdef")
    if not hexadecimal or not (16 <= len(str(text)) <= 128 or (empty and text == "")):
        raise LedgerError(f"{name} must be 16 to 128 digits from 0 to f.")
    return str(text)


def told_by(by: object) -> str:
    """Return who did something, as was told; "" if nobody said.

    Raises:
        LedgerError: no text, or not one that is shown as it is.
    """
    return plain_text("The name of whoever does this", by, least=0)


def entry_cost(cost: object) -> Cost:
    """A cost that can be entered.

    Raises:
        LedgerError: none, or an infinite one.
    """
    if type(cost) is not Cost:
        raise LedgerError(
            "A step without a finite cost cannot be entered, and is never counted as 0."
        )
    return cost
