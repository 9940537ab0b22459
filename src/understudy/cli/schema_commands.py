"""Commands that draft and check a schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy import pipeline
from understudy.cli.app import Json, Quiet, listed, schema_app
from understudy.cli.json_output import print_json, write_text
from understudy.cli.table_argument import SQL, Data, TableName, given_table
from understudy.cli.terminal import release_text, streams
from understudy.errors import MethodError

if TYPE_CHECKING:
    from understudy.schema.codebooks import Codebook


@schema_app.command("draft")
def schema_draft(
    data: Data,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the draft goes.")],
    title: Annotated[str, typer.Option(help="Title of the table.")] = "",
    query: SQL = None,
    table: TableName = None,
    codebook: Annotated[
        Path | None,
        typer.Option(help="Codebook: what it says is taken first, the rows give what it lacks."),
    ] = None,
    codebook_table: Annotated[
        str, typer.Option(help="Which table, if the codebook describes several.")
    ] = "",
    quiet: Quiet = False,
) -> None:
    """Draft a schema from the data. The draft is CONFIDENTIAL until every entry is reviewed."""
    _require_new(out)
    book = None if codebook is None else _read(codebook, codebook_table)
    text = pipeline.draft(given_table(data, query, table), title=title, codebook=book)
    write_text(out, text)
    if not quiet:
        release_text.drafted(out)


@schema_app.command("from-codebook")
def schema_from_codebook(
    codebook: Annotated[Path, typer.Argument(help="DDI, Frictionless, CSVW, SDV, labels, a list.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the schema goes.")],
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", help="Only these variables; as age,sex, or repeated."),
    ] = None,
    table: Annotated[
        str, typer.Option(help="Which table, if the codebook describes several.")
    ] = "",
    quiet: Quiet = False,
) -> None:
    """Make a schema of what a codebook says. It is public; no row is read."""
    _require_new(out)
    book = _read(codebook, table)
    book = book.only(listed(columns, book.order))
    write_text(out, book.dumps())
    if not quiet:
        release_text.from_codebook(out, book)


def _require_new(out: Path) -> None:
    if out.exists():
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")


def _read(path: Path, table: str) -> Codebook:
    from understudy.schema.codebooks import read_codebook

    return read_codebook(path, table)


@schema_app.command("check")
def schema_check(
    data: Data,
    schema: Annotated[Path, typer.Argument(help="Schema (TOML).")],
    query: SQL = None,
    table: TableName = None,
    counts: Annotated[
        bool | None,
        typer.Option(
            "--counts/--no-counts",
            help="Say how many rows are concerned; CONFIDENTIAL. By default on a terminal alone.",
            show_default=False,
        ),
    ] = None,
    examples: Annotated[
        bool, typer.Option("--examples", help="Show some of the values; CONFIDENTIAL.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report every column that does not fit its schema; exit code 2 if there is one."""
    from understudy.schema import Schema

    here = given_table(data, query, table)
    report = pipeline.check(here, Schema.load(schema), examples=examples)
    counted = streams.is_terminal() and not as_json if counts is None else counts
    lines = report.lines(counts=counted, examples=examples)
    if as_json:
        print_json({"ok": report.ok, "findings": lines})
    elif not quiet or not report.ok:
        release_text.checked(lines, ok=report.ok, counts=counted, examples=examples)
    if not report.ok:
        raise typer.Exit(2)
