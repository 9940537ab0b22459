"""Where a population ledger is stored, and its transactions: a file of SQLite, or PostgreSQL.

One table, to which rows are appended; triggers in the database refuse anything else, whoever asks.
Whatever is entered follows from what was read in the same transaction, and one such transaction
runs at a time: SQLite locks its file at the beginning (BEGIN IMMEDIATE), PostgreSQL by an advisory
lock. When one ends, it is on disk: a rollback journal with synchronous=EXTRA, which syncs the file
and its folder; synchronous_commit in PostgreSQL. No connection is kept between transactions, so
that none is shared with a forked child.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from understudy.errors import LedgerError, line
from understudy.populations.database_errors import NO_LEDGER, told

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
            self.place = _shown(address)
            self._secrets = _secrets(address)
            self._engine = _server(address)

    def __repr__(self) -> str:
        """Without a password."""
        return f"LedgerDatabase({self.place!r})"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
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
    def writing(self) -> Iterator[Connection]:
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
    def making(self) -> Iterator[Connection]:
        """A transaction that makes the table; there is no ledger unless it ends without an error.

        Raises:
            LedgerError: the place is taken, or cannot be written.
        """
        with told(self.place, self._secrets):
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
        """What the database itself finds wrong with its file; nothing on a server."""
        if self.file is None:
            return []
        with self._open() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars()
            return [str(one) for one in found if one != "ok"]

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        with told(self.place, self._secrets), self._engine.connect() as connection:
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
            raise self._altered()

    def _require_server(self, connection: Connection) -> None:
        found = connection.exec_driver_sql(_POSTGRES_FORM).all()
        if any(fsync != "on" for fsync, _ in found):
            raise LedgerError(
                f"The server of the ledger {self.place!r} does not wait for its disk (fsync is "
                "off), so that a charge could be lost; turn it on."
            )
        if sorted(name for _, name in found) != ["entries_follow", "entries_stay"]:
            raise self._altered()

    def _altered(self) -> LedgerError:
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


def _shown(address: URL) -> str:
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
