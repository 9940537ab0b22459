"""The command for one regression: what it needs is released, and its answer shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import kept_runs
from understudy.cli.app import (
    By,
    Delta,
    Epsilon,
    Json,
    LedgerUrl,
    NoiseSeed,
    Quiet,
    Resume,
    Seed,
    Spill,
    app,
)
from understudy.cli.json_output import print_json
from understudy.cli.table_argument import (
    SQL,
    Data,
    Engine,
    Rows,
    TableName,
    Trusted,
    given_rows,
    shown_table,
)
from understudy.cli.terminal import progress_bar, release_text
from understudy.errors import InferenceError, MethodError

if TYPE_CHECKING:
    from understudy.schema import Schema

USUAL = "sufficient-statistics"
"""`pipeline.regression.SUFFICIENT_STATISTICS`, without loading what stands behind it."""


@app.command()
def regress(
    context: typer.Context,
    data: Data,
    schema: Annotated[Path, typer.Argument(help="Reviewed schema (TOML).")],
    formula: Annotated[
        str,
        typer.Argument(
            help="Such as 'income ~ age + C(region)'. Choose it without a look at the rows."
        ),
    ],
    epsilon: Epsilon,
    delta: Delta = "0",
    kind: Annotated[str, typer.Option(help="ols, logit or poisson.")] = "ols",
    mechanism: Annotated[
        str,
        typer.Option(
            help="sufficient-statistics; or k-norm, functional or functional-published (with the "
            "published, larger sensitivity): an ols of numbers for a pure epsilon, without "
            "standard errors."
        ),
    ] = USUAL,
    repair: Annotated[
        str | None,
        typer.Option(
            help="For k-norm and both functional: ridge or trim, where noise leaves no positive "
            "definite matrix."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder that the release is written to; must be new."),
    ] = None,
    seed: Seed = None,
    insecure_noise_seed: NoiseSeed = None,
    ledger: LedgerUrl = None,
    by: By = None,
    spill: Spill = None,
    query: SQL = None,
    table: TableName = None,
    engine: Engine = Rows.HERE,
    trusted_cluster: Trusted = False,
    resume: Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Spend a budget on one regression of a confidential table, with standard errors.

    The columns of the formula are released, mostly as noisy second moments, and the regression is
    answered from that; --out keeps the release, and OUT.checkpoint, until it is written, what was
    paid for.
    """
    from understudy.pipeline import regression
    from understudy.schema import Schema

    if out is not None and mechanism == USUAL:
        kept_runs.hold(context, out)
    loaded = Schema.load(schema)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "kind": kind}
    place = _place(out, mechanism, resume=resume, schema=loaded, formula=formula, **asked)
    asked |= {"mechanism": mechanism, "repair": repair, "level": level, "seed": seed}
    diagnostics: list[Any] = []  # shown when no bar is drawn any more
    if mechanism == USUAL and not (quiet or as_json):
        # For the eyes of whoever sits there: no file, no pipe and no log has what does not fit.
        asked |= {"confide": diagnostics.append, "confide_misfits": sys.stderr.isatty()}
    rows = given_rows(data, query, table, engine, loaded)
    with kept_runs.keeping(place, out), progress_bar.progress(quiet=quiet or as_json) as bar:
        tell = kept_runs.noting(bar, out, place)
        ask: Any = regression.regress  # which refuses a mechanism that there is not
        found = ask(
            rows,
            loaded,
            formula,
            **asked,
            insecure_noise_seed=insecure_noise_seed,
            checkpoint=place,
            keep_checkpoint=True,
            ledger=ledger,
            by=by,
            spill=spill,
            trusted_cluster=trusted_cluster,
            progress=tell,
        )
        if out is not None:
            tell("Writing the release", 0, 1)
            found.save(out)
            tell("Writing the release", 1, 1)
    if place is not None:
        kept_runs.remove(place)
    with kept_runs.made(out):
        _show(found, mechanism, out, as_json=as_json, quiet=quiet)
        if not (quiet or as_json or engine is Rows.SPARK):
            release_text.to_be_checked(shown_table(data), schema)
        for diagnostic in diagnostics:
            release_text.confided(diagnostic)
    if getattr(found, "refused", ""):
        raise InferenceError(found.refused)


def _show(found: Any, mechanism: str, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(found.to_json() | ({} if out is None else {"release": str(out)}))
    elif mechanism == USUAL:
        release_text.regressed(found, out, quiet=quiet)
    else:
        release_text.coefficients(found)


def _place(
    out: Path | None, mechanism: str, *, resume: bool, schema: Schema, formula: str, **asked: Any
) -> Path | None:
    """Where the checkpoint is kept, if there is to be one; refuses before rows are read."""
    from understudy.pipeline import regression
    from understudy.pipeline.request import request_of

    regression.require_mechanism(mechanism)
    if out is None:
        if resume:
            raise MethodError("A run is gone on with where its release is to be; give --out too.")
        return None
    if mechanism != USUAL:
        raise MethodError(
            f"The mechanism {mechanism} makes no release; leave out --out, or take {USUAL}."
        )
    request = request_of(**regression.declared(schema, formula, **asked))
    return kept_runs.checkpoint_of(out, request, resume=resume)
