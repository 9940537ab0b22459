"""The command that runs studies, which are a distribution of their own: found where installed."""

from __future__ import annotations

import typer

from understudy.cli.app import app
from understudy.errors import StudyError

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
