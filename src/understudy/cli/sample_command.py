"""The command that draws more records from a release, which costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Quiet, app
from understudy.cli.json_output import require_new_file
from understudy.cli.terminal import release_text
from understudy.errors import MethodError


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="Folder of the release.")],
    n: Annotated[int, typer.Option("-n", help="How many records.", min=0)],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="New file: .parquet, or .csv with texts guarded.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            help='What they must be, such as "age >= 30" or "sex == \'f\'"; may be repeated, and '
            "all must hold.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes the records.", min=0)] = None,
    quiet: Quiet = False,
) -> None:
    """Draw more records from the model of a release, or some under a condition; it costs nothing.

    They are the same information as the release, and make no estimate more exact.
    """
    from understudy.pipeline.sampling import ReleasedModel
    from understudy.release import Release
    from understudy.release.synthetic_sets import write_file

    if out.suffix not in (".parquet", ".csv"):
        raise MethodError(f"The file {str(out)!r} must end in .parquet or .csv.")
    require_new_file(out)
    model = ReleasedModel.of(Release.load(release))
    write_file(model.parts(n, where or None, seed), out, model.note)
    if not quiet:
        release_text.sampled(model.note, n, out)
