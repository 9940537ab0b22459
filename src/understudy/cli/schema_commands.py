"""Commands that draft and check a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy import pipeline
from understudy.cli.app import Json, Quiet, schema_app
from understudy.cli.json_output import print_json, write_text
from understudy.cli.table_argument import SQL, Data, TableName, given_table
from understudy.cli.terminal import release_text
from understudy.errors import MethodError


@schema_app.command("draft")
def schema_draft(
    data: Data,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the draft goes.")],
    title: Annotated[str, typer.Option(help="Title of the table.")] = "",
    query: SQL = None,
    table: TableName = None,
    quiet: Quiet = False,
) -> None:
    """Draft a schema from the data. The draft is CONFIDENTIAL until every entry is reviewed."""
    if out.exists():
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")
    text = pipeline.draft(given_table(data, query, table), title=title)
    write_text(out, text)
    if not quiet:
        release_text.drafted(out)


@schema_app.command("check")
def schema_check(
    data: Data,
    schema: Annotated[Path, typer.Argument(help="Schema (TOML).")],
    query: SQL = None,
    table: TableName = None,
    counts: Annotated[bool, typer.Option(help="Show how many rows; confidential.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report every column that does not fit its schema; exit code 2 if there is one."""
    from understudy.schema import Schema

    report = pipeline.check(given_table(data, query, table), Schema.load(schema))
    if as_json:
        print_json({"ok": report.ok, "findings": report.lines(counts=counts)})
    elif not quiet or not report.ok:
        release_text.checked(report.lines(counts=counts), ok=report.ok)
    if not report.ok:
        raise typer.Exit(2)
