"""What a database answers when it cannot, as one sentence; no address with a password is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from understudy.errors import LedgerError, line

NO_LEDGER = "holds no population ledger; make one by `understudy ledger init`, or name another"
_DAMAGED = "is damaged, and nothing can be entered; see `understudy ledger verify`, or restore it"

# Names of SQLite's own, by their beginning; the first that fits.
_SQLITE = {
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
_POSTGRES = {
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
def told(place: str, secrets: tuple[str, ...] = ()) -> Iterator[None]:
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
        return _named(name, _SQLITE)
    if code := getattr(original, "sqlstate", None):
        return _named(code, _POSTGRES)
    if isinstance(original, sqlite3.Error | UnicodeError):
        return NO_LEDGER
    said = line(str(original).strip().split("\n")[0])[:200].rstrip(".")
    for secret in sorted(secrets, key=len, reverse=True):
        said = said.replace(secret, "***")
    return f"cannot be reached: {said or type(original).__name__}"


def _named(name: str, known: dict[str, str]) -> str:
    found = (words for code, words in known.items() if name.startswith(code))
    return next(found, f"cannot be read or written: the database answered {name}")
