"""Commands that start what stands beside: the steward's desk, and studies where installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import app
from understudy.cli.console import Screen
from understudy.errors import StudyError


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


COMMANDS = "understudy.commands"
"""Group of the entry points by which another distribution brings a command of this program."""


@app.command(
    add_help_option=False,  # the installed command has its own
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def study(context: typer.Context) -> int | None:
    """Run a simulation study, or go on with one; comes with understudy-studies.

    Raises:
        StudyError: the studies are not installed.
    """
    from importlib.metadata import entry_points

    commands = tuple(entry_points(group=COMMANDS, name="study"))
    if not commands:
        raise StudyError(
            "Studies are a distribution of their own, understudy-studies, which is not installed; "
            "in a checkout of Understudy install it with `make studies-install`, or with "
            "`python -m pip install ./studies`."
        )
    command: typer.Typer = commands[0].load()
    code: int | None = command(
        args=context.args, prog_name=context.command_path, standalone_mode=False
    )
    return code
