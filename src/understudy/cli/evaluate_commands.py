"""Commands that compare a release with the rows: INTERNAL, their results are not for release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy import pipeline
from understudy.cli.app import Json, LedgerUrl, Quiet, app, listed
from understudy.cli.json_output import internal_place, print_json, write_text
from understudy.cli.table_argument import SQL, Data, TableName, given_table
from understudy.cli.terminal import progress_bar

Control = Annotated[
    Path | None, typer.Option(help="Rows of people outside the table, held out before synthesis.")
]
Keys = Annotated[
    list[str] | None,
    typer.Option(help="Columns that an intruder knows, as age,sex; all but the secrets if none."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="Where the internal page (HTML) goes; its name gets .internal before its ending if "
        "it does not say so.",
    ),
]
Secrets = Annotated[
    list[str] | None, typer.Option(help="Columns that an intruder wants to know, as income.")
]


@app.command()
def evaluate(
    data: Data,
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Page = None,
    by: Annotated[str | None, typer.Option(help="Column whose groups are scored.")] = None,
    target: Annotated[str | None, typer.Option(help="Column that is predicted.")] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option("--formula", "-f", help="Regression to compare; may be repeated."),
    ] = None,
    control: Control = None,
    keys: Keys = None,
    secrets: Secrets = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=0)] = 0,
    ledger: LedgerUrl = None,
    query: SQL = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a release with the original rows. INTERNAL: the result is not for release."""
    from understudy.cli.terminal.evaluation_text import evaluated, risk_table
    from understudy.release import Release

    place = None if out is None else internal_place(out)
    loaded = Release.load(release)
    with progress_bar.progress(quiet=quiet or as_json) as tell:
        evaluation = pipeline.evaluate(
            given_table(data, query, table),
            loaded,
            formulas=formula,
            by=by,
            target=target,
            control=control,
            keys=listed(keys, loaded.schema.names),
            secrets=listed(secrets, loaded.schema.names),
            seed=seed,
            ledger=ledger,
            progress=tell,
        ).value
    if place is not None:
        from understudy.report import internal_page

        write_text(place, internal_page(evaluation))
    if as_json:
        print_json(evaluation.to_json())
    elif not quiet:
        evaluated(evaluation, place)
        if evaluation.risks is not None:
            risk_table(evaluation.risks)


@app.command()
def risk(
    data: Data,
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Page = None,
    control: Control = None,
    keys: Keys = None,
    secrets: Secrets = None,
    targets: Annotated[int, typer.Option(help="Most targets, and most controls.", min=1)] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=0)] = 0,
    ledger: LedgerUrl = None,
    query: SQL = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Attack a release: what does it disclose? INTERNAL: the result is not for release."""
    from understudy.cli.terminal.evaluation_text import attacked
    from understudy.release import Release

    place = None if out is None else internal_place(out)
    loaded = Release.load(release)
    with progress_bar.progress(quiet=quiet or as_json) as tell:
        risks = pipeline.risk(
            given_table(data, query, table),
            loaded,
            control=control,
            keys=listed(keys, loaded.schema.names),
            secrets=listed(secrets, loaded.schema.names),
            targets=targets,
            seed=seed,
            ledger=ledger,
            progress=tell,
        ).value
    if place is not None:
        from understudy.report import risk_page

        write_text(place, risk_page(risks))
    if as_json:
        print_json(risks.to_json())
    elif not quiet:
        attacked(risks, place)
