"""The command that runs studies: `understudy study`.

The command line of Understudy finds it by the entry point `study` of the group
`understudy.commands`. Nothing heavy is loaded before a study is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from understudy.cli import console as console_module
from understudy.cli.app import INTERRUPTED, Quiet
from understudy.cli.console import escape
from understudy.errors import StudyError

if TYPE_CHECKING:
    from understudy_studies.framework.study import Study

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="Name of a study; see --list.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results: new, or one to go on with.")
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    reps: Annotated[
        int | None,
        typer.Option(help="Repetitions of every scenario; by default what its cost allows.", min=1),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes; by default one per processor.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.", min=0)] = 1,
    quiet: Quiet = False,
) -> None:
    """Run a simulation study, or go on with one that was interrupted."""
    from understudy_studies.all_studies import STUDIES, find
    from understudy_studies.framework.runner import run_study

    if show_list:
        _show_list(STUDIES.values())
        return
    chosen = find(name)
    if out is None:
        raise StudyError("A study needs a folder for its results; give --out DIR.")
    try:
        with console_module.progress(quiet=quiet) as tell:
            page = run_study(chosen, out, reps=reps, jobs=jobs, seed=seed, progress=tell)
    except KeyboardInterrupt:
        _say_how_to_go_on(out)
        sys.exit(INTERRUPTED)
    if not quiet:
        _say_where_results_are(chosen, page)


def _show_list(studies: Iterable[Study[Any]]) -> None:
    """The table of studies."""
    table = Table(title="Studies")
    for heading in ("study", "what it shows", "design"):
        table.add_column(heading, no_wrap=heading == "study")
    for study in studies:
        table.add_row(study.name, study.title, escape(study.source))
    Console(highlight=False).print(table)


def _say_where_results_are(study: Study[Any], page: Path) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{escape(study.title)}[/bold]: results in {escape(str(page.parent))}/")
    console.print(f"Open the page in a browser: {escape(str(page.resolve()))}", soft_wrap=True)


def _say_how_to_go_on(folder: Path) -> None:
    Console(stderr=True, highlight=False).print(
        f"Interrupted; what is finished is kept in {escape(str(folder))}. Run the same command "
        "again to go on.",
        soft_wrap=True,
    )
