"""A query of a database, as people hand it in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from understudy.errors import DataError, suggestion

Dialect = Literal["sqlite", "duckdb", "postgres"]

SCHEMES: Final[dict[str, Dialect]] = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgres",
    "postgres": "postgres",
}
"""Scheme of an address → the database that it is of."""


@dataclass(frozen=True)
class Query:
    """Rows of a database: an address, and one SELECT.

    A SELECT of columns of one table, with conditions on single rows, gives each protected unit its
    own row. Of any other, the guarantee is about the rows that it results in, and is conditional.

    Args:
        uri: address: "sqlite:///people.db", "duckdb:////data/people.duckdb",
            "postgresql://user@host/database". A path behind three slashes is relative.
        sql: the SELECT, in the database's own words.

    Raises:
        DataError: an address of another kind, or no text.
    """

    uri: str = field(repr=False)
    sql: str

    def __post_init__(self) -> None:
        for name, value in (("uri", self.uri), ("sql", self.sql)):
            if not isinstance(value, str) or not value.strip():
                raise DataError(f"The {name} of a query must be a text that is not empty.")
        scheme = self.uri.partition("://")[0]
        if "://" not in self.uri or scheme not in SCHEMES:
            raise DataError(
                "The address of a query must begin with sqlite://, duckdb:// or postgresql://"
                f"{suggestion(scheme, SCHEMES)}, as in sqlite:///people.db."
            )

    @classmethod
    def table(cls, uri: str, name: str) -> Query:
        """All columns and rows of a table.

        Args:
            uri: address, as for the class.
            name: of the table; a dot stands between a schema's name and it.
        """
        quoted = ".".join(f'"{part.replace(chr(34), chr(34) * 2)}"' for part in name.split("."))
        return cls(uri, f"SELECT * FROM {quoted}")  # noqa: S608 (the name is quoted)

    @property
    def dialect(self) -> Dialect:
        """Which database it asks."""
        return SCHEMES[self.uri.partition("://")[0]]

    @property
    def path(self) -> str:
        """The file of a database that is one; nothing else is in it."""
        return unquote(self.uri.partition("://")[2].removeprefix("/").partition("?")[0])

    @property
    def place(self) -> str:
        """Where the rows are, in words; no name of a user, and no password."""
        if self.dialect != "postgres":
            return f"The query of the database {self.path!r}"
        try:
            name = unquote(urlsplit(self.uri).path.strip("/"))
        except ValueError:
            name = ""
        return f"The query of the database {name!r} on a server"


def is_address(text: str) -> bool:
    """Whether a text is the address of a database."""
    return "://" in text and text.partition("://")[0] in SCHEMES
