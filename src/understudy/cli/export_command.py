"""The command that writes the synthetic tables of a release for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, Quiet, app
from understudy.cli.json_output import print_json
from understudy.cli.terminal.streams import Screen

Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        help="Write the synthetic tables in these formats as well: csv, sav (SPSS), dta (Stata); "
        "as sav,dta, or repeated.",
    ),
]
Csv = Annotated[
    bool,
    typer.Option(
        "--csv",
        help="The same as --also csv; an apostrophe stands before texts that a spreadsheet would "
        "run as a formula.",
    ),
]
CsvRaw = Annotated[bool, typer.Option("--csv-raw", help="Write CSV with all texts as they are.")]


@app.command("export")
def export_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Annotated[Path, typer.Argument(help="Folder for the files; must be new, or empty.")],
    also: Also = None,
    csv: Csv = False,
    csv_raw: CsvRaw = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the synthetic tables of a release as CSV, or for SPSS or Stata.

    The release stays as it was published; what is written are files to work with.
    """
    from understudy.release import Release
    from understudy.release.exports.row_exports import formats_of

    formats = formats_of(also or (), csv=csv, csv_raw=csv_raw)
    written = Release.load(release).export(out, also=formats)
    if as_json:
        print_json({"files": [str(file) for file in written]})
    elif not quiet:
        Screen(highlight=False, soft_wrap=True).print(
            "\n".join(str(file) for file in written), markup=False
        )
