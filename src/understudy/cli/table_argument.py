"""The confidential table of a command: a path, or the address of a database with a query of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.errors import DataError

if TYPE_CHECKING:
    from understudy.pipeline.queries import Query
    from understudy.schema import Schema

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


class Rows(StrEnum):
    """Where rows are counted."""

    HERE = "here"
    SPARK = "spark"


Engine = Annotated[
    Rows, typer.Option("--engine", help="Where rows are counted: in this process, or in Spark.")
]
Trusted = Annotated[
    bool,
    typer.Option(
        "--trusted-cluster",
        help="Whoever sees what the Spark cluster sends, writes and shows may see the rows; the "
        "manifest says so.",
    ),
]


def given_rows(
    data: str, query: str | None, table: str | None, engine: Rows, schema: Schema
) -> object:
    """What a command is to read, in this process or in Spark.

    Args:
        data: a path, an address, or the name of a table that Spark knows.
        query: as for `given_table`.
        table: the same.
        engine: where rows are counted.
        schema: says how a text is written.

    Raises:
        DataError: as by `given_table`, or Spark cannot read it.
        MethodError: no Spark session can be opened.
    """
    return pending_rows(data, query, table, engine)(schema)


def pending_rows(
    data: str, query: str | None, table: str | None, engine: Rows
) -> Callable[[Schema], object]:
    """What a command is to read once it may; only then is a Spark session opened.

    Args:
        data: as for `given_rows`, like the others.
        query: the same.
        table: the same.
        engine: the same.

    Returns:
        What takes the schema and gives the rows.

    Raises:
        DataError: at once as by `given_table`, or where Spark is given a query.
    """
    if engine is Rows.HERE:
        here = given_table(data, query, table)
        return lambda _schema: here
    if query is not None or table is not None:
        raise DataError(
            "--query and --table ask a database; with --engine spark give a path, or the name of "
            "a table that Spark knows."
        )
    from understudy.pipeline.gates import in_spark

    return partial(in_spark, data)


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
