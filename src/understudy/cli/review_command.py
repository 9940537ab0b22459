"""The command by which a person goes through a drafted schema, column by column."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import INTERRUPTED, TERMINATED, Terminated, schema_app


@schema_app.command("review")
def schema_review(
    schema: Annotated[Path, typer.Argument(help="Drafted schema (TOML), which is changed.")],
    data: Annotated[
        Path | None,
        typer.Option(help="The rows: say where they do not fit what is proposed. CONFIDENTIAL."),
    ] = None,
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
    from understudy.cli.review_session import Session
    from understudy.cli.terminal import review_text

    session = Session(schema, data)
    if accept_sourced:
        session.accept_sourced()
    code = 0
    try:
        session.ask_all()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    review_text.ended(session.review)
    if code:
        sys.exit(code)
