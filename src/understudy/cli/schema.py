"""Commands that draft and check a schema.

The command by which a person goes through a drafted schema, column by column.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import understudy as us
from understudy.cli import console, render
from understudy.cli.app import (
    INTERRUPTED,
    SQL,
    TERMINATED,
    Data,
    Json,
    Members,
    Quiet,
    TableName,
    Terminated,
    given_table,
    print_json,
    schema_app,
    split_names,
    split_pairs,
    with_members,
    write_text,
)
from understudy.errors import DataError, MethodError

if TYPE_CHECKING:
    from understudy.metadata.codebook import Codebook


@schema_app.command("draft")
def schema_draft(
    data: Data,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the draft goes.")],
    title: Annotated[str, typer.Option(help="Title of the table.")] = "",
    members: Annotated[
        Path | None,
        typer.Option(
            "--members",
            help="The file of the members, if the table has units alone, such as households.",
        ),
    ] = None,
    key: Annotated[
        str,
        typer.Option(
            help="Column that tells units apart: one table of their members becomes two tables."
        ),
    ] = "",
    query: SQL = None,
    table: TableName = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            help="How the file is written, if that is known, as separator=; or sheet=Answers; may "
            "be repeated. Otherwise it is read off the file, and has to be confirmed.",
        ),
    ] = None,
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
    here = given_table(data, query, table)
    both = here if members is None else {"household": here, "person": members}
    form = split_pairs("--file", file, "separator=;")
    write_text(out, us.draft(both, title=title, codebook=book, key=key, file=form))
    if not quiet:
        render.show_draft(out)
    flat = members is None and not key
    if flat and not quiet and console.is_terminal():  # no file, no pipe and no log has it
        from understudy.steward.draft import unit_keys

        render.show_unit_keys(unit_keys(here, form))


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
    book = book.only(split_names(columns, book.order))
    write_text(out, book.dumps())
    if not quiet:
        render.from_codebook(out, book)


def _require_new(out: Path) -> None:
    if out.exists():
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")


def _read(path: Path, table: str) -> Codebook:
    from understudy.metadata.codebook import read_codebook

    return read_codebook(path, table)


@schema_app.command("check")
def schema_check(
    data: Data,
    schema: Annotated[Path, typer.Argument(help="Schema (TOML).")],
    members: Members = None,
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

    loaded = Schema.load(schema)
    here = with_members(given_table(data, query, table), members, loaded)
    report = us.check(here, loaded, examples=examples)
    counted = console.is_terminal() and not as_json if counts is None else counts
    lines = report.lines(counts=counted, examples=examples)
    if as_json:
        print_json({"ok": report.ok, "findings": lines})
    elif not quiet or not report.ok:
        render.show_check(lines, ok=report.ok, counts=counted, examples=examples)
    if not report.ok:
        raise typer.Exit(2)


@schema_app.command("review")
def schema_review(
    schema: Annotated[Path, typer.Argument(help="Drafted schema (TOML), which is changed.")],
    data: Annotated[
        Path | None,
        typer.Option(help="The rows: say where they do not fit what is proposed. CONFIDENTIAL."),
    ] = None,
    members: Members = None,
    accept_sourced: Annotated[
        bool,
        typer.Option(
            "--accept-sourced",
            help="First accept at once all whose entries come from public sources alone.",
        ),
    ] = False,
) -> None:
    """Go through a schema, column by column: accept, confirm with a source, change or take out.

    Each decision is written into the file at once; begun again, it goes on where it stopped.
    """
    from understudy.cli import render_review
    from understudy.cli.review import Session

    if members is not None and data is None:
        raise DataError("--members is the file of the members beside --data; name both, or none.")
    session = Session(schema, data, members)
    if accept_sourced:
        session.accept_sourced()
    code = 0
    try:
        session.ask_all()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    render_review.show_end(session.review)
    if code:
        sys.exit(code)
