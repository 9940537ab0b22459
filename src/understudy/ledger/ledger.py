"""The population ledger: opened by its address, asked for totals, told what is made.

    ledger = PopulationLedger.open("people.ledger")
    reservation = ledger.reserve("adults", cost, "release", request=digest)
    reservation.charge(Fraction(1, 10), journal=digest)   # before each step is computed
    reservation.commit(release=digest)                    # or reservation.void()

Each call is one transaction of its own; what it has entered is on disk when it returns.

**What was made without a ledger: a release, or a run that was interrupted, and what it cost.**
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from understudy._validation import path_of
from understudy.checkpoint import replay as journals
from understudy.checkpoint.journal import unpack
from understudy.dp.accountant import Entry, RunCost
from understudy.dp.budget import Accounting, Approximate, Budget, Neighbours
from understudy.errors import LedgerError
from understudy.ledger.account import Cost, Population, Totals, plain_text
from understudy.ledger.entries import (
    WHATS,
    Charged,
    Committed,
    Head,
    PopulationAdded,
    Published,
    Reserved,
    Row,
    UsedInside,
    Voided,
    WaveOpened,
)
from understudy.ledger.reservation import Reservation, digest_text, entry_cost, told_by
from understudy.ledger.store import Book, LedgerDatabase, begin
from understudy.ledger.verify import faults_of, head_faults
from understudy.release.consistency import stage_costs, stated_budget
from understudy.release.folder import MANIFEST, digest
from understudy.release.release import Release


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
        with database.begin_read() as connection:
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
        with database.begin_creation() as connection:
            begin(connection, id_)
        return cls(database, id_)

    def add(self, population: Population, *, by: str = "") -> int:
        """Enter a population, whose caps hold from now on for good; gives the entry's number.

        Raises:
            LedgerError: the name is taken, or looks like another; or the ledger cannot be written.
        """
        by = told_by(by)
        with self._write_book() as book:
            book.require_new(population.name)
            return book.append(PopulationAdded, population.name, declared=population, by=by).number

    def open_wave(self, name: str, *, by: str = "") -> int:
        """Open the next wave of a population, with its part of each cap; gives its number.

        Raises:
            LedgerError: all that were planned are open, or there is no such population.
        """
        by = told_by(by)
        with self._write_book() as book:
            wave = book.account(book.population(name)).open_wave()
            return book.append(WaveOpened, book.population(name).name, wave=wave, by=by).wave

    def population(self, name: str) -> Population:
        """A population by its name.

        Raises:
            LedgerError: there is none.
        """
        with self._read_book() as book:
            return book.population(name)

    def populations(self) -> tuple[Population, ...]:
        """All populations, oldest first."""
        with self._read_book() as book:
            return tuple(entry.declared for entry in book.entries(PopulationAdded))

    def totals(self, name: str) -> Totals:
        """Sum what a population has spent and reserved, in every unit.

        Raises:
            LedgerError: there is none of this name.
        """
        with self._read_book() as book:
            return book.account(book.population(name)).totals()

    def require(self, name: str, cost: Cost) -> None:
        """Refuse what `reserve` would refuse now, by a LedgerError; nothing is entered."""
        with self._read_book() as book:
            book.account(book.population(name)).require(entry_cost(cost))

    def reserve(
        self, name: str, cost: Cost, what: str, request: str, by: str = "", *, once: bool = False
    ) -> Reservation:
        """Reserve what a run may spend, before it spends anything.

        Args:
            name: of the population.
            cost: the whole of it.
            what: "release", "regression", "question" or "verdict".
            request: digest of what is asked for, of public facts alone.
            by: who asks; told, never guessed.
            once: whether an open reservation of the same request, by the same person, is given back
                if no run has charged it. So one who does not know whether a request came through
                makes it again.

        Raises:
            LedgerError: it does not fit below a cap, and says which, what is left and what was
                asked; or the ledger cannot be written.
        """
        with self._write_book() as book:
            for entry in book.entries(Reserved, name) if once else ():
                asked = (entry.cost, entry.what, entry.request, entry.by)
                if asked == (cost, what, request, by) and book.last_about(entry.number) is None:
                    return Reservation(self._database, self.id, entry)
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
        with self._read_book() as book:
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
        with self._write_book() as book:
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
        with self._write_book() as book:
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
        with self._write_book() as book:
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
        """Return whether a release of a population is entered, by its digest."""
        with self._read_book() as book:
            book.require_whole()
            return any(entry.release == release for entry in book.entries(Committed, name))

    def history(self, name: str | None = None) -> list[Row]:
        """Entries as they are stored, oldest first; of one population if its name is given.

        Raises:
            LedgerError: there is none of this name.
        """
        with self._read_book() as book:
            if name is not None:
                name = book.population(name).name
            return [row for row in book.rows() if name in {None, row.population}]

    @property
    def head(self) -> Head:
        """End of the ledger now; others who keep it can tell that the ledger was not altered."""
        with self._read_book() as book:
            return book.head

    def snapshot(self) -> tuple[Head, list[Row]]:
        """Return where the ledger ends now, and all entries up to there."""
        with self._read_book() as book:
            return book.head, list(book.rows())

    def verify(self, head: Head | None = None) -> list[str]:
        """List what is wrong with the ledger: alterations of entries, of the file, and of rules.

        Args:
            head: where it ended once, from somebody who kept it.

        Returns:
            Sentences; none if it is whole.

        Raises:
            LedgerError: it cannot be read so far that entries could be looked at.
        """
        damage = self._database.damage()
        with self._read_book() as book:
            rows = list(book.rows())
        return damage + faults_of(rows) + head_faults(rows, head)

    @contextmanager
    def _read_book(self) -> Iterator[Book]:
        with self._database.begin_read() as connection:
            yield Book(connection, self.place, self.id)

    @contextmanager
    def _write_book(self) -> Iterator[Book]:
        with self._database.begin_write() as connection:
            yield Book(connection, self.place, self.id)


_NO_PROMISE = ("none", "asymptotic")


@dataclass(frozen=True)
class PastRelease:
    """Something that was made without a ledger.

    Attributes:
        cost: all that it has spent, as it ended.
        digest: SHA-256 of its manifest, or of its journal, by which it is known.
        interrupted: whether it is a run that made no release.
        amended: digest of each release that it amends, with what was spent by then; oldest first.
        what: is made.
    """

    cost: Cost
    digest: str
    interrupted: bool = False
    amended: tuple[tuple[str, Fraction], ...] = ()
    what: Literal["release"] = "release"

    def beyond(self, known: Collection[str]) -> Cost:
        """Compute what it cost beyond the releases that it amends, as far as these are entered.

        Args:
            known: digests that are entered.
        """
        before = [spent for digest, spent in self.amended if digest in known]
        return self.cost.of(self.cost.amount - max(before, default=Fraction(0)))

    @property
    def kind(self) -> str:
        """Kind of the past release, in words."""
        return "interrupted run" if self.interrupted else "release"


def past_release(folder: str | Path) -> PastRelease:
    """A release, or the checkpoint of an interrupted run, after checking that it is one.

    Args:
        folder: of the release, or of the checkpoint.

    Raises:
        ReleaseError: neither, or a release that does not fit itself.
        CheckpointError: a checkpoint that cannot be read, or in use.
        LedgerError: it has no finite cost, or has spent nothing.
    """
    place = path_of("The folder of a release", folder, LedgerError)
    return _read_checkpoint(place) if journals.is_checkpoint(place) else _read_release(place)


def manifest_digest(folder: Path) -> str:
    """The digest by which a release is known to a ledger: SHA-256 of its manifest, in hex."""
    return digest(folder / MANIFEST).removeprefix("sha256:")


def _read_release(place: Path) -> PastRelease:
    manifest = Release.load(place).manifest
    promise = manifest.guarantee
    if promise.kind in _NO_PROMISE or promise.leaks:
        why = promise.brief if promise.kind in _NO_PROMISE else "it left something in, unpaid"
        raise LedgerError(
            f"The release {str(place)!r} has no finite cost ({why}), so no ledger can count it: "
            "what is known of these people has no bound."
        )
    stated = stated_budget(manifest.budget)
    if not manifest.composes:
        return PastRelease(_selection_cost(stated, promise.neighbours), manifest_digest(place))
    *before, cost = stage_costs(manifest)
    parents = [one.parent.removeprefix("sha256:") for one in manifest.amendments]
    return PastRelease(
        Cost(stated.accounting, cost, promise.neighbours),
        manifest_digest(place),
        amended=tuple(zip(parents, before, strict=True)),
    )


def _read_checkpoint(place: Path) -> PastRelease:
    request, records, known_by = journals.read(place)
    if "ledger" in request:
        raise LedgerError(
            f"The run of the checkpoint {str(place)!r} is charged to a ledger already; go on with "
            "it by --resume, or close its reservation by understudy ledger void."
        )
    if "neighbours" not in request:
        raise LedgerError(
            f"The checkpoint {str(place)!r} was made by an older version and does not say which "
            "tables are neighbours; go on with it there, and enter its release."
        )
    entries: list[Entry] = [
        unpack(record["entry"]) for record in records if record["kind"] == "charge"
    ]
    if any(entry.spent is None for entry in entries):
        raise LedgerError(
            f"The run of the checkpoint {str(place)!r} has paid for a step without a finite cost, "
            "so no ledger can count it."
        )
    accounting: Accounting = request["accounting"]
    spent = RunCost(accounting, _budget_of(request))
    for entry in entries:
        spent.add(entry.spent or Fraction(0), entry.mechanism, entry.sensitivity)
    cost = Cost(accounting, spent.total, request["neighbours"])
    if "choice" in request and "delta" in request and cost.amount:
        cost = _selection_cost(Budget.of(request["epsilon"], request["delta"]), cost.neighbours)
    return PastRelease(cost, known_by, interrupted=True)


def _selection_cost(stated: Budget, neighbours: Neighbours) -> Cost:
    """Return the cost of a selection with δ: its ε and its δ, whole as soon as it is begun."""
    return Cost("pure", stated.epsilon, neighbours, stated.delta)


def _budget_of(request: Mapping[str, Any]) -> Fraction | None:
    """All that an interrupted run could spend; None where a program of its own made it."""
    if "epsilon" not in request:
        return None
    unit: Approximate = "gdp" if request["accounting"] == "gdp" else "zcdp"
    return Budget.of(request["epsilon"], request.get("delta", 0), unit).amount
