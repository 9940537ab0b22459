"""The command that reads noisy tables of other systems as a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import app
from understudy.cli.console import Screen
from understudy.errors import shown


@app.command()
def read(
    measurements: Annotated[
        Path, typer.Argument(help="File (TOML) that says what was measured, and who states what.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the release; must be new.")],
    seed: Annotated[int | None, typer.Option(help="Of the records drawn from the tables.")] = None,
) -> None:
    """Read noisy tables of another system as a release, measured elsewhere.

    It has no guarantee of its own: it names what its publisher states, which we cannot check.
    """
    from understudy.workflow.read import read_measurements

    release = read_measurements(measurements, seed=seed)
    release.save(out)
    number = len(release.measurements)
    screen = Screen(soft_wrap=True, highlight=False)
    told = f"{out}: {number} table{'s' if number != 1 else ''}, measured elsewhere."
    screen.print(shown(told), markup=False)
    screen.print(shown(release.guarantee.statement), markup=False)
