"""The program, which commands join from the files beside it; mistakes end it with a sentence."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from understudy.errors import UnderstudyError
from understudy.printable import shown

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
schema_app = typer.Typer(help="Draft and check the public schema of a table.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")

INTERRUPTED = 130


def _tell_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        Console(highlight=False).print(f"understudy {version('understudy')}")
        raise typer.Exit


@app.callback()
def understudy(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_tell_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Synthetic microdata you can publish and do statistics on."""


def main() -> None:
    """Run the command line; a user's mistake ends with one sentence and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except UnderstudyError as error:
        _fail(str(error))
    except typer.TyperException as error:  # a usage error; without a message, help was shown
        if message := error.format_message():
            command = getattr(getattr(error, "ctx", None), "command_path", "understudy")
            _fail(f"{message.rstrip('.')}. See {command} --help.")
        sys.exit(2)
    if code == INTERRUPTED:
        Console(stderr=True).print("Interrupted; nothing was written.")
    sys.exit(code)


def _fail(sentence: str) -> NoReturn:
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"Error: {shown(sentence)}", markup=False
    )
    sys.exit(2)
