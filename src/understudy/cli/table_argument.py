"""The confidential table of a command: a path, or the address of a database with a query of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.errors import DataError

if TYPE_CHECKING:
    from understudy.pipeline.queries import Query

TABLE = (
    "The table: a file of CSV, JSON lines, Parquet (or a folder), Arrow, a workbook, or of SPSS, "
    "Stata or SAS; or the address of a database, such as sqlite:///people.db, with --query or "
    "--table."
)

Data = Annotated[str, typer.Argument(help=TABLE)]
SQL = Annotated[
    str | None, typer.Option("--query", help="For a database: a SELECT of one table's columns.")
]
TableName = Annotated[
    str | None, typer.Option("--table", help="For a database: a table, in place of --query.")
]


def given_table(data: str, query: str | None, table: str | None) -> Path | Query:
    """What a command is to read.

    Args:
        data: a path, or an address.
        query: a SELECT; for an address alone.
        table: a name; for an address alone.

    Raises:
        DataError: an address without one of them, or with both; a path with one.
    """
    if "://" not in data:
        if query is not None or table is not None:
            raise DataError(
                "--query and --table ask a database; give its address, such as sqlite:///people.db."
            )
        return Path(data)
    from understudy.pipeline.queries import Query

    if (query is None) == (table is None):
        raise DataError("A database needs --query or --table, and not both of them.")
    return Query.table(data, table) if table is not None else Query(data, query or "")


def shown_table(data: str) -> str:
    """How a table is shown in a command that is suggested; an address may hold a password."""
    return "ADDRESS" if "://" in data else data
