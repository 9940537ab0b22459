"""The command that opens the steward's desk."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import app
from understudy.cli.console import Screen


@app.command()
def desk(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            help="Folder below which the desk may look and projects lie; may be repeated. By "
            "default the current folder.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port on 127.0.0.1; any that is free without it.", min=0, max=65535)
    ] = 0,
    debug: Annotated[
        Path | None,
        typer.Option(help="File that gets what went wrong. It may be CONFIDENTIAL."),
    ] = None,
) -> None:
    """Open the steward's desk: local pages from a confidential file to its publication.

    It answers on this machine alone. The link that it prints lets one browser in, once, within two
    minutes; Enter prints a new one, which takes over.
    """
    from understudy._validation import require_extra

    require_extra("desk", "The desk")
    from understudy.desk.app import serve

    screen = Screen(highlight=False, soft_wrap=True)

    def tell(link: str) -> None:
        screen.print(f"The desk is open, for one browser and two minutes: {link}", markup=False)

    serve(root or [Path()], port=port, debug=debug, tell=tell, wait=sys.stdin.readline)
