"""The program, which commands join from the files beside it, and options that several share.

Mistakes end it with a sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from understudy.errors import MethodError, UnderstudyError, shown

# As a user comes to them.
_ORDER = (
    "schema",
    "plan",
    "synthesize",
    "show",
    "analyze",
    "regress",
    "evaluate",
    "risk",
    "tradeoff",
    "methods",
    "demo",
    "study",
)


class _Commands(TyperGroup):
    """All commands, in the order of `_ORDER`; one that it lacks comes last."""

    def list_commands(self, ctx: Any) -> list[str]:
        places = {name: k for k, name in enumerate(_ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: places.get(name, len(_ORDER)))


app = typer.Typer(
    cls=_Commands,
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


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Epsilon = Annotated[str, typer.Option("--epsilon", "-e", help="Privacy budget ε of the release.")]
Delta = Annotated[str, typer.Option(help="δ of the release; 0 for pure differential privacy.")]
MethodName = Annotated[str, typer.Option("--method", "-m", help="Name of a method, or auto.")]
Sets = Annotated[int, typer.Option("--sets", "-s", help="Number of synthetic tables.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="Option of the method, name=value.")
]
SchemaFile = Annotated[Path, typer.Option("--schema", help="Reviewed schema (TOML).")]
RowsShare = Annotated[str, typer.Option(help="Share of the budget that buys the number of rows.")]

Seed = Annotated[
    int | None, typer.Option(help="Seed of the sampling after the last paid step.", min=0)
]
NoiseSeed = Annotated[
    int | None,
    typer.Option(help="For tests only: seed the privacy noise. The release is NOT private.", min=0),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")]

AnswersShare = Annotated[
    str | None,
    typer.Option(
        help="Share of the rest that buys second moments, for linear models, correlations and "
        "group means; by default 0.25 with the method auto and delta above 0, 0.5 with declared "
        "analyses, of whose columns these then are."
    ),
]
LayerShare = Annotated[
    str | None,
    typer.Option(
        help="Share of the rest that buys second moments of all columns beside those of declared "
        "analyses; by default 0.1 with the method auto and delta above 0."
    ),
]
Priority = Annotated[
    list[str] | None,
    typer.Option(
        "--priority",
        help="Columns that matter most: a quarter of the share of answers buys second moments of "
        "these alone; as age,income, or repeated.",
    ),
]
LinesShare = Annotated[
    str | None,
    typer.Option(
        help="Share of the rest that buys number lines, for quantiles, shares and means of "
        "functions, and for what lies beyond the bounds; by default 0.1 with the method auto and "
        "delta above 0, or where a declared analysis asks for such."
    ),
]
Analyses = Annotated[
    list[str] | None,
    typer.Option(
        "--analysis",
        help="What the release is to answer, such as 'ols income ~ age + sex'; may be repeated. "
        "Choose it without a look at the rows.",
    ),
]
AnalysesFile = Annotated[
    Path | None, typer.Option("--analyses", help="The same, as a TOML file with [[analyses]].")
]


def declared(analyses: list[str] | None, file: Path | None) -> object:
    """Analyses that were declared by option or in a file.

    Raises:
        MethodError: both.
    """
    if analyses and file:
        raise MethodError("Give analyses by --analysis or in one file by --analyses, not both.")
    return file or analyses


def method_options(pairs: list[str] | None) -> dict[str, str]:
    """Options of a method: name → text.

    Raises:
        MethodError: one that does not read name=value.
    """
    options = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise MethodError(f"--option {pair!r} must read name=value, such as form=filtered.")
        options[name.strip()] = value.strip()
    return options


def listed(texts: list[str] | None, columns: Sequence[str]) -> list[str]:
    """Names of columns given as "age,sex", or one by one.

    Args:
        texts: what was given; a text that is the name of a column as a whole is that column.
        columns: names of all columns.

    Example:
        >>> listed(["age, sex", "a,b"], ["age", "sex", "a,b"])
        ['age', 'sex', 'a,b']
    """
    names: list[str] = []
    for text in texts or []:
        names += [text] if text in columns else [part.strip() for part in text.split(",")]
    return [name for name in names if name]
