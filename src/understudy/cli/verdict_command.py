"""The command for a verdict on one claim, and for the plan of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import kept_runs
from understudy.cli.app import By, Delta, Epsilon, Json, LedgerUrl, NoiseSeed, Quiet, Spill, app
from understudy.cli.json_output import print_json
from understudy.cli.table_argument import SQL, Data, TableName, given_table
from understudy.cli.terminal import progress_bar, verdict_text


@app.command()
def verdict(
    data: Data,
    schema: Annotated[Path, typer.Argument(help="Reviewed schema (TOML).")],
    claim: Annotated[
        str,
        typer.Argument(
            help="Such as 'ols income ~ age + sex: age > 0', 'share sex = f < 0.5', 'mean income > "
            "30000'. Choose it without a look at the rows."
        ),
    ],
    epsilon: Epsilon,
    delta: Delta = "0",
    assume_rows: Annotated[
        int | None,
        typer.Option(
            help="About how many records there are, where their number is private: a public guess.",
            min=1,
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show how sure a verdict would be; no data are read.")
    ] = False,
    ledger: LedgerUrl = None,
    by: By = None,
    spill: Spill = None,
    query: SQL = None,
    table: TableName = None,
    insecure_noise_seed: NoiseSeed = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Spend a budget on one claim: do the confidential rows bear it out?

    Random subsets of the rows vote, and the noisy number of yes decides: yes, no, or undecided.
    """
    from understudy.pipeline import verdict as verdicts

    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "assume_rows": assume_rows}
    if plan:
        planned = verdicts.plan_verdict(schema, claim, **asked)
        if as_json:
            print_json(planned.to_json())
        else:
            verdict_text.planned(planned)
        return
    with kept_runs.keeping(None, None), progress_bar.progress(quiet=quiet or as_json) as tell:
        found = verdicts.verdict(
            given_table(data, query, table),
            schema,
            claim,
            **asked,
            ledger=ledger,
            by=by,
            spill=spill,
            insecure_noise_seed=insecure_noise_seed,
            progress=tell,
        )
    if as_json:
        print_json(found.to_json())
    else:
        verdict_text.found(found, odds=not quiet)
