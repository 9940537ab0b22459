"""Where a population ledger is stored, and its transactions: a file of SQLite, or PostgreSQL.

One table, to which rows are appended; triggers in the database refuse anything else, whoever asks.
Whatever is entered follows from what was read in the same transaction, and one such transaction
runs at a time: SQLite locks its file at the beginning (BEGIN IMMEDIATE), PostgreSQL by an advisory
lock. When one ends, it is on disk: a rollback journal with synchronous=EXTRA, which syncs the file
and its folder; synchronous_commit in PostgreSQL. No connection is kept between transactions, so
that none is shared with a forked child.

**A population ledger within one transaction: entries are read by index, and appended to the end.**

What is asked often costs little: a charge looks up the last entry about its reservation and the
last of all. Totals are read from what began and ended runs, never from their charges.

An entry is used only if it has its hash, and totals only if every link of the chain holds, from the
first entry to the last. So an entry that was altered is found before anything is spent on it, as
long as not all later hashes were made anew (`ledger.entries`). Nothing is remembered from one
transaction to the next: what was whole before may be altered since.

**What a database answers when it cannot, as one sentence; no address with a password is told.**
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from understudy._validation import require_extra
from understudy.errors import LedgerError, line, suggestion
from understudy.ledger.account import (
    Account,
    Population,
    plain_text,
    require_plain_letters,
    taken_for,
)
from understudy.ledger.entries import (
    FORMAT,
    START,
    AnyEntry,
    Charged,
    Committed,
    Entry,
    Head,
    LedgerMade,
    PopulationAdded,
    Published,
    Reserved,
    Row,
    UsedInside,
    Voided,
    WaveOpened,
    digest,
    link,
    read_entry,
    write_entry,
)

try:
    from sqlalchemy import (
        Column,
        Connection,
        Engine,
        Integer,
        MetaData,
        Select,
        Table,
        Text,
        create_engine,
        insert,
        select,
    )
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
    from sqlalchemy.pool import NullPool
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
        self.id = self._read_id()
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
        """Read what a population has spent and reserved.

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
        """Find the last entry about a reservation, or an internal entry."""
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
                raise self._make_damage_error(number)
            if link(before, public, digest(private)) != own:
                raise self._make_damage_error(number)
            before, expected = own, expected + 1
        self._whole = True

    @property
    def head(self) -> Head:
        """End of the ledger.

        Raises:
            LedgerError: its last entry is not the one that was entered.
        """
        last = self._last()
        if not last.has_hash:
            raise self._make_damage_error(last.number)
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
        entry, values = write_entry(kind, head.number + 1, population, head.hash, said)
        self._connection.execute(insert(_ENTRIES), values)
        return entry

    def _read_id(self) -> str:
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
        raise self._make_damage_error(1)

    def _last(self) -> Row:
        query = select(_ENTRIES).order_by(_COLUMNS.number.desc()).limit(1)
        return self._rows(query)[0]

    def _read(self, query: Select[Any]) -> Iterator[AnyEntry]:
        for row in self._rows(query):
            try:
                entry = read_entry(row.public)
            except ValueError:
                raise self._make_damage_error(row.number) from None
            if (entry.number, entry.population, entry.kind, entry.about) != (
                *(row.number, row.population),
                *(row.kind, row.about),
            ):
                raise self._make_damage_error(row.number)
            if not row.has_hash:
                raise self._make_damage_error(row.number)
            yield entry

    def _rows(self, query: Select[Any]) -> list[Row]:
        rows = []
        for number, *texts in self._connection.execute(query).all():
            population, kind, about, public, private, previous, own = texts
            if any(type(text) is not str for text in texts if text is not about):
                raise self._make_damage_error(number)
            sum_ = digest(private)
            rows.append(Row(number, population, kind, about, public, private, sum_, previous, own))
        return rows

    def _make_damage_error(self, number: object) -> LedgerError:
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
    _, values = write_entry(LedgerMade, 1, "", START, {"id": id, "format": FORMAT})
    connection.execute(insert(_ENTRIES), values)


def _of(population: str | None, kinds: Iterable[type[Entry]]) -> Select[Any]:
    names = [kind.model_fields["kind"].default for kind in kinds]
    query = select(_ENTRIES).where(_COLUMNS.kind.in_(names))
    if population is not None:
        query = query.where(_COLUMNS.population == population)
    return query.order_by(_COLUMNS.number)


NO_LEDGER = "holds no population ledger; make one by `understudy ledger init`, or name another"
_DAMAGED = "is damaged, and nothing can be entered; see `understudy ledger verify`, or restore it"

# Names of SQLite's own, by their beginning; the first that fits.
_SQLITE_ERRORS = {
    "SQLITE_NOTADB": NO_LEDGER,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_BUSY": "was in use for a minute, so that nothing was entered; try again",
    "SQLITE_READONLY_DBMOVED": "was moved or removed meanwhile; nothing was entered",
    "SQLITE_READONLY": "cannot be written: the file or its folder is read-only",
    "SQLITE_FULL": "cannot be written: the disk is full; nothing was entered",
    "SQLITE_TOOBIG": "cannot be written: an entry is too long; nothing was entered",
    "SQLITE_CANTOPEN": "cannot be opened: it is not there, or may not be opened",
    "SQLITE_PERM": "cannot be opened: there is no permission",
    "SQLITE_AUTH": "cannot be opened: there is no permission",
    "SQLITE_IOERR": "cannot be read or written: the disk or its file system failed",
    "SQLITE_CONSTRAINT": "refuses the entry: entries are appended one by one and never changed",
}
# Codes of the SQL standard and of PostgreSQL, by their beginning.
_POSTGRES_ERRORS = {
    "28": "cannot be opened: the server does not know the user, or not this password",
    "3D": "is not there: the server has no such database",
    "42501": "cannot be written: the user lacks the right to",
    "42P01": NO_LEDGER,
    "42P06": "holds a ledger already",
    "42P07": "holds a ledger already",
    "42723": "holds a ledger already",
    "25006": "cannot be written: the server is read-only",
    "53100": "cannot be written: the server's disk is full; nothing was entered",
    "53": "cannot be reached: the server has no connection left; try again",
    "55P03": "was in use for a minute, so that nothing was entered; try again",
    "57P": "cannot be reached: the server is shutting down; try again",
    "23": "refuses the entry: entries are appended one by one and never changed",
    "P0001": "refuses the entry: entries are appended one by one and never changed",
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}


@contextmanager
def translate_errors(place: str, secrets: tuple[str, ...] = ()) -> Iterator[None]:
    """Turn every error of a database into one sentence.

    Args:
        place: of the ledger, as it may be shown.
        secrets: texts that no sentence may hold.

    Raises:
        LedgerError: instead of the database's own.
    """
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise LedgerError(f"The ledger {place!r} {_why(error, secrets)}.") from None
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "a text that is not in UTF-8"
        raise LedgerError(f"The ledger {place!r} cannot be read or written: {why}.") from None


def _why(error: Exception, secrets: tuple[str, ...]) -> str:
    original = error.orig if isinstance(error, DBAPIError) else error
    if name := getattr(original, "sqlite_errorname", None):
        return _name_error(name, _SQLITE_ERRORS)
    if code := getattr(original, "sqlstate", None):
        return _name_error(code, _POSTGRES_ERRORS)
    if isinstance(original, sqlite3.Error | UnicodeError):
        return NO_LEDGER
    said = line(str(original).strip().split("\n")[0])[:200].rstrip(".")
    for secret in sorted(secrets, key=len, reverse=True):
        said = said.replace(secret, "***")
    return f"cannot be reached: {said or type(original).__name__}"


def _name_error(name: str, known: dict[str, str]) -> str:
    found = (words for code, words in known.items() if name.startswith(code))
    return next(found, f"cannot be read or written: the database answered {name}")


PATIENCE = 60
"""Seconds to wait for others who write."""

_TABLE = """CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    population TEXT NOT NULL,
    kind TEXT NOT NULL,
    about INTEGER NOT NULL,
    public TEXT NOT NULL,
    private TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
)"""
_INDEXES = (
    "CREATE INDEX entries_by_population ON entries (population, kind, number)",
    "CREATE INDEX entries_by_subject ON entries (about, number)",
)
# An insert is checked as well: INSERT OR REPLACE would change a row without a delete.
_SQLITE = (
    _TABLE,
    *_INDEXES,
    """CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
  OR NEW.previous IS NOT coalesce(
    (SELECT hash FROM entries ORDER BY number DESC LIMIT 1), NEW.previous)
BEGIN SELECT RAISE(ABORT, 'entries are appended one by one'); END""",
    """CREATE TRIGGER entries_stay_as_they_are BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END""",
    """CREATE TRIGGER entries_stay BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END""",
)
_POSTGRES = (
    _TABLE,
    *_INDEXES,
    """CREATE FUNCTION entries_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last record;
BEGIN
    SELECT number, hash INTO last FROM entries ORDER BY number DESC LIMIT 1;
    IF NEW.number <> coalesce(last.number, 0) + 1
        OR NEW.previous <> coalesce(last.hash, NEW.previous)
    THEN RAISE EXCEPTION 'entries are appended one by one'; END IF;
    RETURN NEW;
END $$""",
    """CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'entries are never changed or removed'; END $$""",
    """CREATE TRIGGER entries_follow BEFORE INSERT ON entries
FOR EACH ROW EXECUTE FUNCTION entries_follow()""",
    """CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
FOR EACH STATEMENT EXECUTE FUNCTION entries_stay()""",
)
# Beside these no trigger may act, nor any rule in the place of an insert.
_POSTGRES_FORM = """SELECT current_setting('fsync'), tgname FROM pg_trigger
WHERE tgrelid = 'entries'::regclass AND NOT tgisinternal AND tgenabled <> 'D'
UNION ALL SELECT 'on', rulename FROM pg_rewrite WHERE ev_class = 'entries'::regclass"""
_SETTINGS = f"""SELECT set_config('synchronous_commit', 'on', true),
set_config('lock_timeout', '{PATIENCE}s', true)"""
_LOCK = "SELECT pg_advisory_xact_lock('entries'::regclass::oid::bigint)"


class LedgerDatabase:
    """A place of a ledger; opens it for one transaction at a time.

    Args:
        url: path of a file, sqlite:///path, or postgresql://user@host/database.

    Attributes:
        place: how it may be shown, without user and password.

    Raises:
        LedgerError: no such place can be, or its driver is not installed.
    """

    def __init__(self, url: str | Path) -> None:
        self.file: Path | None = None
        self._secrets: tuple[str, ...] = ()
        address = _address(url)
        if isinstance(address, Path):
            self.file, self.place = address, str(url).removeprefix("sqlite:///")
            self._engine = create_engine(
                "sqlite://", creator=self._connect, poolclass=NullPool, hide_parameters=True
            )
        else:
            self.place = _show_address(address)
            self._secrets = _secrets(address)
            self._engine = _server(address)

    def __repr__(self) -> str:
        """Without a password."""
        return f"LedgerDatabase({self.place!r})"

    @contextmanager
    def begin_read(self) -> Iterator[Connection]:
        """A transaction that sees the ledger as it is at one moment.

        Raises:
            LedgerError: there is none, or it cannot be read.
        """
        with self._open() as connection:
            if self.file is None:
                connection.exec_driver_sql(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
                )
            else:
                connection.exec_driver_sql("BEGIN")
            self._require_form(connection)
            yield connection

    @contextmanager
    def begin_write(self) -> Iterator[Connection]:
        """A transaction that runs alone, and is on disk when it ends without an error.

        Raises:
            LedgerError: there is no ledger, or it cannot be written; nothing was entered.
        """
        with self._open() as connection:
            self._begin(connection)
            self._require_form(connection)
            if self.file is None:
                connection.exec_driver_sql(_LOCK)
            before = None if self.file is None else _identity(self.file)
            yield connection
            connection.commit()
            if self.file is not None and _identity(self.file) != before:
                raise LedgerError(
                    f"The ledger {self.place!r} was moved or removed while it was written."
                )

    @contextmanager
    def begin_creation(self) -> Iterator[Connection]:
        """A transaction that makes the table; there is no ledger unless it ends without an error.

        Raises:
            LedgerError: the place is taken, or cannot be written.
        """
        with translate_errors(self.place, self._secrets):
            if self.file is not None:
                self._make_file(self.file)
        try:
            with self._open() as connection:
                self._begin(connection)
                for statement in _POSTGRES if self.file is None else _SQLITE:
                    connection.exec_driver_sql(statement)
                yield connection
                connection.commit()
        except BaseException:
            if self.file is not None:  # made above, and holds nothing
                self.file.unlink(missing_ok=True)
            raise

    def damage(self) -> list[str]:
        """List what the database itself finds wrong with its file; nothing on a server."""
        if self.file is None:
            return []
        with self._open() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars()
            return [str(one) for one in found if one != "ok"]

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        with translate_errors(self.place, self._secrets), self._engine.connect() as connection:
            yield connection

    def _begin(self, connection: Connection) -> None:
        if self.file is not None:
            connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            return
        connection.exec_driver_sql(_SETTINGS)

    def _connect(self) -> sqlite3.Connection:
        """A connection to the file, which is never made by it."""
        assert self.file is not None
        name = f"{self.file.as_uri()}?mode=rw"
        connection = sqlite3.connect(name, uri=True, timeout=PATIENCE, isolation_level=None)
        try:
            for pragma in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:  # the file is damaged, and nobody else will close it
            connection.close()
            raise
        return connection

    def _make_file(self, file: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        try:
            os.close(os.open(file, flags, 0o600))
        except FileExistsError:
            raise LedgerError(
                f"The file {self.place!r} already exists; a new ledger needs a new name."
            ) from None

    def _require_form(self, connection: Connection) -> None:
        """Refuse what is no ledger, and one whose guards were removed or added to."""
        if self.file is None:
            self._require_server(connection)
            return
        sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        found = set(connection.exec_driver_sql(sql).scalars())
        if _TABLE not in found:
            raise LedgerError(f"The ledger {self.place!r} {NO_LEDGER}.")
        if found != set(_SQLITE):
            raise self._make_alteration_error()

    def _require_server(self, connection: Connection) -> None:
        found = connection.exec_driver_sql(_POSTGRES_FORM).all()
        if any(fsync != "on" for fsync, _ in found):
            raise LedgerError(
                f"The server of the ledger {self.place!r} does not wait for its disk (fsync is "
                "off), so that a charge could be lost; turn it on."
            )
        if sorted(name for _, name in found) != ["entries_follow", "entries_stay"]:
            raise self._make_alteration_error()

    def _make_alteration_error(self) -> LedgerError:
        return LedgerError(
            f"The ledger {self.place!r} is not guarded as it was made: its triggers or indexes "
            "were altered. Restore it from a copy, and compare with an exported head."
        )


def _address(url: str | Path) -> Path | URL:
    """Absolute path of a file, or the address of a server."""
    text = str(url)
    if not text.strip() or line(text) != text:
        raise LedgerError("The ledger needs a path, or an address such as postgresql://host/name.")
    if isinstance(url, Path) or "://" not in text:
        return Path(text).absolute()
    try:
        address = make_url(text)
    except (ArgumentError, ValueError):
        address = URL.create("")
    if address.drivername == "sqlite" and address.database and not address.host:
        return Path(address.database).absolute()
    if address.drivername in {"postgresql", "postgresql+psycopg"} and address.database:
        return address.set(drivername="postgresql+psycopg")
    raise LedgerError(
        "The address of a ledger is the path of a file, sqlite:///path, or "
        "postgresql://user@host/database."
    )


def _server(address: URL) -> Engine:
    more: dict[str, Any] = {} if "connect_timeout" in address.query else {"connect_timeout": 10}
    try:
        return create_engine(
            address,
            poolclass=NullPool,
            connect_args=more,
            hide_parameters=True,
            # What is read after the lock was got must be what the one before has entered.
            isolation_level="READ COMMITTED",
        )
    except ImportError:
        raise LedgerError(
            "A ledger on a PostgreSQL server needs a driver, which is not installed; install it by "
            "`python -m pip install 'understudy[postgres]'`."
        ) from None


def _show_address(address: URL) -> str:
    port = f":{address.port}" if address.port else ""
    return f"postgresql://{address.host or ''}{port}/{address.database}"


def _secrets(address: URL) -> tuple[str, ...]:
    """Passwords of an address, in every form in which it may have them."""
    given = [str(address.password)] if address.password else []
    for name, value in address.query.items():
        if "password" in name:
            given += [value] if isinstance(value, str) else list(value)
    return tuple({form for one in given for form in (one, quote(one), quote(one, safe="")) if one})


def _identity(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_dev, status.st_ino
