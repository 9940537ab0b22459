"""Commands that compare a release with the rows: INTERNAL, their results are not for release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy import pipeline, terminal
from understudy.cli.app import app
from understudy.cli.options import Json, Quiet
from understudy.cli.output import print_json, require_internal_place, write_text
from understudy.release import Release
from understudy.report import internal_page


@app.command()
def evaluate(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet (file or folder).")],
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Where the internal page (HTML) goes.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Column whose groups are scored.")] = None,
    target: Annotated[str | None, typer.Option(help="Column that is predicted.")] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option("--formula", "-f", help="Regression to compare; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=0)] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a release with the original rows. INTERNAL: the result is not for release."""
    loaded = Release.load(release)
    if out is not None:
        require_internal_place(out, release)
    with terminal.progress(quiet=quiet or as_json) as tell:
        found = pipeline.evaluate(
            data, loaded, formulas=formula, by=by, target=target, seed=seed, progress=tell
        ).value
    if out is not None:
        write_text(out, internal_page(found))
    if as_json:
        print_json(found.to_json())
    elif not quiet:
        terminal.evaluated(found, out)
