"""Commands that plan and make releases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy import pipeline
from understudy.cli import kept_runs
from understudy.cli.app import (
    Analyses,
    AnalysesFile,
    AnswersShare,
    By,
    Delta,
    Epsilon,
    Json,
    LayerShare,
    LedgerUrl,
    LinesShare,
    MethodName,
    NoiseSeed,
    Options,
    Priority,
    Quiet,
    Resume,
    RowsShare,
    SchemaFile,
    Seed,
    Sets,
    Spill,
    app,
    declared,
    listed,
    method_options,
)
from understudy.cli.export_command import Also, Csv, CsvRaw
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
from understudy.cli.terminal import plan_text, progress_bar, release_text

DEMO_MARK = ".made-by-understudy-demo"

_AllowNonprivate = Annotated[
    bool,
    typer.Option(
        "--allow-nonprivate",
        help="Permit methods without a guarantee; their release is stamped not private.",
    ),
]
_Sign = Annotated[
    Path | None,
    typer.Option(help="Private key that signs the release; understudy ledger key makes one."),
]
_AssumeRows = Annotated[
    int | None,
    typer.Option(help="Number of records for which to say how exact answers will be.", min=1),
]


_Like = Annotated[
    Path | None,
    typer.Option(help="An earlier release whose records stand for the population there."),
]


@app.command()
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the release.")] = Path("demo-release"),
    epsilon: Epsilon = "1",
    delta: Delta = "1e-6",
    sets: Sets = 5,
    method: MethodName = "auto",
    quiet: Quiet = False,
) -> None:
    """Release a real survey as synthetic data: the main job in one command.

    What the survey was made for is declared, so that it is measured first and answered with error
    bars. Replaces the output folder only if a demo made it.
    """
    from understudy.demo import ANALYSES, SHARES, demo_data, demo_schema
    from understudy.release.bundle import remove

    schema = demo_schema()
    if not (out / DEMO_MARK).exists():  # the demo replaces nothing but a folder that it made
        kept_runs.hold(context, out)
    with kept_runs.keeping(None, out), progress_bar.progress(quiet=quiet) as tell:
        release = pipeline.synthesize(
            demo_data(),
            schema,
            epsilon=epsilon,
            delta=delta,
            method=method,
            sets=sets,
            analyses=ANALYSES,
            rows_share=SHARES["rows_share"],
            answers_share=SHARES["answers_share"],
            layer_share=SHARES["layer_share"],
            progress=tell,
        )
        tell("Writing the release", 0, 1)
        if (out / DEMO_MARK).exists():
            remove(out)
        release.save(out)
        (out / DEMO_MARK).touch()
        tell("Writing the release", 1, 1)
    if not quiet:
        with kept_runs.made(out):
            release_text.released(release, out)


@app.command()
def plan(
    schema: SchemaFile,
    epsilon: Epsilon,
    delta: Delta = "0",
    method: MethodName = "auto",
    sets: Sets = 1,
    option: Options = None,
    rows_share: RowsShare = "0.05",
    answers_share: AnswersShare = None,
    lines_share: LinesShare = None,
    layer_share: LayerShare = None,
    analysis: Analyses = None,
    analyses: AnalysesFile = None,
    priority: Priority = None,
    assume_rows: _AssumeRows = None,
    like: _Like = None,
    as_json: Json = False,
) -> None:
    """Show what a release would measure, cost and how exact it would be. Reads no data."""
    from understudy.pipeline import planning
    from understudy.release import Release
    from understudy.schema import Schema

    loaded = Schema.load(schema)
    planned = planning.plan(
        loaded,
        epsilon=epsilon,
        delta=delta,
        method=method,
        sets=sets,
        options=method_options(option),
        rows_share=rows_share,
        answers_share=answers_share,
        lines_share=lines_share,
        layer_share=layer_share,
        analyses=declared(analysis, analyses),
        priority=listed(priority, loaded.names),
        assume_rows=assume_rows,
        like=None if like is None else Release.load(like),
    )
    if as_json:
        print_json(plan_text.plan_json(planned))
    else:
        plan_text.planned(planned)


@app.command()
def synthesize(
    context: typer.Context,
    data: Data,
    schema: SchemaFile,
    epsilon: Epsilon,
    out: Annotated[Path, typer.Option("--out", help="Folder of the release; must be new.")],
    delta: Delta = "0",
    method: MethodName = "auto",
    sets: Sets = 1,
    option: Options = None,
    rows_share: RowsShare = "0.05",
    answers_share: AnswersShare = None,
    lines_share: LinesShare = None,
    layer_share: LayerShare = None,
    analysis: Analyses = None,
    analyses: AnalysesFile = None,
    assume_rows: _AssumeRows = None,
    like: _Like = None,
    priority: Priority = None,
    seed: Seed = None,
    insecure_noise_seed: NoiseSeed = None,
    allow_nonprivate: _AllowNonprivate = False,
    also: Also = None,
    csv: Csv = False,
    csv_raw: CsvRaw = False,
    sign: _Sign = None,
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
    """Turn a confidential table into a release.

    Until the release is written, OUT.checkpoint holds what was paid for. Ctrl-C ends the rounds of
    a method that works in rounds and makes the release of that; a second one aborts.
    """
    from understudy.pipeline.request import request_of
    from understudy.release import Release
    from understudy.release.exports.row_exports import formats_of, require_formats
    from understudy.release.release_signature import require_key
    from understudy.schema import Schema

    if sign is not None:
        require_key(sign)
    kept_runs.hold(context, out)
    loaded = Schema.load(schema)
    formats = formats_of(also or (), csv=csv, csv_raw=csv_raw)
    require_formats(formats, loaded)
    request: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "method": method, "sets": sets}
    request |= {"options": method_options(option), "rows_share": rows_share}
    request |= {"answers_share": answers_share, "lines_share": lines_share}
    request |= {"layer_share": layer_share, "analyses": declared(analysis, analyses)}
    request |= {"priority": listed(priority, loaded.names)}
    place = kept_runs.checkpoint_of(out, request_of(loaded, **request), resume=resume)
    rows = given_rows(data, query, table, engine, loaded)
    earlier = None if like is None else Release.load(like)
    diagnostics: list[Any] = []  # shown when no bar is drawn any more
    with kept_runs.keeping(place, out), progress_bar.progress(quiet=quiet or as_json) as bar:
        tell = kept_runs.noting(bar, out, place)
        release = pipeline.synthesize(
            rows,
            loaded,
            **request,
            assume_rows=assume_rows,
            like=earlier,
            seed=seed,
            insecure_noise_seed=insecure_noise_seed,
            allow_nonprivate=allow_nonprivate,
            checkpoint=place,
            keep_checkpoint=True,
            ledger=ledger,
            by=by,
            spill=spill,
            trusted_cluster=trusted_cluster,
            progress=tell,
            confide=None if quiet or as_json else diagnostics.append,
            # For the eyes of whoever sits there: no file, no pipe and no log has it.
            confide_misfits=sys.stderr.isatty(),
            also=formats,
        )
        tell("Writing the release", 0, 1)
        release.save(out, also=formats, sign=sign)
        tell("Writing the release", 1, 1)
    if place is not None:
        kept_runs.remove(place)
    with kept_runs.made(out):
        if as_json:
            print_json({"release": str(out), "guarantee": release.guarantee.to_json()})
        elif not quiet:
            release_text.released(release, out)
            if engine is Rows.HERE:
                release_text.to_be_checked(shown_table(data), schema)
        for diagnostic in diagnostics:
            release_text.confided(diagnostic)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to see its options too.")] = None,
    as_json: Json = False,
) -> None:
    """List the methods: what each is for, what it promises, what it costs; or one with its options.

    Options are given to synthesize and plan as --option NAME=VALUE, or -o NAME=VALUE.
    """
    if name is not None:
        from understudy.methods.configuration import kind_of, options_of

        facts, options = kind_of(name).facts, options_of(kind_of(name))
        if as_json:
            print_json({**vars(facts), "options": [vars(option) for option in options]})
        else:
            release_text.method(facts, options)
    elif as_json:
        print_json([vars(facts) for facts in pipeline.list_methods()])
    else:
        release_text.methods(pipeline.list_methods())
