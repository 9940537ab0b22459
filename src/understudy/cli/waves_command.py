"""The command for releases of the same people over time: what changed, and what did not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.app import Json, app
from understudy.cli.json_output import print_json
from understudy.cli.terminal import wave_text


@app.command()
def waves(
    kind: Annotated[str, typer.Argument(help="Kind of the question, as analyze takes it.")],
    formula: Annotated[str, typer.Argument(help="Of what, as analyze takes it.")],
    releases: Annotated[list[Path], typer.Argument(help="Folders of the waves, in order.")],
    dependence: Annotated[
        str,
        typer.Option(
            help="Of sampling errors over time: any, or 'not negative' (narrower; right for nearly "
            "every panel, and for waves of different people)."
        ),
    ] = "any",
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    as_json: Json = False,
) -> None:
    """What changed between releases of the same people, and the mean of what did not."""
    from understudy.inference.waves import waves as ask

    how: dict[str, Any] = {"level": level, "dependence": dependence}
    found = ask(releases, kind, formula, **how)
    if as_json:
        print_json(found.to_json())
    else:
        wave_text.changed(found)
