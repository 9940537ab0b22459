"""The command that audits methods: what their releases show, against what they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, Quiet, app
from understudy.cli.json_output import print_json
from understudy.cli.terminal import audit_text, progress_bar

_Methods = Annotated[
    list[str] | None, typer.Argument(help="Methods; all that have a guarantee if none.")
]
_Releases = Annotated[
    int | None,
    typer.Option(
        help="Releases of each of two tables; by default 10,000, and 100,000 of methods that "
        "measure once.",
        min=100,
    ),
]
_Jobs = Annotated[
    int | None, typer.Option(help="Number of processes; by default one per processor.", min=1)
]
_Results = Annotated[
    Path | None,
    typer.Option(
        "--results",
        help="File to which each result is added as soon as it is there; lines that have one are "
        "not audited again.",
        dir_okay=False,
    ),
]


@app.command()
def audit(
    methods: _Methods = None,
    releases: _Releases = None,
    jobs: _Jobs = None,
    kept: _Results = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release made tables many times, and bound what a release costs from below.

    Exit code 2 if a bound is above what is stated.
    """
    from understudy.audit import audit as audited
    from understudy.audit import lines_about
    from understudy.audit.results_file import add_result, lines_left, results
    from understudy.parallel import processors

    found = []
    lines = lines_about(methods or ())
    for line in lines if kept is None else lines_left(lines, kept, releases):
        with progress_bar.progress(quiet=quiet or as_json) as tell:
            stage = str(line)
            found.append(
                audited(
                    line,
                    releases=releases,
                    jobs=jobs or processors(),
                    progress=lambda done, total, stage=stage, tell=tell: tell(stage, done, total),  # type: ignore[misc]
                )
            )
        if kept is not None:
            add_result(kept, found[-1])
    if as_json:
        print_json([verdict.to_json() for verdict in found])
    elif found and (not quiet or any(verdict.alarm for verdict in found)):
        audit_text.audited(found)
    earlier = [] if kept is None else [result["alarm"] for result in results(kept)]
    if any([*earlier, *(verdict.alarm for verdict in found)]):
        raise typer.Exit(2)
