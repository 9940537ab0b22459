"""The command that audits methods: what their releases show, against what they promise."""

from __future__ import annotations

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


@app.command()
def audit(
    methods: _Methods = None,
    releases: _Releases = None,
    jobs: _Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release made tables many times, and bound what a release costs from below.

    Exit code 2 if a bound is above what is stated.
    """
    from understudy.audit import audit as audited
    from understudy.audit import lines_about
    from understudy.parallel import processors

    found = []
    for line in lines_about(methods or ()):
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
    if as_json:
        print_json([verdict.to_json() for verdict in found])
    elif not quiet or any(verdict.alarm for verdict in found):
        audit_text.audited(found)
    if any(verdict.alarm for verdict in found):
        raise typer.Exit(2)
