"""The command that runs studies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import INTERRUPTED, Quiet, app
from understudy.cli.terminal import progress_bar, release_text
from understudy.errors import StudyError


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
    from understudy import studies

    if show_list:
        release_text.studies(studies.STUDIES.values())
        return
    chosen = studies.find(name)
    if out is None:
        raise StudyError("A study needs a folder for its results; give --out DIR.")
    try:
        with progress_bar.progress(quiet=quiet) as tell:
            page = studies.run_study(chosen, out, reps=reps, jobs=jobs, seed=seed, progress=tell)
    except KeyboardInterrupt:
        release_text.study_interrupted(out)
        sys.exit(INTERRUPTED)
    if not quiet:
        release_text.studied(chosen, page)
